# SPDX-License-Identifier: BSD-3-Clause
"""Random captures with simulated senders, mirrors and taps, so that each packet is known to be the
first sight of its transmission, a copy, or a repeat. mix(seed) -> Mix; write(mix, folder) ->
Written.

Hosts on the left talk to hosts on the right of a path. The path has points of observation with a
link, a tag, a router or a hop between them. A Look shows all or some packets at one point, plain or
in a tunnel, to a capture, which loses some and has its own clock. Senders behave as real ones: TCP
retransmits after a round trip or a timeout, resolvers ask again, hellos repeat.
"""
import collections
import dataclasses
import math
import pathlib
import random
import struct
import sys

import made_captures

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import encapsulate  # noqa: E402
import frames  # noqa: E402

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
START = 1_700_000_000 * SECOND
IEEE802_11 = 105
FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
MOST_PACKETS = 20_000
LONGEST = 190 * MS  # the longest delay from one point to another
POOL = random.Random(1).randbytes(1 << 16)  # payloads are slices of this

# captures: for each, a rising list of (time, frame, number of the transmission). contents: for each
# transmission, a value that equal transmissions share. unclear: contents that no observer could
# judge (Maker.unclear). delay: the longest delay of a copy.
Mix = collections.namedtuple("Mix", "seed kind text link nanoseconds snaplens interfaces captures contents "
                                    "unclear delay")
# order: (time, number of the transmission) of each packet, in the order of unecho's decisions.
Written = collections.namedtuple("Written", "paths order")
# One packet on its way. flow: by which a mirror of some flows selects. reach: number of points
# before it is lost. local: no router forwards it.
Sent = collections.namedtuple("Sent", "time host flow packet ethertype macs local reach")
# share: (how packets are selected, what share). late: delay from the point to the capture.
Look = collections.namedtuple("Look", "point capture wrap share late cut")


def checksum(data):
    """Return the checksum of RFC 1071, computed fast as a remainder."""
    return 0xFFFF - int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def bytes_of(content):
    """Return the bytes of an IP packet, or of a frame without a readable one."""
    if not isinstance(content, bytes):
        return content[0]
    in_the_clear = content[0] == 8 and not content[1] & 0x40  # 802.11, without an IP ID
    return content[32:] if in_the_clear else content


