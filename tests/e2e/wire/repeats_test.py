#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeats of real TCP stacks, on a link, at taps, and behind a port that mirrors each frame twice.

Between two hosts is a path that loses packets and records every transmission. So it is known how
often each packet has to arrive, however late programs run: windows are long where copies must be
found, and every ring holds all packets sent.
"""
import collections
import itertools
import os
import pathlib
import random
import sys

import labs
import wire
from lossy_path import LEFT, RIGHT, LossyPath, Tap
from wire import Host, Listener, harness

import frames  # noqa: E402  labs has put tools/ on the path

FRAMES = 8192  # capacity of an af_packet ring, and half of a ring between workers: more than a transfer has
LEARNING = 31  # second looks of a population that a worker keeps while it learns
PORTS = range(20000, 30000)
RECEIVE = """
import hashlib, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
print("listening", flush=True)
stream, _ = listener.accept()
digest, data = hashlib.sha256(), b"-"
while data:
    data = stream.recv(1 << 16)
    digest.update(data)
stream.close()
print(digest.hexdigest())
"""
SEND = """
import hashlib, socket, sys
data = open(sys.argv[3], "rb").read()
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as stream:
    stream.sendall(data)
    stream.shutdown(socket.SHUT_WR)
    while stream.recv(1):
        pass
