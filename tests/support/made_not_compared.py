# SPDX-License-Identifier: BSD-3-Clause
"""Captures for which "no copies" would be a wrong answer: captures() -> {name: bytes}.

Both sides of a NAT, segments and packets that a card merged from them, tunnels on unusual UDP
ports, unknown EtherTypes and link types, equal times, very few packets, packets cut within their
headers, two captures in one file.
"""
import random
import struct

import made_captures
from made_repeats import MS, PUSH_ACK, SECOND, TCP, UDP, US, counted, ethernet, ipv4, ipv6, tcp, udp

BEGIN = 1_700_000_000 * SECOND
IEEE_802_15_4 = 195
COUNT = 30


def pairs(first, second, count=COUNT, delay=60 * US):
    """Return each packet of the first kind, followed by the matching one of the second kind."""
    return [(BEGIN + i * 10 * MS + late, make(i)) for i in range(count)
            for late, make in ((0, first), (delay, second))]


def data(i):
    return random.Random(i).randbytes(60)


def segment(i):
    return ipv6(TCP, tcp(PUSH_ACK, 1000 + 60 * i, data=data(i), ports=(40000 + i, 443)))


def in_vlan(frame):
    return frame[:12] + struct.pack(">HH", 0x8100, 7) + frame[12:]


def nat(protocol):
    def side(i, source, port, ttl):
        body = tcp(PUSH_ACK, 1000 + 60 * i, data=data(i), ports=(port, 443)) if protocol == TCP \
            else udp(data(i), (port, 53))
        return ipv4(protocol, body, 100 + i, ttl, source)
    return pairs(lambda i: side(i, 1, 40000, 64), lambda i: side(i, 77, 51000 + i, 63))


def merged(first):
    """Three segments, and one with the bytes of all of them; `first` says which comes first."""
    out = []
    for i in range(COUNT):
        time, whole = BEGIN + i * 10 * MS, data(i)
        parts = [(time + (j + 1) * US, ipv4(TCP, tcp(PUSH_ACK, 1000 + 60 * i + 20 * j,
                                                     data=whole[20 * j:20 * j + 20]), 100 + 4 * i + j))
                 for j in range(3)]
        one = ipv4(TCP, tcp(PUSH_ACK, 1000 + 60 * i, data=whole), 100 + 4 * i)
        out += [(time, one), *parts] if first else [*parts, (time + 40 * US, one)]
    return out


def tunnelled(port, header):
    """Two mirrors: outer addresses and IDs differ, the inner packets are equal."""
    def outer(i, mirror):
        return ipv4(UDP, udp(header + counted(i), (50000 + mirror, port)), 1000 + 7 * i + mirror,
                    source=100 + mirror)
    return pairs(lambda i: outer(i, 0), lambda i: outer(i, 1))


def tagged(i, tag):
    """Put a tag of two bytes behind an unknown EtherType."""
    return ethernet(0x9ABC, bytes([tag, tag]) + counted(i)[12:])


def acknowledged(i):
    return bytes([2, 0, i % 20, i % 20, 0x55])


def captures():
    def ethernet_capture(packets):
        return made_captures.pcap("<", True, made_captures.ETHERNET, packets)
    plain = [(BEGIN + i * MS, counted(i)) for i in range(COUNT)]
    twice = [(BEGIN, counted(i)) for i in range(COUNT) for _ in range(2)]
    radio = pairs(lambda i: bytes([0x61, 0x88, i]) + data(i), acknowledged, 100)
    return {
        "nat-tcp": ethernet_capture(nat(TCP)),
        "nat-udp": ethernet_capture(nat(UDP)),
        "gro": ethernet_capture(merged(False)),
        "tso": ethernet_capture(merged(True)),
        "vxlan-5000": ethernet_capture(tunnelled(5000, bytes([8, 0, 0, 0, 0, 0, 42, 0]))),
        "geneve-5001": ethernet_capture(tunnelled(5001, bytes([0, 0, 0x65, 0x58, 0, 0, 42, 0]))),
        "tzsp-5002": ethernet_capture(tunnelled(5002, bytes([1, 0, 0, 1, 1]))),
        "ether-type": ethernet_capture(pairs(lambda i: tagged(i, 1), lambda i: tagged(i, 2))),
        "acknowledgements": made_captures.pcap("<", True, IEEE_802_15_4, radio),
        "link-type": made_captures.pcap("<", True, IEEE_802_15_4, radio[::2]),
        "empty": ethernet_capture([(time, b"") for time, _ in plain]),
        "cut-headers": made_captures.pcap("<", True, made_captures.ETHERNET, pairs(
            lambda i: in_vlan(segment(i)), segment), 60),
        "one-time": ethernet_capture(twice),
        "three": ethernet_capture([(BEGIN, counted(1)), (BEGIN + 3 * US, counted(1)),
                                   (BEGIN + MS, counted(2))]),
        "two-in-one": ethernet_capture(plain) + ethernet_capture(plain),
        "late-a": ethernet_capture(plain),
        "late-b": ethernet_capture([(time + 37 * SECOND, frame) for time, frame in plain]),
        "plain": ethernet_capture(plain),
    }


def erf(type_, frame=b"\0" * 64):
    """Return one record of an ERF file."""
    return struct.pack("<QBB", BEGIN // SECOND << 32, type_, 4) + struct.pack(
        ">HHH", 18 + len(frame), 0, len(frame)) + bytes(2) + frame
