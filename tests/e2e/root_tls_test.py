#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TLS to the shared flow store by stunnel, with the unchanged examples/root/stunnel.conf. The nodes
have no plain-text port; a namespace has the addresses, names and files of the recipe."""
import os
import re
import shutil
import subprocess
import unittest

import harness
import redis_cluster
from root_test import SITE, Site, Sites

RECIPE = harness.ROOT / "examples" / "root" / "stunnel.conf"
NEEDED = ("stunnel4", "openssl", "unshare", "nsenter")
NODES = (1, 2)


def comments(text):
    return [line[1:].strip() for line in text.splitlines() if line.startswith(";")]


@redis_cluster.needs_redis
@unittest.skipUnless(SITE, "built without hiredis")
@unittest.skipUnless(os.geteuid() == 0, "needs root, for namespaces")
@unittest.skipUnless(all(map(shutil.which, NEEDED)), "needs " + ", ".join(NEEDED))
class Tls(Sites):
    def setUp(self):
        super().setUp()
        self.recipe = RECIPE.read_text()
        holder = subprocess.Popen(["unshare", "-n", "-m", "sh", "-c", "echo; exec sleep infinity"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(self.end, holder)
        holder.stdout.readline()
        self.inside = ["nsenter", "-n", "-m", "-t", str(holder.pid)]
        self.run_inside("ip", "link", "set", "lo", "up")
        for node in NODES:
            self.run_inside("ip", "address", "add", "192.0.2.%d/32" % node, "dev", "lo")
        hosts = self.folder / "hosts"
        hosts.write_text("".join(line + "\n" for line in comments(self.recipe)
                                 if line.startswith("127.")))
        self.run_inside("mount", "--bind", hosts, "/etc/hosts")
        etc = self.folder / "stunnel"
        etc.mkdir()
        self.run_inside("mount", "--bind", etc, "/etc/stunnel")
        self.authority("ca")
        shutil.copy(self.folder / "ca.pem", etc / "redis-ca.pem")

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def run_inside(self, *command):
        return subprocess.run([*self.inside, *map(str, command)], check=True, capture_output=True,
                              text=True, timeout=harness.PATIENCE).stdout

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], cwd=self.folder, check=True,
                       capture_output=True, timeout=harness.PATIENCE)

    def authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                     "-nodes", "-days", 2, "-subj", "/CN=" + name, "-keyout", name + ".key",
                     "-out", name + ".pem")

    def certificate(self, node, name, authority="ca"):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                     "-subj", "/CN=" + name, "-keyout", "%d.key" % node, "-out", "%d.csr" % node)
        (self.folder / "names").write_text("subjectAltName=DNS:%s\n" % name)
        self.openssl("x509", "-req", "-in", "%d.csr" % node, "-CA", authority + ".pem", "-CAkey",
                     authority + ".key", "-CAcreateserial", "-days", 2, "-extfile", "names",
                     "-out", "%d.pem" % node)

    def start(self, *command):
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen([*self.inside, *map(str, command)], stdout=log, stderr=log,
                                       stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)

    def ask(self, node, *words):
        done = subprocess.run([*self.inside, "redis-cli", "--tls", "--cacert",
                               str(self.folder / "ca.pem"), "-h", "192.0.2.%d" % node, *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=harness.PATIENCE)
        return done.stdout + done.stderr

    def cluster(self):
        """Start a cluster with the options of the recipe."""
        said = [line.split() for line in comments(self.recipe)
                if re.match(r"(port|tls-|cluster-)\S+ (yes|no|\w+)$|port 0$", line)]
        self.assertGreaterEqual(len(said), 6, said)
        for node in NODES:
            folder = self.folder / ("node-%d" % node)
            folder.mkdir()
            self.start("redis-server", "--bind", "192.0.2.%d" % node, "--cluster-enabled", "yes",
                       "--dir", folder, "--save", "", "--protected-mode", "no",
                       "--tls-cert-file", self.folder / ("%d.pem" % node),
                       "--tls-key-file", self.folder / ("%d.key" % node),
                       "--tls-ca-cert-file", self.folder / "ca.pem",
                       "--cluster-announce-hostname", "redis-%d.example.net" % node,
                       # Both are on one host.
                       "--cluster-announce-ip", "192.0.2.%d" % node,
                       "--bind-source-addr", "192.0.2.%d" % node,
                       *(word for key, *values in said for word in ("--" + key, *values)))
        for node in NODES:
            harness.wait_for(lambda node=node: "PONG" in self.ask(node, "ping"),
                             lambda: (self.folder / "log").read_text())
        self.ask(1, "cluster", "addslotsrange", 0, 8191)
        self.ask(2, "cluster", "addslotsrange", 8192, 16383)
        self.ask(1, "cluster", "meet", "192.0.2.2", 6379)
        harness.wait_for(lambda: all("cluster_state:ok" in self.ask(node, "cluster", "info")
                                     for node in NODES), "a cluster")
        harness.wait_for(lambda: all(self.ask(node, "cluster", "slots").count("example.net") == 2
                                     for node in NODES), "its names")

    def stunnel(self):
        configuration = self.folder / "stunnel" / "unecho-root.conf"
        configuration.write_text("foreground = yes\n" + self.recipe)
        self.start("stunnel4", "/etc/stunnel/unecho-root.conf")
        harness.wait_for(lambda: "127.0.1.2:6379" in self.run_inside("ss", "-Hltn"),
                         lambda: "stunnel: " + (self.folder / "log").read_text())

    def test_the_recipe(self):
        for node in NODES:
            self.certificate(node, "redis-%d.example.net" % node)
        self.cluster()
        self.stunnel()
        nodes = re.search(r'redis = \["([^"]+)"\]', self.recipe).group(1)
        one, other = (Site(self, [nodes], before=self.inside) for _ in range(2))
        self.assertEqual((one.error, other.error), ("", ""))
        flows = self.flows(5000)
        one.ask(flows)
        self.assertEqual(one.answered()["unknown"], 5000)
        other.ask(flows)
        counters = other.answered()
        self.assertEqual(set(other.known), set(flows))
        self.assertEqual((counters["masters"], counters["answering"]), (2, 2))
        # Nothing was sent in plain text: such a connection is refused.
        self.assertNotIn("PONG", subprocess.run(
            [*self.inside, "redis-cli", "-h", "192.0.2.1", "ping"], capture_output=True, text=True,
            check=False, timeout=harness.PATIENCE).stdout)

    def test_who_is_another_one_is_not_asked(self):
        self.certificate(1, "redis-1.example.net")
        self.certificate(2, "redis-7.example.net")
        self.cluster()
        self.stunnel()
        site = Site(self, ["redis-1.example.net:6379"], before=self.inside)
        self.assertFalse(site.started)
        self.assertIn("no answer of all its masters within 5 s: redis-2.example.net:6379: ", site.error)


if __name__ == "__main__":
    harness.main()
