#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exact answer: which packets of a capture are echoes, found by comparing whole keys.

No hash decides and nothing is sampled, so a filter is measured against this program.

Capture files: pcap (microseconds or nanoseconds, either byte order) and pcapng, plain or .gz.
Link types: Ethernet, raw IP, null and loop, PPP, Linux cooked 1 and 2, 802.11 (also behind
radiotap, PPI and AVS headers), Cisco HDLC, Frame Relay, NFLOG, PPPoE sessions; another is an error,
but for --key frame. --as-ethernet reads all as Ethernet, as a DPDK net_pcap port does. Several files are merged
by time: the file whose next packet is earliest goes first, of equal times the file named first.
Packets more than J (see below) ahead of the one before them in their file, and of one of the next
32 behind them, count as early as that one.

Key (--key):
  packet      the outermost IP packet up to its IP length, without IPv4 TOS, TTL and header checksum
              or IPv6 traffic class and hop limit; MACs, VLAN tags, MPLS labels and the headers of a
              PPPoE session do not count
  flow        source, destination, protocol and ports of the outermost IP packet; a fragment but the
              first has ports 0; only TCP, UDP, UDP-Lite, SCTP and DCCP have ports
  flow-bidir  the same with the two ends in sorted order
  frame       every captured byte
Answer: "new"; "echo" with its age and the packet it repeats; "non_ip" and "malformed" have no key
and are always forwarded (with --key frame every packet has one). With --non-ip frame, packets
without an IP packet have a key of their own: MAC addresses (cooked captures: the sender's),
innermost EtherType behind tags and labels, and the bytes behind it: up to the length of 802.3 where
there is one, else without zeros at the end as long as no byte is left beyond the 46 of a shortest
frame. Data frames of 802.11 with an EtherType are as the same frame of Ethernet; of the others all
bytes of the 802.11 frame, and those of control or without data have no key. PPP, Cisco HDLC and
loopbacks: protocol and what follows; captures of PPPoE sessions: as Ethernet without addresses;
Frame Relay, link types without a parser: all bytes.

A packet is an echo when --first N packets of its key are remembered with an age below --window.
Remembered is, with --policy fixed, a packet that was accepted. With refresh an echo counts too:
there are N slots a key; a packet goes through them in order and stamps each live one; the first
that is not live accepts it.

Time is the highest timestamp so far, so that an age is never negative. But a packet more than
J = max(window, 1 s) behind it begins an epoch: time is then that packet's, and what is remembered
ages by nothing for the step. With an endless window there are no epochs.
--microseconds cuts timestamps to whole microseconds first, as net_pcap delivers them.

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

KEYS = ("packet", "flow", "flow-bidir", "frame")
NON_IP = ("pass", "frame")
POLICIES = ("fixed", "refresh")
KINDS = ("new", "echo", "non_ip", "malformed")
ETHERNET, NULL, PPP, LOOP, COOKED, IPV4, IPV6, COOKED2 = 1, 0, 9, 108, 113, 228, 229, 276
WIFI, RADIOTAP, AVS, PPI, HDLC, FRAME_RELAY, NFLOG, PPP_HDLC = 105, 127, 163, 192, 104, 107, 239, 50
PPP_ETHER = 51                           # a PPPoE session
RAW, RADIO = (12, 14, 101), (WIFI, RADIOTAP, AVS, PPI)
LINKS = (ETHERNET, NULL, PPP, PPP_HDLC, LOOP, COOKED, IPV4, IPV6, COOKED2, HDLC, FRAME_RELAY,
         NFLOG, PPP_ETHER) + RAW + RADIO
MAX_RECORD = 64 << 20

Packet = collections.namedtuple("Packet", "time link data")  # time in ns since the epoch
Answer = collections.namedtuple("Answer", "kind age reference", defaults=(None, None))


class CaptureError(Exception):
    """A file that cannot be used."""


# ---- capture files ------------------------------------------------------------------------------

class Cut(Exception):
    """The file ends inside a record, or goes on with what is none."""


def _take(stream, count, may_end=False):
    """Exactly count bytes; nothing at all only where the file may end."""
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
SECTION_BYTES = b"\x0a\x0d\x0d\x0a"  # the same in both byte orders


def _interface(order, body):
    """(link, snaplen, function from timestamp units to ns) of an interface description block."""
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
    """(byte order, type, body) of each block; the first block's type has been read already."""
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
            elif kind == SIMPLE_PACKET:  # has no time: it takes that of the packet before it
                wire, = struct.unpack_from(order + "I", body)
                link, snaplen, _ = interfaces[0]
                captured = min(wire, snaplen or wire, len(body) - 4)
                yield Packet(time, link, body[4:4 + captured])
        except (struct.error, IndexError):
            raise Cut() from None


class Capture:
    """Iterates over the packets of a file; afterwards .cut tells whether its end is missing."""

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
        return _pcap_packets(stream, order, fraction_ns, link & 0xFFFF)  # above: FCS information

    def _adjusted(self, packet):
        time = packet.time - packet.time % 1000 if self._microseconds else packet.time
        return Packet(time, ETHERNET if self._as_ethernet else packet.link, packet.data)


def jump_of(window):
    """Steps back that are longer begin an epoch; None: there are none."""
    return None if window is None else max(window, 10**9)


LOOK_AHEAD = 32


def _due(index, capture, jump):
    """(time at which it is due, index, packet) of each packet of a capture, in its order."""
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
    """(index of the capture, packet) in the order in which packets are judged."""
    order = heapq.merge(*(_due(index, capture, jump) for index, capture in enumerate(captures)),
                        key=lambda entry: entry[0])
    return ((index, packet) for _, index, packet in order)


# ---- keys ---------------------------------------------------------------------------------------

class NoKey(Exception):
    """A frame that is forwarded unasked; args: kind ("non_ip" or "malformed") and reason."""


def _need(have, size):
    if have < size:
        raise NoKey("malformed", "cut short")


TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
MPLS = (0x8847, 0x8848)
PPPOE = 0x8864                           # sessions
PORTED = (6, 17, 33, 132, 136)           # TCP, UDP, DCCP, SCTP, UDP-Lite
EXTENSIONS = (0, 43, 60, 135, 139, 140)  # their length counts units of 8 bytes but the first
FRAGMENT, AUTHENTICATION, NO_NEXT_HEADER = 44, 51, 59


def _number(data, at):
    return data[at] << 8 | data[at + 1]


def _behind_ethertype(frame, ethertype, at):
    while ethertype in TAGS:
        _need(len(frame), at + 4)
        ethertype, at = _number(frame, at + 2), at + 4
    if ethertype == 0x0800:
        return 4, at
    if ethertype == 0x86DD:
        return 6, at
    if ethertype == PPPOE:
        _need(len(frame), at + 6)
        return _behind_ppp(frame, at + 6)
    if ethertype not in MPLS:
        raise NoKey("non_ip", "ethertype 0x%04x" % ethertype)
    bottom = False
    while not bottom:
        _need(len(frame), at + 4)
        bottom, at = frame[at + 2] & 1, at + 4
    return _by_version(frame, at, "non_ip", "mpls payload")


def _behind_ppp(frame, at):
    _need(len(frame), at + 2)
    return _known(PPP_PROTOCOLS, _number(frame, at), at + 2, "ppp 0x%04x")


def _by_version(frame, at, *otherwise):
    _need(len(frame), at + 1)
    if frame[at] >> 4 not in (4, 6):
        raise NoKey(*otherwise)
    return frame[at] >> 4, at


def _known(versions, number, at, name):
    if number not in versions:
        raise NoKey("non_ip", name % number)
    return versions[number], at


def _radio(frame, link):
    """(offset of the 802.11 frame behind what radios say of it, that frame without its check
    sequence where one is told of, whether its header is padded)."""
    if link == WIFI:
        return 0, frame, False
    _need(len(frame), 8)
    begin = int.from_bytes(frame[4:8], "big") if link == AVS else frame[2] | frame[3] << 8
    if begin < 8:
        raise NoKey("malformed", "radio header length")
    _need(len(frame), begin)
    if link == PPI and frame[4:8] != b"\x69\0\0\0":
        raise NoKey("non_ip", "ppi link type")
    flags = {RADIOTAP: _radiotap_flags, PPI: _ppi_flags, AVS: lambda _: 0}[link](frame[:begin])
    whole = frame[begin:]
    return begin, whole[:max(0, len(whole) - 4)] if flags & 0x10 else whole, bool(flags & 0x20)


def _radiotap_flags(header):
    at, present = 8, struct.unpack_from("<I", header, 4)[0]
    more = present
    while more >> 31:
        _need(len(header), at + 4)
        more, at = struct.unpack_from("<I", header, at)[0], at + 4
    if present & 1:
        at += -at % 8 + 8
    if not present & 2:
        return 0
    _need(len(header), at + 1)
    return header[at]


def _ppi_flags(header):
    """Those of radiotap, as far as PPI has them: 0x10."""
    at = 8
    while at + 4 <= len(header):
        kind, size = struct.unpack_from("<HH", header, at)
        value = header[at + 4:at + 4 + size]
        if kind == 2 or len(value) < size:
            return (value[8] & 1) << 4 if kind == 2 and len(value) == size >= 10 else 0
        at += 4 + size + (-size % 4 if header[1] & 1 else 0)
    return 0


def _wifi_payload(frame, padded):
    """(EtherType, offset of what is behind it) in an 802.11 frame."""
    _need(len(frame), 2)
    version, kind, subtype = frame[0] & 3, frame[0] >> 2 & 3, frame[0] >> 4
    if version != 0 or kind != 2 or subtype & 4 or frame[1] & 0x40:
        raise NoKey("non_ip", "802.11 type %d" % kind)
    four, qos = 6 if frame[1] & 3 == 3 else 0, subtype & 8
    at = 24 + four + ((6 if frame[1] & 0x80 else 2) if qos else 0)
    at += -at % 4 if padded else 0
    _need(len(frame), at)
    if frame[22] & 15 or qos and frame[24 + four] & 0x80:
        raise NoKey("non_ip", "802.11 fragment or several packets")
    _need(len(frame), at + 3)
    if frame[at:at + 3] != b"\xaa\xaa\x03":
        raise NoKey("non_ip", "802.11 llc")
    _need(len(frame), at + 8)
    if frame[at + 3:at + 6] not in (b"\0\0\0", b"\0\0\xf8"):
        raise NoKey("non_ip", "802.11 snap")
    return _number(frame, at + 6), at + 8


def _in_nflog(frame):
    """(version, offset, end) of the packet."""
    _need(len(frame), 4)
    version, at = _known({2: 4, 10: 6}, frame[0], 4, "address family %d")
    while True:
        _need(len(frame), at + 4)
        size, kind = struct.unpack_from("<HH", frame, at)
        if size < 4:
            raise NoKey("malformed", "nflog field")
        if kind & 0x7FFF == 9:
            return version, at + 4, at + size
        at += size + -size % 4


def _behind_frame_relay(frame):
    at = next((i + 1 for i, byte in enumerate(frame[:4]) if byte & 1), 0)
    if at < 2:
        raise NoKey("malformed", "frame relay address")
    _need(len(frame), at + 2)
    if frame[at] != 3:  # as Cisco does it
        return _behind_ethertype(frame, _number(frame, at), at + 2)
    at += 2 if frame[at + 1] == 0 else 1
    _need(len(frame), at + 1)
    nlpid, at = frame[at], at + 1
    if nlpid in (0xCC, 0x8E):
        return (4 if nlpid == 0xCC else 6), at
    if nlpid == 0xCF:
        return _behind_ppp(frame, at)
    if nlpid != 0x80:
        raise NoKey("non_ip", "nlpid 0x%02x" % nlpid)
    _need(len(frame), at + 5)
    if frame[at:at + 3] != b"\0\0\0":
        raise NoKey("non_ip", "snap")
    return _behind_ethertype(frame, _number(frame, at + 3), at + 5)


def _unpadded(body):
    return body if len(body) > 46 else body.rstrip(b"\0")


def _innermost(frame, ethertype, end):
    """The EtherType behind tags and labels, and where what it is begins."""
    while ethertype in TAGS:
        ethertype, end = _number(frame, end + 2), end + 4
    if ethertype in MPLS:
        end += 4 * next(i for i in itertools.count(1) if frame[end + 4 * i - 2] & 1)
    return ethertype, end


def _non_ip_wifi_key(frame, link):
    """As the same frame of Ethernet would have it; all of what has no EtherType."""
    try:
        _, whole, padded = _radio(frame, link)
    except NoKey:
        return "unknown", frame[frame[2] | frame[3] << 8:]
    try:
        ethertype, at = _wifi_payload(whole, padded)
    except NoKey as no_key:
        if len(whole) < 24 or whole[0] & 0x0F not in (0, 8) or whole[0] & 0x4C == 0x48:
            raise NoKey("non_ip", "802.11 without a number") from no_key
        return "wifi", whole
    ethertype, end = _innermost(whole, ethertype, at)
    to, of = whole[1] & 1, whole[1] & 2
    destination = whole[16:22] if to else whole[4:10]
    source = whole[10:16] if not of else whole[24:30] if to else whole[16:22]
    return "ethernet", destination + source, ethertype, _unpadded(whole[end:])


def _non_ip_key(frame, link):
    """Of a frame without an IP packet."""
    if link in ETHERTYPES:
        at, end = ETHERTYPES[link]
        ethertype, end = _innermost(frame, _number(frame, at), end)
        if link == HDLC:
            return "hdlc", ethertype, frame[end:]
        if link != ETHERNET:
            address = frame[6:14] if link == COOKED else frame[12:20]
            return "cooked", address, ethertype, _unpadded(frame[end:])
        body = frame[end:]
        body = body[:ethertype] if 3 <= ethertype <= 1500 else _unpadded(body)
        return "ethernet", frame[:12], ethertype, body
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
        return "ethernet", bytes(12), PPPOE, _unpadded(frame)
    return "unknown", frame


PPP_PROTOCOLS = {0x0021: 4, 0x0057: 6}
FAMILIES = {2: 4, 10: 6, 24: 6, 28: 6, 30: 6}  # each system has its own number for IPv6
# link: (offset, end)
ETHERTYPES = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED2: (0, 20), HDLC: (2, 4)}


