#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exact answer: which packets of a capture are echoes, found by comparing whole keys.

No hash decides and nothing is sampled, so filters are measured against this program.

Capture files: pcap (microseconds or nanoseconds, either byte order) and pcapng, plain or .gz. Link
types: Ethernet, raw IP, null and loop, PPP, Linux cooked 1 and 2, 802.11 (also after radiotap, PPI
and AVS headers), Cisco HDLC, Frame Relay, NFLOG, PPPoE sessions; any other is an error, except with
--key frame. --as-ethernet reads all as Ethernet, as a DPDK net_pcap port does. Several files are
merged by time: the file whose next packet is earliest goes first; of equal times, the file named
first. A packet may be more than J (see below) ahead of its predecessor in the file, and of one of
the next 32 packets. It is then merged at the time of that later packet.

Key (--key):
  packet      the innermost IP packet up to its IP length, without IPv4 TOS, TTL and header checksum
              or IPv6 traffic class and hop limit; a partial checksum of TCP, UDP or SCTP, which a
              card has yet to fill in, counts as it will be; MACs, VLAN tags, MPLS labels and the
              headers of a PPPoE session do not count
  flow        source, destination, protocol and ports of the innermost IP packet; fragments but the
              first have ports 0; only TCP, UDP, UDP-Lite, SCTP and DCCP have ports
  flow-bidir  the same with the two ends in sorted order
  frame       every captured byte
The innermost packet is the outermost one unless --tunnels names encapsulations to open ("all", or
names with commas). tools/oracle/tunnels.py says which there are and how far they are opened.
--vxlan-ports: further UDP ports of VXLAN. --tenant match makes the tenant, if there is one, part of
the key (default of the flow keys; flow-bidir leaves out those of one direction: TEID, session,
call); ignore does not (default of packet). --tags compare makes networks part of the key: VLANs,
ports of fabric extenders, MPLS labels and PPPoE sessions of the frame that contains the innermost
packet. --key-bytes N, for key packet: only the first N bytes from the innermost IP header on count,
with the length that the header states; a packet that was captured shorter counts with the bytes
that are there.