print(hashlib.sha256(data).hexdigest())
"""


def repeats(transmissions, side):
    """Return how many transmissions from one side equal an earlier one."""
    sent = [one.frame for one in transmissions if one.side == side]
    return len(sent) - len(set(sent))


class Hosts(wire.WireTest):
    """Two hosts with IPv4 and IPv6 that speak TCP on request."""

    def setUp(self):
        super().setUp()
        self.one, self.two = labs.End(self, 1), labs.End(self, 2)
        self.one.settle(self.two, "in0")
        self.two.settle(self.one, "in0")
        self._ports = iter(PORTS)

    def speak(self, timestamps, sack):
        """Set the TCP options from now on. A new flow label after a timeout would act like an
        ID."""
        for host in (self.one, self.two):
            host.run("sysctl", "-q", "-w", "net.ipv4.tcp_timestamps=%d" % timestamps,
                     "net.ipv4.tcp_sack=%d" % sack, "net.ipv6.auto_flowlabels=0")

    def transfer(self, family, size):
        """Send so many bytes from one to two by TCP; all of them arrive."""
        address, port = labs.underlay(family, 2), str(next(self._ports))
        data = self.folder / "data"
        data.write_bytes(random.Random(size).randbytes(size))
        receiver = self.two.start(sys.executable, "-c", RECEIVE, address, port)
        self.addCleanup(lambda: receiver.poll() is None and receiver.kill())
        self.assertEqual(receiver.stdout.readline(), "listening\n")
        sent = self.one.run(sys.executable, "-c", SEND, address, port, data).stdout
        self.assertEqual(receiver.communicate(timeout=harness.PATIENCE)[0], sent)


@wire.needs_namespaces
class Link(Hosts):
    """The unchanged configs/link-af-packet.toml except for the interfaces; behind it one packet in
    200 is lost."""

    def setUp(self):
        super().setUp()
        self.veth("behind", "before")
        text = (harness.ROOT / "configs" / "link-af-packet.toml").read_text(encoding="utf-8")
        config = self.folder / "link.toml"
        config.write_text(text.replace("eth1", self.one.outside).replace("eth2", "before"), encoding="utf-8")
        self.running = self.start(config, "--json")
        self.addCleanup(self.running.__exit__)
        self.wait_until_running()

    def path(self, lose):
        return LossyPath(self, "behind", self.two.outside, lose)

    def assert_nothing_dropped(self):
        self.running.interrupt()
        report = self.report_of(self.running.finish())
        for route in report["routes"]:
            self.assertEqual(harness.nonzero(route["reasons"]).get("echo", 0), 0, route)
        self.assertEqual(report["totals"]["dropped"], report["reasons"]["tx_lost"], report)

    def test_tcp_without_timestamps_loses_no_retransmission_and_no_duplicate_ack(self):
        path = self.path(200)
        for sack in (1, 0):
            self.speak(timestamps=0, sack=sack)
            self.transfer(6, 3_000_000)
        sent = path.end()
        print("%d transmissions, %d and %d repeats" % (len(sent), repeats(sent, LEFT), repeats(sent, RIGHT)))
        self.assertGreater(repeats(sent, LEFT), 10, "equal retransmissions")
        self.assertGreater(repeats(sent, RIGHT), 0, "equal acknowledgements")
        self.assert_nothing_dropped()

    def frame(self, next_header, body, target, hops=64, vlan=None, mac=None):
        packet = frames.ipv6(self.one.address6, target, next_header, body, hops)
        macs = bytes.fromhex((mac or self.two.mac).replace(":", "") + self.one.mac.replace(":", ""))
        return frames.ethernet(packet, frames.IPV6, macs, [] if vlan is None else [(frames.VLAN, vlan)])

    def test_datagrams_and_hellos_that_are_equal_arrive_as_often_as_they_were_sent(self):
        wire.run("ip", "link", "set", "behind", "netns", self.two.name)
        self.two.ip("link set behind up promisc on")
        counters = self.frame(frames.UDP, frames.udp(self.one.address6, self.two.address6, (8125, 8125),
                                                     b"requests:1|c"), self.two.address6)
        # VRRPv3 of one router in 20 VLANs of a trunk, twice.
        hellos = [self.frame(112, b"\x31\x01\x64\x01\0\x64\0\0" + frames.packed("fe80::1"), "ff02::12", 255,
                             vlan, "33:33:00:00:00:12") for vlan in range(100, 120)]
        listener = Listener(self, self.two, "udp port 8125 or vlan", interface="behind")
        self.one.send([counters] * 50, self.folder, at_once=1)
        self.one.send(hellos * 2, self.folder)
        got = collections.Counter(listener.frames(50 + 2 * 20))
        self.assertEqual(got, collections.Counter([counters] * 50 + hellos * 2))
        self.assert_nothing_dropped()


@wire.needs_namespaces
class Observed(Hosts):
    """Taps on the path, into one tool port, where each transmission has to arrive once. The window
    is longer than a test."""

    def observe(self, *taps, lose=0, workers=1, **options):
        """Put the taps on the path, and unecho behind them. Ports of one tap form a group."""
        self._tool, self._names = Host(self, 3), ["tap%d" % port for tap in taps for port in tap.ports]
        ports = []
        for tap in taps:
            for number in tap.ports:
                self.veth("tap%d" % number, "shown%d" % number)
                ports.append(self.port(number, "tap%d" % number))
                ports[-1].update({"group": "tap-%d" % tap.ports[0]} if len(tap.ports) > 1 else {})
        lcores = sorted(os.sched_getaffinity(0))[:workers]
        self._workers = len(lcores)
        self._running = self.start(
            {"port": [*ports, {**self.port(len(ports), self._tool.outside), "name": "tool"}],
             "filter": [{"name": "echo", "window": "60s", "rate": "1kpps", "max_false_drop": 1e-12,
                         "repeats": "keep", **options}],
             "route": [{"from": self._names, "to": "tool", "filter": "echo"}],
             "workers": {"lcores": lcores, "ring_size": 2 * FRAMES}}, "--json")
        self.addCleanup(self._running.__exit__)
        self.wait_until_running()
        self._listener, self._taps = Listener(self, self._tool), taps
        self._path = LossyPath(self, self.one.outside, self.two.outside, lose, [
            Tap(tap.side, ["shown%d" % number for number in tap.ports], tap.times) for tap in taps])

    @staticmethod
    def port(number, interface):
        return {"name": interface,
                "device": "net_af_packet%d,iface=%s,framecnt=%d" % (number, interface, FRAMES)}

    def transfer(self, family, size):
        """Transfer, then wait until unecho has received what the taps showed, so that no ring
        overflows."""
        super().transfer(family, size)
        self._wait_for_all()

    def _wait_for_all(self):
        """Return the counters when no packet is underway."""
        def taken():
            shown = sum(int(pathlib.Path("/sys/class/net", name, "statistics/rx_packets").read_text())
                        for name in self._names)
            counters = telemetry.ask("/unecho/counters")
            return counters if counters["received"] == shown and counters["in_flight"] == 0 else None
        with self.telemetry(self._running) as telemetry:
            return harness.wait_for(taken, "all that the taps showed")

    def every_stack(self, size):
        for timestamps, sack, family in itertools.product((0, 1), (0, 1), (6, 4)):
            self.speak(timestamps, sack)
            self.transfer(family, size)

    def account(self):
        """Return ({frame: transmissions that never arrived}, {frame: copies that did})."""
        sent = self._path.end()
        got = self._listener.frames(self._wait_for_all()["forwarded"])
        self._running.interrupt()
        report = self.report_of(self._running.finish())
        self.assertEqual([report["reasons"][name] for name in ("overload", "tx_lost")], [0, 0], report)
        self.assertEqual([port["rx_missed"] for port in report["ports"]], [0] * len(report["ports"]))
        seen = [one for one in sent if not one.lost or any(one.side == tap.side for tap in self._taps)]
        print("%d transmissions, %d and %d repeats" % (
            len(seen), repeats(seen, LEFT), repeats(seen, RIGHT)), flush=True)
        if any(one.lost for one in sent):
            self.assertGreater(repeats(seen, LEFT) + repeats(seen, RIGHT), 0, "nothing to tell apart")
        wanted, arrived = (collections.Counter(each) for each in ([one.frame for one in seen], got))
        return wanted - arrived, arrived - wanted

    def assert_each_arrives_once(self):
        lost, left = self.account()
        self.assertEqual((sum(lost.values()), sum(left.values())), (0, 0), "lost, left")

    def learn(self):
        """Send enough flows without repeats for each worker to learn that a port doubles both
        directions."""
        for host, peer in ((self.one, self.two), (self.two, self.one)):
            macs = bytes.fromhex((peer.mac + host.mac).replace(":", ""))
            host.send([frames.ethernet(frames.ipv6(
                host.address6, peer.address6, frames.UDP, frames.udp(
                    host.address6, peer.address6, (1000 + number, 9), b"")), macs=macs)
                for number in range(128 * self._workers)], self.folder)

    def assert_copies_are_those_of_learning(self):
        """A worker forwards the first 31 copies of each direction, and none of identified
        packets."""
        lost, left = self.account()
        self.assertEqual(sum(lost.values()), 0, "lost")
        of_pair = collections.Counter()
        for frame, times in left.items():
            of_pair[frame[:12]] += times
        macs = [bytes.fromhex(host.mac.replace(":", "")) for host in (self.one, self.two)]
        self.assertEqual([of_pair[to + by] for to, by in itertools.permutations(macs)],
                         [LEARNING * self._workers] * 2)
        self.assertLessEqual(max(of_pair.values()), LEARNING * self._workers)


BETWEEN = Tap(LEFT, [0]), Tap(RIGHT, [1])
BESIDE = Tap(LEFT, [0]), Tap(LEFT, [1])
THREE = Tap(LEFT, [0]), Tap(RIGHT, [1]), Tap(LEFT, [2])
LAG = Tap(LEFT, [0, 1]), Tap(RIGHT, [2])
SPAN = Tap(LEFT, [0], 2)


class Quick(Observed):
    """One packet in 50 is lost."""
    SIZE, LOSE = 200_000, 50

    def test_taps_on_both_sides_of_the_loss(self):
        self.observe(*BETWEEN, lose=self.LOSE)
        self.every_stack(self.SIZE)
        self.assert_each_arrives_once()

    def test_taps_at_the_members_of_a_lag(self):
        self.observe(*LAG, lose=self.LOSE)
        self.speak(timestamps=0, sack=0)
        self.transfer(6, 3 * self.SIZE)
        self.assert_each_arrives_once()

    def test_a_span_that_doubles(self):
        # However late the second look is read from the ring, it counts as one.
        self.observe(SPAN, lose=self.LOSE, same_port="4s")
        self.learn()
        self.every_stack(self.SIZE)
        self.assert_copies_are_those_of_learning()


class Whole(Observed):
    """More taps, more loss, and two workers if there are two CPUs."""


def _whole(lose, *taps):
    def each_arrives_once(test):
        test.observe(*taps, lose=lose, workers=2)
        test.every_stack(1_000_000)
        test.assert_each_arrives_once()
    return each_arrives_once


def _whole_span(lose):
    def copies_are_those_of_learning(test):
        test.observe(SPAN, lose=lose, workers=2, same_port="4s")
        test.learn()
        test.every_stack(1_000_000)
        test.assert_copies_are_those_of_learning()
    return copies_are_those_of_learning


for _lose in (0, 1000, 100, 20):
    _loss = "one_in_%d_lost" % _lose if _lose else "lossless"
    for _name, _taps in {"between": BETWEEN, "beside": BESIDE, "three": THREE, "lag": LAG}.items():
        setattr(Whole, "test_taps_%s_%s" % (_name, _loss), _whole(_lose, *_taps))
    setattr(Whole, "test_span_" + _loss, _whole_span(_lose))


if __name__ == "__main__":
    harness.main()
