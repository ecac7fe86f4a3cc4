#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The harness itself, without the binary: a checker that accepts everything would prove nothing."""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
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


class Judging(unittest.TestCase):
    def test_packets_part_by_the_exact_answer(self):
        packets = [packet(0, "a"), arp(1), arp(2), packet(3, "a"), packet(60, "a")]
        parted = harness.part(packets, key="packet", window=50 * MS)
        self.assertEqual(parted.kept, [packets[index].data for index in (0, 1, 2, 4)])
        self.assertEqual(parted.echoes, [packets[3].data])
        self.assertEqual(parted.counts, {"new": 2, "echo": 1, "non_ip": 2})

    def test_subsequence(self):
        self.assertTrue(harness.is_subsequence([1, 3, 3], [1, 2, 3, 4, 3]))
        self.assertFalse(harness.is_subsequence([3, 1], [1, 2, 3]))
        self.assertFalse(harness.is_subsequence([1, 1], [1, 2]))

    def test_packets_come_as_net_pcap_delivers_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "raw")
            path.write_bytes(frames.pcap([(1999, b"x" * 20000)], nanoseconds=True, link=101))
            got, = harness.packets_of(path)
            self.assertEqual((got.time, got.link, len(got.data)), (1000, 1, 20000))
            self.assertEqual(len(harness.written(got.data)), 16128)


class Configurations(unittest.TestCase):
    def test_toml_reads_back(self):
        document = {"eal": {"args": ["--a", 'quote " and \\']},
                    "port": [harness.port("a", 0, rx_pcap=["x", "y"]), {"name": "b", "mtu": 9000}],
                    "run": {"seed": 1, "share": 1e-6, "on": True, "lcores": [0, 1], "none": []}}
        self.assertEqual(tomllib.loads(harness.toml(document)), document)
        self.assertEqual(document["port"][0]["device"], "net_pcap0,rx_pcap=x,rx_pcap=y")

    def test_filters_are_planned_for_keys(self):
        self.assertEqual(harness.filter_("f", "20us")["rate"], "1000000000pps")
        self.assertEqual(harness.filter_("f", "50ms")["rate"], "1000000pps")
        self.assertEqual(harness.filter_("f", "1s", keys=7)["rate"], "7pps")


# The last four counters are part of no sum.
AUDIT = {"enabled": True, "misses": {"count": 0},
         "counters": {"sampled": 4, "new": 1, "echoes": 3,
                      **dict.fromkeys(("collisions", "overload", "discarded", "cut_short"))}}
REPORT = {
    "filters": [{"audit": AUDIT}, {"audit": {"enabled": False}}],
    "ports": [{"rx_packets": 5, "tx_packets": 3}],
    "routes": [{"received": 5, "forwarded": 3, "diverted": 0, "dropped": 2, "in_flight": 0,
                "reasons": {"new": 2, "doubt": 0, "non_ip": 1, "malformed": 0, "too_long": 0,
                            "overload": 0, "echo_passed": 0, "echo_diverted": 0, "echo": 2, "tx_lost": 0,
                            "stopped": 0}}],
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


class Processes(harness.E2eTest):
    def script(self, text):
        path = self.folder / "unecho"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        before = os.environ.get("UNECHO_BIN")
        self.addCleanup(os.environ.__setitem__, "UNECHO_BIN", before or "")
        os.environ["UNECHO_BIN"] = str(path)

    def test_run_hands_over_arguments_and_collects_the_end(self):
        self.script('echo "$@"; cat "$2"; echo trouble >&2; exit 3\n')
        result = self.run_unecho({"run": {"seed": 1}}, "--duration", "1s", eal=("--no-huge",))
        first, *rest = result.out.splitlines()
        self.assertRegex(
            first, r"^run \S+\.toml --json --duration 1s -- --no-huge --file-prefix=\S+$")
        self.assertEqual((rest, result.err, result.status),
                         (["[run]", "seed = 1"], "trouble\n", 3))

    def test_a_hanging_run_is_ended(self):
        self.script("exec sleep 1000\n")
        with self.assertRaisesRegex(AssertionError, "did not end within 1 s"):
            self.run_unecho({}, timeout=1)

    def test_interrupt_reaches_the_process(self):
        self.script("exec sleep 1000\n")
        with self.start({}) as running:
            self.assertTrue(running.alive())
            running.interrupt()
            self.assertEqual(running.finish(10).status, -2)

    def test_telemetry_asks_and_reads(self):
        path = self.folder / "socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.bind(str(path))
            server.listen(1)

            def serve():
                client, _ = server.accept()
                with client:
                    client.send(b'{"version": "x", "pid": 1, "max_output_len": 16384}')
                    command = client.recv(100).decode()
                    client.send(json.dumps({command: {"received": 7}}).encode())
            thread = threading.Thread(target=serve)
            thread.start()
            with harness.wait_for(lambda: harness.Telemetry(path), "the socket") as telemetry:
                self.assertEqual(telemetry.ask("/unecho/counters"), {"received": 7})
            thread.join()

    def test_waiting_in_vain_fails(self):
        with self.assertRaisesRegex(AssertionError, "the moon"):
            harness.wait_for(lambda: (self.folder / "no").stat(), "the moon", timeout=0.02)


# Starts like a test program, and ends with its standard input.
APART = """
import json, os, signal, socket, sys
sys.path.insert(0, sys.argv[1])
import harness
harness.isolate()
own = os.readlink("/proc/self/ns/net") != sys.argv[2]
if own:
    listener = socket.create_server(("127.0.0.1", 5201))
    for folder in ("/run", "/dev/shm"):
        open(folder + "/unecho-isolated", "x").close()
    interfaces = os.listdir("/sys/class/net")
else:
    interfaces = []
ignored = [one.name for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
           if signal.getsignal(one) == signal.SIG_IGN]
print(json.dumps([own, interfaces, os.environ.get("XDG_RUNTIME_DIR"), ignored]), flush=True)
sys.stdin.read()
"""


def ignore_signals():
    """Ignore signals, as nohup does, and as a shell does for background jobs."""
    for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(one, signal.SIG_IGN)


class Isolation(unittest.TestCase):
    def start(self):
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", APART, pathlib.Path(__file__).parent, os.readlink("/proc/self/ns/net")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=ignore_signals)
        self.addCleanup(process.communicate)
        return process

    def test_programs_have_nothing_in_common_and_leave_nothing(self):
        """Two programs at once use the same port and files; without root, each has its own runtime
        directory."""
        processes = [self.start() for _ in range(2)]
        told = [json.loads(process.stdout.readline()) for process in processes]
        for own, interfaces, runtime, ignored in told:
            self.assertEqual(ignored, [])
            if own:
                self.assertEqual(interfaces, ["lo"])
            else:
                self.assertTrue(pathlib.Path(runtime).is_dir())
        self.assertTrue(told[0][0] or told[0][2] != told[1][2])
        for process, (_, _, runtime, _) in zip(processes, told):
            process.communicate()
            self.assertEqual(process.returncode, 0)
            self.assertFalse(not told[0][0] and pathlib.Path(runtime).exists())
        for folder in ("/run", "/dev/shm"):
            self.assertFalse(pathlib.Path(folder, "unecho-isolated").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
