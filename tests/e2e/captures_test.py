#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every capture through the real binary, judged by the exact answer.

A run has one capture and up to 16 routes, each with a port that replays it, a filter of its own and
a tool port that records: one start of DPDK for many combinations. The exact engine must drop
exactly the echoes; the others must keep the promise that harness.audit() states, whose slack is the
one they report. Their filters are planned for at least twice the keys there are, so that not one
false drop is to be expected of a max_false_drop of 1e-6; the seed is fixed: none stays none.

Captures: pcaps/, and where present those in UNECHO_SHARED with a selection of the combinations.
UNECHO_E2E_FULL=1: more windows, and every combination everywhere.
"""
import itertools
import json

import harness
from harness import FULL, PCAPS, SHARED, exact_answer

# net_pcap reads a file of two link types only up to the first packet of the second.
TWO_LINK_TYPES = {"pcpp-two-links.pcapng"}
WINDOWS = ("20us", "1ms", "50ms", "1s") if FULL else ("50ms", "1s")
ROUTES = 16  # two ports each, of the 32 that DPDK is built for


def every_combination():
    for engine, key, window, policy in itertools.product(
            harness.ENGINES, exact_answer.KEYS, WINDOWS, exact_answer.POLICIES):
        yield {"engine": engine, "key": key, "window": window, "policy": policy}


def selection():
    """Each key with both windows and both policies, under the exact engine and one of the others."""
    for turn, key in enumerate(exact_answer.KEYS):
        for window, policy in zip(WINDOWS, exact_answer.POLICIES):
            for engine in ("exact", harness.SLIDING_ENGINES[turn % 5]):
                yield {"engine": engine, "key": key, "window": window, "policy": policy}
            turn += 1


def batches(items, size):
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


class Captures(harness.E2eTest):
    def replay(self, capture, filters):
        """(route's report, filter's report, filter's fields, frames that came out) for each."""
        outputs = [self.folder / ("out-%d.pcap" % index) for index in range(len(filters))]
        ports, routes, tables = [], [], []
        for index, (fields, output) in enumerate(zip(filters, outputs)):
            ports += [harness.port("in-%d" % index, 2 * index, rx_pcap=capture),
                      harness.port("out-%d" % index, 2 * index + 1, tx_pcap=output)]
            tables.append(harness.filter_("filter-%d" % index, **fields))
            routes.append({"from": ["in-%d" % index], "to": "out-%d" % index,
                           "filter": "filter-%d" % index})
        report = self.report(harness.replay(ports, tables, routes))
        return zip(report["routes"], report["filters"], filters, map(harness.frames_of, outputs))

    def check_exactly(self, route, survivors, packets, fields):
        """Those packets came out that should, and each for the right reason."""
        expected = harness.part(packets, key=fields["key"], policy=fields["policy"],
                                window=exact_answer.duration(fields["window"]))
        self.assertEqual(harness.nonzero(route["reasons"]), expected.counts)
        self.assert_frames(survivors, expected.kept)

    def check_sliding(self, filter_, survivors, packets, fields):
        window = exact_answer.duration(fields["window"])
        self.assertEqual((filter_["window_ns"], filter_["evicted_early"]), (window, 0))
        self.assertLessEqual(filter_["slack_ns"], window)
        self.assertIsNone(harness.audit(packets, survivors, fields["key"], window,
                                        filter_["slack_ns"], fields["policy"]))

    def check(self, capture, combinations):
        packets = harness.packets_of(capture)
        for filters in batches(combinations, ROUTES):
            for route, filter_, fields, survivors in self.replay(capture, filters):
                with self.subTest(capture=capture.name, **fields):
                    self.assertEqual(route["received"], len(packets))
                    if fields["engine"] == "exact":
                        self.check_exactly(route, survivors, packets, fields)
                    else:
                        self.check_sliding(filter_, survivors, packets, fields)

    def test_own_captures(self):
        captures = sorted(PCAPS.glob("*.pcap"))
        self.assertGreater(len(captures), 5)
        for capture in captures:
            self.check(capture, every_combination())

    def test_shared_captures(self):
        captures = [path for path in sorted((SHARED / "captures").glob("*.pcap*"))
                    if path.name not in TWO_LINK_TYPES]
        if not captures:
            self.skipTest("no captures in %s" % SHARED)
        for capture in captures:
            self.check(capture, every_combination() if FULL else selection())

    def test_slack_decides_nothing_where_no_age_is_near_the_window(self):
        """Such captures are made by tools/make_pcaps.py: all engines have the exact answer."""
        filters = [{"engine": engine, "key": key, "window": "50ms", "policy": policy}
                   for engine in harness.SLIDING_ENGINES for key in exact_answer.KEYS
                   for policy in exact_answer.POLICIES]
        answers = [json.loads(path.read_text()) for path in PCAPS.glob("*.answer.json")]
        decided = [(PCAPS / answer["files"][0], exact_answer.duration(answer["exact_for_slack"]))
                   for answer in answers if answer["exact_for_slack"]]
        self.assertGreater(len(decided), 4)
        for capture, slack in decided:
            packets = harness.packets_of(capture)
            for batch in batches(filters, ROUTES):
                for route, filter_, fields, survivors in self.replay(capture, batch):
                    with self.subTest(capture=capture.name, **fields):
                        self.assertLessEqual(filter_["slack_ns"], slack)
                        self.check_exactly(route, survivors, packets, fields)


if __name__ == "__main__":
    harness.main()
