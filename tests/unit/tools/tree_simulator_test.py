#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tree_simulator agrees with the formulas, and prints the CSV files of the documents."""
import csv
import io
import os
import pathlib
import subprocess
import unittest

PICTURES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "pictures"
SIMULATOR = os.environ["UNECHO_TREE_SIMULATOR"]


def printed(mode):
    return subprocess.run([SIMULATOR, mode], capture_output=True, text=True, check=True).stdout


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class TreeSimulator(unittest.TestCase):
    def assert_near(self, row, measured, low, high, formula, least=0.0):
        """Allow five standard errors in about two hundred rows; an interval is 1.96 each way."""
        value, expected = float(row[measured]), float(row[formula])
        error = (float(row[high]) - float(row[low])) / 2 / 1.96
        self.assertLessEqual(abs(value - expected), 5 * error + least * expected, row)

    def test_failed_slices_are_as_the_formulas_say(self):
        found = rows((PICTURES / "tree-faults.csv").read_text())
        self.assertEqual(len(found), 3 * 7 * 2)
        for row in found:
            self.assert_near(row, "false_positives", "low", "high", "formula")
            self.assert_near(row, "misses", "misses_low", "misses_high", "misses_formula")

    def test_messages_and_loads_are_as_the_formulas_say(self):
        for row in rows((PICTURES / "tree-messages.csv").read_text()):
            self.assert_near(row, "messages", "low", "high", "formula")
        for row in rows((PICTURES / "tree-fairness.csv").read_text()):
            self.assert_near(row, "index", "low", "high", "formula", 0.02)

    def test_the_files_are_what_it_prints(self):
        """Compare the files except for digits in which the math functions of machines differ."""
        for mode in ("faults", "slices", "messages", "fairness", "scale"):
            for here, there in zip(rows(printed(mode)),
                                   rows((PICTURES / ("tree-%s.csv" % mode)).read_text())):
                for name, value in there.items():
                    try:
                        self.assertAlmostEqual(float(here[name]), float(value),
                                               delta=1e-4 * abs(float(value)) + 1e-9)
                    except ValueError:
                        self.assertEqual(here[name], value)


if __name__ == "__main__":
    unittest.main()
