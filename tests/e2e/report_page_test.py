#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report's page in a real browser: on a phone and on a desk, light and dark.

UNECHO_REPORT_PAGES is the program that writes the pages of hand-made reports.
"""
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import browser
import harness
from page_checks import (AREAS, COLOURS, OVERFLOWING, SCROLLING, TEXTS, TOUCHING, Structure, contrast,
                         shown_value)

WIDTHS = (360, 768, 1280)
LOOKS = tuple(itertools.product(WIDTHS, (False, True)))  # and whether it is dark
PAGES = ("sample", "empty", "single", "no_echo", "same_time", "vast", "hostile")


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser(browser.find())
        cls.addClassCleanup(cls.browser.__exit__)
        folder = tempfile.TemporaryDirectory(prefix="unecho-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def ask(self, expression):
        return self.browser.evaluate(expression)

    def assert_readable(self, page, scrolls=False, looks=LOOKS):
        """At every width nothing overflows, touches, is fetched or fails."""
        for width, dark in looks:
            with self.subTest(page=page.name, width=width, dark=dark):
                self.browser.open(page, width, dark=dark)
                self.assertEqual(self.ask("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.ask(OVERFLOWING), [])
                self.assertEqual(self.ask(TOUCHING), [])
                if not scrolls:
                    self.assertEqual(self.ask(SCROLLING), [])
                requests = [event["request"]["url"]
                            for event in self.browser.events("Network.requestWillBeSent")]
                self.assertEqual(requests, [page.absolute().as_uri()])
                for event in ("Runtime.exceptionThrown", "Log.entryAdded",
                              "Page.javascriptDialogOpening"):
                    self.assertEqual(self.browser.events(event), [], event)

    def assert_well_formed(self, page):
        structure = Structure(page.read_text(encoding="utf-8"))
        self.assertEqual(structure.problems, [], page.name)
        self.assertEqual(structure.links, [], page.name)


class MadePages(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([os.environ["UNECHO_REPORT_PAGES"], cls.folder], check=True)

    def page(self, name):
        return self.folder / (name + ".html")

    def test_every_page_is_readable(self):
        for name in PAGES:
            self.assert_readable(self.page(name), scrolls=name in ("vast", "hostile"))

    def test_every_page_is_well_formed(self):
        for name in PAGES:
            self.assert_well_formed(self.page(name))

    def test_colours_have_contrast(self):
        for dark in (False, True):
            self.browser.open(self.page("sample"), 1280, dark=dark)
            colours = self.ask(COLOURS)
            self.assertEqual(contrast(colours["--page"], (255, 255, 255)) > 15, dark)
            for name, ground, least in ([(t, g, 4.5) for t in TEXTS for g in ("--page", "--panel")]
                                        + [(a, "--page", 3) for a in AREAS]):
                self.assertGreaterEqual(contrast(colours[name], colours[ground]), least,
                                        (name, ground, dark))
            # The darkest cell of the matrix: 32 percent of the echoes' colour under the text.
            cell = [0.68 * p + 0.32 * e for p, e in zip(colours["--page"], colours["--echo"])]
            self.assertGreaterEqual(contrast(colours["--ink"], cell), 4.5, dark)

    def test_hostile_names_are_shown_as_text(self):
        self.browser.open(self.page("hostile"), 1280)
        self.assertIn("<script>alert(1)</script>\"'&", self.ask("document.title"))
        self.assertEqual(self.ask("document.querySelectorAll('script').length"), 1)
        self.assertIn("<script>alert(1)</script>", self.ask("document.body.innerText"))

    def test_page_says_the_same_without_script(self):
        self.browser.open(self.page("sample"), 1280)
        text = self.ask("document.body.innerText")
        self.browser.ask("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.ask, "Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(self.page("sample"), 1280)
        self.assertIs(self.ask("document.querySelector('button').hidden"), True)
        without = self.ask("document.body.innerText")
        self.assertEqual(text.replace("Copy", "").split(), without.split())

    def test_copy_button_gives_the_configuration(self):
        self.browser.open(self.page("sample"), 1280)
        self.assertIs(self.ask("document.querySelector('button').hidden"), False)
        toml = self.ask("document.getElementById('toml').textContent")
        self.ask("navigator.clipboard.writeText = async text => { window.copied = text; }")
        self.ask("document.querySelector('button').click()")
        self.assertEqual(self.ask("window.copied"), toml)
        self.assertIn("[[filter]]", toml)


# Figures that the page shows: [name, value, text].
FIGURES = """
[...document.querySelectorAll("data[data-is]")].map(
  figure => [figure.dataset.is, figure.value, figure.textContent])
"""
# [low, echoes, height in pixels] of each column of the histogram.
COLUMNS = """
[...document.querySelectorAll("rect[data-low]")].map(column => [
  Number(column.dataset.low), Number(column.dataset.echoes),
  column.getBoundingClientRect().height])
"""
CELLS = """
[...document.querySelectorAll(".matrix tbody tr")].map(
  row => [...row.querySelectorAll("td")].map(cell => cell.textContent))
