#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lib/captures and lib/packets against other programs: second_reader_test.py CAPTURE_DUMP KEY_DUMP

Wireshark's and libpcap's readers must read the same packets from captures of every kind, made here
and in pcaps/: times, lengths and bytes. Keys must agree with tshark's dissection: two packets have
equal digests exactly if the fields that count are equal.
"""
import collections
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import made_captures  # noqa: E402

PCAPS = ROOT / "pcaps"
PORTED = {"6": "tcp", "17": "udp", "132": "sctp", "33": "dccp"}
CAPTURE_DUMP = KEY_DUMP = None

Seen = collections.namedtuple("Seen", "time wire length crc")


def run(*command):
    # Wireshark's programs read preferences from the home directory.
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, text=True, check=False,
                          capture_output=True, env={**os.environ, "HOME": "/nonexistent"})


def tshark(*arguments):
    done = run("tshark", "-n", "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", *arguments)
    assert done.returncode == 0, done
    return done.stdout


def ours(path):
    done = run(CAPTURE_DUMP, path)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("warning ")]
    return [Seen(int(row[0]), int(row[2]), int(row[3]), int(row[4], 16)) for row in rows]


def timed(path, seen):
    """Set times of simple packets to 0, like other readers. Ours repeats the time before."""
    return [one._replace(time=0) for one in seen] if path.name == "simple.pcapng" else seen


def records(path):
    """Read a nanosecond pcap in this machine's byte order, as editcap and tcpdump write it."""
    data, at, found = path.read_bytes(), 24, []
    assert data[:4] == struct.pack("=I", 0xA1B23C4D), data[:4]
    while at < len(data):
        seconds, fraction, length, wire = struct.unpack_from("=IIII", data, at)
        body = data[at + 16:at + 16 + length]
        found.append(Seen(seconds * 10**9 + fraction, wire, length, zlib.crc32(body)))
        at += 16 + length
    return found


def fields(path, *names):
    """Return tshark's fields as a row for each packet; for repeated layers, the outermost."""
    shown = tshark("-r", path, "-T", "fields", "-E", "occurrence=f",
                   *(word for name in names for word in ("-e", name)))
    return [line.split("\t") for line in shown.splitlines()]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.captures = made_captures.write(self.folder) + [
            PCAPS / "one-link.pcap", PCAPS / "jumbo.pcap", PCAPS / "cut.pcap"]


def needs(program):
    return unittest.skipUnless(shutil.which(program), "no " + program)


class Reader(Case):
    @needs("editcap")
    def test_editcap_sees_the_same_bytes(self):
        total = 0
        for path in self.captures:
            with self.subTest(capture=path.name):
                out = self.folder / "editcap.out"
                done = run("editcap", "-F", "nsecpcap", path, out)
                self.assertIn(done.returncode, (0, 2) if path.name == "cut.pcap" else (0,), done)
                found = ours(path)
                self.assertEqual(timed(path, found), timed(path, records(out)))
                total += len(found)
        self.assertGreater(total, 4000)

    @needs("editcap")
    def test_snoop_that_editcap_writes_has_the_same_packets(self):
        for path in (PCAPS / "one-link.pcap", PCAPS / "two-taps-a.pcap"):
            with self.subTest(capture=path.name):
                snoop, back = self.folder / "snoop", self.folder / "back"
                for made, kind, source in ((snoop, "snoop", path), (back, "nsecpcap", snoop)):
                    done = run("editcap", "-F", kind, source, made)
                    self.assertEqual(done.returncode, 0, done)
                self.assertEqual(ours(snoop), records(back))
                self.assertEqual(ours(snoop), ours(path))

    @needs("tcpdump")
    def test_tcpdump_sees_the_same_bytes(self):
        """libpcap reads only uncompressed files of one link type, snap length and byte order."""
        for path in self.captures:
            if path.name in ("sections.pcapng", "members.pcap.gz"):
                continue
            with self.subTest(capture=path.name):
                out = self.folder / "tcpdump.out"
                # Started by root, tcpdump changes to a user that may not write here.
                done = run("tcpdump", "-Z", "root", "--time-stamp-precision=nano", "-r", path,
                           "-w", out)
                self.assertEqual(done.returncode, 1 if path.name == "cut.pcap" else 0, done)
                self.assertEqual(timed(path, ours(path)), timed(path, records(out)))


