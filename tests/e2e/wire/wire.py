# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces joined by unecho; frames are sent into one and counted in the other.

A test program has its own network (harness.isolate), which ends with it. Benchmarks use the
machine's network, so names contain the process number. That needs root; tests without hosts do not.
"""
import functools
import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402
from harness import exact_answer  # noqa: E402

_serial = itertools.count()
OFFLOADS = ("tx", "rx", "tso", "gso", "gro")
PORT = 7777


@functools.lru_cache
def _no_namespaces():
    """Return why hosts are impossible here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [name for name in ("ip", "ethtool", "tcpdump") if not shutil.which(name)]
    if absent:
        return "needs " + ", ".join(absent)
    probe = subprocess.run(["unshare", "--net", "ip", "link", "add", "ue0", "type", "veth", "peer",
                            "name", "ue1"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else \
        "no namespaces with veth here: " + probe.stderr.strip().replace("\n", "; ")


def needs_namespaces(test):
    """Mark a test, or a class of tests, that has hosts; all others run everywhere."""
    return unittest.skipIf(_no_namespaces() is not None, _no_namespaces())(test)


def needs(*programs):
    absent = [name for name in programs if not shutil.which(name)]
    return unittest.skipIf(absent, "needs " + ", ".join(absent))


def run(*command, check=True, timeout=harness.PATIENCE):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                          timeout=timeout)
    if check and done.returncode != 0:
        raise AssertionError("%s: %s%s" % (" ".join(map(str, command)), done.stdout, done.stderr))
    return done


class Host:
    """A namespace with one interface whose other end, .outside, is in ours."""

    def __init__(self, test, number):
        serial = next(_serial)
        self.name = "ue%d-%d" % (os.getpid(), serial)
        self.outside = "ue%d.%d" % (os.getpid() % 100000, serial)
        self.inside = "in0"
        self.address = "10.99.0.%d" % number
        self.mac = "02:00:00:00:00:%02x" % number
        run("ip", "netns", "add", self.name)
        test.addCleanup(run, "ip", "netns", "del", self.name, check=False)
        run("ip", "link", "add", self.outside, "numrxqueues", 1, "numtxqueues", 1, "type", "veth",
            "peer", "name", self.inside, "netns", self.name, "numrxqueues", 1, "numtxqueues", 1)
        test.addCleanup(run, "ip", "link", "del", self.outside, check=False)
        # Only the test sends packets here.
        self.run("sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", check=False)
        run("sysctl", "-q", "-w", "net.ipv6.conf.%s.disable_ipv6=1" %
            self.outside.replace(".", "/"), check=False)
        self.run("ip", "link", "set", self.inside, "address", self.mac)
        self.run("ip", "addr", "add", self.address + "/24", "dev", self.inside)
        self.run("ip", "link", "set", self.inside, "up")
        run("ip", "link", "set", self.outside, "up", "promisc", "on")
        offloads = itertools.chain.from_iterable((name, "off") for name in OFFLOADS)
        offloads = list(offloads)
        self.run("ethtool", "-K", self.inside, *offloads)
        run("ethtool", "-K", self.outside, *offloads)

    def move_outside(self, host, name):
        """Move the other end into another host, under that name."""
        run("ip", "link", "set", self.outside, "netns", host.name, "name", name)
        host.run("ip", "link", "set", name, "up", "promisc", "on")

    def move_inside(self, host, name):
        """Move this end into another host, under that name; none remains here."""
        self.run("ip", "link", "set", self.inside, "netns", host.name, "name", name)
        host.run("ip", "link", "set", name, "up")

    def run(self, *command, **options):
        return run("ip", "netns", "exec", self.name, *command, **options)

    def start(self, *command):
        return subprocess.Popen(["ip", "netns", "exec", self.name, *map(str, command)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def send(self, frames, folder, at_once=30):
        """Send raw frames in order, with a pause of 2 ms after every `at_once`, because the
        driver's ring is short and the machine may be busy."""
        path = pathlib.Path(folder) / ("send-%d" % next(_serial))
        path.write_bytes(b"".join(struct.pack("<I", len(f)) + f for f in frames))
        program = ("import socket,struct,time\n"
                   "s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\n"
                   "s.bind((%r,0))\n"
                   "d=open(%r,'rb').read()\n"
                   "i=k=0\n"
                   "while i<len(d):\n"
                   " n,=struct.unpack_from('<I',d,i)\n"
                   " s.send(d[i+4:i+4+n])\n"
                   " i+=4+n\n"
                   " k+=1\n"
                   " if k%%%d==0: time.sleep(0.002)\n" % (self.inside, str(path), at_once))
        self.run(sys.executable, "-c", program)


class Listener:
    """tcpdump on a host's interface; frames() stops it. Packets are written to the file at once; by
    default the kernel keeps them for up to a second."""

    def __init__(self, test, host, expression="", direction="inout", interface=None):
        self.path = test.folder / ("listen-%d.pcap" % next(_serial))
        self._size, self._seen = 0, []
        self._process = host.start("tcpdump", "-i", interface or host.inside, "-U", "-B", 65536,
                                   "--immediate-mode", "-Q", direction, "-w", self.path,
                                   *expression.split())
        test.addCleanup(self._end)
        while "listening on" not in self._process.stderr.readline():
            if self._process.poll() is not None:
                raise AssertionError("tcpdump did not start")

    def _end(self):
        if self._process.poll() is None:
            self._process.terminate()
        self._process.communicate()

    def seen(self):
        size = self.path.stat().st_size
        if size != self._size:
            self._size, self._seen = size, [p.data for p in exact_answer.Capture(self.path)]
        return self._seen

    def settled(self, at_least):
        """Return all frames once there are at least so many and none arrived for a moment."""
        harness.wait_for(lambda: len(self.seen()) >= at_least,
                         lambda: "%d frames (%d came)" % (at_least, len(self.seen())))
        quiet = 0
        before = len(self.seen())
        while quiet < 10:
            time.sleep(0.02)
            now = len(self.seen())
            quiet = quiet + 1 if now == before else 0
            before = now
        return self.seen()

    def frames(self, at_least):
        """Return the same, and stop."""
        self.settled(at_least)
        self._end()
        return self.seen()


def iperf3(test, client, server, address, *options):
    """Return iperf3's report of a transfer to the server's address; both ends have ended."""
    process = server.start("iperf3", "-s", "-1")
    test.addCleanup(lambda: process.poll() is None and process.kill())
    harness.wait_for(lambda: ":5201" in server.run("ss", "-ltn").stdout, "iperf3's server")
    done = client.run("iperf3", "-J", "-c", address, *options)
    process.communicate(timeout=harness.PATIENCE)
    return json.loads(done.stdout)


def _sum16(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp_frame(number, source=1, target=2, ttl=64, mac_shift=0, vlan=None, size=64):
    """Return a different frame for each number; the other arguments make another copy of it."""
    payload = struct.pack(">Q", number).ljust(size, b"\x5a")
    addresses = bytes((10, 99, 0, source, 10, 99, 0, target))
    udp = struct.pack(">HHHH", 20000 + number % 64, PORT, 8 + len(payload), 0) + payload
    pseudo = addresses + struct.pack(">BBH", 0, 17, len(udp))
    udp = udp[:6] + struct.pack(">H", _sum16(pseudo + udp) or 0xFFFF) + udp[8:]
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 2 + number % 65000, 0x4000, ttl, 17, 0)
    header = header[:10] + struct.pack(">H", _sum16(header + addresses)) + addresses
    macs = bytes((2, 0, 0, 0, mac_shift, target, 2, 0, 0, 0, mac_shift, source))
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return macs + tag + b"\x08\x00" + header + udp


def copies_of(number):
    """Return the same packet as other taps would see it."""
    return [udp_frame(number, ttl=63, mac_shift=1), udp_frame(number, ttl=62, mac_shift=2)]


class WireTest(harness.E2eTest):
    def veth(self, name, other):
        """Make a cable between two interfaces of this namespace, without other traffic."""
        run("ip", "link", "add", name, "numrxqueues", 1, "numtxqueues", 1, "type", "veth", "peer",
                 "name", other, "numrxqueues", 1, "numtxqueues", 1)
        for interface in (name, other):
            self.addCleanup(run, "ip", "link", "del", interface, check=False)
            run("sysctl", "-q", "-w", "net.ipv6.conf.%s.disable_ipv6=1" % interface, check=False)
            run("ip", "link", "set", interface, "up", "promisc", "on")

    def wait_until_running(self, running=None):
        with self.telemetry(running) as telemetry:
            harness.wait_for(lambda: _polls(telemetry), "polling workers")

    def assert_consistent(self, telemetry):
        """Every packet is accounted for, in total and on each worker; return the counters."""
        counters = telemetry.ask("/unecho/counters")
        self.assert_conserved(counters)
        for worker in telemetry.ask("/unecho/workers").values():
            self.assertEqual(worker["rx_packets"] + worker["handed_in"],
                             worker["settled"] + worker["handed_out"], worker)
        return counters


def _polls(telemetry):
    try:
        workers = telemetry.ask("/unecho/workers")
    except (KeyError, ValueError):
        return False
    return bool(workers) and all(worker["polls"] > 0 for worker in workers.values())


def memifs(folder):
    """Return devices for two ports without interfaces, whose peers never connect."""
    return ["net_memif%d,role=server,id=0,socket=%s,socket-abstract=no"
            % (number, pathlib.Path(folder) / (name + ".sock"))
            for number, name in enumerate(("left", "right"))]


def link(left, right, on_echo="drop", more_ports=(), **options):
    """Return a bump in the wire: a filter for each direction, with these options."""
    options = {"window": "20ms", "rate": "500kpps", "tags": "ignore", **options}
    return {
        "port": [{"name": "left", "device": left}, {"name": "right", "device": right},
                 *more_ports],
        "filter": [{"name": "rightward", **options}, {"name": "leftward", **options}],
        "route": [{"from": ["left"], "to": "right", "filter": "rightward", "on_echo": on_echo},
                  {"from": ["right"], "to": "left", "filter": "leftward", "on_echo": on_echo}],
    }
