#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap` loses nothing of a pcapng.

If nothing is dropped, the output equals the input byte for byte: for captures with every block and
option of the format, and for those of UNECHO_SHARED. If packets are dropped or inputs merged,
exactly the right packets are gone, and tshark and capinfos show the rest unchanged.
"""
import gzip
import itertools
import os
import shutil
import struct
import subprocess
import unittest

import harness
import made_captures
import pcap_test
from harness import PCAPS, SHARED
from pcap_test import DROPS_NOTHING

ORDERS = ("<", ">")
SECTION, INTERFACE, OBSOLETE, SIMPLE, NAMES, STATISTICS, ENHANCED, JOURNAL, SECRETS = (
    0x0A0D0D0A, 1, 2, 3, 4, 5, 6, 9, 10)
CUSTOM, PRIVATE, UNKNOWN = 0xBAD, 0x40000BAD, 0x80000123


def needs(program):
    return unittest.skipUnless(shutil.which(program), "no " + program)


def frame(number):
    """Return an IPv4 packet over UDP, equal for equal numbers and identified by its ID."""
    payload = b"packet %05d" % number
    udp = struct.pack(">HHHH", 1000, 2000, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number + 2, 0, 64, 17, 0,
                     bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    return b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip + udp


class Builder(made_captures.Pcapng):
    """Builds blocks with options of every kind."""

    def options(self, *pairs):
        return b"".join(self.option(*pair) for pair in pairs) + self.option(0, b"")

    def numbers(self, layout, *values):
        return struct.pack(self.order + layout, *values)

    def custom(self, code=2988):
        return (code, self.numbers("I", 32473) + b"what its owner knows")

    def header(self, length, name=b"a"):
        """Write a section header with all its options. length: the stated one."""
        self.units = []
        self.block(SECTION, self.numbers("IHHq", 0x1A2B3C4D, 1, 0, length) + self.options(
            (2, b"hardware " + name), (3, b"system " + name), (4, b"application " + name),
            (1, b"first comment"), (1, b"second comment"), self.custom(), self.custom(2989)))

    def described(self, units, link=1, offset=0):
        """Write an interface with all its options."""
        self.units.append((2 ** (units & 127) if units & 128 else 10 ** units, offset))
        more = ((14, self.numbers("q", offset)),) if offset else ()
        self.block(INTERFACE, self.numbers("HHI", link, 0, 0) + self.options(
            (2, b"eth%d" % len(self.units)), (3, b"description"), (1, b"of an interface"),
            (4, bytes((10, 0, 0, 1, 255, 0, 0, 0))), (5, bytes(15) + b"\1\x40"),
            (6, b"\2\0\0\0\0\1"), (7, bytes(8)), (8, self.numbers("Q", 10**10)), (9, bytes([units])),
            (10, self.numbers("I", 0)), (11, b"\0tcp port 80"), (12, b"an OS"), (13, b"\4"), *more,
            (15, b"hardware"), (16, self.numbers("Q", 10**9)), (17, self.numbers("Q", 10**9)),
            self.custom()))

    def packet_options(self):
        return self.options(
            (1, b"of a packet"), (2, self.numbers("I", 0x000001A1)), (3, b"\2\1\2\3\4"),
            (4, self.numbers("Q", 7)), (5, self.numbers("Q", 2**40 + 1)), (6, self.numbers("I", 3)),
            (7, b"\1" + self.numbers("Q", 2)), (7, b"\0opaque"), self.custom())

    def others(self):
        """Write every block that is neither header, interface, packet nor statistics."""
        name = self.option(1, bytes((10, 0, 0, 1)) + b"one.example\0")
        six = self.option(2, bytes(15) + b"\1" + b"six.example\0")
        self.block(NAMES, name + six + self.option(0, b"") + self.options(
            (2, b"server.example"), (3, bytes((10, 0, 0, 9))), (1, b"of names")))
        keys = b"CLIENT_RANDOM 00 11\n"
        self.block(SECRETS, self.numbers("II", 0x544C534B, len(keys)) + keys + bytes(-len(keys) % 4)
                   + self.options((1, b"of secrets")))
        self.block(CUSTOM, self.numbers("I", 32473) + b"custom")

    def statistics(self, which):
        self.block(STATISTICS, self.numbers("III", which, 1, 2) + self.options(
            (1, b"counters"), (2, self.numbers("II", 1, 2)), (3, self.numbers("II", 3, 4)),
            *((code, self.numbers("Q", code)) for code in (4, 5, 6, 7, 8))))

    def rich(self, first, units, length=-1, strange=True):
        """Write a section with everything: packets from number `first` on, 1 ms apart."""
        start, begin = len(self.out), 1_700_000_000 * 10**9
        self.header(length)
        body = len(self.out)
        self.described(units)
        self.described(9, offset=1_600_000_000)
        self.others()
        if strange:
            self.block(PRIVATE, self.numbers("I", 32473) + b"not for others")
            self.block(UNKNOWN, b"whatever")
            self.block(JOURNAL, b"MESSAGE=a journal entry\n")
        for number in range(first, first + 6):
            time = begin + number * 10**6
            self.enhanced(number % 2, time, frame(number),
                          options=self.packet_options() if number % 3 else b"")
            if number == first + 2:
                self.others()
        if strange:
            self.obsolete(0, begin + (first + 6) * 10**6, frame(first + 6))
            self.simple(frame(first + 7))
        self.statistics(0)
        self.statistics(1)
        if length != -1:
            told = sum(map(len, self.out[body:]))
            header = bytearray(self.out[start])
            struct.pack_into(self.order + "q", header, 16, told)
            self.out[start] = bytes(header)
        return self


def blocks_of(data):
    """Return [(type, body)] with all numbers unchanged."""
    found, at, order = [], 0, "<"
    while at < len(data):
        if struct.unpack_from("<I", data, at)[0] == SECTION:
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack_from(order + "II", data, at)
        found.append((kind, data[at + 8:at + length - 4]))
        at += length + -length % 4
    return found


def kinds_of(path):
    return [kind for kind, _ in blocks_of(path.read_bytes())]


class RoundTripTest(pcap_test.PcapTest):
    def no_home(self):
        """Return an environment whose home has no preferences."""
        return {**os.environ, "HOME": str(self.folder)}

    def shown(self, path, *fields):
        """Return tshark's fields of each packet."""
        command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=a"]
        for field in fields:
            command += ["-e", field]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=harness.PATIENCE,
                              cwd=self.folder, env=self.no_home()).stdout.splitlines()

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def check_same(self, name, data):
        out = self.folder / "out.pcapng"
        done = self.pcap(self.write(name, data), "-o", out, *DROPS_NOTHING)
        self.assertEqual((done.err, out.read_bytes() == data), ("", True), name)


