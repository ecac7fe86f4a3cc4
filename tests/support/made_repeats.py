# SPDX-License-Identifier: BSD-3-Clause
"""Captures in which packets occur twice: copied by a mirror or a second tap, or repeated by their
sender. Each capture is [(time in ns, frame, sent_again)]. sent_again is None for a new packet,
False for a copy and True for a repeat.
"""
import pathlib
import random
import struct

import made_captures

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
TCP, UDP, ICMP, VRRP, OSPF, ICMP6 = 6, 17, 1, 112, 89, 58
ACK, PUSH_ACK, RST = 0x10, 0x18, 0x04


def ethernet(kind, body, source=1, destination=2):
    return struct.pack(">HIHIH", 0x0200, destination, 0x0200, source, kind) + body.ljust(46, b"\0")


def ipv4(protocol, body, identification, ttl=64, source=1, destination=2, mac=0):
    # The checksum is any value that depends on what it covers.
    header = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(body), identification, 0x4000, ttl,
                         protocol, (identification + ttl) & 0xFFFF, 0x0A000000 + source,
                         0x0A000000 + destination)
    return ethernet(0x0800, header + body, source + mac, destination + mac)


def ipv6(protocol, body, source=1, destination=2, hops=64):
    return ethernet(0x86DD, struct.pack(">IHBB", 0x60000000, len(body), protocol, hops)
                    + bytes(15) + bytes([source]) + bytes(15) + bytes([destination]) + body,
                    source, destination)


def tcp(flags, sequence, acknowledged=0, data=b"", ports=(40000, 443)):
    return struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 0x50, flags, 1024, 0, 0) + data


def udp(data, ports=(40000, 9999)):
    return struct.pack(">HHHH", *ports, 8 + len(data), 0) + data


def doubled(given, delay, change=lambda frame: frame):
    """Add a copy of each packet; a copy of a repeat is marked as a repeat."""
    out = []
    for time, frame, again in given:
        out += [(time, frame, again), (time + delay, change(frame), False)]
    return sorted(out, key=lambda one: one[0])


def every(period, times, frame, begin=0):
    return [(begin + i * period, frame, True if i else None) for i in range(times)]


def traffic(count, make, gap=7 * MS):
    return [(i * gap, make(i), None) for i in range(count)]


def counted(i):
    return ipv4(TCP, tcp(PUSH_ACK, 1000 + 40 * i, data=b"%036d" % i), 100 + i)


def segment6(i):
    return ipv6(TCP, tcp(PUSH_ACK, 1000 + 40 * i, data=b"%036d" % i))


def routed(frame):
    """Return the frame behind a router: the router's MAC addresses, and a TTL lower by one."""
    return struct.pack(">HIHI", 0x0200, 77, 0x0200, 78) + frame[12:22] + bytes([frame[22] - 1]) \
        + frame[23:]


def tagged(frame):
    """Return the frame with a VLAN tag."""
    return frame[:12] + b"\x81\0\0\7" + frame[12:]


def merged(*parts):
    return sorted((one for part in parts for one in part), key=lambda one: one[0])


HELLO = ipv4(VRRP, b"\x21\x01\x64\x01\x00\x01" + bytes(14), 0, 255)
OSPF_HELLO = ipv4(OSPF, b"\x02\x01" + bytes(42), 0, 1, source=9)
MDNS = ipv6(UDP, udp(bytes(40), (5353, 5353)), source=7)
ARP = ethernet(0x0806, b"\0\1\x08\0\6\4\0\1" + bytes(20))
RESET = ipv4(TCP, tcp(RST, 5000), 0, source=2, destination=1)


