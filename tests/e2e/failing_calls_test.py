#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call of a command that may fail does so in turn, including calls of libraries: allocations,
files, threads, mappings. The command has the same result, or ends with one line and a status that
say so, and never damages files.

All calls with UNECHO_EVERY_CALL=1; otherwise some of each kind, evenly spread."""
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
        # A full disk stays full.
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
        """Return how many failures ended the command."""
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

    # For a capture that cannot be read to its end, it reports what was read, and says so.
    def test_analyze(self):
        for kind in ("allocate", "write", "full", "rename", "close"):
            self.assertGreater(self.each_fails(kind, "analyze", CAPTURE, "--html", "out.html"), 0)

    # It works without threads that cannot be created.
    def test_analyze_on_threads(self):
        self.assertGreater(self.each_fails("allocate", "analyze", CAPTURE, "--jobs", 4), 0)
        self.assertEqual(self.each_fails("thread", "analyze", CAPTURE, "--jobs", 4), 0)

    # If an inflating thread has no memory, the reader inflates (unit/captures: parallel_inflate).
    def test_gzip_members(self):
        traffic.write(self.folder / "plain.pcap", count=2000, seed=5)
        packed = self.folder / "members.pcap.gz"
        packed.write_bytes(members((self.folder / "plain.pcap").read_bytes(), 30_000))
        arguments = ("pcap", packed, "-o", "out.pcap", "--jobs", 4, "--quiet")
        self.assertGreater(self.each_fails("allocate", *arguments), 0)
        # Each pass over the capture needs one thread, the one that decides.
        for passes in (1, 2):
            self.assertLessEqual(self.each_fails("thread", *arguments, "--passes", passes), passes)

    def test_size(self):
        self.assertGreater(self.each_fails("allocate", "size", "--window", "50ms", "--rate", "10Mpps"), 0)

    # A half-built JSON document cannot be freed like a whole one; pcap makes it last, by 175 calls.
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
