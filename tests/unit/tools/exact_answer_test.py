#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/exact_answer.py: windows, and several files. Its keys and its reading of captures are compared
with those of lib/ in tests/unit/packet and tests/unit/capture."""
import contextlib
import csv
import io
import json
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import exact_answer  # noqa: E402
import frames  # noqa: E402

MS = 1_000_000
V4 = ("192.0.2.1", "198.51.100.2")
PORTS = (40000, 443)


def udp4():
    return frames.ipv4(*V4, frames.UDP, frames.udp(*V4, PORTS, b"payload"))


def timed(*times):
    """Return equal packets at these times in ms."""
    frame = frames.ethernet(udp4())
    return [exact_answer.Packet(int(time * MS), 1, frame) for time in times]


def echoes(packets, **options):
    """Return the number of the packet that each one repeats, 0 for a new one."""
    return [answer.reference or 0 for answer in exact_answer.answers(packets, **options)]


class Window(unittest.TestCase):
    def test_an_age_of_the_window_is_new(self):
        self.assertEqual(echoes(timed(0, 49.999999, 50), window=50 * MS), [0, 1, 0])

    def test_fixed_counts_from_the_accepted_packet(self):
        self.assertEqual(echoes(timed(0, 30, 60, 90, 120), window=50 * MS), [0, 1, 0, 3, 0])

    def test_refresh_counts_from_the_last_packet(self):
        self.assertEqual(echoes(timed(0, 30, 60, 90, 140), window=50 * MS, policy="refresh"),
                         [0, 1, 2, 3, 0])

    def test_time_never_steps_back(self):
        packets = timed(100, 20, 149, 150)
        self.assertEqual(echoes(packets, window=50 * MS), [0, 1, 1, 0])
        self.assertEqual([answer.age for answer in exact_answer.answers(packets, window=50 * MS)],
                         [None, 0, 49 * MS, None])

    def test_far_steps_back_begin_epochs(self):
        packets = timed(3_600_000, 0, 10, 60, 61)
        self.assertEqual(echoes(packets, window=50 * MS), [0, 1, 1, 0, 4])
        self.assertEqual([answer.age for answer in exact_answer.answers(packets, window=50 * MS)],
                         [None, 0, 10 * MS, None, MS])
        self.assertEqual(echoes(packets), [0, 1, 1, 1, 1], "not in an endless window")

    def test_epochs_begin_beyond_a_second_or_the_window(self):
        for window, jump in ((50 * MS, 1000 * MS), (3000 * MS, 3000 * MS)):
            for more, ages in ((0, [None, 0, 0]), (1, [None, 0, 1])):
                packets = [packet._replace(time=time) for packet, time in zip(
                    timed(0, 0, 0), (10_000 * MS, 10_000 * MS - jump - more,
                                     10_000 * MS - jump - more + 1))]
                answers = exact_answer.answers(packets, window=window)
                self.assertEqual([answer.age for answer in answers], ages)


class First(unittest.TestCase):
    def test_fixed_accepts_n_in_any_window(self):
        times = (0, 10, 20, 30, 49, 50, 55, 60, 65, 99, 100)
        self.assertEqual([reference == 0 for reference in
                          echoes(timed(*times), window=50 * MS, first=2)],
                         [True, True, False, False, False, True, False, True, False, False, True])

    def test_fixed_equals_counting_the_accepted(self):
        draw = random.Random(7)
        times = sorted(draw.random() * 1000 for _ in range(600))
        for n in (1, 2, 3, 7):
            accepted = []
            for time, reference in zip(times, echoes(timed(*times), window=50 * MS, first=n)):
                expected = sum(int(time * MS) - then < 50 * MS for then in accepted) < n
                self.assertEqual(reference == 0, expected)
                if expected:
                    accepted.append(int(time * MS))

    def test_refresh_stamps_every_live_slot(self):
        # slot 1: 0, 40, 80, ... stays alive; slot 2 is stamped at 40, then at each packet
        times = (0, 40, 80, 120, 169, 219)
        self.assertEqual(echoes(timed(*times), window=50 * MS, policy="refresh", first=2),
                         [0, 0, 2, 3, 4, 0])


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
