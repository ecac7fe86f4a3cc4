#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unchanged examples/recipes on interfaces: tcpreplay sends a capture with copies to a tap, and
the tool behind unecho sees each packet once."""
import os
import subprocess

import wire
from wire import Host, Listener, harness

RECIPES = harness.ROOT / "examples" / "recipes"
PACKETS = 506  # of span_copies.py, without copies


@wire.needs_namespaces
@wire.needs("tcpreplay")
class Recipes(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.host = Host(self, 1)
        self.capture = self.folder / "span.pcap"
        wire.run(RECIPES / "span_copies.py", self.capture)

    def recipe(self, name, *arguments):
        """Start it, send the capture to its tap; -c ends it. Return the tool's output."""
        environment = dict(os.environ, UNECHO=os.environ["UNECHO_BIN"],
                           UNECHO_OPTIONS="-c %d -f ip --window 60s" % (2 * PACKETS))
        with subprocess.Popen([RECIPES / name, self.host.outside, *map(str, arguments)],
                              env=environment, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            self.addCleanup(lambda: running.poll() is None and running.kill())
            told = ""
            while "unecho: capturing" not in told:
                line = running.stderr.readline()
                self.assertTrue(line, told)
                told += line
            self.host.run("tcpreplay", "-q", "--pps=5000", "-i", self.host.inside, self.capture)
            out, errors = running.communicate(timeout=harness.PATIENCE)
        self.assertEqual(running.returncode, 0, told + errors)
        return out

    def test_tcpdump_writes_each_packet_once(self):
        self.recipe("tcpdump", "-w", self.folder / "clean.pcap")
        clean = harness.frames_of(self.folder / "clean.pcap")
        self.assert_frames(clean, harness.frames_of(self.capture)[::2])

    @wire.needs("tshark")
    def test_tshark_sees_no_retransmission(self):
        shown = ("-Y", "tcp.analysis.retransmission || tcp.analysis.duplicate_ack")
        raw = wire.run("tshark", "-nr", self.capture, *shown).stdout
        self.assertGreater(len(raw.splitlines()), 400)
        self.assertEqual(self.recipe("tshark", *shown), "")

    def test_a_tool_at_an_interface_gets_each_packet_once(self):
        tool = Host(self, 2)
        seen = Listener(self, tool, "ip", direction="in")
        self.recipe("to_interface", tool.outside)
        self.assert_frames(seen.frames(PACKETS), harness.frames_of(self.capture)[::2])


if __name__ == "__main__":
    harness.main()
