#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/packet against keys computed in Python: key_vs_oracle_test.py KEY_DUMP answer|oracle

answer: tools/exact_answer.py on pcaps/. oracle: exact_dedup.py on captures of real traffic, both in
the folder UNECHO_SHARED, else in ../shared beside the repository; without it: skipped.

For every key mode: each packet has the same outcome, two packets have equal digests exactly if their
keys are equal, and packets with equal keys have one owner. The packets of each capture come as they
are and then changed: headers are where a parser errs, so bits flip in the first 80 bytes, numbers
that mean something are put in, and frames are cut.
"""
import contextlib
import importlib.util
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import exact_answer  # noqa: E402

SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
MODES = ("packet", "flow", "flow-bidir", "frame")
ETHERNET = 1
MUTANTS = 3000  # for each capture
HEADERS = 80    # bytes that are changed
VALUES = (0, 1, 6, 17, 43, 44, 51, 59, 60, 132, 0x40, 0x45, 0x46, 0x60, 0x81, 0x86, 0x88, 0xDD, 0xFF)
KEY_DUMP = WHICH = None


class OwnOracle:
    """tools/exact_answer.py"""

    captures = sorted((ROOT / "pcaps").glob("*.pcap"))

    @staticmethod
    def packets(path):
        return [packet.data for packet in exact_answer.Capture(path) if packet.link == ETHERNET]

    @staticmethod
    def key(mode, data):
        """(outcome, key)"""
        try:
            return "keyed", exact_answer.key_of(mode, data)
        except exact_answer.NoKey as reason:
            return reason.args[0], None


class SharedOracle:
    """exact_dedup.py"""

    path = SHARED / "tools" / "exact_dedup.py"
    captures = sorted((SHARED / "captures").glob("*.pcap*"))

    def __init__(self):
        spec = importlib.util.spec_from_file_location("exact_dedup", self.path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def packets(self, path):
        capture = self.module.open_capture(str(path))
        with contextlib.closing(capture.stream):
            return [data for _, link, _, data in capture if link == ETHERNET]

    def key(self, mode, data):
        keyer = self.module.Keyer(mode)
        key = keyer.key(ETHERNET, data, len(data))
        if key is not None:
            return "keyed", key
        return ("malformed" if keyer.malformed else "non_ip"), None


def mutant(draw, data):
    data = bytearray(data)
    for _ in range(draw.randrange(4)):
        if data:
            at = draw.randrange(min(len(data), HEADERS))
            data[at] = draw.choice(VALUES) if draw.random() < 0.5 else data[at] ^ 1 << draw.randrange(8)
    if draw.random() < 0.3:
        del data[draw.randrange(len(data) + 1):]
    return bytes(data)


def write_pcap(file, packets):
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET))
    for number, data in enumerate(packets):
        file.write(struct.pack("<IIII", number, 0, len(data), len(data)) + data)
    file.flush()


def dumped(mode, path):
    """[(outcome, digest, owner)]"""
    done = subprocess.run([KEY_DUMP, mode, path], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [int(line[0]) for line in lines] == list(range(1, len(lines) + 1))
    return [tuple(line[1:]) for line in lines]


class Keys(unittest.TestCase):
    def compare(self, oracle, packets):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            write_pcap(file, packets)
            for mode in MODES:
                with self.subTest(key=mode):
                    self.compare_mode(oracle, mode, packets, dumped(mode, file.name))

    def compare_mode(self, oracle, mode, packets, answers):
        self.assertEqual(len(answers), len(packets))
        keys, digests = {}, {}
        for number, (data, (outcome, digest, owner)) in enumerate(zip(packets, answers), 1):
            expected, key = oracle.key(mode, data)
            self.assertEqual(outcome, expected, "packet %d: %s" % (number, data.hex()))
            if key is None:
                continue
            self.assertEqual(keys.setdefault(key, (digest, owner)), (digest, owner),
                             "packet %d: %s" % (number, data.hex()))
            self.assertEqual(digests.setdefault(digest, key), key,
                             "packet %d: %s" % (number, data.hex()))

    def test_captures_and_mutants_have_the_same_keys(self):
        oracle = OwnOracle() if WHICH == "answer" else SharedOracle()
        total = 0
        for path in oracle.captures:
            packets = oracle.packets(path)
            draw = random.Random(path.name)
            mutants = [mutant(draw, draw.choice(packets)) for _ in range(MUTANTS if packets else 0)]
            with self.subTest(capture=path.name):
                self.compare(oracle, packets)
            with self.subTest(mutants_of=path.name):
                self.compare(oracle, mutants)
            total += len(packets)
        self.assertGreater(total, 1000)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("answer", "oracle"):
        sys.exit("usage: key_vs_oracle_test.py KEY_DUMP answer|oracle")
    KEY_DUMP, WHICH = sys.argv.pop(1), sys.argv.pop(1)
    if WHICH == "oracle" and not SharedOracle.path.exists():
        print("skipped: no %s" % SharedOracle.path)
        sys.exit(77)
    unittest.main()
