# SPDX-License-Identifier: BSD-3-Clause
"""The installed library of filters, as other programs see it: headers, archive, unecho-filters.pc.

Installs into a temporary folder, compiles examples/ there with every compiler found, with neither
this tree nor DPDK on the search path, and compares their output with exact answers.
"""
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["UNECHO_BUILD"]
MESON = shlex.split(os.environ["UNECHO_MESON"])
CXX = shlex.split(os.environ["UNECHO_CXX"])
EXAMPLES = ("recent_lines", "two_sets", "size_filters")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def compilers():
    """Return {name: command and flags}: this build's compiler with two baselines, and another
    compiler."""
    found = {"own": [*CXX, "-O0"], "v3": [*CXX, "-O1", "-march=x86-64-v3", "-DNDEBUG"]}
    names = ("clang++", "clang++-14") if "clang" not in CXX[-1] else ("g++",)
    other = next(filter(None, map(shutil.which, names)), None)
    return {**found, "other": [other, "-O0"]} if other else found


class Installed:
    """One installation for all tests, and the examples compiled against it."""

    def __init__(self, at):
        self.at = pathlib.Path(at)
        self.root = self.at / "root"
        subprocess.run([*MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--tags", "devel",
                        "--destdir", str(self.root)], check=True, stdout=subprocess.DEVNULL)
        self.pc = next(self.root.rglob("unecho-filters.pc"))
        self.include = next(self.root.rglob("include/unecho"))
        jobs = [(name, compiler) for compiler in compilers() for name in EXAMPLES]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda job: self.compile(*job), jobs))

    def flags(self, *what):
        # The view of a package's user: no other .pc files, not even the system's.
        env = {**os.environ, "PKG_CONFIG_LIBDIR": str(self.pc.parent),
               "PKG_CONFIG_SYSROOT_DIR": str(self.root), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
               "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
        env.pop("PKG_CONFIG_PATH", None)
        return shlex.split(subprocess.run(["pkg-config", *what, "unecho-filters"], env=env, check=True,
                                          capture_output=True, text=True).stdout)

    def run(self, command, stdin="", status=0):
        done = subprocess.run([str(word) for word in command], input=stdin, text=True,
                              capture_output=True, cwd=self.at, check=False, timeout=120)
        if done.returncode != status:
            raise AssertionError("%s: %d, %s" % (command, done.returncode, done.stderr[-2000:]))
        return done.stdout

    def program(self, name, compiler="own"):
        return self.at / ("%s-%s" % (name, compiler))

    def compile(self, name, compiler):
        source = shutil.copy(ROOT / "examples" / (name + ".cpp"), self.at)
        self.run([*compilers()[compiler], "-std=c++20", *WARNINGS, source, "-o",
                  self.program(name, compiler), *self.flags("--cflags", "--libs")])


def setUpModule():
    global installed, folder
    folder = tempfile.TemporaryDirectory(prefix="unecho-library-")
    installed = Installed(folder.name)


def tearDownModule():
    folder.cleanup()


def recent(lines, remembered):
    """Return what recent_lines prints: lines that differ from each of the last `remembered`
    ones."""
    last, out = {}, []
    for i, line in enumerate(lines):
        if i - last.get(line, -remembered - 1) > remembered:
            out.append(line)
        last[line] = i
    return out


# The secret is random, so some new lines may be taken for repetitions: at most one in 10^6, of up
# to 20,000 a run. More than two occur in one of 750,000 runs.
ACCIDENTS = 2
# More lines than lie between two lines of the expected answer.
FAR = 200


def missing(some, of):
    """Return how many of some are missing from the other, in this order."""
    at = count = 0
    for line in some:
        try:
            at = of.index(line, at, at + FAR) + 1
        except ValueError:
            count += 1
    return count


class RecentLines(unittest.TestCase):
    def ask(self, lines, *words, compiler="own"):
        text = "".join(line + "\n" for line in lines)
        return installed.run([installed.program("recent_lines", compiler), *words], text).splitlines()

    def test_is_exact_where_no_gap_lies_in_the_slack(self):
        chance = random.Random(1)
        remembered = 100
        # Lines recur after 1 to 100 lines, or after at least 250.
        lines = ["new %d" % i for i in range(5000)]
        for i in range(500, 5000, 2):
            gap = chance.choice((1, 2, 37, 99, 100, 250, 300, 499))
            if all(lines[i - gap] != lines[i - back] for back in range(1, min(gap, 251))):
                lines[i] = lines[i - gap]
        expected = recent(lines, remembered)
        self.assertEqual(expected, recent(lines, 2 * remembered))  # the only possible answer
        self.assertTrue(1000 < len(lines) - len(expected) < 3000, len(expected))
        for compiler in compilers():
            with self.subTest(compiler):
                said = self.ask(lines, "100", compiler=compiler)
                self.assertEqual(missing(said, expected), 0)
                self.assertLessEqual(missing(expected, said), ACCIDENTS)

    def test_never_prints_what_it_remembers_nor_keeps_back_what_is_forgotten(self):
        chance = random.Random(2)
        lines = ["line %d" % chance.randrange(3000) for _ in range(20000)]
        for remembered in (1, 7, 1000):
            said = self.ask(lines, str(remembered))
            # A window of remembered + 1 lines and a third more, plus rounding.
            must, may = (list(recent(lines, kept)) for kept in (2 * remembered + 16, remembered))
            self.assertLessEqual(missing(must, said), ACCIDENTS, remembered)
            self.assertEqual(missing(said, may), 0, remembered)
            self.assertTrue(len(must) < len(may), remembered)

    def test_of_a_time(self):
        lines = ["a", "b", "a", "c", "b", "a"]
        self.assertEqual(self.ask(lines, "1h", "10pps"), ["a", "b", "c"])
        # A pause is never shorter than requested, so the lines before it are forgotten.
        with subprocess.Popen([installed.program("recent_lines"), "10ms", "1kpps"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            for _ in range(3):
                running.stdin.write("again\n")
                running.stdin.flush()
                self.assertEqual(running.stdout.readline(), "again\n")
                time.sleep(0.05)
            running.stdin.close()
            self.assertEqual(running.stdout.read(), "")
            self.assertEqual(running.wait(), 0)


class TwoSets(unittest.TestCase):
    def test_answers_hold_the_truth_and_nearly_all_say_it_alone(self):
        first = {"line %d" % i for i in range(0, 3000)}
        second = {"line %d" % i for i in range(2000, 5000)}
        for name, lines in (("first.txt", first), ("second.txt", second)):
            (installed.at / name).write_text("".join(line + "\n" for line in sorted(lines)))
        asked = ["line %d" % i for i in range(10000)]
        text = "".join(line + "\n" for line in asked)
        for compiler in compilers():
            said = installed.run([installed.program("two_sets", compiler), "first.txt", "second.txt"],
                                 text).splitlines()
            self.assertEqual(len(said), len(asked))
            inexact = 0
            for line, answer in zip(asked, said):
                truth = {(True, True): "both", (True, False): "first", (False, True): "second",
                         (False, False): "neither"}[line in first, line in second]
                inexact += answer != truth
                if truth != "neither":
                    self.assertIn(truth, re.split(", | or ", answer), line)
            # Sized for 1 in 1000 of 5000 elements, 1.5 times that for the 5000 others: 12.5
            # expected. More than 50 occur once in 10^14 runs; none, once in 270,000 runs, is no
            # error.
            self.assertLess(inexact, 50, compiler)


def apbf_rate(k, l, m, g):
    """Return the chance of k matches in a row, with slice i filled by min(i + 1, k) generations of
    g keys: Age-Partitioned Bloom Filters, section 5.3, by states of runs instead of its
    recursion."""
    fills = [1 - (1 - 1 / m) ** (min(i + 1, k) * g) for i in range(k + l)]
    runs, found = [1.0] + [0.0] * (k - 1), 0.0
    for fill in fills:
        found += runs[k - 1] * fill
        runs = [sum(runs) * (1 - fill)] + [run * fill for run in runs[:-1]]
    return found


class SizeFilters(unittest.TestCase):
    def rows(self, *words, compiler="own"):
        rows = {}
        for line in installed.run([installed.program("size_filters", compiler), *words]).splitlines():
            rows[line.split()[0]] = dict(word.split("=") for word in re.findall(r"\w+=[^ :]+", line))
        return rows

    def test_geometries_are_of_the_memory_and_the_rate_that_is_said(self):
        window, rate = 0.05, 1e6
        for target in (1e-2, 1e-4, 1e-6):
            rows = self.rows("50ms", "1Mpps", str(target))
            self.assertEqual(list(rows), ["line", "apbbf", "apbf"])
            for name, row in rows.items():
                self.assertLessEqual(float(row["false_drops"]), target, name)
                self.assertGreater(float(row["false_drops"]), target / 2, name)
            apbf = {letter: int(rows["apbf"][letter]) for letter in "klm"}
            g = -(-window * rate // apbf["l"])
            self.assertAlmostEqual(apbf_rate(**apbf, g=g) / float(rows["apbf"]["false_drops"]), 1,
                                   delta=0.01)
            ring = 1344  # bytes of a filter's segment ring
            whole_lines = -(-apbf["m"] // 512) * 64
            self.assertEqual(int(rows["apbf"]["bytes"]),
                             (apbf["k"] + apbf["l"]) * whole_lines + ring)
            apbbf = {letter: int(rows["apbbf"][letter]) for letter in ("k", "l", "B", "blocks")}
            whole_lines = -(-apbbf["blocks"] * apbbf["B"] // 512) * 64
            self.assertEqual(int(rows["apbbf"]["bytes"]),
                             (apbbf["k"] + apbbf["l"]) * whole_lines + ring)
            self.assertEqual(int(rows["line"]["bytes"]), int(rows["line"]["lines"]) * 64 + 11584)

    # The headers depend neither on the compiler, nor on its baseline or optimiser.
    def test_every_compiler_and_baseline_gives_the_same(self):
        expected = self.rows("50ms", "10Mpps", "1e-6")
        for compiler in compilers():
            self.assertEqual(self.rows("50ms", "10Mpps", "1e-6", compiler=compiler), expected)


class Installation(unittest.TestCase):
    def headers(self):
        return sorted(path.relative_to(installed.include.parent).as_posix()
                      for path in installed.include.rglob("*.h"))

    def test_examples_see_the_installation_and_the_standard_alone(self):
        for name in EXAMPLES:
            seen = installed.run([*CXX, "-std=c++20", "-M", ROOT / "examples" / (name + ".cpp"),
                                  *installed.flags("--cflags")]).replace("\\\n", " ").split()[2:]
            others = [path for path in map(os.path.realpath, seen)
                      if not path.startswith((os.path.realpath(installed.root), "/usr/include/tl/"))]
            for path in others:
                self.assertFalse(path.startswith(str(ROOT)), path)
                self.assertNotRegex(path, r"dpdk|/rte_")
            self.assertGreater(len(seen) - len(others), 5)

    def test_programs_need_no_library_but_the_languages(self):
        needed = installed.run(["readelf", "-d", *map(installed.program, EXAMPLES)])
        names = set(re.findall(r"NEEDED.*\[(\w+)[-.+\w]*\.so", needed))
        self.assertLessEqual(names, {"libstdc", "libc", "libm", "libgcc_s", "libgcc", "ld"})

    # All in one source: no header lacks an include, and no two conflict.
    def test_all_headers_compile_together(self):
        headers = self.headers()
        self.assertGreater(len(headers), 60)
        source = installed.at / "all.cpp"
        source.write_text("".join("#include <%s>\n" % name for name in headers))
        installed.run([*CXX, "-std=c++20", "-fsyntax-only", *WARNINGS, source,
                       *installed.flags("--cflags")])

    def test_headers_name_each_other_by_the_whole_path_and_no_instruction_set(self):
        for name in self.headers():
            text = (installed.include.parent / name).read_text()
            for included in re.findall(r'#\s*include "([^"]+)"', text):
                self.assertIn(included, self.headers(), name)
            self.assertNotRegex(text, r"immintrin|__AVX|__BMI|__SSE|__FMA", name)

    def test_the_document_shows_what_an_example_prints(self):
        said = installed.run([installed.program("size_filters"), "50ms", "10Mpps", "1e-6"])
        self.assertIn("```\n$ size_filters 50ms 10Mpps 1e-6\n" + said + "```\n",
                      (ROOT / "docs/library.md").read_text())

    def test_it_can_be_built_where_there_is_no_dpdk(self):
        with tempfile.TemporaryDirectory() as build:
            env = {**os.environ, "PKG_CONFIG_LIBDIR": "/nonexistent", "CXX": shlex.join(CXX)}
            env.pop("PKG_CONFIG_PATH", None)
            subprocess.run([*MESON, "setup", build, str(ROOT), "-Dprogram=false"], env=env, check=True,
                           stdout=subprocess.DEVNULL)
            targets = json.loads(pathlib.Path(build, "meson-info/intro-targets.json").read_text())
            installs = [name for target in targets if target["installed"] for name in
                        target["install_filename"]]
            self.assertEqual([os.path.basename(name) for name in installs], ["libunecho-filters.a"])
            commands = pathlib.Path(build, "compile_commands.json").read_text()
            self.assertNotIn("dpdk", commands)


if __name__ == "__main__":
    unittest.main(verbosity=2)
