#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Handling of echoes (on_echo), and the first N packets of a flow, under every engine."""
import itertools

import harness
from harness import MS, PCAPS, exact_answer

TAPS = [PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap"]
FLOWS = PCAPS / "flows.pcap"


class OnEcho(harness.E2eTest):
    """Every engine is a route of one run."""

    def setUp(self):
        super().setUp()
        self.packets = harness.packets_of(*TAPS)
        self.expected = harness.part(self.packets, key="packet", window=50 * MS)

    def check(self, on_echo, reason, forwarded, diverted):
        counts = self.expected.counts
        reasons = {"new": counts["new"], "non_ip": counts["non_ip"], reason: counts["echo"]}
        filters = [{"window": "50ms", "engine": engine} for engine in harness.ENGINES]
        for route, _, fields, tool, aside in self.side_by_side(TAPS, filters, on_echo):
            with self.subTest(engine=fields["engine"]):
                self.assertEqual(harness.nonzero(route["reasons"]), reasons)
                self.assert_frames(tool, forwarded)
                self.assert_frames(aside, diverted)

    def test_drop_leaves_the_echoes_out(self):
        self.check("drop", "echo", self.expected.kept, [])

    def test_pass_forwards_and_counts_everything(self):
        self.check("pass", "echo_passed", [packet.data for packet in self.packets], [])

    def test_divert_parts_the_packets(self):
        self.check("divert", "echo_diverted", self.expected.kept, self.expected.echoes)


class FirstN(harness.E2eTest):
    def test_first_n_packets_of_a_flow_pass(self):
        """In flows.pcap no age lies in a filter's slack, so every engine is exact."""
        packets = harness.packets_of(FLOWS)
        combinations = [{"window": "50ms", "key": key, "first": first, "policy": policy}
                        for key, first, policy in itertools.product(
                            ("flow", "flow-bidir"), (1, 2, 3, 7) if harness.FULL else (1, 3),
                            exact_answer.POLICIES)]
        answers = [harness.part(packets, **{**fields, "window": 50 * MS})
                   for fields in combinations]
        self.assertTrue(all(answer.echoes for answer in answers))
        asked = [({"engine": engine, **fields}, answer)
                 for engine in (*harness.ENGINES, *harness.COUNTING_ENGINES)
                 for fields, answer in zip(combinations, answers)
                 if engine not in harness.COUNTING_ENGINES or fields["first"] > 1]
        for at in range(0, len(asked), harness.MOST_PORTS):
            filters, expected = zip(*asked[at:at + harness.MOST_PORTS])
            for routed, answer in zip(self.side_by_side([FLOWS], filters), expected):
                route, _, fields, survivors, _ = routed
                with self.subTest(**fields):
                    self.assertEqual(harness.nonzero(route["reasons"]), answer.counts)
                    self.assert_frames(survivors, answer.kept)


if __name__ == "__main__":
    harness.main()
