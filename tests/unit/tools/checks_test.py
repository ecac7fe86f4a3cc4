#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The lint programs find what they are for: each is fed trees and archives with one flaw planted."""
import contextlib
import io
import os
import pathlib
import shlex
import shutil
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


ROWS = """
```
L2  app
L1  packet (hot)  capture │ what app reads
L0  base
```

| module | layer | may use | external headers |
|---|---|---|---|
| base | L0 | | `tl/` |
| packet | L1 hot | base | |
| capture | L1 | base, `packet/key.h` | `rte_mbuf.h`, `nlohmann/` |
| app | L2 | base, capture | `rte_` |
"""
LIBRARY = "x_lib = static_library('x',\n  dependencies: [%s])\n%s_dep = declare_dependency(dependencies: %s)\n"


class House(Check):
    house = tool.load("check_house")
    # Each row is used, and none beyond it.
    TREE = {
        "docs/architecture.md": ROWS,
        "lib/meson.build": "subdir('base')\nsubdir('packet')\nsubdir('capture')\n",
        "lib/base/meson.build": LIBRARY % ("", "base", "[]"),
        "lib/packet/meson.build": LIBRARY % ("base_dep", "packet", "base_dep"),
        "lib/capture/meson.build": LIBRARY % ("base_dep, dpdk_dep, json_dep", "capture", "[base_dep]"),
        "app/meson.build": "static_library('a', dependencies: [base_dep, capture_dep, dpdk_dep])\n",
        "lib/base/good.h": SPDX + "#pragma once\n#include <tl/expected.hpp>\n",
        "lib/packet/key.h": SPDX + "#pragma once\n#include \"base/good.h\"\n",
        "lib/capture/good.h": SPDX + "#pragma once\n#include \"base/good.h\"\n",
        "lib/capture/good.cpp": SPDX + "#include \"packet/key.h\"\n#include <unistd.h>\n"
        "#include <nlohmann/json.hpp>\n#include <rte_mbuf.h>\n",
        "app/good.h": SPDX + "#pragma once\n#include <rte_eal.h>\n#include \"../main.h\"\n"
        "#include \"base/good.h\"\n#include \"capture/good.h\"\n#include \"main.h\"\n",
    }

    def house_of(self, files, *headers):
        self.write({**self.TREE, **files})
        return self.run_main(self.house.main, argv=[self.root, *headers])

    def changed(self, name, old, new):
        """What is said of the tree with this one change."""
        self.assertIn(old, self.TREE[name])
        status, said = self.house_of({name: self.TREE[name].replace(old, new)})
        self.assertEqual(status, 1)
        return said.splitlines()[:-1]

    def test_an_include_beyond_the_row_is_found(self):
        for name, what, words in (
                ("lib/base/good.h", '"capture/good.h"', "includes capture/good.h: base may not use it"),
                ("lib/capture/good.h", '"packet/wifi.h"', "includes packet/wifi.h: capture may not use it"),
                ("lib/packet/key.h", '"sibling.h"', "includes sibling.h: packet may not use it"),
                ("app/good.h", '"packet/key.h"', "includes packet/key.h: app may not use it"),
                ("lib/packet/key.h", "<rte_mbuf.h>", "includes <rte_mbuf.h>, which belongs to app, capture"),
                ("lib/capture/good.h", "<rte_eal.h>", "includes <rte_eal.h>, which belongs to app"),
                ("app/good.h", "<boost/any.hpp>",
                 "includes <boost/any.hpp>, which belongs to nobody in the table")):
            with self.subTest(words):
                self.assertEqual(self.changed(name, "#pragma once\n", "#pragma once\n#include %s\n" % what),
                                 ["%s %s" % (name, words)])

    def test_intrinsics_are_for_kernels(self):
        rows = self.TREE["docs/architecture.md"].replace("| base | |", "| base | `immintrin.h` |")
        include = SPDX + "#include <immintrin.h>\n"
        self.assertEqual(self.house_of({"docs/architecture.md": rows,
                                        "lib/packet/kernels/a.cpp": include})[0], 0)
        self.assertIn("lib/packet/a.cpp includes <immintrin.h>: intrinsics are for kernels/ alone",
                      self.house_of({"lib/packet/a.cpp": include})[1])

    def test_a_dependency_beyond_the_row_and_one_that_is_missing_are_found(self):
        for name, old, new, words in (
                ("lib/base/meson.build", "[])\nbase", "[packet_dep])\nbase",
                 ["lib/base/meson.build: x_lib depends on packet, which base may not use"]),
                ("lib/capture/meson.build", "= declare_dependency(dependencies: [base_dep",
                 "= declare_dependency(dependencies: [packet_dep, base_dep",
                 ["lib/capture/meson.build: capture_dep depends on packet, which capture may not use"]),
                ("lib/packet/meson.build", "= declare_dependency(dependencies: base_dep", "= declare_dependency(",
                 ["lib/packet/meson.build: packet_dep does not depend on base, which its row names"]),
                ("lib/packet/meson.build", "[base_dep]", "[]",
                 ["lib/packet/meson.build: no library depends on base, which its row names"]),
                ("app/meson.build", "capture_dep", "packet_dep",
                 ["app/meson.build: static_library depends on packet, which app may not use",
                  "app/meson.build: no library depends on capture, which its row names"]),
                ("lib/packet/meson.build", "[base_dep]", "[base_dep, dpdk_dep]",
                 ["lib/packet/meson.build: x_lib depends on dpdk_dep, whose headers packet may not include"]),
                ("lib/packet/meson.build", "[base_dep]", "[base_dep, odd_dep]",
                 ["lib/packet/meson.build: x_lib depends on odd_dep, which is nothing known"]),
                ("lib/capture/meson.build", ", json_dep", "",
                 ["lib/capture/meson.build: no library depends on what nlohmann/ is of"])):
            with self.subTest(words):
                self.assertEqual(self.changed(name, old, new), words)

    def test_another_table_is_found(self):
        page = "docs/architecture.md"
        for old, new, words in (
                ("base, capture |", "base, packet, capture |",
                 ["app may use packet, which nothing of it includes",
                  "app/meson.build: no library depends on packet, which its row names"]),
                ("| `rte_` |", "| `rte_`, `CLI/` |",
                 ["app may use CLI/, which nothing of it includes",
                  "app/meson.build: no library depends on what CLI/ is of"]),
                ("packet | L1 hot | base |", "packet | L1 hot | |",
                 ["lib/packet/key.h includes base/good.h: packet may not use it",
                  "lib/packet/meson.build: x_lib depends on base, which packet may not use",
                  "lib/packet/meson.build: packet_dep depends on base, which packet may not use"]),
                ("base | L0 | |", "base | L0 | capture |",
                 ["base may use capture, which no row above it is"]),
                ("capture | L1 |", "capture | L1 hot |", []),
                ("packet | L1 hot |", "packet | L0 hot |",
                 ["the picture has packet elsewhere, the table in L0",
                  "the picture has packet in L1, the table in L0"]),
                ("packet (hot)", "", ["the picture has packet elsewhere, the table in L1"])):
            with self.subTest(words):
                said = "\n".join(self.house_of({page: ROWS.replace(old, new)})[1].splitlines()[:-1])
                self.assertIn(old, ROWS)
                self.assertEqual(bool(words), bool(said), said)
                for line in words:
                    self.assertIn(line, said)

    def test_hot_uses_hot_alone(self):
        said = self.house_of({"docs/architecture.md": ROWS.replace(
            "| app | L2 |", "| app | L2 hot |")})[1]
        self.assertIn("docs/architecture.md: app is hot and may use capture, which is not", said)

    def test_modules_in_another_order_are_found(self):
        self.assertEqual(self.changed("lib/meson.build", "subdir('packet')\nsubdir('capture')",
                                      "subdir('capture')\nsubdir('packet')"),
                         ["lib/meson.build is not in the order of docs/architecture.md: capture where "
                          "packet is due"])
        self.assertIn("lib/odd: in no row of docs/architecture.md",
                      self.house_of({"lib/odd/a.h": SPDX + "#pragma once\n"})[1])

    def test_a_good_tree_passes(self):
        status, said = self.house_of({"lib/capture/a.cpp": SPDX + (
            "#include <new>\n#include \"base/good.h\"\nA(const A&) = delete;  // a new one, exit(1)\n"
            "std::unique_ptr<A> a(new A);\nauto b = std::unique_ptr<B>(\n    new B(1));\n"
            "const char* css = \"throw new printf(x)\";\nint renew = 1, undelete(int);\n"
            "snprintf(x); std::free(real); atexit_t t;\n")})
        self.assertEqual((status, said), (0, "6 files, 0 headers alone, 0 problems\n"))

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
                ("x = malloc(3)", "allocates"), ("std::calloc(1, 2)", "allocates"),
                ("__builtin_prefetch(p, 1)", "otherwise than"), ("rte_prefetch0(p)", "otherwise than")):
            with self.subTest(code):
                status, said = self.house_of({"lib/base/bad.cpp": SPDX + code + ";\n"})
                self.assertEqual(status, 1)
                self.assertRegex(said, r"lib/base/bad\.cpp .*%s.*\n(.*\n)*6 files, .* 1 problems" % word)

    def test_each_flaw_of_a_file_is_found(self):
        good = SPDX + "#pragma once\n"
        for name, text, words in (
                ("lib/base/a.h", "//\n#pragma once\n", "lib/base/a.h does not begin with the licence line"),
                ("tests/a.cpp", "int a;\n", "tests/a.cpp does not begin with the licence line"),
                ("lib/base/a.h", SPDX + "int a;\n", "lib/base/a.h has no #pragma once"),
                ("app/a.cpp", SPDX + "\n//" + "x" * 99 + "\n", "app/a.cpp:3 is longer than 100 columns")):
            with self.subTest(words):
                status, said = self.house_of({name: text})
                (self.root / name).unlink()
                self.assertEqual(status, 1)
                self.assertIn(words, said)
                self.assertIn(" 1 problems", said)

    def test_an_option_that_is_named_twice_is_found(self):
        names = {"lib/base/option_names.h": SPDX + "#pragma once\ninline constexpr Name kKey{\"--key\"};\n"
                                                   "inline constexpr Name kMark{\"--mark\"};\n"}
        known = "whose name is in lib/base/option_names.h"
        for name, code, words in (
                ("lib/packet/a.cpp", 'f("more --key, please");', "lib/packet/a.cpp has --key, " + known),
                ("lib/packet/a.cpp", 'c = \'"\'; f("--mark");', "lib/packet/a.cpp has --mark, " + known),
                ("lib/packet/a.cpp", 'f("--other --keys x--key");  // but --key', None),
                ("lib/analyze/html_a.cpp", 'f("var(--mark)");', None),
                ("app/a.cpp", 'f("--key");', None),
                ("app/a.cpp", 'c.add_option(\n    "-k,--key", x);',
                 "app/a.cpp declares an option that is not from lib/base/option_names.h"),
                ("app/a.cpp", 'c.add_flag(option::kKey, x); c.add_option("IN", y);', None)):
            with self.subTest(code):
                said = self.house_of({**names, name: SPDX + code + "\n"})[1].splitlines()[:-1]
                (self.root / name).unlink()
                self.assertEqual([line for line in said if "option" in line], [words] if words else [])

    def test_a_header_that_needs_another_is_found(self):
        status, said = self.house_of({"lib/base/needy.h": SPDX + "#pragma once\nstd::string x();\n"},
                                     "--headers", *CXX)
        self.assertEqual(status, 1)
        self.assertIn("base/needy.h does not compile alone", said)
        self.assertIn("4 headers alone, 1 problems", said)

    def test_a_header_is_left_to_the_build_only_if_that_compiles_it_first(self):
        """So that one that compiles with nothing passes where the build has shown it, nowhere else."""
        header = {"lib/base/a.h": SPDX + "#pragma once\nstd::string x();\n"}
        begins, other = "#include \"base/a.h\"\n", "#include \"base/good.h\"\n"
        for source, built, problems in ((begins, "'a.cpp'", 0), (begins, "'b_a.cpp'", 1),
                                        (other + begins, "'a.cpp'", 1), ("", "'a.cpp'", 1)):
            with self.subTest(source=source, built=built):
                status, said = self.house_of({**header, "lib/base/a.cpp": SPDX + source,
                                              "lib/base/meson.build": self.TREE["lib/base/meson.build"] + built}, "--headers", *CXX)
                self.assertEqual(status, problems, said)
                self.assertIn("4 headers alone, %d problems" % problems, said)

    def test_nothing_to_check_is_a_failure(self):
        status, said = self.run_main(self.house.main, argv=[self.root])
        self.assertEqual((status, said), (1, "0 files, 0 headers alone, 0 problems\n"))