class Whole(RoundTripTest):
    def test_every_block_and_option(self):
        for order, units, length in itertools.product(ORDERS, (6, 9, 3, 0x80 | 20), (-1, 0)):
            with self.subTest(order=order, units=units, length=length):
                self.check_same("in.pcapng", Builder(order).rich(0, units, length).bytes())

    def test_several_sections_and_odd_lengths(self):
        made = Builder("<").rich(0, 6)
        for turn, order in enumerate((">", "<", ">")):
            made.order = order
            made.rich(10 * turn + 10, 9, turn - 1)
        odd = struct.pack("<II", NAMES, 18) + bytes(6) + struct.pack("<I", 18) + bytes(2)
        made.order = "<"
        made.header(-1)
        made.out.append(odd)
        self.check_same("in.pcapng", made.bytes())
        packed = self.folder / "out.pcapng.gz"
        self.pcap("in.pcapng", "-o", packed, *DROPS_NOTHING)
        inflated = gzip.decompress(packed.read_bytes())
        self.assertEqual([kind for kind, _ in blocks_of(inflated)],
                         kinds_of(self.folder / "in.pcapng"))

    def test_without_packets_and_beyond_64_bits_of_nanoseconds(self):
        empty = Builder(">")
        empty.header(-1)
        self.check_same("empty.pcapng", empty.bytes())
        empty.described(6, link=113)
        self.check_same("interfaces.pcapng", empty.bytes())
        for time in (2**64, 2**73):
            empty.enhanced(0, time, frame(1))
        self.pcap(self.write("late.pcapng", empty.bytes()), "-o", "out.pcapng", *DROPS_NOTHING)
        self.assertEqual((self.folder / "out.pcapng").read_bytes(), empty.bytes())

    def test_made_captures(self):
        made = {name: data for name, data in made_captures.captures().items()
                if name.endswith(".pcapng")}
        self.assertGreater(len(made), 3)
        for name, data in made.items():
            self.pcap(self.write(name, data), "-o", "out.pcapng", *DROPS_NOTHING)
            self.assertTrue((self.folder / "out.pcapng").read_bytes() == data, name)

    def test_shared_captures(self):
        folder = SHARED / "captures"
        captures = [path for path in sorted((*folder.glob("*.pcap*"),
                                             *(folder / "advice").glob("*.pcap*")))
                    if path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"]
        if not captures:
            self.skipTest("no captures in %s" % SHARED)
        for capture in captures:
            with self.subTest(capture=capture.name):
                out = self.folder / "out.pcapng"
                self.pcap(capture, "-o", out, *DROPS_NOTHING)
                self.assertTrue(out.read_bytes() == capture.read_bytes())


class Changed(RoundTripTest):
    def echoes(self, order="<", length=-1):
        """Return a section with everything, then its packets again 57 us later, then another
        section."""
        made = Builder(order).rich(0, 6, length)
        statistics = made.out[-2:]
        del made.out[-2:]
        for number in range(6):
            made.enhanced(number % 2, 1_700_000_000 * 10**9 + number * 10**6 + 57_000 + 6 * 10**6,
                          frame(number), options=made.packet_options())
        made.block(PRIVATE, b"late")
        made.out += statistics
        if length != -1:
            header = bytearray(made.out[0])
            struct.pack_into(order + "q", header, 16, sum(map(len, made.out[1:])))
            made.out[0] = bytes(header)
        return made

    @needs("tshark")
    @needs("capinfos")
    def test_tshark_and_capinfos_show_the_rest_alike(self):
        capture = self.write("in.pcapng", self.echoes().bytes())
        self.pcap(capture, "-o", "out.pcapng", "--quiet")
        fields = ("frame.number", "frame.time_epoch", "frame.interface_id", "frame.interface_name",
                  "frame.len", "frame.comment", "frame.packet_id", "frame.packet_flags", "ip.id")
        shown = self.shown(self.folder / "out.pcapng", *fields)
        self.assertEqual(self.shown(capture, *fields)[:len(shown)], shown)
        self.assertEqual(len(shown), 8 + 4)  # packets, and other blocks that Wireshark counts as packets
        infos = []
        for name in ("in.pcapng", "out.pcapng"):
            text = subprocess.run(["capinfos", "-E", "-I", "-F", "-k", name], check=True, timeout=harness.PATIENCE,
                                  capture_output=True, text=True, cwd=self.folder,
                                  env=self.no_home()).stdout
            infos.append([line for line in text.splitlines()[1:]
                          if "Number of packets" not in line and "stat entries" not in line])
        self.assertEqual(infos[0], infos[1])

    def marks(self, name):
        return self.shown(self.folder / name, "frame.comment")

    @needs("tshark")
    def test_marks(self):
        for order in ORDERS:
            self.write("in.pcapng", self.echoes(order).bytes())
            summary = self.summary("in.pcapng", "-o", "out.pcapng", "--dropped", "d.pcapng",
                                   "--mark")
            self.assertEqual((summary["dropped"], summary["marked"]), (6, True))
            own = "of a packet"
            # Numbers as in Wireshark: a journal entry and two custom blocks come first.
            marks = ["echo of packet %d, 6.057 ms,%s" % (number, own)
                     for number in (4, 5, 6, 8, 9, 10)]
            shown = self.marks("out.pcapng")
            self.assertEqual(shown[-6:], marks)
            self.assertEqual(self.marks("d.pcapng")[-6:], marks)
            fields = ("frame.time_epoch", "frame.interface_name", "frame.packet_id", "frame.len")
            self.assertEqual(self.shown(self.folder / "in.pcapng", *fields)[:-1],
                             self.shown(self.folder / "out.pcapng", *fields))
            kinds = kinds_of(self.folder / "out.pcapng")
            self.assertEqual(kinds.count(STATISTICS), 2)
            self.assertEqual(kinds.count(PRIVATE), 1)  # the one before the first mark

    @needs("tshark")
    def test_marks_of_plain_and_merged_captures(self):
        capture = PCAPS / "edges.pcap"
        pairs = self.pairs(capture, "--repeats", "drop")
        self.pcap(capture, "-o", "out.pcapng", "--mark", "--quiet", "--repeats", "drop")
        comments = self.marks("out.pcapng")
        self.assertEqual([number for number, text in enumerate(comments, 1) if text],
                         [pair[0] for pair in pairs])
        for echo, original, _ in pairs:
            self.assertRegex(comments[echo - 1], r"^echo of packet %d, [\d.]+ \w+$" % original)
        shutil.copy(capture, self.folder / "a.pcap")
        self.pcap("a.pcap", capture, "-o", "out.pcapng", "--mark", "--quiet", "--repeats", "drop")
        first = pairs[0][1] * 2 - 1
        self.assertIn("echo of packet %d of the merged input, from a.pcap, 0 ns" % first,
                      self.marks("out.pcapng"))
        simple = Builder(">")
        simple.section()
        simple.interface(1, 9)
        simple.enhanced(0, 10**18, frame(1))
        simple.simple(frame(1))
        self.pcap(self.write("simple.pcapng", simple.bytes()), "-o", "out.pcapng", "--mark",
                  "--quiet")
        self.assertEqual(self.marks("out.pcapng"), ["", "echo of packet 1, 0 ns"])
        times = self.shown(self.folder / "out.pcapng", "frame.time_epoch")
        self.assertEqual(times[0], times[1])

    def test_marks_need_a_pcapng(self):
        self.write("in.pcapng", self.echoes().bytes())
        for arguments in (("-o", "out.pcap"), ("--dropped", "d.pcap"), ("--pairs", "p.csv"), ()):
            done = self.run_pcap("in.pcapng", "--mark", *arguments)
            self.assertEqual(done.status, 2, done)
        self.assertIn("--mark", self.run_pcap("in.pcapng", "--mark", "-o", "out.pcap").err)
        for arguments in (("-A", "0"), ("-B", "5"), ("--filter", "ip")):
            done = self.run_pcap("in.pcapng", "--mark", "-o", "out.pcapng", *arguments)
            self.assertEqual((done.status, "--filter" in done.err), (2, True), done)
        self.assertEqual([path.name for path in self.folder.glob("*")], ["in.pcapng"])


class Merged(RoundTripTest):
    @needs("tshark")
    def test_everything_of_several_inputs(self):
        """In both byte orders: the same packets with the same options, in one section."""
        data = {}
        for first, order in ((0, "<"), (100, ">")):
            data[order] = Builder(order).rich(first, 9, strange=False).bytes()
            self.write("%d.pcapng" % first, data[order])
        done = self.pcap("100.pcapng", "0.pcapng", PCAPS / "one-link.pcap", "-o", "out.pcapng",
                         *DROPS_NOTHING)
        self.assertEqual(done.err, "unecho: warning: 100.pcapng: blocks of unknown types, or that "
                         "only their owner can put into another byte order, are left out: the "
                         "inputs become one section (2 times)\n")
        written = blocks_of((self.folder / "out.pcapng").read_bytes())
        kinds = [kind for kind, _ in written]
        self.assertEqual([kinds.count(kind) for kind in (SECTION, INTERFACE, NAMES, SECRETS,
                                                         STATISTICS, CUSTOM)], [1, 5, 4, 4, 4, 2])
        # Both sections are equal except for packet numbers, so their converted blocks are too.
        alike = [body for kind, body in blocks_of(data["<"]) if kind in (NAMES, SECRETS)]
        self.assertEqual([body for kind, body in written if kind in (NAMES, SECRETS)], alike * 2)
        self.assertEqual(written[0][1], blocks_of(data["<"])[0][1])
        own = [body for kind, body in written if kind == INTERFACE]
        known = [body for kind, body in blocks_of(data["<"]) if kind == INTERFACE]
        self.assertEqual([own.count(body) for body in known], [2, 2])
        fields = ("frame.time_epoch", "frame.interface_name", "frame.comment", "frame.packet_id",
                  "frame.packet_flags", "frame.drop_count", "frame.interface_queue", "ip.id",
                  "frame.len", "frame.verdict.hw", "frame.verdict.ebpf_tc")
        shown = self.shown(self.folder / "out.pcapng", *fields)
        for first in (0, 100):
            for line in self.shown(self.folder / ("%d.pcapng" % first), *fields):
                if line.split("\t")[7]:
                    self.assertEqual(shown.count(line), 1, line)

    def test_section_options_of_others_are_told(self):
        for name in (b"a", b"b"):
            made = Builder("<")
            made.header(-1, name)
            made.interface(1, 6)
            made.enhanced(0, 10**18, frame(1))
            self.write("%s.pcapng" % name.decode(), made.bytes())
        done = self.pcap("a.pcapng", "b.pcapng", "-o", "out.pcapng", *DROPS_NOTHING)
        self.assertIn("b.pcapng: options of section headers", done.err)
        self.assertIn(b"hardware a", (self.folder / "out.pcapng").read_bytes())


class Plain(RoundTripTest):
    def test_pcap_without_packets_and_with_frame_checks(self):
        """Keeps the link type, the bits above it, and the snap length."""
        for nanoseconds, link, snap in itertools.product((False, True), (1, 113, 0x24000001),
                                                         (96, 262144)):
            empty = made_captures.pcap("<", nanoseconds, link, [], snap)
            full = made_captures.pcap("<", nanoseconds, link, [(10**18, frame(1))], snap)
            for data in (empty, full):
                self.pcap(self.write("in.pcap", data), "-o", "out.pcap", *DROPS_NOTHING)
                self.assertEqual((self.folder / "out.pcap").read_bytes(), data)
        empty = Builder("<")
        empty.header(-1)
        empty.interface(113, 9, snaplen=96)
        self.pcap(self.write("in.pcapng", empty.bytes()), "-o", "out.pcap", *DROPS_NOTHING)
        self.assertEqual((self.folder / "out.pcap").read_bytes(),
                         made_captures.pcap("<", True, 113, [], 96))

    def test_frame_checks_of_several_inputs(self):
        for name, link in (("a", 0x24000001), ("b", 1)):
            self.write(name + ".pcap", made_captures.pcap("<", True, link, [(10**18, frame(1))]))
        done = self.pcap("a.pcap", "b.pcap", "-o", "out.pcap", *DROPS_NOTHING)
        self.assertIn("frame check sequences", done.err)
        self.assertEqual(struct.unpack_from("<I", (self.folder / "out.pcap").read_bytes(), 20), (1,))
        self.pcap("a.pcap", "a.pcap", "-o", "out.pcap", *DROPS_NOTHING)
        self.assertEqual(struct.unpack_from("<I", (self.folder / "out.pcap").read_bytes(), 20),
                         (0x24000001,))


if __name__ == "__main__":
    harness.main()
