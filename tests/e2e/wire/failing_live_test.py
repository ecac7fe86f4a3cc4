#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call of `unecho capture`, and of `unecho run` on kernel interfaces, that may fail does so in
turn: sockets, mappings, files, threads, calls of DPDK and libpcap to the kernel. Captured packets
are complete. Nothing stays on an interface: no XDP program, no mode, no socket.

All calls with UNECHO_EVERY_CALL=1; otherwise some of each kind, evenly spread."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

import wire
from wire import harness, udp_frame

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import failing  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
RUNS = 8  # of each kind
EAL = ("--no-pci", "--no-huge", "-m", "64", "--file-prefix=faults")


def enter(namespace):
    if LIBC.setns(namespace, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@wire.needs_namespaces
class FailingLive(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.failing = failing.Failing(self.folder / "control")
        self.hosts = [wire.Host(self, number) for number in (1, 2)]
        self.taps = [host.outside for host in self.hosts]
        # A mode that somebody set stays, and none is added.
        wire.run("ip", "link", "set", self.taps[1], "promisc", "off")
        self.senders = [self.sender(host) for host in self.hosts]

    def sender(self, host):
        """Return a socket in a host, held by this process."""
        here = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open("/run/netns/" + host.name, os.O_RDONLY)
        try:
            enter(there)
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            opened.bind((host.inside, 0))
        finally:
            enter(here)
            os.close(here)
            os.close(there)
        self.addCleanup(opened.close)
        return opened

    def on_interfaces(self):
        """Return what a process may leave there."""
        text = "".join(wire.run("ip", "-d", "link", "show", tap).stdout for tap in self.taps)
        return re.findall(r"<[^>]*>|xdp\S*|promiscuity \d+|mtu \d+|prog\S* \S+", text)

    def start(self, arguments, kind, number=0, many=1):
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        self.failing.set(kind, number, many)
        return place, subprocess.Popen(
            [os.environ["UNECHO_BIN"], *map(str, arguments(place))], cwd=place, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, RUNTIME_DIRECTORY=str(place), **self.failing.environment()))

    def wait_for_line(self, process, words):
        """Return the lines up to one with these words, or up to the last."""
        lines = []
        for line in process.stderr:
            lines.append(line)
            if words in line:
                break
        return lines

    # ---- capture ------------------------------------------------------------------------------

    def capture_with(self, kind, number=0):
        """Capture six packets, three of them copies: return (status, lines, frames)."""
        frames = [udp_frame(index) for index in range(6)]

        def arguments(place):
            return ("capture", "-i", self.taps[0], "-i", self.taps[1], "-w", place / "out.pcap", "-c", 9,
                    "--window", "60s", "--json")
        place, process = self.start(arguments, kind, number)
        with process:
            lines = self.wait_for_line(process, "capturing")
            if process.poll() is None:
                for index, frame in enumerate(frames):
                    self.senders[0].send(frame)
                    if index % 2:
                        self.senders[1].send(frame)
            hung = threading.Timer(harness.PATIENCE, process.kill)
            hung.start()
            # If it has lost an interface it says so, and waits for packets that never arrive.
            if all("capturing" in line for line in lines):
                lines += self.wait_for_line(process, "")
            process.send_signal(signal.SIGINT)
            lines += process.stderr
            process.wait()
            hung.cancel()
        out = place / "out.pcap"
        return process.returncode, lines, harness.frames_of(out) if out.exists() and out.stat().st_size else [], \
            sorted(path.name for path in place.iterdir())

    def capture_fails(self, kind):
        before = self.on_interfaces()
        whole = self.capture_with(kind)
        calls = self.failing.off()
        self.assertEqual((whole[0], len(whole[2])), (0, 6), whole)
        ended = 0
        for number in failing.numbers(calls, RUNS):
            status, lines, frames, files = self.capture_with(kind, number)
            self.failing.off()
            with self.subTest(kind=kind, number=number, call=self.failing.failed()):
                self.assertIn(status, (0, 1, 2), lines)
                told = [line for line in lines if "capturing" not in line]
                self.assertTrue(all(line.startswith("unecho: ") for line in lines), lines)
                # One interface may be lost while the other continues.
                self.assertLessEqual(len(told), 1 if status else 2, lines)
                self.assertTrue(status == 0 or told, "says why")
                self.assertEqual(sorted(frames), sorted(set(frames)), "no copies")
                self.assertLessEqual(set(frames), set(whole[2]))
                if not told:
                    self.assertEqual(frames, whole[2])
                self.assertLessEqual(set(files), {"out.pcap"})
                ended += status != 0
        self.assertEqual(self.on_interfaces(), before)
        print("capture, %s: %d calls, %d ended it" % (kind, calls, ended))

    def test_capture(self):
        for kind in ("socket", "control", "map", "open", "write", "close", "thread", "wait", "interrupt", "receive",
                     "read", "allocate"):
            self.capture_fails(kind)

    # ---- the appliance on two interfaces ------------------------------------------------------

    def link(self, driver, duration="100ms"):
        def arguments(place):
            ports = [{"name": name, "device": "net_%s%d,iface=%s" % (driver, index, tap),
                      "rx_descriptors": 128, "tx_descriptors": 128}
                     for index, (name, tap) in enumerate(zip(("left", "right"), self.taps))]
            document = {"port": ports, "filter": [harness.filter_("echo", "50ms", keys=2000)],
                        "route": [{"from": ["left"], "to": "right", "filter": "echo"}],
                        "run": {"seed": 1, "mbufs": 8191, "duration": duration}}
            config = place / "link.toml"
            config.write_text(harness.toml(document))
            return ("run", config, "--json", "--", *EAL)
        return arguments

    def link_with(self, driver, kind, number=0):
        place, process = self.start(self.link(driver), kind, number)
        with process:
            out, err = process.communicate(timeout=harness.PATIENCE)
        # Messages of libraries about the system.
        err = "".join(line for line in err.splitlines(True) if not line.startswith(("libbpf: ", "libxdp: ")))
        left = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
        return harness.Result(process.returncode, out, err), left

    def link_fails(self, driver, kind, runs=RUNS):
        before = self.on_interfaces()
        modes = ["on" if "PROMISC" in each else "off" for each in before if each.startswith("<")]
        whole, left = self.link_with(driver, kind)
        self.assertEqual(whole.status, 0, whole)
        self.assertEqual(self.on_interfaces(), before)
        calls, ended = self.failing.off(), 0
        for number in failing.numbers(calls, runs):
            result, still = self.link_with(driver, kind, number)
            self.failing.off()
            with self.subTest(driver, kind=kind, number=number, call=self.failing.failed()):
                new = [line for line in result.err.splitlines()
                       if failing.told(line) - failing.told(whole.err) and not failing.HELD_UP.match(line)]
                self.assertIn(result.status, (0, 1, 2), result)
                self.assertTrue(all(line.startswith("unecho: ") for line in result.err.splitlines()), result)
                self.assertLessEqual(len(new), 1, result)
                self.assertTrue(result.status == 0 or new, "says why")
                ended += result.status != 0
                if result.status == 0:
                    json.loads(result.out)
                abrupt = any(line.startswith(failing.ABRUPT) for line in new)
                self.assertLessEqual(set(still) - (failing.SOCKETS if abrupt else set()), set(left))
                after = self.on_interfaces()
                for tap, mode in zip(self.taps, modes):
                    wire.run("ip", "link", "set", tap, "promisc", mode)
                self.assertEqual(after, before)
        print("run, %s, %s: %d calls, %d ended it" % (driver, kind, calls, ended))

    def test_link_of_packet_sockets(self):
        for kind in ("control", "map", "dpdk"):
            self.link_fails("af_packet", kind)

    # Every call: two query an interface's mode, the last one restores it.
    def test_socket_of_a_link_of_packet_sockets(self):
        self.link_fails("af_packet", "socket", runs=sys.maxsize)

    def test_mode_that_cannot_be_put_back_is_told(self):
        _, process = self.start(self.link("af_packet", "2s"), "none")
        with process:
            lines = self.wait_for_line(process, "running with")
            self.failing.set("socket", 1, failing.ALWAYS)
            lines += process.communicate(timeout=harness.PATIENCE)[1].splitlines(True)
        self.failing.off()
        self.addCleanup(wire.run, "ip", "link", "set", self.taps[1], "promisc", "off")
        told = [line for line in lines if "promiscuous" in line]
        self.assertEqual((process.returncode, told), (
            0, ["unecho: port \"right\" (net_af_packet1): its interface stays promiscuous, as it was not before "
                "(Too many open files)\n"]), lines)
        self.assertIn("PROMISC", wire.run("ip", "-d", "link", "show", self.taps[1]).stdout)

    def test_link_of_xdp_sockets(self):
        for kind in ("socket", "control", "dpdk"):
            self.link_fails("af_xdp", kind)


if __name__ == "__main__":
    harness.main()