def captures():
    """Return {name: packets}."""
    noise = random.Random(5)
    mixed6 = [segment6, lambda i: ipv6(UDP, udp(b"%08d" % i)),
              lambda i: ipv6(ICMP6, b"\x80\0\0\0" + struct.pack(">HH", 1, i))]
    storm = [(begin + i * 15 * US, RESET, True if i else None)
             for begin in (50 * MS,) for i in range(9)]
    loop = [(i * 100 * US, counted(0), False if i else None) for i in range(200)]
    late = traffic(60, lambda i: ipv4(TCP, tcp(PUSH_ACK, 9 + 40 * i, data=b"%036d" % i), 0))
    late += [(late[i][0] + 80 * MS, late[i][1], True) for i in (5, 20, 41)]
    return {
        "vrrp": every(SECOND, 30, HELLO),
        "vrrp-mirrored": doubled(merged(every(SECOND, 12, HELLO), traffic(90, counted)), 30 * US),
        "ospf-mdns-routed": merged(
            [one for time, frame, _ in traffic(120, counted)
             for one in ((time, frame, None), (time + 3 * MS, routed(frame), False))],
            every(10 * SECOND, 6, OSPF_HELLO, MS), every(SECOND, 5, MDNS, 2 * MS)),
        "ipv6-mirrored": doubled(traffic(90, lambda i: mixed6[i % 3](i)), 40 * US),
        "ipv6-far-mirrored": doubled(traffic(90, segment6), 20 * MS),
        "ospf-alone-mirrored": doubled(every(10 * SECOND, 10, OSPF_HELLO), 8 * US),
        "arp-each-second": merged(every(SECOND, 20, ARP), traffic(50, counted)),
        "cfm-cycle": every(3_333_333, 300, ethernet(0x8902, b"\x40\x01" + bytes(44))),
        "profinet-mirrored": doubled(
            traffic(100, lambda i: ethernet(0x8892, struct.pack(">HI", 0x8000, i)), MS), 10 * US),
        "rst-storm": merged(traffic(80, counted), storm),
        "same-acks": merged(traffic(80, segment6),
                            every(20 * US, 6, ipv6(TCP, tcp(ACK, 7, 4711), 2, 1), 100 * MS)),
        "ping-same-number": every(20 * SECOND, 15, ipv4(ICMP, b"\x08\0\0\0\0\0\0\0" + bytes(40), 0)),
        "late-segments": merged(late),
        "constant-id": merged(traffic(40, lambda i: ipv4(UDP, udp(b"%08d" % i), 4660), 15 * MS),
                              every(15 * MS, 12, ipv4(UDP, udp(b"the same"), 4660), 700 * MS)),
        "dhcp-again": [(noise.randrange(10) * MS + n * 4 * SECOND, ipv4(
            UDP, udp(b"\1\1\6\0" + bytes(240), (68, 67)), 0), True if n else None)
            for n in range(6)],
        "keep-alive": merged(traffic(20, segment6),
                             every(45 * SECOND, 6, ipv6(TCP, tcp(ACK, 999, 5), 1, 2), SECOND)),
        # Once wrong: windows between two window buckets, and frames without an IP packet.
        "narrow-gap": merged(doubled(traffic(120, counted, 40 * MS), 6 * MS),
                             every(9 * MS, 2, OSPF_HELLO, 3 * SECOND)),
        "narrow-gap-four-times": merged(
            *[[(time + i * 1500 * US, frame, again if i == 0 else False)
               for time, frame, again in traffic(60, counted, 40 * MS)] for i in range(4)],
            every(1860 * US, 2, OSPF_HELLO, 3 * SECOND)),
        "arp-behind-copies": merged(doubled(traffic(120, counted, 40 * MS), 5 * MS),
                                    every(6 * MS, 2, ARP, 3 * SECOND)),
        "goose-into-vlan": doubled(
            traffic(60, lambda i: ethernet(0x88B8, struct.pack(">HI", 0x8000, i) + bytes(50)), 30 * MS),
            2 * MS, tagged),
        "lldp-hello-into-vlan": doubled(every(SECOND, 20, ethernet(0x88CC, bytes(range(46)))), MS,
                                        tagged),
        "arp-among-mirrored": doubled(merged(traffic(90, counted), every(90 * MS, 6, ARP, MS)),
                                      30 * US),
        "arp-twice": merged(traffic(200, counted, 11 * MS), *[
            every(300 * US, 2 + i % 2, ARP[:-1] + bytes([i]), i * 50 * MS) for i in range(20)]),
        "storm-of-three": merged(traffic(30, lambda i: counted(5000 + i)), *[
            [(SECOND + i * SECOND + n * 50 * US, counted(i), False if n else None)
             for n in range(500)] for i in range(3)]),
        "quic-resets": merged(
            doubled(traffic(90, segment6), 20 * US),
            every(8 * MS, 4, ipv6(TCP, tcp(RST, 5000), 2, 1), 2 * SECOND)),
        "loop": merged(loop, [(i * MS, counted(50 + i), None) for i in range(20)]),
    }


