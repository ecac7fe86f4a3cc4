#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/fuzz starts again from the inputs that it kept."""
import pathlib
import tempfile
import unittest
from unittest import mock

import tool

fuzz = tool.load("fuzz")


class FuzzTest(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        patch = mock.patch.object(fuzz, "ROOT", self.folder)
        patch.start()
        self.addCleanup(patch.stop)
        (self.folder / "tests" / "fuzz").mkdir(parents=True)

    def test_what_is_packed_is_unpacked(self):
        inputs = {"a": b"", "b": b"\0\xff" * 300, "c": b"last"}
        for name, data in inputs.items():
            (self.folder / name).write_bytes(data)
        fuzz.pack("one_fuzz", [self.folder / name for name in inputs])
        packed = fuzz.grown("one_fuzz").read_bytes()
        self.assertEqual(packed[4:8], bytes(4), "no time in it")
        fuzz.pack("one_fuzz", [self.folder / name for name in reversed(inputs)])
        self.assertEqual(fuzz.grown("one_fuzz").read_bytes(), packed)
        there = fuzz.unpack("one_fuzz", self.folder / "there")
        self.assertEqual({path.name: path.read_bytes() for path in there.iterdir()}, inputs)


if __name__ == "__main__":
    unittest.main(verbosity=2)