"""
PLOT_HEIGHT = 220


def density(each, resolution):
    """Return the copies of a bin for each tenth of a power of ten."""
    if each["low_ns"] == 0:
        return each["echoes"]
    low, high = each["low_ns"] - resolution / 2, each["high_ns"] - resolution / 2
    return each["echoes"] / (10 * math.log10(high / low))


class CommandPages(PageTest):
    """Pages of captures, as the command makes them."""

    @classmethod
    def setUpClass(cls):
        if not os.access(os.environ.get("UNECHO_BIN", ""), os.X_OK):
            raise unittest.SkipTest("UNECHO_BIN names no executable")
        super().setUpClass()

    def analyze(self, *captures):
        """Return the page and the --json report of the same run."""
        page = self.folder / "report.html"
        run = harness.unecho("analyze", *captures, "--html", page, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return page, json.loads(run.stdout)

    def assert_figures(self, report):
        figures = self.ask(FIGURES)
        for name, value, text in figures:
            given = report
            for step in name.split("."):
                given = given[int(step)] if isinstance(given, list) else given[step]
            self.assertEqual(int(value), given, name)
            shown, off = shown_value(text)
            self.assertLessEqual(abs(shown - given), off, (name, text))
        return {name for name, _, _ in figures}

    def assert_pictures(self, report):
        bins = report["ages"]["bins"]
        columns = self.ask(COLUMNS)
        self.assertEqual([[low, echoes] for low, echoes, _ in columns],
                         [[each["low_ns"], each["echoes"]] for each in bins])
        due = [density(each, report["ages"]["resolution_ns"]) for each in bins]
        highest = due.index(max(due))
        for (low, echoes, height), density_ in zip(columns, due):
            drawn = density_ / due[highest] * columns[highest][2]
            self.assertAlmostEqual(height, max(drawn, 1.5) if echoes else 0, delta=1, msg=low)
        self.assert_curve(report["windows"])

    def assert_curve(self, windows):
        """The steps of policy fixed are those of consecutive windows."""
        path = self.ask("document.querySelector('#windows path.curve').getAttribute('d')")
        steps = [(float(x), PLOT_HEIGHT - float(y))
                 for x, y in re.findall(r"[MH]([\d.]+)[ V]([\d.]+)", path)]
        rows = [row for row in windows if row["window_ns"] is not None]
        parts = [rows[i:i + len(steps)] for i in range(len(rows) - len(steps) + 1)]
        self.assertTrue(any(self.is_drawn(part, steps) for part in parts), steps)

    @staticmethod
    def is_drawn(rows, steps):
        ages = [math.log(row["window_ns"]) for row in rows]
        counts = [row["fixed_copied"]["packets"] for row in rows]
        return all(abs((age - ages[0]) * 1000 - x * (ages[-1] - ages[0])) < 0.5
                   and abs(count * steps[-1][1] - height * counts[-1]) < 0.02 * counts[-1]
                   for age, count, (x, height) in zip(ages, counts, steps))

    def assert_matrix(self, report):
        """Its rows and columns are those that contain anything."""
        size = len(report["interfaces"])
        rows = sorted({each["original"] for each in report["crossings"]})
        columns = sorted({each["echo"] for each in report["crossings"]})
        cells = [["0"] * len(columns) for _ in rows]
        for each in report["crossings"]:
            cells[rows.index(each["original"])][columns.index(each["echo"])] = "{:,}".format(
                each["echoes"]["packets"])
        self.assertEqual(self.ask(CELLS), cells if size > 1 else [])

    def check(self, *captures):
        page, report = self.analyze(*captures)
        self.assert_well_formed(page)
        self.assert_readable(page)
        names = self.assert_figures(report)
        text = self.ask("document.body.innerText")
        for path in captures:
            self.assertIn(path.name, text)
        if report["copied"]["packets"]:
            self.assertLessEqual({"copied.packets", "copied.bytes", "total.packets", "ages.p50_ns",
                                  "modes.1.recommended.lost.packets"}, names)
            self.assert_pictures(report)
            self.assert_matrix(report)
        toml = self.ask("(document.getElementById('toml') || {}).textContent")
        self.assertEqual(toml or "", report["recommendation"]["toml"])
        return report, text

    def test_two_taps(self):
        report, text = self.check(harness.PCAPS / "two-taps-a.pcap",
                                  harness.PCAPS / "two-taps-b.pcap")
        self.assertEqual(len(report["interfaces"]), 2)
        self.assertIn("Key flow-bidir would drop", text)

    def test_captures_without_echoes(self):
        report, text = self.check(harness.PCAPS / "flows.pcap")
        self.assertEqual(report["echoes"]["packets"], 0)
        self.assertIn("No copies.", text)

    def test_warnings_are_shown(self):
        report, text = self.check(harness.PCAPS / "cut.pcap")
        self.assertTrue(report["warnings"])
        for warning in report["warnings"]:
            self.assertIn(warning["text"], text)

    def test_real_captures_are_readable(self):
        captures = sorted((harness.SHARED / "captures").glob("*.pcap*"))
        if not captures:
            self.skipTest("there are no shared captures")
        # One width and colour scheme for each capture, in turn; together the captures cover all.
        for capture, look in zip(captures, itertools.cycle(LOOKS)):
            page, report = self.analyze(capture)
            self.assert_well_formed(page)
            self.assert_readable(page, looks=[look])
            self.assert_figures(report)


def main():
    if browser.find() is None:
        harness.skip("there is no Chromium")
    if not os.access(os.environ.get("UNECHO_REPORT_PAGES", ""), os.X_OK):
        harness.skip("UNECHO_REPORT_PAGES names no executable")
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