def _find_ip(frame, link):
    """(version, offset, end of the frame, or None) of the outermost IP packet."""
    if link in RADIO:
        begin, whole, padded = _radio(frame, link)
        ethertype, at = _wifi_payload(whole, padded)
        version, at = _behind_ethertype(whole, ethertype, at)
        return version, begin + at, begin + len(whole)
    if link == NFLOG:
        return _in_nflog(frame)
    return *_find_ip_to_the_end(frame, link), None


def _find_ip_to_the_end(frame, link):
    if link in ETHERTYPES:
        at, end = ETHERTYPES[link]
        _need(len(frame), end)
        return _behind_ethertype(frame, _number(frame, at), end)
    if link in RAW:
        return _by_version(frame, 0, "malformed", "ip version")
    if link in (IPV4, IPV6):
        return (4 if link == IPV4 else 6), 0
    if link in (PPP, PPP_HDLC):
        return _behind_ppp(frame, 2 if frame[:2] == b"\xff\x03" else 0)
    if link == PPP_ETHER:
        return _behind_ethertype(frame, PPPOE, 0)
    if link == FRAME_RELAY:
        return _behind_frame_relay(frame)
    if link not in (NULL, LOOP):
        raise NoKey("non_ip", "link type %d" % link)
    _need(len(frame), 4)
    swapped = link == NULL and frame[0]  # in the byte order of the host that captured
    return _known(FAMILIES, frame[0] if swapped else frame[3], 4, "address family %d")


