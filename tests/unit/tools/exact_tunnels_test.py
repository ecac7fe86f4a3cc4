#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tunnels.py and the keys of exact_answer.py, on packets from encapsulate.py. Each
bit of each header: tests/unit/packets/tunnels_vs_answer_test.py."""
import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "oracle"))
import encapsulate  # noqa: E402
import exact_answer  # noqa: E402
import frames  # noqa: E402
import tunnels  # noqa: E402

ETHERNET = 1
ALL = frozenset(tunnels.NAMES)
V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
OTHER, TOO_DEEP = tunnels.COUNTERS[3:]


def udp4(payload=b"inner payload", identification=7, **fields):
    return frames.ipv4(*V4, 17, frames.udp(*V4, (1000, 2000), payload), identification, **fields)


def udp6(payload=b"inner payload", **fields):
    return frames.ipv6(*V6, 17, frames.udp(*V6, (1000, 2000), payload), **fields)


PACKETS = {"ipv4": udp4(), "ipv6": udp6()}


def inner_of(form):
    return PACKETS["ipv4" if form.inside == "ethernet" else form.inside]


def framed(ip):
    return frames.ethernet(ip, pad=False)


def in_udp(port, payload):
    return framed(encapsulate.over_udp(4, (50000, port), payload))


def form_named(name, text, inside=None, outside="ipv4"):
    return next(form for form in encapsulate.FORMS if form.names == (name,) and form.text == text
                and form.outside in (outside, "ethernet")
                and form.inside == (inside or form.inside))


class Forms(unittest.TestCase):
    def look(self, frame, names=ALL):
        return tunnels.innermost(frame, ETHERNET, frozenset(names), ())

    def assert_opens(self, frame, packet, names, levels, tenant):
        found = self.look(frame, names)
        self.assertIsNotNone(found.ip, found)
        self.assertEqual(frame[found.ip.at:found.ip.end].hex(), packet.hex(), found)
        self.assertEqual(found[1:5], (levels, tenant, None, None))

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
        for frame, counter, names in ((gre, None, {"erspan"}), (erspan, OTHER, {"gre"})):
            found = self.look(frame, names)
            self.assertEqual((found.counter, found.levels), (counter, 0))
            self.assertEqual(found.ip, self.look(frame, ()).ip)

    def test_a_ninth_level_is_not_opened(self):
        draw = random.Random(15)
        for _ in range(100):
            eighth = encapsulate.over_ip(4, 4, udp4())
            made = encapsulate.stacked(draw, eighth, 8)
            with self.subTest(names=made.names):
                found = self.look(made.frame)
                self.assertEqual(made.frame[found.ip.at:found.ip.end], eighth)
                self.assertEqual((found.levels, found.counter), (8, TOO_DEEP))


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
                framed(encapsulate.over_ip(4, 4, udp4(), fragment=0x2000)), arp,
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
