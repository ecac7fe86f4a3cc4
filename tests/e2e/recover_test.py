#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and truncated captures: messages, what --recover finds, and exit status.

The status is 1 if packets of an input are missing or may be damaged. A file that merely ends within
a packet, as stopped captures do, is not damaged.
"""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
from pcap_test import DROPS_NOTHING, PcapTest, records_of  # noqa: E402

PACKETS = 60
BAD = 25  # the packet whose record is damaged
INCOMPLETE = "unecho: not all packets of the input were read"


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


class Recover(PcapTest):
    def setUp(self):
        super().setUp()
        noise = random.Random(5)
        frames = [bytes(12) + b"\x08\x00" + noise.randbytes(noise.randrange(1, 60) * 4 + 2)
                  for _ in range(PACKETS)]
        times = [1_700_000_000_000_000 + 1000 * number for number in range(PACKETS)]
        records = [struct.pack("<IIII", *divmod(time, 10**6), len(frame), len(frame)) + frame
                   for time, frame in zip(times, frames)]
        self.pieces = {
            "a.pcap": [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)] + records,
            "a.pcapng": [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) +
                         block(1, struct.pack("<HHI", 1, 0, 0))] +
                        [block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF,
                                              len(frame), len(frame)) + frame)
                         for time, frame in zip(times, frames)]}
        for name, pieces in self.pieces.items():
            (self.folder / name).write_bytes(b"".join(pieces))
        self.pcap("a.pcap", "-o", "all.pcap", *DROPS_NOTHING)
        self.all = records_of(self.folder / "all.pcap")[1]
        self.assertEqual(len(self.all), PACKETS)

    def damaged(self, name):
        """Write a length of 2 GB into the header of packet BAD; return its position and the file's
        size."""
        at = sum(len(piece) for piece in self.pieces[name][:BAD])
        data = bytearray((self.folder / name).read_bytes())
        struct.pack_into("<I", data, at + (8 if name == "a.pcap" else 4), 2**31)
        (self.folder / ("bad-" + name)).write_bytes(data)
        return at, len(data)

    def packed(self, name):
        """Compress by programs, which may be absent, or in Python."""
        out = self.folder / (name + ".gz")
        subprocess.run(["gzip", "-kf", name], cwd=self.folder, check=True)
        yield out
        for tool, suffix, option in (("zstd", ".zst", ("-o",)), ("lz4", ".lz4", ())):
            if self.has(tool):
                subprocess.run([tool, "-qf", name, *option, name + suffix], check=True,
                               cwd=self.folder)
                yield self.folder / (name + suffix)

    @staticmethod
    def has(tool):
        return any((pathlib.Path(folder) / tool).exists() for folder in ("/usr/bin", "/bin"))

    def read(self, *arguments, **options):
        """Return status, warnings and the packets written."""
        out = self.folder / "out.pcap"
        out.unlink(missing_ok=True)
        done = self.run_pcap(*arguments, "-o", out, *DROPS_NOTHING, **options)
        warnings = [line for line in done.err.splitlines() if line.startswith("unecho: warning: ")]
        last = [line for line in done.err.splitlines() if line not in warnings]
        self.assertEqual([line[:len(INCOMPLETE)] for line in last],
                         [INCOMPLETE] if done.status else [], done)
        return done.status, warnings, records_of(out)[1]

    def test_what_is_left_unread_is_told(self):
        for name, what in (("a.pcap", "record"), ("a.pcapng", "block")):
            at, size = self.damaged(name)
            where = r"%s of 2,147,483,648 bytes at byte %s" % (what, format(at, ","))
            hint = r"; --recover looks for what goes on behind it$"
            status, warnings, records = self.read("bad-" + name)
            self.assertEqual((status, records, len(warnings)), (1, self.all[:BAD - 1], 1))
            self.assertRegex(warnings[0], r"packet %d: %s: %s of %s bytes \(%.1f %%\) are not read%s"
                             % (BAD, where, format(size - at, ","), format(size, ","),
                                100 * (size - at) / size, hint))
            for path in self.packed("bad-" + name):
                status, warnings, records = self.read(path.name)
                self.assertEqual((status, records), (1, self.all[:BAD - 1]))
                self.assertRegex(warnings[0], where + r", decompressed: (what follows is|at least "
                                 r"[\d,]+ of [\d,]+ compressed bytes \([\d.]+ %\) are) not read" +
                                 hint)
            with open(self.folder / ("bad-" + name), "rb") as file:
                cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            status, warnings, records = self.read("-", stdin=cat.stdout)
            cat.stdout.close()
            cat.wait(60)
            self.assertEqual((status, records), (1, self.all[:BAD - 1]))
            self.assertRegex(warnings[0], where + ": what follows in the pipe is not read" + hint)

    def test_what_goes_on_behind_it_is_found(self):
        rest = self.all[:BAD - 1] + self.all[BAD:]
        for name in ("a.pcap", "a.pcapng"):
            at, _ = self.damaged(name)
            skipped = "packet %d: damaged: %d bytes skipped at byte %s" % (
                BAD, len(self.pieces[name][BAD]), format(at, ","))
            paths = [self.folder / ("bad-" + name), *self.packed("bad-" + name)]
            for path in paths:
                for jobs in ("1", "2"):
                    status, warnings, records = self.read(path.name, "--recover", "--jobs", jobs)
                    self.assertEqual((status, records), (1, rest), path)
                    self.assertEqual(warnings, ["unecho: warning: %s: %s" % (path.name, skipped)])
            status, warnings, records = self.read(paths[0].name, "a.pcap", "--recover")
            self.assertEqual((status, len(records), len(warnings)), (1, 2 * PACKETS - 1, 1))
            status, warnings, records = self.read(name, "--recover")
            self.assertEqual((status, records, warnings), (0, self.all, []))

    def test_cut_captures_are_no_failure(self):
        """Status 0, as for a stopped capture: editcap returns 0 too, tcpdump 1, tshark 2."""
        for name in ("a.pcap", "a.pcapng"):
            data = (self.folder / name).read_bytes()
            for missing in (1, 20):
                (self.folder / "cut").write_bytes(data[:-missing])
                for option in ((), ("--recover",)):
                    status, warnings, records = self.read("cut", *option)
                    self.assertEqual((status, records), (0, self.all[:-1]))
                    self.assertRegex(warnings[0], r"(record|block) cut short$")
            for path in list(self.packed(name)):
                packed = path.read_bytes()
                path.write_bytes(packed[:-3])
                status, warnings, records = self.read(path.name)
                self.assertEqual((status, records), (0, self.all[:len(records)]))
                self.assertRegex(warnings[0], "compressed data cut short$")

    def test_analyze(self):
        self.damaged("a.pcap")
        for options, packets in (((), BAD - 1), (("--recover",), PACKETS - 1)):
            done = subprocess.run([self.binary, "analyze", "bad-a.pcap", "--json", *options],
                                  cwd=self.folder, capture_output=True, timeout=harness.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(json.loads(done.stdout)["total"]["packets"], packets)
            self.assertTrue(re.match(INCOMPLETE, done.stderr.decode()), done)


if __name__ == "__main__":
    harness.main()
