#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/exact_answer.py on hand-made packets."""
import contextlib
import csv
import gzip
import io
import json
import pathlib
import random
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import exact_answer  # noqa: E402
import frames  # noqa: E402

MS = 1_000_000
V4 = ("192.0.2.1", "198.51.100.2")
V6 = ("2001:db8::1", "2001:db8::2")
PORTS = (40000, 443)


def udp4(payload=b"payload", ports=PORTS, hosts=V4, **fields):
    return frames.ipv4(*hosts, frames.UDP, frames.udp(*hosts, ports, payload), **fields)


def udp6(payload=b"payload", ports=PORTS, hosts=V6, **fields):
    return frames.ipv6(*hosts, frames.UDP, frames.udp(*hosts, ports, payload), **fields)


def replaced(data, at, value):
    return data[:at] + value + data[at + len(value):]


def key(mode, frame, link=exact_answer.ETHERNET):
    """Return the key, or the reason why there is none."""
    try:
        return exact_answer.key_of(mode, frame, link)
    except exact_answer.NoKey as no_key:
        return no_key.args[0]


class PacketKey(unittest.TestCase):
    def same(self, one, other):
        self.assertEqual(key("packet", one), key("packet", other))
        self.assertNotIn(key("packet", one), ("non_ip", "malformed"))

    def differs(self, one, other):
        self.assertNotEqual(key("packet", one), key("packet", other))

    def test_routed_copies_are_the_same(self):
        for ip in (udp4(), udp6()):
            self.same(frames.ethernet(ip), frames.ethernet(frames.routed(ip, 3, tos=0xB8)))

    def test_what_stands_before_the_ip_packet_is_left_out(self):
        for ip in (udp4(), udp6()):
            plain = frames.ethernet(ip)
            self.same(plain, frames.ethernet(ip, macs=bytes(12)))
            for tpid in (0x8100, 0x88A8, 0x9100, 0x9200):
                self.same(plain, frames.ethernet(ip, tags=((tpid, 9),)))
            self.same(plain, frames.ethernet(ip, tags=((0x88A8, 1), (0x8100, 2), (0x8100, 3))))
            self.same(plain, frames.ethernet(ip, labels=(16, 17, 18)))
            self.same(plain, frames.ethernet(ip, tags=((0x8100, 1),), labels=(16,)))

    def test_every_link_type_leads_to_the_ip_packet(self):
        for ip, version in ((udp4(), 4), (udp6(), 6)):
            ethernet, ethertype = frames.ethernet(ip), frames.ethernet(ip)[12:14]
            ppp = b"\x00\x21" if version == 4 else b"\x00\x57"
            forms = [(link, b"") for link in (12, 14, 101, 228 if version == 4 else 229)]
            forms += [(9, ppp), (9, b"\xff\x03" + ppp)]
            forms += [(113, bytes(14) + ethertype), (276, ethertype + bytes(18)),
                      (113, bytes(14) + b"\x81\x00\x00\x07" + ethertype)]
            snap = b"\xaa\xaa\3\0\0\0" + ethertype
            data = b"\x08\x02" + bytes(22)
            forms += [(105, data + snap), (105, b"\x88\3" + bytes(30) + snap),
                      (105, b"\x88\x81" + bytes(28) + snap), (105, b"\x08\x0a" + bytes(22) + snap)]
            forms += [(127, b"\0\0\x08\0\0\0\0\0" + data + snap),
                      (127, b"\0\0\x0a\0\2\0\0\0\x20\0\x88\2" + bytes(26) + snap),
                      (192, b"\0\0\x08\0\x69\0\0\0" + data + snap),
                      (163, b"\x80\x21\x10\1\0\0\0\x40" + bytes(56) + data + snap)]
            nlpid = b"\xcc" if version == 4 else b"\x8e"
            forms += [(104, b"\x0f\0" + ethertype), (107, b"\x18\x41\3" + nlpid),
                      (107, b"\x18\x41\3\0" + nlpid), (107, b"\x18\x40\0\1\3" + nlpid),
                      (107, b"\x18\x41\3\0\x80\0\0\0" + ethertype), (107, b"\x18\x41" + ethertype),
                      (107, b"\x18\x41\3\xcf" + ppp), (50, b"\xff\3" + ppp)]
            family = b"\2" if version == 4 else b"\x0a"
            forms += [(239, family + b"\0\0\7\xff\xff\x09\0"),
                      (239, family + b"\0\0\7\6\0\x0a\0in\0\0\xff\xff\x09\0")]
            for family in ((2,) if version == 4 else (10, 24, 28, 30)):
                forms += [(0, bytes((family, 0, 0, 0))), (0, bytes((0, 0, 0, family))),
                          (108, bytes((0, 0, 0, family)))]
            for link, header in forms:
                self.assertEqual(key("packet", header + ip, link), key("packet", ethernet), link)
                for length in range(len(header) + (20 if version == 4 else 40)):
                    self.assertEqual(key("packet", (header + ip)[:length], link), "malformed")

    def test_what_stands_behind_the_ip_length_is_left_out(self):
        for ip in (udp4(b""), udp6(b"")):
            self.same(frames.ethernet(ip, pad=False), frames.ethernet(ip, trailer=b"FCS!"))

    def test_every_other_bit_counts(self):
        for ip, masked in ((udp4(options=b"\x94\x04\0\0"), {1, 8, 10, 11}), (udp6(), {7})):
            for at in range(len(ip)):
                for bit in range(8):
                    flipped = replaced(ip, at, bytes((ip[at] ^ 1 << bit,)))
                    one, other = frames.ethernet(ip), frames.ethernet(
                        flipped, frames.ethertype_of(ip))
                    traffic_class = ip[0] >> 4 == 6 and (at == 0 and bit < 4 or at == 1 and bit > 3)
                    if at in masked or traffic_class:
                        self.same(one, other)
                    else:
                        self.differs(one, other)

    def test_length_zero_takes_what_was_captured(self):
        for ip, at in ((udp4(), 2), (udp6(), 4)):
            offloaded = replaced(ip, at, b"\0\0")
            self.differs(frames.ethernet(offloaded, pad=False),
                         frames.ethernet(offloaded + b"more", pad=False))
        nothing_follows = frames.ipv6(*V6, 59, b"")
        self.same(frames.ethernet(nothing_follows), frames.ethernet(nothing_follows + b"more"))

    def test_length_beyond_the_capture_takes_what_was_captured(self):
        self.differs(frames.ethernet(udp4()[:-1], pad=False),
                     frames.ethernet(udp4()[:-2], pad=False))


