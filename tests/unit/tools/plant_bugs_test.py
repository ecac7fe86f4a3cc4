#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plant_bugs takes an hour for all bugs. This test checks that each can still be planted,
even in renamed code."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import tool

plant_bugs = tool.load("plant_bugs")

# Words that no rename changes: those of C++, its library and DPDK.
FIXED = re.compile(r"(?:return|if|while|const|constexpr|static|static_cast|auto|nullptr|true|false|std|"
                   r"min|data|rte_\w+|u?int\d*_t|unsigned|U?L*)$")


def renamed(text):
    """Return the text with all our names changed, outside of literals."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*',
                  lambda word: word[0] if word[0][0] == '"' or FIXED.match(word[0]) else word[0] + "_x",
                  text)


class PlantBugs(unittest.TestCase):
    marked = plant_bugs.places(tool.ROOT)

    def test_each_bug_has_one_marker_and_each_marker_a_bug(self):
        self.assertEqual(sorted(name for name, _ in self.marked),
                         sorted(bug.name for bug in plant_bugs.BUGS))

    def test_each_edit_changes_the_marked_text_also_when_that_is_renamed(self):
        places = dict(self.marked)
        for bug in plant_bugs.BUGS:
            with self.subTest(bug.name):
                place = places[bug.name]
                for text in (place.text, renamed(place.text)):
                    self.assertNotEqual(bug.edit(text, place.code), text)

    def test_a_folder_that_is_used_again_has_the_tests_of_what_is_committed_now(self):
        with tempfile.TemporaryDirectory() as kept:
            tree, folder = pathlib.Path(kept, "tree"), pathlib.Path(kept, "folder")
            (tree / "tools").mkdir(parents=True)
            for name in ("build_dir", "ccache_env"):
                shutil.copy(tool.ROOT / "tools" / name, tree / "tools")
            (tree / "main.cpp").write_text("int main() {}\n")
            self.git(tree, "init", "-q")
            with mock.patch.object(plant_bugs, "ROOT", tree):
                for names in (["first"], ["first", "second"], ["second"]):
                    (tree / "meson.build").write_text(
                        "project('tree', 'cpp')\nmain = executable('main', 'main.cpp')\n"
                        + "".join("test('%s', main)\n" % name for name in names))
                    self.git(tree, "add", ".")
                    self.git(tree, "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")
                    plant_bugs.prepare(folder)
                    self.assertEqual([test["name"] for test in plant_bugs.Tests(folder).all], names)

    @staticmethod
    def git(tree, *arguments):
        subprocess.run(["git", "-C", tree, *arguments], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
