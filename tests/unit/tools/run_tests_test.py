#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/run_tests and tools/build_dir must not succeed by running nothing, or the wrong tests."""
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import tool

build_dir, run_tests = tool.load("build_dir"), tool.load("run_tests")
PROJECT = """\
project('small')
python3 = find_program('python3')
test('good', python3, args: ['-c', ''], suite: 'unit')
test('other', python3, args: ['-c', ''], suite: 'lint')
test('slow', python3, args: ['-c', ''], suite: ['unit', 'long'])
"""


class RunTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        source = pathlib.Path(folder.name)
        (source / "meson.build").write_text(PROJECT)
        cls.build = source / "build"
        subprocess.run(["meson", "setup", cls.build, source], check=True, capture_output=True)

    def run_tests(self, *arguments):
        done = subprocess.run([sys.executable, "-B", tool.ROOT / "tools" / "run_tests", self.build,
                               *arguments], text=True, capture_output=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1:]

    def test_a_part_of_all_is_summarised(self):
        self.assertEqual(self.run_tests("--suite", "unit"), (0, ["1 passed, 0 failed, 0 skipped"]))

    def test_a_mistyped_suite_or_test_is_an_error_and_no_summary(self):
        for arguments, words in (
                (("--suite", "uint"), "no suite 'uint'; there are lint, long, unit"),
                (("--suite=unit", "--suite=lnit"), "no suite 'lnit'"),
                (("--no-suite", "lnit"), "no suite 'lnit'"), (("god",), "no test 'god'")):
            with mock.patch("sys.stderr", io.StringIO()) as said:
                self.assertEqual(run_tests.main(self.build, arguments), 2)
            self.assertIn(words, said.getvalue())

    def test_nothing_to_run_is_a_failure_whatever_ran_before(self):
        log = self.build / "meson-logs" / "testlog.json"
        log.write_text(json.dumps({"name": "unit / good", "result": "OK"}))
        self.assertEqual(self.run_tests("--suite", "unit", "other"),
                         (1, ["0 passed, 1 failed, 0 skipped"]))

    def test_long_tests_run_when_all_or_they_themselves_are_asked_for(self):
        for arguments, passed in (((), 2), (("--suite", "unit"), 1), (("--all", "--suite", "unit"), 2),
                                  (("--suite", "long"), 1), (("slow", "other"), 2)):
            self.assertEqual(self.run_tests(*arguments),
                             (0, ["%d passed, 0 failed, 0 skipped" % passed]), arguments)


class BuildDir(unittest.TestCase):
    """Build folders as meson leaves them, without compiling."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "build"

    def configured(self, options="", compiler="c++", values=()):
        for name in ("meson-private", "meson-info"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "build.ninja").touch()
        (self.folder / "meson-private" / "cmd_line.txt").write_text(
            "[options]\n%s\n[properties]\n\n" % options)
        (self.folder / "meson-info" / "intro-targets.json").write_text(json.dumps(
            [{"target_sources": [{"language": "cpp", "compiler": ["ccache", compiler]},
                                 {"language": "unknown", "compiler": ["man"]}]}]))
        (self.folder / "meson-info" / "intro-buildoptions.json").write_text(json.dumps(
            [{"name": name, "value": value} for name, value in values]))

    def differences(self, *arguments, cxx=None):
        with mock.patch.dict(os.environ):
            os.environ.pop("CXX", None)
            if cxx:
                os.environ["CXX"] = cxx
            return build_dir.differences(self.folder, arguments)

    def test_the_same_is_left_alone(self):
        self.assertIsNone(self.differences())
        self.configured()
        self.assertEqual(self.differences(), [])
        self.configured("buildtype = debug\nwerror = True\n")
        self.assertEqual(self.differences("--werror", "-Dbuildtype=debug"), [])
        self.configured("", "clang++-14")
        self.assertEqual(self.differences(cxx="ccache clang++-14"), [])

    def test_an_old_debug_build_is_not_taken_for_the_release(self):
        self.configured("buildtype = debug\n")
        self.assertEqual(self.differences(), ["buildtype is debug, not not set"])
        self.configured()
        self.assertEqual(self.differences("--werror"), ["werror is not set, not true"])
        self.configured("bench = false")
        self.assertEqual(self.differences(), ["bench is false, not not set"])
        self.configured("", "clang++-14")
        self.assertEqual(self.differences(), ["its compiler is clang++-14, not c++"])

    def test_a_folder_of_something_else_stays(self):
        self.folder.mkdir()
        (self.folder / "thesis.txt").write_text("three years")
        with self.assertRaises(SystemExit):
            build_dir.main(self.folder, [])
        self.assertTrue((self.folder / "thesis.txt").exists())

    def test_an_option_that_meson_drops_is_an_error(self):
        self.configured(values=(("buildtype", "debug"), ("optimization", "0")))
        arguments = ("--buildtype=debug", "-Doptimization=1")
        with mock.patch("sys.stderr"):
            self.assertEqual(build_dir.check_taken(self.folder, arguments), 1)
        self.assertEqual(build_dir.check_taken(self.folder, arguments[:1]), 0)
        self.configured(values=(("b_sanitize", "none"), ("cpp_args", ["-g"]), ("werror", True)))
        arguments = ("-Dcpp_args=-g", "-Db_sanitize=none", "--werror")
        self.assertEqual(build_dir.check_taken(self.folder, arguments), 0)
        self.configured(values=(("cpp_link_args", ["-a", "-b,c"]),))
        arguments = ("-Dcpp_link_args=-a -b,c",)
        self.assertEqual(build_dir.check_taken(self.folder, arguments), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
