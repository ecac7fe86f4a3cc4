# SPDX-License-Identifier: BSD-3-Clause
"""A steady stream of packets into interfaces of several namespaces. Its process reads, line by line,
what is to change of it."""
import ctypes
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

import wire

CLONE_NEWNET = 0x40000000
STEP = 0.004  # seconds between bursts
LATE = 0.1  # what was not sent by then is left out
# Two taps that see the same packets, one hop apart. rate: packets a second. silent: taps that see
# nothing. other: share of the packets at tap 1 that are no copies. times: how often tap 0 sees each.
TAPS = {"rate": 200, "silent": [], "other": 0, "times": 1}
# A tap with flows of four packets, one that sees each packet twice, and one that sees it once. rate:
# packets a second. share: the first tap has one in so many.
SITE = {"rate": 200, "share": 1}


def flow_packet(number):
    flow, place = divmod(number, 4)
    ends = [(b"\x0a\x01" + struct.pack(">H", flow & 0xFFFF), 1024 + (flow >> 16) % 60000),
            (b"\x0a\x63\xff\x01", 443)]
    (source, port), (target, other) = ends[::-1] if place % 2 else ends
    udp = struct.pack(">HHHHQ", port, other, 16, 0, number)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 2 + number % 65000, 0x4000, 64,
                         17, 0, source, target)
    header = header[:10] + struct.pack(">H", wire._sum16(header)) + header[12:]
    return (bytes((2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1)) + b"\x08\x00" + header + udp).ljust(60, b"\0")


def frames_at_taps(number, mode):
    """Return (place, frame) of each packet."""
    for _ in range(mode["times"]):
        yield 0, wire.udp_frame(number)
    different = number % 100 < 100 * mode["other"]
    yield 1, wire.udp_frame(number + (1 << 40 if different else 0), ttl=63, mac_shift=1)


def frames_at_site(number, mode):
    first = wire.udp_frame(number)
    if number % mode["share"] == 0:
        yield 0, flow_packet(number // mode["share"])
        yield 2, first
    yield 1, first
    yield 1, wire.udp_frame(number, ttl=63, mac_shift=1)


SHAPES = {"taps": (TAPS, frames_at_taps), "site": (SITE, frames_at_site)}


class SteadySender:
    """places: hosts, in the order of the shape."""

    def __init__(self, test, shape, places):
        self._process = subprocess.Popen(
            [sys.executable, "-B", __file__, shape,
             *("%s/%s" % (host.name, host.inside) for host in places)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.addCleanup(self._kill)
        self.usual = SHAPES[shape][0]
        if self._process.stdout.readline() != "sending\n":
            raise AssertionError("the sender did not start")

    def _kill(self):
        self._process.kill()
        self._process.communicate()

    def change(self, **mode):
        """Everything else is as usual."""
        self._process.stdin.write(json.dumps({**self.usual, **mode}) + "\n")
        self._process.stdin.flush()


def socket_in(namespace, interface):
    libc = ctypes.CDLL(None, use_errno=True)
    ours = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    theirs = os.open("/run/netns/" + namespace, os.O_RDONLY)
    if libc.setns(theirs, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((interface, 0))
    libc.setns(ours, CLONE_NEWNET)
    return out


def main(shape, *places):
    sockets = [socket_in(*place.split("/")) for place in places]
    mode, frames_of = SHAPES[shape]
    print("sending", flush=True)
    number, due, line = random.getrandbits(30), time.monotonic(), b""
    while True:
        if select.select([0], [], [], STEP)[0]:
            line += os.read(0, 4096)
            *lines, line = line.split(b"\n")
            if not lines:
                return
            mode = json.loads(lines[-1])
        now = time.monotonic()
        due = max(due, now - LATE)
        while due <= now:
            for place, frame in frames_of(number, mode):
                if place not in mode.get("silent", ()):
                    try:
                        sockets[place].send(frame)
                    except OSError:
                        pass  # the link is down
            number += 1
            due += 1 / mode["rate"]


if __name__ == "__main__":
    main(*sys.argv[1:])