def _ip_packet(frame, link=ETHERNET):
    """(version, bytes of the outermost IP packet up to its length or the captured end)."""
    version, at, end = _find_ip(frame, link)
    ip = frame[at:end]
    _need(len(ip), 20 if version == 4 else 40)
    if ip[0] >> 4 != version:
        raise NoKey("malformed", "ip version")
    # Segmentation offload leaves the length 0: then all that was captured belongs to the packet.
    if version == 6:
        payload = _number(ip, 4)
        return 6, ip[:40 + payload] if payload or ip[6] == NO_NEXT_HEADER else ip
    header, length = (ip[0] & 15) * 4, _number(ip, 2)
    if header < 20:
        raise NoKey("malformed", "ipv4 header length")
    _need(len(ip), header)
    if 0 < length < header:
        raise NoKey("malformed", "ipv4 total length")
    return 4, ip[:length] if length else ip


def _ipv6_upper(ip):
    """(protocol, offset, whether a later fragment) of what stands behind the extension headers."""
    protocol, at = ip[6], 40
    while protocol in EXTENSIONS or protocol in (FRAGMENT, AUTHENTICATION):
        _need(len(ip), at + 8)
        this, protocol, units = protocol, ip[at], ip[at + 1]
        if this == FRAGMENT:
            if _number(ip, at + 2) >> 3:
                return protocol, at + 8, True
            at += 8
        else:
            at += units * 4 + 8 if this == AUTHENTICATION else units * 8 + 8
    _need(len(ip), at)
    return protocol, at, False