def log_uniform(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def delay_law(draw, low, high):
    """Return (text, function that draws a delay in ns, at most LONGEST). The median lies in low ..
    high."""
    median = log_uniform(draw, low, high)
    kind = draw.choice(("fixed", "uniform", "lognormal"))
    spread = draw.uniform(0.1, 0.8)
    text = "%s %.3g us" % (kind, median / US)
    if kind == "fixed":
        return text, lambda: int(median * draw.uniform(0.99, 1.01))
    if kind == "uniform":
        return text, lambda: int(min(median * draw.uniform(1 - spread, 1 + spread), LONGEST))
    return text, lambda: int(min(median * draw.lognormvariate(0, spread), 20 * median, LONGEST))


@dataclasses.dataclass(eq=False)
class Host:
    number: int
    left: bool
    mode: str  # IPv4 IDs: counted, random or zero
    identification: int

    @property
    def mac(self):
        return bytes([2, 0, 0, 0, self.left, self.number])

    def address(self, v6):
        if v6:
            return b"\x20\x01\x0d\xb8" + bytes(9) + bytes([self.left, 0, self.number])
        return bytes([10, 1 + self.left, 0, self.number])


class Senders:
    """Makes the transmissions of a mix's traffic."""

    def __init__(self, draw, family, loss, shortest_rtt, count, points):
        self.draw, self.loss, self.shortest_rtt, self.count = draw, loss, shortest_rtt, count
        self.family, self.sent, self.points = family, [], points
        modes = {"counted": ("counted", "counted", "random"), "zero": ("zero",), "v6": ("zero",),
                 "mixed": ("counted", "zero", "random")}[family]
        self.hosts = [Host(number, left, draw.choice(modes), draw.randrange(1 << 16))
                      for left in (True, False) for number in range(1, draw.randrange(2, 9))]
        self.span = int(log_uniform(draw, 0.5 * SECOND, 60 * SECOND))

    # ---- packets ----

    def ip(self, host, destination, v6, protocol, body, ttl):
        source = host.address(v6)
        if v6:
            return struct.pack(">IHBB", 6 << 28, len(body), protocol, ttl) + source + destination + body
        identification = 0
        if host.mode != "zero":
            host.identification = (host.identification + 1) % 65536 if host.mode == "counted" \
                else self.draw.randrange(65536)
            identification = max(host.identification, 2)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), identification, 0x4000, ttl, protocol,
                           0) + source + destination
        return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + body

    def send(self, time, host, other, v6, protocol, body, flow, reach=None, ttl=64, group=None):
        """Send one packet. group: (MAC, address) of a multicast group, which no router forwards."""
        mac, destination = group or (other.mac, other.address(v6))
        at = {frames.TCP: 16, frames.UDP: 6, frames.ICMPV6: 2}.get(protocol)
        if at:
            value = checksum(host.address(v6) + destination + struct.pack(">II", len(body), protocol) + body)
            body = body[:at] + struct.pack(">H", value) + body[at + 2:]
        self.sent.append(Sent(int(time), host, flow, self.ip(host, destination, v6, protocol, body, ttl),
                              frames.IPV6 if v6 else frames.IPV4, (mac, host.mac), bool(group), reach))

    def udp(self, time, host, other, v6, ports, data, flow, **more):
        self.send(time, host, other, v6, frames.UDP, struct.pack(">HHHH", *ports, 8 + len(data), 0) + data,
                  flow, **more)

    def frame(self, time, host, mac, ethertype, body):
        """Send a frame without an IP packet."""
        self.sent.append(Sent(int(time), host, host, body, ethertype, (mac, host.mac), True, None))

    def pair(self):
        """Return two hosts, one on each side."""
        hosts = [self.draw.choice([host for host in self.hosts if host.left is left])
                 for left in (True, False)]
        self.draw.shuffle(hosts)
        return hosts

    def v6(self):
        return self.family == "v6" or self.family == "mixed" and self.draw.random() < 0.4

    def begin(self):
        return self.draw.randrange(self.span)

    def rtt(self):
        return max(log_uniform(self.draw, 200 * US, 80 * MS), self.shortest_rtt)

    def lost(self):
        """Return how many points see a packet that is lost on its way."""
        return self.draw.randrange(self.points + 1)

    # ---- TCP ----

    def tcp(self, most):
        """Simulate a connection that fetches data, until it has made `most` packets."""
        draw, rtt, v6 = self.draw, self.rtt(), self.v6()
        client, server = self.pair()
        flow, end = object(), len(self.sent) + most
        stamps, sack = draw.random() < 0.6, draw.random() < 0.8
        size = draw.choice((120, 536, 1428))
        gap = size * 8 * SECOND / log_uniform(draw, 10e6, 10e9)
        port, service = draw.randrange(32768, 61000), draw.choice((80, 443, 22, 8080))
        ours, theirs = draw.randrange(1 << 31), draw.randrange(1 << 31)
        timeout = max(200 * MS, 2 * rtt)

        def segment(time, from_client, flags, sequence, acknowledged, data=b"", blocks=(), reach=None):
            options = b""
            if stamps:
                options += b"\1\1\x08\x0a" + struct.pack(">II", 9000 + int(time // MS),
                                                        700_000 + int((time - rtt / 2) // MS))
            if blocks and sack:
                options += b"\1\1\5\x0a" + struct.pack(">II", *blocks)
            ports = (port, service) if from_client else (service, port)
            body = struct.pack(">HHIIBBHHH", *ports, sequence % (1 << 32), acknowledged % (1 << 32),
                               (20 + len(options)) * 4, flags, 8192, 0, 0) + options + data
            self.send(time, *((client, server) if from_client else (server, client)), v6, frames.TCP, body,
                      flow, reach)

        def payload(at, length):
            at = at * 7919 % (len(POOL) - 2000)
            return POOL[at:at + length]

        time = self.begin() + rtt / 2
        segment(time, True, SYN, ours, 0)
        segment(time + rtt / 2, False, SYN | ACK, theirs, ours + 1)
        ours, theirs, time = ours + 1, theirs + 1, time + rtt
        segment(time, True, ACK, ours, theirs)
        window, idle = 10, True
        while len(self.sent) < end:
            if idle:  # the next request
                length = draw.randrange(20, 400)
                segment(time + 50 * US, True, PUSH | ACK, ours, theirs, payload(ours, length))
                ours, time = ours + length, time + rtt / 2 + log_uniform(draw, 50 * US, 20 * MS)
            count = min(window, draw.randrange(1, 65))
            time, lossy = self.window(time, segment, payload, (rtt, gap, timeout, size), ours, theirs, count,
                                      sack)
            theirs, idle = theirs + count * size, draw.random() < 0.2
            time += log_uniform(draw, MS, 500 * MS) if idle else 0
            window = max(2, window // 2) if lossy else min(2 * window, 64)
        self.close(time, segment, rtt, gap, ours, theirs)

    def window(self, time, segment, payload, measures, ours, theirs, count, sack):
        """Send one window of data with its acknowledgements and retransmissions. Return its end,
        and whether a packet was lost."""
        draw, (rtt, gap, timeout, size) = self.draw, measures
        lost = [i for i in range(count) if draw.random() < self.loss]

        def data(when, i, fails):
            segment(when, False, ACK, theirs + i * size, ours, payload(theirs + i * size, size),
                    reach=self.lost() if fails else None)

        for i in range(count):
            data(time + i * gap, i, i in lost)
        missing, unanswered, duplicates = lost[0] if lost else count, 0, []
        for i in range(count):
            at = time + i * gap + rtt / 2
            if i < missing:
                unanswered += 1
                if unanswered == 2 or i == missing - 1:
                    late = 40 * MS if unanswered == 1 and i == count - 1 else 5 * US  # a delayed ACK
                    segment(at + late, True, ACK, ours, theirs + (i + 1) * size)
                    unanswered = 0
            elif i not in lost:
                duplicates.append(at)
                segment(at + 5 * US, True, ACK, ours, theirs + missing * size,
                        blocks=(theirs + (missing + 1) * size, theirs + (i + 1) * size))
        when = time + max(count * gap, rtt)
        if lost:
            when = duplicates[2] + rtt / 2 if len(duplicates) > 2 else time + count * gap + (
                timeout if draw.random() < 0.5 else 2 * rtt + 2 * MS)  # or a tail loss probe
        for number, i in enumerate(lost):
            wait, fails = timeout, draw.random() < self.loss
            while fails:
                data(when, i, True)
                when, wait, fails = when + wait, 2 * wait, draw.random() < self.loss
            data(when, i, False)
            last = number + 1 == len(lost)
            segment(when + rtt / 2 + 5 * US, True, ACK, ours,
                    theirs + (count if last else lost[number + 1]) * size)
            when += gap if sack and not last else rtt
        return when, bool(lost)

    def close(self, time, segment, rtt, gap, ours, theirs):
        how = self.draw.random()
        if how < 0.1:  # the port is closed: an equal RST for each segment in flight
            for i in range(self.draw.randrange(2, 10)):
                segment(time + i * gap, True, RST, ours, 0)
        elif how < 0.25:  # idle: keep-alives
            period = self.draw.choice((1, 10, 45)) * SECOND
            for i in range(1, self.draw.randrange(2, 7)):
                segment(time + i * period, True, ACK, ours - 1, theirs)
                segment(time + i * period + rtt / 2, False, ACK, theirs, ours)
        elif how < 0.3:  # the peer's window is full: probes at growing intervals
            for i in range(self.draw.randrange(2, 7)):
                time += 200 * MS << i
                segment(time, False, ACK, theirs - 1, ours)
                segment(time + rtt / 2, True, ACK, ours, theirs)
        else:
            segment(time, True, FIN | ACK, ours, theirs)
            segment(time + rtt / 2, False, FIN | ACK, theirs, ours + 1)
            segment(time + rtt, True, ACK, ours + 1, theirs + 1)

    # ---- without connections ----

    def question(self):
        """DNS: repeat the query until it is answered."""
        draw, rtt, v6 = self.draw, self.rtt(), self.v6()
        client, server = self.pair()
        ports, number = (draw.randrange(32768, 61000), 53), struct.pack(">H", draw.randrange(1 << 16))
        name = POOL[draw.randrange(9000):][:draw.randrange(20, 60)]
        time, flow = self.begin(), object()
        for wait in (draw.choice((1, 2, 5)) * SECOND,) * 3:
            fails = draw.random() < 0.02 + self.loss
            self.udp(time, client, server, v6, ports, number + b"\1\0" + name, flow,
                     reach=self.lost() if fails else None)
            if not fails:
                self.udp(time + rtt / 2 + log_uniform(draw, 50 * US, 50 * MS), server, client, v6,
                         ports[::-1], number + b"\x81\x80" + name + bytes(16), flow)
                return
            time += wait

    def stream(self):
        """Send numbered datagrams, as RTP does."""
        draw, v6, (host, other), flow = self.draw, self.v6(), self.pair(), object()
        period, time = draw.choice((500 * US, 2 * MS, 20 * MS)), self.begin()
        size, ports = draw.choice((160, 400, 1200)), (draw.randrange(16384, 32768), 5004)
        for number in range(draw.randrange(10, max(20, self.count // 8))):
            self.udp(time + (number + draw.uniform(0, 0.1)) * period, host, other, v6, ports, struct.pack(
                ">HHII", 0x8060, number, number * 160, 77) + POOL[number * 31 % 60000:][:size], flow)

    def ping(self):
        draw, v6, (host, other), flow = self.draw, self.v6(), self.pair(), object()
        rtt, time, name = self.rtt(), self.begin(), draw.randrange(1 << 16)
        for number in range(draw.randrange(3, 20)):
            for late, ends, kind in ((0, (host, other), (8, 128)), (rtt / 2, (other, host), (0, 129))):
                body = struct.pack(">BBHHHQ", kind[v6], 0, 0, name, number, int(time)) + POOL[:40]
                if not v6:
                    body = body[:2] + struct.pack(">H", checksum(body)) + body[4:]
                self.send(time + late, *ends, v6, frames.ICMPV6 if v6 else frames.ICMP, body, flow)
            time += SECOND

    def counters(self):
        """Send one datagram for each event, as statsd does; many are equal."""
        draw, v6, (host, other), flow = self.draw, self.v6(), self.pair(), object()
        names, rate, time = draw.randrange(20, 200), log_uniform(draw, 50, 5000), self.begin()
        for _ in range(draw.randrange(20, max(40, self.count // 4))):
            time += draw.expovariate(rate) * SECOND
            self.udp(time, host, other, v6, (40001, 8125),
                     b"app.requests.%d:1|c" % int(names * draw.random() ** 2), flow)

    # ---- what repeats ----

    def every(self, period, jitter, make, most=None):
        """Call make(time, number) periodically, at most as often as the span allows and for a tenth
        of all packets."""
        begin = self.draw.uniform(0, min(period, self.span))
        for number in range(most or max(4, self.count // 10)):
            if begin + number * period > self.span:
                return
            make(begin + number * period + self.draw.gauss(0, jitter) * period, number)

    def hellos(self):
        """Run some of the protocols that repeat their messages."""
        draw = self.draw

        def group(v6, last):
            if v6:
                return b"\x33\x33\0\0\0" + bytes([last]), b"\xff\2" + bytes(13) + bytes([last])
            return bytes([1, 0, 0x5E, 0, 0, last]), bytes([224, 0, 0, last])

        def hello(protocol, last, body, period, ttl, jitter=0.001):
            host, v6 = draw.choice(self.hosts), self.v6()
            self.every(period, jitter, lambda time, _: self.send(
                time, host, None, v6, protocol, body, host, ttl=ttl, group=group(v6, last)))

        def asked(port, last, gaps, ttl):
            for number in range(draw.randrange(1, 12)):
                host, v6, time = draw.choice(self.hosts), self.v6(), self.begin()
                for gap in (0, *gaps):
                    time += gap
                    self.udp(time, host, None, v6, (port, port), b"%06d" % number + bytes(range(30)), host,
                             ttl=ttl, group=group(v6, last))

        def bfd():
            ends, v6, period = self.pair(), self.v6(), draw.choice((50, 100, 300)) * MS
            for host, other in (ends, ends[::-1]):
                body = b"\x20\xc0\3\x18" + struct.pack(">II", host.number, other.number) + bytes(12)
                self.every(0.88 * period, 0.06, lambda time, _, host=host, other=other, body=body: self.udp(
                    time, host, other, v6, (49152, 3784), body, host, ttl=255))

        def arp():
            for _ in range(draw.randrange(1, 12)):
                host, time = draw.choice(self.hosts), self.begin()
                body = frames.arp(1, host.mac, "10.1.0.%d" % host.number,
                                  "10.1.0.%d" % draw.randrange(200, 250))
                for number in range(draw.choice((1, 3))):
                    self.frame(time + number * SECOND, host, b"\xff" * 6, frames.ARP, body)

        def bpdu():
            host = draw.choice(self.hosts)
            self.every(2 * SECOND, 0.001, lambda time, _: self.frame(
                time, host, b"\1\x80\xc2\0\0\0", 38, b"\x42\x42\3" + bytes(35)))

        for chance, say in (
                (0.4, lambda: hello(112, 18, b"\x31\1\x64\1\0\1" + bytes(14), SECOND, 255)),  # VRRP
                (0.3, lambda: hello(89, 5, b"\2\1" + bytes(42), 10 * SECOND, 1, 0.01)),       # OSPF
                (0.4, lambda: asked(5353, 251, (SECOND, 2 * SECOND), 255)),                   # mDNS
                (0.2, lambda: asked(5353, 251, (250 * MS, 250 * MS), 255)),  # mDNS probe: is the name free?
                (0.3, lambda: asked(5355, 252, (100 * MS,), 1)),             # LLMNR
                (0.15, bfd), (0.5, arp), (0.3, bpdu)):
            if draw.random() < chance:
                say()

    def cycles(self):
        """A fieldbus in which some frames are equal over many cycles. Return its description."""
        draw, (host, other) = self.draw, self.pair()
        cycle = draw.choice((250 * US, 500 * US, MS, 2 * MS, 4 * MS))
        jitter, changed = draw.choice((0.0002, 0.002, 0.02)), draw.choice((0, 0.05, 0.3, 1))
        counted, inputs, outputs = draw.random() < 0.5, 0, 0

        def change():
            nonlocal inputs, outputs
            inputs, outputs = inputs + (draw.random() < changed), outputs + (draw.random() < changed)

        def ethercat(time, number):
            change()
            head = struct.pack(">HBBIHHQ", 0x2C10, 12, number % 16 if counted else 0, 0x1000, 0x2000, 0, outputs)
            self.frame(time, host, b"\xff" * 6, 0x88A4, head + bytes(26))
            # The ring returns the frame, with the devices' data, from another address.
            self.sent.append(Sent(int(time + 30 * US), other, host, head + struct.pack(">Q", inputs)
                                  + bytes(16) + b"\3\0", 0x88A4,
                                  (b"\xff" * 6, bytes([host.mac[0] ^ 4]) + host.mac[1:]), True, None))

        def profinet(time, number):
            for one, two, late in ((host, other, 0), (other, host, 9 * US)):
                change()
                self.frame(time + late, one, two.mac, 0x8892, b"\x80\0" + struct.pack(">Q", outputs) + bytes(
                    30) + struct.pack(">HH", number * cycle // 31250 % 65536, 0x3500))

        def goose(time, number):
            self.frame(time, host, b"\1\x0c\xcd\1\0\1", 0x88B8, struct.pack(
                ">HHIII", 1, 70, 0, number // 8, number % 8) + bytes(54))

        def powerlink(time, _):
            change()
            self.frame(time, host, b"\1\x11\x1e\0\0\1", 0x88AB, b"\1\xff\xf0" + bytes(43))
            self.frame(time + 20 * US, host, other.mac, 0x88AB, b"\3\1\xf0" + struct.pack(
                ">Q", outputs) + bytes(35))

        make, most = draw.choice((ethercat, profinet, goose, powerlink)), max(100, self.count // 2)
        self.span = cycle * most
        self.every(cycle, jitter, make, most)
        return "%s every %g ms" % (make.__name__, cycle / MS)

    def traffic(self):
        """Make traffic until there are as many packets as wanted."""
        while len(self.sent) < self.count:
            what = self.draw.random()
            if what < 0.45:
                self.tcp(int(log_uniform(self.draw, 8, max(20, self.count / 3))))
            elif what < 0.7:
                self.question()
            elif what < 0.76:
                self.stream()
            else:
                self.ping()


class Maker:
    """Decides which points, mirrors and captures see the traffic, and what they record."""

    KINDS = {"nothing copied": 3, "nothing copied, cyclic": 1, "mirror, unchanged": 5,  # and their weights
             "mirror, unchanged, cyclic": 1, "mirror, tagged": 3, "mirror, routed": 3, "mirror, TTL alone": 2,
             "mirror in a tunnel": 3, "two taps": 5, "three taps": 3, "Wi-Fi, one radio": 1,
             "Wi-Fi, two radios": 1}

    def __init__(self, seed):
        self.seed, self.draw = seed, random.Random(seed)
        self.kind = self.draw.choices(list(self.KINDS), self.KINDS.values())[0]
        self.count = int(log_uniform(self.draw, 300, MOST_PACKETS * 0.6))
        self.text, self.serial, self.steps, self.last, self.mirrored = [], 0, [], {}, {}
        self.radios = {"Wi-Fi, one radio": 1, "Wi-Fi, two radios": 2}.get(self.kind, 0)
        self.taps = self.radios or {"two taps": 2, "three taps": 3}.get(self.kind, 1)
        self.nanoseconds = self.draw.random() < 0.6
        self.captures = [[] for _ in range(self.taps)]
        self.seen = collections.defaultdict(list)  # for each transmission: (true time, place)

    # ---- mirrors and taps ----

    def share(self, all_chance):
        """Return how packets are selected, and what share of them."""
        if self.draw.random() < all_chance:
            return "all", 1
        how = self.draw.choice(("packets", "flows", "direction", "sender"))
        return how, {"packets": log_uniform(self.draw, 0.01, 1), "flows": self.draw.uniform(0.1, 1)}.get(how, 0)

    def lay_path(self):
        """Draw the steps between points, and the looks."""
        draw, kind = self.draw, self.kind
        step = {"mirror, routed": "routed", "mirror, TTL alone": "ttl"}.get(kind)

        def at_once():
            return 0
        self.looks = [Look(0, 0, "", ("all", 1), at_once, None)]
        if self.taps > 1:
            for tap in range(1, self.taps):
                self.steps.append((draw.choice(("link", "link", "tag", "routed", "ttl")),
                                   *delay_law(draw, US, 100 * MS)))
                self.looks.append(Look(tap, tap, "", self.share(0.7), at_once, None))
            if draw.random() < 0.15:  # one of them is a mirror of both directions
                text, late = delay_law(draw, US, 50 * US)
                self.looks.append(Look(0, 0, "", ("all", 1), late, None))
                self.text.append("the first shows each twice, %s" % text)
        elif step:
            self.steps.append((step, *delay_law(draw, 5 * US, 100 * MS)))
            self.looks.append(Look(1, 0, "", self.share(0.4), at_once, None))
        elif kind.startswith("mirror"):
            wrap = {"mirror, tagged": "tag", "mirror in a tunnel": draw.choice(
                ("vxlan", "erspan", "gre"))}.get(kind, "")
            # A switch mirrors within microseconds, a buffering broker within 1 or 2 ms. A mirror in
            # a VLAN or tunnel takes as long as its path.
            text, late = delay_law(draw, *{"": (US, 2 * MS), "tag": (2 * US, 20 * MS)}.get(
                wrap, (20 * US, 200 * MS)))
            cut = 128 if kind == "mirror in a tunnel" and draw.random() < 0.15 else None
            self.looks.append(Look(0, 0, wrap, self.share(0.4), late, cut))
            self.text.append("%s %s%s" % (wrap or "plain", text, " cut" if cut else ""))
        self.text += ["%s %s" % each[:2] for each in self.steps]
        self.text += ["%s of %.2g" % look.share for look in self.looks if look.share[0] != "all"]

    def lay_captures(self):
        """Draw loss, clock and snap length of each capture."""
        draw, count = self.draw, self.taps
        self.losses = [draw.choice((0, 0, draw.uniform(0, 0.05 if self.radios else 0.01)))
                       for _ in range(count)]
        # Radios synchronise their clocks by frames that all of them hear.
        latest = (4 if self.radios else 400) * MS
        self.offsets = [0] + [draw.choice((0, 1, -1)) * log_uniform(draw, 0.3 * MS, latest)
                              for _ in range(count - 1)]
        self.drifts = [draw.choice((0, draw.uniform(-50e-6, 50e-6))) for _ in range(count)]
        self.snaplens = [65535] * count
        cut = draw.random()
        if cut < 0.1:
            self.snaplens = [draw.choice((96, 128, 200))] * count
        elif cut < 0.2 and count > 1:
            cut = draw.randrange(count)
            self.snaplens[cut] = draw.choice((96, 128, 200))
            if self.radios:  # frames without an IP packet are compared whole
                self.snaplens = [self.snaplens[cut]] * count
        self.text += ["loss %.2g %%" % (100 * loss) for loss in self.losses if loss]
        self.text += ["clock %+.3g ms" % (offset / MS) for offset in self.offsets if offset]
        self.text += ["cut %d" % snaplen for snaplen in self.snaplens if snaplen < 65535]

    # ---- what they record ----

    def chosen(self, look, one, sender):
        how, much = look.share
        if how == "packets":
            return self.draw.random() < much
        if how == "flows":
            if (look, one.flow) not in self.mirrored:
                self.mirrored[look, one.flow] = self.draw.random() < much
            return self.mirrored[look, one.flow]
        return {"all": True, "direction": one.host.left, "sender": one.host is sender}[how]

    def at_point(self, one, point):
        """Return the Ethernet frame at this point, or None if the packet does not reach it."""
        between = self.steps[:point] if one.host.left else self.steps[point:]
        hops = sum(step[0] in ("routed", "ttl") for step in between)
        if one.local and hops or one.reach is not None and len(between) >= one.reach:
            return None
        macs, packet = one.macs, one.packet
        routers = [number for number, step in enumerate(self.steps) if step[0] == "routed"]
        if routers and not one.local:
            before = sum(number < point for number in routers)
            ends = list(macs[::-1] if one.host.left else macs)  # the ends of the path, from the left
            if before:
                ends[0] = bytes([2, 0, 0, 9, 1, before])
            if before < len(routers):
                ends[1] = bytes([2, 0, 0, 9, 2, before])
            macs = ends[::-1] if one.host.left else ends
        if hops:
            packet = frames.routed(packet, hops)
        tagged = any(step[0] == "tag" for step in self.steps[:point])
        return frames.ethernet(packet, one.ethertype, b"".join(macs),
                               tags=[(frames.VLAN, 7)] if tagged else ())

    def wrapped(self, look, frame):
        if look.wrap == "tag":
            return frame[:12] + struct.pack(">HH", frames.VLAN, 3000) + frame[12:]
        if not look.wrap:
            return frame
        self.serial += 1
        frame, protocol = frame[:look.cut], 47
        if look.wrap == "vxlan":
            body, protocol = encapsulate.vxlan(frame, 5000), frames.UDP
            body = struct.pack(">HHHH", encapsulate.ENTROPY, 4789, 8 + len(body), 0) + body
        elif look.wrap == "erspan":
            body = encapsulate.gre(encapsulate.erspan_ii(frame, 5), encapsulate.ERSPAN_II,
                                   sequence=self.serial)
        else:
            body = encapsulate.gre(frame, encapsulate.TEB)
        return frames.ethernet(encapsulate.over_ip(
            4, protocol, body, identification=self.serial % 65534 + 2), pad=False)

    def in_order(self, key, time):
        """Delay a packet so that it does not overtake one of its flow."""
        self.last[key] = time = max(time, self.last.get(key, 0) + 200)
        return time

    def see(self, sent):
        sender = self.draw.choice(sent).host
        for number, one in enumerate(sent):
            way = range(len(self.steps) + 1)
            time = one.time
            for point in way if one.host.left else way[::-1]:
                if time != one.time or point != (0 if one.host.left else way[-1]):
                    step = self.steps[point - 1 if one.host.left else point]
                    time = self.in_order((one.flow, one.host, point), time + step[2]())
                frame = self.at_point(one, point)
                for look in self.looks if frame else ():
                    if look.point == point and self.chosen(look, one, sender):
                        when = time if look is self.looks[0] else self.in_order(
                            (one.flow, one.host, look), time + look.late())
                        self.note(number, look.capture, when, self.wrapped(look, frame),
                                  (look.capture, frame[:12], look.wrap))

    def note(self, number, capture, time, frame, place):
        """Record what the capture has of the frame, unless it loses it."""
        if self.draw.random() >= self.losses[capture]:
            said = START + int(time + self.offsets[capture] + time * self.drifts[capture])
            self.captures[capture].append((said if self.nanoseconds else said // US * US, frame, number))
            self.seen[number].append((int(time), place))

    # ---- cases that cannot be decided ----

    def unclear(self, contents, delay):
        """Return contents that were repeated within `delay`, the longest delay of a copy, whose
        observations do not reveal how often. Either one place saw one of two transmissions more
        often than the other, and more than once; or each of two places missed one of them."""
        by_content, out = collections.defaultdict(list), set()
        for number in self.seen:
            by_content[contents[number]].append(number)
        for content, numbers in by_content.items():
            numbers.sort(key=lambda number: self.seen[number][0][0])
            for one, two in zip(numbers, numbers[1:]):
                first, second = self.seen[one], self.seen[two]
                if second[0][0] - first[0][0] > delay:
                    continue
                places = [collections.Counter(place for _, place in seen) for seen in (first, second)]
                twice = any(count > 1 for each in places for count in each.values())
                if twice and places[0] != places[1] or places[0] - places[1] and places[1] - places[0]:
                    out.add(content)
        return out

    def cut_within_headers(self, contents):
        """Return contents that a capture cut within the headers, so that ports do not identify a
        segment."""
        out = set()
        for snaplen, packets in zip(self.snaplens, self.captures):
            for _, frame, number in packets if snaplen < 65535 else ():
                packet = bytes_of(contents[number])
                v6 = packet[0] >> 4 == 6
                addresses, header = (packet[8:40], 40) if v6 else (packet[12:20], 20)
                at = frame.find(addresses, 8) - (8 if v6 else 12)
                body = {frames.TCP: 20, frames.UDP: 8}.get(packet[6 if v6 else 9], 4)
                if at >= 0 and at + header < len(frame) and snaplen < min(len(frame), at + header + body):
                    out.add(contents[number])
        return out

    def make(self):
        if self.radios:
            return self.radio()
        draw = self.draw
        self.lay_path()
        self.lay_captures()
        family = draw.choice(("counted", "zero", "v6", "v6", "mixed", "mixed"))
        loss = draw.choice((0, 0, draw.uniform(0, 0.02), draw.uniform(0, 0.07)))
        # No round trip is shorter than the path between the points, both ways.
        way = sum(max(step[2]() for _ in range(20)) for step in self.steps)
        senders = Senders(draw, family, loss, 2.2 * way, max(200, self.count // min(2, len(self.looks))),
                          len(self.steps) + 1)
        self.text += [family, "segments lost %.1f %%" % (100 * loss)]
        if self.kind.endswith("cyclic"):
            self.text.append(senders.cycles())
            senders.count = int(1.2 * len(senders.sent))
        if draw.random() < 0.6:
            senders.hellos()
        if draw.random() < 0.25:
            self.text.append("counters")
            senders.counters()
        senders.traffic()
        sent = sorted(senders.sent, key=lambda one: one.time)[:MOST_PACKETS // len(self.looks)]
        sent = [one._replace(time=one.time + SECOND) for one in sent]  # keep times positive with a clock that is behind
        self.see(sent)
        return self.made(made_captures.ETHERNET,
                         [(one.packet, one.macs if one.local else None) for one in sent])

    def radio(self):
        """802.11: a station that gets no acknowledgement sends the frame again with the retry bit
        set."""
        draw, time, contents = self.draw, SECOND, []
        self.lay_captures()
        link, retried = draw.choice((IEEE802_11, made_captures.RADIOTAP)), draw.uniform(0.02, 0.25)
        protected = draw.random() < 0.85
        one_packet = set()  # an identified IP packet that is sent in several frames
        senders = Senders(draw, draw.choice(("counted", "v6", "mixed")), 0, 0, 0, 1)
        late = [draw.randrange(2 * US) for _ in self.captures]
        for number in range(self.count // self.radios):
            time += int(draw.expovariate(1 / (2 * MS)) + 100 * US)
            host, other = senders.pair()
            senders.udp(time, host, other, senders.v6(), (5000, 5001), POOL[number:number + 80], host)
            one = senders.sent.pop()
            plain = frames.ethernet(one.packet, one.ethertype, b"".join(one.macs))
            for attempt in range(7):
                frame = made_captures.wifi(plain, number, attempt > 0)
                if protected:  # CCMP: the packet number, then ciphertext
                    frame = frame[:1] + bytes([frame[1] | 0x40]) + frame[2:24] + struct.pack(
                        "<HBBI", number & 0xFFFF, 0, 0x20, number >> 16) + POOL[number * 13 % 60000:][:90]
                for capture in range(self.radios):
                    heard = time + late[capture]
                    self.note(len(contents), capture, heard, made_captures.radiotap(
                        heard, -40 - draw.randrange(30), frame)
                        if link == made_captures.RADIOTAP else frame, (capture, b"", ""))
                if protected or one.ethertype != 0x0800:
                    contents.append(frame)
                else:
                    contents.append(one.packet)
                    one_packet.update([one.packet] if attempt else [])
                if draw.random() >= retried:
                    break
                time += int(draw.uniform(0.15, 0.4) * MS * (1 + attempt))
        self.text += ["retries %.0f %%" % (100 * retried), "protected" if protected else "open"]
        return self.made(link, contents, one_packet)

    def made(self, link, contents, unclear=frozenset()):
        delay = max((max(seen)[0] - min(seen)[0] for seen in self.seen.values()), default=0)
        for seen in self.seen.values():
            seen.sort(key=lambda one: one[0])
        interfaces = self.taps > 1 and self.draw.random() < 0.4
        unclear = self.unclear(contents, delay) | self.cut_within_headers(contents) | unclear
        return Mix(self.seed, self.kind, ", ".join(self.text), link, self.nanoseconds, self.snaplens,
                   interfaces, [sorted(capture, key=lambda one: one[0]) for capture in self.captures],
                   contents, unclear, delay)


def mix(seed):
    return Maker(seed).make()


def write(made, folder):
    """Write one file a capture, or one pcapng with an interface for each."""
    merged = sorted(((time, capture, frame, number) for capture, packets in enumerate(made.captures)
                     for time, frame, number in packets), key=lambda one: one[:2])
    order, folder, paths = [(time, number) for time, _, _, number in merged], pathlib.Path(folder), []
    if made.interfaces:
        file = made_captures.Pcapng("<")
        file.section()
        for snaplen in made.snaplens:
            file.interface(made.link, 9 if made.nanoseconds else 6, snaplen=snaplen)
        for time, capture, frame, _ in merged:
            file.enhanced(capture, time, frame[:made.snaplens[capture]], len(frame))
        paths.append(folder / ("mix-%d.pcapng" % made.seed))
        paths[0].write_bytes(file.bytes())
        return Written(paths, order)
    for capture, packets in enumerate(made.captures):
        paths.append(folder / ("mix-%d-%d.pcap" % (made.seed, capture)))
        paths[-1].write_bytes(made_captures.pcap("<", made.nanoseconds, made.link, [
            (time, frame) for time, frame, _ in packets], made.snaplens[capture]))
    return Written(paths, order)