class Wifi(unittest.TestCase):
    RADIOTAP = b"\0\0\x09\0\2\0\0\0"
    PPI = b"\0\0\x20\0\x69\0\0\0\2\0\x14\0" + bytes(8)
    DATA, ARP = b"\x08\1" + bytes(range(22)), b"\xaa\xaa\3\0\0\0\x08\6" + bytes(range(1, 29))

    @staticmethod
    def key(link, frame):
        return exact_answer.key_of("packet", frame, link, "frame")

    def test_check_sequence_is_left_out_where_it_is_told_of(self):
        ip = replaced(udp4(), 2, b"\0\0")
        for body in (self.DATA[:22] + b"\0\0\xaa\xaa\3\0\0\0\x08\0" + ip, self.DATA[:22] + b"\0\0" + self.ARP,
                     b"\x80\0" + bytes(40)):
            plain = self.key(105, body)
            for link, told, untold in ((127, self.RADIOTAP + b"\x10", self.RADIOTAP + b"\0"),
                                       (192, self.PPI + b"\1" + bytes(11), self.PPI + bytes(12))):
                self.assertEqual(self.key(link, told + body + b"FCS!"), plain)
                self.assertEqual(self.key(link, untold + body), plain)
                self.assertNotEqual(self.key(link, untold + body + b"FCS!"), plain)

    def test_with_an_ethertype_it_is_a_frame_of_ethernet(self):
        one, two, access = b"ONE111", b"TWO222", b"ACCESS"
        ethernet = self.key(1, two + one + self.ARP[6:])
        for control, addresses, more in ((0, two + one + access, b""), (1, access + one + two, b""),
                                         (2, two + access + one, b""), (3, access + access + two, one)):
            frame = bytes((8, control, 9, 9)) + addresses + b"\x20\0" + more + self.ARP
            self.assertEqual(self.key(105, frame), ethernet)