def _flow(version, ip):
    """((source, source port), (destination, destination port), protocol)."""
    if version == 4:
        source, destination, protocol, at = ip[12:16], ip[16:20], ip[9], (ip[0] & 15) * 4
        later_fragment = _number(ip, 6) & 0x1FFF != 0
    else:
        source, destination = ip[8:24], ip[24:40]
        protocol, at, later_fragment = _ipv6_upper(ip)
    ports = bytes(4)
    if protocol in PORTED and not later_fragment:
        _need(len(ip), at + 4)
        ports = ip[at:at + 4]
    return (source, ports[:2]), (destination, ports[2:]), protocol


def key_of(mode, frame, link=ETHERNET, non_ip="pass"):
    """What decides sameness: bytes or a tuple. Raises NoKey."""
    if mode == "frame":
        return frame
    try:
        version, ip = _ip_packet(frame, link)
    except NoKey as no_key:
        if non_ip == "pass" or no_key.args[0] != "non_ip":
            raise
        return _non_ip_key(frame, link)
    if mode == "packet":
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
    """The slots of every key: the time and the number of the packet that stamped each."""

    def __init__(self, window=None, policy="fixed", first=1):
        self._window, self._refresh, self._first = window, policy == "refresh", first
        self._slots = {}

    def see(self, number, now, key):
        """The answer for packet number; now never decreases. An echo repeats the youngest."""
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
            non_ip="pass"):
    """The answer for each packet, numbered from 1. window in ns, None: endless.

    reasons, where given: kind -> Counter, is told why packets have no key.
    """
    memory, clock = Memory(window, policy, first), Clock(jump_of(window))
    for number, packet in enumerate(packets, 1):
        now = clock.at(packet.time)
        try:
            yield memory.see(number, now, key_of(key, packet.data, packet.link, non_ip))
        except NoKey as no_key:
            kind, reason = no_key.args
            if reasons is not None:
                reasons[kind][reason] += 1
            yield Answer(kind)


