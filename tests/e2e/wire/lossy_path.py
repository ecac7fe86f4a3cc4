# SPDX-License-Identifier: BSD-3-Clause
"""A path between two interfaces that loses packets, with taps on it. Every transmission is
recorded.

A tap is left or right of the place where packets are lost. The left one sees packets from the left
before the loss, and packets from the right after it. The kernel's means are netem and mirred; this
program in user space serves kernels without them.
"""
import collections
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

LEFT, RIGHT = 0, 1
TCP = 6
RING = 1 << 26  # bytes that may wait in front of the path: more than any test sends
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23

# One packet that a sender put on the path: the side it came from, and whether the path lost it.
Transmission = collections.namedtuple("Transmission", "side lost frame")
# side: its position. ports: interfaces that take turns, like the members of a LAG. times: how often
# it shows each packet, 2 for a port that mirrors both directions.
Tap = collections.namedtuple("Tap", "side ports times", defaults=(1,))


class LossyPath:
    """Forwards between two interfaces of this namespace. Of TCP, each direction by itself, it loses
    every packet whose number is a multiple of `lose`. delay: seconds for each packet, after the
    taps. record: end() returns what was sent."""

    def __init__(self, test, left, right, lose=0, taps=(), delay=0, record=True):
        self._record = test.folder / ("path-%s-%s" % (left, right)) if record else os.devnull
        self._process = subprocess.Popen(
            [sys.executable, "-B", __file__, json.dumps([left, right]), str(lose), json.dumps(taps),
             str(delay), self._record], stdout=subprocess.PIPE, text=True)
        test.addCleanup(self._kill)
        if self._process.stdout.readline() != "forwarding\n":
            raise AssertionError("the path did not start")

    def _kill(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def end(self):
        """Stop; return the transmissions in order."""
        self._process.terminate()
        self._process.communicate(timeout=60)
        if self._process.returncode != 0:
            raise AssertionError("the path ended with exit status %d" % self._process.returncode)
        data, at, out = self._record.read_bytes(), 0, []
        while at < len(data):
            side, lost, length = struct.unpack_from("<BBI", data, at)
            out.append(Transmission(side, bool(lost), data[at + 6:at + 6 + length]))
            at += 6 + length
        return out


def _open(interface):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    opened.setsockopt(socket.SOL_SOCKET, 33, RING)  # SO_RCVBUFFORCE
    opened.bind((interface, 3))  # ETH_P_ALL: until now it received nothing of other interfaces
    opened.setblocking(False)
    return opened


def is_tcp(frame):
    return frame[12:14] == b"\x86\xdd" and frame[20] == TCP or \
        frame[12:14] == b"\x08\x00" and frame[23] == TCP


class _Forwarder:
    def __init__(self, interfaces, lose, taps, delay, record):
        self._sides = [_open(name) for name in interfaces]
        self._lose, self._delay, self._record = lose, delay, record
        self._late = collections.deque()  # (due time, socket, frame)
        self._taps = [Tap(side, [_open(port) for port in ports], times) for side, ports, times in taps]
        self._counts = [0, 0]

    def forward(self):
        wait = max(self._late[0][0] - time.monotonic(), 0) if self._late else 0.05
        for ready in select.select(self._sides, [], [], wait)[0]:
            side = self._sides.index(ready)
            for _ in range(32):
                try:
                    frame = ready.recv(65535)
                except BlockingIOError:
                    break
                self._pass(side, frame)
        while self._late and self._late[0][0] <= time.monotonic():
            _, to, frame = self._late.popleft()
            to.send(frame)

    def _pass(self, side, frame):
        tcp = is_tcp(frame)
        self._counts[side] += tcp
        lost = tcp and self._lose > 0 and self._counts[side] % self._lose == 0
        self._record.write(struct.pack("<BBI", side, lost, len(frame)) + frame)
        for tap in self._taps:
            if tap.side == side or not lost:
                port = tap.ports[self._counts[side] % len(tap.ports)]
                for _ in range(tap.times):
                    port.send(frame)
        if not lost:
            self._late.append((time.monotonic() + self._delay, self._sides[1 - side], frame))


def main(interfaces, lose, taps, delay, record):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    with open(record, "wb") as out:
        forwarder = _Forwarder(json.loads(interfaces), int(lose), json.loads(taps), float(delay), out)
        print("forwarding", flush=True)
        while not ended:
            forwarder.forward()


if __name__ == "__main__":
    main(*sys.argv[1:])
