#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/capture against exact_dedup.open_capture(): capture_vs_exact_test.py CAPTURE_DUMP

exact_dedup.py and the captures lie in the folder UNECHO_SHARED, else in ../shared beside the
repository; without it: skipped.

For every capture the sequence of (time, link type, wire length, bytes) is the same, with times
beyond 64 bits clamped, and so is what ended it early: of the captures as they are, compressed, and
of many that are cut or changed where numbers stand.
"""
import gzip
import importlib.util
import io
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
EXACT = SHARED / "tools" / "exact_dedup.py"
CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))
MUTANTS = 40  # of each capture
LARGEST = 60_000  # bytes of a capture that is changed
CAPTURE_DUMP = exact_dedup = None


def clamped(time):
    return min(max(time, 0), (1 << 64) - 1)


def exact(data):
    """[(time, link, wire, length, crc)], why it ended early; None if the program fails on it."""
    try:
        capture = exact_dedup.Capture(io.BytesIO(data), "sample")
        packets = [(clamped(time), link, wire, len(body), zlib.crc32(body))
                   for time, link, wire, body in capture]
    except exact_dedup.CaptureError:
        return [], "no capture"
    except (struct.error, IndexError):
        return None
    return packets, capture.cut


def dumped(path):
    done = subprocess.run([CAPTURE_DUMP, path], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        return [], ["no capture"]
    assert done.returncode == 0, done.stderr
    packets, warnings = [], []
    for line in done.stdout.splitlines():
        if line.startswith("warning "):
            warnings.append(line.split(" ", 4)[4])
        else:
            time, link, wire, length, crc, file, number = line.split()
            assert file == "0" and int(number) == len(packets) + 1
            packets.append((int(time), int(link), int(wire), int(length), int(crc, 16)))
    return packets, warnings


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
    def compare(self, data, file=None):
        expected = exact(data)
        if expected is None:
            return
        packets, cut = expected
        with tempfile.NamedTemporaryFile() as named:
            named.write(file or data)
            named.flush()
            found, warnings = dumped(named.name)
        self.assertEqual(found, packets)
        # The first bytes of a section: the exact program has other words for a cut there.
        if cut in (None, "bad byte-order magic") or cut.startswith("block"):
            harmless = ("time ", "block of unknown", "blocks of further")
            ends = [text for text in warnings if not text.startswith(harmless)]
            self.assertEqual(bool(ends), cut is not None, (cut, warnings))
        else:
            self.assertIn(cut, warnings)

    def test_every_capture_is_read_the_same(self):
        for path in CAPTURES:
            with self.subTest(capture=path.name):
                self.compare(path.read_bytes())
        self.assertGreater(len(CAPTURES), 10)

    def test_compressed_captures_are_read_the_same(self):
        for path in CAPTURES:
            data = path.read_bytes()
            half = len(data) // 2
            with self.subTest(capture=path.name):
                self.compare(data, gzip.compress(data[:half], 1) + gzip.compress(data[half:], 6))

    def test_cut_and_changed_captures_are_read_the_same(self):
        for path in CAPTURES:
            whole = path.read_bytes()[:LARGEST]
            draw = random.Random(path.name)
            for number in range(MUTANTS):
                with self.subTest(capture=path.name, mutant=number):
                    self.compare(mutant(draw, whole))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: capture_vs_exact_test.py CAPTURE_DUMP")
    CAPTURE_DUMP = sys.argv.pop(1)
    if not EXACT.exists():
        print("skipped: no %s" % EXACT)
        sys.exit(77)
    spec = importlib.util.spec_from_file_location("exact_dedup", EXACT)
    exact_dedup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exact_dedup)
    unittest.main(verbosity=2)
