#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/test_summary finds flaws that a run hides: each is planted in its own log."""
import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import tool

test_summary = tool.load("test_summary")

PASSED = "[       OK ] Suite.passes (0 ms)\n"
FAILED = "[  FAILED  ] Suite.fails (3 ms)\n"


def gtest(tests, ran=None):
    count = tests.count(" ms)") if ran is None else ran
    return "%s[==========] %d tests from 1 test suite ran. (0 ms total)\n" % (tests, count)


def gtest_skip(name, reason):
    return "a_test.cpp:24: Skipped\n%s\n\n[  SKIPPED ] %s (0 ms)\n" % (reason, name)


def unittest_log(lines, ran, end="OK"):
    return "%s\n----\nRan %d tests in 0.001s\n\n%s\n" % (lines, ran, end)


def record(name, stdout="", stderr="", result="OK"):
    return {"name": name, "stdout": stdout, "stderr": stderr, "result": result}


def python_skip(name, test, reason):
    return record(name, stderr=unittest_log("%s (__main__.Case)\nWhat it does. ... skipped %r"
                                            % (test, reason), 2, "OK (skipped=1)"))


class Summary(unittest.TestCase):
    def summary(self, records, *programs, ci=False):
        """Return (exit status, lines)."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "testlog.json"
            if records is not None:
                log.write_text("".join(json.dumps(one) + "\n" for one in records))
            said = io.StringIO()
            with contextlib.redirect_stdout(said), \
                    mock.patch.dict(os.environ, CI="true" if ci else ""):
                status = test_summary.main(log, programs)
        return status, said.getvalue().splitlines()

    def assert_failed(self, answer, counts, *words):
        status, lines = answer
        self.assertEqual((status, lines[-1]), (1, counts), lines)
        for word in words:
            self.assertTrue(any(line.startswith("FAILED: ") and word in line for line in lines),
                            (word, lines))

    def assert_green(self, answer, counts):
        status, lines = answer
        self.assertEqual((status, lines[-1]), (0, counts), lines)
        return lines

    def test_every_kind_of_program_is_counted(self):
        self.assert_green(self.summary([
            record("u:unit / base", gtest(PASSED * 3)),
            record("u:unit / tool", stderr=unittest_log("test_a (__main__.A) ... ok", 4)),
            record("u:lint / house", "12 files, 0 problems\n"),
            record("u:unit / canary", result="EXPECTEDFAIL"),
        ]), "9 passed, 0 failed, 0 skipped")

    def test_a_line_left_open_hides_no_test(self):
        self.assert_green(self.summary([record("u:unit / base", gtest(
            PASSED + "half a line" + PASSED, 2))]), "2 passed, 0 failed, 0 skipped")
        self.assert_failed(self.summary([record("u:unit / base", gtest(
            PASSED + "half a line[  SKIPPED ] A.b (0 ms)\n", 2)
            + "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b\n")]),
            "1 passed, 1 failed, 0 skipped", "no reason was said")

    def test_failures_are_counted(self):
        self.assert_failed(self.summary([
            record("u:unit / base", gtest(PASSED + FAILED * 2), result="FAIL"),
            record("u:unit / tool", result="FAIL", stderr=unittest_log(
                "", 5, "FAILED (failures=1, errors=1)")),
            record("u:unit / odd", result="FAIL", stderr=unittest_log(
                "", 3, "FAILED (unexpected successes=1)")),
            record("u:lint / house", result="FAIL"),
            record("u:e2e / slow", result="TIMEOUT"),
        ]), "6 passed, 7 failed, 0 skipped")

    def test_no_log_and_an_empty_one_fail(self):
        self.assert_failed(self.summary(None), "0 passed, 1 failed, 0 skipped", "no log")
        self.assert_failed(self.summary([]), "0 passed, 1 failed, 0 skipped", "no test ran")

    def test_a_program_that_did_not_run_fails(self):
        records = [record("u:unit / base", gtest(PASSED))]
        self.assert_green(self.summary(records, "u:unit / base"), "1 passed, 0 failed, 0 skipped")
        self.assert_failed(self.summary(records, "u:unit / base", "u:property / base"),
                           "1 passed, 1 failed, 0 skipped", "u:property / base did not run")

    def test_a_program_without_a_test_fails(self):
        self.assert_failed(self.summary([
            record("u:unit / base", "[==========] 0 tests from 0 test suites ran. (0 ms total)\n"),
            record("u:unit / tool", stderr=unittest_log("", 0)),
        ]), "0 passed, 2 failed, 0 skipped", "base: no test was found", "tool: no test was found")

    def test_a_program_that_ended_early_fails(self):
        self.assert_failed(self.summary([record("u:unit / base", PASSED * 2)]),
                           "2 passed, 1 failed, 0 skipped", "did not run to its end")

    def test_a_skip_needs_name_and_reason(self):
        reason = "no /x/tools/exact_dedup.py"
        allowed = record("u:unit / key_vs_oracle", "skipped: %s\n" % reason, result="SKIP")
        for ci in (False, True):
            lines = self.assert_green(self.summary([allowed], ci=ci),
                                      "0 passed, 0 failed, 1 skipped")
            self.assertIn("skipped: key_vs_oracle: " + reason, lines)
        for name, said in (("key_vs_answer", "skipped: %s\n" % reason),
                           ("key_vs_oracle", "skipped: I am tired\n"), ("key_vs_oracle", "")):
            self.assert_failed(self.summary([record("u:unit / " + name, said, result="SKIP")]),
                               "0 passed, 1 failed, 0 skipped", "skipped without leave: " + name)

    def test_skips_of_single_tests_need_name_and_reason_too(self):
        good = gtest_skip("Output.of_another", "cannot become nobody")
        lines = self.assert_green(self.summary([record("u:unit / captures", gtest(PASSED + good))]),
                                  "1 passed, 0 failed, 1 skipped")
        self.assertIn("skipped: captures Output.of_another: cannot become nobody", lines)
        bad = gtest_skip("Output.of_all", "not today")
        self.assert_failed(self.summary([record("u:unit / captures", gtest(PASSED + good + bad))]),
                           "1 passed, 1 failed, 1 skipped", "Output.of_all: not today")
        self.assert_green(self.summary([python_skip("u:e2e / pcap", "test_x", "no mergecap")]),
                          "1 passed, 0 failed, 1 skipped")
        self.assert_failed(self.summary([python_skip("u:e2e / pcap", "test_x", "no time")]),
                           "1 passed, 1 failed, 0 skipped", "pcap test_x: no time")

    def test_a_skip_whose_reason_is_not_said_fails(self):
        self.assert_failed(self.summary([record("u:e2e / pcap", stderr=unittest_log(
            ".s", 2, "OK (skipped=1)"))]), "1 passed, 1 failed, 0 skipped", "no reason was said")

    def test_on_ci_root_namespaces_and_hugepages_have_no_excuse(self):
        for skip in (record("u:e2e / wire_link", "skipped: needs root\n", result="SKIP"),
                     record("u:e2e / wire_taps", "skipped: no namespaces with veth here: x\n",
                            result="SKIP")):
            self.assert_green(self.summary([skip]), "0 passed, 0 failed, 1 skipped")
            self.assert_failed(self.summary([skip], ci=True), "0 passed, 1 failed, 0 skipped",
                               "skipped without leave on CI: wire_")
        pages = python_skip("u:e2e / wire_observe", "test_dumpcap_sees_the_packets",
                            "needs 256 free hugepages of 2 MiB, here are 0")
        self.assert_green(self.summary([pages]), "1 passed, 0 failed, 1 skipped")
        self.assert_failed(self.summary([pages], ci=True), "1 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main(verbosity=2)
