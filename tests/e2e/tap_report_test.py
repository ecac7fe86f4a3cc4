#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run's report of the flows that two taps saw, against exact sets.

Captures of two taps are replayed with their own time, so their frames show which flows were on
which tap in which window. The report is planned for far more flows than there are, so no accidental
match is expected, and because the seed is fixed, none ever occurs.
"""
import collections
import os
import unittest

import harness
from harness import MS, PCAPS, SECOND, exact_answer

TAPS = (PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap")
COUNTS = ("only_a", "only_b", "both")


def flows_by_window(paths, window):
    """Return {window number: (flows on the first tap, flows on the second)}."""
    captures = [exact_answer.Capture(path, as_ethernet=True, microseconds=True) for path in paths]
    windows, now = collections.defaultdict(lambda: (set(), set())), 0
    for tap, packet in exact_answer.merged(captures):
        now = max(now, packet.time)
        flow = harness.identity_of("flow-bidir", packet.data)
        if flow is not None:
            windows[now // window][tap].add(flow)
    return windows


def counts_of(a, b):
    return {"only_a": len(a - b), "only_b": len(b - a), "both": len(a & b)}


def two_cpus():
    return sorted(os.sched_getaffinity(0))[:2]


class TapReport(harness.E2eTest):
    def config(self, window, taps=TAPS, key="packet", flows=20_000, report_window=None, **run):
        return self.side_by_side([(window, taps, report_window)], key, flows, **run)

    def side_by_side(self, cases, key="packet", flows=20_000, **run):
        """Run a route for each (filter's window, captures of its taps, window of its report or
        None)."""
        ports, filters, routes = [], [], []
        for index, (window, taps, report_window) in enumerate(cases):
            names = ["tap-a-%d" % index, "tap-b-%d" % index, "tool-%d" % index]
            files = ({"rx_pcap": taps[0]}, {"rx_pcap": taps[1]},
                     {"tx_pcap": self.folder / ("out-%d.pcap" % index)})
            ports += [harness.port(name, len(ports) + each, **file)
                      for each, (name, file) in enumerate(zip(names, files))]
            filters.append(harness.filter_("echo-%d" % index, "%dns" % window, key=key))
            own = {} if report_window is None else {"report_window": "%dns" % report_window}
            routes.append({"from": names[:2], "to": names[2], "filter": filters[-1]["name"],
                           "report_taps": True, "report_flows": flows, **own})
        return harness.replay(ports, filters, routes, **run)

    def check(self, config, window, taps=TAPS):
        report = self.report(config)
        return self.check_route(report, 0, window, taps), report

    def check_route(self, report, index, window, taps=TAPS):
        """Compare the route's report with exact sets."""
        reported, windows = report["routes"][index]["taps"], flows_by_window(taps, window)
        total = collections.Counter()
        for a, b in windows.values():
            total.update(counts_of(a, b))
        self.assertEqual(reported["total"], {name: total[name] for name in COUNTS})
        self.assertEqual((reported["a"], reported["b"]), ("tap-a-%d" % index, "tap-b-%d" % index))
        self.assertEqual((reported["window_ns"], reported["planned_flows"]), (window, 20_000))
        last = max(windows) - 1  # the present window is not over
        if last < min(windows):
            self.assertNotIn("last", reported)
        else:
            self.assertEqual(reported["last"], {"begin_ns": last * window,
                                                **counts_of(*windows.get(last, ((set(), set()))))})
        return reported

    def test_every_window_counts_the_flows_of_exact_sets(self):
        """Independent windows and captures on the routes; on one of them the taps are swapped."""
        seen = collections.Counter()
        cases = [(window, TAPS) for window in (MS, 20 * MS, 50 * MS, 333_333_333, SECOND, 600 * SECOND)]
        cases += [(70 * MS, TAPS[::-1]), (100 * MS, (TAPS[0], TAPS[0]))]
        report = self.report(self.side_by_side([(*case, None) for case in cases]))
        for index, (window, taps) in enumerate(cases):
            with self.subTest(window=window):
                reported = self.check_route(report, index, window, taps)
                seen.update(reported["total"])
                seen["without a last window"] += "last" not in reported
        self.assertTrue(all(seen[name] for name in COUNTS), seen)
        # A tap compared with itself has every flow on both.
        self.assertEqual((reported["total"]["only_a"], reported["total"]["only_b"]), (0, 0))

    @unittest.skipIf(len(two_cpus()) < 2, "two workers need two CPUs")
    def test_on_two_workers_the_numbers_are_the_same(self):
        config = self.config(20 * MS)
        config["workers"] = {"lcores": two_cpus(), "ring_size": 8192}
        self.check(config, 20 * MS)

    def test_the_table_at_exit_shows_them(self):
        window = 50 * MS
        config = self.config(window)
        reported, _ = self.check(config, window)
        with self.start(config) as running:
            result = running.finish()
        self.assertEqual(result.status, 0, result)
        lines = [line.split() for line in result.out.splitlines()]
        self.assertIn(["flows", "of", "50", "ms", "last", "window", "all", "windows"], lines)
        for words, name in ((["only", "tap-a-0"], "only_a"), (["only", "tap-b-0"], "only_b"),
                            (["both"], "both")):
            self.assertIn([*words, str(reported["last"][name]), str(reported["total"][name])], lines)


if __name__ == "__main__":
    harness.main()
