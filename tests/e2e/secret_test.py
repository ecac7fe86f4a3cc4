#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the secret is for: crafted packets are no echoes, and no two runs have the same accidents.

UNECHO_E2E_FULL=1 crafts 250,000 packets, else 65,536.
"""
import collections
import itertools
import json
import os
import random
import struct
import subprocess
import unittest

import harness

CRAFTED = 250_000 if harness.FULL else 1 << 16
STRIPES, LANE, BODY = 14, 3, 1024


def capture(path, packets):
    """(body of an IPv4 packet behind its addresses, its length), a microsecond apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, body in enumerate(packets):
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 12 + len(body), 1, 0x4000, 64, 253, 0) + body
            file.write(struct.pack("<IIII", 1, number, 14 + len(ip), 14 + len(ip)))
            file.write(b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip)
    return path


def top_bits_of_a_lane(count):
    """Bodies that differ in bits 31 of one lane of 64-byte stripes, as many set in each: under any
    secret any two collided with 2^-33 when digests were XXH3 (statistical/digests has more kinds)."""
    draw = random.Random(1)
    base = bytearray(draw.randbytes(BODY))
    halves = list(itertools.combinations(range(STRIPES), STRIPES // 2))
    for number in range(count):
        place = number * 10_007 % (len(halves) << STRIPES - 1)
        even = halves[place % len(halves)]
        odd = place // len(halves)
        odd |= (odd.bit_count() & 1) << STRIPES - 1
        for stripe in range(STRIPES):
            at = stripe * 64 + LANE * 8
            base[at + 3] = base[at + 3] & 0x7F | (stripe in even) << 7
            base[at + 7] = base[at + 7] & 0x7F | (odd >> stripe & 1) << 7
        yield bytes(base)


class Secret(harness.E2eTest):
    def pcap(self, *arguments):
        done = subprocess.run([os.environ["UNECHO_BIN"], "pcap", *map(str, arguments), "--json"],
                              check=False, text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_crafted_packets_are_no_echoes(self):
        path = capture(self.folder / "crafted.pcap", top_bits_of_a_lane(CRAFTED))
        for _ in range(2):
            summary = self.pcap(path, "--window", "inf", "--memory", "64MiB", "-o", "/dev/null")
            self.assertEqual(summary["packets"], CRAFTED, summary)
            self.assertEqual(summary["dropped"], 0, summary)

    def accidents(self, path, *options):
        """The bytes of the packets that a filter too small for them drops: all are different."""
        dropped = self.folder / "dropped.pcap"
        self.pcap(path, "--window", "1s", "--engine", "apbf", "--max-false-drop", "0.3",
                  "-o", "/dev/null", "--dropped", dropped, *options)
        frames = collections.Counter(harness.frames_of(dropped))
        self.assertLess(10, len(frames), "too few accidents to tell runs apart")
        return frames

    def test_accidents_are_those_of_the_run_or_of_its_seed(self):
        path = capture(self.folder / "different.pcap",
                       (struct.pack(">QQ", 0x0A0000010A000002, number) for number in range(60_000)))
        self.assertNotEqual(self.accidents(path), self.accidents(path), "the secret is constant")
        seeded = self.accidents(path, "--seed", "1")
        self.assertEqual(seeded, self.accidents(path, "--seed", "1"))
        self.assertNotEqual(seeded, self.accidents(path, "--seed", "2"))
        self.assertNotEqual(seeded, self.accidents(path))


if __name__ == "__main__":
    harness.main()
