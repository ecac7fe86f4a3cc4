#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/tunnels.py and the keys of tools/exact_answer.py, on packets from tools/encapsulate.py and
on headers written byte by byte."""
import contextlib
import io
import json
import pathlib
import random
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import encapsulate  # noqa: E402
import exact_answer  # noqa: E402
import frames  # noqa: E402
import tunnels  # noqa: E402

ETHERNET = 1
ALL = frozenset(tunnels.NAMES)
V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
FRAGMENTS, MALFORMED, OTHER, TOO_DEEP = tunnels.COUNTERS[1:]


def udp4(payload=b"inner payload", identification=7, **fields):
    return frames.ipv4(*V4, 17, frames.udp(*V4, (1000, 2000), payload), identification, **fields)


def udp6(payload=b"inner payload", **fields):
    return frames.ipv6(*V6, 17, frames.udp(*V6, (1000, 2000), payload), **fields)


PACKETS = {"ipv4": udp4(), "ipv6": udp6()}


def inner_of(form):
    return PACKETS["ipv4" if form.inside == "ethernet" else form.inside]


def framed(ip):
    return frames.ethernet(ip, pad=False)


def in_udp(port, payload, length=None, ports=None):
    frame = bytearray(framed(encapsulate.over_udp(4, ports or (50000, port), payload)))
    if length is not None:
        frame[38:40] = struct.pack(">H", length)
    return bytes(frame)


def in_ip(protocol, payload, version=4, **fields):
    return framed(encapsulate.over_ip(version, protocol, payload, **fields))


def form_named(name, text, inside=None, outside="ipv4"):
    return next(form for form in encapsulate.FORMS if form.names == (name,) and form.text == text
                and form.outside in (outside, "ethernet")
                and form.inside == (inside or form.inside))


class Case(unittest.TestCase):
    def look(self, frame, names=ALL, link=ETHERNET, ports=()):
        return tunnels.innermost(frame, link, frozenset(names), ports)

    def assert_opens(self, frame, packet, names=ALL, levels=1, tenant=None, link=ETHERNET,
                     ports=()):
        found = self.look(frame, names, link, ports)
        self.assertIsNotNone(found.ip, found)
        self.assertEqual(frame[found.ip.at:found.ip.end].hex(), packet.hex(), found)
        self.assertEqual(found[1:5], (levels, tenant, None, None))

    def assert_stops(self, frame, counter, names=ALL, levels=0):
        """Check that the walk stops at the outermost packet, or on the link."""
        found = self.look(frame, names)
        self.assertEqual((found.counter, found.levels), (counter, levels), frame.hex())
        if levels == 0:
            outer = self.look(frame, ())
            self.assertEqual(found.ip, outer.ip)
            self.assertEqual((found.no_key or Exception()).args, (outer.no_key or Exception()).args)


class Forms(Case):
    def test_every_form_leads_to_the_packet_inside(self):
        self.assertEqual({name for form in encapsulate.FORMS for name in form.names}, ALL)
        for form in encapsulate.FORMS:
            for packet in PACKETS.values():
                if encapsulate.takes(form, packet):
                    for names in (ALL, form.names):
                        with self.subTest(form=form[:4], names=len(names)):
                            self.assert_opens(
                                encapsulate.wrap(form, packet, 0x0A0B0C0D), packet, names,
                                len(form.names), encapsulate.tenant_of(form, 0x0A0B0C0D))

    def test_erspan_and_gre_are_named_apart(self):
        gre, erspan = (encapsulate.wrap(form_named(*name), inner_of(form_named(*name)))
                       for name in (("gre", "plain", "ipv4"), ("erspan", "II")))
        self.assert_stops(gre, None, {"erspan"})
        self.assert_stops(erspan, OTHER, {"gre"})

    def test_a_ninth_level_is_not_opened(self):
        draw = random.Random(15)
        for _ in range(100):
            eighth = encapsulate.over_ip(4, 4, udp4())
            made = encapsulate.stacked(draw, eighth, 8)
            with self.subTest(names=made.names):
                found = self.look(made.frame)
                self.assertEqual(made.frame[found.ip.at:found.ip.end], eighth)
                self.assertEqual((found.levels, found.counter), (8, TOO_DEEP))


class Headers(Case):
    """Headers byte by byte, as their specifications draw them."""

    def test_vxlan(self):
        frame = encapsulate.inner_ethernet(udp4())
        head = bytes.fromhex("0800000012345600")
        self.assert_opens(in_udp(4789, head + frame), udp4(), tenant=(1, 0x123456))
        self.assert_opens(in_udp(9999, head + frame), udp4(), tenant=(1, 0x123456), ports=(7, 9999))
        self.assert_stops(in_udp(9999, head + frame), None)
        self.assert_stops(in_udp(0, head + frame, ports=(4789, 9)), None)  # the source port
        self.assert_stops(in_udp(4789, b"\xf7" + head[1:] + frame), MALFORMED)
        self.assert_opens(in_udp(4789, b"\xff\xff\xff\xff\0\0\x01\xff" + frame), udp4(),
                          tenant=(1, 1))
        arp = frames.ethernet(bytes(28), frames.ARP)
        self.assert_stops(in_udp(4789, head + arp), OTHER)

    def test_vxlan_gpe(self):
        for head, packet, tenant in (("0c00000100000500", udp4(), (1, 5)),
                                     ("0400000200000500", udp6(), None),
                                     ("0e00000100000500", udp4(), (1, 5))):
            self.assert_opens(in_udp(4790, bytes.fromhex(head) + packet), packet, tenant=tenant)
        for head, counter in (("1c00000100000500", OTHER), ("2c00000100000500", OTHER),
                              ("0d00000100000500", OTHER), ("0c00000400000500", OTHER),
                              ("0c00000000000500", OTHER), ("0c00000200000500", MALFORMED)):
            self.assert_stops(in_udp(4790, bytes.fromhex(head) + udp4()), counter)

    def test_geneve(self):
        for head, tenant in (("00000800abcdef00", (1, 0xABCDEF)),
                             ("01400800000001ff00000000", (1, 1))):
            self.assert_opens(in_udp(6081, bytes.fromhex(head) + udp4()), udp4(), tenant=tenant)
        for head, counter in (("40000800abcdef00", OTHER), ("00800800abcdef00", OTHER),
                              ("00000806abcdef00", OTHER), ("3f000800abcdef00", MALFORMED),
                              ("3f000806abcdef00", MALFORMED), ("000086ddabcdef00", MALFORMED)):
            self.assert_stops(in_udp(6081, bytes.fromhex(head) + udp4()), counter)
        labelled = encapsulate.labels(udp4())
        self.assert_opens(in_udp(6081, bytes.fromhex("00008847abcdef00") + labelled), udp4(),
                          tenant=(1, 0xABCDEF))
        self.assert_opens(in_udp(6081, bytes.fromhex("00008848abcdef00") + labelled), udp4(),
                          tenant=(1, 0xABCDEF))

    def test_gre(self):
        for head, tenant in (("00000800", None), ("2000080000000007", (3, 7)),
                             ("b0000800dead00000a0b0c0d00000001", (3, 0x0A0B0C0D)),
                             ("8000080000000000", None), ("1000080000000009", None)):
            self.assert_opens(in_ip(47, bytes.fromhex(head) + udp4()), udp4(), tenant=tenant)
            self.assert_opens(in_udp(4754, bytes.fromhex(head) + udp4()), udp4(), tenant=tenant)
        for head, counter in (("40000800dead0000", OTHER), ("00020800", OTHER),
                              ("0000883e00000000", OTHER), ("00000806", OTHER),
                              ("0000880b", OTHER), ("000086dd", MALFORMED),
                              ("3001080000000007", OTHER), ("1001880b00ff000700000001", MALFORMED),
                              ("2001880b00000007", OTHER)):
            self.assert_stops(in_ip(47, bytes.fromhex(head) + udp4()), counter)
        self.assert_stops(in_ip(47, bytes.fromhex("b0000800dead0000")), MALFORMED)
        self.assert_stops(in_ip(47, b"\0\0\x08"), MALFORMED)

    def test_nvgre(self):
        head = bytes.fromhex("20006558 0012ab05")
        self.assert_opens(in_ip(47, head + encapsulate.inner_ethernet(udp4())), udp4(),
                          tenant=(3, 0x12AB05))

    def test_pptp(self):
        head = bytes.fromhex("3001880b 0036 0009 00000001")
        self.assert_opens(in_ip(47, head + b"\xff\x03\0\x21" + udp4()), udp4(), tenant=(6, 9))
        self.assert_opens(in_ip(47, head + b"\x21" + udp4()), udp4(), tenant=(6, 9))
        self.assert_stops(in_ip(47, head + b"\xff\x03\xc0\x21\1\1\0\4"), OTHER)   # LCP
        self.assert_stops(in_ip(47, head + b"\xfd" + udp4()), OTHER)              # compressed
        for head, counter in (("2001880b", OTHER), ("3001880b 0036 0009", MALFORMED),
                              ("b001880b 0000 0000 0036 0009 00000001", MALFORMED)):
            self.assert_stops(in_ip(47, bytes.fromhex(head)), counter)
        short = bytes.fromhex("3001880b 0010 0009 00000001")
        self.assert_stops(in_ip(47, short + b"\xff\x03\0\x21" + udp4()), MALFORMED)

    def test_erspan(self):
        frame = encapsulate.inner_ethernet(udp4())
        one, two, three = (bytes.fromhex(head) for head in (
            "000088be", "100088be00000001", "100022eb00000001"))
        self.assert_opens(in_ip(47, one + frame), udp4())
        self.assert_opens(in_ip(47, two + bytes.fromhex("1007000500000003") + frame), udp4())
        self.assert_stops(in_ip(47, two + bytes.fromhex("2007000500000003") + frame), MALFORMED)
        third = bytes.fromhex("2007000500000063ffff")
        for end, inside in (("8000", frame), ("03fe", frame), ("0bfe", udp4()),
                            ("8801", b"platform" + udp4())):
            self.assert_opens(in_ip(47, three + third + bytes.fromhex(end) + inside), udp4())
        for end in ("0400", "8c00", "7c00", "4000"):
            self.assert_stops(in_ip(47, three + third + bytes.fromhex(end) + frame), OTHER)
        self.assert_stops(in_ip(47, three + b"\x10" + third[1:] + b"\0\0" + frame), MALFORMED)
        self.assert_stops(in_ip(47, b"\0\2\x88\xbe" + frame), OTHER)

    def test_gtp_u(self):
        def message(head, payload=udp4(), length=None):
            head = bytes.fromhex(head)
            length = len(head) - 8 + len(payload) if length is None else length
            return in_udp(2152, head[:2] + struct.pack(">H", length) + head[4:] + payload)
        tenant = 4, 0xDEADBEEF
        for head in ("30ff0000deadbeef", "32ff0000deadbeef00010000", "31ff0000deadbeef00000185",
                     "34ff0000deadbeef0000008501100900",
                     "34ff0000deadbeef0000008502000000000000c001000000",
                     "38ff0000deadbeef"):
            self.assert_opens(message(head), udp4(), tenant=tenant)
        for head, counter in (("10ff0000deadbeef", OTHER), ("20ff0000deadbeef", OTHER),
                              ("50ff0000deadbeef", OTHER), ("3001000000000000", OTHER),
                              ("30fe0000deadbeef", OTHER),
                              ("34ff0000deadbeef0000008500100900", MALFORMED),
                              ("34ff0000deadbeef00000085ff100900", MALFORMED)):
            self.assert_stops(message(head), counter)
        self.assert_stops(message("30ff0000deadbeef", b"\x02" + bytes(40)), OTHER)  # Ethernet
        self.assert_stops(message("30ff0000deadbeef", length=19), MALFORMED)
        self.assert_stops(message("32ff0000deadbeef00010000", length=3), MALFORMED)
        found = self.look(message("30ff0000deadbeef", length=25))
        self.assertEqual(found.ip.end - found.ip.at, 25)

    def test_ip_in_ip(self):
        self.assert_stops(in_ip(4, udp6()), MALFORMED)
        self.assert_stops(in_ip(41, udp6()[:39]), MALFORMED)
        options = b"\x04\0\x04\x01\x04\1\1\0"  # a tunnel encapsulation limit, RFC 2473
        self.assert_opens(in_ip(60, options + udp4(), 6), udp4())
        twice = encapsulate.authentication_header(51, encapsulate.authentication_header(41, udp6()))
        self.assert_opens(in_ip(51, twice), udp6())
        self.assert_opens(in_ip(51, twice, 6), udp6())
        self.assert_opens(in_ip(51, encapsulate.authentication_header(
            47, encapsulate.gre(udp4(), 0x0800))), udp4())
        self.assert_stops(in_ip(51, twice[:20]), None)

    def test_labels(self):
        for head in ("00010140", "00010040", "0001004000"):
            self.assert_stops(in_ip(137, bytes.fromhex(head)), MALFORMED, {"mpls"})
        self.assert_stops(in_ip(137, bytes.fromhex("0001014050") + bytes(60)), OTHER, {"mpls"})
        self.assert_opens(in_ip(137, bytes.fromhex("0001004000010140") + udp6(), 6), udp6())

    def test_pbb(self):
        inner = encapsulate.inner_ethernet(udp4())
        frame = bytes(12) + b"\x88\xa8\0\5\x88\xe7" + bytes.fromhex("ff00abcd") + inner
        self.assert_opens(frame, udp4(), tenant=(2, 0x00ABCD))
        self.assert_stops(frame[:30], MALFORMED)
        self.assert_stops(frame[:19], MALFORMED)
        self.assert_stops(frame[:22] + frames.ethernet(bytes(28), frames.ARP), OTHER)

    def test_teredo(self):
        for head in ("", "00009c40c0000201", "0001000000000000000000" + "0000",
                     "0001020361620102030000000000000000ff" + "00009c40c0000201"):
            for ports in ((50000, 3544), (3544, 50000)):
                self.assert_opens(in_udp(0, bytes.fromhex(head) + udp6(), ports=ports), udp6())
        for head, counter in (("0002", OTHER), ("00009c40c0000201" "00009c40c0000201", OTHER),
                              ("0001ffff", MALFORMED), ("40", OTHER)):
            self.assert_stops(in_udp(3544, bytes.fromhex(head) + udp6()), counter)
        self.assert_stops(in_udp(3544, b""), MALFORMED)


class L2tp(Case):
    def test_version_2(self):
        for head in ("0002 0001 0002", "4002 003e 0001 0002", "0802 0001 0002 0005 0006",
                     "0202 0001 0002 0003 aabbcc", "4a02 0042 0001 0002 0005 0006 0000",
                     "0102 0001 0002"):
            frame = in_udp(1701, bytes.fromhex(head) + b"\xff\x03\0\x21" + udp4())
            self.assert_opens(frame, udp4(), tenant=(5, 0x00010002))
        for head, counter in (("c802 003e 0001 0002 0005 0006", OTHER), ("0001 0001 0002", OTHER),
                              ("0004 0001 0002", OTHER), ("0202 0001 0002 ffff", MALFORMED),
                              ("4002 0007 0001 0002", MALFORMED),
                              ("4002 0012 0001 0002", MALFORMED)):
            self.assert_stops(in_udp(1701, bytes.fromhex(head) + b"\0\x21" + udp4()), counter)
        self.assert_stops(in_udp(1701, bytes.fromhex("0002 0001 0002 c021") + udp4()), OTHER)

    def test_version_3_needs_a_sound_header(self):
        for inside in ("ethernet", "ipv4", "ipv6"):
            packet = PACKETS["ipv4" if inside == "ethernet" else inside]
            form = form_named("l2tp", "version 3, cookie 4, sublayer", inside)
            frame = encapsulate.wrap(form, packet)
            at = frame.index(packet)
            wrong = [frame[:-1]] + [bytearray(frame) for _ in range(2)]
            wrong[1][at] ^= 0x20                                       # the version
            wrong[2][at + (10 if inside != "ipv6" else 5)] ^= 0x40     # the checksum, or the length
            for bytes_ in wrong:
                with self.subTest(inside=inside):
                    self.assert_stops(bytes(bytes_), OTHER)


class Pseudowires(Case):
    @staticmethod
    def wire(payload):
        return frames.ethernet(encapsulate.labels(payload), frames.MPLS, pad=False)

    def test_a_sound_ip_header_or_else_the_first_nibble_decides(self):
        inner = encapsulate.inner_ethernet(udp4())
        for first in (0x00, 0x02, 0x12, 0x22, 0x42, 0x45, 0x60, 0x62, 0xF2):
            self.assert_opens(self.wire(bytes((first,)) + inner[1:]), udp4(), levels=1)
        for packet in (udp4(), udp6()):
            self.assert_opens(self.wire(packet), packet, levels=0)

    def test_what_leads_nowhere_is_other(self):
        arp = frames.ethernet(bytes(28), frames.ARP)
        self.assert_stops(self.wire(encapsulate.pseudowire(arp)), OTHER)
        self.assert_stops(self.wire(b"\x10\0\0\x21" + udp4()), OTHER)          # ACH with IPv4
        self.assert_stops(self.wire(b"\x10\0\0\x57" + encapsulate.inner_ethernet(udp4())), OTHER)
        for first in (b"\x02", b"\x12"):  # to a packet through PBB, which is no evidence for it
            self.assert_stops(self.wire(first + encapsulate.pbb(
                encapsulate.inner_ethernet(udp4()), 5)[1:]), OTHER)
        self.assert_stops(self.wire(b"\xb2" + arp[1:]), OTHER)
        self.assert_stops(self.wire(b"\xb2" + encapsulate.inner_ethernet(udp4())[1:30]), MALFORMED)
        self.assert_stops(self.wire(encapsulate.pseudowire(encapsulate.pbb(
            encapsulate.inner_ethernet(udp4()), 5))), OTHER)
        self.assert_opens(self.wire(b"\xb2" + encapsulate.pbb(
            encapsulate.inner_ethernet(udp4()), 5)[1:]), udp4(), levels=2, tenant=(2, 5))


class Fragments(Case):
    def test_are_not_opened_and_counted_where_they_would_be(self):
        gre = encapsulate.gre(udp4(), 0x0800)
        inner = encapsulate.vxlan(encapsulate.inner_ethernet(udp4()), 3)
        vxlan, other = (frames.udp(*V4, (50000, port), inner) for port in (4789, 4788))
        first, later = 0x2000, 0x0010
        for protocol, payload, fragment, counter, names in (
                (47, gre, first, FRAGMENTS, ALL), (47, gre, later, FRAGMENTS, ALL),
                (47, gre, first, FRAGMENTS, {"erspan"}), (47, gre, first, None, {"vxlan"}),
                (4, udp4(), later, FRAGMENTS, ALL), (6, udp4(), first, None, ALL),
                (17, vxlan, first, FRAGMENTS, ALL), (17, vxlan, later, None, ALL),
                (17, vxlan[:7], first, None, ALL), (17, other, first, None, ALL),
                (51, encapsulate.authentication_header(4, udp4()), first, FRAGMENTS, ALL),
                (51, encapsulate.authentication_header(4, udp4()), later, None, ALL)):
            self.assert_stops(in_ip(protocol, payload, fragment=fragment), counter, names)
            parted = frames.ipv6_fragment(protocol, fragment & 0x1FFF, fragment >> 13, 1, payload)
            if (protocol, fragment) != (17, later):
                self.assert_stops(in_ip(44, parted, 6), counter, names)


class Keys(unittest.TestCase):
    @staticmethod
    def key(mode, frame, **fields):
        fields.setdefault("names", ALL)
        return exact_answer.key_of(mode, frame, inner=exact_answer.inner_of(mode, **fields))

    def test_tenant_by_default_counts_in_flows_only(self):
        for form in encapsulate.FORMS:
            one, other = (encapsulate.wrap(form, inner_of(form), number)
                          for number in (0x00030007, 0x00030008))
            for mode, tenant, differs in (
                    ("packet", None, False), ("flow", None, True), ("flow-bidir", None, True),
                    ("packet", "match", True), ("flow", "ignore", False)):
                differs = differs and form.space is not None
                if mode == "flow-bidir" and form.space in ("teid", "session", "call"):
                    differs = False
                same = self.key(mode, one, tenant=tenant) == self.key(mode, other, tenant=tenant)
                self.assertEqual(same, not differs, (form[:4], mode, tenant))

    def test_the_innermost_identifier_is_the_one(self):
        inner = encapsulate.wrap(form_named("vxlan", "port 4789"), udp4(), 5)[14:]
        outer = encapsulate.wrap(form_named("gtp-u", "plain", "ipv4"), inner, 6)
        self.assertEqual(self.key("flow", outer)[1], (1, 5))
        without = encapsulate.wrap(form_named("ip-in-ip", "plain", "ipv4"), udp4())[14:]
        outer = encapsulate.wrap(form_named("vxlan", "port 4789"), without, 6)
        self.assertEqual(self.key("flow", outer)[1], (1, 6))
        # An identifier of one direction does not count, whatever is outside of it.
        inner = encapsulate.wrap(form_named("gtp-u", "plain", "ipv4"), udp4(), 6)[14:]
        outer = encapsulate.wrap(form_named("vxlan", "port 4789"), inner, 6)
        self.assertEqual(self.key("flow-bidir", outer), self.key("flow-bidir", framed(udp4())))

    def test_key_bytes(self):
        for make in (udp4, udp6):
            packet = make(b"x" * 200)
            whole, cut = framed(packet), framed(packet)[:14 + 96]
            for frame in (whole, cut, whole[:14 + 100], framed(frames.routed(packet))):
                self.assertEqual(self.key("packet", frame, key_bytes=96),
                                 self.key("packet", whole, key_bytes=96))
            differs = [framed(packet[:95] + b"y" + packet[96:]), framed(make(b"x" * 201)), cut[:-1]]
            for frame in differs:
                self.assertNotEqual(self.key("packet", frame, key_bytes=96),
                                    self.key("packet", whole, key_bytes=96))
            beyond = framed(packet[:96] + b"y" + packet[97:])
            self.assertEqual(self.key("packet", beyond, key_bytes=96),
                             self.key("packet", whole, key_bytes=96))
            self.assertNotEqual(self.key("packet", beyond), self.key("packet", whole))
            self.assertEqual(self.key("packet", cut[:-1], key_bytes=96),
                             self.key("packet", cut[:-1]))
            for form in (form_named("vxlan", "port 4789"), form_named("erspan", "II")):
                tunnelled = encapsulate.wrap(form, packet)
                tunnelled = tunnelled[:tunnelled.index(packet) + 96]
                self.assertEqual(self.key("packet", tunnelled, key_bytes=96),
                                 self.key("packet", whole, key_bytes=96))
            self.assertEqual(self.key("packet", whole[:14 + 40], key_bytes=20),
                             self.key("packet", whole, key_bytes=20))


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        vxlan = form_named("vxlan", "port 4789")
        arp = frames.ethernet(bytes(28), frames.ARP)
        made = [framed(udp4()),
                encapsulate.wrap(vxlan, udp4(), 5), encapsulate.wrap(vxlan, udp4(), 6),
                in_udp(4789, encapsulate.vxlan(arp, 5)), in_udp(4789, b"\0" * 30),
                in_ip(4, udp4(), fragment=0x2000), arp,
                encapsulate.wrap(form_named("ip-in-ip", "plain", "ipv4"),
                                 in_udp(4789, b"\0" * 30)[14:]),
                encapsulate.stacked(random.Random(1), encapsulate.over_ip(4, 4, udp4()), 8).frame,
                in_udp(7777, encapsulate.vxlan(encapsulate.inner_ethernet(udp4()), 1 << 20))]
        self.capture = self.folder / "made.pcap"
        self.capture.write_bytes(frames.pcap([(number * 10**6, frame)
                                              for number, frame in enumerate(made)]))

    def command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = exact_answer.main([str(self.capture), *map(str, arguments)])
            except SystemExit as exit_:
                status = exit_.code
        return status, out.getvalue(), err.getvalue()

    def summary(self, *arguments):
        status, out, err = self.command(*arguments)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_counters_and_answers(self):
        summary = self.summary("--tunnels", "all")
        self.assertEqual([summary[name] for name in tunnels.COUNTERS], [4, 1, 2, 1, 1])
        self.assertEqual((summary["new"], summary["echo"], summary["non_ip"]), (6, 3, 1))
        self.assertEqual(summary["tenant"], "ignore")
        plain = self.summary()
        self.assertEqual([plain[name] for name in tunnels.COUNTERS], [0] * 5)
        self.assertEqual((plain["new"], plain["echo"], plain["tenant"]), (9, 0, None))
        self.assertEqual(plain, self.summary("--tunnels", "none"))
        self.assertEqual(self.summary("--tunnels", "vxlan", "--vxlan-ports", "7777")["echo"], 3)
        self.assertEqual(self.summary("--tunnels", "vxlan", "--tenant", "match")["echo"], 0)
        self.assertEqual(self.summary("--tunnels", "vxlan,geneve", "--key", "flow")["tenant"],
                         "match")


if __name__ == "__main__":
    unittest.main(verbosity=2)
