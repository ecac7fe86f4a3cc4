#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exact_answer.py: the merging of files, and the command. Its keys and its reading of captures
are compared with those of lib/ in tests/unit/packets and tests/unit/captures, its answers in
tests/e2e/pcap_test.py."""
import contextlib
import csv
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "oracle"))
import exact_answer  # noqa: E402
import frames  # noqa: E402

MS = 1_000_000
V4 = ("192.0.2.1", "198.51.100.2")
PORTS = (40000, 443)


def udp4():
    return frames.ipv4(*V4, frames.UDP, frames.udp(*V4, PORTS, b"payload"))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_files_are_merged_by_time_and_order(self):
        taps = [[(10, b"a1"), (30, b"a2"), (20, b"a3")], [(10, b"b1"), (25, b"b2")]]
        for index, tap in enumerate(taps):
            (self.folder / str(index)).write_bytes(frames.pcap(tap, nanoseconds=True))
        captures = [exact_answer.Capture(self.folder / str(index)) for index in range(2)]
        self.assertEqual([(index, packet.data) for index, packet in exact_answer.merged(captures)],
                         [(0, b"a1"), (1, b"b1"), (1, b"b2"), (0, b"a2"), (0, b"a3")])

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = exact_answer.main([str(argument) for argument in arguments])
            except SystemExit as exit_status:
                status = exit_status.code
        return status, out.getvalue(), err.getvalue()

    def test_command_answers_in_json_and_csv(self):
        a, b, answers = self.folder / "a", self.folder / "b", self.folder / "answers.csv"
        packet = frames.ethernet(udp4())
        a.write_bytes(frames.pcap([(0, packet), (60 * MS, packet)]))
        b.write_bytes(frames.pcap([(5 * MS, packet), (6 * MS, frames.ethernet(b"", frames.ARP))]))
        status, out, err = self.command(a, b, "--window", "50ms", "--csv", answers)
        self.assertEqual((status, err), (0, ""))
        summary = json.loads(out)
        self.assertEqual([summary[kind] for kind in ("packets", "new", "echo", "non_ip")],
                         [4, 2, 1, 1])
        self.assertEqual((summary["min_age_ns"], summary["reasons"]["non_ip"]),
                         (5 * MS, {"ethertype 0x0806": 1}))
        with open(answers, encoding="ascii") as file:
            rows = [row[:7] for row in csv.reader(file)][1:]
        self.assertEqual(rows, [["1", "1", "1", "0", "new", "", ""],
                                ["2", "2", "1", "5000000", "echo", "5000000", "1"],
                                ["3", "2", "2", "6000000", "non_ip", "", ""],
                                ["4", "1", "2", "60000000", "new", "", ""]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
