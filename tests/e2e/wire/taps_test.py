#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Taps into one tool port, live: every packet arrives at both taps, and one copy reaches the
tool."""
import os
import threading

import wire
from wire import Host, Listener, harness, udp_frame

PACKETS = 1500


@wire.needs_namespaces
class Taps(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.taps = [Host(self, 1), Host(self, 3)]
        self.tool = Host(self, 2)

    def config(self, lcores):
        hosts = {"tap-a": self.taps[0], "tap-b": self.taps[1], "tool": self.tool}
        ports = [{"name": name, "device": "net_af_packet%d,iface=%s,framecnt=4096"
                                          % (number, host.outside)}
                 for number, (name, host) in enumerate(hosts.items())]
        return {"port": ports,
                "filter": [{"name": "echo", "window": "60s", "rate": "10kpps"}],
                "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo"}],
                "workers": {"lcores": lcores}}

    def check(self, lcores):
        running = self.start(self.config(lcores), "--json")
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        listener = Listener(self, self.tool, "udp port %d" % wire.PORT)
        copies = [[udp_frame(number) for number in range(PACKETS)],
                  [udp_frame(number, ttl=63, mac_shift=1) for number in range(PACKETS)]]
        senders = [threading.Thread(target=host.send, args=(frames, self.folder))
                   for host, frames in zip(self.taps, copies)]
        for sender in senders:
            sender.start()
        with self.telemetry() as telemetry:
            samples = 0
            while samples < 20 or any(sender.is_alive() for sender in senders):
                self.assert_consistent(telemetry)
                samples += 1
        got = listener.frames(PACKETS)
        running.interrupt()
        report = self.report_of(running.finish())
        self.assertEqual(report["reasons"]["echo"], PACKETS, report)
        self.assertEqual(report["reasons"]["overload"], 0, report)
        self.check_arrivals(got, copies)
        return report

    def check_arrivals(self, got, copies):
        """One of the two copies of each packet arrived, and those of one flow in order."""
        number_of = {frame: number for frames in copies for number, frame in enumerate(frames)}
        numbers = [number_of[frame] for frame in got]
        self.assertEqual(sorted(numbers), list(range(PACKETS)))
        self.assertEqual([], [n for n in numbers if n not in range(PACKETS)])
        for flow in range(64):
            # The taps' senders race, so their copies may interleave; one sender's stay in order.
            for frames in copies:
                own = set(frames)
                mine = [number_of[f] for f in got if f in own and number_of[f] % 64 == flow]
                self.assertEqual(mine, sorted(mine))

    def test_one_copy_of_each_packet_reaches_the_tool(self):
        """With two workers and rings between them, if there are two CPUs."""
        report = self.check(sorted(os.sched_getaffinity(0))[:2])
        if len(report["workers"]) == 2:
            for worker in report["workers"]:
                self.assertGreater(worker["handed_out"], 0, report["workers"])


if __name__ == "__main__":
    harness.main()
