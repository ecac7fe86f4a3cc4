# SPDX-License-Identifier: BSD-3-Clause
"""A Redis Cluster with Debian's programs on loopback: three masters, each with a replica."""
import itertools
import re
import shutil
import socket
import subprocess
import unittest

import harness

_serial = itertools.count()
SECRET = "000102030405060708090a0b0c0d0e0f" * 2


def needs_redis(test):
    absent = [name for name in ("redis-server", "redis-cli") if not shutil.which(name)]
    return unittest.skipIf(absent, "needs " + ", ".join(absent))(test)


_ours = []  # sockets whose names reserve ports among processes, until this one ends


def free_port():
    """Return a free port whose cluster bus port is free too. Other processes do not get it before a
    server listens."""
    for port in range(21000, 32000):
        mine = socket.socket(socket.AF_UNIX)
        try:
            mine.bind("\0unecho-test-port-%d" % port)  # of this network namespace, like the port
            for each in (port, port + 10000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", each))
        except OSError:
            mine.close()
            continue
        _ours.append(mine)
        yield port


class Node:
    def __init__(self, test, port, *options, before=()):
        """before: command that runs it, such as env."""
        self.port, self._test, self._before = port, test, before
        self.folder = test.folder / ("redis-%d" % next(_serial))
        self.folder.mkdir()
        self._options = options
        self.start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def start(self):
        self.process = subprocess.Popen(
            [*self._before, "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", str(self.folder), *self._options],
            stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        self._test.addCleanup(self._end, self.process)
        harness.wait_for(lambda: "PONG" in self.ask("ping"), "Redis at %s" % self.address)

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def ask(self, *words):
        done = subprocess.run(["redis-cli", "-h", "127.0.0.1", "-p", str(self.port),
                               *map(str, words)], capture_output=True, text=True, check=False,
                              timeout=harness.PATIENCE)
        return done.stdout + done.stderr

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, test, masters=3, replicas=1, replicas_by=()):
        """replicas_by: command that runs the replicas."""
        ports = free_port()
        self.nodes = [Node(test, next(ports), "--cluster-enabled", "yes",
                           "--cluster-node-timeout", "1000",
                           before=replicas_by if i >= masters else ())
                      for i in range(masters * (1 + replicas))]
        if masters == 1:  # redis-cli cannot make a cluster of one
            self.nodes[0].ask("cluster", "addslotsrange", 0, 16383)
        else:
            done = subprocess.run(
                ["redis-cli", "--cluster", "create", *self.addresses, "--cluster-replicas",
                 str(replicas), "--cluster-yes"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
        self.wait_until_whole()

    @property
    def addresses(self):
        return [node.address for node in self.nodes]

    def alive(self):
        return [node for node in self.nodes if node.process.poll() is None]

    def wait_until_whole(self):
        """Return once all slots have a master and each replica has its master's data."""
        def whole():
            return all("cluster_state:ok" in node.ask("cluster", "info") and
                       "cluster_slots_ok:16384" in node.ask("cluster", "info") and
                       "master_link_status:down" not in node.ask("info", "replication")
                       for node in self.alive())
        harness.wait_for(whole, "a cluster")

    def wait_for_replicas(self):
        """Return once replicas have everything that the masters received so far."""
        def offset(node, name):
            return int(re.search(name + r":(\d+)", node.ask("info", "replication"))[1])
        for master in self.masters():
            told = offset(master, "master_repl_offset")

            def follows(master=master, told=told):
                said = re.findall(r"^slave\d+:.*offset=(\d+)", master.ask("info", "replication"), re.M)
                return said and all(int(each) >= told for each in said)
            harness.wait_for(follows, "the replica of %s" % master.address)

    def masters(self):
        """Return the nodes that have slots."""
        def has_slots(node):
            return any("myself,master" in line and len(line.split()) > 8
                       for line in node.ask("cluster", "nodes").splitlines())
        return [node for node in self.alive() if has_slots(node)]
