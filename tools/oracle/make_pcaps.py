#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the captures in pcaps/, their exact answers and their README; the bytes are always the
same.

    tools/oracle/make_pcaps.py [FOLDER]         default: pcaps/ of this repository

Traffic consists of conversations, each between two hosts of its own. A conversation sends a burst
every 150 ms, whose packets and prompt copies all pass within 45 ms. So under every key mode an echo
is younger than 45 ms or older than 90 ms. A filter with a window of 50 ms and a slack of up to 40
ms has no choice: its answers must be the exact ones. This is checked before anything is written.
"""
import hashlib
import heapq
import json
import pathlib
import random
import sys

import exact_answer
import frames

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
START = 1_700_000_000 * SECOND
PERIOD, BURST = 150 * MS, 30 * MS
WINDOW, ZONE = 50 * MS, (45 * MS, 90 * MS)
README = """\
# Captures

Made by `tools/oracle/make_pcaps.py` out of nothing but its code; running it again gives the same
bytes. No traffic of anybody is in here. Each `NAME.answer.json` holds the exact answers of
`tools/oracle/exact_answer.py` for a window of 50 ms and policy `fixed`: counts for each key mode
and, for each file, the echoes as a bit string in hexadecimal (the first digit's highest bit is
frame 1). The two taps are answered together, merged by time. Where `exact_for_slack` says 40 ms, no
packet meets a reference of its key that is 45 to 90 ms old, whatever the key mode or policy, so
that a filter with window 50 ms and slack up to 40 ms must give exactly these answers.

