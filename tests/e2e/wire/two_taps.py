# SPDX-License-Identifier: BSD-3-Clause
"""Packets between hosts on two sides of two taps, as a path with losses and delays shows them to
both taps. Its process prints what it did: for each direction the packets sent and lost, and the
delays, by the clock at each send.

The kernel's means are netem and mirred; this program in user space serves kernels without them.
"""
import heapq
import json
import random
import socket
import struct
import subprocess
import sys
import time

import wire

LEFT, RIGHT = 0, 1
# packets: in both directions together. rate: a second. loss: probability. delay, jitter: seconds; the
# jitter is exponential. duplicates: share that the second tap shows twice. family: 4 or 6. vxlan:
# packets at the right tap are in a tunnel. hosts: on each side. sides: where packets come from.
PATH = {"packets": 8000, "rate": 4000, "loss": 0, "delay": 0.001, "jitter": 0, "duplicates": 0,
        "family": 4, "vxlan": False, "hosts": 8, "sides": [LEFT, RIGHT], "seed": 1}


def _udp(addresses, number):
    payload = struct.pack(">Q", number).ljust(40, b"\x5a")
    udp = struct.pack(">HHHH", 20000 + number % 64, wire.PORT, 8 + len(payload), 0) + payload
    pseudo = addresses + struct.pack(">IHBB", len(udp), 0, 0, 17)
    return udp[:6] + struct.pack(">H", wire._sum16(pseudo + udp) or 0xFFFF) + udp[8:]


def _v4(source, target, payload, identity, ttl):
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), identity, 0x4000, ttl, 17, 0, source,
                         target)
    return header[:10] + struct.pack(">H", wire._sum16(header)) + header[12:] + payload


def frame(number, side, family, source, target, hops=0):
    """Return a packet from a host on this side, hops behind its first tap."""
    macs = bytes((2, 0, 0, 0, hops, 2 - side, 2, 0, 0, 0, hops, 1 + side))
    if family == 6:
        ends = [b"\x20\x01\x0d\xb8" + bytes((side ^ far, *bytes(10), 1 + host))
                for far, host in ((0, source), (1, target))]
        udp = _udp(b"".join(ends), number)
        return macs + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64 - hops) + b"".join(ends) + udp
    ends = [bytes((10, 1 + (side ^ far), 0, 1 + host)) for far, host in ((0, source), (1, target))]
    return macs + b"\x08\x00" + _v4(*ends, _udp(b"".join(ends), number), 1 + number % 65535, 64 - hops)


def in_vxlan(inner, number):
    udp = struct.pack(">HHHHII", 49152 + number % 1000, 4789, 16 + len(inner), 0, 1 << 27, 77 << 8) + inner
    outer = _v4(bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)), udp, 1 + number % 65535, 62)
    return bytes((2, 0, 0, 0, 9, 2, 2, 0, 0, 0, 9, 1)) + b"\x08\x00" + outer


def _plan(path):
    """Return the events in order: (time, number, tap, frame, is at the second tap)."""
    draw, events = random.Random(path["seed"]), []
    for number in range(path["packets"]):
        at = number / path["rate"]
        side = draw.choice(path["sides"])
        hosts = draw.randrange(path["hosts"]), draw.randrange(path["hosts"])
        lost = draw.random() < path["loss"]
        looks = [frame(number, side, path["family"], *hosts, hops) for hops in (0, 1)]
        if path["vxlan"]:
            at_right = 1 - side  # the first tap of a packet from the right, else the second
            looks[at_right] = in_vxlan(looks[at_right], number)
        events.append((at, number, side, looks[0], False))
        if not lost:
            later = at + path["delay"] + (draw.expovariate(1 / path["jitter"]) if path["jitter"] else 0)
            for _ in range(1 + (draw.random() < path["duplicates"])):
                events.append((later, number, 1 - side, looks[1], True))
    heapq.heapify(events)
    return [heapq.heappop(events) for _ in range(len(events))]


def send(interfaces, path):
    taps = []
    for interface in interfaces:
        taps.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        taps[-1].bind((interface, 0))
    events = _plan(path)
    sent, delays = {}, {}
    begin = time.monotonic() + 0.05
    for due, number, tap, data, second in events:
        while (wait := begin + due - time.monotonic()) > 0:
            if wait > 0.002:
                time.sleep(wait - 0.002)
        before = time.monotonic_ns()
        taps[tap].send(data)
        now = (before + time.monotonic_ns()) // 2
        if not second:
            sent[number] = (tap, now)
        elif number not in delays:
            delays[number] = now - sent[number][1]
    out = [{"sent": 0, "lost": 0, "delays": []} for _ in range(2)]
    for number, (side, _) in sent.items():
        out[side]["sent"] += 1
        if number in delays:
            out[side]["delays"].append(delays[number])
        else:
            out[side]["lost"] += 1
    return out


def run(interfaces, **path):
    """Send along a path; return for each side's packets {"sent", "lost", "delays"}."""
    done = wire.run(sys.executable, "-B", __file__, json.dumps(interfaces), json.dumps({**PATH, **path}))
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(send(json.loads(sys.argv[1]), json.loads(sys.argv[2]))))
