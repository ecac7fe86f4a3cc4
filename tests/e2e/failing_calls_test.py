#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every call of a command that may fail does in turn, whoever makes it: allocations, files, threads,
mappings. The command does what it would have done, or ends with one line and a status that says so,
and leaves whole files alone.

All of them with UNECHO_EVERY_CALL=1; else so many of each kind, spread evenly."""
import json
import os
import shutil
import subprocess

import failing
import harness
from gzip_members_test import members, traffic

CAPTURE = harness.ROOT / "pcaps" / "two-taps-a.pcap"
RUNS = 100
FILES = ("open", "read", "write", "full", "close", "rename", "map", "thread")


class FailingCalls(harness.E2eTest):
    def setUp(self):
        super().setUp()
        self.failing = failing.Failing(self.folder / "control")

    def run_with(self, arguments, kind, number=0):
        # A disk that is full stays so.
        self.failing.set(kind, number, failing.ALWAYS if kind == "full" else 1)
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        done = subprocess.run([os.environ["UNECHO_BIN"], *map(str, arguments)], cwd=place, check=False,
                              env=dict(os.environ, **self.failing.environment()),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.PATIENCE)
        files = {path.name: path.read_bytes() for path in place.iterdir()}
        return done.returncode, done.stdout, done.stderr.decode(), files

    def each_fails(self, kind, *arguments):
        """How many ended it."""
        whole = self.run_with(arguments, kind)
        self.assertEqual(whole[0], 0, whole[2])
        calls = self.failing.off()
        ended = went_on = 0
        for number in failing.numbers(calls, RUNS):
            with self.subTest(kind=kind, number=number):
                status, out, err, files = self.run_with(arguments, kind, number)
                if status == 0:
                    went_on += 1
                    self.assertEqual((status, out, err, files), whole)
                    continue
                ended += 1
                self.assertIn(status, (1, 2), err)
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertTrue(err.startswith("unecho: "), err)
                for name, written in files.items():
                    self.assertEqual(written, whole[3].get(name), "%s is not whole" % name)
        print("%s, %s: %d calls, of %d that failed %d ended it" % (arguments[0], kind, calls,
                                                                   ended + went_on, ended))
        return ended

    def test_pcap(self):
        arguments = ("pcap", CAPTURE, "-o", "out.pcap", "--dropped", "echoes.pcap", "--pairs", "pairs.csv",
                     "--quiet")
        for kind in ("allocate", *FILES):
            ended = self.each_fails(kind, *arguments)
            self.assertTrue(ended > 0 or kind == "map", kind)

    def test_pcap_with_a_filter_into_a_compressed_file(self):
        for kind in ("allocate", "write", "full", "rename", "map"):
            self.assertGreater(self.each_fails(kind, "pcap", CAPTURE, "-o", "out.pcapng.zst", "--quiet",
                                               "--engine", "line", "--seed", 1), 0)

    # Of a capture that cannot be read to its end it reports what came, and says so.
    def test_analyze(self):
        for kind in ("allocate", "write", "full", "rename", "close"):
            self.assertGreater(self.each_fails(kind, "analyze", CAPTURE, "--html", "out.html"), 0)

    # Threads that cannot be had are done without.
    def test_analyze_on_threads(self):
        self.assertGreater(self.each_fails("allocate", "analyze", CAPTURE, "--jobs", 4), 0)
        self.assertEqual(self.each_fails("thread", "analyze", CAPTURE, "--jobs", 4), 0)

    # What threads that inflate have no memory for is left to who reads (unit/capture inflate_ahead, each of theirs).
    def test_gzip_members(self):
        traffic.write(self.folder / "plain.pcap", count=2000, seed=5)
        packed = self.folder / "members.pcap.gz"
        packed.write_bytes(members((self.folder / "plain.pcap").read_bytes(), 30_000))
        arguments = ("pcap", packed, "-o", "out.pcap", "--jobs", 4, "--quiet")
        self.assertGreater(self.each_fails("allocate", *arguments), 0)
        # Each pass over the capture has one thread that it cannot do without, which decides.
        for passes in (1, 2):
            self.assertLessEqual(self.each_fails("thread", *arguments, "--passes", passes), passes)

    def test_size(self):
        self.assertGreater(self.each_fails("allocate", "size", "--window", "50ms", "--rate", "10Mpps"), 0)

    # Half a document cannot be freed as any other can; it is made last, of pcap by 175 allocations.
    def test_documents(self):
        for last, *arguments in ((200, "pcap", CAPTURE, "--dry-run", "--json"),
                                 (60, "analyze", CAPTURE, "--json"),
                                 (60, "size", "--window", "50ms", "--rate", "10Mpps", "--json")):
            self.run_with(arguments, "allocate")
            calls = self.failing.off()
            went_on = 0
            for number in range(max(1, calls - last), calls + 1):
                with self.subTest(arguments[0], number=number, of=calls):
                    status, out, err, _ = self.run_with(arguments, "allocate", number)
                    self.assertIn(status, (0, 1), err)
                    if status == 0:
                        went_on += 1
                        json.loads(out)
                    else:
                        self.assertEqual((out, err), (b"", "unecho: no memory is left\n"))
            self.assertGreater(went_on, 0)


if __name__ == "__main__":
    harness.main()
