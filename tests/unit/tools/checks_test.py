#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lint programs find what they are for: each is fed trees and archives with one flaw planted."""
import contextlib
import io
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest
from unittest import mock

import tool

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
CXX = shlex.split(os.environ.get("UNECHO_CXX", "c++"))


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run_main(self, function, *arguments, argv=None):
        """(exit status, what was printed)"""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch("sys.argv", ["check", *map(str, argv or ())]):
            status = function(*arguments)
        return status, said.getvalue()

    def compile(self, name, text, *flags):
        """An archive of one source."""
        self.write({name + ".cpp": text})
        source, out = self.root / (name + ".cpp"), self.root / (name + ".o")
        subprocess.run([*CXX, "-std=c++20", "-O1", "-fno-exceptions", *flags, "-c", source, "-o", out],
                       check=True)
        archive = self.root / (name + ".a")
        subprocess.run(["ar", "rc", archive, out], check=True)
        return str(archive)


class House(Check):
    house = tool.load("check_house")

    def house_of(self, files, *headers):
        self.write({"lib/base/good.h": SPDX + "#pragma once\nnamespace unecho {}\n", **files})
        return self.run_main(self.house.main, argv=[self.root, *headers])

    def test_a_good_tree_passes(self):
        status, said = self.house_of({"lib/capture/a.cpp": SPDX + (
            "#include <new>\n#include \"base/good.h\"\nA(const A&) = delete;  // a new one, exit(1)\n"
            "std::unique_ptr<A> a(new A);\nauto b = std::unique_ptr<B>(\n    new B(1));\n"
            "const char* css = \"throw new printf(x)\";\nint renew = 1, undelete(int);\n"
            "snprintf(x); std::free(real); atexit_t t;\n")})
        self.assertEqual((status, said), (0, "2 files, 0 headers alone, 0 problems\n"))

    def test_each_forbidden_word_is_found(self):
        for code, word in (
                ("printf(\"x\")", "prints"), ("std::puts(x)", "prints"), ("fprintf(stderr, x)", "prints"),
                ("vfprintf(f, x, a)", "prints"), ("std::fputs(x, f)", "prints"),
                ("std::cout << 1", "prints"), ("std::cerr << 1", "prints"),
                ("std::clog << 1", "prints"), ("perror(x)", "prints"), ("putchar('x')", "prints"),
                ("std::exit(1)", "ends"), ("abort ()", "ends"), ("_exit(1)", "ends"),
                ("std::terminate()", "ends"), ("rte_panic(x)", "ends"), ("rte_exit(1, x)", "ends"),
                ("std::quick_exit(0)", "ends"), ("throw 1", "throws"), ("goto end", "jumps"),
                ("int* p = new int", "raw new"), ("return new A(1)", "raw new"),
                ("a = new\n    A[3]", "raw new"), ("f(1, new A)", "raw new"),
                ("return ::new (p) A", "raw new"), ("delete p", "deletes"), ("delete[] p", "deletes"),
                ("x = malloc(3)", "allocates"), ("std::calloc(1, 2)", "allocates")):
            with self.subTest(code):
                status, said = self.house_of({"lib/base/bad.cpp": SPDX + code + ";\n"})
                self.assertEqual(status, 1)
                self.assertRegex(said, r"lib/base/bad\.cpp .*%s.*\n(.*\n)*2 files, .* 1 problems" % word)

    def test_each_flaw_of_a_file_is_found(self):
        good = SPDX + "#pragma once\n"
        for name, text, words in (
                ("lib/base/a.h", "//\n#pragma once\n", "lib/base/a.h does not begin with the licence line"),
                ("tests/a.cpp", "int a;\n", "tests/a.cpp does not begin with the licence line"),
                ("lib/base/a.h", SPDX + "int a;\n", "lib/base/a.h has no #pragma once"),
                ("app/a.cpp", SPDX + "\n//" + "x" * 99 + "\n", "app/a.cpp:3 is longer than 100 columns"),
                ("lib/base/a.h", good + "#include \"filter/apbf.h\"\n", "base may not use it"),
                ("lib/filter/a.h", good + "#include \"hash/secret.h\"\n", "filter may not use it"),
                ("lib/capture/a.h", good + "#include <rte_mbuf.h>\n", "belongs to control, dataplane"),
                ("lib/hash/a.h", good + "#include <xxhash.h>\n", "belongs to nobody in lib"),
                ("lib/control/a.h", good + "#include <rte_mbuf.h>\n", "not for the control thread")):
            with self.subTest(words):
                status, said = self.house_of({name: text})
                (self.root / name).unlink()
                self.assertEqual(status, 1)
                self.assertIn(words, said)
                self.assertIn(" 1 problems", said)

    def test_a_header_that_needs_another_is_found(self):
        status, said = self.house_of({"lib/base/needy.h": SPDX + "#pragma once\nstd::string x();\n"},
                                     "--headers", *CXX)
        self.assertEqual(status, 1)
        self.assertIn("base/needy.h does not compile alone", said)
        self.assertIn("2 headers alone, 1 problems", said)

    def test_a_header_is_left_to_the_build_only_if_that_compiles_it_first(self):
        """So that one that compiles with nothing passes where the build has shown it, nowhere else."""
        header = {"lib/base/a.h": SPDX + "#pragma once\nstd::string x();\n"}
        begins, other = "#include \"base/a.h\"\n", "#include \"base/good.h\"\n"
        for source, built, problems in ((begins, "'a.cpp'", 0), (begins, "'b_a.cpp'", 1),
                                        (other + begins, "'a.cpp'", 1), ("", "'a.cpp'", 1)):
            with self.subTest(source=source, built=built):
                status, said = self.house_of({**header, "lib/base/a.cpp": SPDX + source,
                                              "lib/base/meson.build": built}, "--headers", *CXX)
                self.assertEqual(status, problems, said)
                self.assertIn("2 headers alone, %d problems" % problems, said)

    def test_nothing_to_check_is_a_failure(self):
        status, said = self.run_main(self.house.main, argv=[self.root])
        self.assertEqual((status, said), (1, "0 files, 0 headers alone, 0 problems\n"))