class PlantedInThisTree(Check):
    """The house of this repository, with one flaw at a time."""
    house = tool.load("check_house")

    def setUp(self):
        super().setUp()
        for folder in ("lib", "app"):
            shutil.copytree(tool.ROOT / folder, self.root / folder)
        self.write({"docs/architecture.md": (tool.ROOT / "docs/architecture.md").read_text()})

    def planted(self, name, old, new):
        path = self.root / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))
        status, said = self.run_main(self.house.main, argv=[self.root])
        path.write_text(text)
        self.assertEqual(status, 1)
        return said.splitlines()[0]

    def test_each_planted_flaw_is_named_and_nothing_else(self):
        self.assertRegex(self.run_main(self.house.main, argv=[self.root])[1], r"^\d+ files, .* 0 problems$")
        include = "#pragma once\n"
        self.assertEqual(
            self.planted("lib/filter/first.h", include, include + '#include "control/plan.h"\n'),
            "lib/filter/first.h includes control/plan.h: filter may not use it")
        self.assertEqual(
            self.planted("app/print.h", include, include + '#include "dataplane/worker.h"\n'),
            "app/print.h includes dataplane/worker.h: app may not use it")
        self.assertEqual(
            self.planted("lib/offline/run.h", include, include + "#include <rte_mbuf.h>\n"),
            "lib/offline/run.h includes <rte_mbuf.h>, which belongs to dataplane, eal")
        self.assertEqual(
            self.planted("lib/offline/meson.build", "engines_dep", "engines_dep, control_dep"),
            "lib/offline/meson.build: offline_lib depends on control, which offline may not use")
        self.assertEqual(
            self.planted("docs/architecture.md", "| analyze | L4 | base,", "| analyze | L4 | base, filter,"),
            "docs/architecture.md: analyze may use filter, which nothing of it includes")
        for name, header in (("lib/filter/sets/shbf_m.h", "filter/window/apbf.h"),
                             ("lib/filter/baseline/bloom.h", "filter/sets/shbf_m.h"),
                             ("lib/filter/window/apbf.h", "filter/baseline/bloom.h"),
                             ("lib/engines/catalogue.h", "filter/baseline/bloom.h")):
            self.assertEqual(self.planted(name, include, include + '#include "%s"\n' % header),
                             "%s includes %s, which filter/filter.h does not allow" % (name, header))