def mixed6(i):
    """Return one of many different packets: segments both ways, ACKs, datagrams and pings of some
    flows."""
    data, port = b"%08d" % i, 40000 + i % 37
    return (ipv6(TCP, tcp(PUSH_ACK, 1000 + 9 * i, i, data, (port, 443))),
            ipv6(TCP, tcp(ACK, 77, 1000 + 9 * i, b"", (443, port)), 2, 1),
            ipv6(UDP, udp(data, (port, 9999))),
            ipv6(ICMP6, b"\x80\0\0\0" + struct.pack(">HH", port, i & 0xFFFF)))[i % 4]


def without_id(i):
    """Return the frame with IPv4 ID 0."""
    data, port = b"%08d" % i, 40000 + i % 37
    return (ipv4(TCP, tcp(PUSH_ACK, 1000 + 9 * i, i, data, (port, 443)), 0),
            ipv4(TCP, tcp(ACK, 77, 1000 + 9 * i, b"", (443, port)), 0, source=2, destination=1),
            ipv4(UDP, udp(data, (port, 9999)), 0))[i % 3]


def shown(given, chance, delay, change=lambda frame: frame):
    """Add a copy of some packets, each with this chance and a random delay."""
    out = []
    for time, frame, again in given:
        out.append((time, frame, again))
        if chance():
            out.append((time + delay(), change(frame), False))
    return sorted(out, key=lambda one: one[0])


def lower_ttl(frame):
    return frame[:22] + bytes([frame[22] - 1]) + frame[23:]


def wifi(number, retry):
    """Return an encrypted 802.11 data frame."""
    return (b"\x08\x49" if retry else b"\x08\x41") + b"\x2c\0" + bytes([2, 0, 0, 0, 0, 1]) \
        + bytes([2, 0, 0, 0, 0, 2]) + bytes([2, 0, 0, 0, 0, 3]) + struct.pack("<H", number << 4) \
        + b"%08d" % number + bytes(40)


def cycles(period, jitter, count, chance, noise):
    """EtherCAT: one frame each period; some have other inputs than the frame before."""
    out, number = [], 0
    for i in range(count):
        number += noise.random() < chance
        frame = ethernet(0x88A4, b"\x0e\x10" + struct.pack(">I", number) + bytes(40))
        out.append((i * period + noise.randrange(jitter), frame,
                    None if not out or out[-1][1] != frame else True))
    return out


