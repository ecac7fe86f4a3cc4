#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The flows that two taps saw, as a run reports them, against exact sets.

Captures of two taps with their own time: which flows were on which tap in which window follows from
their frames. The report is planned for far more flows than there are, so that no accidental match
is to be expected; the seed is fixed: none stays none.
"""
import collections
import os
import unittest

import harness
from harness import MS, PCAPS, SECOND, exact_answer

TAPS = (PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap")
COUNTS = ("only_a", "only_b", "both")


def flows_by_window(paths, window):
    """Window number -> (flows on the first tap, flows on the second)."""
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
        out = self.folder / "out.pcap"
        own = {} if report_window is None else {"report_window": "%dns" % report_window}
        return harness.replay(
            [harness.port("tap-a", 0, rx_pcap=taps[0]), harness.port("tap-b", 1, rx_pcap=taps[1]),
             harness.port("tool", 2, tx_pcap=out)],
            [harness.filter_("echo", "%dns" % window, key=key)],
            [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo", "report_taps": True,
              "report_flows": flows, **own}], **run)

    def check(self, config, window, taps=TAPS):
        report = self.report(config)
        reported, windows = report["routes"][0]["taps"], flows_by_window(taps, window)
        total = collections.Counter()
        for a, b in windows.values():
            total.update(counts_of(a, b))
        self.assertEqual(reported["total"], {name: total[name] for name in COUNTS})
        self.assertEqual((reported["a"], reported["b"]), ("tap-a", "tap-b"))
        self.assertEqual((reported["window_ns"], reported["planned_flows"]), (window, 20_000))
        last = max(windows) - 1  # the present one is not over
        if last < min(windows):
            self.assertNotIn("last", reported)
        else:
            self.assertEqual(reported["last"], {"begin_ns": last * window,
                                                **counts_of(*windows.get(last, ((set(), set()))))})
        return reported, report

    def test_every_window_counts_the_flows_of_exact_sets(self):
        seen = collections.Counter()
        for window in (MS, 20 * MS, 50 * MS, 333_333_333, SECOND, 600 * SECOND):
            with self.subTest(window=window):
                reported, _ = self.check(self.config(window), window)
                seen.update(reported["total"])
                seen["without a last window"] += "last" not in reported
        self.assertTrue(all(seen[name] for name in COUNTS), seen)

    def test_packets_of_all_kinds(self):
        """Each capture against the next: malformed, cut, jumbo, fragments, no IP."""
        captures = sorted(PCAPS.glob("*.pcap"))
        self.assertLess(5, len(captures))
        for taps in zip(captures, captures[1:] + captures[:1]):
            with self.subTest(taps=[path.name for path in taps]):
                self.check(self.config(50 * MS, taps, report_window=SECOND), SECOND, taps)

    def test_windows_may_be_longer_than_the_filter_s(self):
        """Captures of 50 ms windows: a longer report parts no packet from its copy."""
        echoes = self.report(self.config(50 * MS))["routes"][0]["reasons"]
        for window in (500 * MS, 600 * SECOND):
            with self.subTest(window=window):
                reported, report = self.check(self.config(50 * MS, report_window=window), window)
                self.assertEqual((reported["total"]["only_a"], reported["total"]["only_b"]), (0, 0))
                self.assertEqual(report["routes"][0]["reasons"], echoes)

    def test_each_route_reports_its_own_taps(self):
        """The same captures on two routes, the second with the taps the other way round."""
        windows = (20 * MS, 70 * MS)
        ports, routes, filters = [], [], []
        for index, window in enumerate(windows):
            ports += [harness.port("%s-%d" % (name, index), 3 * index + i, **device)
                      for i, (name, device) in enumerate((("a", {"rx_pcap": TAPS[0]}),
                                                          ("b", {"rx_pcap": TAPS[1]}),
                                                          ("tool", {"tx_pcap": self.folder /
                                                                    ("out-%d.pcap" % index)})))]
            filters.append(harness.filter_("f-%d" % index, "%dns" % window))
            taps = ["a-%d" % index, "b-%d" % index]
            routes.append({"from": taps[::-1] if index else taps, "to": "tool-%d" % index,
                           "filter": "f-%d" % index, "report_taps": True, "report_flows": 20_000})
        reported = [route["taps"] for route in
                    self.report(harness.replay(ports, filters, routes))["routes"]]
        for index, window in enumerate(windows):
            total = collections.Counter()
            for a, b in flows_by_window(TAPS, window).values():
                total.update(counts_of(b, a) if index else counts_of(a, b))
            with self.subTest(route=index):
                self.assertEqual(reported[index]["window_ns"], window)
                self.assertEqual(reported[index]["total"], {name: total[name] for name in COUNTS})

    def test_neither_the_filter_s_key_nor_the_report_changes_the_other(self):
        window = 50 * MS
        for key in exact_answer.KEYS:
            with self.subTest(key=key):
                _, report = self.check(self.config(window, key=key), window)
                config = self.config(window, key=key)
                for name in ("report_taps", "report_flows"):
                    del config["route"][0][name]
                without = self.report(config)
                self.assertNotIn("taps", without["routes"][0])
                self.assertEqual(without["routes"][0]["reasons"], report["routes"][0]["reasons"])

    def test_a_tap_compared_with_itself_has_every_flow_on_both(self):
        window = 100 * MS
        reported, _ = self.check(self.config(window, (TAPS[0], TAPS[0])), window, (TAPS[0], TAPS[0]))
        self.assertEqual((reported["total"]["only_a"], reported["total"]["only_b"]), (0, 0))

    @unittest.skipIf(len(two_cpus()) < 2, "two workers need two CPUs")
    def test_on_two_workers_the_numbers_are_the_same(self):
        for window in (20 * MS, SECOND):
            with self.subTest(window=window):
                config = self.config(window)
                config["workers"] = {"lcores": two_cpus(), "ring_size": 8192}
                self.check(config, window)

    def test_the_table_at_exit_shows_them(self):
        window = 50 * MS
        config = self.config(window)
        reported, _ = self.check(config, window)
        with self.start(config) as running:
            result = running.finish()
        self.assertEqual(result.status, 0, result)
        lines = [line.split() for line in result.out.splitlines()]
        self.assertIn(["flows", "of", "50ms", "last", "window", "all", "windows"], lines)
        for words, name in ((["only", "tap-a"], "only_a"), (["only", "tap-b"], "only_b"),
                            (["both"], "both")):
            self.assertIn([*words, str(reported["last"][name]), str(reported["total"][name])], lines)

    def test_telemetry_has_them_while_it_runs(self):
        # Live: all of it is read within the first minute, and then window follows on window.
        for window, last in ((3600 * SECOND, False), (50 * MS, True)):
            config = self.config(window)
            config["run"] = {"seed": 1}
            with self.subTest(window=window), self.start(config, "--json") as running:
                (path,) = harness.wait_for(
                    lambda: list(self.folder.glob("dpdk/e2e-*/dpdk_telemetry.v2")), "the socket")
                with harness.wait_for(lambda: harness.Telemetry(path), "telemetry") as telemetry:
                    def taps():
                        return telemetry.ask("/unecho/routes")["0"]["taps"]
                    received = sum(len(list(exact_answer.Capture(path))) for path in TAPS)
                    harness.wait_for(  # before it runs, the answer is null
                        lambda: (telemetry.ask("/unecho/counters") or {}).get("received")
                        == received, "the packets")
                    if last:
                        harness.wait_for(lambda: taps().get("last", {}).get("both") == 0,
                                         "a window without packets")
                        self.assertGreater(taps()["total"]["both"], 0)
                    else:
                        (a, b), = flows_by_window(TAPS, 10**6 * SECOND).values()
                        self.assertEqual(taps()["total"], counts_of(a, b))
                        self.assertNotIn("last", taps())
                running.interrupt()
                self.report_of(running.finish())
            for leftover in self.folder.glob("dpdk/*/dpdk_telemetry.v2"):
                leftover.unlink()


if __name__ == "__main__":
    harness.main()
