#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap`: formats and compression of outputs, parts of captures, split outputs.

Functions that editcap has too are compared with editcap itself.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import harness  # noqa: E402
import made_captures  # noqa: E402
from harness import PCAPS, exact_answer  # noqa: E402
from pcap_test import DROPS_NOTHING, PcapTest, records_of  # noqa: E402

START = 1_600_000_000  # 2020-09-13 12:26:40 UTC
MICRO, NANO, PCAPNG = b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a"
ZSTD, LZ4 = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"


def made(path, frames, nanoseconds=True, link=1):
    """Write a pcap of (nanoseconds since START, frame)."""
    path.write_bytes(made_captures.pcap("<", nanoseconds, link, [
        (START * 10**9 + time, frame) for time, frame in frames]))


class Formats(PcapTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "in.pcap"
        shutil.copy(PCAPS / "one-link.pcap", self.capture)

    def begin(self, name):
        return (self.folder / name).read_bytes()[:4]

    def test_format_is_named_or_the_first_inputs(self):
        made(self.folder / "nano.pcap", [(1, bytes(60))])
        made(self.folder / "micro.pcap", [(1000, bytes(60))], nanoseconds=False)
        made(self.folder / "raw.pcap", [(1, bytes(60))], link=101)
        self.pcap("nano.pcap", "-o", "n.pcapng", "--quiet")
        for arguments, magic in (
                (("nano.pcap", "-o", "x"), NANO), (("micro.pcap", "-o", "x"), MICRO),
                (("n.pcapng", "-o", "x"), PCAPNG), (("n.pcapng", "-o", "x.cap"), NANO),
                (("nano.pcap", "n.pcapng", "-o", "x"), NANO),
                (("n.pcapng", "nano.pcap", "-o", "x"), PCAPNG),
                (("micro.pcap", "-F", "nsecpcap", "-o", "x.pcapng"), NANO),
                (("nano.pcap", "--format", "pcap", "-o", "x.txt"), MICRO),
                (("nano.pcap", "-F", "pcapng", "-o", "x.pcap"), PCAPNG),
                (("nano.pcap", "raw.pcap", "-o", "x.out"), PCAPNG)):
            with self.subTest(arguments=arguments):
                self.pcap(*arguments)
                self.assertEqual(self.begin(arguments[-1]), magic)
        for arguments, magic in ((("n.pcapng",), PCAPNG), (("nano.pcap",), NANO),
                                 (("nano.pcap", "raw.pcap"), PCAPNG),
                                 (("n.pcapng", "-F", "pcap"), MICRO)):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.pcap(*arguments, "-o", "-").out[:4], magic)
        self.pcap("nano.pcap", "nano.pcap", "-F", "pcapng", "-o", "x", "--dropped", "y", "--quiet")
        self.assertEqual((self.begin("x"), self.begin("y")), (PCAPNG, PCAPNG))
        self.assertIn("finer than the microseconds",
                      self.pcap("nano.pcap", "-F", "pcap", "-o", "x", "--quiet").err)

    def test_zstd_and_lz4(self):
        self.pcap("in.pcap", "-o", "out.pcap", "--pairs", "p.csv", "--quiet")
        plain = (self.folder / "out.pcap").read_bytes()
        for suffix, program, magic in ((".zst", "zstd", ZSTD), (".lz4", "lz4", LZ4)):
            self.pcap("in.pcap", "-o", "out.pcap" + suffix, "--pairs", "p.csv" + suffix, "--quiet")
            self.assertEqual(self.begin("out.pcap" + suffix), magic)
            self.pcap("out.pcap" + suffix, "-o", "again.pcap", *DROPS_NOTHING)
            self.assertEqual((self.folder / "again.pcap").read_bytes(), plain)
            if shutil.which(program) is None:
                self.skipTest("no " + program)
            for name in ("out.pcap", "p.csv"):
                unpacked = subprocess.run([program, "-dc", self.folder / (name + suffix)],
                                          check=True, stdout=subprocess.PIPE)
                self.assertEqual(unpacked.stdout, (self.folder / name).read_bytes())
            for level in ("-1", "-9"):
                theirs = subprocess.run([program, level, "-c", self.capture], check=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                (self.folder / "theirs").write_bytes(theirs.stdout)
                self.pcap("theirs", "-o", "t.pcap", "--quiet")
                self.assertEqual((self.folder / "t.pcap").read_bytes(), plain)
                piped = self.pcap("-", "-o", "-", "--quiet", stdin=None, input=theirs.stdout)
                self.assertEqual(piped.out, plain)


class Parts(PcapTest):
    def setUp(self):
        super().setUp()
        made(self.folder / "in.pcap", [(i * 250_000_000, bytes([i % 5]) * 60) for i in range(12)])

    def editcap(self, *arguments, zone="UTC", expected=0):
        done = subprocess.run(["editcap", *map(str, arguments)], check=False, cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "TZ": zone})
        self.assertEqual(done.returncode, expected, arguments)

    @unittest.skipUnless(shutil.which("editcap"), "no editcap")
    def test_time_ranges_are_those_of_editcap(self):
        lengths = set()
        for zone in ("UTC", "Asia/Tokyo"):
            for start, stop in ((START + 1, None), ("%d.000000001" % (START + 1), None),
                                (None, "%d.25" % (START + 1)),
                                ("2020-09-13T12:26:41.5Z", "2020-09-13T14:26:42+02:00"),
                                ("2020-09-13T21:26:41", "2020-09-13 21:26:42,5"),
                                ("2020-09-13T12:26:41", None), (START + 100, None)):
                given = [*(() if start is None else ("-A", start)),
                         *(() if stop is None else ("-B", stop))]
                with self.subTest(given=given, zone=zone):
                    self.editcap("-F", "nsecpcap", *given, "in.pcap", "theirs.pcap", zone=zone)
                    self.pcap("in.pcap", "-o", "ours.pcap", *given, *DROPS_NOTHING,
                              env={**os.environ, "TZ": zone})
                    ours = records_of(self.folder / "ours.pcap")[1]
                    self.assertEqual(ours, records_of(self.folder / "theirs.pcap")[1])
                    lengths.add(len(ours))
        self.assertGreater(len(lengths), 5)

    def test_what_is_left_out_is_counted_and_not_compared(self):
        given = ("-A", START + 1, "--filter", "greater 1")
        how = ("--dry-run", "--json", "--key", "frame", "--window", "inf", "--repeats", "drop")
        everything = json.loads(self.pcap("in.pcap", *how).out)
        self.assertEqual((everything["dropped"], everything["left_out"]), (7, None))
        part = json.loads(self.pcap("in.pcap", *how, *given).out)
        self.assertEqual((part["packets"], part["dropped"], part["left_out"]), (8, 3, 4))
        self.assertIn("4 packets left out", self.pcap("in.pcap", "--dry-run", *given).err)

    @unittest.skipUnless(shutil.which("tcpdump"), "no tcpdump")
    def test_filters_are_those_of_tcpdump(self):
        taps = [PCAPS / "one-link.pcap", PCAPS / "two-taps-a.pcap"]
        for capture in taps:
            for expression in ("tcp", "udp port 53 or icmp", "less 100", "vlan", "not ip"):
                with self.subTest(capture=capture.name, expression=expression):
                    (self.folder / "theirs.pcap").write_bytes(subprocess.run(
                        ["tcpdump", "-r", "-", "-w", "-", expression], check=True,
                        input=capture.read_bytes(), stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL).stdout)
                    self.pcap(capture, "--filter", expression, "-o", "ours.pcap", *DROPS_NOTHING)
                    self.assert_frames(
                        [one.data for one in exact_answer.Capture(self.folder / "ours.pcap")],
                        [one.data for one in exact_answer.Capture(self.folder / "theirs.pcap")])

    @unittest.skipUnless(shutil.which("editcap"), "no editcap")
    def test_split_outputs_are_those_of_editcap(self):
        for split in (("-c", 5), ("-c", 1), ("-c", 12), ("-i", 1), ("-i", "0.3"), ("-i", 100)):
            for name in ("out.pcap", "a.b.pcap", "out"):
                with self.subTest(split=split, name=name):
                    for folder in ("ours", "theirs"):
                        shutil.rmtree(self.folder / folder, ignore_errors=True)
                        (self.folder / folder).mkdir()
                    self.editcap("-F", "nsecpcap", *split, "in.pcap", "theirs/" + name)
                    self.pcap("in.pcap", "-o", "ours/" + name, *split, *DROPS_NOTHING,
                              env={**os.environ, "TZ": "UTC"})
                    ours, theirs = ({path.name: path.read_bytes()[24:]
                                     for path in (self.folder / folder).iterdir()}
                                    for folder in ("ours", "theirs"))
                    self.assertEqual(ours, theirs)

    def test_split_outputs_are_named_in_the_summary(self):
        done = self.pcap(PCAPS / "one-link.pcap", "-o", "out.pcap.zst", "-c", 100, "--json")
        parts = sorted(path.name for path in self.folder.glob("out_*.pcap.zst"))
        self.assertGreater(len(parts), 2)
        summary = json.loads(done.out)
        self.assertEqual([summary[key] for key in ("output", "last_output", "output_files")],
                         [parts[0], parts[-1], len(parts)])
        self.assertIn(" to %d files, %s to %s\n" % (len(parts), parts[0], parts[-1]),
                      self.pcap(PCAPS / "one-link.pcap", "-o", "out.pcap.zst", "-c", 100).err)

    @unittest.skipUnless(shutil.which("editcap"), "no editcap")
    def test_ignored_bytes_are_those_of_editcap(self):
        """Frames that differ only in their first bytes, short ones, and ends that look like whole
        frames."""
        body = bytes(range(64))
        frames = [bytes([i]) * 14 + body[:20 + i % 3] for i in range(9)]
        frames += [bytes([1, 2]), bytes([1, 2]), bytes([1, 3]), body[:20], body[:21], b"",
                   bytes(14), bytes([9]) + bytes(13), bytes(14) + b"\x01", bytes([7]) * 14 + b"\x01"]
        made(self.folder / "in.pcap", [(i * 1000, frame) for i, frame in enumerate(frames)])
        counts = set()
        for ignored in (0, 1, 2, 13, 14, 15, 20, 34, 1000):
            for ours, theirs in ((("--count", 5), ("-D", 5)), (("--window", "3us"),
                                                               ("-w", "0.000003")),
                                 (("--count", 100), ("-D", 100))):
                with self.subTest(ignored=ignored, ours=ours):
                    self.editcap("-F", "nsecpcap", "-I", ignored, *theirs, "in.pcap", "theirs.pcap")
                    self.pcap("in.pcap", "-o", "ours.pcap", "--editcap", "-I", ignored, *ours,
                              "--quiet")
                    kept = records_of(self.folder / "ours.pcap")[1]
                    self.assertEqual(kept, records_of(self.folder / "theirs.pcap")[1])
                    counts.add(len(kept))
        self.assertGreater(len(counts), 4)
        kept = self.pcap("in.pcap", "-o", "-", "--key", "frame", "-I", 14, "--window", "inf",
                         "--repeats", "drop").out
        both = self.pcap("in.pcap", "-o", "-", "--editcap", "-I", 14, "--count", 1000).out
        self.assertEqual(kept, both)

    def test_values_that_are_not_allowed(self):
        for arguments, words in (
                (("-A", "yesterday"), ("-A", "2026-01-02T03:04:05")), (("-A", "5", "-B", "4"), ("-A", "-B")),
                (("--filter", "tcp porto 5"), ("--filter", "syntax error", "pcap-filter(7)")),
                (("-c", "5", "-i", "5"), ("-c", "-i")), (("-i", "-1"), ("-i", "above 0")),
                (("-I", "14"), ("--key frame",)), (("-F", "snoop"), ("-F", "nsecpcap"))):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.run_pcap("in.pcap", "-o", "x.pcap", *arguments), 2, *words)
        self.assert_refused(self.run_pcap("in.pcap", "-o", "-", "-c", "5"), 2, "-c", "file")
        self.assert_refused(self.run_pcap("in.pcap", "-o", "/dev/null", "-c", "5"), 2, "/dev/null")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.pcap"])


if __name__ == "__main__":
    harness.main()
