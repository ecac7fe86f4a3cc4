#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of docs/tunnels.md, configs/mirror-*.toml: each on captures made to match it, in the
appliance and as the unecho pcap command in its comment. One copy of each packet remains, the first
one bit for bit, and nothing else is lost.
"""
import json
import random
import re
import shlex
import socket
import subprocess
import tomllib

import harness
from harness import MS, ROOT, SECOND, US

import encapsulate  # noqa: E402  harness has put tools/ on the path
import frames  # noqa: E402

START = 1_700_000_000 * SECOND
NAMES = ("mirror-cloud", "mirror-erspan", "mirror-fabric", "mirror-upf")
SENDER, ROUTER = bytes.fromhex("0200000000aa0200000000ab"), bytes.fromhex("0200000000ba0200000000bb")
CONVERSATIONS = 24


def packet(draw, number, backwards=False):
    """Return a packet of a conversation, TCP or UDP, IPv4 or IPv6; all differ."""
    talk = number % CONVERSATIONS
    ends = ["10.1.0.%d" % talk, "10.2.0.%d" % talk] if talk % 2 else \
        ["fd01::%x" % talk, "fd02::%x" % talk]
    ports = [40000 + talk, 443]
    if backwards:
        ends.reverse()
        ports.reverse()
    payload = b"%08d" % number + draw.randbytes(draw.choice((0, 40, 400, 1300)))
    kind = frames.TCP if talk % 4 < 2 else frames.UDP
    segment = frames.tcp(*ends, ports, payload, 1000 * number) if kind == frames.TCP else \
        frames.udp(*ends, ports, payload)
    if talk % 2:
        return frames.ipv4(*ends, kind, segment, draw.randrange(1, 1 << 16))
    return frames.ipv6(*ends, kind, segment)


def plain(ip, macs=SENDER, tags=()):
    return frames.ethernet(ip, macs=macs, tags=tags, pad=False)


def arp(number):
    return frames.ethernet(frames.arp(1, SENDER[6:], "10.1.0.1", "10.1.%d.%d" % divmod(number, 256)),
                           frames.ARP)


class Feed:
    """Deliveries of taps and mirrors: the frames of each port, and those that are to remain."""

    def __init__(self, *ports):
        self._frames = {port: [] for port in ports}
        self._firsts = {}  # by packet: the first of its copies that arrives
        self._serial = 0
        self.tunnelled = self.other = 0

    def add(self, port, time, frame, what, tunnelled=False, other=False):
        """what: equal for two frames that are copies."""
        self._serial += 1
        time = START + time // US * US  # with net_pcap's resolution
        while any(time == other_time for other_time, _ in self._frames[port][-64:]):
            time += US
        self._frames[port].append((time, frame))
        key = (time, list(self._frames).index(port), self._serial)
        self._firsts[what] = min(self._firsts.get(what, (key, frame)), (key, frame))
        self.tunnelled += tunnelled
        self.other += other

    def write(self, paths):
        """Write one file a port, each in the order of its times."""
        for made, path in zip(self._frames.values(), paths):
            path.write_bytes(frames.pcap(sorted(made, key=lambda each: each[0])))

    @property
    def expected(self):
        return [frame for _, frame in sorted(self._firsts.values())]

    @property
    def count(self):
        return sum(map(len, self._frames.values()))


def outer(number, protocol, payload, source="192.0.2.1"):
    """Return an outer header as a mirror makes it, with an ID of its own."""
    return frames.ethernet(frames.ipv4(source, "192.0.2.200", protocol, payload, number), pad=False)


def outer_udp(number, port, payload, source="192.0.2.1"):
    udp = frames.udp(source, "192.0.2.200", (49152 + number % 1000, port), payload)
    return outer(number, frames.UDP, udp, source)


# ---- feeds --------------------------------------------------------------------------------------

def cloud(count=400):
    """Two sessions, one cut to 142 bytes of each frame; some packets by a Gateway Load Balancer,
    late and in another order."""
    draw, feed = random.Random(1), Feed("mirror")
    serial = 0
    for number in range(count):
        time, ip = number * 300 * US, packet(draw, number)
        sent = [(time, ip, number)]
        if ip[0] >> 4 == 4 and draw.random() < 0.1:  # sent again, with a new ID
            again = frames.ipv4(socket.inet_ntoa(ip[12:16]), socket.inet_ntoa(ip[16:20]), ip[9],
                                ip[20:], int.from_bytes(ip[4:6], "big") ^ 0x8000)
            sent.append((time + 40 * MS, again, (number, "again")))
        for when, given, what in sent:
            for session in draw.choice(((1,), (2,), (1, 2), (1, 2), (2, 1))):
                serial += 1
                frame = plain(given)[:142 if session == 1 else None]
                source = "192.0.2.%d" % session
                mirrored = outer_udp(serial, 4789, encapsulate.vxlan(frame, 1000 + session), source)
                if draw.random() < 0.3:
                    option = encapsulate.geneve_option(b"endpoint")
                    mirrored = outer_udp(serial, 6081, encapsulate.geneve(
                        mirrored[14:], frames.IPV4, 0, option), "192.0.2.9")
                feed.add("mirror", when + draw.randrange(50 * US, 20 * MS), mirrored, what,
                         tunnelled=True)
    return feed


def erspan(count=400):
    """Two switches, types II and III, with a router between them; one of them carries ARP."""
    draw, feed = random.Random(2), Feed("collector")
    for number in range(count):
        time, ip = number * 200 * US, packet(draw, number)
        one = encapsulate.gre(encapsulate.erspan_ii(plain(ip), 10), encapsulate.ERSPAN_II,
                              sequence=number)
        routed = plain(frames.routed(ip), ROUTER, [(frames.VLAN, 7)])
        two = encapsulate.gre(encapsulate.erspan_iii(
            routed, 20, subheader=b"platform" if number % 2 else None), encapsulate.ERSPAN_III,
            sequence=number)
        for switch, gre in draw.choice((((1, one),), ((2, two),), ((1, one), (2, two)))):
            feed.add("collector", time + draw.randrange(5 * US, 3 * MS),
                     outer(number, 47, gre, "192.0.2.%d" % switch), number, tunnelled=True)
        if number % 50 == 0:
            for switch in (1, 2):  # without an IP packet inside: the outer packets count, which differ
                gre = encapsulate.gre(encapsulate.erspan_ii(arp(number), 10), encapsulate.ERSPAN_II,
                                      sequence=number)
                feed.add("collector", time, outer(5000 + number, 47, gre, "192.0.2.%d" % switch),
                         ("arp", switch, number), other=True)
    return feed


def fabric(count=400):
    """Some packets stay at the leaf; some come from the spine. A broadcast goes to three leaves."""
    draw, feed = random.Random(3), Feed("leaf", "spine")
    serial = 0

    def overlay(frame, source):
        nonlocal serial
        serial += 1
        return outer_udp(serial, 4789, encapsulate.vxlan(frame, 71), source)

    for number in range(count):
        time, ip = number * 200 * US, packet(draw, number)
        way = draw.choice(("local", "out", "in"))
        later = time + draw.randrange(5 * US, 2 * MS)
        if way == "in":
            feed.add("spine", time, overlay(plain(ip), "192.0.2.2"), number, tunnelled=True)
        feed.add("leaf", later if way == "in" else time, plain(ip), number)
        if way == "out":
            feed.add("spine", later, overlay(plain(ip), "192.0.2.1"), number, tunnelled=True)
        if number % 40 == 0:
            hello = frames.ipv4("10.3.0.1", "10.3.255.255", frames.UDP,
                                frames.udp("10.3.0.1", "10.3.255.255", (520, 520), b"all"), number + 2)
            for leaf in range(3):
                feed.add("spine", time + leaf * 10 * US, overlay(plain(hello), "192.0.2.1"),
                         ("hello", number), tunnelled=True)
    return feed


def upf(count=480):
    """Uplink and downlink. Nothing of conversation 0 reaches N6, and nothing of conversation 1
    reaches N3."""
    draw, feed = random.Random(4), Feed("n3", "n6")
    for number in range(count):
        time, talk = number * 200 * US, number % CONVERSATIONS
        uplink = number // CONVERSATIONS % 2 == 0 if talk > 1 else talk == 0
        ip = packet(draw, number, backwards=not uplink)
        later = time + draw.randrange(20 * US, 5 * MS)
        on_n3 = frames.routed(ip) if not uplink else ip
        gtp = encapsulate.gtp_u(on_n3, 500 + 2 * talk + uplink,
                                extensions=[(0x85, b"\x10\x09" if uplink else b"\x00\x09")])
        if talk != 1:
            feed.add("n3", time if uplink else later,
                     outer_udp(number, 2152, gtp, "192.0.2.%d" % (3 + uplink)), number,
                     tunnelled=True)
        if talk != 0:
            feed.add("n6", later if uplink else time,
                     plain(frames.routed(ip) if uplink else ip, ROUTER), number)
        if number % 100 == 0:
            echo = encapsulate.gtp_u(b"", 0, sequence=number, kind=1)
            udp = frames.udp("192.0.2.3", "192.0.2.4", (2152, 2152), echo)
            feed.add("n3", time, frames.ethernet(frames.ipv4("192.0.2.3", "192.0.2.4", frames.UDP,
                                                             udp, number)), ("echo", number),
                     other=True)
    return feed


FEEDS = dict(zip(NAMES, (cloud, erspan, fabric, upf)))


# ---- recipes ------------------------------------------------------------------------------------

class Recipes(harness.E2eTest):
    def recipe(self, name):
        """Return (its text, its document, captures of its taps written under the names that it
        uses)."""
        text = (ROOT / "configs" / (name + ".toml")).read_text()
        document, feed = tomllib.loads(text), FEEDS[name]()
        command, = re.findall(r"^#   unecho (pcap .*)$", text, re.M)
        self.arguments = shlex.split(command)
        self.captures = [self.folder / each for each in self.arguments[1:]
                         if each.endswith(".pcap")][:-1]
        self.assertEqual(len(self.captures), len(document["route"][0]["from"]))
        feed.write(self.captures)
        self.assertLess(len(feed.expected), feed.count)
        return document, feed

    def on_captures(self, document):
        """Replace interfaces by captures with their time; the rest of the recipe stays."""
        route, = document["route"]
        for number, port in enumerate(document["port"]):
            if port["name"] == route["to"]:
                port["device"] = "net_pcap%d,tx_pcap=tool.pcap" % number
            else:
                capture = self.captures[route["from"].index(port["name"])]
                port["device"] = "net_pcap%d,rx_pcap=%s" % (number, capture)
        return {**document, "eal": {"args": []},
                "run": {"clock": "capture", "stop_when_idle": "200ms", "seed": 1}}

    def unecho(self, *arguments):
        done = subprocess.run([harness.os.environ["UNECHO_BIN"], *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def check_counters(self, counters, feed):
        self.assertEqual(
            {name: counters[name] for name in ("tunnelled", "tunnel_fragments", "tunnel_malformed",
                                               "tunnel_other", "tunnel_too_deep")},
            {"tunnelled": feed.tunnelled, "tunnel_fragments": 0, "tunnel_malformed": 0,
             "tunnel_other": feed.other, "tunnel_too_deep": 0})

    def test_one_copy_of_each_packet_is_left_and_nothing_else_is_gone(self):
        for name in NAMES:
            with self.subTest(recipe=name):
                document, feed = self.recipe(name)
                report = self.report(self.on_captures(document))
                self.assert_frames(harness.frames_of(self.folder / "tool.pcap"), feed.expected, name)
                self.assertEqual(report["totals"]["dropped"], feed.count - len(feed.expected))
                self.check_counters(report["filters"][0], feed)

    def test_the_command_for_captures_does_the_same(self):
        for name in NAMES:
            with self.subTest(recipe=name):
                _, feed = self.recipe(name)
                summary = self.unecho(*self.arguments, "--json")
                output = self.arguments[self.arguments.index("-o") + 1]
                self.assert_frames(harness.frames_of(self.folder / output), feed.expected, name)
                self.check_counters(summary["tunnels"], feed)

    def test_the_command_says_of_the_filter_what_the_configuration_says(self):
        for name in NAMES:
            with self.subTest(recipe=name):
                document, _ = self.recipe(name)
                asked, = document["filter"]
                summary = self.unecho(*self.arguments, "--json")
                self.assertEqual(set(summary["tunnels_opened"]), set(asked["tunnels"]))
                self.assertEqual(summary["key_bytes"], asked.get("key_bytes"))
                self.assertEqual(summary["window_ns"],
                                 harness.exact_answer.duration(asked["window"]))

    def test_flows_that_only_one_side_of_the_upf_saw_are_counted(self):
        document, _ = self.recipe("mirror-upf")
        taps = self.report(self.on_captures(document))["routes"][0]["taps"]
        self.assertEqual((taps["a"], taps["b"]), ("n3", "n6"))
        # Only N3 has conversation 0 and GTP-U's own messages.
        self.assertEqual({each: taps["total"][each] for each in ("only_a", "only_b", "both")},
                         {"only_a": 2, "only_b": 1, "both": CONVERSATIONS - 2})


if __name__ == "__main__":
    harness.main()
