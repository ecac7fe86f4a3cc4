#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Control thread and workers on one CPU. The control thread has real-time priority, if permitted,
and waits for workers without keeping them from answering."""
import os

import harness

import frames  # noqa: E402  harness has put tools/ on the path

CPU = min(os.sched_getaffinity(0))


class OneCpu(harness.E2eTest):
    def assert_nothing_to_say(self, result):
        """No worker was too late for the control thread, so no message says so."""
        for line in result.err.splitlines():
            self.assertNotIn("between workers", line)
            self.assertNotIn("does not answer", line)

    def live(self, workers):
        """Return two endless taps with the machine's clock; all threads are on the first CPU except
        further workers."""
        packets = [frames.ethernet(frames.ipv4(
            "10.0.0.1", "10.0.0.2", frames.UDP,
            frames.udp("10.0.0.1", "10.0.0.2", (1, 2), b"%d" % number))) for number in range(200)]
        for name in ("a", "b"):
            (self.folder / name).write_bytes(frames.pcap([(0, packet) for packet in packets]))
        return {
            "eal": {"args": []},
            "port": [{"name": "tap-" + name, "rx_descriptors": 128, "tx_descriptors": 128,
                      "device": "net_pcap%d,rx_pcap=%s,infinite_rx=1" % (index, name)}
                     for index, name in enumerate("ab")] + [
                         {"name": "tool", "device": "net_null0"}],
            "filter": [harness.filter_("f", "10ms", engine="apbbf")],
            "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "f"}],
            "workers": {"lcores": sorted(os.sched_getaffinity(0))[:workers], "steering": "ring"},
            "control": {"lcore": CPU},
            "run": {"mbufs": 32767}}

    def check_live(self, workers):
        with self.start(self.live(workers), "--json") as running:
            with self.telemetry(running) as telemetry:
                received = 0
                for _ in range(10):
                    answer = telemetry.ask("/unecho/counters")
                    self.assert_conserved(answer)
                    self.assertGreaterEqual(answer["received"], received)
                    received = answer["received"]
                for worker in telemetry.ask("/unecho/workers").values():
                    self.assertTrue(worker["answering"], worker)
            running.interrupt()
            result = running.finish()
        report = self.report_of(result)
        self.assert_nothing_to_say(result)
        self.assertEqual(report["reasons"]["stopped"], 0)
        self.assertGreater(report["totals"]["received"], received)

    def test_control_beside_the_only_worker(self):
        self.check_live(1)

    def test_control_beside_one_of_two_workers(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two workers need two CPUs")
        self.check_live(2)


if __name__ == "__main__":
    harness.main()