def weighed(seed=11):
    """Return {name: packets} of captures that are decided by weighing evidence; marked as in
    captures()."""
    noise = random.Random(seed)
    def share(part):
        return lambda: noise.random() < part
    def between(low, high):
        return lambda: noise.randrange(low, high)
    def first_again(packets):
        """Mark every later packet with equal bytes as a repeat."""
        seen, out = set(), []
        for time, frame in packets:
            out.append((time, frame, True if frame in seen else None))
            seen.add(frame)
        return out
    out = {
        "ethercat-500us": cycles(500 * US, 5 * US, 800, 0.3, noise),
        "ethercat-1ms": cycles(MS, 10 * US, 800, 0.04, noise),
        "equal-counters": first_again(
            (i * 900 * US + noise.randrange(800 * US),
             ipv4(UDP, udp(b"hits.%02d:1|c" % noise.randrange(30), (40000, 8125)), 0))
            for i in range(200)),
    }
    mirrored = []
    for i in range(400):
        frame = mixed6(4 * i)
        times = [i * 2 * MS] + ([i * 2 * MS + 8 * MS + noise.randrange(900 * US)] if i % 14 == 5 else [])
        for n, time in enumerate(times):
            mirrored += [(time, frame, True if n else None),
                         (time + noise.randrange(2 * US, 5 * US), frame, False)]
    out["v6-sent-again-behind-a-mirror"] = sorted(mirrored, key=lambda one: one[0])
    for part in (15, 30, 45):
        out["v6-copies-of-%d" % part] = shown(
            traffic(2000, mixed6, 300 * US), share(part / 100), between(100 * US, 20 * MS))
    flows = set(noise.sample(range(37), 4))
    out["v6-mirror-of-a-tenth-of-the-flows"] = sorted(
        (one for i in range(3000) for one in
         [(i * 300 * US, mixed6(i), None)]
         + ([(i * 300 * US + noise.randrange(20 * US, 100 * US), mixed6(i), False)]
            if i % 37 in flows else [])), key=lambda one: one[0])
    out["id-0-copies-of-30"] = shown(traffic(1500, without_id, 500 * US), share(0.3),
                                     between(MS, 8 * MS))
    out["id-0-copies-of-30-lower-ttl"] = shown(traffic(1500, without_id, 500 * US), share(0.3),
                                               between(MS, 8 * MS), lower_ttl)
    out["id-0-copies-of-10"] = shown(traffic(1500, without_id, 500 * US), share(0.1),
                                     between(10 * US, 200 * US))
    out["v6-one-sender-twice"] = sorted(
        (one for i in range(150) for one in
         [(i * 3 * MS, segment6(i), None), (i * 3 * MS + noise.randrange(59, 278) * US, segment6(i), False),
          (i * 3 * MS + MS, ipv6(TCP, tcp(ACK, 5, 1040 + 40 * i, b"", (443, 40000)), 2, 1), None)]
         ), key=lambda one: one[0])
    late = traffic(600, mixed6, MS)
    out["v6-routed-300ms-late"] = sorted(late + [
        (time + 300 * MS + noise.randrange(50 * US),
         struct.pack(">HIHI", 0x0200, 77, 0x0200, 78) + frame[12:21] + bytes([frame[21] - 1])
         + frame[22:], False) for time, frame, _ in late], key=lambda one: one[0])
    twice = traffic(83, counted, 30 * MS)
    out["appended"] = twice + [(time, frame, False) for time, frame, _ in twice]
    return out


def write(folder, made=captures):
    """Write all captures into the folder; return {name: (path, packets)}."""
    out = {}
    for name, packets in made().items():
        path = pathlib.Path(folder) / (name + ".pcap")
        path.write_bytes(made_captures.pcap("<", True, made_captures.ETHERNET, [
            (1_700_000_000 * SECOND + time, frame) for time, frame, _ in packets]))
        out[name] = (path, packets)
    return out


def write_wifi(folder):
    """Return (path, packets) of a radio that hears up to six retransmissions, with the retry
    bit."""
    noise, packets = random.Random(3), []
    for i in range(60):
        for n in range(1 + noise.randrange(7)):
            packets.append((i * 5 * MS + n * 400 * US, wifi(i, n != 0), True if n > 1 else None))
    path = pathlib.Path(folder) / "wifi-retries.pcap"
    path.write_bytes(made_captures.pcap("<", True, 105, [
        (1_700_000_000 * SECOND + time, frame) for time, frame, _ in packets]))
    return path, packets