class Docs(Check):
    docs = tool.load("check_docs")
    TEXT = ("| `filter/a.h` | `sizing/a.h`: `fills` | `unit/a`: `suite.name` `a.csv` |\n"
            "![picture](a.svg)\n")

    def problems(self, text=TEXT, files=None, without=()):
        tree = {"docs/filters.md": text, "docs/a.svg": "", "lib/filter/a.h": "", "tests/vectors/a.csv": "",
                "lib/sizing/a.h": "double fills();", "tests/unit/a_test.cpp": "TEST(suite, name) {}",
                **(files or {})}
        self.write({name: text for name, text in tree.items() if name not in without})
        return self.docs.check(self.root)

    def test_a_true_page_passes(self):
        self.assertEqual(self.problems(), [])

    def test_what_is_named_and_missing_is_found(self):
        for name, words in (("lib/sizing/a.h", ["no file lib/sizing/a.h", "sizing/a.h has no fills"]),
                            ("docs/a.svg", ["no picture a.svg"]),
                            ("tests/vectors/a.csv", ["no vectors a.csv"]),
                            ("tests/unit/a_test.cpp", ["no file of tests: unit/a"])):
            with self.subTest(name):
                self.setUp()
                self.write({"tests/vectors/other.csv": "", "lib/filter/a.h": ""})
                self.assertEqual(self.problems(without=(name,)), words)

    def test_wrong_names_are_found(self):
        self.assertEqual(self.problems(self.TEXT.replace("suite.name", "suite.nam")),
                         ["no test suite.nam in unit/a"])
        self.assertEqual(self.problems(self.TEXT.replace("`fills`", "`spills`")),
                         ["sizing/a.h has no spills"])
        self.assertEqual(self.problems(files={"lib/filter/forgotten.h": ""}),
                         ["not named: filter/forgotten.h"])

    def test_a_problem_is_the_exit_status(self):
        self.problems()
        self.assertEqual(self.run_main(self.docs.main, argv=[self.root])[0], 0)
        (self.root / "docs" / "a.svg").unlink()
        self.assertEqual(self.run_main(self.docs.main, argv=[self.root]),
                         (1, "docs/filters.md: no picture a.svg\n"))


