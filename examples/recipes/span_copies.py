#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make a capture like that of a SPAN of both directions of both ports: each packet twice.

    examples/recipes/span_copies.py OUT

One TCP download of 200 segments of 1000 bytes with its acknowledgements, and 50 UDP requests and
answers. The copy follows after 30 us and is bit-identical. 1012 packets, 506 of them copies.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "oracle"))
import frames  # noqa: E402

US = 1_000
START = 1_700_000_000_000_000_000
CLIENT, SERVER = "10.1.0.1", "10.2.0.1"
FIN, SYN, PUSH, ACK = 1, 2, 8, 16


def download():
    """Yield (True if the server sends, payload, sequence, acknowledged, flags)."""
    yield False, b"", 99, 0, SYN
    yield True, b"", 999, 100, SYN | ACK
    yield False, b"", 100, 1000, ACK
    for segment in range(200):
        yield True, b"%04d" % segment * 250, 1000 + 1000 * segment, 100, PUSH | ACK
        yield False, b"", 100, 2000 + 1000 * segment, ACK
    yield True, b"", 201_000, 100, FIN | ACK
    yield False, b"", 100, 201_001, FIN | ACK
    yield True, b"", 201_001, 101, ACK


def packets():
    for number, (back, payload, sequence, acknowledged, flags) in enumerate(download()):
        ends, ports = ((SERVER, CLIENT), (80, 40000)) if back else ((CLIENT, SERVER), (40000, 80))
        stamps = (2000 + number, 1000 + number) if back else (1000 + number, 2000 + number)
        segment = frames.tcp(*ends, ports, payload, sequence, acknowledged, flags, stamps)
        yield frames.ipv4(*ends, frames.TCP, segment, 1000 + number)
    for number in range(50):
        for ends, ports in (((CLIENT, SERVER), (5000, 9999)), ((SERVER, CLIENT), (9999, 5000))):
            datagram = frames.udp(*ends, ports, b"%04d" % number * 25)
            yield frames.ipv4(*ends, frames.UDP, datagram, 5000 + 2 * number + (ports[0] == 9999))


def main():
    made = []
    for number, ip in enumerate(packets()):
        frame = frames.ethernet(ip)
        for copy in range(2):
            made.append((START + number * 200 * US + copy * 30 * US, frame))
    pathlib.Path(sys.argv[1]).write_bytes(frames.pcap(made))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: span_copies.py OUT")
    main()
