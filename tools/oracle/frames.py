# SPDX-License-Identifier: BSD-3-Clause
"""Frames as bytes, from the transport layer outwards, and pcap files of them.

For generators and tests. Addresses are text ("10.0.0.1", "2001:db8::1"); checksums are correct.
"""
import ipaddress
import struct

TCP, UDP, ICMP, ICMPV6, SCTP, UDPLITE, ESP = 6, 17, 1, 58, 132, 136, 50
HOP_BY_HOP, FRAGMENT = 0, 44
IPV4, IPV6, ARP, LLDP, VLAN, QINQ, MPLS = 0x0800, 0x86DD, 0x0806, 0x88CC, 0x8100, 0x88A8, 0x8847
MAC_A = bytes.fromhex("02000000000a02000000000b")  # destination, source


def checksum(data):
    """Return the checksum of RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc32c(data):
    """Return the CRC32c of RFC 9260, appendix A, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packed(address):
    return ipaddress.ip_address(address).packed


def _pseudo(source, destination, protocol, length):
    return packed(source) + packed(destination) + struct.pack(">II", length, protocol)


def _summed(segment, at, source, destination, protocol, covered=None):
    """Return the segment with its checksum at offset `at`; 0 is sent as ffff, as UDP requires."""
    covered = len(segment) if covered is None else covered
    value = checksum(_pseudo(source, destination, protocol, len(segment)) + segment[:covered])
    return segment[:at] + struct.pack(">H", value or 0xFFFF) + segment[at + 2:]


def udp(source, destination, ports, payload):
    segment = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    return _summed(segment, 6, source, destination, UDP)


def udplite(source, destination, ports, payload, coverage=8):
    segment = struct.pack(">HHHH", *ports, coverage, 0) + payload
    return _summed(segment, 6, source, destination, UDPLITE, coverage)


def tcp(source, destination, ports, payload=b"", sequence=0, acknowledged=0, flags=0x18,
        timestamps=(1, 1)):
    options = b"\x01\x01\x08\x0a" + struct.pack(">II", *timestamps)
    header = struct.pack(">HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF,
                         (20 + len(options)) * 4, flags, 8192, 0, 0)
    return _summed(header + options + payload, 16, source, destination, TCP)


def sctp(ports, tag, chunk):
    head = struct.pack(">HHI", *ports, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def sctp_data(sequence, payload):
    """Return a padded DATA chunk with a whole message."""
    head = struct.pack(">BBHIHHI", 0, 3, 16 + len(payload), sequence, 0, sequence & 0xFFFF, 0)
    return head + payload + bytes(-len(payload) % 4)


def icmp(kind, identifier, sequence, payload):
    message = struct.pack(">BBHHH", kind, 0, 0, identifier, sequence) + payload
    return message[:2] + struct.pack(">H", checksum(message)) + message[4:]


def icmpv6(source, destination, kind, body):
    return _summed(struct.pack(">BBH", kind, 0, 0) + body, 2, source, destination, ICMPV6)


def ipv4(source, destination, protocol, payload, identification=0, ttl=64, tos=0, fragment=0,
         options=b""):
    """fragment: flags and offset as in the header. options: already padded."""
    header = struct.pack(">BBHHHBBH", 0x40 | 5 + len(options) // 4, tos,
                         20 + len(options) + len(payload), identification & 0xFFFF, fragment, ttl,
                         protocol, 0) + packed(source) + packed(destination) + options
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + payload


def ipv6(source, destination, protocol, payload, hop_limit=64, traffic_class=0, flow_label=0):
    return struct.pack(">IHBB", 6 << 28 | traffic_class << 20 | flow_label, len(payload), protocol,
                       hop_limit) + packed(source) + packed(destination) + payload


def ipv6_fragment(protocol, offset, more, identification, payload):
    return struct.pack(">BBHI", protocol, 0, offset | more, identification) + payload


def hop_by_hop(protocol):
    """Return the payload's header with the router alert option of MLD."""
    return struct.pack(">BB", protocol, 0) + b"\x05\x02\x00\x00\x01\x00"


def routed(ip, hops=1, tos=None):
    """Return the IP packet after so many routers, with a changed DSCP if given."""
    packet = bytearray(ip)
    if packet[0] >> 4 == 6:
        packet[7] -= hops
        if tos is not None:
            packet[0:2] = struct.pack(">H", 6 << 12 | tos << 4 | packet[1] & 15)
        return bytes(packet)
    packet[8] -= hops
    if tos is not None:
        packet[1] = tos
    packet[10:12] = bytes(2)
    packet[10:12] = struct.pack(">H", checksum(bytes(packet[:(packet[0] & 15) * 4])))
    return bytes(packet)


def ethertype_of(ip):
    return IPV6 if ip[0] >> 4 == 6 else IPV4


def ethernet(payload, ethertype=None, macs=MAC_A, tags=(), labels=(), pad=True, trailer=b""):
    """tags: (TPID, TCI) from the outermost on; labels: MPLS. Padded to 60 bytes unless
    pad=False."""
    ethertype = ethertype_of(payload) if ethertype is None else ethertype
    stack = b"".join(struct.pack(">I", label << 12 | (index == len(labels) - 1) << 8 | 63)
                     for index, label in enumerate(labels))
    frame = macs + b"".join(struct.pack(">HH", *tag) for tag in tags) \
        + struct.pack(">H", MPLS if labels else ethertype) + stack + payload
    return frame + bytes(max(0, 60 - len(frame)) if pad else 0) + trailer


def arp(kind, sender_mac, sender, target):
    return struct.pack(">HHBBH", 1, IPV4, 6, 4, kind) + sender_mac + packed(sender) + bytes(6) \
        + packed(target)


def pcap(frames, nanoseconds=False, snaplen=262144, link=1, order="<"):
    """Return a pcap of (time in ns, bytes); order: "<" little-endian, ">" big-endian."""
    unit = 1 if nanoseconds else 1000
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0,
                       snaplen, link)]
    for time, frame in frames:
        out.append(struct.pack(order + "IIII", time // 10**9, time % 10**9 // unit, len(frame),
                               len(frame)) + frame)
    return b"".join(out)