# ---- command line -------------------------------------------------------------------------------

def duration(text):
    """"50ms" -> nanoseconds, "inf" -> None."""
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


def _arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="+", metavar="CAPTURE")
    parser.add_argument("--key", choices=KEYS, default="packet")
    parser.add_argument("--non-ip", choices=NON_IP, default="pass")
    parser.add_argument("--window", type=duration, default=None, metavar="W", help="50ms; inf")
    parser.add_argument("--policy", choices=POLICIES, default="fixed")
    parser.add_argument("--first", type=_positive, default=1, metavar="N")
    parser.add_argument("--as-ethernet", action="store_true")
    parser.add_argument("--microseconds", action="store_true")
    parser.add_argument("--csv", metavar="FILE")
    return parser.parse_args(argv)


def _load(captures, key, jump, non_ip):
    """merged() as a list, with every link type checked."""
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
    reasons = {"non_ip": collections.Counter(), "malformed": collections.Counter()}
    verdicts = list(answers((packet for _, packet in order), options.key, options.window,
                            options.policy, options.first, reasons, options.non_ip))
    counts = collections.Counter(answer.kind for answer in verdicts)
    ages = [answer.age for answer in verdicts if answer.kind == "echo"]
    packets = collections.Counter(index for index, _ in order)
    summary = {
        "captures": [{"path": capture.path, "packets": packets[index], "cut": capture.cut}
                     for index, capture in enumerate(captures)],
        "key": options.key, "non_ip_keys": options.non_ip, "window_ns": options.window, "policy": options.policy,
        "first": options.first,
        "packets": len(order), "bytes": sum(len(packet.data) for _, packet in order),
        **{kind: counts[kind] for kind in KINDS},
        "reasons": {kind: dict(sorted(counter.items())) for kind, counter in reasons.items()},
        "min_age_ns": min(ages, default=None), "max_age_ns": max(ages, default=None),
    }
    if options.csv:
        with open(options.csv, "w", newline="", encoding="ascii") as file:
            _write_csv(file, order, verdicts)
    json.dump(summary, out, indent=1)
    out.write("\n")


def _write_csv(file, order, verdicts):
    """reference counts packets as the first column does, in merged order; capture as on the command
    line, from 1; frame in that capture."""
    rows, frames = csv.writer(file, lineterminator="\n"), collections.Counter()
    rows.writerow(("packet", "capture", "frame", "time_ns", "answer", "age_ns", "reference"))
    for number, ((index, packet), answer) in enumerate(zip(order, verdicts), 1):
        frames[index] += 1
        rows.writerow((number, index + 1, frames[index], packet.time, *answer))


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