class PppoeSession(unittest.TestCase):
    def test_leads_to_the_ip_packet(self):
        for ip, protocol in ((udp4(), b"\0\x21"), (udp6(), b"\0\x57")):
            plain = key("packet", frames.ethernet(ip))
            session = b"\x11\0\0\1\0\x40" + protocol
            frame = frames.ethernet(session + ip, 0x8864, tags=((0x88A8, 1), (0x8100, 2)))
            self.assertEqual(key("packet", frame), plain)
            for length in range(14, 30 + (20 if ip[0] >> 4 == 4 else 40)):
                self.assertEqual(key("packet", frame[:length]), "malformed", length)
            self.assertEqual(exact_answer.key_of("packet", session + ip, 51), plain)


class NonIpKey(unittest.TestCase):
    """Keys of frames without an IP packet, if these are compared."""
    BODY = bytes(range(1, 61))

    def key(self, frame, link=exact_answer.ETHERNET):
        return exact_answer.key_of("packet", frame, link, "frame")

    def test_tags_labels_and_padding_do_not_count(self):
        plain = self.key(frames.ethernet(self.BODY, 0x88CC))
        for tags in ((((0x8100, 7)),), ((0x88A8, 1), (0x8100, 2))):
            self.assertEqual(self.key(frames.ethernet(self.BODY, 0x88CC, tags=tags)), plain)
        short = self.key(frames.ethernet(b"\1\0\2", 0x88CC, pad=False))
        for frame in (frames.ethernet(b"\1\0\2", 0x88CC), frames.ethernet(
                b"\1\0\2" + bytes(43), 0x88CC, tags=((0x8100, 7),))):
            self.assertEqual(self.key(frame), short)
        self.assertNotEqual(self.key(frames.ethernet(b"\1\0\2" + bytes(44), 0x88CC)), short)
        pseudowire = b"\0\0\0\1" + self.BODY
        one, two = b"\0\1\1\x40", b"\0\2\0\x40\0\3\1\x40"
        self.assertEqual(self.key(frames.ethernet(one + pseudowire, 0x8847)),
                         self.key(frames.ethernet(two + pseudowire, 0x8847)))

    def test_a_length_bounds_what_counts(self):
        frame = frames.ethernet(self.BODY, 38)
        self.assertEqual(self.key(frame), self.key(frame[:14 + 38] + b"trailer"))
        self.assertNotEqual(self.key(frame), self.key(frame[:14 + 37]))
        for none in (0, 2, 1501):
            frame = frames.ethernet(self.BODY, none)
            self.assertNotEqual(self.key(frame), self.key(frame[:-1]), none)

    def test_every_other_bit_counts(self):
        frame = frames.ethernet(self.BODY, 0x88CC, tags=((0x8100, 7),))
        for at in range(len(frame)):
            same = self.key(replaced(frame, at, bytes((frame[at] ^ 1,)))) == self.key(frame)
            self.assertEqual(same, at in (14, 15), at)


class NoKeys(unittest.TestCase):
    def test_other_ethertypes_are_not_ip(self):
        for ethertype in (0, 46, 1500, 1501, 0x0806, 0x8863, 0x88CC, 0xFFFF):
            for mode in ("packet", "flow", "flow-bidir"):
                self.assertEqual(key(mode, frames.ethernet(udp4(), ethertype)), "non_ip")
        self.assertEqual(key("packet", frames.ethernet(b"\0" + udp4(), labels=(3,))), "non_ip")

    def test_headers_cut_short_are_malformed(self):
        for ip, needed in ((udp4(options=b"\x94\x04\0\0"), 24), (udp6(), 40)):
            whole = frames.ethernet(ip, tags=((0x88A8, 1), (0x8100, 2)), pad=False)
            for length in range(len(whole)):
                malformed = length < 22 + needed
                self.assertEqual(key("packet", whole[:length]) == "malformed", malformed, length)
                no_ports = length < 22 + needed + 4
                self.assertEqual(key("flow", whole[:length]) == "malformed", no_ports, length)
        labelled = frames.ethernet(udp4(), labels=(16, 17))
        for length in range(14, 22 + 20):
            self.assertEqual(key("packet", labelled[:length]), "malformed")

    def test_contradictions_are_malformed(self):
        def first_byte(ip, value):
            return frames.ethernet(replaced(ip, 0, bytes((value,))), frames.ethertype_of(ip))
        for value in (0x05, 0x40, 0x44, 0x4F, 0x55, 0x65):
            self.assertEqual(key("packet", first_byte(udp4(), value)[:60]), "malformed", value)
        for value in (0x00, 0x45, 0x70):
            self.assertEqual(key("packet", first_byte(udp6(), value)), "malformed", value)
        for length, expected in ((19, True), (20, False)):
            frame = frames.ethernet(replaced(udp4(), 2, length.to_bytes(2, "big")))
            self.assertEqual(key("packet", frame) == "malformed", expected)


