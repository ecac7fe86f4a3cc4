#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The harness itself, without the binary: a checker that accepts everything would prove nothing."""
import json
import random
import unittest

import harness
from harness import MS, exact_answer

import frames  # noqa: E402  harness has put tools/ on the path


def packet(time_ms, content, hosts=("10.0.0.1", "10.0.0.2")):
    ip = frames.ipv4(*hosts, frames.UDP, frames.udp(*hosts, (1, 2), content.encode()))
    return exact_answer.Packet(int(time_ms * MS), 1, frames.ethernet(ip))


def arp(time_ms):
    return exact_answer.Packet(int(time_ms * MS), 1, frames.ethernet(bytes(28), frames.ARP))


class Audit(unittest.TestCase):
    PACKETS = [packet(0, "a"), packet(1, "b"), packet(20, "a"), arp(30), arp(31), packet(60, "a"),
               packet(61, "c"), packet(130, "a"), packet(131, "b")]

    def audit(self, *kept, policy="fixed", slack=20 * MS):
        survivors = [self.PACKETS[index].data for index in kept]
        return harness.audit(self.PACKETS, survivors, "packet", 50 * MS, slack, policy)

    def test_exact_output_passes(self):
        self.assertIsNone(self.audit(0, 1, 3, 4, 5, 6, 7, 8))

    def test_between_window_and_slack_either_passes(self):
        self.assertIsNone(self.audit(0, 1, 3, 4, 6, 7, 8))

    def test_a_miss_is_found(self):
        self.assertIsNotNone(self.audit(0, 1, 3, 4, 5, 6, 7, 7, 8))
        self.assertIsNotNone(self.audit(0, 1, 2, 3, 4, 5, 6, 7, 8))

    def test_a_false_drop_is_found(self):
        for missing in (0, 1, 3, 4, 6, 7, 8):
            kept = [index for index in (0, 1, 3, 4, 5, 6, 7, 8) if index != missing]
            self.assertIsNotNone(self.audit(*kept), missing)
        self.assertIsNotNone(self.audit(0, 1, 3, 4, 6, 7, 8, slack=10 * MS))

    def test_reordered_and_foreign_packets_are_found(self):
        self.assertIsNotNone(self.audit(1, 0, 3, 4, 5, 6, 7, 8))
        survivors = [self.PACKETS[index].data for index in (0, 1, 3, 4, 5, 6, 7, 8)]
        for changed in (survivors + [b"foreign"], [b"foreign"] + survivors,
                        survivors[:2] + [survivors[2][:-1]] + survivors[3:]):
            self.assertIsNotNone(harness.audit(self.PACKETS, changed, "packet", 50 * MS, 20 * MS))

    def test_refresh_measures_from_what_was_dropped(self):
        # With refresh the packet at 60 is 40 ms old, with fixed 60 ms.
        self.assertIsNone(self.audit(0, 1, 3, 4, 6, 7, 8, policy="refresh", slack=0))
        self.assertIsNotNone(self.audit(0, 1, 3, 4, 5, 6, 7, 8, policy="refresh", slack=0))


class AuditOfEqualPackets(unittest.TestCase):
    """The output does not show which of several equal packets passed; every possible filter must be
    accepted."""

    def survivors_of(self, packets, policy, draw, window, slack, late=0):
        """Return what a filter with random slack keeps. late: its window is longer by this."""
        references, out = {}, []
        for packet in packets:
            then = references.get(packet.data)
            limit = window + int(draw.random() * slack) + late
            echo = then is not None and packet.time - then < limit
            if not echo:
                out.append(packet.data)
            if not echo or policy == "refresh":
                references[packet.data] = packet.time
        return out

    def streams(self):
        for seed in range(60):
            draw, time, packets = random.Random(seed), 0, []
            for _ in range(300):
                packets.append(packet(time, "ab"[int(draw.random() * 2)]))
                time += draw.choice((0, 1, 9, 10, 11))
            yield draw, packets, ("fixed", "refresh")[seed % 2]

    def test_every_filter_within_the_slack_passes(self):
        for draw, packets, policy in self.streams():
            kept = self.survivors_of(packets, policy, draw, 50 * MS, 25 * MS)
            self.assertIsNone(harness.audit(packets, kept, "packet", 50 * MS, 25 * MS, policy))

    def test_other_windows_do_not(self):
        for late in (-15 * MS, 40 * MS):
            found = 0
            for draw, packets, policy in self.streams():
                kept = self.survivors_of(packets, policy, draw, 50 * MS, 10 * MS, late)
                found += harness.audit(packets, kept, "packet", 50 * MS, 10 * MS,
                                       policy) is not None
            self.assertGreater(found, 40)


# The last four counters are part of no sum.
AUDIT = {"enabled": True, "misses": {"count": 0},
         "counters": {"sampled": 4, "new": 1, "echoes": 3,
                      **dict.fromkeys(("collisions", "overload", "discarded", "cut_short"))}}
REPORT = {
    "filters": [{"audit": AUDIT}, {"audit": {"enabled": False}}],
    "ports": [{"rx_packets": 5, "tx_packets": 3}],
    "routes": [{"received": 5, "forwarded": 3, "diverted": 0, "dropped": 2, "in_flight": 0,
                "reasons": {**dict.fromkeys(sum(harness.FATES.values(), ()), 0),
                            "new": 2, "non_ip": 1, "echo": 2}}],
    "totals": {"received": 5, "forwarded": 3, "diverted": 0, "dropped": 2, "in_flight": 0},
}


class Reports(harness.E2eTest):
    def judge(self, change=lambda report: None, status=0):
        report = json.loads(json.dumps(REPORT))
        change(report)
        return self.report_of(harness.Result(status, json.dumps(report), ""))

    def test_a_report_that_adds_up_passes(self):
        self.assertEqual(self.judge(), REPORT)

    def test_a_failed_run_does_not(self):
        with self.assertRaises(AssertionError):
            self.judge(status=1)

    def test_any_number_off_by_one_is_found(self):
        def places(node):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                if type(value) is int:
                    yield node, key
                elif isinstance(value, (dict, list)):
                    yield from places(value)
        count = sum(1 for _ in places(REPORT))
        self.assertGreater(count, 20)
        for index in range(count):
            def off_by_one(report, at=index):
                node, key = list(places(report))[at]
                node[key] += 1
            with self.assertRaises(AssertionError):
                self.judge(off_by_one)


if __name__ == "__main__":
    unittest.main(verbosity=2)
