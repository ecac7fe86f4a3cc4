#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/packets against tools/oracle/tunnels.py: tunnels_vs_answer_test.py KEY_DUMP

Random stacks of every form of every encapsulation are tested as they are, with bytes changed, and
cut. Both must agree on the innermost packet, its offset, the reason why the walk ended, and the
tenant. In every key mode two packets must have equal digests exactly if their keys are equal.
"""
import itertools
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "oracle"), str(ROOT / "tests" / "support")]
import encapsulate  # noqa: E402
import exact_answer  # noqa: E402
import frames  # noqa: E402
import made_tunnels  # noqa: E402
import tunnels  # noqa: E402

FRAMES = 1500
LISTS = (tunnels.NAMES, ("vxlan", "gre"), ("erspan",), ("mpls-pw", "gtp-u", "l2tp"),
         ("ip-in-ip", "pbb"))
MODES = ("packet", "flow", "flow-bidir", "packet+tags")
# Numbers that have a meaning for a parser.
VALUES = (0, 1, 2, 3, 4, 5, 6, 8, 17, 41, 47, 51, 0x40, 0x45, 0x47, 0x60, 0x80, 0x88, 0xFF)
ETHERNET = exact_answer.ETHERNET
KEY_DUMP = None


def changed(draw, frame):
    """Return the frame with bits flipped, bytes replaced or its end cut off, or unchanged."""
    frame = bytearray(frame)
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        at = draw.randrange(len(frame))
        frame[at] = frame[at] ^ 1 << draw.randrange(8) if draw.random() < 0.5 \
            else draw.choice(VALUES)
    return bytes(frame[:draw.randrange(len(frame) + 1)] if draw.random() < 0.25 else frame)


def made():
    draw = random.Random(1)
    packets = list(made_tunnels.inner_packets(60))
    return [changed(draw, encapsulate.stacked(draw, draw.choice(packets),
                                              draw.choice((1, 1, 1, 2, 2, 3, 4, 8, 9))).frame)
            for _ in range(FRAMES)]


def disputable():
    """Yield frames that random changes hardly make: contradictory fields, and cuts within them."""
    packet, four = made_tunnels.V4, next(made_tunnels.inner_packets(1))
    for flags, head in itertools.product(range(0, 0x10000, 0x80), ("880b", "0800", "88be")):
        if flags & 0x0F00:  # reserved, or of GRE before it had a key
            continue
        for version in range(3):
            gre = bytes.fromhex("%04x%s" % (flags | version, head)) + struct.pack(
                ">HHHHII", 0x40, 9, 0x40, 9, 1, 2)[:(flags >> 13).bit_count() * 4 + 4]
            for inside in (gre + b"\xff\x03\0\x21" + four, gre[:4], gre[:7], gre[:9]):
                yield frames.ethernet(frames.ipv4(*packet, 47, inside), pad=False)
    for protocol in (b"\0\x21", b"\x21", b"\x80\x21"):
        for cookie in (b"", bytes(4)):
            yield frames.ethernet(encapsulate.over_ip(
                4, 115, encapsulate.l2tp_v3(b"\xff\x03" + protocol + four, 7, cookie)), pad=False)
    for ethertype in (0x8847, 0x8848, 0x8849, 0x6558, 0x880B, 0x88BE):
        yield frames.ethernet(encapsulate.over_udp(4, (50000, 6081), encapsulate.geneve(
            encapsulate.labels(four), ethertype, 7)), pad=False)
        eighth = encapsulate.gre(encapsulate.labels(four), ethertype)
        for level in range(9):
            eighth = encapsulate.over_ip(4, 47 if level == 0 else 4, eighth)
        yield frames.ethernet(eighth, pad=False)


def every_bit():
    """Yield the headers of each form with one bit changed, or cut at that position."""
    met = set()
    for form, packet in itertools.product(encapsulate.FORMS, made_tunnels.inner_packets(2)):
        shape = form.names, form.text
        if form.outside == "ipv6" or shape in met or not encapsulate.takes(form, packet):
            continue
        met.add(shape)
        frame = encapsulate.wrap(form, packet)
        begin = 12 if form.outside == "ethernet" else 34
        for at in range(begin, min(frame.index(packet), begin + 60)):
            yield frame[:at]
            for bit in range(8):
                yield frame[:at] + bytes((frame[at] ^ 1 << bit,)) + frame[at + 1:]


def on_links():
    """Yield (link type, frames): tunnels behind an EtherType on each link type that has one."""
    draw = random.Random(2)
    whole = [encapsulate.stacked(draw, packet, draw.choice((1, 2)), [
        form for form in encapsulate.FORMS if form.outside == "ethernet"]).frame
             for packet in made_tunnels.inner_packets(20)]
    heads = {113: (bytes(14),), 104: (b"\x0f\0",), 107: (b"\x18\x41", b"\x18\x40\x41",
                                                        b"\x18\x41\3\x80\0\0\0",
                                                        b"\x18\x41\3\0\x80\0\0\0",
                                                        b"\x18\x41\3\x80\0\x80\xc2")}
    for link, before in heads.items():
        yield link, [changed(draw, head + frame[12:]) for frame in whole for head in before]
    yield 276, [frame[12:14] + bytes(18) + frame[14:] for frame in whole]
    yield 105, [b"\x08\1" + bytes(22) + b"\xaa\xaa\3\0\0\0" + frame[12:] for frame in whole]


def expected(frame, names, link=ETHERNET):
    """Return the columns that key_dump prints about the walk."""
    found = tunnels.innermost(frame, link, frozenset(names))
    tenant = found.tenant if found.levels and found.tenant else (0, 0)
    return ["1" if found.levels else "0", (found.counter or "-").removeprefix("tunnel_"),
            str(found.ip.at) if found.ip else "-", "%d:%d" % tenant]


def key(mode, frame, inner):
    try:
        return "keyed", exact_answer.key_of(mode.removesuffix("+tags"), frame, ETHERNET, "pass", inner)
    except exact_answer.NoKey as reason:
        return reason.args[0], None


def columns_of(path, mode, names):
    run = subprocess.run([KEY_DUMP, mode, "tunnels=" + ",".join(names), path],
                         capture_output=True, text=True, check=True)
    return [line.split()[1:] for line in run.stdout.splitlines()]


class TunnelsVsAnswer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.frames = made() + list(disputable())
        cls.folder = tempfile.TemporaryDirectory(prefix="unecho-")
        cls.path = pathlib.Path(cls.folder.name) / "tunnels.pcap"
        cls.path.write_bytes(frames.pcap(enumerate(cls.frames)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def dump(self, mode, names):
        """Return the columns behind the packet number, for each frame."""
        lines = columns_of(self.path, mode, names)
        self.assertEqual(len(lines), len(self.frames))
        return lines

    def test_the_innermost_packet_is_the_same(self):
        ended = set()
        for names in LISTS:
            for frame, columns in zip(self.frames, self.dump("packet", names)):
                want = expected(frame, names)
                ended.add(want[1])
                self.assertEqual(columns[3:], want, "%s of %s" % (",".join(names), frame.hex()))
        self.assertEqual(len(ended), 5)  # each reason to end occurred

    def test_every_bit_of_every_header_is_read_the_same(self):
        path = pathlib.Path(self.folder.name) / "bits.pcap"
        made_of = list(every_bit())
        path.write_bytes(frames.pcap(enumerate(made_of)))
        for frame, columns in zip(made_of, columns_of(path, "packet", tunnels.NAMES)):
            self.assertEqual(columns[3:], expected(frame, tunnels.NAMES), frame.hex())

    def test_behind_other_links_it_is_the_same(self):
        for link, on_link in on_links():
            path = pathlib.Path(self.folder.name) / ("link-%d.pcap" % link)
            path.write_bytes(frames.pcap(enumerate(on_link), link=link))
            lines = columns_of(path, "packet", tunnels.NAMES)
            wants = [expected(frame, tunnels.NAMES, link) for frame in on_link]
            self.assertGreater(sum(want[0] == "1" for want in wants), len(wants) // 3, link)
            for frame, columns, want in zip(on_link, lines, wants):
                self.assertEqual(columns[3:], want, "link type %d: %s" % (link, frame.hex()))

    def test_digests_are_equal_exactly_if_keys_are(self):
        for mode in MODES:
            inner = exact_answer.inner_of(mode, tunnels.NAMES, (), "match", None,
                                          "compare" if mode.endswith("+tags") else "ignore")
            digests, keyed = {}, 0
            for frame, (outcome, digest, *_) in zip(self.frames, self.dump(mode, tunnels.NAMES)):
                want, of = key(mode, frame, inner)
                self.assertEqual(outcome, want, frame.hex())
                if of is not None:
                    keyed += 1
                    self.assertEqual(digests.setdefault(of, digest), digest, frame.hex())
            self.assertEqual(len(set(digests.values())), len(digests), mode)
            self.assertLess(len(digests), keyed)  # some keys recur


if __name__ == "__main__":
    KEY_DUMP = sys.argv.pop(1)
    unittest.main()