class FlowKey(unittest.TestCase):
    def test_five_fields_decide(self):
        base = key("flow", frames.ethernet(udp4(b"one")))
        self.assertEqual(base, key("flow", frames.ethernet(udp4(b"another", identification=7))))
        for other in (udp4(ports=(40001, 443)), udp4(ports=(40000, 444)),
                      udp4(hosts=("192.0.2.3", V4[1])), udp4(hosts=(V4[0], "198.51.100.3")),
                      frames.ipv4(*V4, frames.TCP, frames.tcp(*V4, PORTS))):
            self.assertNotEqual(base, key("flow", frames.ethernet(other)))

    def test_only_bidir_joins_the_directions(self):
        for make, hosts in ((udp4, V4), (udp6, V6)):
            for ends, ports in ((hosts, PORTS), ((hosts[0], hosts[0]), PORTS)):
                there = frames.ethernet(make(hosts=ends, ports=ports))
                back = frames.ethernet(make(hosts=ends[::-1], ports=ports[::-1]))
                self.assertNotEqual(key("flow", there), key("flow", back))
                self.assertEqual(key("flow-bidir", there), key("flow-bidir", back))
        crossed = frames.ethernet(udp4(ports=PORTS[::-1]))
        self.assertNotEqual(key("flow-bidir", frames.ethernet(udp4())), key("flow-bidir", crossed))

    def test_ports_only_where_the_protocol_has_them(self):
        for protocol in range(256):
            def flow(ports):
                segment = struct.pack(">HH", *ports) + bytes(20)
                return key("flow", frames.ethernet(frames.ipv4(*V4, protocol, segment)))
            self.assertEqual(flow((1, 2)) != flow((1, 3)), protocol in (6, 17, 33, 132, 136))

    def test_later_fragments_have_ports_zero(self):
        def v4(fragment):
            return key("flow", frames.ethernet(udp4(fragment=fragment)))

        def v6(offset, more):
            fragment = frames.ipv6_fragment(frames.UDP, offset, more, 5, udp6()[40:])
            return key("flow", frames.ethernet(frames.ipv6(*V6, frames.FRAGMENT, fragment)))
        whole4, whole6 = (key("flow", frames.ethernet(ip)) for ip in (udp4(), udp6()))
        self.assertEqual([v4(0), v4(0x2000), v4(0x4000)], [whole4] * 3)
        self.assertEqual(v6(0, True), whole6)
        self.assertEqual(v6(0, False), whole6)
        self.assertEqual(v4(0x2001), v4(0x0005))
        self.assertEqual(v6(8, True), v6(16, False))
        self.assertEqual(v4(1)[0][1] + v4(1)[1][1], bytes(4))
        self.assertEqual(v6(8, True)[0][1] + v6(8, True)[1][1], bytes(4))

    def test_extension_headers_are_walked_over(self):
        upper = udp6()[40:]
        plain = key("flow", frames.ethernet(udp6()))
        for kind, header in ((0, bytes(8)), (43, b"\0\2" + bytes(22)), (60, b"\0\1" + bytes(14)),
                             (51, b"\0\4" + bytes(22)), (135, bytes(8)), (139, bytes(8)),
                             (140, bytes(8))):
            chained = bytes((frames.UDP,)) + header[1:] + upper
            frame = frames.ethernet(frames.ipv6(*V6, kind, chained))
            self.assertEqual(key("flow", frame), plain, kind)
            twice = bytes((kind,)) + header[1:] + chained
            frame = frames.ethernet(frames.ipv6(*V6, kind, twice))
            self.assertEqual(key("flow", frame), plain, kind)
            for kept in range(len(header) + 4):
                cut = frames.ethernet(frames.ipv6(*V6, kind, chained[:kept]), pad=False)
                self.assertEqual(key("flow", cut), "malformed", (kind, kept))
                self.assertNotEqual(key("packet", cut), "malformed")
        beyond = frames.ethernet(frames.ipv6(*V6, 0, bytes((frames.ICMPV6, 2)) + bytes(22)))
        self.assertNotEqual(key("flow", beyond), "malformed")
        self.assertEqual(key("flow", beyond[:-1]), "malformed")
        for kind in (50, 59):
            self.assertEqual(key("flow", frames.ethernet(frames.ipv6(*V6, kind, upper)))[2], kind)


