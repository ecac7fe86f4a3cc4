#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap` and `unecho analyze` on gzip files of several members: results as for the plain
file, with any number of threads."""
import gzip
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import harness  # noqa: E402
from pcap_test import PcapTest, traffic  # noqa: E402

PACKETS = 60_000
JOBS = ((), ("--jobs", "1"), ("--jobs", "2"), ("--jobs", "4"))


def bgzf(data):
    """Compress as bgzip does: the last member is empty."""
    block = traffic.BGZF_BLOCK
    return b"".join(traffic.bgzf(data[at:at + block]) for at in [*range(0, len(data), block), len(data)])


def members(data, size):
    return b"".join(gzip.compress(data[at:at + size], 1) for at in range(0, len(data), size))


class GzipMembers(PcapTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plain.pcap"
            traffic.write(path, count=PACKETS, seed=3)
            cls.plain = path.read_bytes()
        half = len(cls.plain) // 2
        cls.packed = {
            "bgzf": bgzf(cls.plain),
            "cat": gzip.compress(cls.plain[:half], 1) + gzip.compress(cls.plain[half:], 6),
            "megabytes": members(cls.plain, 2_000_000),
            "short": members(cls.plain, 3001),
        }

    def setUp(self):
        super().setUp()
        (self.folder / "plain.pcap").write_bytes(self.plain)
        for name, data in self.packed.items():
            (self.folder / (name + ".pcap.gz")).write_bytes(data)

    def unecho(self, *arguments, status=0, **options):
        done = subprocess.run([self.binary, *arguments], cwd=self.folder, check=False,
                              capture_output=True, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def test_pcap_writes_what_it_writes_of_the_plain_file(self):
        for route in (("--quiet",), ("--editcap", "--window", "10ms", "--quiet")):
            expected, _ = self.unecho("pcap", "plain.pcap", "-o", "-", *route)
            for name in self.packed:
                for jobs in JOBS:
                    with self.subTest(name=name, jobs=jobs, route=route):
                        got, _ = self.unecho("pcap", name + ".pcap.gz", "-o", "-", *route, *jobs)
                        self.assertTrue(got == expected)

    def test_reports_are_the_same_on_any_threads(self):
        """Also for damaged files: the message says how much remains."""
        data = bytearray(self.packed["bgzf"])
        data[len(data) // 2] ^= 0xFF
        (self.folder / "damaged.pcap.gz").write_bytes(data)
        (self.folder / "cut.pcap.gz").write_bytes(self.packed["megabytes"][:-100_000])
        broken = bytearray(self.plain)
        at = 24
        while at < len(broken) // 2:
            at += 16 + struct.unpack_from("<I", broken, at + 8)[0]
        broken[at + 8:at + 12] = b"\xff\xff\xff\xff"
        (self.folder / "broken.pcap.gz").write_bytes(bgzf(bytes(broken)))
        for name, status in (("cat", 0), ("damaged", 1), ("cut", 0), ("broken", 1)):
            reports = set()
            for jobs in JOBS:
                out, _ = self.unecho("analyze", name + ".pcap.gz", "--json", *jobs, status=status)
                report = json.loads(out)
                self.assertNotEqual(report["total"]["packets"], 0)
                reports.add(out)
            self.assertEqual(len(reports), 1, name)


if __name__ == "__main__":
    harness.main()
