#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starting and stopping, and errors meanwhile."""
import os
import re
import shutil
import signal
import time

import wire
from wire import Host, harness, udp_frame

CONFIGS = harness.ROOT / "configs"


class Lives(wire.WireTest):
    """Tests of a process with two ports; subclasses differ in the ports."""

    def running(self, *arguments, **options):
        running = self.start(self.config(), *arguments, **options)
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        return running

    def one_line(self, result, status, *words):
        self.assertEqual((result.status, result.out), (status, ""), result)
        lines = [line for line in result.err.splitlines() if line.startswith("unecho: ")]
        self.assertEqual(len(lines), 1, result.err)
        for word in words:
            self.assertIn(word, lines[0])


class WithoutNetwork(Lives):
    def config(self):
        return wire.link(*wire.memifs(self.folder), window="60s", rate="10kpps")

    def test_an_interface_that_is_not_there_and_one_that_is_taken(self):
        missing = wire.link("net_af_xdp0,iface=nosuch0", "net_af_xdp1,iface=nosuch1")
        self.one_line(self.run_unecho(missing), 1, '"left"', "nosuch0")
        memif = wire.link(*wire.memifs(self.folder))
        first = self.start(memif)
        self.addCleanup(first.__exit__)
        self.wait_until_running()
        self.one_line(self.run_unecho(memif), 1, '"left"')
        self.assertTrue(first.alive(), "whoever has a socket is not harmed by a second who wants it")
        first.interrupt()
        self.assertEqual(first.finish().status, 0)

    def test_the_same_file_prefix_twice(self):
        first = self.running()
        (socket,) = self.folder.glob("dpdk/*/dpdk_telemetry.v2")
        config = self.folder / "second.toml"
        config.write_text(harness.toml(self.config()))
        done = harness.unecho("run", config, "--", "--no-huge", "-m", "512", "--file-prefix", socket.parent.name,
                              env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
        self.one_line(harness.Result(done.returncode, done.stdout, done.stderr), 1, "--file-prefix")
        first.interrupt()
        self.assertEqual(first.finish().status, 0)

    def test_check_prints_the_plan_of_every_config(self):
        configs = sorted(CONFIGS.glob("*.toml"))
        self.assertGreater(len(configs), 5)
        (self.folder / "pcaps").symlink_to(harness.PCAPS)
        for path in configs:
            with self.subTest(config=path.name):
                done = harness.unecho("check", path, cwd=self.folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for word in ("ports", "workers", "routes", "filter ", "steering:", "window",
                             "generations", "slack", "false drops", "memory"):
                    self.assertIn(word, done.stdout)


@wire.needs_namespaces
class Lifecycle(Lives):
    def setUp(self):
        super().setUp()
        self.one, self.two = Host(self, 1), Host(self, 2)

    def config(self, **options):
        return wire.link("net_af_packet0,iface=%s,framecnt=4096" % self.one.outside,
                         "net_af_packet1,iface=%s,framecnt=4096" % self.two.outside,
                         window="60s", rate="10kpps", **options)

    def received(self):
        with self.telemetry() as telemetry:
            return telemetry.ask("/unecho/counters")["received"]

    def test_signals_drain_and_end_with_the_table(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                running = self.running()
                self.one.send([udp_frame(n) for n in range(300)], self.folder)
                harness.wait_for(lambda: self.received() >= 300, "the packets")
                running._process.send_signal(number)
                result = running.finish(20)
                self.assertEqual(result.status, 0, result)
                self.assertRegex(result.out, r"received \d+ = forwarded \d+ \+ diverted 0")
                self.assertRegex(result.out, r"in flight 0")
                shutil.rmtree(self.folder / "dpdk")

    def test_link_down_is_said_once_and_survived(self):
        running = self.running("--json")

        def said(state):
            with self.telemetry() as telemetry:
                return any('port "right": link ' + state == event["text"]
                           for event in telemetry.ask("/unecho/events").values())
        for state in ("down", "up"):
            self.two.run("ip", "link", "set", self.two.inside, state)
            harness.wait_for(lambda state=state: said(state), "the link " + state)
            # Links are checked every 20 ms, so a repeated message would occur by now.
            time.sleep(0.3)
        listener = wire.Listener(self, self.two, "udp port %d" % wire.PORT)
        self.one.send([udp_frame(n) for n in range(10)], self.folder)
        listener.frames(10)
        running.interrupt()
        result = running.finish()
        self.report_of(result)
        self.assertEqual(result.err.count('port "right": link down'), 1, result.err)
        self.assertEqual(result.err.count('port "right": link up'), 1, result.err)

    def test_an_interface_by_its_other_name_is_the_same(self):
        other = self.one.outside.replace("ue", "also")
        wire.run("ip", "link", "property", "add", "dev", self.one.outside, "altname", other)
        twice = wire.link("net_af_packet0,iface=" + self.one.outside,
                          "net_af_packet1,iface=" + other)
        self.one_line(self.run_unecho(twice), 2, "port[1].device", other, "port[0]")

    def test_configs_for_interfaces_run_here(self):
        """Each configuration with its own interfaces."""
        for name in ("link-af-packet", "link-af-xdp", "taps", "flow-first-n"):
            with self.subTest(config=name):
                text = (CONFIGS / (name + ".toml")).read_text()
                hosts = {}
                for interface in re.findall(r"iface=([^,\"\s]+)", text):
                    if interface not in hosts:
                        hosts[interface] = Host(self, 10 + len(hosts))
                for interface, host in hosts.items():
                    text = re.sub(r"iface=%s(?=[,\"])" % re.escape(interface),
                                  "iface=" + host.outside, text)
                cpu = max(os.sched_getaffinity(0))
                text = re.sub(r"(?m)^lcores = .*$", "lcores = [%d]" % cpu, text)
                text = re.sub(r"(?m)^lcore = .*$", "lcore = %d"
                              % min(os.sched_getaffinity(0)), text)
                text = re.sub(r"(?m)^args = .*$", "args = []", text)
                path = self.folder / (name + ".toml")
                path.write_text(text)
                result = self.run_unecho(path, "--duration", "100ms",
                                         eal=("--no-huge", "-m", "512"))
                self.report_of(result)
                self.assertGreater(len(hosts), 1)

if __name__ == "__main__":
    harness.main()
