#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/scaling_model: rates, shares and limits against numbers worked out by hand; docs/scaling.md has
the tables that it prints for the committed result; wrong input is one line."""
import contextlib
import dataclasses
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tool
from tool import ROOT

TOOL = ROOT / "tools" / "scaling_model"
model = tool.load("scaling_model")
PLACES = ("L2", "L3", "DRAM")


def result(lines=2):
    """L2, L3, DRAM: 20, 25, 40 ns alone; 1.25 times that beside another; a hop 50, 90."""
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

    def test_line_rates_are_ethernets(self):
        self.assertAlmostEqual(model.line_rate("64", 10) / 1e6, 14.88, 2)
        self.assertAlmostEqual(model.line_rate("1518", 10) / 1e6, 0.8127, 4)
        self.assertAlmostEqual(model.line_rate("IMIX", 400) / 1e6, 50000 / (4342 / 12 + 20), 6)

    def test_frames_in_lines_of_memory(self):
        self.assertEqual(model.cache_lines("64"), 1)
        self.assertEqual(model.cache_lines("1518"), 24)
        self.assertEqual(model.cache_lines("IMIX"), (7 * 1 + 4 * 10 + 24) / 12)

    def test_filter_has_its_bits_for_each_key_of_the_window(self):
        self.assertEqual(model.filter_bytes(self.measured, 8e6, 0.05), 0.4e6 * 26.5 / 8)

    def test_a_filter_lies_in_l2_or_shares_l3(self):
        mib = 2 ** 20
        self.assertEqual(model.residence(self.machine, 0.75 * mib), (1, 0, 0))
        self.assertEqual(model.residence(self.machine, 1.5 * mib), (0, 1, 0))
        self.assertEqual(model.residence(self.machine, 6 * mib), (0, 0.25, 0.75))

    def test_time_of_a_packet(self):
        def ns(workers, mib, by_rings=False):
            return model.packet_ns(self.measured, self.machine, "64", 0, workers, mib * 2 ** 20, by_rings)
        self.assertAlmostEqual(ns(1, 0.5), 20)
        self.assertAlmostEqual(ns(2, 0.5), 25)
        self.assertAlmostEqual(ns(2, 0.5, True), 25 + 50 / 2)
        self.assertAlmostEqual(ns(10, 0.5, True), 25 + 50 * 0.3 + 90 * 0.6)
        self.assertAlmostEqual(ns(2, 6), 0.25 * 31.25 + 0.75 * 50)

    def test_bytes_of_a_packet(self):
        def moved(**changes):
            machine = dataclasses.replace(self.machine, **changes)
            return model.memory_bytes(self.measured, machine, "1518", 6 * 2 ** 20)
        self.assertEqual(moved(), (2 * 2 * 64 * 0.75, 0))
        self.assertEqual(moved(packets_in_memory=True), (192, 3 * 24 * 64))

    def test_what_limits(self):
        def rate(workers, window=1e-6, **changes):
            machine = dataclasses.replace(self.machine, **changes)
            return model.rate(self.measured, machine, "64", 0, workers, window)
        pps, limit = rate(2)
        self.assertEqual((round(pps), limit), (80_000_000, "cores"))
        self.assertEqual(rate(10)[1], "line")
        # 10 GB/s for 256 bytes a packet, but for what lies in L3.
        pps, limit = rate(10, window=1, gbps=400)
        whole = model.filter_bytes(self.measured, model.line_rate("64", 400), 1)
        outside = 1 - 20 * 2 ** 20 * 0.75 / whole
        self.assertEqual(limit, "memory")
        self.assertAlmostEqual(pps, 10e9 / (256 * outside), delta=1)

    def test_workers_for_the_line(self):
        def needed(**more):
            return model.workers_needed(self.measured, self.machine, "64", 0, 1e-6, **more)
        # 148.8 Mpps: four workers of 40 Mpps each. By rings 25 + (50 * 3 + 90 * (n - 4)) / n ns: ten have 106 Mpps.
        self.assertEqual(needed(), 4)
        self.assertIsNone(needed(by_rings=True))
        self.machine = dataclasses.replace(self.machine, gbps=70)
        self.assertEqual(needed(by_rings=True), 10)

    def test_another_workers_gain_is_no_more_than_its_own(self):
        rows = result()
        for row in rows["rows"]:
            row["by_queues"]["median"], row["hop_ns_near"]["median"] = 2.1, -3
        measured = model.Measured.of(rows)
        self.assertEqual(set(measured.shared.values()), {1})
        self.assertEqual((set(measured.near_ns.values()), set(measured.far_ns.values())), ({0}, {90}))

    def test_a_machine_that_was_never_moved_has_one_kind_of_hop(self):
        rows = result()
        for row in rows["rows"]:
            row["hop_ns_far"] = None
        self.assertEqual(set(model.Measured.of(rows).far_ns.values()), {50})


class Program(unittest.TestCase):
    def run_tool(self, *arguments):
        return subprocess.run([sys.executable, "-B", TOOL, *arguments], capture_output=True, text=True,
                              check=False)

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

    def test_wrong_input_is_one_line(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"rows": [{"name": "line-m2/L2/64/0"}]}, file)
            file.flush()
            for arguments, words in (([file.name], "allowed: what scaling_bench --json wrote"),
                                     (["/none.json"], "No such file"),
                                     (["--cores", "0"], "must be above 0"),
                                     (["--efficiency", "1.5"], "at most 1")):
                run = self.run_tool(*arguments)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(words, run.stderr.splitlines()[-1])
                self.assertNotIn("Traceback", run.stderr)


if __name__ == "__main__":
    unittest.main()
