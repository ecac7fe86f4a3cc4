#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every capture through the real binary, against the exact answer.

A run has one capture and up to 32 routes, each with its own filter, so that one start of DPDK
serves many combinations. The exact engine must drop exactly the echoes. The others must keep the
promise that harness.audit() states, with the slack that they report; whatever equals the exact
answer keeps it. Their filters are planned for at least twice the number of keys. So with
max_false_drop = 1e-6 no false drop is expected, and because the seed is fixed, none ever occurs.

Captures: pcaps/, and those in UNECHO_SHARED, if present, with a selection of the combinations.
UNECHO_E2E_FULL=1: more windows, and every combination everywhere.
"""
import functools
import itertools
import json

import harness
from harness import FULL, PCAPS, SHARED, exact_answer

# net_pcap reads a file with two link types only up to the first packet of the second type.
TWO_LINK_TYPES = {"pcpp-two-links.pcapng"}
DECIDED = "50ms"  # the window of the expected answers in pcaps/
WINDOWS = ("20us", "1ms", "50ms", "1s") if FULL else ("50ms", "1s")


def every_combination():
    for engine, key, window, policy in itertools.product(
            harness.ENGINES, exact_answer.KEYS, WINDOWS, exact_answer.POLICIES):
        yield {"engine": engine, "key": key, "window": window, "policy": policy}


def selection():
    """Return each key with both windows and both policies, under the exact engine and one other."""
    for turn, key in enumerate(exact_answer.KEYS):
        for window, policy in zip(WINDOWS, exact_answer.POLICIES):
            for engine in ("exact", harness.SLIDING_ENGINES[turn % 5]):
                yield {"engine": engine, "key": key, "window": window, "policy": policy}
            turn += 1


@functools.lru_cache(maxsize=None)
def decided():
    """Return {capture: the longest slack that changes no verdict there at DECIDED}."""
    answers = [json.loads(path.read_text()) for path in PCAPS.glob("*.answer.json")]
    return {PCAPS / answer["files"][0]: exact_answer.duration(answer["exact_for_slack"])
            for answer in answers if answer["exact_for_slack"]}


def of_slack(capture, fields):
    """Return True if test_slack_decides_nothing... checks this combination, which it does more
    strictly."""
    return capture in decided() and fields["engine"] != "exact" and fields["window"] == DECIDED


def batches(items, most):
    """Split the items into as few batches as possible, of about equal size."""
    items = list(items)
    count = -(-len(items) // most)
    return [items[len(items) * i // count:len(items) * (i + 1) // count] for i in range(count)]


@functools.lru_cache(maxsize=4)
def packets_of(capture):
    return harness.packets_of(capture)


@functools.lru_cache(maxsize=64)
def expected_of(capture, key, window, policy):
    """Return the exact answer; cached, because every engine is compared with it."""
    return harness.part(packets_of(capture), key=key, policy=policy,
                        window=exact_answer.duration(window))


class Captures(harness.E2eTest):
    def outcomes(self, questions):
        """Return (capture, *side_by_side()) for each [(capture, its combinations)]."""
        runs = [(capture, batch) for capture, combinations in questions
                for batch in batches(combinations, harness.MOST_PORTS)]
        answers = harness.ahead(lambda run: self.side_by_side([run[0]], run[1]), runs)
        for (capture, _), routes in zip(runs, answers):
            for route, filter_, fields, survivors, _ in routes:
                yield capture, route, filter_, fields, survivors

    def check_exactly(self, route, survivors, expected):
        """The right packets were forwarded, and each counts under the right reason."""
        self.assertEqual(harness.nonzero(route["reasons"]), expected.counts)
        self.assert_frames(survivors, expected.kept)

    def check_sliding(self, filter_, survivors, expected, capture, fields):
        window = exact_answer.duration(fields["window"])
        self.assertEqual((filter_["window_ns"], filter_["evicted_early"]), (window, 0))
        self.assertLessEqual(filter_["slack_ns"], window)
        if survivors != expected.kept:
            self.assertIsNone(harness.audit(packets_of(capture), survivors, fields["key"], window,
                                            filter_["slack_ns"], fields["policy"]))

    def check(self, questions):
        for capture, route, filter_, fields, survivors in self.outcomes(questions):
            with self.subTest(capture=capture.name, **fields):
                self.assertEqual(route["received"], len(packets_of(capture)))
                expected = expected_of(capture, fields["key"], fields["window"], fields["policy"])
                if fields["engine"] != "exact":
                    self.check_sliding(filter_, survivors, expected, capture, fields)
                if fields["engine"] == "exact" or of_slack(capture, fields):
                    self.check_exactly(route, survivors, expected)
                if of_slack(capture, fields):
                    self.assertLessEqual(filter_["slack_ns"], decided()[capture])

    def test_own_captures(self):
        captures = sorted(PCAPS.glob("*.pcap"))
        self.assertGreater(len(captures), 5)
        self.check([(capture, [fields for fields in every_combination()
                               if not of_slack(capture, fields)]) for capture in captures])

    def test_shared_captures(self):
        captures = [path for path in sorted((SHARED / "captures").glob("*.pcap*"))
                    if path.name not in TWO_LINK_TYPES]
        if not captures:
            self.skipTest("no captures in %s" % SHARED)
        self.check([(capture, every_combination() if FULL else selection())
                    for capture in captures])

    def test_slack_decides_nothing_where_no_age_is_near_the_window(self):
        """In captures of make_pcaps.py no age is near the window, so all engines give the exact
        answer."""
        self.assertGreater(len(decided()), 4)
        self.check([(capture, [fields for fields in every_combination()
                               if of_slack(capture, fields)]) for capture in sorted(decided())])


if __name__ == "__main__":
    harness.main()
