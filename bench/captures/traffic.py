#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make a capture whose echoes are all known: an IMIX of UDP flows as two taps might see it.

    traffic.py OUT.pcap [--packets N] [--seed S] [--rate PPS] [--echoes SHARE] [--truth FILE]
               [--median NS] [--sigma S] [--late SHARE]

Nanosecond pcap, Ethernet, frames of 60, 572 and 1514 bytes 7:4:1, exponential gaps. A share of the
packets has a copy after a lognormal delay (median 300 us, 1 in 1000 above 6.6 ms; --late of them
1000 times later). The copy is the same frame, or as a router forwards it (other MACs, TTL-1,
checksum), or has a VLAN tag. As many packets have a near copy at such a delay, which is no echo:
one byte of the payload, or the IP ID, differs. Equal arguments give equal bytes. --truth: a line
"number,original,age_ns,kind" for each echo.
"""
import argparse
import heapq
import math
import random
import struct
import zlib

LENGTHS = (60,) * 7 + (572,) * 4 + (1514,)
IDENTICAL, ROUTED, TAGGED, NEAR = "identical", "routed", "tagged", "near"
COPIES = (IDENTICAL,) * 2 + (ROUTED,) * 2 + (TAGGED,)
MEDIAN_DELAY, SIGMA = 300_000, 1.0  # ns
MAC_TAP = bytes.fromhex("02000000000a02000000000b0800")
MAC_ROUTED = bytes.fromhex("02000000000c02000000000d0800")
VLAN = bytes.fromhex("81000007")
EPOCH = 1_700_000_000 * 10**9
BGZF_BLOCK = 65280


def bgzf(data):
    """Return a gzip member as bgzip writes it, of at most BGZF_BLOCK bytes, with its size in the
    extra field BC."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    return (b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(packed) + 25) +
            packed + struct.pack("<II", zlib.crc32(data), len(data)))


def ipv4(total, ident, ttl, source, destination):
    head = struct.pack(">BBHHHBBHII", 0x45, 0, total, ident, 0x4000, ttl, 17, 0, source, destination)
    value = sum(struct.unpack(">10H", head))
    value = (value & 0xFFFF) + (value >> 16)
    value = ~((value & 0xFFFF) + (value >> 16)) & 0xFFFF
    return head[:10] + struct.pack(">H", value) + head[12:]


class Packet:
    """The fields from which the frame is made again, changed."""
    __slots__ = ("ident", "source", "destination", "ports", "payload", "ttl")

    def __init__(self, draw, number, noise):
        flow = draw.randrange(50_000)
        self.ident = number & 0xFFFF
        self.source, self.destination = 0x0A000000 + flow % 251, 0x0A010000 + flow // 251
        self.ports = struct.pack(">HH", 1024 + flow, 53 + flow % 7)
        length = LENGTHS[draw.randrange(len(LENGTHS))] - 42 - 8
        at = draw.randrange(len(noise) - length)
        self.payload = number.to_bytes(8, "big") + noise[at:at + length]
        self.ttl = 64

    def frame(self, kind=IDENTICAL, draw=None):
        ident, ttl, payload, ethernet = self.ident, self.ttl, self.payload, MAC_TAP
        if kind == ROUTED:
            ttl, ethernet = ttl - 1, MAC_ROUTED
        elif kind == TAGGED:
            ethernet = MAC_TAP[:12] + VLAN + MAC_TAP[12:]
        elif kind == NEAR and draw.random() < 0.5:
            ident ^= 0x5555
        elif kind == NEAR:
            payload = payload[:-1] + bytes([payload[-1] ^ 1])
        udp = self.ports + struct.pack(">HH", 8 + len(payload), 0)
        return b"".join((ethernet, ipv4(28 + len(payload), ident, ttl, self.source,
                                        self.destination), udp, payload))


def packets(count, seed=1, rate=1e6, echoes=0.2, median=MEDIAN_DELAY, sigma=SIGMA, late=0.0):
    """Return (time, frame, number of the original or None, its age, kind) for `count` packets, by
    time."""
    draw = random.Random(seed)
    noise = draw.randbytes(1 << 16)
    waiting, made, number, now = [], 0, 0, 0.0
    while number < count:
        now += draw.expovariate(rate) * 1e9
        while waiting and waiting[0][0] <= now and number < count:
            time, _, original, born, kind, packet = heapq.heappop(waiting)
            number += 1
            yield (EPOCH + time, packet.frame(kind, draw), None if kind == NEAR else original,
                   time - born, kind)
        if number == count:
            return
        number += 1
        packet, time = Packet(draw, number, noise), int(now)
        yield EPOCH + time, packet.frame(), None, 0, None
        luck = draw.random()
        if luck < echoes / (1 - echoes) * 2:
            kind = draw.choice(COPIES) if luck < echoes / (1 - echoes) else NEAR
            delay = int(draw.lognormvariate(math.log(median), sigma)) + 1
            if late and draw.random() < late:
                delay *= 1000
            made += 1
            heapq.heappush(waiting, (time + delay, made, number, time, kind, packet))


def write(path, truth_path=None, **arguments):
    truth = open(truth_path, "w", encoding="ascii") if truth_path else None
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for number, (time, frame, original, age, kind) in enumerate(packets(**arguments), 1):
            file.write(struct.pack("<IIII", *divmod(time, 10**9), len(frame), len(frame)) + frame)
            if truth and original is not None:
                truth.write("%d,%d,%d,%s\n" % (number, original, age, kind))
    if truth:
        truth.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e6)
    parser.add_argument("--echoes", type=float, default=0.2)
    parser.add_argument("--median", type=float, default=MEDIAN_DELAY)
    parser.add_argument("--sigma", type=float, default=SIGMA)
    parser.add_argument("--late", type=float, default=0.0)
    parser.add_argument("--truth")
    given = parser.parse_args()
    write(given.out, given.truth, count=given.packets, seed=given.seed, rate=given.rate,
          echoes=given.echoes, median=given.median, sigma=given.sigma, late=given.late)


if __name__ == "__main__":
    main()
