#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unchanged examples/recipes on captures, with the real tools: wrong results with copies and
right ones without, to the packet and the byte. Those on interfaces: wire/recipes_test.py."""
import os
import shutil
import socket
import subprocess
import unittest

import harness

RECIPES = harness.ROOT / "examples" / "recipes"
PACKETS, IP_BYTES = 506, 233_912  # of span_copies.py, without copies


def needs(*programs):
    absent = [name for name in programs if shutil.which(name) is None]
    return unittest.skipIf(absent, "needs " + ", ".join(absent))


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ToolRecipes(harness.E2eTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "span.pcap"
        self.recipe("span_copies.py", self.capture)

    def recipe(self, name, *arguments, status=0):
        environment = dict(os.environ, UNECHO=os.environ["UNECHO_BIN"], PORT=str(free_port()),
                           ARGUS_CONFIG="/dev/null")
        done = subprocess.run([RECIPES / name, *arguments], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    @needs("softflowd", "nfcapd", "nfdump", "ss")
    def test_flows_bytes_are_doubled_with_copies_and_right_without(self):
        out = self.recipe("flows", self.folder / "out", self.capture).stdout
        self.assertEqual(out.splitlines(), [
            "with copies:", "Flows: 4", "Packets: %d" % (2 * PACKETS), "Bytes: %d" % (2 * IP_BYTES),
            "without copies:", "Flows: 4", "Packets: %d" % PACKETS, "Bytes: %d" % IP_BYTES])

    @needs("argus", "racluster")
    def test_argus_takes_copies_for_packets_sent_again(self):
        out = self.recipe("argus", self.capture).stdout.splitlines()
        rows = [line.split(",") for line in out if line.startswith(("tcp", "udp"))]
        (tcp, udp), (clean_tcp, clean_udp) = rows[:2], rows[2:]
        self.assertEqual([int(row[3]) for row in (tcp, udp, clean_tcp, clean_udp)],
                         [812, 200, 406, 100])
        for with_copies, without in ((tcp, clean_tcp), (udp, clean_udp)):
            self.assertEqual(int(with_copies[4]), 2 * int(without[4]))
        self.assertGreater(int(tcp[5]), 200)
        self.assertEqual(int(clean_tcp[5]), 0)


if __name__ == "__main__":
    harness.main()