@needs("tshark")
class Keys(Case):
    def digests(self, mode, path):
        """Return [(outcome, digest)]."""
        done = run(KEY_DUMP, mode, path)
        self.assertEqual(done.returncode, 0, done)
        return [tuple(line.split()[1:3]) for line in done.stdout.splitlines()]

    def assert_same_partition(self, path, keys, answers):
        """Check that digests are equal exactly if the other keys are, and return their number."""
        self.assertEqual(len(keys), len(answers), path.name)
        by_key, by_digest, compared = {}, {}, 0
        for number, (key, (outcome, digest)) in enumerate(zip(keys, answers), 1):
            if key is None or outcome != "keyed":
                continue
            where = "%s: packet %d" % (path.name, number)
            self.assertEqual(by_key.setdefault(key, digest), digest, where)
            self.assertEqual(by_digest.setdefault(digest, key), key, where)
            compared += 1
        return compared, len(by_key)

    def flow(self, row):
        """Return (source, destination, protocol, ports); None if tshark dissected only a part."""
        four, six, protocol, offset, header, ports = row[:2], row[2:4], row[4], row[5], row[6], row[7:]
        if four[0]:
            ends = four
            later = offset not in ("", "0")
        elif six[0] and header in (*PORTED, "58", "50", "4", "41"):
            ends, protocol, later = six, header, False
        else:
            return None
        names = list(PORTED)
        at = 2 * names.index(protocol) if protocol in names else None
        shown = ("0", "0") if at is None or later else tuple(ports[at:at + 2])
        return (*ends, protocol, *shown) if all(shown) else None

    def test_flows_are_those_of_tshark(self):
        names = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.proto", "ip.frag_offset", "ipv6.nxt"]
        names += [name + end for name in PORTED.values() for end in (".srcport", ".dstport")]
        compared = flows = 0
        paths = [PCAPS / name for name in ("edges.pcap", "flows.pcap", "two-taps-a.pcap")]
        paths += [path for path in self.captures
                  if path.name in ("raw.pcap", "null.pcap", "cooked.pcap", "cooked2.pcap")]
        self.assertEqual(len(paths), 7)
        for path in paths:
            keys = [self.flow(row) for row in fields(path, *names)]
            found = self.assert_same_partition(path, keys, self.digests("flow", path))
            compared, flows = compared + found[0], flows + found[1]
        self.assertGreater(compared, 4000)
        self.assertGreater(flows, 100)

    def packet(self, frame, layers):
        """Return the outermost IP packet without fields that hops change, by tshark's offsets."""
        for layer in layers:
            if layer.get("name") in ("ip", "ipv6"):
                break
        else:
            return None
        at, name = int(layer.get("pos")), layer.get("name")
        shown = {field.get("name"): field for field in layer.iter("field")}
        if name == "ip":
            length = int(shown["ip.len"].get("show"))
            mutable = ("ip.dsfield", "ip.ttl", "ip.checksum")
        else:
            length = int(shown["ipv6.plen"].get("show")) + 40
            mutable = ("ipv6.hlim",)
        data = bytearray(frame)
        for field in mutable:
            place, size = int(shown[field].get("pos")), int(shown[field].get("size"))
            data[place:place + size] = bytes(size)
        if name == "ipv6":
            data[at] &= 0xF0      # the traffic class spans two bytes
            data[at + 1] &= 0x0F
        return bytes(data[at:at + length])

    def test_packets_are_those_of_tshark(self):
        compared = repeated = 0
        for name in ("edges.pcap", "one-link.pcap", "jumbo.pcap"):
            path = PCAPS / name
            frames = [packet.data for packet in made_captures.exact_answer.Capture(path)]
            shown = xml.etree.ElementTree.fromstring(tshark("-r", path, "-T", "pdml"))
            shown = shown.findall("packet")
            keys = [self.packet(frame, packet.findall("proto"))
                    for frame, packet in zip(frames, shown, strict=True)]
            found = self.assert_same_partition(path, keys, self.digests("packet", path))
            compared, repeated = compared + found[0], repeated + found[0] - found[1]
        self.assertGreater(compared, 1500)
        self.assertGreater(repeated, 400)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: second_reader_test.py CAPTURE_DUMP KEY_DUMP")
    CAPTURE_DUMP, KEY_DUMP = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
