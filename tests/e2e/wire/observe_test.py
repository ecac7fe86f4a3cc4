#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A running unecho seen from outside: telemetry and packet capture."""
import os
import subprocess

import wire
from wire import Host, exact_answer, udp_frame

COMMANDS = ("info", "counters", "ports", "routes", "workers", "filters", "audit", "stalls", "events",
            "help")

class WithoutNetwork(wire.WireTest):
    def running(self):
        running = self.start(wire.link(*wire.memifs(self.folder)), "--json")
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        return running

    def test_every_command_is_listed_and_has_help(self):
        running = self.running()
        with self.telemetry() as telemetry:
            listed = telemetry.ask("/")
            for name in COMMANDS:
                command = "/unecho/" + name
                self.assertIn(command, listed)
                self.assertGreater(len(telemetry.ask("/help," + command)[command]), 20)
                self.assertTrue(telemetry.ask(command), command)
        running.interrupt()
        self.report_of(running.finish())

    @wire.needs("dpdk-telemetry.py")
    def test_dpdk_telemetry_py_shows_the_counters(self):
        running = self.running()
        (socket,) = self.folder.glob("dpdk/*/dpdk_telemetry.v2")
        done = subprocess.run(["dpdk-telemetry.py", "-f", socket.parent.name],
                              input="/unecho/counters\nquit\n", capture_output=True, text=True,
                              timeout=wire.harness.PATIENCE, check=False,
                              env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
        self.assertIn('"in_flight"', done.stdout, done)
        running.interrupt()
        self.report_of(running.finish())


@wire.needs_namespaces
class Observe(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.one, self.two = Host(self, 1), Host(self, 2)

    def running(self, **options):
        running = self.start(wire.link("net_af_packet0,iface=%s,framecnt=4096" % self.one.outside,
                                       "net_af_packet1,iface=%s,framecnt=4096" % self.two.outside,
                                       window="60s", rate="10kpps"), "--json", **options)
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        return running

    def send(self, numbers):
        frames = []
        for number in numbers:
            frames += [udp_frame(number), *wire.copies_of(number)]
        self.one.send(frames, self.folder)

    @wire.needs("dpdk-dumpcap")
    def test_dumpcap_sees_the_packets(self):
        # A second process shares the memory, so it must be in hugepages.
        mount = wire.harness.take_hugepages(self, 160)
        running = self.running(eal=("--no-pci", "-m", "256", "--huge-dir", str(mount)))
        (socket,) = self.folder.glob("dpdk/*/dpdk_telemetry.v2")
        output = self.folder / "captured.pcapng"
        dumpcap = subprocess.Popen(
            ["dpdk-dumpcap", "--file-prefix=" + socket.parent.name, "-i", "0", "-c", "60", "-w",
             str(output)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
        self.addCleanup(lambda: dumpcap.poll() is None and dumpcap.kill())
        number = iter(range(100_000))

        def feed():
            self.send([next(number) for _ in range(10)])
            return dumpcap.poll() is not None
        wire.harness.wait_for(feed, "a full capture")
        text = dumpcap.communicate()[0]
        self.assertEqual(dumpcap.returncode, 0, text)
        frames = [packet.data for packet in exact_answer.Capture(output)]
        self.assertGreaterEqual(len(frames), 60, text)
        keys = [exact_answer.key_of("packet", frame) for frame in frames
                if frame[12:14] == b"\x08\x00"]
        self.assertGreater(len(keys), len(set(keys)), "the echoes are still there at the port")
        running.interrupt()
        self.report_of(running.finish())


if __name__ == "__main__":
    wire.harness.main()
