#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plant_bugs takes half an hour for all; this sees that each can be planted still, and is told of."""
import unittest

import tool

plant_bugs = tool.load("plant_bugs")


class PlantBugs(unittest.TestCase):
    def test_each_bug_has_its_lines_once(self):
        self.assertGreaterEqual(len(plant_bugs.BUGS), 25)
        for bug in plant_bugs.BUGS:
            with self.subTest(bug.name):
                self.assertEqual((tool.ROOT / bug.file).read_text().count(bug.old), 1, bug.file)
                self.assertNotEqual(bug.old, bug.new)

    def test_each_stands_in_the_table_with_what_found_it(self):
        text = (tool.ROOT / "docs" / "reliability.md").read_text()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()
                if line.startswith("| ") and line.count("|") == 6]
        found = {row[0]: row for row in rows if row[1].startswith("`lib/")}
        names = [bug.name for bug in plant_bugs.BUGS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(found), set(names))
        for bug in plant_bugs.BUGS:
            _, file, by, _, said = found[bug.name]
            self.assertEqual(file, "`%s`" % bug.file)
            self.assertEqual(by, bug.finder.target.split("/")[-1], bug.name)
            self.assertTrue(said, bug.name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
