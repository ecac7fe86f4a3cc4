#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call that may fail while `unecho run` starts, forwards and ends does so in turn: DPDK's own,
packet buffers, sockets, files, threads, mappings, memory. It forwards the same packets, or ends
with one line and a status that say so, and leaves nothing behind.

All calls with UNECHO_EVERY_CALL=1; otherwise some of each kind, evenly spread."""
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import unittest.mock

import failing
import harness

EAL = ("--no-pci", "--no-huge", "-m", "64", "--file-prefix=faults")
RUNS = 12  # of each kind
RUNNING = 20
# unecho is known to check these, so a failure must end it.
MUST_END = ("rte_eal_init", "rte_mempool_create", "rte_vdev_init", "rte_eth_dev_configure", "rte_eth_dev_start",
            "rte_eth_rx_queue_setup", "rte_eth_tx_queue_setup", "rte_eth_promiscuous_enable",
            "rte_eal_remote_launch")


class Starts(harness.E2eTest):
    """Runs from start to end, over and over."""

    EAL = EAL
    SAME_FRAMES = True  # unless the failure ends it
    MAY_STAY: dict = {}
    BESIDE = failing.HELD_UP

    def setUp(self):
        super().setUp()
        self.failing = failing.Failing(self.folder / "control")

    def config(self, place):
        taps = [harness.port("tap-%s" % name, index, rx_pcap=harness.PCAPS / ("two-taps-%s.pcap" % name))
                for index, name in enumerate("ab")]
        tool = harness.port("tool", 2, tx_pcap=place / "out.pcap")
        document = harness.replay([*taps, tool], [harness.filter_("echo", "50ms", keys=2000)],
                                  [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo"}],
                                  stop_when_idle="20ms", mbufs=4095)
        path = place / "faults.toml"
        path.write_text(harness.toml(document))
        return path

    def run_with(self, kind, number=0):
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        config = self.config(place)
        self.failing.set(kind, number)
        done = harness.unecho("run", config, "--json", "--", *self.EAL, cwd=place,
                              env=dict(os.environ, RUNTIME_DIRECTORY=str(place), **self.failing.environment()))
        left = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
        left += sorted(line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                       if str(place) in line)
        huge = pathlib.Path("/dev/hugepages")
        left += sorted(path.name for path in huge.glob("faults*")) if huge.is_dir() else []
        out = place / "out.pcap"
        frames = harness.frames_of(out) if done.returncode == 0 else None
        return harness.Result(done.returncode, done.stdout, done.stderr), left, frames

    def each_fails(self, kind):
        """Return how many failures ended it."""
        whole, left, frames = self.run_with(kind)
        calls = self.failing.off()
        self.report_of(whole)
        ended = went_on = 0
        for number in failing.numbers(calls, RUNS):
            result, still, others = self.run_with(kind, number)
            self.failing.off()
            with self.subTest(kind=kind, number=number, call=self.failing.failed()):
                new = [line for line in result.err.splitlines()
                       if failing.told(line) - failing.told(whole.err) and not self.BESIDE.match(line)]
                for line in result.err.splitlines():
                    self.assertTrue(line.startswith("unecho: "), result)
                abrupt = any(line.startswith(failing.ABRUPT) for line in new)
                may_stay = failing.SOCKETS if abrupt else self.MAY_STAY.get(kind, set())
                self.assertLessEqual(set(still) - may_stay, set(left), result)
                if result.status == 0:
                    went_on += 1
                    self.report_of(result)
                    self.assertNotIn(self.failing.failed(), MUST_END)
                    self.assertLessEqual(len(new), 1, result)
                    if kind != "mbuf" and self.SAME_FRAMES:
                        self.assert_frames(others, frames, "forwarded")
                    continue
                ended += 1
                self.assertIn(result.status, (1, 2), result)
                # A failing close() only leaves unknown whether everything was written.
                self.assertTrue(result.out == "" or abrupt or kind == "close", result)
                self.assertEqual(len(new), 1, result)
        print("run, %s: %d calls, of %d that failed %d ended it" % (kind, calls, ended + went_on, ended))
        return ended


class FailingStarts(Starts):
    pass


class FailingMemif(Starts):
    """Two memif ports that are linked to each other; a link, because a socket has one role in a
    process."""

    SAME_FRAMES = False  # packets sent before they are connected are lost
    MAY_STAY = {"dpdk": {"memif.sock"}}  # the driver fails, and its socket remains
    BESIDE = re.compile(Starts.BESIDE.pattern + r'|unecho: port "(in|out)": link (up|down)')

    def config(self, place):
        (place / "there").symlink_to(place)
        memifs = [{"name": name, "device": "net_memif%d,role=%s,id=0,socket=%s,socket-abstract=no"
                                           % (number, role, path / "memif.sock")}
                  for number, (name, role, path) in enumerate((("out", "server", place),
                                                               ("in", "client", place / "there")))]
        tap = harness.port("tap", 0, rx_pcap=harness.PCAPS / "two-taps-a.pcap")
        tool = harness.port("tool", 1, tx_pcap=place / "out.pcap")
        filters = [harness.filter_(name, "50ms", keys=2000) for name in ("echo", "again")]
        path = place / "faults.toml"
        path.write_text(harness.toml({
            "port": [tap, tool, *memifs], "filter": filters,
            "route": [{"from": ["tap"], "to": "out", "filter": "echo"},
                      {"from": ["in"], "to": "tool", "filter": "again"}],
            "run": {"seed": 1, "mbufs": 8191, "stop_when_idle": "20ms"}}))
        return path

    def test_server_that_cannot_listen_leaves_no_socket(self):
        for number in range(1, 10):
            result, left, _ = self.run_with("listen", number)
            self.failing.off()
            if self.failing.failed() == "listen" and "memif.sock" in result.err:
                self.assertEqual((result.status, len(result.err.splitlines())), (1, 1), result)
                self.assertNotIn("memif.sock", left)
                return
        self.fail("listen() was never called for it")


class FailingWhileRunning(harness.E2eTest):
    """If something is short while a client queries an appliance or reloads its configuration, only
    the answer is lost."""

    COMMANDS = ("/unecho/info", "/unecho/counters", "/unecho/routes", "/unecho/filters", "/unecho/audit", "/unecho/help")

    def setUp(self):
        super().setUp()
        self.failing = failing.Failing(self.folder / "control")
        self.window = itertools.cycle(("40ms", "50ms"))
        for name, value in self.failing.environment().items():
            self.enterContext(unittest.mock.patch.dict(os.environ, {name: value}))

    def write(self):
        """Write another configuration each time."""
        taps = [harness.port("tap-%s" % name, index, rx_pcap=harness.PCAPS / ("two-taps-%s.pcap" % name))
                for index, name in enumerate("ab")]
        tool = harness.port("tool", 2, tx_pcap="/dev/null")
        path = self.folder / "running.toml"
        path.write_text(harness.toml({
            "port": [*taps, tool], "filter": [harness.filter_("echo", next(self.window), keys=2000)],
            "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo"}],
            "run": {"seed": 1, "mbufs": 4095}}))
        return path

    def ask(self, commands, patience=harness.PATIENCE):
        """Return the answers, None for each that did not arrive."""
        out = []
        for command in commands:
            try:
                path = self.folder / "dpdk" / "faults" / "dpdk_telemetry.v2"
                with harness.Telemetry(path, patience) as telemetry:
                    out.append(telemetry.ask(command))
            except (OSError, ValueError):
                out.append(None)
        return out

    @contextlib.contextmanager
    def running(self):
        """Start an appliance; return it with its open descriptors once it answers."""
        with self.start(self.write(), "--json", eal=EAL) as running:
            self.telemetry(running).__exit__()
            self.assertNotIn(None, self.ask(self.COMMANDS))
            yield running, failing.descriptors_at_rest(running.pid())

    def goes_on(self, running):
        answers = self.ask(self.COMMANDS)
        self.assertNotIn(None, answers)
        self.assert_conserved(answers[1])

    def asked_fails(self, kind, commands):
        with self.running() as (running, before):
            self.failing.set(kind, others=True)
            self.write()
            self.assertNotIn(None, self.ask(commands))
            calls = self.failing.off()
            lost = 0
            for number in failing.numbers(calls, RUNNING):
                self.write()
                self.failing.set(kind, number, others=True)
                lost += None in self.ask(commands, patience=1)
                self.failing.off()
                with self.subTest(commands[0], kind=kind, number=number, call=self.failing.failed()):
                    self.goes_on(running)
            self.write()
            self.assertEqual(self.ask(["/unecho/reload"])[0]["accepted"], 1)
            harness.wait_for(lambda: failing.descriptors(running.pid()) == before, "descriptors as before")
            running.interrupt()
            self.report_of(running.finish())
        print("%s, %s: %d calls, of those that failed %d cost an answer" % (" ".join(commands), kind, calls, lost))

    def test_telemetry(self):
        # If it cannot accept one client, DPDK 22.11 never accepts another.
        for kind in ("allocate", "dpdk", "read", "write", "thread"):
            self.asked_fails(kind, self.COMMANDS)

    def test_reload(self):
        for kind in ("allocate", "dpdk", "map", "open"):
            self.asked_fails(kind, ["/unecho/reload"])


def test_of(kind):
    def test(self):
        self.each_fails(kind)
    return test


def of_kinds(tests, *kinds):
    for kind in kinds:
        setattr(tests, "test_" + kind, test_of(kind))


of_kinds(FailingStarts, "dpdk", "mbuf", "socket", "wait", "control", "open", "read", "write", "close", "map", "thread",
         "allocate", "interrupt", "receive", "send")
if failing.EVERY:
    of_kinds(FailingMemif, "dpdk", "socket", "wait", "control", "map", "allocate", "receive", "send")

if __name__ == "__main__":
    harness.main()
