#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/draw/scaling_model: rates, shares and limits against numbers computed by hand;
docs/scaling.md has the tables that it prints for the committed result."""
import contextlib
import dataclasses
import io
import pathlib
import tempfile
import unittest

import tool
from tool import ROOT

model = tool.load("draw/scaling_model")
PLACES = ("L2", "L3", "DRAM")


def result(lines=2):
    """L2, L3, DRAM: 20, 25, 40 ns; with another worker 1.25 times that; a hop: 50 or 90 ns."""
    rows = []
    for frames in model.MIXES:
        for echoes in (0, 50):
            for place, mpps in zip(PLACES, (50, 40, 25)):
                rows.append({"name": "line-m%d/%s/%s/%d" % (lines, place, frames, echoes),
                             "frames": frames, "echo_percent": echoes, "residence": place,
                             "alone": {"mpps": {"median": mpps}},
                             "by_queues": {"median": 1.6},
                             "hop_ns_near": {"median": 50}, "hop_ns_far": {"median": 90}})
    return {"rows": rows}


class Numbers(unittest.TestCase):
    def setUp(self):
        self.measured = model.Measured.of(result())
        self.machine = model.Machine(cores=10, gbps=100, channels=2, channel_gbps=10, efficiency=0.5,
                                     l2_mib=1, l3_mib=20, l3_cores=4)

    def test_time_of_a_packet(self):
        def ns(workers, mib, by_rings=False):
            return model.packet_ns(self.measured, self.machine, "64", 0, workers, mib * 2 ** 20, by_rings)
        self.assertAlmostEqual(ns(1, 0.5), 20)
        self.assertAlmostEqual(ns(2, 0.5), 25)
        self.assertAlmostEqual(ns(2, 0.5, True), 25 + 50 / 2)
        self.assertAlmostEqual(ns(10, 0.5, True), 25 + 50 * 0.3 + 90 * 0.6)
        self.assertAlmostEqual(ns(2, 6), 0.25 * 31.25 + 0.75 * 50)

    def test_what_limits(self):
        def rate(workers, window=1e-6, **changes):
            machine = dataclasses.replace(self.machine, **changes)
            return model.rate(self.measured, machine, "64", 0, workers, window)
        pps, limit = rate(2)
        self.assertEqual((round(pps), limit), (80_000_000, "cores"))
        self.assertEqual(rate(10)[1], "line")
        # 10 GB/s for 256 bytes a packet, except for the part that fits into L3.
        pps, limit = rate(10, window=1, gbps=400)
        whole = model.filter_bytes(self.measured, model.line_rate("64", 400), 1)
        outside = 1 - 20 * 2 ** 20 * 0.75 / whole
        self.assertEqual(limit, "memory")
        self.assertAlmostEqual(pps, 10e9 / (256 * outside), delta=1)


class Program(unittest.TestCase):
    def test_docs_have_its_tables_and_picture(self):
        text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            svg = pathlib.Path(folder) / "picture.svg"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                model.main(["--svg", str(svg)])
            picture = svg.read_text(encoding="utf-8")
        tables = [part for part in out.getvalue().split("\n\n") if part.startswith("|")]
        self.assertEqual(len(tables), 2)
        for table in tables:
            self.assertIn(table.strip(), text)
        there = (ROOT / "docs" / "pictures" / "scaling.svg").read_text(encoding="utf-8")
        self.assertEqual(picture, there)


if __name__ == "__main__":
    unittest.main()
