#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of `unecho serve` in a real browser, with an invented server
(tests/support/monitor_stand_in.py): its figures against the JSON, how it follows changes, what
names can do to it, and how it looks.
"""
import itertools
import json
import math
import re
import sys
import time
import unittest
import urllib.request

import browser
import harness
from page_checks import (AREAS, COLOURS, OVERFLOWING, TEXTS, TOUCHING, Structure, contrast,
                         shown_value)

sys.path.insert(0, str(harness.ROOT / "tests" / "support"))
import monitor_stand_in  # noqa: E402
from monitor_stand_in import (ECHOES, HOSTILE, StandIn, a_filter, a_route,  # noqa: E402
                              finding, two_taps)

WIDTHS = (360, 768, 1280)
SHORT = 90  # seconds of history, if the length does not matter
TWO_MINUTES = 120  # enough for the audit to confirm the bound, and for one full minute
NS = 10**9

FIGURES = """
[...document.querySelectorAll("data[data-is]")].filter(each => !each.closest("[hidden]")).map(
  figure => [figure.dataset.is, figure.getAttribute("value"), figure.textContent])
"""
# Elements that scroll in a frame of their own may be wider than it.
FRAMES = """
[...document.querySelectorAll(".rows, .log")].filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => box.outerHTML.slice(0, 200))
"""
# Words of figures and notes that are broken amid a word. Names may be of any length.
BROKEN_WORDS = """
[...document.querySelectorAll("main :is(td, th, dt, dd, p, li, .entry), .sub")].flatMap(cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const out = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest(".name, [hidden], .aside, .cards thead")) {
      continue;
    }
    for (const {0: word, index} of node.data.matchAll(/[^\\s]+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (tops.size > 1 && !word.includes("-")) {
        out.push(word);
      }
    }
  }
  return out;
})
"""
FOCUSED = """
(() => {
  const element = document.activeElement;
  const style = getComputedStyle(element.matches("#ranges input") ? element.nextSibling : element);
  const box = element.getBoundingClientRect();
  return {what: element.id || element.getAttribute("aria-label") || element.textContent.trim(),
          tag: element.tagName, seen: style.outlineStyle !== "none" && box.width > 0,
          inside: box.bottom > 0 && box.top < innerHeight};
})()
"""


def own_filter(**more):
    return a_filter("campus", more={}, **more)


def one_link(seconds=SHORT, **more):
    out = monitor_stand_in.Appliance(
        "north", [a_route("campus", ["tap-a", "tap-b"], "tool", "campus")],
        [own_filter(**more)])
    return monitor_stand_in.with_hour(out, seconds)


def setUpModule():
    """One browser for all tests: it takes longer to start than most tests run."""
    MonitorPage.browser = browser.Browser(browser.find())
    unittest.addModuleCleanup(MonitorPage.browser.__exit__)


class MonitorPage(unittest.TestCase):
    browser = None

    def ask(self, expression):
        return self.browser.evaluate(expression)

    def wait(self, expression, what=None):
        return harness.wait_for(lambda: self.ask(expression), what or expression)

    def text(self, selector):
        return self.ask("document.querySelector(%s).textContent" % json.dumps(selector))

    def serve(self, appliances):
        server = StandIn(appliances)
        self.addCleanup(server.__exit__)
        return server

    def open(self, server, width=1280, dark=False, address="", live=True):
        """Open the page; return once it shows a state and the hour before."""
        server.asked.clear()
        self.browser.open("data:text/html,?://", width)
        self.browser.open(server.url + address, width, dark=dark)
        self.wait("document.body.dataset.state === 'live'")
        if live:
            self.wait("document.body.dataset.hour !== undefined", "the hour before")
            self.look(server)

    def look(self, server):
        """Take one more reading; return the state once the page shows it."""
        # Two readings within a millisecond would be one point on the time axis.
        time.sleep(0.002)
        state = server.look()
        self.wait("document.body.dataset.time >= %f" % (state["server"]["now_ns"] / 1e6 - 0.5),
                  "the last look")
        return state

    def assert_quiet(self, server):
        """Nothing failed in the page, and it sent no request elsewhere."""
        for event in ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"):
            self.assertEqual(self.browser.events(event), [], event)
        addresses = {event["request"]["url"]
                     for event in self.browser.events("Network.requestWillBeSent")}
        self.assertEqual([each for each in addresses
                          if not each.startswith((server.url, "data:"))], [])


# ---- what it shows ------------------------------------------------------------------------------

def step_into(given, path):
    for step in path:
        given = given[int(step)] if isinstance(given, list) else given[step]
    return given


class Expected:
    """Expected figures by their path, from two states of an appliance."""

    def __init__(self, before, now):
        self.before, self.now = before, now
        self.seconds = (now["info"]["uptime_ns"] - before["info"]["uptime_ns"]) / NS

    def __call__(self, path):
        steps = path.split(".")
        if steps[0] == "now":
            return self.rate(steps[1:])
        if steps[0] == "sum":
            return self.total(steps[1:])
        if steps[0] == "drops":
            return self.drops(self.now, steps[1])
        if steps[-1] == "echoes" and steps[0] == "routes":
            return sum(self.now["routes"][int(steps[1])]["reasons"][each] for each in ECHOES)
        if steps[-1] == "fill":
            filter_ = step_into(self.now, steps[:-1])
            return filter_["fill"] / filter_["planned_fill"]
        if steps[-1] == "lost":
            return self.port_loss(self.now["ports"][int(steps[1])])
        return step_into(self.now, steps)

    @staticmethod
    def drops(state, name):
        return (state["reasons"][name] if name in state["reasons"]
                else sum(port[name] for port in state["ports"]))

    @staticmethod
    def port_loss(port):
        return port["rx_missed"] + port["rx_no_mbuf"]

    def total(self, steps):
        if steps == ["lost"]:
            return (sum(map(self.port_loss, self.now["ports"]))
                    + self.now["reasons"]["tx_lost"] + self.now["reasons"]["stopped"])
        return sum(each["audit"][steps[0]][steps[1]] for each in self.now["filters"])

    def grown(self, pick):
        return pick(self.now) - pick(self.before)

    def rate(self, steps):
        def echoes(item):
            return sum(item["reasons"][each] for each in ECHOES)
        if steps == ["share"]:
            return self.grown(echoes) / self.grown(lambda each: each["counters"]["received"])
        if len(steps) == 1:
            return self.grown(lambda each: each["counters"][steps[0]]) / self.seconds
        if steps[0] == "drops":
            return self.grown(lambda each: self.drops(each, steps[1])) / self.seconds
        kind, at, name = steps

        def item(each):
            return each[kind][int(at)]
        if name == "share":
            return (self.grown(lambda each: echoes(item(each)))
                    / self.grown(lambda each: item(each)["received"]))
        if name == "busy":
            busy = self.grown(lambda each: item(each)["busy_ns"])
            return busy / (busy + self.grown(lambda each: item(each)["idle_ns"]))
        member = {"rx": "rx_packets", "tx": "tx_packets",
                  "received": "rx_packets" if kind == "workers" else "received"}[name]
        return self.grown(lambda each: item(each)[member]) / self.seconds


class Figures(MonitorPage):
    def check(self, server):
        before = self.look(server)["appliances"][0]
        now = self.look(server)["appliances"][0]
        expected, seen = Expected(before, now), set()
        for path, value, text in self.ask(FIGURES):
            due = expected(path)
            self.assertAlmostEqual(float(value), due, delta=abs(due) * 1e-9, msg=path)
            self.assert_text(path, text, due)
            seen.add(re.sub(r"\d+", "N", path))
        return seen, now

    def assert_text(self, path, text, due):
        plain = text.replace("\N{NO-BREAK SPACE}", " ")
        match = re.fullmatch(r"([\d.,]+(?:e-\d+)?) ?(%|[kMGT]?(?:pps)?)", plain)
        if match is None:
            if plain == "\N{EN DASH}":
                return self.assertEqual(due, 0, path)
            shown, off = shown_value(text)
            return self.assertLessEqual(abs(shown - due), off, (path, text))
        scale = {"%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(match[2][:1], 1)
        shown = float(match[1].replace(",", "")) * scale
        # A percentage has one digit after the point; others have three significant digits.
        off = max(0.0006 if match[2] == "%" else 0.0051 * due, 0.051 if "e-" in plain else 0)
        self.assertLessEqual(abs(shown - due), off, (path, text))
        return None

    def test_figures_are_those_of_the_state(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        seen, now = self.check(server)
        for path in ("sum.false_drops.count", "sum.misses.count", "sum.lost", "now.share",
                     "now.forwarded", "now.diverted", "now.dropped", "routes.N.received",
                     "now.routes.N.received", "now.routes.N.share", "routes.N.echoes",
                     "now.ports.N.rx", "now.ports.N.tx", "ports.N.lost",
                     "filters.N.audit.false_drops.count", "filters.N.audit.misses.count", "filters.N.achieved_window_ns",
                     "filters.N.predicted_false_drop", "filters.N.fill", "filters.N.shifts",
                     "filters.N.evicted_early", "now.workers.N.received",
                     "now.workers.N.busy", "workers.N.stalls",
                     "drops.echo", "drops.tx_lost", "drops.rx_missed", "now.drops.echo",
                     "now.drops.rx_no_mbuf",
                     "workers.N.longest_gap_ns", "filters.N.audit.causes.routed",
                     "paths.N.loss.rate", "paths.N.delay.median_ns"):
            self.assertIn(path, seen)
        self.assertEqual(now["counters"]["received"],
                         sum(now["counters"][fate] for fate in monitor_stand_in.FATES))
        self.assert_quiet(server)

    def test_figures_of_what_sites_share(self):
        root = {"name": "flows", "applies": True, "asked": 1_234_567, "not_asked": 12, "learned": 9_000,
                "late": 9_321, "known": 9_001, "unknown": 1_200_000, "no_room": 0, "doubted": 3,
                "unanswered": 25_566, "untold": 1, "batches": 20_000, "redirected": 4,
                "longest_round_trip": 22_900_000, "masters": 3, "answering": 2}
        server = self.serve([two_taps(seconds=SHORT, more={"root": root})])
        self.open(server)
        seen, _ = self.check(server)
        for name in ("answering", "asked", "known", "unanswered", "longest_round_trip"):
            self.assertIn("filters.N.root." + name, seen)
        text = self.ask("document.querySelector('#roots tbody').innerText")
        for words in ("root flows", "of 3", "12 not asked", "passed before the answer", "3 doubted"):
            self.assertIn(words, text.replace("\N{NO-BREAK SPACE}", " "))
        self.assertEqual(self.ask("document.querySelectorAll('#roots tbody tr').length"), 1)
        self.assert_quiet(server)

    def test_nothing_is_said_of_what_is_not_shared(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        self.check(server)
        self.assertTrue(self.ask("document.querySelector('#roots').hidden"))

    def test_paths_with_traffic_are_shown(self):
        appliance = two_taps(seconds=SHORT)
        appliance.findings = [finding("path-loss", "warning", "path tap-a>tap-b", "x", "y.")]
        server = self.serve([appliance])
        self.open(server)
        path = self.look(server)["appliances"][0]["paths"][0]
        rows = [row.replace("\N{NO-BREAK SPACE}", " ") for row in self.ask(
            "[...document.querySelectorAll('#paths tbody tr')].map(row => row.innerText)")]
        self.assertEqual(len(rows), 3, "nothing went from the mirror to tap-a")
        for words in ("tap-a \N{RIGHTWARDS ARROW} tap-b", "filter campus, as stated", "bound 0.10 %",
                      "{:,} of".format(path["missing"]), "99 % within 1.26 ms, longest 7.2 ms",
                      "0.20 % above 1 ms", "ttl 100 %", "dscp 8.00 %", "at most 0."):
            self.assertIn(words, rows[0])
        self.assertIn("nothing", rows[1])
        self.assertIn("no bound", rows[2])
        tones = self.ask("[...document.querySelectorAll('#paths svg.interval')].map("
                         "each => each.getAttribute('class').trim())")
        self.assertEqual((tones[0], tones[2]), ("interval wrong", "interval"))
        self.assert_quiet(server)

    def test_nothing_is_said_of_paths_where_there_are_none(self):
        server = self.serve([one_link()])
        self.open(server)
        self.assertTrue(self.ask("document.querySelector('#paths').hidden"))

    def test_figures_of_thirty_two_of_each(self):
        server = self.serve([monitor_stand_in.many(seconds=SHORT)])
        self.open(server)
        self.check(server)
        for kind in ("ports", "routes", "filters", "workers"):
            rows = "document.querySelectorAll('#%s tbody tr').length" % kind
            self.assertEqual(self.ask(rows), 32, kind)
        self.assert_quiet(server)

    def test_pictures_are_those_of_the_state(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        state = self.look(server)["appliances"][0]
        filters = [each["audit"] for each in state["filters"]]
        self.assert_ages(filters[0]["ages"])
        self.assert_crossings(filters[0]["crossings"])
        self.assert_intervals(filters)
        # The other filter, once it is selected.
        self.ask("(() => { const picker = document.getElementById('filter-picker');"
                 "picker.value = 'edge'; picker.dispatchEvent(new Event('change')); })()")
        self.assert_ages(filters[1]["ages"])
        self.assert_crossings(filters[1]["crossings"])

    def assert_ages(self, ages):
        ages = [each for each in ages if each["packets"]]
        columns = self.ask("[...document.querySelectorAll('#echoes rect.in')].map(column => ["
                           "Number(column.dataset.from), Number(column.dataset.packets),"
                           "column.getBoundingClientRect().height, "
                           "column.getBoundingClientRect().x])")
        self.assertEqual([[each["from_ns"], each["packets"]] for each in ages],
                         [column[:2] for column in columns])
        highest = max(columns, key=lambda column: column[1])
        first, last = columns[0], columns[-1]
        for start, packets, height, left in columns:
            self.assertAlmostEqual(height, max(packets / highest[1] * highest[2], 1.5), delta=0.1)
            part = math.log(start / first[0]) / math.log(last[0] / first[0])
            self.assertAlmostEqual(left, first[3] + part * (last[3] - first[3]), delta=0.5)

    def assert_crossings(self, crossings):
        shown = self.ask("[...document.querySelectorAll('#crossings tbody tr')].map(row =>"
                         "[...row.cells].map(cell => cell.textContent))")
        due = sorted(([each["first"], each["repeated"], "{:,}".format(each["packets"])]
                      for each in crossings if each["packets"]),
                     key=lambda row: -int(row[2].replace(",", "")))
        self.assertEqual(shown, due)
        ribbons = self.ask("[...document.querySelectorAll('.ribbon')].map(ribbon =>"
                           "Number(ribbon.dataset.packets))")
        self.assertEqual(sorted(ribbons), sorted(each["packets"] for each in crossings))

    def assert_intervals(self, audits):
        """Ends and bounds are where the scale above them says."""
        scale = [int(each[2:]) for each in self.ask(
            "[...document.querySelectorAll('#audit .scale span')].map(span => span.textContent)")]
        drawn = self.ask("[...document.querySelectorAll('#audit svg.interval')].map(picture => ["
                         "picture.querySelector('.range').getAttribute('x1'),"
                         "picture.querySelector('.range').getAttribute('x2'),"
                         "picture.querySelector('.bound').getAttribute('x1')].map(parseFloat))")
        order = ("broken", "open", "held")
        audits = sorted(audits, key=lambda audit: order.index(audit["false_drops"]["verdict"]))
        for (left, right, bound), audit in zip(drawn, audits, strict=True):
            found = audit["false_drops"]
            for at, rate in ((left, found["low"]), (right, found["high"]), (bound, found["bound"])):
                due = (math.log10(rate) - scale[0]) / (scale[-1] - scale[0]) * 100 if rate else 0
                self.assertAlmostEqual(at, min(100, max(0, due)), delta=0.02)

    def test_the_past_is_that_of_the_history(self):
        """Values at the cursor are means of the history."""
        server = self.serve([two_taps(seconds=1200)])
        self.open(server)
        history = json.load(urllib.request.urlopen(
            server.url + "api/v1/history?name=north&seconds=3600"))
        self.ask("document.querySelector('#ranges input').click()")  # 5 min: buckets of one second
        slider = "document.querySelector('#traffic .plot[role=slider]')"
        self.ask(slider + ".focus()")
        self.browser.press("Home", 36)
        for _ in range(3):
            self.browser.press("PageDown", 34)
        said = self.ask(slider + ".getAttribute('aria-valuetext')").replace(
            "\N{NO-BREAK SPACE}", " ")
        clock, forwarded = re.match(r"([\d:]+)(?: UTC| \([\d:]+ UTC\)): forwarded ([\d.]+) kpps",
                                    said).groups()
        near = [value / 1000 for when, value in zip(history["times_ms"],
                                                    history["totals"]["forwarded"])
                if time.strftime("%H:%M:%S", time.localtime(when / 1000)) == clock]
        self.assertTrue(any(abs(value - float(forwarded)) <= 0.0051 * value for value in near),
                        (said, near))
        self.browser.press("Escape", 27)
        self.assertEqual(self.text(".legend .when"), "Now")


def audited():
    return one_link(TWO_MINUTES)


DARK = finding("link-down", "warning", "port tap-a", "The link of port tap-a is down",
               "Check the cable.")
SHORT_WINDOW = finding("window-short", "warning", "filter campus", "Filter campus keeps 20 ms",
                       "Raise its rate.")


# {what: (appliance, its change after the hour before, title, tones of boxes)}
HEADLINES = {
    "all is well": (audited, None, "All is well.", {0: "good", 1: "good", 2: "good", 3: "echo"}),
    "not sure yet": (lambda: one_link(20), None, "All is well.", {0: "unsure"}),
    "bound broken": (audited, lambda it: it.audits["campus"].update(
        false_drops=it.audits["campus"]["new"] // 100_000), "All is well.", {0: "wrong"}),
    "copies missed": (audited, lambda it: setattr(it, "missed", 0.01), "All is well.",
                      {1: "wrong"}),
    "no bound": (lambda: one_link(TWO_MINUTES, bound=None), None, "All is well.", {0: "good"}),
    "losses of long ago": (audited, lambda it: it.ports["tap-b"].update(rx_missed=7),
                           "All is well.", {2: "quiet"}),
    "losses": (audited, lambda it: setattr(it, "findings", [
        finding("rx-missed", "warning", "port tap-b", "Port tap-b lost 7 packets", "Add lcores.")]),
        "Rx missed.", {2: "wrong"}),
    "audit is off": (lambda: one_link(audit=False), None, "All is well.", {0: "quiet", 1: "quiet"}),
}


LEAD_LINK = "document.querySelector('#answer .lead a:not([hidden])')?.getAttribute('href')"


class Answers(MonitorPage):
    """The headline is what the server says; the page judges nothing."""

    def headline(self, appliances, change=None):
        server = self.serve(appliances)
        self.open(server)
        if change:
            change(server.appliances[0])
            self.look(server)
        title = self.text("h1")
        tones = self.ask(
            "[...document.querySelectorAll('.answer > div')].map(each => each.className)")
        lead = self.text("#answer .lead")
        self.assertTrue(self.ask("document.title").startswith(title))
        self.latest = self.ask("document.body.innerText")
        server.stop()
        server.ended = True
        return title, tones, lead

    def test_each_finding_has_its_headline(self):
        for what, (appliance, change, title, tones) in HEADLINES.items():
            with self.subTest(what):
                said, shown, _ = self.headline([appliance()], change)
                self.assertEqual(said, title)
                self.assertEqual({at: shown[at] for at in tones}, tones)
                self.assertNotIn("undefined", self.latest)

    def test_all_that_is_wrong_is_listed(self):
        """Each with its remedy and a link into the runbook."""
        server = self.serve([one_link(SHORT)])
        self.open(server)
        self.assertTrue(self.ask("document.querySelector('#findings').hidden"))
        known = {**SHORT_WINDOW, "acknowledged": True}
        dark = {**DARK, "since_ns": int((time.time() - 70) * NS)}
        server.appliances[0].findings = [dark, known]
        self.look(server)
        self.assertEqual(self.text("h1"), "Link down.")
        self.assertRegex(self.text("#answer .lead"), r"^The link of port tap-a is down\. Check the "
                         r"cable\. Since [\d:]+(\sUTC| \([\d:]+\sUTC\)), \d+.min ago\. link-down$")
        self.assertEqual(self.ask(LEAD_LINK), "runbook#link-down")
        items = self.ask("[...document.querySelectorAll('#findings li')].map(item => ["
                         "item.className, item.textContent, "
                         "item.querySelector('a').getAttribute('href')])")
        self.assertEqual([(css, link) for css, _, link in items],
                         [("quiet", "runbook#window-short")])
        self.assertRegex(items[0][1],
                         r"^Acknowledged: Filter campus keeps 20 ms\. Raise its rate\.")
        self.assertEqual(self.ask("document.querySelectorAll('#appliances .dot.unsure').length"), 1)
        # Only what the server says is shown as wrong.
        self.assertEqual(self.ask("document.querySelectorAll('#filters .meter.wrong').length"), 1)
        server.appliances[0].findings = []
        self.look(server)
        self.assertEqual(self.text("h1"), "All is well.")
        self.assertIsNone(self.ask(LEAD_LINK))
        self.assertEqual(self.ask("document.querySelectorAll('#filters .meter.wrong').length"), 0)
        self.assert_quiet(server)

    def test_losses_are_those_that_the_server_counts(self):
        """Not a sum of rates, which gave more in a minute than since the start."""
        server = self.serve([one_link(SHORT)])
        self.open(server)
        server.appliances[0].ports["tap-b"]["rx_missed"] = 13_974
        server.appliances[0].lost = 13_974
        self.look(server)
        self.assertIn("13,974 in the last 5\N{NO-BREAK SPACE}min; since the start missed by ports: "
                      "tap-b 13,974", self.ask("document.querySelectorAll('.answer .small')[2]"
                                               ".textContent"))

    def test_the_runbook_has_each_section(self):
        page, policy = monitor_stand_in.join_page.runbook()
        self.assertIn('<h2 id="link-down">link-down</h2>', page)
        self.assertEqual(page.count("<h2 "), (harness.ROOT / "docs" / "runbook.md").read_text(
            encoding="utf-8").count("\n## "))
        self.assertNotIn("](", page)
        self.assertIn("default-src 'none'", policy)

    def test_nobody_runs(self):
        server = self.serve([])
        self.open(server, live=False)
        self.look(server)
        self.assertEqual(self.text("h1"), "No appliance is running.")
        self.assertIs(self.ask("document.querySelector('.known').checkVisibility()"), False)
        server.appliances.append(one_link())
        self.look(server)
        self.assertIs(self.ask("document.querySelector('.known').checkVisibility()"), True)


# ---- how it follows -----------------------------------------------------------------------------

class Following(MonitorPage):
    def setUp(self):
        self.server = self.serve([two_taps(seconds=SHORT)])
        self.open(self.server)
        self.ask("window.marked = true")

    def tearDown(self):
        self.assertIs(self.ask("window.marked"), True, "the page was loaded anew")

    def wait_for_title(self, words):
        return self.wait("document.querySelector('h1').textContent === %s" % json.dumps(words))

    def test_updates_come_without_asking(self):
        for _ in range(3):
            self.look(self.server)
        self.assertEqual([path for path in self.server.asked if path != "/api/v1/history"],
                         ["/", "/api/v1/stream"])
        self.assertEqual(self.ask("document.body.dataset.how"), "stream")
        self.assert_quiet(self.server)

    def test_server_goes_and_comes_back(self):
        self.look(self.server)
        self.server.stop()
        self.wait_for_title("The server does not answer.")
        self.assertIn("no answer from the server", self.text("#live"))
        self.assertEqual(self.ask("document.body.dataset.state"), "unreachable")
        self.server.asked.clear()
        self.server.start()
        self.wait("document.body.dataset.state === 'live'")
        self.look(self.server)
        self.wait_for_title("All is well.")

    def test_asks_where_there_is_no_stream(self):
        self.server.streams = False
        self.server.look()
        self.wait("document.body.dataset.how === 'asked'")
        self.look(self.server)
        self.server.streams = True
        self.wait("document.body.dataset.how === 'stream' || !document.body.dataset.how")

    def test_asks_where_the_stream_is_held_back(self):
        self.server.mute = True
        self.server.look()
        self.wait("document.body.dataset.how === 'asked'")
        self.assertEqual(self.ask("document.body.dataset.state"), "live")
        self.server.mute = False

    def test_appliance_restarts(self):
        self.server.appliances[0].restart()
        before = self.look(self.server)["appliances"][0]
        now = self.look(self.server)["appliances"][0]
        rates = dict((path, float(value)) for path, value, _ in self.ask(FIGURES) if value)
        self.assertEqual(rates["routes.0.received"], now["routes"][0]["received"])
        self.assertAlmostEqual(rates["now.forwarded"], Expected(before, now)("now.forwarded"),
                               delta=1)
        self.assertTrue(all(value >= 0 for value in rates.values()))
        self.assertIn("started", self.text("#events li"))

    def test_appliance_goes_and_comes_back(self):
        appliance = self.server.appliances[0]
        told = self.text("#routes data.sub")
        for state, problem, words in (
                ("gone", "", "Down."), ("silent", "does not answer within 1.5 s", "Down.")):
            appliance.leave(state, problem)
            self.look(self.server)
            self.assertEqual(self.text("h1"), words)
            self.assertIn("The appliance is " + state, self.text("#answer .lead"))
            self.assertIn("said last", self.text("#answer .lead"))
            self.assertEqual(self.text("#routes data.sub"), told)
            self.assertIn(state, self.text("#appliances a"))
            self.assertEqual(self.ask("document.body.dataset.state"), "live")
        appliance.restart()
        self.look(self.server)
        self.look(self.server)
        self.assertNotEqual(self.ask("document.querySelector('h1').className"), "bad")


class Presence(MonitorPage):
    """Appliances that are not there."""

    def open_at(self, name, **more):
        server = self.serve([two_taps(seconds=SHORT), *(more.get("others") or [])])
        server.changes = more.get("changes", True)
        server.look()
        self.open(server, address="#appliance=" + name, live=False)
        self.look(server)
        return server

    def is_seen(self, selector):
        return self.ask("document.querySelector(%s).checkVisibility()" % json.dumps(selector))

    def test_one_that_is_expected_and_never_came(self):
        server = self.open_at("west", others=[monitor_stand_in.never_came("west")])
        self.assertEqual(self.text("h1"), "Absent.")
        self.assertIn("is expected, and has not answered since this server started. Start it.",
                      self.text("#answer .lead"))
        self.assertNotIn("said last", self.text("#answer .lead"))
        self.assertEqual(self.ask(LEAD_LINK), "runbook#absent")
        self.assertIn("west, absent", self.text("#appliances"))
        self.assertEqual(self.ask("document.querySelectorAll('#appliances .dot.wrong').length"), 1)
        self.assertIs(self.is_seen(".known"), False)
        self.assertIs(self.is_seen("#presence"), False)
        self.assertNotIn("undefined", self.ask("document.body.innerText"))
        self.assert_quiet(server)

    def test_one_that_is_gone_can_be_forgotten_unless_it_is_expected(self):
        others = [monitor_stand_in.gone("south", expected=False),
                  monitor_stand_in.gone("east", expected=True)]
        server = self.open_at("south", others=others)
        self.assertIs(self.is_seen("#presence button"), True)
        self.assertIn("forgets it at", self.text("#presence"))
        server.refusal = "a reason"
        self.ask("document.querySelector('#presence button').click()")
        self.wait("document.querySelector('#presence').textContent.includes("
                  "'Not forgotten: a reason.')")
        server.refusal = ""
        self.ask("document.querySelector('#presence button').click()")
        harness.wait_for(lambda: len(server.appliances) == 2, "that it is forgotten")
        self.look(server)
        self.assertNotIn("south", self.text("#appliances"))
        self.ask("location.hash = '#appliance=east'")
        self.wait("document.querySelector('h1').textContent === 'Down.'")
        self.assertIn("The appliance is gone", self.text("#answer .lead"))
        self.assertIn("expects it to run", self.text("#presence"))
        self.assertIs(self.is_seen("#presence button"), False)

    def test_no_button_where_the_server_accepts_no_change(self):
        self.open_at("south", others=[monitor_stand_in.gone("south", expected=False)],
                     changes=False)
        self.assertIs(self.is_seen("#presence"), True)
        self.assertIs(self.is_seen("#presence button"), False)


class Several(MonitorPage):
    def test_each_by_its_name(self):
        south = monitor_stand_in.quiet("south & co")
        server = self.serve([two_taps(seconds=SHORT), south])
        self.open(server)
        names = "[...document.querySelectorAll('#appliances a')].map(a => a.textContent)"
        self.assertEqual(self.ask(names), ["north", "south & co"])
        self.assertEqual(self.text("#appliances [aria-current]"), "north")
        self.ask("document.querySelectorAll('#appliances a')[1].click()")
        self.wait("document.querySelector('h1').textContent === 'No traffic.'")
        self.assertEqual(self.text("#appliances [aria-current]"), "south & co")
        self.assertEqual(self.ask("location.hash"), "#appliance=south+%26+co")
        # The address leads to the same appliance again.
        self.open(server, address="#appliance=south+%26+co")
        self.assertEqual(self.text("#appliances [aria-current]"), "south & co")

    def test_trouble_of_another_is_seen(self):
        server = self.serve([two_taps(seconds=SHORT), two_taps("south", seconds=SHORT)])
        self.open(server)
        server.appliances[1].leave("gone", "")
        self.look(server)
        self.assertEqual(self.ask("document.querySelectorAll('#appliances .dot.wrong').length"), 1)
        self.assertEqual(self.text("#appliances [aria-current]"), "north")
        self.assertIn("south, gone", self.text("#appliances"))


# ---- what names can do --------------------------------------------------------------------------

class Hostile(MonitorPage):
    def test_names_are_text(self):
        server = self.serve([monitor_stand_in.hostile(None)])
        self.open(server)
        self.assertIn(HOSTILE, self.ask("document.body.innerText"))
        self.assertEqual(self.ask("document.querySelectorAll('script').length"), 1)
        self.assertEqual(self.ask("document.querySelectorAll('body img, body iframe').length"), 0)
        self.assertIsNone(self.ask("window.hurt"))
        self.assertIn(HOSTILE, self.ask("document.title"))
        self.assertEqual(self.ask("document.querySelectorAll('#routes tbody tr').length"), 6)
        self.assert_quiet(server)

    def test_policy_allows_nothing_else(self):
        server = self.serve([one_link()])
        self.open(server)
        policy = urllib.request.urlopen(server.url).headers["Content-Security-Policy"]
        self.assertNotIn("unsafe", policy)
        for part in ("default-src 'none'", "connect-src 'self'", "base-uri 'none'",
                     "require-trusted-types-for 'script'"):
            self.assertIn(part, policy)
        # The browser refuses HTML written by scripts, and foreign scripts.
        self.assertEqual(self.ask("""(() => {
            try { document.body.innerHTML = "x"; } catch (error) { return error.name; } })()"""),
                         "TypeError")
        self.assertEqual(self.ask("""new Promise(done => {
            addEventListener("securitypolicyviolation", event => done(event.effectiveDirective));
            const image = new Image(); image.src = "http://127.0.0.1:1/"; })"""), "img-src")


# ---- how it looks -------------------------------------------------------------------------------

class Looks(MonitorPage):
    def test_every_width_and_theme(self):
        scenarios = {"running": two_taps(seconds=1200), "broken": monitor_stand_in.broken(),
                     "many": monitor_stand_in.many(seconds=30),
                     "hostile": monitor_stand_in.hostile(seconds=30)}
        for (name, appliance), width, dark in itertools.product(scenarios.items(), WIDTHS,
                                                                (False, True)):
            if dark and name != "running":
                continue  # colours do not change sizes
            with self.subTest(name=name, width=width, dark=dark), StandIn([appliance]) as server:
                self.open(server, width, dark)
                self.assertEqual(self.ask("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.ask(OVERFLOWING), [])
                self.assertEqual(self.ask(TOUCHING), [])
                self.assertEqual(self.ask(FRAMES), [])
                self.assert_quiet(server)

    def test_no_word_is_broken_on_a_phone(self):
        appliance = two_taps(seconds=SHORT)
        for port in appliance.ports.values():
            port.update(rx_missed=99_999, rx_no_mbuf=12_345_678, rx_errors=1_204, tx_errors=77)
        server = self.serve([appliance])
        for width in (360, 390):
            self.open(server, width)
            self.assertIn("rx missed 99,999", self.text("#ports tbody"))
            self.assertEqual(self.ask(BROKEN_WORDS), [], width)

    def test_every_state_fits_a_phone(self):
        for state in ("gone", "silent", "absent", "nobody"):
            appliance = one_link()
            appliance.leave(state, "does not answer within 1.5 s")
            with self.subTest(state), StandIn([] if state == "nobody" else [appliance]) as server:
                self.open(server, 360, live=False)
                self.assertEqual(self.ask("document.documentElement.scrollWidth"), 360)
                self.assertEqual(self.ask(OVERFLOWING), [])
                server.stop()
                self.wait("document.body.dataset.state === 'unreachable'")
                self.assertEqual(self.ask("document.documentElement.scrollWidth"), 360)
                self.assertEqual(self.ask(OVERFLOWING), [])

    def test_nothing_jumps(self):
        server = self.serve([two_taps(seconds=SHORT)])
        for width in (360, 1280):
            self.open(server, width)
            self.look(server)
            self.ask("""window.shifts = []; new PerformanceObserver(list => {
                for (const entry of list.getEntries()) { window.shifts.push(
                  [entry.value, ...entry.sources.map(({node}) => (node?.outerHTML
                    ?? node?.textContent ?? "").slice(0, 160))]); }
            }).observe({type: "layout-shift"})""")
            for pace in (1, 1.7, 0.2, 12, 1):
                server.appliances[0].pace = pace
                self.look(server)
            self.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
            self.assertEqual(self.ask("window.shifts"), [], width)

    def test_colours_have_contrast(self):
        server = self.serve([one_link()])
        for dark in (False, True):
            self.open(server, dark=dark)
            colours = self.ask(COLOURS)
            own = self.ask(COLOURS.replace('"--page"',
                                           '"--fine", "--aside", "--on-lost", "--page"'))
            self.assertEqual(contrast(colours["--page"], (255, 255, 255)) > 15, dark)
            for name, ground, least in (
                    [(t, g, 4.5) for t in (*TEXTS, "--fine") for g in ("--page", "--panel")]
                    + [(a, "--page", 3) for a in (*AREAS, "--fine", "--aside")]
                    + [("--on-lost", "--lost", 4.5)]):
                self.assertGreaterEqual(contrast(own[name], own[ground]), least,
                                        (name, ground, dark))

    def test_is_what_the_program_holds(self):
        """The arrays in the built source equal page and runbook with their policies, by bytes."""
        join_page = monitor_stand_in.join_page
        arrays = re.findall(r"constexpr char \w+\[\] = \{([^}]*)\}", join_page.source())
        self.assertEqual([bytes(int(each) % 256 for each in array.split(",")).decode()
                          for array in arrays],
                         [*join_page.page(), *join_page.runbook()])

    def test_is_well_formed(self):
        structure = Structure(monitor_stand_in.join_page.page()[0])
        self.assertEqual(structure.problems, [])
        self.assertEqual([link for link in structure.links if not link.startswith("data:")],
                         ["api/v1/state", "metrics"])


class TimeAxis(MonitorPage):
    def test_fates_stand_on_one_another(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        history = json.load(urllib.request.urlopen(
            server.url + "api/v1/history?name=north&seconds=3600"))["totals"]
        top = self.ask("[...document.querySelectorAll('#traffic .plot g text')].map("
                       "text => text.textContent).filter(text => text.endsWith('pps')).pop()")
        number, unit = top.split("\N{NO-BREAK SPACE}")
        top = float(number) * {"kpps": 1e3, "Mpps": 1e6}[unit]
        below = [0] * len(history["forwarded"])
        for fate in ("forwarded", "diverted", "dropped"):
            below = [one + (other or 0) for one, other in zip(below, history[fate])]
            path = self.ask("document.querySelector('.area.tone-%s').getAttribute('d')" % fate)
            # Readings in this test are closer together than a second, so a second holds several.
            highest = 1 - min(float(y) for y in re.findall(r"V([\d.]+)", path)) / 200
            due = max(below[:SHORT - 1]) / top
            self.assertAlmostEqual(highest, due, delta=0.03 * due, msg=fate)

    def test_bits_are_those_of_all_ports(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        ports = json.load(urllib.request.urlopen(
            server.url + "api/v1/history?name=north&seconds=3600"))["ports"].values()
        top = self.ask("[...document.querySelectorAll('#traffic .plot g text')].map("
                       "text => text.textContent).filter(text => text.endsWith('bit/s')).pop()")
        number, unit = top.split("\N{NO-BREAK SPACE}")
        top = float(number) * {"Mbit/s": 1e6, "Gbit/s": 1e9}[unit]
        for tone, member in (("in", "rx_bytes"), ("out", "tx_bytes")):
            path = self.ask("document.querySelector('.curve.tone-%s').getAttribute('d')" % tone)
            highest = 1 - (min(float(y) for y in re.findall(r"V([\d.]+)", path)) - 0.5) / 96
            due = max(8 * sum(each) for each in zip(*[port[member][:SHORT - 1] for port in ports]))
            self.assertAlmostEqual(highest, due / top, delta=0.03 * due / top, msg=tone)

    def test_times_are_local_with_utc_beside_them(self):
        self.addCleanup(self.browser.ask, "Emulation.setTimezoneOverride", timezoneId="")
        server = self.serve([two_taps(seconds=SHORT)])
        for zone, offset in (("Asia/Kolkata", 19_800), ("UTC", 0)):
            self.browser.ask("Emulation.setTimezoneOverride", timezoneId=zone)
            self.open(server)
            event = self.look(server)["appliances"][0]["events"][-1]["unix_ns"] // NS
            utc = time.strftime("%H:%M:%S UTC", time.gmtime(event))
            local = time.strftime("%H:%M:%S", time.gmtime(event + offset))
            shown = self.text("#events time").replace("\N{NO-BREAK SPACE}", " ")
            self.assertIn(utc, shown)
            self.assertIn(local, shown)
            self.assertEqual(shown.count(":"), 4 if offset else 2, "the same time once only")
            labels = self.ask("[...document.querySelectorAll('#traffic .plot:last-of-type text')]"
                              ".map(text => text.textContent)")
            hours = [label for label in labels if re.fullmatch(r"\d\d:\d\d", label)]
            self.assertTrue(hours)
            if offset:
                for one, other in zip(hours[::2], hours[1::2]):
                    minutes = [int(each[:2]) * 60 + int(each[3:]) for each in (one, other)]
                    self.assertEqual((minutes[0] - minutes[1]) % 1440, offset // 60)
            self.assertEqual(self.ask(TOUCHING), [])

    def test_axis_has_room_for_what_is_known(self):
        for seconds, shown in ((SHORT, "300"), (600, "900"), (1200, "3600")):
            server = self.serve([one_link(seconds)])
            self.open(server)
            self.assertEqual(self.ask("document.querySelector('#ranges input:checked').value"),
                             shown)

    def test_samples_that_come_late_leave_no_gap(self):
        """Samples without data do leave one: the appliance was gone for a minute."""
        appliance = one_link(200)
        appliance.history = [(when + 0.4 * (i % 3), rates if not 60 < i < 120 else None)
                             for i, (when, rates) in enumerate(appliance.history)]
        server = self.serve([appliance])
        self.open(server)
        path = self.ask("document.querySelector('.area.tone-forwarded').getAttribute('d')")
        self.assertEqual(path.count("M"), 2)


class Keyboard(MonitorPage):
    def test_all_can_be_reached(self):
        server = self.serve([two_taps(seconds=SHORT), two_taps("south", seconds=SHORT)])
        self.open(server)
        stops = []
        for _ in range(30):
            self.browser.press("Tab", 9)
            at = self.ask(FOCUSED)
            if at["tag"] == "BODY":
                break
            self.assertTrue(at["seen"] and at["inside"], at)
            stops.append(at["what"])
        self.assertEqual(stops, [
            "Skip to the answer", "north", "south", "5 min" if "5 min" in stops else stops[3],
            "Time in the picture of packets a second", "Events", "filter-picker", "As a table",
            "/api/v1/state", "/metrics"])

    def test_keys_choose(self):
        server = self.serve([two_taps(seconds=SHORT)])
        self.open(server)
        self.ask("document.querySelector('#ranges input:checked').focus()")
        self.browser.press("ArrowRight", 39)
        self.assertEqual(self.ask("document.querySelector('#ranges input:checked').value"), "900")
        self.browser.press("Tab", 9)
        self.browser.press("ArrowLeft", 37)
        self.assertRegex(self.text(".legend .when"), r"^[\d:]+(\sUTC| \([\d:]+\sUTC\))$")
        self.assertEqual(self.ask("document.querySelector('.cursor').getAttribute('visibility')"),
                         "visible")


if __name__ == "__main__":
    if browser.find() is None:
        harness.skip("there is no Chromium")
    unittest.main(verbosity=2)