class Archives(Check):
    archives = tool.load("check_archives")
    house = tool.load("check_house")

    def rows(self):
        self.write({"docs/architecture.md":
                    "| module | layer | may use | external headers |\n|---|---|---|---|\n| base | L0 | | |\n"
                    "| eal | L1 | base | `rte_` |\n| offline | L2 | base | |\n| analyze | L2 | base | |\n"
                    "| control | L2 | base, eal | |\n"
                    "| monitor | L2 | base | |\n"})
        return self.house.read_table(self.root)[0]

    def symbols(self, **changed):
        good = {"base": (set(), {"format"}), "eal": ({"format", "rte_eal_init"}, {"open"}),
                "offline": ({"format", "memcpy"}, {"run"}), "analyze": ({"format"}, {"report"}),
                "monitor": ({"format"}, {"watch"}), "control": ({"open", "inline"}, {"inline"}), **changed}
        problems = []
        self.archives.check_symbols(self.rows(), good, problems.append)
        return problems

    def test_what_rows_name_may_be_needed(self):
        self.assertEqual(self.symbols(), [])

    def test_what_they_do_not_name_is_found(self):
        self.assertEqual(self.symbols(control=({"run"}, set())),
                         ["control needs run of offline, which it may not use"])
        self.assertEqual(self.symbols(control=({"rte_eal_init"}, set())),
                         ["control needs rte_eal_init of DPDK, which it may not use"])
        self.assertEqual(self.symbols(offline=({"per_lcore__lcore_id"}, set())),
                         ["offline needs per_lcore__lcore_id of DPDK, which it may not use",
                          "offline links with offline, which needs per_lcore__lcore_id of DPDK"])

    def test_dpdk_below_them_is_found(self):
        said = self.symbols(base=({"__rte_panic"}, {"format"}))
        for name in self.archives.WITHOUT_DPDK:
            self.assertIn("%s links with base, which needs __rte_panic of DPDK" % name, said)

    def targets(self, loaded=(), parameters=(), drop=None):
        build = pathlib.Path("/b")
        names = self.archives.WITHOUT_DPDK
        files = [build / "lib" / name / ("libunecho_%s.a" % name) for name in names]
        files += [build / "tests/unit" / name / (name + "_test") for name in names]
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
                         "tests/unit/offline/offline_test loads librte_eal.so.23")
        self.assertEqual(self.targets(parameters=["-isystem/usr/include/dpdk"])[0],
                         "lib/offline/libunecho_offline.a is compiled with DPDK")
        self.assertEqual(self.targets(drop="analyze_test"),
                         ["no archives and tests of offline and analyze and monitor"])

    def test_an_archive_is_found_in_its_module(self):
        target = {"type": "static library", "filename": ["/b/lib/filter/baseline/liba.a"]}
        self.assertEqual(self.archives.archives_of([target, {"type": "executable"}], "/b"),
                         {"filter": [pathlib.Path("/b/lib/filter/baseline/liba.a")]})


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

    TUNNELS = {
        "lib/packet/encapsulation.h": '{Encapsulation::kA, "a-1", "RFC 1", "port 1"},\n'
        '{Encapsulation::kB, "b", "RFC 2",\n     "protocol 2"},\n',
        "tests/support/wrappings.cpp": '{"a with IP", Encapsulation::kA, false, false, true, a},\n'
        '{"b", Encapsulation::kB, true, true, false, b},\n',
        "docs/tunnels.md": "\n| `a-1` | RFC 1 | port 1 | IP |\n| `b` | RFC 2 | protocol 2 | Ethernet |\n\n"
        "| `a-1` | IPv4 | no: it holds IP | G | G | one | none: nobody |\n"
        "| `a-1` | IPv6 | no: it holds IP | G | G | none | none: nobody |\n"
        "| `b` | Ethernet | G | no: other | no: other | none | none: nobody |\n",
    }
    LABS = ('    ("a-1 over IPv4", 4, (4, 6), _a),\n    ("c in a-1", (4,), _Port("type=a"),\n'
            '    ("b", "ethernet", (4, 6), _Pair()))\n')

    def of_tunnels(self, old="", new="", files=None):
        page = self.TUNNELS["docs/tunnels.md"]
        self.assertIn(old, page)
        self.setUp()
        self.write({**self.TUNNELS, "docs/tunnels.md": page.replace(old, new, 1) if old else page,
                    **(files or {})})
        return list(self.docs.check_tunnels(self.root))

    def test_true_tables_of_encapsulations_pass(self):
        self.assertEqual(self.of_tunnels(), [])

    def test_an_encapsulation_that_is_another_one_is_found(self):
        for old, new in (("RFC 1 |", "RFC 3 |"), ("protocol 2", "protocol 3"), ("| `b` | RFC", "| `c` | RFC")):
            with self.subTest(new):
                row = "| `a-1` | RFC 1 | port 1 |" if "1 |" in old else "| `b` | RFC 2 | protocol 2 |"
                self.assertEqual(self.of_tunnels(old, new), ["no row " + row])

    def test_cells_that_say_other_than_the_tests_are_found(self):
        for old, new, problem in (
                ("IP | G | G | one", "IP | | G | one", "IPv4, IPv4 inside: '', and it is 'G'"),
                ("IP | G | G | one", "IP | G D | G | one", "IPv4, IPv4 inside: 'G D', and it is 'G'"),
                ("IP | G | G | one", "IP | no: it | G | one", "IPv4, IPv4 inside: 'no: it', and it is 'G'"),
                ("no: it holds IP | G | G | one", "G | G | G | one",
                 "IPv4, Ethernet inside: 'G', and it is 'no: WHY'"),
                ("no: it holds IP | G | G | one", "| G | G | one",
                 "IPv4, Ethernet inside: '', and it is 'no: WHY'"),
                ("one | none: nobody", "one | ", "IPv4, peers: '', and it is 'none: WHY'"),
                ("one | none: nobody", "one | K", "IPv4, peers: 'K', and it is 'none: WHY'"),
                ("one | none", " | none", "IPv4: an empty cell")):
            with self.subTest(new):
                self.assertEqual(self.of_tunnels(old, new), ["tested, a-1 over " + problem])
        self.assertEqual(self.of_tunnels("| `a-1` | IPv6 |", "| a-1 | IPv6 |"),
                         ["tested, a-1 over IPv6: no row"])
        self.assertEqual(self.of_tunnels("| `b` | Ethernet |", "| b | Ethernet |"),
                         ["tested, b over Ethernet: no row", "tested, b: no row"])

    def test_what_is_tested_besides_is_read(self):
        made = "from collections import namedtuple\nFORMS = [namedtuple('Form', 'names outside inside')"
        for files, problems in (
                ({"tests/e2e/wire/labs.py": self.LABS},
                 [("a-1 over IPv4, peers", "none: nobody", "K S"),
                  ("a-1 over IPv6, peers", "none: nobody", "S"),
                  ("b over Ethernet, peers", "none: nobody", "S")]),
                ({"tools/encapsulate.py": made + "(('c', 'b'), 'ethernet', 'ethernet')]\n"},
                 [("b over Ethernet, Ethernet inside", "G", "G D")])):
            self.assertEqual(self.of_tunnels(files=files), ["tested, %s: %r, and it is %r" % each
                                                            for each in problems])

    TREE = {
        "README.md": "[docs](docs/testing.md#words-of-ours), `tests/unit`, `a.toml`, `lib/base/a.h`, `.ci/run`\n"
                     "```\n`none.h`\n```\n",
        "docs/testing.md": "## Words, of `ours`\n| suite | what |\n|---|---|\n| unit | all |\n",
        "configs/a.toml": "", ".ci/run": "",
        "tests/unit/meson.build": "test('a', a, suite: 'unit')\n",
        "lib/base/a.h": "// See b.h, hash/c.h, <rte_mbuf.h> and base/a.h.\n",
        "lib/base/b.h": "", "lib/hash/c.h": "",
    }

    def of_tree(self, files=None):
        self.write({**self.TREE, **(files or {})})
        return sorted(self.docs.check_tree(self.root))

    def test_a_true_tree_passes(self):
        self.assertEqual(self.of_tree(), [])

    def test_files_and_headings_that_are_not_there_are_found(self):
        for text, words in (("`lib/base/none.h`", "no file lib/base/none.h"),
                            ("`tools/none`", "no file tools/none"), ("`none_test.py`", "no file none_test.py"),
                            ("[a](docs/none.md)", "no file docs/none.md"),
                            ("[a](docs/testing.md#of-theirs)", "no heading docs/testing.md#of-theirs"),
                            ("![a](none.svg)", "no file none.svg"),
                            ("<img src=\"none.png\">", "no file none.png")):
            with self.subTest(text):
                self.assertEqual(self.of_tree({"README.md": text}), ["README.md: " + words])

    def test_a_comment_names_files_of_its_module_or_with_their_folder(self):
        for text, problems in (("// See a.h\n", []), ("// See base/a.h\n", []), ("int a = b.c;\n", []),
                               ("// See c.h.\n", ["lib/base/b.h: no file c.h"]),
                               ("// (sizing/c.h)\n", ["lib/base/b.h: no file sizing/c.h"])):
            with self.subTest(text):
                self.assertEqual(self.of_tree({"lib/base/b.h": text}), problems)
        self.assertEqual(self.of_tree({"app/d.cpp": "// c.h\n", "lib/base/b.h": ""}), [])

    def test_suites_that_the_page_lacks_or_has_too_many_of_are_found(self):
        self.assertEqual(self.of_tree({"tests/eal/meson.build": "test('b', b, suite: 'eal')\n"}),
                         ["docs/testing.md: suite eal is not named"])
        (self.root / "tests/eal/meson.build").unlink()
        self.assertEqual(self.of_tree({"docs/testing.md": self.TREE["docs/testing.md"] + "| old | x |\n"}),
                         ["docs/testing.md: no suite old"])

    def test_a_problem_is_the_exit_status(self):
        self.write({**self.TREE, **self.TUNNELS})
        self.problems()
        self.assertEqual(self.run_main(self.docs.main, argv=[self.root])[0], 0)
        (self.root / "docs" / "a.svg").unlink()
        self.assertEqual(self.run_main(self.docs.main, argv=[self.root]),
                         (1, "docs/filters.md: no file a.svg\n"))


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
        self.assertEqual(self.check("c"), ["tools/check_c: no test runs it"])
        self.assertEqual(self.check("c", lints=False), [])
        self.assertEqual(self.check("once"), ["u:unit / a: registered 2 times"])
        self.assertIn("there are no tests", self.tests.check(self.root, [], [], True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