def timed(*times, frame=None):
    """Return equal packets at these times in ms."""
    frame = frames.ethernet(udp4()) if frame is None else frame
    return [exact_answer.Packet(int(time * MS), 1, frame) for time in times]


def echoes(packets, **options):
    """Return the number of the packet that each one repeats, 0 for a new one."""
    return [answer.reference or 0 for answer in exact_answer.answers(packets, **options)]


class Window(unittest.TestCase):
    def test_an_age_of_the_window_is_new(self):
        self.assertEqual(echoes(timed(0, 49.999999, 50), window=50 * MS), [0, 1, 0])

    def test_fixed_counts_from_the_accepted_packet(self):
        self.assertEqual(echoes(timed(0, 30, 60, 90, 120), window=50 * MS), [0, 1, 0, 3, 0])

    def test_refresh_counts_from_the_last_packet(self):
        self.assertEqual(echoes(timed(0, 30, 60, 90, 140), window=50 * MS, policy="refresh"),
                         [0, 1, 2, 3, 0])

    def test_time_never_steps_back(self):
        packets = timed(100, 20, 149, 150)
        self.assertEqual(echoes(packets, window=50 * MS), [0, 1, 1, 0])
        self.assertEqual([answer.age for answer in exact_answer.answers(packets, window=50 * MS)],
                         [None, 0, 49 * MS, None])

    def test_far_steps_back_begin_epochs(self):
        packets = timed(3_600_000, 0, 10, 60, 61)
        self.assertEqual(echoes(packets, window=50 * MS), [0, 1, 1, 0, 4])
        self.assertEqual([answer.age for answer in exact_answer.answers(packets, window=50 * MS)],
                         [None, 0, 10 * MS, None, MS])
        self.assertEqual(echoes(packets), [0, 1, 1, 1, 1], "not in an endless window")

    def test_epochs_begin_beyond_a_second_or_the_window(self):
        for window, jump in ((50 * MS, 1000 * MS), (3000 * MS, 3000 * MS)):
            for more, ages in ((0, [None, 0, 0]), (1, [None, 0, 1])):
                packets = [packet._replace(time=time) for packet, time in zip(
                    timed(0, 0, 0), (10_000 * MS, 10_000 * MS - jump - more,
                                     10_000 * MS - jump - more + 1))]
                answers = exact_answer.answers(packets, window=window)
                self.assertEqual([answer.age for answer in answers], ages)