Answer: "new"; "echo" with its age and the packet that it repeats; "non_ip" and "malformed" have no
key and are always forwarded (with --key frame every packet has one). With --non-ip frame, packets
without an IP packet have a key of their own: MAC addresses (cooked captures: the sender's),
innermost EtherType after tags and labels, the number that HSR, PRP or IEEE 802.1CB gave the frame,
and the bytes after it. These end at PRP's trailer, or at the length that 802.3 or the message
states. Otherwise, if at most 46 bytes are there (padding), zeros at the end do not count. Data
frames of 802.11 with an EtherType have the key of the same Ethernet frame; other 802.11 frames have
all bytes, and control frames and frames without data have no key. PPP, Cisco HDLC and loopbacks:
protocol and what follows; captures of PPPoE sessions: as Ethernet without addresses; Frame Relay
and link types without a parser: all bytes.

A packet is an echo if --first N packets of its key are remembered with an age below --window. With
--policy fixed, accepted packets are remembered. With refresh, echoes are too: each key has N slots;
a packet goes through them in order and stamps each live one; the first one that is not live accepts
it.

Time is the highest timestamp so far, so an age is never negative. A packet more than J =
max(window, 1 s) behind it begins an epoch: time is then that packet's, and ages do not grow by the
step. With an endless window there are no epochs. --microseconds first truncates timestamps to
microseconds, as net_pcap delivers them.

Standard output: a summary as JSON. --csv FILE: one line a packet. Exit status: 0, or 2 for
arguments or a file that cannot be used.
"""
import argparse
import collections
import csv
import gzip
import heapq
import itertools
import json
import struct
import sys
import zlib

import dissect
import tunnels
from dissect import (  # noqa: F401  link types: for those who use this module as well
    AVS, COOKED, COOKED2, ETHERNET, FRAME_RELAY, HDLC, LINKS, LOOP, MPLS, NFLOG, NULL, PPI, PPP,
    PPP_ETHER, PPP_HDLC, PPPOE, RADIO, RADIOTAP, WIFI, NoKey)

KEYS = ("packet", "flow", "flow-bidir", "frame")
NON_IP = ("pass", "frame")
POLICIES = ("fixed", "refresh")
TENANTS = ("ignore", "match")
TAGS = ("ignore", "compare")
KINDS = ("new", "echo", "non_ip", "malformed")
MAX_RECORD = 64 << 20

Packet = collections.namedtuple("Packet", "time link data")  # time in ns since the epoch
Answer = collections.namedtuple("Answer", "kind age reference", defaults=(None, None))


class CaptureError(Exception):
    """The file cannot be used."""


# ---- capture files ------------------------------------------------------------------------------

class Cut(Exception):
    """The file ends inside a record, or continues with something that is no record."""


def _take(stream, count, may_end=False):
    """Read exactly count bytes. Return nothing only if the file may end here and does."""
    data = stream.read(count)
    if len(data) < count and (data or not may_end):
        raise Cut()
    return data


def _pcap_packets(stream, order, fraction_ns, link):
    record = struct.Struct(order + "IIII")
    while head := _take(stream, record.size, may_end=True):
        seconds, fraction, captured, _ = record.unpack(head)
        if captured > MAX_RECORD:
            raise Cut()
        yield Packet(seconds * 10**9 + fraction * fraction_ns, link, _take(stream, captured))


SECTION, INTERFACE, OBSOLETE_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
SECTION_BYTES = b"\x0a\x0d\x0d\x0a"  # equal in both byte orders


def _interface(order, body):
    """Return (link, snaplen, function from timestamp units to ns) of an interface description
    block."""
    link, snaplen = struct.unpack_from(order + "H2xI", body)
    units_per_second, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4:at + 4 + length]
        if code == 0:
            break
        if code == 9 and length >= 1:
            units_per_second = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14 and length == 8:
            offset = struct.unpack(order + "q", value)[0]
        at += 4 + (length + 3) // 4 * 4
    return link, snaplen, lambda units: units * 10**9 // units_per_second + offset * 10**9


def _pcapng_blocks(stream):
    """Yield (byte order, type, body) of each block; the first block's type has already been
    read."""
    order, head = None, SECTION_BYTES + _take(stream, 4)
    while head:
        done = 8
        if head[:4] == SECTION_BYTES:
            order = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}.get(_take(stream, 4))
            if order is None:
                raise Cut()
            done = 12
        kind, total = struct.unpack(order + "II", head)
        if not done + 4 <= total <= MAX_RECORD:
            raise Cut()
        body = _take(stream, (total + 3) // 4 * 4 - done - 4)
        _take(stream, 4)
        yield order, kind, body
        head = _take(stream, 8, may_end=True)


def _pcapng_packets(stream):
    interfaces, time = [], 0
    for order, kind, body in _pcapng_blocks(stream):
        try:
            if kind == SECTION:
                interfaces = []
            elif kind == INTERFACE:
                interfaces.append(_interface(order, body))
            elif kind in (OBSOLETE_PACKET, ENHANCED_PACKET):
                which, high, low, captured = struct.unpack_from(
                    order + ("IIII" if kind == ENHANCED_PACKET else "H2xIII"), body)
                link, _, to_ns = interfaces[which]
                if 20 + captured > len(body):
                    raise Cut()
                time = to_ns(high << 32 | low)
                yield Packet(time, link, body[20:20 + captured])
            elif kind == SIMPLE_PACKET:  # has no time of its own: takes that of the packet before it
                wire, = struct.unpack_from(order + "I", body)
                link, snaplen, _ = interfaces[0]
                captured = min(wire, snaplen or wire, len(body) - 4)
                yield Packet(time, link, body[4:4 + captured])
        except (struct.error, IndexError):
            raise Cut() from None


class Capture:
    """Iterates over a file's packets. Afterwards .cut is True if the end of the file is missing."""

    _PCAP = {b"\xa1\xb2\xc3\xd4": (">", 1000), b"\xd4\xc3\xb2\xa1": ("<", 1000),
             b"\xa1\xb2\x3c\x4d": (">", 1), b"\x4d\x3c\xb2\xa1": ("<", 1)}

    def __init__(self, path, as_ethernet=False, microseconds=False):
        self.path, self.cut = str(path), False
        self._as_ethernet, self._microseconds = as_ethernet, microseconds

    def __iter__(self):
        with open(self.path, "rb") as file:
            zipped = file.peek(2)[:2] == b"\x1f\x8b"
            try:
                for packet in self._packets(gzip.open(file) if zipped else file):
                    yield self._adjusted(packet)
            except (Cut, EOFError, zlib.error):
                self.cut = True

    def _packets(self, stream):
        magic = stream.read(4)
        if magic == SECTION_BYTES:
            return _pcapng_packets(stream)
        header = stream.read(20)
        if magic not in self._PCAP or len(header) < 20:
            raise CaptureError("%s: neither pcap nor pcapng" % self.path)
        order, fraction_ns = self._PCAP[magic]
        link, = struct.unpack(order + "16xI", header)
        return _pcap_packets(stream, order, fraction_ns, link & 0xFFFF)  # higher bits: FCS information

    def _adjusted(self, packet):
        time = packet.time - packet.time % 1000 if self._microseconds else packet.time
        return Packet(time, ETHERNET if self._as_ethernet else packet.link, packet.data)


def jump_of(window):
    """Return J: a longer step back begins an epoch. None: there are no epochs."""
    return None if window is None else max(window, 10**9)


LOOK_AHEAD = 32


def _due(index, capture, jump):
    """Yield (due time, index, packet) of each packet of a capture, in its order."""
    packets, ahead = iter(capture), collections.deque()
    last, due, early = None, None, 0
    while True:
        ahead.extend(itertools.islice(packets, LOOK_AHEAD + 1 - len(ahead)))
        if not ahead:
            return
        time = ahead[0].time
        if early:
            early -= 1
        else:
            due = time
            if jump is not None and (last is None or time - last > jump):
                early = next((i for i, packet in enumerate(ahead) if time - packet.time > jump), 0)
                due = ahead[early].time
            if not early:
                last = time
            early = max(early - 1, 0)
        yield due, index, ahead.popleft()


def merged(captures, jump=None):
    """Yield (index of the capture, packet) in the order in which packets are handled."""
    order = heapq.merge(*(_due(index, capture, jump) for index, capture in enumerate(captures)),
                        key=lambda entry: entry[0])
    return ((index, packet) for _, index, packet in order)


# ---- keys ---------------------------------------------------------------------------------------

PORTED = (6, 17, 33, 132, 136)  # TCP, UDP, DCCP, SCTP, UDP-Lite


def _message(ethertype, body):
    """Return the message without trailing bytes if its protocol states a length, otherwise without
    padding."""
    size = 0
    if len(body) >= 8:
        if ethertype in (0x0806, 0x8035):              # ARP, RARP
            size = 8 + 2 * (body[4] + body[5])
        elif ethertype in (0x88B8, 0x88B9, 0x88BA, 0x88F7):  # GOOSE, GSE, sampled values, PTP
            size = dissect.number(body, 2)
        elif ethertype == 0x888E:                      # EAPOL
            size = 4 + dissect.number(body, 2)
    if 0 < size <= len(body):
        return body[:size]
    return body if len(body) > 46 else body.rstrip(b"\0")


def _redundancy_trailer(frame, begin, behind_tags):
    """Return (offset of PRP's trailer, its sequence number), or None."""
    for end in (len(frame), len(frame) - 4):
        if end - behind_tags < 6:
            return None
        lan_and_size = dissect.number(frame, end - 4)
        if frame[end - 2:end] == b"\x88\xfb" and lan_and_size >> 12 in (0xA, 0xB) \
                and lan_and_size & 0xFFF in (end - begin, end - behind_tags):
            return end - 6, frame[end - 6:end - 4]
    return None


# After tags and labels: the EtherType, begin and end of its content, the addresses of an inner
# Ethernet frame, and the number that a redundancy protocol gave the frame; each may be None.
Innermost = collections.namedtuple("Innermost", "ethertype at end addresses sequence")


def _innermost(frame, ethertype, at):
    end, addresses, sequence, begins = len(frame), None, None, at
    for tag, begin, step in dissect.steps(frame, ethertype, at):
        if 8 <= tag <= 1500:
            end = min(end, begin + tag)
        if tag in (dissect.HSR, dissect.REDUNDANCY_TAG):
            sequence = frame[begin + 2:begin + 4]
        ethertype, at = step.ethertype, begin + step.size
        if step.frame:
            addresses = frame[at - 14:at - 2]
    if ethertype in MPLS:
        at += 4 * next(i for i in itertools.count(1) if frame[at + 4 * i - 2] & 1)
    if prp := _redundancy_trailer(frame[:end], begins, at):
        end, sequence = prp[0], sequence or prp[1]
    return Innermost(ethertype, at, end, addresses, sequence)


def _ethernet_key(frame, found, addresses):
    """Return the key of an Ethernet frame without IP; addresses: those of the outermost frame."""
    body = frame[found.at:found.end]
    body = body[:found.ethertype] if 3 <= found.ethertype <= 1500 \
        else _message(found.ethertype, body)
    return "ethernet", found.addresses or addresses, found.ethertype, body, found.sequence


def _non_ip_wifi_key(frame, link):
    """Return the key of the same Ethernet frame; without an EtherType, everything."""
    try:
        _, whole, padded = dissect.radio(frame, link)
    except NoKey:
        return "unknown", frame[frame[2] | frame[3] << 8:]
    try:
        ethertype, at = dissect.wifi_payload(whole, padded)
    except NoKey as no_key:
        if len(whole) < 24 or whole[0] & 0x0F not in (0, 8) or whole[0] & 0x4C == 0x48:
            raise NoKey("non_ip", "802.11 without a number") from no_key
        return "wifi", whole
    found = _innermost(whole, ethertype, at)
    if found.addresses:
        return _ethernet_key(whole, found, None)
    to, of = whole[1] & 1, whole[1] & 2
    destination = whole[16:22] if to else whole[4:10]
    source = whole[10:16] if not of else whole[24:30] if to else whole[16:22]
    return "ethernet", destination + source, found.ethertype, \
        _message(found.ethertype, whole[found.at:found.end]), found.sequence


def _non_ip_key(frame, link):
    """Return the key of a frame without an IP packet."""
    if link in dissect.ETHERTYPES:
        at, end = dissect.ETHERTYPES[link]
        found = _innermost(frame, dissect.number(frame, at), end)
        if link == ETHERNET or found.addresses:
            return _ethernet_key(frame, found, frame[:12])
        if link == HDLC:
            return "hdlc", found.ethertype, frame[found.at:], found.sequence
        address = frame[6:14] if link == COOKED else frame[12:20]
        body = _message(found.ethertype, frame[found.at:found.end])
        return "cooked", address, found.ethertype, body, found.sequence
    if link in RADIO:
        return _non_ip_wifi_key(frame, link)
    if link == FRAME_RELAY:
        return "frame relay", frame
    if link in (PPP, PPP_HDLC):
        return "ppp", frame.removeprefix(b"\xff\x03")
    if link in (NULL, LOOP):
        return "loopback", frame[0] if link == NULL and frame[0] else frame[3], frame[4:]
    if link == NFLOG:
        return "nflog", frame[0], frame[4:]
    if link == PPP_ETHER:
        found = _innermost(frame, PPPOE, 0)
        return "ethernet", bytes(12), PPPOE, _message(PPPOE, frame[:found.end]), found.sequence
    return "unknown", frame


def _flow(version, ip):
    """Return ((source, source port), (destination, destination port), protocol)."""
    source, destination = (ip[12:16], ip[16:20]) if version == 4 else (ip[8:24], ip[24:40])
    protocol, at, fragment = dissect.upper(version, ip)
    ports = bytes(4)
    if protocol in PORTED and fragment != dissect.LATER:
        dissect.need(len(ip), at + 4)
        ports = ip[at:at + 4]
    return (source, ports[:2]), (destination, ports[2:]), protocol


# Selects the packet inside a frame from which keys are made, and its relevant parts. names: a
# frozenset of encapsulations to open; vxlan_ports: a tuple; tenant, tags: True if part of the key;
# key_bytes: None for all.
Inner = collections.namedtuple("Inner", "names vxlan_ports tenant key_bytes tags",
                               defaults=(frozenset(), (), False, None, False))


def inner_of(mode, names=frozenset(), vxlan_ports=(), tenant=None, key_bytes=None, tags="ignore"):
    """Return the Inner for a key mode. tenant: "ignore", "match", or None for the mode's
    default."""
    tenant = tenant or ("ignore" if mode == "packet" else "match")
    return Inner(frozenset(names), tuple(vxlan_ports), tenant == "match", key_bytes,
                 tags == "compare")


def key_of(mode, frame, link=ETHERNET, non_ip="pass", inner=Inner()):
    """Return the key, bytes or a tuple. Raises NoKey."""
    if mode == "frame":
        return frame
    try:
        found = _packet_of(frame, link, inner)
    except NoKey as no_key:
        if non_ip == "pass" or no_key.args[0] != "non_ip":
            raise
        key = _non_ip_key(frame, link)
        return (key, dissect.networks(frame, link)) if inner.tags else key
    version, at, end = found.ip
    key = _key_of_ip(mode, version, frame[at:end], inner.key_bytes)
    if inner.tags:
        key = key, _networks(frame, link, found)
    tenant = found.tenant if inner.tenant else None
    if tenant is None or mode == "flow-bidir" and tenant.space in tunnels.ONE_WAY:
        return key
    return key, tenant


def _networks(frame, link, found):
    """Return the networks of the frame that contains the innermost packet."""
    if found.levels == 0:
        return dissect.networks(frame, link)
    return () if found.ethernet is None else dissect.networks(frame[found.ethernet:], ETHERNET)


def _packet_of(frame, link, inner):
    """Return a tunnels.Innermost that has a packet."""
    if not inner.names:
        return tunnels.Innermost(dissect.outermost(frame, link))
    found = tunnels.innermost(frame, link, inner.names, inner.vxlan_ports)
    if found.ip is None:
        raise found.no_key
    return found


def _key_of_ip(mode, version, ip, key_bytes):
    if mode == "packet":
        ip = dissect.with_checksum(version, ip)[:key_bytes]
        if version == 4:
            return ip[:1] + ip[2:8] + ip[9:10] + ip[12:]
        return bytes((0x60, ip[1] & 15)) + ip[2:7] + ip[8:]
    source, destination, protocol = _flow(version, ip)
    if mode == "flow-bidir":
        source, destination = sorted((source, destination))
    return source, destination, protocol


# ---- answers ------------------------------------------------------------------------------------

class Clock:
    """Time as the sum of all steps forward."""

    def __init__(self, jump):
        self._jump, self._latest, self._now, self.epochs = jump, None, 0, 0

    def at(self, time):
        step = 0 if self._latest is None else time - self._latest
        if self._latest is None or step > 0:
            self._now, self._latest = self._now + step, time
        elif self._jump is not None and -step > self._jump:
            self._latest, self.epochs = time, self.epochs + 1
        return self._now


class Memory:
    """The slots of every key: time and number of the packet that stamped each."""

    def __init__(self, window=None, policy="fixed", first=1):
        self._window, self._refresh, self._first = window, policy == "refresh", first
        self._slots = {}

    def see(self, number, now, key):
        """Return the answer for a packet; now never decreases. An echo repeats the youngest
        packet."""
        slots = self._slots.setdefault(key, [])
        youngest = 0, 0
        for index, (then, reference) in enumerate(slots):
            if self._window is not None and now - then >= self._window:
                slots[index] = now, number
                return Answer("new")
            youngest = max(youngest, (then, reference))
            if self._refresh:
                slots[index] = now, number
        if len(slots) < self._first:
            slots.append((now, number))
            return Answer("new")
        return Answer("echo", now - youngest[0], youngest[1])


def answers(packets, key="packet", window=None, policy="fixed", first=1, reasons=None,
            non_ip="pass", inner=Inner()):
    """Yield the answer for each packet, numbered from 1. window: in ns; None: endless.

    reasons: {kind: Counter}; if given, counts why packets have no key.
    """
    memory, clock = Memory(window, policy, first), Clock(jump_of(window))
    for number, packet in enumerate(packets, 1):
        now = clock.at(packet.time)
        try:
            yield memory.see(number, now, key_of(key, packet.data, packet.link, non_ip, inner))
        except NoKey as no_key:
            kind, reason = no_key.args
            if reasons is not None:
                reasons[kind][reason] += 1
            yield Answer(kind)


# ---- command line -------------------------------------------------------------------------------

def duration(text):
    """Parse "50ms" into nanoseconds, "inf" into None."""
    if text == "inf":
        return None
    for unit, exponent in (("ns", 0), ("us", 3), ("ms", 6), ("s", 9)):
        whole, _, decimals = text[:-len(unit)].partition(".")
        if text.endswith(unit) and whole.isdecimal() and (decimals or "0").isdecimal() \
                and len(decimals) <= exponent:
            return int(whole + decimals.ljust(exponent, "0"))
    raise argparse.ArgumentTypeError(
        "%r is not a duration; allowed: a number of whole ns with ns, us, ms or s, or inf" % text)


def _positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("%r is not a whole number above 0" % text)
    return int(text)


def _tunnels(text):
    if text in ("all", "none"):
        return frozenset(tunnels.NAMES if text == "all" else ())
    names = text.split(",")
    for name in names:
        if name not in tunnels.NAMES:
            raise argparse.ArgumentTypeError("%r is no tunnel; allowed: all, none, or some of %s"
                                             % (name, ", ".join(tunnels.NAMES)))
    return frozenset(names)


def _ports(text):
    ports = text.split(",")
    for port in ports:
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise argparse.ArgumentTypeError("%r is no port; allowed: 1 to 65535" % port)
        if int(port) in tunnels.FIXED_PORTS or ports.count(port) > 1:
            raise argparse.ArgumentTypeError("port %s has its encapsulation already" % port)
    if len(ports) > tunnels.MOST_VXLAN_PORTS:
        raise argparse.ArgumentTypeError("%d ports; allowed: up to %d"
                                         % (len(ports), tunnels.MOST_VXLAN_PORTS))
    return tuple(map(int, ports))


def _key_bytes(text):
    if not text.isdecimal() or not 20 <= int(text) <= 9000:
        raise argparse.ArgumentTypeError("%r is not allowed: 20 to 9000" % text)
    return int(text)


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage."""

    def error(self, message):
        self.exit(2, "exact_answer: %s\n" % message)


def _refused(options):
    """Return what is wrong with this combination of options, or None."""
    if options.key == "frame" and options.tunnels:
        return "--tunnels: key frame is every byte, also those before the innermost packet; " \
               "allowed with packet, flow, flow-bidir"
    if options.key != "packet" and options.key_bytes:
        return "--key-bytes: only key packet has bytes of the packet in it, not %s" % options.key
    if not options.tunnels and options.tenant:
        return "--tenant needs --tunnels: without them no packet has one"
    if "vxlan" not in options.tunnels and options.vxlan_ports:
        return "--vxlan-ports needs --tunnels with vxlan"
    return None


def _arguments(argv):
    parser = _Parser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="+", metavar="CAPTURE")
    parser.add_argument("--key", choices=KEYS, default="packet")
    parser.add_argument("--non-ip", choices=NON_IP, default="pass")
    parser.add_argument("--window", type=duration, default=None, metavar="W", help="50ms; inf")
    parser.add_argument("--policy", choices=POLICIES, default="fixed")
    parser.add_argument("--first", type=_positive, default=1, metavar="N")
    parser.add_argument("--tunnels", type=_tunnels, default=frozenset(), metavar="LIST",
                        help="names with commas, all, or none: " + ", ".join(tunnels.NAMES))
    parser.add_argument("--vxlan-ports", type=_ports, default=(), metavar="P,P")
    parser.add_argument("--tenant", choices=TENANTS)
    parser.add_argument("--tags", choices=TAGS, default="ignore")
    parser.add_argument("--key-bytes", type=_key_bytes, metavar="N", help="20 to 9000")
    parser.add_argument("--as-ethernet", action="store_true")
    parser.add_argument("--microseconds", action="store_true")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args(argv)
    if wrong := _refused(options):
        parser.error(wrong)
    return options


def _load(captures, key, jump, non_ip):
    """Return merged() as a list, with every link type checked."""
    order = list(merged(captures, jump))
    for index, packet in order:
        if packet.link not in LINKS and key != "frame" and non_ip == "pass":
            raise CaptureError("%s: link type %d is unknown; --as-ethernet reads it as Ethernet"
                               % (captures[index].path, packet.link))
    return order


def run(options, out):
    captures = [Capture(path, options.as_ethernet, options.microseconds)
                for path in options.captures]
    order = _load(captures, options.key, jump_of(options.window), options.non_ip)
    inner = inner_of(options.key, options.tunnels, options.vxlan_ports, options.tenant,
                     options.key_bytes, options.tags)
    reasons = {"non_ip": collections.Counter(), "malformed": collections.Counter()}
    verdicts = list(answers((packet for _, packet in order), options.key, options.window,
                            options.policy, options.first, reasons, options.non_ip, inner))
    places = [tunnels.innermost(packet.data, packet.link, inner.names, inner.vxlan_ports)
              for _, packet in order] if options.csv or inner.names else []
    summary = {
        "captures": _described(captures, order),
        "key": options.key, "non_ip_keys": options.non_ip, "window_ns": options.window,
        "policy": options.policy, "first": options.first,
        "tunnels": [name for name in tunnels.NAMES if name in inner.names],
        "vxlan_ports": inner.vxlan_ports, "tenant": TENANTS[inner.tenant] if inner.names else None,
        "key_bytes": inner.key_bytes, "tags": TAGS[inner.tags],
        "packets": len(order), "bytes": sum(len(packet.data) for _, packet in order),
        **_counted(verdicts, places),
        "reasons": {kind: dict(sorted(counter.items())) for kind, counter in reasons.items()},
    }
    if options.csv:
        with open(options.csv, "w", newline="", encoding="ascii") as file:
            _write_csv(file, order, verdicts, places)
    json.dump(summary, out, indent=1)
    out.write("\n")


def _described(captures, order):
    packets = collections.Counter(index for index, _ in order)
    return [{"path": capture.path, "packets": packets[index], "cut": capture.cut}
            for index, capture in enumerate(captures)]


def _counted(verdicts, places):
    kinds = collections.Counter(answer.kind for answer in verdicts)
    ages = [answer.age for answer in verdicts if answer.kind == "echo"]
    met = collections.Counter(name for found in places for name in tunnels.counted(found))
    return {**{kind: kinds[kind] for kind in KINDS},
            **{name: met[name] for name in tunnels.COUNTERS},
            "min_age_ns": min(ages, default=None), "max_age_ns": max(ages, default=None)}


def _write_csv(file, order, verdicts, places):
    """Write the CSV. reference: a packet number like the first column, in merged order. capture:
    its number on the command line, from 1; frame: the number in that capture. Then, for the
    innermost IP packet: version, offset in the frame, number of encapsulations opened, tenant as
    space:number whether it matters or not, and the counter of tunnels besides "tunnelled"."""
    rows, frames = csv.writer(file, lineterminator="\n"), collections.Counter()
    rows.writerow(("packet", "capture", "frame", "time_ns", "answer", "age_ns", "reference",
                   "ip_version", "ip_offset", "levels", "tenant", "counter"))
    for count, ((index, packet), answer, found) in enumerate(zip(order, verdicts, places), 1):
        frames[index] += 1
        ip = (found.ip.version, found.ip.at) if found.ip else (None, None)
        rows.writerow((count, index + 1, frames[index], packet.time, *answer, *ip, found.levels,
                       "%d:%d" % found.tenant if found.tenant else None, found.counter))


def main(argv=None):
    options = _arguments(argv)
    try:
        run(options, sys.stdout)
    except (CaptureError, OSError) as error:
        print("exact_answer: %s" % error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
