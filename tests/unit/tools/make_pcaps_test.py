#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pcaps/ has the files that make_pcaps.py makes, and its README describes them correctly."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import exact_answer  # noqa: E402
import frames  # noqa: E402
import make_pcaps  # noqa: E402

PCAPS = ROOT / "pcaps"


class Frames(unittest.TestCase):
    def test_checksums_match_published_values(self):
        self.assertEqual(frames.checksum(bytes.fromhex("0001f203f4f5f6f7")), 0x220D)  # RFC 1071 §3
        self.assertEqual(frames.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(frames.crc32c(bytes(32)), 0x8A9136AA)  # RFC 3720 B.4

    def test_a_routed_packet_sums_to_zero(self):
        ip = frames.ipv4("10.0.0.1", "10.0.0.2", 17, b"", options=b"\x94\x04\0\0")
        for packet in (ip, frames.routed(ip), frames.routed(ip, 5, tos=0xFF)):
            self.assertEqual(frames.checksum(packet), 0)


class Pcaps(unittest.TestCase):
    def test_made_again_they_are_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder)
            make_pcaps.write(again)
            self.assertEqual(sorted(path.name for path in again.iterdir()),
                             sorted(path.name for path in PCAPS.iterdir()))
            for path in again.iterdir():
                self.assertEqual(path.read_bytes(), (PCAPS / path.name).read_bytes(), path.name)

    def test_answers_are_those_of_the_files(self):
        for path in PCAPS.glob("*.answer.json"):
            answer = json.loads(path.read_text())
            captures = [exact_answer.Capture(PCAPS / name) for name in answer["files"]]
            order = list(exact_answer.merged(captures))
            self.assertEqual([capture.cut for capture in captures], [path.name == "cut.answer.json"]
                             * len(captures))
            for mode in exact_answer.KEYS:
                echoes = [[] for _ in captures]
                frame = [0] * len(captures)
                for (index, _), given in zip(order, exact_answer.answers(
                        (packet for _, packet in order), mode, 50_000_000)):
                    frame[index] += 1
                    if given.kind == "echo":
                        echoes[index].append(frame[index])
                self.assertEqual(frame, answer["packets"])
                self.assertEqual(echoes, [
                    make_pcaps.from_bits(digits, count) for digits, count
                    in zip(answer["keys"][mode]["echoes"], answer["packets"])])


if __name__ == "__main__":
    unittest.main(verbosity=2)
