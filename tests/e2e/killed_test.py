#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Killed without a chance to clean up: what it left behind does not keep the next one from
starting, in the same runtime folder and under the same name."""
import signal

import harness

import frames  # noqa: E402  harness has put tools/ on the path

EAL = (*harness.EAL_ARGS, "--file-prefix=killed")


class Killed(harness.E2eTest):
    def document(self, ports):
        return {"eal": {"args": []}, "port": ports,
                "filter": [harness.filter_("f", "1ms", engine="line")],
                "route": [{"from": [ports[0]["name"]], "to": ports[1]["name"], "filter": "f"}],
                "run": {"name": "killed", "mbufs": 8191}}

    def check_restart(self, ports):
        document = self.document(ports)
        with self.start(document, eal=EAL) as running:
            with self.telemetry(running) as telemetry:
                first = telemetry.ask("/unecho/info")
            running.send(signal.SIGKILL)
            self.assertEqual(running.finish().status, -signal.SIGKILL)
        left = [path for path in self.folder.rglob("*") if path.is_socket()]
        self.assertGreater(len(left), 0, "nothing was left, so nothing was tested")
        with self.start(document, "--json", eal=EAL) as running:
            with self.telemetry(running) as telemetry:
                again = telemetry.ask("/unecho/info")
                self.assertNotEqual(again["pid"], first["pid"])
                self.assertGreater(again["start_unix_ns"], first["start_unix_ns"])
                own = ("pid", "start_unix_ns", "uptime_ns")
                self.assertEqual({name: again[name] for name in again if name not in own},
                                 {name: first[name] for name in first if name not in own})
                self.assertEqual(len(list(self.folder.glob("dpdk/*/dpdk_telemetry.v2"))), 1)
            running.interrupt()
            return self.report_of(running.finish())

    def test_and_started_again_with_captures(self):
        packet = frames.ethernet(frames.ipv4("10.0.0.1", "10.0.0.2", frames.UDP, frames.udp(
            "10.0.0.1", "10.0.0.2", (1, 2), b"again")))
        (self.folder / "in.pcap").write_bytes(frames.pcap([(0, packet)]))
        report = self.check_restart([
            harness.port("in", 0, rx_pcap="in.pcap"), {"name": "out", "device": "net_null0"}])
        self.assertEqual(report["totals"]["received"], 1)

    def test_and_started_again_with_sockets_of_its_own(self):
        self.check_restart([
            {"name": name, "device": "net_memif%d,role=server,id=0,socket=%s,socket-abstract=no"
                                     % (number, self.folder / (name + ".sock"))}
            for number, name in enumerate(("in", "out"))])


if __name__ == "__main__":
    harness.main()
