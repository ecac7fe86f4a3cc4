#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho compare: what it prints and writes, and its messages about options that cannot be."""
import json
import pathlib
import shutil
import struct
import tempfile
import unittest

import harness

LINK = str(harness.ROOT / "pcaps" / "one-link.pcap")
HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)


def frame(number):
    """Return a UDP datagram; the number is its IP ID."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 32, number, 0, 64, 17, 0, bytes([10, 0, 0, 1]),
                     bytes([10, 0, 0, 2]))
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHHI", 1000, 2000, 12, 0, number)


def record(number, time):
    data = frame(number)
    return struct.pack("<IIII", 1_700_000_000, time, len(data), len(data)) + data


def capture(path, packets):
    """Write packets (number, ns after a time) as a pcap with nanoseconds."""
    path.write_bytes(HEADER + b"".join(record(*packet) for packet in packets))


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="unecho-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.before, self.behind = self.folder / "before.pcap", self.folder / "behind.pcap"
        capture(self.before, [(i, i * 1000) for i in range(10, 210)])
        capture(self.behind, [(i, i * 1000 + 300) for i in range(10, 210) if i not in (50, 77)])

    def compare(self, *arguments, **options):
        return harness.unecho("compare", *arguments, cwd=self.folder, **options)

    def test_the_answer_names_the_loss_and_the_delay(self):
        done = self.compare(self.before, self.behind)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("of the packets from before.pcap never came to behind.pcap", done.stdout)
        self.assertIn("2 of 199 packets missing (1.01 %", done.stdout)  # the last is not judged
        self.assertIn("delay 300 ns in the median", " ".join(done.stdout.split()))
        whole = self.compare(self.before, self.behind, "-v").stdout
        for title in ("Loss", "Delay", "Over time", "Flows that lost most", "Points", "Clocks"):
            self.assertIn("\n%s\n" % title, whole)

    def test_each_output_goes_where_it_is_told(self):
        lost, page = self.folder / "lost.pcap", self.folder / "page.html"
        done = self.compare(self.before, self.behind, "--missing", lost, "--html", page)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertIn(b"never came to", page.read_bytes())
        self.assertEqual(lost.read_bytes()[24:], record(50, 50_000) + record(77, 77_000))
        done = self.compare(self.before, self.behind, "--json", "--html", page)
        self.assertEqual(json.loads(done.stdout)["pairs"][0]["paths"][0]["missing"], 2)

    def test_an_input_may_be_a_pipe_unless_it_is_read_twice(self):
        for more, status in (((), 0), (("--missing", "lost.pcap"), 2)):
            with open(self.behind, "rb") as behind:
                done = self.compare(self.before, "-", "--json", *more, stdin=behind)
            self.assertEqual(done.returncode, status, done.stderr)
            if status == 0:
                self.assertEqual(json.loads(done.stdout)["pairs"][0]["paths"][0]["missing"], 2)
        self.assertIn("reads the inputs twice", done.stderr)
        self.assertFalse((self.folder / "lost.pcap").exists())

    def test_a_cut_capture_is_compared_and_said(self):
        self.behind.write_bytes(self.behind.read_bytes()[:-7])
        done = self.compare(self.before, self.behind)
        self.assertEqual(done.returncode, 0)
        self.assertIn("behind.pcap: packet 19", done.stdout)

    def test_impossible_requests_say_what_is_allowed(self):
        both = (self.before, self.behind)
        for status, arguments, said in (
                (2, (LINK,), "two captures or more"),
                (2, (*both, "--window", "0s"), "above 0, up to 3600s"),
                (2, (*both, "--clocks", "wrong"), "auto, same, apart"),
                (2, (*both, "--memory", "1MiB"), "allowed here: 32MiB or more"),
                (2, (*both, "--missing", self.before), "is the input"),
                (2, (*both, "--missing", "-"), "goes to standard output"),
                (2, (*both, "--html", "-", "--json"), "goes to standard output"),
                (2, (*both, "--tunnels", "vlan"), "is unknown"),
                (1, (self.before, "absent.pcap"), "No such file"),
                (1, (self.before, __file__), "no capture")):
            with self.subTest(arguments=arguments):
                done = self.compare(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    harness.main()
