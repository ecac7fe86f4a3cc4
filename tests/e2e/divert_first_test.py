#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of echoes (on_echo), and the first N packets of a flow, under every engine."""
import itertools

import harness
from harness import MS, PCAPS, exact_answer

ENGINES = harness.ENGINES
TAPS = (PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap")


class OnEcho(harness.E2eTest):
    def setUp(self):
        super().setUp()
        self.packets = harness.packets_of(*TAPS)
        self.expected = harness.part(self.packets, key="packet", window=50 * MS)
        self.tool, self.aside = self.folder / "tool.pcap", self.folder / "aside.pcap"

    def replay(self, engine, on_echo):
        ports = [harness.port("tap-a", 0, rx_pcap=TAPS[0]),
                 harness.port("tap-b", 1, rx_pcap=TAPS[1]),
                 harness.port("tool", 2, tx_pcap=self.tool)]
        if on_echo == "aside":
            ports.append(harness.port("aside", 3, tx_pcap=self.aside))
        filters = [harness.filter_("echo", "50ms", engine=engine)]
        route = {"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo", "on_echo": on_echo}
        report = self.report(harness.replay(ports, filters, [route]))
        return harness.nonzero(report["routes"][0]["reasons"])

    def expected_reasons(self, echo):
        counts = self.expected.counts
        return {"new": counts["new"], "non_ip": counts["non_ip"], echo: counts["echo"]}

    def test_drop_leaves_the_echoes_out(self):
        for engine in ENGINES:
            self.assertEqual(self.replay(engine, "drop"), self.expected_reasons("echo"))
            self.assert_frames(harness.frames_of(self.tool), self.expected.kept, engine)

    def test_pass_forwards_and_counts_everything(self):
        for engine in ENGINES:
            self.assertEqual(self.replay(engine, "pass"), self.expected_reasons("echo_passed"))
            self.assert_frames(harness.frames_of(self.tool),
                               [packet.data for packet in self.packets], engine)

    def test_divert_parts_the_packets(self):
        for engine in ENGINES:
            self.assertEqual(self.replay(engine, "aside"), self.expected_reasons("echo_diverted"))
            self.assert_frames(harness.frames_of(self.tool), self.expected.kept, engine)
            self.assert_frames(harness.frames_of(self.aside), self.expected.echoes, engine)


class FirstN(harness.E2eTest):
    CAPTURE = PCAPS / "flows.pcap"

    def replay(self, engine, combinations):
        """(fields, the route's reasons, frames that came out) for each; one route each."""
        ports, filters, routes = [], [], []
        for index, fields in enumerate(combinations):
            output = self.folder / ("out-%d.pcap" % index)
            ports += [harness.port("in-%d" % index, 2 * index, rx_pcap=self.CAPTURE),
                      harness.port("out-%d" % index, 2 * index + 1, tx_pcap=output)]
            filters.append(harness.filter_("f-%d" % index, "50ms", engine=engine, **fields))
            routes.append({"from": ["in-%d" % index], "to": "out-%d" % index,
                           "filter": "f-%d" % index})
        report = self.report(harness.replay(ports, filters, routes))
        for index, (fields, route) in enumerate(zip(combinations, report["routes"])):
            yield fields, route["reasons"], harness.frames_of(self.folder / ("out-%d.pcap" % index))

    def test_first_n_packets_of_a_flow_pass(self):
        """flows.pcap leaves no choice to a filter's slack, so that every engine is exact."""
        packets = harness.packets_of(self.CAPTURE)
        combinations = [{"key": key, "first": first, "policy": policy} for key, first, policy
                        in itertools.product(("flow", "flow-bidir"), (1, 2, 3, 7),
                                             exact_answer.POLICIES)]
        for engine in (*ENGINES, "shbf-x"):
            wanted = [fields for fields in combinations
                      if engine != "shbf-x" or fields["first"] > 1]
            for fields, reasons, survivors in self.replay(engine, wanted):
                with self.subTest(engine=engine, **fields):
                    expected = harness.part(packets, window=50 * MS, **fields)
                    self.assertLess(0, len(expected.echoes))
                    self.assertEqual(harness.nonzero(reasons), expected.counts)
                    self.assert_frames(survivors, expected.kept)


if __name__ == "__main__":
    harness.main()
