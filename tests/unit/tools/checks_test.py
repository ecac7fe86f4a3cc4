#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lint programs find their flaws: each gets trees and archives with one flaw planted."""
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
        """Return (exit status, output)."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch("sys.argv", ["check", *map(str, argv or ())]):
            status = function(*arguments)
        return status, said.getvalue()

    def compile(self, name, text, *flags):
        """Compile one source into an archive."""
        self.write({name + ".cpp": text})
        source, out = self.root / (name + ".cpp"), self.root / (name + ".o")
        subprocess.run([*CXX, "-std=c++20", "-O1", "-fno-exceptions", *flags, "-c", source, "-o", out],
                       check=True)
        archive = self.root / (name + ".a")
        subprocess.run(["ar", "rc", archive, out], check=True)
        return str(archive)


ROWS = """
```
L2  app
L1  net/packet (hot)  capture │ what app reads
L0  base
```

| module | layer | may use | external headers |
|---|---|---|---|
| base | L0 | | `tl/` |
| net/packet | L1 hot | base | |
| capture | L1 | base, `net/packet/key.h` | `rte_mbuf.h`, `nlohmann/` |
| app | L2 | base, capture | `rte_` |
"""
LIBRARY = "x_lib = static_library('x',\n  dependencies: [%s])\n%s_dep = declare_dependency(dependencies: %s)\n"


class House(Check):
    house = tool.load("lint/check_house")
    # The tree uses each row, and nothing beyond the rows.
    TREE = {
        "docs/architecture.md": ROWS,
        "lib/meson.build": "subdir('base')\nsubdir('net/packet')\nsubdir('capture')\n",
        "lib/base/meson.build": LIBRARY % ("", "base", "[]"),
        "lib/net/packet/meson.build": LIBRARY % ("base_dep", "packet", "base_dep"),
        "lib/capture/meson.build": LIBRARY % ("base_dep, dpdk_dep, json_dep", "capture", "[base_dep]"),
        "app/meson.build": "static_library('a', dependencies: [base_dep, capture_dep, dpdk_dep])\n",
        "lib/base/good.h": SPDX + "#pragma once\n#include <tl/expected.hpp>\n",
        "lib/net/packet/key.h": SPDX + "#pragma once\n#include \"base/good.h\"\n",
        "lib/capture/good.h": SPDX + "#pragma once\n#include \"base/good.h\"\n",
        "lib/capture/good.cpp": SPDX + "#include \"net/packet/key.h\"\n#include <unistd.h>\n"
        "#include <nlohmann/json.hpp>\n#include <rte_mbuf.h>\n",
        "app/good.h": SPDX + "#pragma once\n#include <rte_eal.h>\n#include \"../main.h\"\n"
        "#include \"base/good.h\"\n#include \"capture/good.h\"\n#include \"main.h\"\n",
    }

    def house_of(self, files, *headers):
        self.write({**self.TREE, **files})
        return self.run_main(self.house.main, argv=[self.root, *headers])

    def changed(self, name, old, new):
        """Return the problems of the tree with this one change."""
        self.assertIn(old, self.TREE[name])
        status, said = self.house_of({name: self.TREE[name].replace(old, new)})
        self.assertEqual(status, 1)
        return said.splitlines()[:-1]

    def test_a_good_tree_passes_and_no_tree_fails(self):
        self.assertEqual(self.run_main(self.house.main, argv=[self.root]),
                         (1, "0 files, 0 headers alone, 0 problems\n"))
        status, said = self.house_of({"lib/capture/a.cpp": SPDX + (
            "#include <new>\n#include \"base/good.h\"\nA(const A&) = delete;  // a new one, exit(1)\n"
            "std::unique_ptr<A> a(new A);\nauto b = std::unique_ptr<B>(\n    new B(1));\n"
            "const char* css = \"throw new printf(x)\";\nint renew = 1, undelete(int);\n"
            "snprintf(x); std::free(real); atexit_t t;\n")})
        self.assertEqual((status, said), (0, "6 files, 0 headers alone, 0 problems\n"))

    def test_each_flaw_is_found(self):
        page = "docs/architecture.md"
        for name, old, new, words in (
                ("lib/base/good.h", "#include <tl/expected.hpp>", '#include "capture/good.h"',
                 "lib/base/good.h includes capture/good.h: base may not use it"),
                ("app/good.h", "<rte_eal.h>", "<boost/any.hpp>",
                 "app/good.h includes <boost/any.hpp>, which belongs to nobody in the table"),
                ("lib/base/meson.build", "[])\nbase", "[packet_dep])\nbase",
                 "lib/base/meson.build: x_lib depends on net/packet, which base may not use"),
                ("lib/net/packet/meson.build", "= declare_dependency(dependencies: base_dep", "= declare_dependency(",
                 "lib/net/packet/meson.build: packet_dep does not depend on base, which its row names"),
                ("lib/net/packet/meson.build", "[base_dep]", "[base_dep, dpdk_dep]",
                 "lib/net/packet/meson.build: x_lib depends on dpdk_dep, whose headers net/packet may not include"),
                ("lib/capture/meson.build", ", json_dep", "",
                 "lib/capture/meson.build: no library depends on what nlohmann/ is of"),
                ("lib/meson.build", "subdir('net/packet')\nsubdir('capture')", "subdir('capture')\nsubdir('net/packet')",
                 "lib/meson.build is not in the order of docs/architecture.md: capture where net/packet is due"),
                (page, "base, capture |", "base, net/packet, capture |",
                 page + ": app may use net/packet, which nothing of it includes"),
                (page, "base | L0 | |", "base | L0 | capture |",
                 page + ": base may use capture, which no row above it is"),
                (page, "| app | L2 |", "| app | L2 hot |",
                 page + ": app is hot and may use capture, which is not"),
                (page, "net/packet (hot)", "", page + ": the picture has net/packet elsewhere, the table in L1"),
                ("lib/net/packet/key.h", "// SPDX", "//", "lib/net/packet/key.h does not begin with the licence line"),
                ("lib/net/packet/key.h", "#pragma once", "", "lib/net/packet/key.h has no #pragma once"),
                ("app/good.h", "#pragma once", "#pragma once\n//" + "x" * 99,
                 "app/good.h:3 is longer than 100 columns")):
            with self.subTest(words):
                self.assertIn(words, self.changed(name, old, new))

    def test_intrinsics_are_for_kernels(self):
        rows = self.TREE["docs/architecture.md"].replace("| base | |", "| base | `immintrin.h` |")
        include = SPDX + "#include <immintrin.h>\n"
        self.assertEqual(self.house_of({"docs/architecture.md": rows,
                                        "lib/net/packet/kernels/a.cpp": include})[0], 0)
        self.assertIn("lib/net/packet/a.cpp includes <immintrin.h>: intrinsics are for kernels/ alone",
                      self.house_of({"lib/net/packet/a.cpp": include})[1])

    def test_each_forbidden_word_is_found(self):
        for code, word in (
                ("printf(\"x\")", "prints"), ("std::cerr << 1", "prints"), ("std::exit(1)", "ends"),
                ("throw 1", "throws"), ("goto end", "jumps"), ("a = new\n    A[3]", "raw new"),
                ("delete[] p", "deletes"), ("x = malloc(3)", "allocates"),
                ("rte_prefetch0(p)", "otherwise than")):
            with self.subTest(code):
                status, said = self.house_of({"lib/net/packet/bad.cpp": SPDX + code + ";\n"})
                self.assertEqual(status, 1)
                self.assertRegex(said, r"lib/net/packet/bad\.cpp .*%s.*\n(.*\n)*6 files, .* 1 problems" % word)

    def test_an_option_that_is_named_twice_is_found(self):
        names = {"lib/base/names.h": SPDX + "#pragma once\ninline constexpr Name kKey{\"--key\"};\n"}
        for name, code, words in (
                ("lib/net/packet/a.cpp", 'f("more --key, please");',
                 "lib/net/packet/a.cpp has --key, whose name is in lib/base/"),
                ("lib/net/packet/a.cpp", 'f("--other --keys x--key");  // but --key', None),
                ("app/a.cpp", 'c.add_option(\n    "-k,--key", x);',
                 "app/a.cpp declares an option that is not from lib/base/"),
                ("app/a.cpp", 'c.add_flag(option::kKey, x); c.add_option("IN", y);', None)):
            with self.subTest(code):
                said = self.house_of({**names, name: SPDX + code + "\n"})[1].splitlines()[:-1]
                (self.root / name).unlink()
                self.assertEqual(said, [words] if words else [])

    def test_a_header_that_needs_another_is_found_unless_the_build_compiles_it_first(self):
        header = {"lib/base/a.h": SPDX + "#pragma once\nstd::string x();\n"}
        begins = "#include \"base/a.h\"\n"
        for source, built, problems in ((begins, "'a.cpp'", 0), (begins, "'b_a.cpp'", 1), ("", "'a.cpp'", 1)):
            with self.subTest(source=source, built=built):
                status, said = self.house_of({
                    **header, "lib/base/a.cpp": SPDX + source,
                    "lib/base/meson.build": self.TREE["lib/base/meson.build"] + built}, "--headers", *CXX)
                self.assertEqual(status, problems, said)
                self.assertEqual("base/a.h does not compile alone" in said, problems == 1)


class Archives(Check):
    archives = tool.load("lint/check_archives")
    house = tool.load("lint/check_house")

    def rows(self):
        self.write({"docs/architecture.md":
                    "| module | layer | may use | external headers |\n|---|---|---|---|\n| base | L0 | | |\n"
                    "| eal | L1 | base | `rte_` |\n| captures/dedup | L2 | base | |\n| captures/analyze | L2 | base | |\n"
                    "| control | L2 | base, eal | |\n"
                    "| monitor | L2 | base | |\n"})
        return self.house.read_table(self.root)[0]

    def symbols(self, changed=None):
        good = {"base": (set(), {"format"}), "eal": ({"format", "rte_eal_init"}, {"open"}),
                "captures/dedup": ({"format", "memcpy"}, {"run"}), "captures/analyze": ({"format"}, {"report"}),
                "monitor": ({"format"}, {"watch"}), "control": ({"open", "inline"}, {"inline"}), **(changed or {})}
        problems = []
        self.archives.check_symbols(self.rows(), good, problems.append)
        return problems

    def test_what_rows_do_not_name_is_found(self):
        self.assertEqual(self.symbols(), [])
        self.assertEqual(self.symbols({"control": ({"run"}, set())}),
                         ["control needs run of captures/dedup, which it may not use"])
        self.assertEqual(self.symbols({"control": ({"rte_eal_init"}, set())}),
                         ["control needs rte_eal_init of DPDK, which it may not use"])
        self.assertEqual(self.symbols({"captures/dedup": ({"per_lcore__lcore_id"}, set())}),
                         ["captures/dedup needs per_lcore__lcore_id of DPDK, which it may not use",
                          "captures/dedup links with captures/dedup, which needs per_lcore__lcore_id of DPDK"])

    def test_dpdk_below_them_is_found(self):
        said = self.symbols({"base": ({"__rte_panic"}, {"format"})})
        for name in self.archives.WITHOUT_DPDK:
            self.assertIn("%s links with base, which needs __rte_panic of DPDK" % name, said)

    def targets(self, loaded=(), parameters=(), drop=None):
        build = pathlib.Path("/b")
        names = self.archives.WITHOUT_DPDK
        files = [build / "lib" / name / ("libunecho_%s.a" % tests) for name, tests in names.items()]
        files += [build / "tests/unit" / tests / (tests + "_test") for tests in names.values()]
        targets = [{"filename": [str(file)],
                    "target_sources": [{"parameters": ["-O2"]}, {"parameters": list(parameters)}]}
                   for file in files if file.name != drop]
        problems = []
        self.archives.check_targets(targets, build, lambda program: ["libm.so.6", *loaded],
                                    problems.append)
        return problems

    def test_tests_without_dpdk_pass_and_those_with_it_are_found(self):
        self.assertEqual(self.targets(), [])
        self.assertEqual(self.targets(loaded=["librte_eal.so.23"])[0],
                         "tests/unit/dedup/dedup_test loads librte_eal.so.23")
        self.assertEqual(self.targets(parameters=["-isystem/usr/include/dpdk"])[0],
                         "lib/captures/dedup/libunecho_dedup.a is compiled with DPDK")
        self.assertEqual(self.targets(drop="analyze_test"),
                         ["no archives and tests of captures/dedup and captures/analyze and monitor"])


class Docs(Check):
    docs = tool.load("lint/check_docs")
    TREE = {
        "README.md": "[docs](docs/a.md#words-of-ours), `tools/run`, `tools/`, `lib/none.h`\n"
                     "```\n[none](none.md)\n```\n`unecho pcap in.pcap --window 5ms`; --none\n",
        "docs/a.md": "## Words, of `ours`\n<img src=\"a.svg\">\n```toml\n[run]\nseed = 1\n```\n"
                     "```cpp\n    run();\n```\n",
        "examples/a.cpp": "int main() {\n    run();\n}\n",
        "docs/a.svg": "", "tools/run": "", "examples/a": "unecho run a.toml --json\n",
        "docs/configuration.md": "## [[filter]]\n\n| key | allowed |\n|---|---|\n| `rate` | any |\n\n"
                                 "### class\n\n| key | allowed |\n|---|---|\n| `udp` | any |\n\n"
                                 "## [run]\n\n| key | allowed |\n|---|---|\n| `seed` | any |\n",
        "configs/a.toml": "# unecho run a.toml --json -- --no-huge\n[[filter]]\nrate = 1\n[filter.class]\nudp = 1\n",
    }

    def of_tree(self, files=None):
        self.write({**self.TREE, **(files or {}), "unecho": "#!/bin/sh\n"
                    "case $1 in pcap) echo '  --window W';; run) echo '  --json';; *) exit 2;; esac\n"})
        (self.root / "unecho").chmod(0o755)
        return self.run_main(self.docs.main, self.root, str(self.root / "unecho"))

    def test_a_true_tree_passes_and_each_flaw_is_found(self):
        self.assertEqual(self.of_tree(), (0, ""))
        for name, text, words in (
                ("README.md", "[a](docs/none.md)", "no file docs/none.md"),
                ("README.md", "[a](docs/a.md#of-theirs)", "no heading docs/a.md#of-theirs"),
                ("README.md", "![a](none.svg)", "no file none.svg"),
                ("README.md", "`tools/none`", "no file tools/none"),
                ("README.md", "`unecho pcap --none 1`", "unecho pcap has no --none"),
                ("README.md", "unecho none --window 1", "no command unecho none"),
                ("examples/a", "unecho run a.toml --window 1", "unecho run has no --window"),
                ("README.md", "```cpp\n    walk();\n```\n", 'no example has the C++ "walk();"'),
                ("README.md", "```\n[[filter]]\nrat = 1\n```\n", "no key filter.rat"),
                ("configs/a.toml", "[filter.class]\nrate = 1\n", "no key filter.class.rate"),
                ("configs/a.toml", "[filter.none]\n", "no key filter.none"),
                ("configs/a.toml", "[ru]\nseed = 1\n", "no key ru")):
            with self.subTest(words):
                self.assertEqual(self.of_tree({name: text}), (1, "%s: %s\n" % (name, words)))


class HotSymbols(Check):
    hot = tool.load("lint/check_hot_symbols")
    CALLEE = "namespace unecho::filter { int other(int); void* get(unsigned long); }\n"

    def check(self, *sources, allow=()):
        archives = [self.compile("hot%d" % number, self.CALLEE + source)
                    for number, source in enumerate(sources)]
        return self.run_main(self.hot.main, [*allow, *archives])

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
                # Our own cold code, from an archive that is not checked.
                ("int f() { return unecho::filter::other(1); }", "_ZN6unecho6filter5otherEi")):
            with self.subTest(symbol):
                status, said = self.check(code)
                self.assertEqual(status, 1, said)
                self.assertIn("needs %s, which hot code may not use" % symbol, said)

    def test_what_is_allowed_by_its_name_has_to_be_needed(self):
        allow = ("--allow", "unecho::filter::other")
        self.assertEqual(self.check("int f() { return unecho::filter::other(1); }\n", allow=allow)[0], 0)
        self.assertIn("--allow unecho::filter::other: nothing needs it",
                      self.check("int f() { return 1; }\n", allow=allow)[1])

    def test_no_symbols_at_all_are_a_failure(self):
        self.assertEqual(self.run_main(self.hot.main, [])[0], 1)


class IsaObjects(Check):
    isa = tool.load("lint/check_isa_objects")
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


class Words(Check):
    words = tool.load("lint/check_words")
    TREE = {"tools/lint/words": "# old, new\nLane\tFilterContext\n", "lib/a.h": "// Return a lane.\nint LaneOf();\n",
            "README.md": "Drop duplicates.\n"}

    def words_of(self, **files):
        self.write({**self.TREE, **{name.replace("__", "/") + ".h": text for name, text in files.items()}})
        return self.run_main(self.words.main, argv=[self.root])

    def test_what_is_well_said_passes(self):
        self.assertEqual(self.words_of(), (0, "2 files, 1 retired names, 0 headless comment lines, 0 problems\n"))

    def test_a_retired_name_is_found_in_code_and_comments(self):
        status, said = self.words_of(lib__b="// As a Lane does.\nstruct Lane;\n")
        self.assertEqual(status, 1)
        self.assertEqual(said.splitlines()[:2], ["lib/b.h:1: Lane is FilterContext now",
                                                 "lib/b.h:2: Lane is FilterContext now"])

    def test_headless_comments_are_counted(self):
        allowed = self.words.MAX_HEADLESS
        self.assertEqual(self.words_of(lib__b="    // Of a filter, all.\n" * allowed)[0], 0)
        status, said = self.words_of(lib__b="// What it has.\n" * (allowed + 1))
        self.assertEqual(status, 1)
        self.assertIn("%d comment lines begin with a headless clause" % (allowed + 1), said)
        self.assertEqual(self.words_of(lib__b="// What is lost?\n" * (allowed + 1))[0], 0)
        self.write({"tools/run.py": "# What it does.\n" * (allowed + 1)})
        self.assertEqual(self.words_of(lib__b="")[0], 1)

    def test_no_tree_is_a_failure(self):
        self.write({"tools/lint/words": "Lane\tFilterContext\n"})
        self.assertEqual(self.run_main(self.words.main, argv=[self.root])[0], 1)


class Tests(Check):
    tests = tool.load("lint/check_tests")

    def check(self, drop="", lints=True):
        for name in ("tests/unit/a_test.cpp", "tests/e2e/b_test.py", "tools/lint/check_c"):
            self.write({name: ""})
        program = str(self.root / "a_test")
        commands = {"a": [program], "b": ["python3", str(self.root / "tests/e2e/b_test.py")],
                    "c": [str(self.root / "tools/lint/check_c")]}
        tests = [{"name": name, "cmd": command, "suite": ["u:unit"]}
                 for name, command in commands.items() if name != drop]
        sources = [{"sources": [str(self.root / "tests/unit/a_test.cpp")] if drop != "source" else []}]
        return self.tests.check(self.root, tests + (tests[:1] if drop == "once" else []),
                                [{"filename": [program], "target_sources": sources}], lints)

    def test_all_there(self):
        self.assertEqual(self.check(), [])

    def test_sources_that_are_compiled_together(self):
        self.write({"tests/unit/%s_test.cpp" % name: "" for name in "ab"})
        self.write({"build/p/a-unity0.cpp": "#include<%s>\n" % (self.root / "tests/unit/a_test.cpp")})
        program = str(self.root / "a_test")
        group = {"sources": [], "generated_sources": [str(self.root / "build/p/a-unity0.cpp")]}
        self.assertEqual(self.tests.check(
            self.root, [{"name": "a", "cmd": [program], "suite": ["unit"]}],
            [{"filename": [program], "target_sources": [group]}], False),
            ["tests/unit/b_test.cpp: in no program that a test runs"])

    def test_what_disappeared_is_found(self):
        orphan = ["tests/unit/a_test.cpp: in no program that a test runs"]
        self.assertEqual(self.check("a"), orphan)
        self.assertEqual(self.check("source"), orphan)
        self.assertEqual(self.check("b"), ["tests/e2e/b_test.py: no test runs it"])
        self.assertEqual(self.check("c"), ["tools/lint/check_c: no test runs it"])
        self.assertEqual(self.check("c", lints=False), [])
        self.assertEqual(self.check("once"), ["u:unit / a: registered 2 times"])
        self.assertIn("there are no tests", self.tests.check(self.root, [], [], True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