| file | packets | echoes: packet | flow | flow-bidir | frame | what is in it |
|---|---:|---:|---:|---:|---:|---|
"""


class Draw:
    """Random choices that are equal in every Python version: all are made from random()."""

    def __init__(self, seed):
        self._random = random.Random(seed).random

    def below(self, n):
        return int(self._random() * n)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def chance(self, share):
        return self._random() < share


def filler(serial, length):
    """Return a payload whose first bytes identify the packet."""
    return (b"%08x" % serial + bytes(range(32, 127)) * (length // 95 + 1))[:max(length, 8)]


def payload_length(draw):
    kind = draw.below(10)
    return draw.between(8, 60) if kind < 6 else draw.between(60, 250) if kind < 9 \
        else draw.between(300, 500)


class Conversation:
    """Two hosts that exchange packets of one kind. say() returns one burst of (True from the
    server, payload, EtherType). Any two packets differ in more than the fields that a router may
    change."""

    def __init__(self, number, kind, draw, version=4, size=payload_length, turns=2):
        self.kind, self.version, self.size, self.turns = kind, version, size, turns
        self._draw, self._serial, self._fresh = draw, number << 16, True
        if version == 4:
            self.hosts = "10.1.%d.%d" % divmod(number, 250), "198.51.100.%d" % (number % 250 + 1)
        else:
            self.hosts = "2001:db8:1::%x" % (number + 1), "2001:db8:2::%x" % (number + 1)
        self._ports = 49152 + draw.below(16000), (4433, 5201, 7777, 9999)[number % 4]
        self._identification = [draw.below(65536), draw.below(65536)]
        self._sequence = [draw.below(1 << 32), draw.below(1 << 32)]
        self._label = draw.below(1 << 20)

    def say(self):
        return getattr(self, "_say_" + self.kind)()

    def _next(self):
        self._serial += 1
        return self._serial

    def _ends(self, back):
        return self.hosts[::-1] if back else self.hosts

    def _port_pair(self, back):
        return self._ports[::-1] if back else self._ports

    def _ip(self, back, protocol, segment, **fields):
        if self.version == 4:
            self._identification[back] += 1
            packet = frames.ipv4(*self._ends(back), protocol, segment,
                                 self._identification[back], **fields)
        else:
            packet = frames.ipv6(*self._ends(back), protocol, segment, flow_label=self._label,
                                 **fields)
        return back, packet, frames.ethertype_of(packet)

    def _payload(self):
        return filler(self._next(), self.size(self._draw))

    def _exchange(self, make):
        """Make `turns` packets in each direction."""
        return [make(back) for _ in range(self.turns) for back in (0, 1)]

    # Retransmissions: on IPv4 only the identification changes, on IPv6 the TCP timestamps.
    def _tcp(self, back, data=b"", flags=0x10):
        sent = self._sequence[back]
        self._sequence[back] += len(data) + (flags & 2) // 2

        def segment():
            return frames.tcp(*self._ends(back), self._port_pair(back), data, sent,
                              self._sequence[1 - back], flags, (clock, 7))
        clock = self._next()
        out = [self._ip(back, frames.TCP, segment())]
        if data and self._draw.chance(0.15):
            clock = clock if self.version == 4 else self._next()
            out.append(self._ip(back, frames.TCP, segment()))
        return out

    def _say_tcp(self):
        out = []
        if self._fresh:
            out = self._tcp(0, flags=2) + self._tcp(1, flags=0x12) + self._tcp(0)
        self._fresh = False
        for turn in range(self.turns):
            out += self._tcp(turn % 2, self._payload(), 0x18) + self._tcp(1 - turn % 2)
        return out

    def _udp(self, back):
        return frames.udp(*self._ends(back), self._port_pair(back), self._payload())

    def _say_udp(self):
        return self._exchange(lambda back: self._ip(back, frames.UDP, self._udp(back)))

    def _say_udplite(self):
        return self._exchange(lambda back: self._ip(back, frames.UDPLITE, frames.udplite(
            *self._ends(back), self._port_pair(back), self._payload())))

    def _say_sctp(self):
        return self._exchange(lambda back: self._ip(back, frames.SCTP, frames.sctp(
            self._port_pair(back), 0xCAFE + back,
            frames.sctp_data(self._next(), self._payload()))))

    def _say_icmp(self):
        def message(back):
            if self.version == 4:
                return frames.icmp(0 if back else 8, self._ports[0], self._next() & 0xFFFF,
                                   self._payload())
            return frames.icmpv6(*self._ends(back), 129 if back else 128, self._payload())
        return self._exchange(lambda back: self._ip(
            back, frames.ICMP if self.version == 4 else frames.ICMPV6, message(back)))

    def _say_esp(self):
        return self._exchange(lambda back: self._ip(
            back, frames.ESP, b"\0\0\x10\x01" + self._next().to_bytes(4, "big") + self._payload()))

    def _say_options(self):
        """Router alert: an IPv4 option, or a hop-by-hop header."""
        def packet(back):
            segment = self._udp(back)
            if self.version == 4:
                return self._ip(back, frames.UDP, segment, options=b"\x94\x04\0\0")
            return self._ip(back, frames.HOP_BY_HOP, frames.hop_by_hop(frames.UDP) + segment)
        return self._exchange(packet)

    def _say_fragments(self):
        """One datagram in each direction, in three fragments."""
        out = []
        for back in (0, 1):
            datagram = frames.udp(*self._ends(back), self._port_pair(back),
                                  filler(self._next(), 400 + self._draw.below(100)))
            identification, at = self._next(), range(0, len(datagram), 176)
            for offset in at:
                part, more = datagram[offset:offset + 176], offset != at[-1]
                if self.version == 4:
                    packet = frames.ipv4(*self._ends(back), frames.UDP, part, identification,
                                         fragment=more << 13 | offset // 8)
                else:
                    packet = frames.ipv6(*self._ends(back), frames.FRAGMENT, frames.ipv6_fragment(
                        frames.UDP, offset, more, identification, part), flow_label=self._label)
                out.append((back, packet, frames.ethertype_of(packet)))
        return out

    def _say_arp(self):
        return [(back, frames.arp(1 + back, frames.MAC_A[6:], *self._ends(back)), frames.ARP)
                for back in (0, 1)]

    def _say_lldp(self):
        return [(0, b"\x02\x07\x04\x02\0\0\0\0\x0b\x04\x03\x05p1\x06\x02\0\x78\0\0", frames.LLDP)]


class Scene:
    """Frames at one or more taps, each with the answer that its maker intends in packet mode."""

    def __init__(self, taps, unique_times):
        self._taps = [[] for _ in range(taps)]
        self._taken = set() if unique_times else None

    def add(self, tap, time, frame, intended):
        time -= time % US
        while self._taken is not None and time in self._taken:
            time += US
        if self._taken is not None:
            self._taken.add(time)
        self._taps[tap].append((time, frame, intended))

    def taps(self):
        """Return the frames of each tap, ordered by time."""
        return [sorted(tap, key=lambda entry: entry[0]) for tap in self._taps]


MACS = (bytes.fromhex("02000000000a02000000000b"), bytes.fromhex("02000000010c02000000010d"))


def turned(macs, back):
    return macs[6:] + macs[:6] if back else macs


def framed_at(tap, number, back, payload, ethertype):
    """Frame a payload: at tap b with a VLAN tag; in some conversations with QinQ, MPLS or a trailer
    instead."""
    macs = turned(MACS[tap], back)
    if tap == 0:
        return frames.ethernet(payload, ethertype, macs)
    style = number % 13
    if style == 7:
        return frames.ethernet(payload, ethertype, macs, ((frames.QINQ, 7), (frames.VLAN, 20)))
    if style == 11 and ethertype in (frames.IPV4, frames.IPV6):
        return frames.ethernet(payload, ethertype, macs, labels=(1000, 2000))
    trailer = b"\xde\xad\xbe\xef" if style == 3 else b""
    return frames.ethernet(payload, ethertype, macs, ((frames.VLAN, 20),), trailer=trailer)


def passed_on(number, payload, ethertype):
    """Return the payload as a router forwards it; other payloads than IP stay unchanged."""
    if ethertype not in (frames.IPV4, frames.IPV6):
        return payload
    return frames.routed(payload, tos=0x28 if number % 13 == 5 else None)


MIX = ("tcp", "udp", "tcp", "tcp", "udp", "icmp", "tcp", "sctp", "udplite", "fragments", "options",
       "tcp", "esp", "udp", "tcp")


def mixed_conversations(count, draw):
    """Make conversations: a third of them IPv6, every kind of MIX in both versions, ARP and LLDP at
    the end."""
    talks = [Conversation(number, MIX[number % len(MIX)], draw,
                          6 if number // len(MIX) % 3 == 1 else 4) for number in range(count)]
    return talks + [Conversation(count + extra, kind, draw)
                    for extra, kind in enumerate(("arp", "arp", "lldp"))]


def bursts(conversations, count, draw):
    """Return (start, conversation number, time, back, payload, EtherType) of every packet."""
    for number, talk in enumerate(conversations):
        phase = PERIOD * number // len(conversations)
        for burst in range(count):
            start = START + phase + burst * PERIOD
            said = talk.say()
            step = BURST // (len(said) + 1)
            for index, (back, payload, ethertype) in enumerate(said):
                time = start + index * step + draw.below(step)
                yield start, number, time, back, payload, ethertype


def two_taps():
    """Most packets pass both taps, the one nearer to their sender first."""
    draw, scene = Draw(1), Scene(2, unique_times=True)
    for start, number, time, back, payload, ethertype in bursts(mixed_conversations(60, draw), 9,
                                                                draw):
        is_ip = ethertype in (frames.IPV4, frames.IPV6)
        new, echo = ("new", "echo") if is_ip else ("non_ip", "non_ip")
        near = back
        scene.add(near, time, framed_at(near, number, back, payload, ethertype), new)
        if draw.chance(0.05) or ethertype == frames.LLDP:
            continue
        copy = framed_at(1 - near, number, back, passed_on(number, payload, ethertype), ethertype)
        if draw.chance(0.03):  # delayed into the conversation's next burst
            scene.add(1 - near, start + PERIOD + draw.below(BURST), copy, new)
            continue
        delay = draw.between(20, 5000) * US
        scene.add(1 - near, time + delay, copy, echo)
        if draw.chance(0.03):  # the second tap's own switch mirrors it twice
            scene.add(1 - near, time + delay + draw.between(1, 900) * US, copy, echo)
    return scene.taps()


def one_link():
    """A mirror port that sees some packets twice: unchanged, or also behind the router."""
    draw, scene = Draw(2), Scene(1, unique_times=False)
    for _, number, time, back, payload, ethertype in bursts(mixed_conversations(30, draw), 6, draw):
        is_ip = ethertype in (frames.IPV4, frames.IPV6)
        scene.add(0, time, framed_at(0, number, back, payload, ethertype),
                  "new" if is_ip else "non_ip")
        if draw.chance(0.4):
            tap = draw.below(2)
            copy = passed_on(number, payload, ethertype) if tap else payload
            delay = 0 if draw.chance(0.1) else draw.below(10_000) * US
            scene.add(0, time + delay, framed_at(tap, number, back, copy, ethertype),
                      "echo" if is_ip else "non_ip")
    return scene.taps()


def flows():
    """Few conversations with many packets a burst, without copies."""
    draw, scene = Draw(3), Scene(1, unique_times=False)

    def small(drawn):
        return drawn.between(8, 30)
    talks = [Conversation(number, ("tcp", "udp", "icmp", "sctp")[number % 4], draw,
                          6 if number in (1, 4, 6) else 4, small, turns=6) for number in range(8)]
    for _, number, time, back, payload, ethertype in bursts(talks, 9, draw):
        scene.add(0, time, framed_at(0, number, back, payload, ethertype), "new")
    return scene.taps()


def jumbo():
    """Frames of 1514 to 9014 bytes; every second one has a copy."""
    draw, scene = Draw(4), Scene(1, unique_times=False)
    sizes = iter((1472, 1473, 2000, 2048, 2049, 4000, 4096, 6000, 8191, 8972, 8952, 8972) * 2)
    talks = [Conversation(number, "udp", draw, 4 + 2 * (number % 2), lambda _: next(sizes), turns=1)
             for number in range(4)]
    for index, (_, number, time, back, payload, ethertype) in enumerate(bursts(talks, 3, draw)):
        scene.add(0, time, framed_at(0, number, back, payload, ethertype), "new")
        if index % 2:
            copy = passed_on(number, payload, ethertype)
            scene.add(0, time + draw.below(10_000) * US,
                      framed_at(1, number, back, copy, ethertype), "echo")
    return scene.taps()


def header_prototypes():
    """Return frames that together have every header that the parser handles."""
    v4, v6 = ("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")
    ports = (4000, 5000)
    optioned = frames.ipv4(*v4, frames.TCP, frames.tcp(*v4, ports, b"data"), 77,
                           options=b"\x94\x04\0\0")
    udp6 = frames.udp(*v6, ports, b"data")
    extended = frames.ipv6(*v6, frames.HOP_BY_HOP, frames.hop_by_hop(frames.FRAGMENT)
                           + frames.ipv6_fragment(60, 0, True, 9, bytes((51, 0)) + bytes(6)
                                                  + bytes((frames.UDP, 1)) + bytes(10) + udp6))
    return [
        frames.ethernet(optioned, tags=((frames.VLAN, 5),), pad=False),
        frames.ethernet(extended, pad=False),
        frames.ethernet(frames.ipv4(*v4, frames.SCTP, frames.sctp(ports, 1, b""), 78),
                        tags=((frames.QINQ, 5), (0x9100, 6), (0x9200, 7)), pad=False),
        frames.ethernet(frames.ipv6(*v6, frames.UDP, udp6), labels=(16, 17, 18), pad=False),
    ]


def absurd_frames():
    """Yield frames whose headers contradict themselves, or are extremely long."""
    v4, v6 = ("192.0.2.3", "192.0.2.4"), ("2001:db8::3", "2001:db8::4")
    ip4 = frames.ipv4(*v4, frames.UDP, frames.udp(*v4, (1, 2), b"payload of it"), 99)
    ip6 = frames.ipv6(*v6, frames.UDP, frames.udp(*v6, (1, 2), b"payload of it"))

    def changed(ip, at, value):
        return frames.ethernet(ip[:at] + value + ip[at + len(value):], frames.ethertype_of(ip))
    for first in range(256):  # every version and header length
        if first not in (0x45, 0x60):
            yield changed(ip4, 0, bytes((first,)))
            yield changed(ip6, 0, bytes((first,)))
    for length in (0, 1, 19, 20, 21, 24, 28, 60, 1500, 0x7FFF, 0xFFFF):
        yield changed(ip4, 2, length.to_bytes(2, "big"))
        yield changed(ip6, 4, length.to_bytes(2, "big"))
    yield changed(ip6, 4, b"\0\0\x3b")                     # no next header, and no payload
    for protocol in (0, 43, 44, 50, 51, 59, 60, 135, 139, 140, 253, 255):
        yield changed(ip4, 9, bytes((protocol,)))
        yield changed(ip6, 6, bytes((protocol,)))
    for fragment in (0x1FFF, 0x2000, 0x2001, 0x3FFF, 0x8000, 0xFFFF):
        yield changed(ip4, 6, fragment.to_bytes(2, "big"))
    for units in (0, 1, 4, 255):                           # extension headers of every length
        chain = bytes((60, units)) + bytes(6 + 8 * units)
        yield frames.ethernet(frames.ipv6(*v6, 0, chain + chain), pad=False)
        yield frames.ethernet(frames.ipv6(*v6, 0, chain[:7]), pad=False)
        yield frames.ethernet(frames.ipv6(*v6, 51, b"\x11" + chain[1:]), pad=False)
    yield frames.ethernet(frames.ipv6(*v6, 0, frames.hop_by_hop(0) * 150
                                      + frames.hop_by_hop(frames.UDP) + ip6[40:]))
    for depth in (3, 64, 300):
        yield frames.ethernet(ip4, labels=range(16, 16 + depth))
        yield frames.ethernet(ip6, tags=((frames.VLAN, 1),) * depth)
        bottomless = bytes.fromhex("0001003f") * depth
        yield frames.ethernet(bottomless, frames.MPLS, pad=False)
        yield frames.ethernet(b"\0\x01\x81\0" * depth, frames.VLAN, pad=False)
    for ethertype in (0, 1, 46, 1500, 1501, 1535, 1536, 0x0806, 0x8863, 0x8864, 0x88CC, 0xFFFF):
        yield frames.ethernet(ip4, ethertype)
    for nibble in (0, 5, 15):                              # pseudo-wires
        yield frames.ethernet(bytes((nibble << 4,)) + ip4[1:], frames.IPV4, labels=(3,))


def malformed():
    """Packets without a key in packet mode occur twice, and those with one once: all must pass."""
    everything = [whole[:length] for whole in header_prototypes()
                  for length in range(len(whole) + 1)] + list(absurd_frames())
    scene = Scene(1, unique_times=False)
    seen, time = set(), START
    for frame in everything:
        try:
            key, intended = exact_answer.key_of("packet", frame), ["new"]
        except exact_answer.NoKey as no_key:
            key, intended = frame, [no_key.args[0]] * 2
        if key in seen:
            continue
        seen.add(key)
        for kind in intended:
            scene.add(0, time, frame, kind)
            time += 20 * US
    return scene.taps()


EDGE_WINDOWS = (1 * MS, WINDOW, SECOND)


def edges():
    """Few packets, repeated so that ages equal a window, 1 us less, or 1 us more.

    All times have the same part below a microsecond, so truncating it changes no age.
    """
    draw, out, time = Draw(5), [], START + 789
    hosts = "10.0.0.1", "10.0.0.2"
    equal = [frames.ethernet(frames.ipv4(*hosts, frames.UDP, frames.udp(*hosts, (1, 2), content)))
             for content in (b"one", b"two", b"three")]
    for window in EDGE_WINDOWS:
        steps = [part + off for part in (0, window // 2, window) for off in (-US, 0, US)]
        for _ in range(150):
            out.append((time, equal[draw.below(len(equal))], None))
            time += -window // 5 if draw.chance(0.05) else steps[draw.below(len(steps))]
    return [out]


class Wrong(Exception):
    """A capture does not contain what its maker intends."""


def check_intent(name, packets, intended):
    for number, (answer, kind) in enumerate(
            zip(exact_answer.answers(packets, "packet", WINDOW), intended), 1):
        if answer.kind != kind:
            raise Wrong("%s: packet %d is %s, intended %s" % (name, number, answer.kind, kind))


def check_zone(name, packets):
    """Check that answers do not change while the window moves through the zone, so that no age lies
    in it."""
    for key in exact_answer.KEYS:
        for policy in exact_answer.POLICIES:
            for first in (1, 2, 3, 7):
                low, high = (list(exact_answer.answers(packets, key, window, policy, first))
                             for window in ZONE)
                if low != high:
                    raise Wrong("%s: an age under key %s, policy %s lies between 45 and 90 ms"
                                % (name, key, policy))


def to_bits(flags):
    """Return flags as hexadecimal digits, the first flag highest; see from_bits."""
    text = "".join("1" if flag else "0" for flag in flags)
    text += "0" * (-len(text) % 4)
    return "%0*x" % (len(text) // 4, int(text or "0", 2)) if text else ""


def from_bits(digits, count):
    """Return the numbers from 1 of the set flags, among count."""
    text = "".join(format(int(digit, 16), "04b") for digit in digits)[:count]
    return [number for number, flag in enumerate(text, 1) if flag == "1"]


def check_edges(name, packets, _):
    """Check that each window, 1 us less and 1 us more give three different answers."""
    for window in EDGE_WINDOWS:
        for policy in exact_answer.POLICIES:
            given = {tuple(exact_answer.answers(packets, "packet", window + off, policy))
                     for off in (-US, 0, US)}
            if len(given) < 3:
                raise Wrong("%s: an edge of the window %d ns does not show" % (name, window))


def check_decided(name, packets, intended):
    check_intent(name, packets, intended)
    check_zone(name, packets)


class Made:
    """A capture, or captures of several taps: how to make, check, write and describe them."""

    def __init__(self, name, make, text, files=None, check=check_decided, cut=0, **written):
        self.name, self.text, self.files = name, text, files or (name + ".pcap",)
        self._check, self._cut, self._written = check, cut, written
        self.taps = make()
        order = list(heapq.merge(
            *([(time, tap, frame, intended) for time, frame, intended in entries]
              for tap, entries in enumerate(self.taps)), key=lambda entry: entry[0]))
        self._tap_of = [tap for _, tap, _, _ in order]
        self._packets = [exact_answer.Packet(time, exact_answer.ETHERNET, frame)
                         for time, _, frame, _ in order]
        check(name, self._packets, [intended for *_, intended in order])

    def answer(self):
        """Return JSON data."""
        keys = {}
        for key in exact_answer.KEYS:
            kinds = [answer.kind for answer in
                     exact_answer.answers(self._packets, key, WINDOW)]
            echoes = [to_bits(kind == "echo" for kind, at in zip(kinds, self._tap_of) if at == tap)
                      for tap in range(len(self.taps))]
            keys[key] = {**{kind: kinds.count(kind) for kind in exact_answer.KINDS},
                         "echoes": echoes}
        return {"files": list(self.files), "packets": [len(tap) for tap in self.taps],
                "window": "50ms", "policy": "fixed", "first": 1,
                "exact_for_slack": "40ms" if self._check is check_decided else None, "keys": keys}

    def data(self, tap):
        """Return the bytes of a file; cut: append so many bytes of one more record."""
        packets = [(time, frame) for time, frame, _ in self.taps[tap]]
        return frames.pcap(packets, **self._written) + frames.pcap(packets[:1])[24:][:self._cut]


def everything():
    yield Made("two-taps", two_taps, files=("two-taps-a.pcap", "two-taps-b.pcap"), text=(
        "the same traffic at two taps, 20 us to 5 ms apart: routed copies (TTL, MACs, checksum), at"
        " tap b tagged (VLAN, QinQ, MPLS); some packets at one tap only, some copies 120 to 180 ms"
        " late (no echoes), TCP retransmissions with a new IP ID (no echoes)"))
    yield Made("one-link", one_link, "a mirror port: copies 0 to 10 ms apart, unchanged or routed;"
               " all protocols of the two taps")
    yield Made("flows", flows,
               "few flows with many packets, no copies: for flow modes with `first`")
    yield Made("jumbo", jumbo, "frames of 1,514 to 9,042 bytes and copies of every second one")
    yield Made("malformed", malformed, "headers cut at every length, wrong versions and lengths,"
               " endless VLAN, MPLS and extension stacks; what has no key comes twice, and neither"
               " may be lost")
    yield Made("edges", edges, "three packets again and again, their ages just below, at and just"
               " above 1 ms, 50 ms and 1 s; time steps back at times; nanoseconds, big-endian",
               check=check_edges, nanoseconds=True, order=">")
    yield Made("cut", lambda: [one_link()[0][:40]],
               "the file ends inside the record behind the last packet", cut=29)


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rows, sums = [], []
    for made in everything():
        answer = made.answer()
        for tap, file in enumerate(made.files):
            data = made.data(tap)
            (folder / file).write_bytes(data)
            sums.append("| %s | `%s` |" % (file, hashlib.sha256(data).hexdigest()))
        (folder / (made.name + ".answer.json")).write_text(json.dumps(answer, indent=1) + "\n")
        rows.append("| %s | %s | %s | %s |" % (
            ", ".join(made.files), " + ".join(map(str, answer["packets"])),
            " | ".join(str(answer["keys"][key]["echo"]) for key in exact_answer.KEYS), made.text))
    (folder / "README.md").write_text(
        README + "\n".join(rows) + "\n\n| file | SHA-256 |\n|---|---|\n" + "\n".join(sums) + "\n")


def main(argv):
    folder = pathlib.Path(argv[1]) if len(argv) > 1 \
        else pathlib.Path(__file__).resolve().parents[2] / "pcaps"
    if len(argv) > 2 or folder.name.startswith("-"):
        print(__doc__, end="", file=sys.stderr)
        return 2
    try:
        write(folder)
    except (OSError, Wrong) as error:
        print("make_pcaps: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
