#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The audit of live runs and of captures: its verdict on every packet against exact answers."""
import collections
import json
import os
import subprocess
import unittest

import harness
import union_answer
from harness import MS, PCAPS
from union_test import Scene

TAPS = [PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap"]
# Audit verdicts for an exact echo: an engine may remember it throughout its slack.
ECHOES = ("echoes", "slack_echoes", "late_echoes", "overdue")


class Audit(harness.E2eTest):
    def setUp(self):
        super().setUp()
        expected = harness.part(harness.packets_of(*TAPS), key="packet", window=50 * MS)
        self.keyed = expected.counts["new"] + expected.counts["echo"]
        self.echoes = expected.counts["echo"]

    def check(self, audit):
        counters = audit["counters"]
        self.assert_audit(audit)
        self.assertEqual(audit["share"], 1)
        self.assertEqual(counters["sampled"], self.keyed)
        self.assertEqual(sum(counters[name] for name in ECHOES), self.echoes)
        self.assertEqual(counters["new"], self.keyed - self.echoes)
        self.assertEqual(audit["misses"]["verdict"], "held")
        self.assertEqual(audit["false_drops"]["count"], 0)
        self.assertEqual(audit["false_drops"]["of"], self.keyed - self.echoes)
        crossed = sum(each["packets"] for each in audit["crossings"])
        self.assertGreaterEqual(crossed, self.echoes)
        self.assertEqual(sum(audit["causes"].values()), crossed)
        self.assertGreaterEqual(sum(each["packets"] for each in audit["ages"]), crossed)

    def test_run_judges_every_packet_of_every_engine(self):
        filters = [{"window": "50ms", "engine": engine} for engine in harness.ENGINES]
        for _, table, fields, _, _ in self.side_by_side(TAPS, filters):
            with self.subTest(engine=fields["engine"]):
                self.check(table["audit"])

    def test_pcap_judges_every_packet(self):
        for engine in ("auto", *harness.ENGINES):
            with self.subTest(engine=engine):
                done = subprocess.run(
                    [os.environ["UNECHO_BIN"], "pcap", *TAPS, "--audit", "--dry-run", "--json", "--quiet",
                     "--repeats", "drop", "--engine", engine], check=True, capture_output=True, timeout=harness.PATIENCE)
                audit = json.loads(done.stdout)["audit"]
                self.check(audit)
                self.assertEqual({each["first"] for each in audit["crossings"]} |
                                 {each["repeated"] for each in audit["crossings"]},
                                 {str(path) for path in TAPS})


class Repeats(harness.E2eTest):
    """If repeats are kept, packets decided by the union rule are not judged, because no filter
    decided them."""

    def test_kept_repeats_are_no_misses_and_their_copies_no_false_drops(self):
        seen = collections.Counter()
        for seed in range(24):
            scene = Scene(seed, self.folder, window="50ms")
            answers, _ = union_answer.answers(scene.packets, scene.options)
            expected = collections.Counter()
            for (_, _, link, frame), answer in zip(scene.packets, answers):
                identified = union_answer.place_of(link, frame).identified or not scene.options.keep
                expected[answer.kind, identified] += 1
            with self.subTest(seed=seed, arguments=scene.arguments):
                done = subprocess.run(
                    [os.environ["UNECHO_BIN"], "pcap", *map(str, scene.inputs), "--audit", "--dry-run", "--json",
                     "--quiet", "--engine", "exact", *scene.arguments],
                    check=True, capture_output=True, timeout=harness.PATIENCE)
                audit = json.loads(done.stdout)["audit"]
                counters = audit["counters"]
                self.assertEqual(counters["sampled"], expected["new", True] + expected["echo", True])
                self.assertEqual(sum(counters[name] for name in ECHOES), expected["echo", True])
                self.assertEqual(counters["new"], expected["new", True])
                self.assertEqual(audit["misses"]["count"], 0)
                self.assertEqual(audit["false_drops"]["count"], 0)
            seen += expected
        for kind in ("new", "echo"):
            for identified in (True, False):
                self.assertGreater(seen[kind, identified], 100, "the scenes have too few of them")


if __name__ == "__main__":
    unittest.main()