class HotSymbols(Check):
    hot = tool.load("check_hot_symbols")
    CALLEE = "namespace unecho::filter { int other(int); void* get(unsigned long); }\n"

    def check(self, *sources):
        archives = [self.compile("hot%d" % number, self.CALLEE + source)
                    for number, source in enumerate(sources)]
        return self.run_main(self.hot.main, archives)

    def test_hot_code_may_use_itself_and_blocks_of_bytes(self):
        status, said = self.check(
            "int unecho::filter::other(int a) { return a + 1; }\n",
            "#include <cstring>\nint f(char* a, unsigned long n) {\n"
            "std::memset(a, 1, n); return unecho::filter::other(a[0]); }\n")
        self.assertEqual(status, 0, said)

    def test_what_hot_code_may_not_use_is_found(self):
        for code, symbol in (
                ("int* f() { return new int; }", "_Znwm"),
                ("#include <cstdio>\nvoid f() { std::printf(\"%d\", 1); }", "printf"),
                ("#include <mutex>\nstd::mutex m; void f() { m.lock(); }", "pthread_mutex_lock"),
                ("#include <ctime>\nlong f() { return std::time(nullptr); }", "time"),
                # Ours, and cold: of an archive that was not proven.
                ("int f() { return unecho::filter::other(1); }", "_ZN6unecho6filter5otherEi")):
            with self.subTest(symbol):
                status, said = self.check(code)
                self.assertEqual(status, 1, said)
                self.assertIn("needs %s, which hot code may not use" % symbol, said)

    def test_no_symbols_at_all_are_a_failure(self):
        self.assertEqual(self.run_main(self.hot.main, [])[0], 1)


class IsaObjects(Check):
    isa = tool.load("check_isa_objects")
    TABLE = "namespace unecho::filter { extern const int kLineAvx2; const int kLineAvx2 = 1; }\n"

    def check(self, *sources):
        archives = [self.compile("isa%d" % number, source) for number, source in enumerate(sources)]
        return self.run_main(self.isa.main, argv=archives)

    def test_a_table_alone_passes(self):
        status, said = self.check(self.TABLE + "namespace { int f() { return 1; } }\nstatic int g = f();")
        self.assertEqual((status, said), (0, "1 archives, 0 symbols too many\n"))

    def test_what_others_could_see_or_lack_is_found(self):
        for code, words in (
                ("int f() { return 1; }", "defines f()"),
                ("[[gnu::used]] inline int f(int a) { return a; }", "shares f(int)"),
                ("namespace { int f(); }\nextern int h();\nnamespace { struct A { A() { h(); } } a; }",
                 "needs h()")):
            with self.subTest(words):
                status, said = self.check(self.TABLE + code)
                self.assertEqual(status, 1, said)
                self.assertIn(words, said)

    def test_a_table_in_the_archive_of_another_instruction_set_is_found(self):
        archive = self.compile("libunecho_kernels_scalar", self.TABLE)
        status, said = self.run_main(self.isa.main, argv=[archive])
        self.assertEqual(status, 1, said)
        self.assertIn("defines unecho::filter::kLineAvx2", said)
        archive = self.compile("libunecho_kernels_avx2", self.TABLE)
        self.assertEqual(self.run_main(self.isa.main, argv=[archive])[0], 0)

    def test_no_table_and_no_archive_are_failures(self):
        status, said = self.check("static int a;")
        self.assertEqual(status, 1)
        self.assertIn("defines no table", said)
        self.assertEqual(self.run_main(self.isa.main, argv=[])[0], 1)


class Tests(Check):
    tests = tool.load("check_tests")

    def check(self, drop="", lints=True):
        for name in ("tests/unit/a_test.cpp", "tests/e2e/b_test.py", "tools/check_c"):
            self.write({name: ""})
        program = str(self.root / "a_test")
        commands = {"a": [program], "b": ["python3", str(self.root / "tests/e2e/b_test.py")],
                    "c": [str(self.root / "tools/check_c")]}
        tests = [{"name": name, "cmd": command, "suite": ["u:unit"]}
                 for name, command in commands.items() if name != drop]
        sources = [{"sources": [str(self.root / "tests/unit/a_test.cpp")] if drop != "source" else []}]
        return self.tests.check(self.root, tests + (tests[:1] if drop == "once" else []),
                                [{"filename": [program], "target_sources": sources}], lints)

    def test_all_there(self):
        self.assertEqual(self.check(), [])

    def test_what_disappeared_is_found(self):
        orphan = ["tests/unit/a_test.cpp: in no program that a test runs"]
        self.assertEqual(self.check("a"), orphan)
        self.assertEqual(self.check("source"), orphan)
        self.assertEqual(self.check("b"), ["tests/e2e/b_test.py: no test runs it"])
        self.assertEqual(self.check("c"), ["tools/check_c: no test runs it"])
        self.assertEqual(self.check("c", lints=False), [])
        self.assertEqual(self.check("once"), ["u:unit / a: registered 2 times"])
        self.assertIn("there are no tests", self.tests.check(self.root, [], [], True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
