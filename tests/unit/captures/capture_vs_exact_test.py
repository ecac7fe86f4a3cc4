#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/captures against readers in Python: capture_vs_exact_test.py CAPTURE_DUMP answer|oracle

answer: exact_answer.Capture, on captures of every kind made here. oracle: exact_dedup.Capture, on
captures of real traffic. Both are in the folder UNECHO_SHARED, else in ../shared beside the
repository. The test is skipped without it.

For every capture both readers must return the same sequence of (time, link type, wire length,
bytes), with times beyond 64 bits clamped, and the same reason for an early end. Captures are read
as they are, compressed, cut in many places, and with numbers changed.
"""
import gzip
import importlib.util
import io
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import made_captures  # noqa: E402
from made_captures import exact_answer  # noqa: E402

SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
EXACT = SHARED / "tools" / "exact_dedup.py"
MUTANTS = 40  # for each capture
LARGEST = 60_000  # bytes of a capture to be changed
CAPTURE_DUMP = READER = None


def clamped(time):
    return min(max(time, 0), (1 << 64) - 1)


class Answer:
    """exact_answer.py, which has no wire lengths and reports only that an end is missing."""

    def captures(self):
        names = ("one-link.pcap", "edges.pcap", "cut.pcap")
        return {**made_captures.captures(),
                **{name: (ROOT / "pcaps" / name).read_bytes() for name in names}}

    def read(self, data):
        """Return [(time, link, length, crc)] and the reason for an early end."""
        with tempfile.NamedTemporaryFile() as named:
            named.write(data)
            named.flush()
            capture = exact_answer.Capture(named.name)
            try:
                packets = [(clamped(time), link, len(body), zlib.crc32(body))
                           for time, link, body in capture]
            except exact_answer.CaptureError:
                return [], "no capture"
        return packets, "cut" if capture.cut else None

    def shown(self, packet):
        time, link, _, length, crc = packet
        return time, link, length, crc

    def says(self, cut):
        return cut == "no capture"


class Oracle:
    """exact_dedup.py"""

    def __init__(self):
        spec = importlib.util.spec_from_file_location("exact_dedup", EXACT)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def captures(self):
        return {path.name: path.read_bytes()
                for path in sorted((SHARED / "captures").glob("*.pcap*"))}

    def read(self, data):
        """Return [(time, link, wire, length, crc)] and why it ended early; None if it failed."""
        try:
            capture = self.module.Capture(io.BytesIO(data), "sample")
            packets = [(clamped(time), link, wire, len(body), zlib.crc32(body))
                       for time, link, wire, body in capture]
        except self.module.CaptureError:
            return [], "no capture"
        except (struct.error, IndexError):
            return None
        return packets, capture.cut

    def shown(self, packet):
        return packet

    def says(self, cut):
        """Return False for a cut in a section's first bytes, which the oracle words differently."""
        return cut is not None and cut != "bad byte-order magic" and not cut.startswith("block")


def dumped(path):
    done = subprocess.run([CAPTURE_DUMP, path], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        return [], ["no capture"]
    assert done.returncode == 0, done.stderr
    packets, warnings, last = [], [], 0
    for line in done.stdout.splitlines():
        if line.startswith("warning "):
            warnings.append(line.split(" ", 4)[4])
        else:
            time, link, wire, length, crc, file, number = line.split()
            assert file == "0" and int(number) > last  # custom blocks have numbers too
            last = int(number)
            packets.append((int(time), int(link), int(wire), int(length), int(crc, 16)))
    return packets, warnings


def odd_version(data):
    """Return True for a version that lib/captures refuses or reads in its own way."""
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\x34\xcd\xb2\xa1": "<",
             b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">", b"\xa1\xb2\xcd\x34": ">"}.get(data[:4])
    if order and len(data) >= 8:
        return struct.unpack_from(order + "HH", data, 4) != (2, 4)
    at = data.find(exact_answer.SECTION_BYTES)
    while at != -1:
        order = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}.get(data[at + 8:at + 12])
        if order and len(data) >= at + 16 and struct.unpack_from(
                order + "HH", data, at + 12) not in ((1, 0), (1, 2)):
            return True
        at = data.find(exact_answer.SECTION_BYTES, at + 1)
    return False


def mutant(draw, data):
    data = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        at = draw.choice((draw.randrange(len(data)), draw.randrange(min(len(data), 200))))
        at -= at % 4 if draw.random() < 0.7 else 0
        value = draw.choice((0, 1, 2, 3, 6, 0xFF, 0x80, draw.randrange(256)))
        data[at:at + draw.choice((1, 1, 2, 4))] = bytes([value])
    if draw.random() < 0.3:
        del data[draw.randrange(len(data)):]
    return bytes(data)


class SameAsExact(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.captures = READER.captures()

    def compare(self, data, file=None):
        expected = READER.read(data)
        if expected is None:
            return
        packets, cut = expected
        with tempfile.NamedTemporaryFile() as named:
            named.write(file or data)
            named.flush()
            found, warnings = dumped(named.name)
        self.assertEqual(list(map(READER.shown, found)), packets)
        if READER.says(cut):
            # Our messages continue after that text, and group thousands.
            plain = [re.sub(r"(?<=\d),(?=\d{3})", "", text) for text in warnings]
            self.assertTrue(any(text.startswith(cut) for text in plain), (cut, warnings))
        else:
            harmless = ("time ", "block of unknown", "blocks of further")
            ends = [text for text in warnings if not text.startswith(harmless)]
            self.assertEqual(bool(ends), cut is not None, (cut, warnings))

    def test_every_capture_is_read_the_same(self):
        for name, data in self.captures.items():
            with self.subTest(capture=name):
                self.compare(data)
        self.assertGreater(len(self.captures), 10)

    def test_compressed_captures_are_read_the_same(self):
        for name, data in self.captures.items():
            half = len(data) // 2
            with self.subTest(capture=name):
                if not data.startswith(b"\x1f\x8b"):
                    self.compare(data, gzip.compress(data[:half], 1) + gzip.compress(data[half:], 6))

    def test_cut_and_changed_captures_are_read_the_same(self):
        for name, data in self.captures.items():
            if data.startswith(b"\x1f\x8b"):
                continue  # the unit tests cut compressed captures
            whole, draw = data[:LARGEST], random.Random(name)
            for number in range(MUTANTS):
                changed = mutant(draw, whole)
                with self.subTest(capture=name, mutant=number):
                    if not odd_version(changed):
                        self.compare(changed)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("answer", "oracle"):
        sys.exit("usage: capture_vs_exact_test.py CAPTURE_DUMP answer|oracle")
    CAPTURE_DUMP, which = sys.argv.pop(1), sys.argv.pop(1)
    if which == "oracle" and not EXACT.exists():
        print("skipped: no %s" % EXACT)
        sys.exit(77)
    READER = Answer() if which == "answer" else Oracle()
    unittest.main(verbosity=2)