class First(unittest.TestCase):
    def test_fixed_accepts_n_in_any_window(self):
        times = (0, 10, 20, 30, 49, 50, 55, 60, 65, 99, 100)
        self.assertEqual([reference == 0 for reference in
                          echoes(timed(*times), window=50 * MS, first=2)],
                         [True, True, False, False, False, True, False, True, False, False, True])

    def test_fixed_equals_counting_the_accepted(self):
        draw = random.Random(7)
        times = sorted(draw.random() * 1000 for _ in range(600))
        for n in (1, 2, 3, 7):
            accepted = []
            for time, reference in zip(times, echoes(timed(*times), window=50 * MS, first=n)):
                expected = sum(int(time * MS) - then < 50 * MS for then in accepted) < n
                self.assertEqual(reference == 0, expected)
                if expected:
                    accepted.append(int(time * MS))

    def test_refresh_stamps_every_live_slot(self):
        # slot 1: 0, 40, 80, ... stays alive; slot 2 is stamped at 40, then at each packet
        times = (0, 40, 80, 120, 169, 219)
        self.assertEqual(echoes(timed(*times), window=50 * MS, policy="refresh", first=2),
                         [0, 0, 2, 3, 4, 0])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, data, name="capture", **options):
        (self.folder / name).write_bytes(data)
        capture = exact_answer.Capture(self.folder / name, **options)
        return [(packet.time, packet.link, packet.data) for packet in capture], capture.cut

    PACKETS = [(1_700_000_000_123_456_789, b"one"), (1_700_000_001_000_000_001, b"three"), (5, b"")]

    def test_pcap_in_both_orders_and_units(self):
        for order in "<>":
            for magic, unit in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1)):
                data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 0x10000001)
                for time, frame in self.PACKETS:
                    data += struct.pack(order + "IIII", time // 10**9, time % 10**9 // unit,
                                        len(frame), 1500) + frame
                expected = [(time - time % unit, 1, frame) for time, frame in self.PACKETS]
                self.assertEqual(self.read(data), (expected, False))
                self.assertEqual(self.read(gzip.compress(data), "z.gz"), (expected, False))
                cut_times = [(time - time % 1000, 1, frame) for time, frame in self.PACKETS]
                self.assertEqual(self.read(data, microseconds=True), (cut_times, False))

    @staticmethod
    def block(order, kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + size + body + size

    def section(self, order, link=1, options=b""):
        return self.block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)) \
            + self.block(order, 1, struct.pack(order + "HHI", link, 0, 4) + options)

    def enhanced(self, order, units, frame, interface=0):
        return self.block(order, 6, struct.pack(order + "IIIII", interface, units >> 32,
                                                units & 0xFFFFFFFF, len(frame), 1500) + frame)

    def test_pcapng_blocks_sections_and_resolutions(self):
        def option(order, code, value):
            return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)
        data, expected = b"", []
        for order in "<>":
            for resolution, units, time in ((b"", 7_000_001, 7_000_001_000), (b"\x09", 77, 77),
                                            (b"\x83", 9, 1_125_000_000), (b"\x0c", 5999, 5)):
                options = option(order, 2, b"eth") + option(order, 9, resolution) \
                    if resolution else b""
                data += self.section(order, options=options) + self.enhanced(order, units, b"abcde")
                expected.append((time, 1, b"abcde"))
            data += self.section(order, options=option(order, 14, struct.pack(order + "q", 3)))
            data += self.block(order, 5, b"statistics, to be skipped")
            data += self.block(order, 2, struct.pack(order + "HHIIII", 0, 9, 0, 8, 3, 3) + b"old")
            data += self.block(order, 3, struct.pack(order + "I", 9) + b"simp")
            expected += [(3_000_008_000, 1, b"old"), (3_000_008_000, 1, b"simp")]
        self.assertEqual(self.read(data), (expected, False))

    def test_files_are_merged_by_time_and_order(self):
        taps = [[(10, b"a1"), (30, b"a2"), (20, b"a3")], [(10, b"b1"), (25, b"b2")]]
        for index, tap in enumerate(taps):
            (self.folder / str(index)).write_bytes(frames.pcap(tap, nanoseconds=True))
        captures = [exact_answer.Capture(self.folder / str(index)) for index in range(2)]
        self.assertEqual([(index, packet.data) for index, packet in exact_answer.merged(captures)],
                         [(0, b"a1"), (1, b"b1"), (1, b"b2"), (0, b"a2"), (0, b"a3")])

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = exact_answer.main([str(argument) for argument in arguments])
            except SystemExit as exit_status:
                status = exit_status.code
        return status, out.getvalue(), err.getvalue()

    def test_command_answers_in_json_and_csv(self):
        a, b, answers = self.folder / "a", self.folder / "b", self.folder / "answers.csv"
        packet = frames.ethernet(udp4())
        a.write_bytes(frames.pcap([(0, packet), (60 * MS, packet)]))
        b.write_bytes(frames.pcap([(5 * MS, packet), (6 * MS, frames.ethernet(b"", frames.ARP))]))
        status, out, err = self.command(a, b, "--window", "50ms", "--csv", answers)
        self.assertEqual((status, err), (0, ""))
        summary = json.loads(out)
        self.assertEqual([summary[kind] for kind in ("packets", "new", "echo", "non_ip")],
                         [4, 2, 1, 1])
        self.assertEqual((summary["min_age_ns"], summary["reasons"]["non_ip"]),
                         (5 * MS, {"ethertype 0x0806": 1}))
        with open(answers, encoding="ascii") as file:
            rows = [row[:7] for row in csv.reader(file)][1:]
        self.assertEqual(rows, [["1", "1", "1", "0", "new", "", ""],
                                ["2", "2", "1", "5000000", "echo", "5000000", "1"],
                                ["3", "2", "2", "6000000", "non_ip", "", ""],
                                ["4", "1", "2", "60000000", "new", "", ""]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
