#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/packets against keys computed in Python: key_vs_oracle_test.py KEY_DUMP answer|oracle

answer: exact_answer.py on pcaps/. oracle: exact_dedup.py on captures of real traffic. Both
are in the folder UNECHO_SHARED, else in ../shared beside the repository. The test is skipped
without it.

In every key mode each packet must have the same outcome, two packets must have equal digests
exactly if their keys are equal, and packets with equal keys must have one owner. The packets of
each capture are tested as they are and then changed, because parsers fail on headers: bits are
flipped in the first 80 bytes, meaningful numbers are inserted, and frames are cut. Packets of
Ethernet captures are also tested as frames of every other link type, changed likewise. With answer,
the test adds frames without an IP packet, and each frame of the packet fuzzer's made and grown
corpora, cut to every length and with every bit flipped.
"""
import contextlib
import importlib.util
import itertools
import os
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import dissect  # noqa: E402
import exact_answer  # noqa: E402

SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
MODES = ("packet", "flow", "flow-bidir", "frame")
ETHERNET = exact_answer.ETHERNET
MUTANTS = 1000  # for each capture
RELINKED = 100  # of these for each link type
WITHOUT_IP = 1000  # frames for each link type
HEADERS = 80    # bytes that are changed
VALUES = (0, 1, 4, 6, 17, 43, 44, 51, 59, 60, 132, 0x40, 0x45, 0x46, 0x60, 0x81, 0x86, 0x88, 0xDD, 0xFF)
# LINKTYPE_ of each LinkType (lib/packets/link.h), in its order; the last is unknown.
LINK_NUMBERS = (1, 101, 228, 229, 0, 108, 9, 113, 276, 105, 127, 192, 163, 104, 107, 239, 51, 147)
IP_ALONE = (12, 14, 101, 228, 229)  # link types on which a frame without an IP packet is malformed
FUZZ = ROOT / "tests" / "fuzz"
KEY_DUMP = WHICH = None


class OwnOracle:
    """tools/oracle/exact_answer.py"""

    modes = MODES + ("packet+non-ip", "packet+non-ip+tags", "flow-bidir+tags")
    links = exact_answer.LINKS
    captures = sorted((ROOT / "pcaps").glob("*.pcap"))

    @staticmethod
    def packets(path):
        """Return [(link, data)]."""
        return [(packet.link, packet.data) for packet in exact_answer.Capture(path)]

    @staticmethod
    def key(mode, link, data):
        """Return (outcome, key)."""
        try:
            key, *more = mode.split("+")
            inner = exact_answer.inner_of(key, tags="compare" if "tags" in more else "ignore")
            return "keyed", exact_answer.key_of(key, data, link,
                                                "frame" if "non-ip" in more else "pass", inner)
        except exact_answer.NoKey as reason:
            return reason.args[0], None


class SharedOracle:
    """exact_dedup.py"""

    modes = MODES
    path = SHARED / "tools" / "exact_dedup.py"
    captures = sorted((SHARED / "captures").glob("*.pcap*"))

    def __init__(self):
        spec = importlib.util.spec_from_file_location("exact_dedup", self.path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.theirs = self.module._ethertype
        self.module._ethertype = self.behind_ethertype
        self.links = sorted(self.module.SUPPORTED_LINKS)
        self.keyers = {mode: self.module.Keyer(mode, pppoe=True) for mode in MODES}

    def behind_ethertype(self, data, at, ethertype, pppoe):
        """Apply the project's rule behind labels and tags. The oracle takes any bytes behind labels
        for IP by their first nibble, and knows no tags except those of VLANs."""
        try:
            steps = list(dissect.steps(data, ethertype, at))
            after, begin = dissect.behind_tags(data, ethertype, at)
            vlans = all(tag in dissect.VLANS for tag, _, _ in steps)
            if vlans and after not in dissect.MPLS:
                return self.theirs(data, at, ethertype, pppoe)
            return dissect.behind_ethertype(data, after, begin)
        except exact_answer.NoKey as reason:
            return (0 if reason.args[0] == "non_ip" else -1), reason.args[1]

    def with_checksum(self, mode, link, data):
        """Fill in a partial checksum, because the oracle compares it as captured."""
        if mode != "packet":
            return data
        try:
            ip = dissect.outermost(data, link)
        except exact_answer.NoKey:
            return data
        packet = dissect.with_checksum(ip.version, data[ip.at:ip.end])
        return data[:ip.at] + packet + data[ip.end:]

    def packets(self, path):
        capture = self.module.open_capture(str(path))
        with contextlib.closing(capture.stream):
            return [(link, data) for _, link, _, data in capture]

    def key(self, mode, link, data):
        keyer = self.keyers[mode]
        data = self.with_checksum(mode, link, data)
        key = keyer.key(link, data, len(data))
        if key is not None:
            return "keyed", key
        malformed = bool(keyer.malformed)
        keyer.malformed.clear()
        return ("malformed" if malformed else "non_ip"), None


def mutant(draw, data):
    data = bytearray(data)
    for _ in range(draw.randrange(4)):
        if data:
            at = draw.randrange(min(len(data), HEADERS))
            data[at] = draw.choice(VALUES) if draw.random() < 0.5 else data[at] ^ 1 << draw.randrange(8)
    if draw.random() < 0.3:
        del data[draw.randrange(len(data) + 1):]
    return bytes(data)


def tag(draw):
    """Return an EtherType and the bytes behind it, up to the next EtherType."""
    macs = bytes(10) + bytes((draw.randrange(2), 7))
    some = bytes((draw.randrange(4),))
    return draw.choice((
        b"\x81\0\0" + some, b"\x88\xa8\1" + some, b"\x91\0\0\7", b"\x92\0\0\7",
        b"\x89\x26\x80" + some + b"\0\0", b"\x89\x3f\0\0\x10\5\0" + some,
        b"\x89\x09\1\1\0\1\0" + some, b"\x89\x88" + bytes(5) + some,
        b"\xd2\x8b\0\1\0\x10" + bytes(7) + some, b"\xd2\x8b\0\1\1\x20" + bytes(5) + some,
        b"\xd2\x8b\0\3\0\x10" + bytes(7) + some, b"\x89\x2f\x10\x4e\0" + some,
        b"\xf1\xc1\0\0\0" + some, b"\x89\3\0" + some + macs,
        b"\x22\xf3\0\1\0\1\0\2" + macs, b"\x22\xf3\0\x41\0\1\0\2" + bytes(4) + macs,
        b"\x89\x4f\x0f\xc2\2\3\0\0\0" + some + macs, b"\x65\x58" + macs,
        b"\0\x40\xaa\xaa\3\0\0" + draw.choice((b"\0", b"\xf8", b"\x0c")),
        b"\x88\x70\xaa\xaa\3\0\0\0"))


def wifi(draw, link, ethertype):
    """Return the header of a data frame, rarely of another, behind a radio header."""
    control = draw.choice((b"\x08\1", b"\x08\x0a", b"\x08\3", b"\x88\2", b"\x88\x83", b"\x08\x42", b"\x80\0",
                           b"\xd4\0", b"\x48\1", b"\xc8\1"))
    frame = control + bytes(range(20)) + draw.choice((b"\x10\0", b"\x11\0"))
    frame += bytes(6) if control[1] & 3 == 3 else b""
    frame += (b"\0\0" + bytes(4) if control[1] & 0x80 else draw.choice((b"\0\0", b"\x80\0"))) if control[0] & 0x80 else b""
    frame += b"\xaa\xaa\3\0\0" + draw.choice((b"\0", b"\0", b"\xf8", b"\x0c")) + ethertype
    return {
        exact_answer.WIFI: b"",
        exact_answer.RADIOTAP: draw.choice((
            b"\0\0\x08\0\0\0\0\0", b"\0\0\x0a\0\2\0\0\0\x10\0", b"\0\0\x09\0\2\0\0\0\x20",
            b"\0\0\x1c\0\3\0\0\x80\0\0\0\0" + bytes(12) + b"\x10\0\0\0")),
        exact_answer.PPI: draw.choice((
            b"\0\0\x08\0\x69\0\0\0", b"\0\0\x08\0\1\0\0\0",
            b"\0\0\x20\0\x69\0\0\0\2\0\x14\0" + bytes(8) + b"\1" + bytes(11),
            b"\0\1\x28\0\x69\0\0\0\3\0\1\0\0\0\0\0\2\0\x14\0" + bytes(8) + b"\1" + bytes(11))),
        exact_answer.AVS: b"\x80\x21\x10\1\0\0\0\x40" + bytes(56),
    }[link] + frame


def frame_relay(draw, version, ethertype):
    nlpid = b"\x8e" if version == 6 else b"\xcc"
    rest = draw.choice((b"\3" + nlpid, b"\3\0" + nlpid, b"\3\0\x80\0\0\0" + ethertype, b"\3\x80\0\x80\xc2\0\7",
                        b"\3\xcf\0" + (b"\x57" if version == 6 else b"\x21"), ethertype))
    return draw.choice((b"\x18\x41", b"\x18\x40\0\1")) + rest


def header(draw, link, version):
    """Return a random header of the link type before an IP packet."""
    ethertype = struct.pack(">H", 0x86DD if version == 6 else 0x0800)
    if draw.random() < 0.2:
        ethertype = b"\x88\x64\x11\0\0\1\0\x40" + (b"\0\x57" if version == 6 else b"\0\x21")
    while draw.random() < 0.3:
        ethertype = tag(draw) + ethertype
    ppp = b"\0\x57" if version == 6 else b"\0\x21"
    family = bytes((0, 0, 0, draw.choice((10, 24, 28, 30)) if version == 6 else 2))
    if link == exact_answer.NULL:
        return draw.choice((family, family[::-1]))
    if link == exact_answer.PPP_HDLC:
        link = exact_answer.PPP
    if link in exact_answer.RADIO:
        return wifi(draw, link, ethertype)
    if link == exact_answer.FRAME_RELAY:
        return frame_relay(draw, version, ethertype)
    return {
        ETHERNET: bytes(12) + ethertype,
        exact_answer.LOOP: family,
        exact_answer.PPP: draw.choice((b"", b"\xff\x03")) + ppp,
        exact_answer.PPP_ETHER: b"\x11\0\0\1\0\x40" + ppp,
        exact_answer.COOKED: bytes(14) + ethertype,
        exact_answer.COOKED2: ethertype[:2] + bytes(18) + ethertype[2:],
        exact_answer.HDLC: b"\x0f\0" + ethertype,
        exact_answer.NFLOG: (b"\x0a" if version == 6 else b"\2") + b"\0\0\7\6\0\x0a\0a\0\0\0\x40\0\x09\0",
    }.get(link, b"")


def relinked(draw, link, data):
    """Return an Ethernet frame as a frame of another link type."""
    ip = data[14:]
    return header(draw, link, ip[0] >> 4 if ip else 4) + ip


def without_ip(draw, link):
    """Return a frame of few stations and types, so that keys recur; sometimes changed or cut."""
    body = bytes((0, 0, 0, 1, 0, 0, draw.randrange(3), 1, 1)) + bytes(draw.randrange(4) * 17)
    typed = b"".join(tag(draw) for _ in range(draw.choice((0, 0, 0, 1, 1, 2))))
    typed += draw.choice((b"\x08\6", b"\x88\xcc", b"\x88\xb8", b"\x88\x92", b"\0\x26", b"\0\3", b"\0\0",
                          b"\x88\x47\0\1\0\x09", b"\x88\x47\0\1\1\x09")) + body
    if draw.random() < 0.3:  # a message that states its length, or PRP's trailer
        typed = draw.choice((b"\x88\xb8\0\1\0", b"\x88\xf7\0\1\0", b"\x88\x8e\0\1\0")) \
            + bytes((draw.choice((8, 20, 40)),)) + bytes(40)
    if draw.random() < 0.3:
        typed += bytes((0, draw.randrange(2), draw.choice((0xA0, 0xB0)),
                        len(typed) + draw.choice((4, 4, 4, 0))))[:4] + b"\x88\xfb"
    ppp = b"\xc0\x21" + body
    family = draw.choice((b"\0\0\0\7", b"\7\0\0\0")) + body
    if link in exact_answer.RADIO:
        frame = wifi(draw, link, typed)
    else:
        frame = {
            ETHERNET: bytes(12) + typed,
            exact_answer.NULL: family,
            exact_answer.LOOP: family,
            exact_answer.PPP: draw.choice((b"", b"\xff\3")) + ppp,
            exact_answer.PPP_HDLC: b"\xff\3" + ppp,
            exact_answer.PPP_ETHER: b"\x11\0\0\1\0\x40" + ppp,
            exact_answer.COOKED: bytes(14) + typed,
            exact_answer.COOKED2: typed[:2] + bytes(18) + typed[2:],
            exact_answer.HDLC: b"\x0f\0" + typed,
            exact_answer.FRAME_RELAY: b"\x18\x41\3" + draw.choice((
                b"\0\x80\0\0\0" + typed, b"\x80\0\0\0" + typed, b"\x81" + body)),
            exact_answer.NFLOG: b"\7\0\0\6" + body,
        }.get(link, body)
    if draw.random() < 0.3:
        at = draw.randrange(len(frame))
        frame = frame[:at] + bytes((frame[at] ^ 1 << draw.randrange(8),)) + frame[at + 1:]
    return frame[:draw.randrange(len(frame) + 1)] if draw.random() < 0.25 else frame


def made_inputs():
    """Return the seeds of tests/fuzz/packet_fuzz.cpp: a byte for the link type, then a frame."""
    return [path.read_bytes() for path in sorted((FUZZ / "corpus" / "packet").iterdir())]


def grown_inputs():
    """Return the inputs that fuzzing has found."""
    with tarfile.open(FUZZ / "grown" / "packet.tar.gz") as grown:
        return [grown.extractfile(member).read() for member in grown]


def cuts_and_flips(data):
    """Yield the frame cut to every length, and with each bit of its headers flipped."""
    yield from (data[:length] for length in range(len(data)))
    for at, bit in itertools.product(range(min(len(data), HEADERS)), range(8)):
        yield data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1:]


def write_pcap(file, link, packets):
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link))
    for number, data in enumerate(packets):
        file.write(struct.pack("<IIII", number, 0, len(data), len(data)) + data)
    file.flush()


def dumped(path, count, modes):
    """Return, mode by mode, [(outcome, digest, owner)] of this many packets."""
    done = subprocess.run([KEY_DUMP, *modes, path], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [int(line[0]) for line in lines] == list(range(1, count + 1)) * len(modes)
    answers = [tuple(line[1:]) for line in lines]
    return [answers[at:at + count] for at in range(0, len(answers), max(count, 1))]


class Comparison(unittest.TestCase):
    def compare(self, oracle, link, packets):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            write_pcap(file, link, packets)
            answers_of = dumped(file.name, len(packets), oracle.modes)
            for mode, answers in zip(oracle.modes, answers_of, strict=True):
                with self.subTest(key=mode):
                    self.compare_mode(oracle, mode, link, packets, answers)

    def compare_mode(self, oracle, mode, link, packets, answers):
        self.assertEqual(len(answers), len(packets))
        keys, digests = {}, {}
        for number, (data, (outcome, digest, owner)) in enumerate(zip(packets, answers), 1):
            expected, key = oracle.key(mode, link, data)
            self.assertEqual(outcome, expected, "packet %d: %s" % (number, data.hex()))
            if key is None:
                continue
            self.assertEqual(keys.setdefault(key, (digest, owner)), (digest, owner),
                             "packet %d: %s" % (number, data.hex()))
            self.assertEqual(digests.setdefault(digest, key), key,
                             "packet %d: %s" % (number, data.hex()))


class Captures(Comparison):
    def test_captures_and_mutants_have_the_same_keys(self):
        oracle = OwnOracle() if WHICH == "answer" else SharedOracle()
        total = 0
        for path in oracle.captures:
            by_link = {}
            for link, data in oracle.packets(path):
                by_link.setdefault(link, []).append(data)
            draw = random.Random(path.name)
            for link, packets in by_link.items():
                if link not in oracle.links:
                    continue
                mutants = [mutant(draw, draw.choice(packets)) for _ in range(MUTANTS)]
                with self.subTest(capture=path.name, link=link):
                    self.compare(oracle, link, packets)
                with self.subTest(mutants_of=path.name, link=link):
                    self.compare(oracle, link, mutants)
                total += len(packets)
            self.compare_relinked(oracle, draw, path.name, by_link.get(ETHERNET))
        self.assertGreater(total, 1000)

    def compare_relinked(self, oracle, draw, name, packets):
        for link in oracle.links if packets else ():
            frames = [relinked(draw, link, draw.choice(packets)) for _ in range(RELINKED)]
            frames += [mutant(draw, frame) for frame in frames]
            with self.subTest(relinked=name, link=link):
                self.compare(oracle, link, frames)


class Frames(Comparison):
    """Frames and link types that only the project's own oracle supports."""

    def test_fuzz_inputs_cut_and_changed_have_the_same_keys(self):
        draw = random.Random(1)
        by_link = {number: [] for number in LINK_NUMBERS}
        for inputs, changes in ((made_inputs(), cuts_and_flips),
                                (grown_inputs(), lambda data: (mutant(draw, data),))):
            for link, *frame in filter(None, inputs):
                of_link = by_link[LINK_NUMBERS[link % len(LINK_NUMBERS)]]
                of_link += [bytes(frame), *changes(bytes(frame))]
        for link, frames in by_link.items():
            with self.subTest(link=link):
                self.assertTrue(frames)
                self.compare(OwnOracle(), link, frames)

    def test_frames_without_ip_have_the_same_keys(self):
        oracle = OwnOracle()
        for link in (*oracle.links, LINK_NUMBERS[-1]):
            draw = random.Random(link)
            frames = [without_ip(draw, link) for _ in range(WITHOUT_IP)]
            with self.subTest(link=link):
                keys = [oracle.key("packet+non-ip", link, frame)[1] for frame in frames]
                keys = [key for key in keys if key is not None]
                if link not in IP_ALONE:
                    self.assertGreater(len(keys) - len(set(keys)), 15)
                    self.assertGreater(len(set(keys)), 200)
                self.compare(oracle, link, frames)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("answer", "oracle"):
        sys.exit("usage: key_vs_oracle_test.py KEY_DUMP answer|oracle")
    KEY_DUMP, WHICH = sys.argv.pop(1), sys.argv.pop(1)
    if WHICH == "oracle" and not SharedOracle.path.exists():
        print("skipped: no %s" % SharedOracle.path)
        sys.exit(77)
    unittest.main(defaultTest=None if WHICH == "answer" else "Captures", verbosity=2)
