#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every allocation of a command fails in turn, whoever asked for it: the command does what it would
have done, or ends with one line and a status that says so, and leaves no file that is not whole.

All of them with UNECHO_EVERY_ALLOCATION=1; else so many of each command, spread evenly."""
import os
import pathlib
import shutil
import subprocess

import harness

CAPTURE = harness.ROOT / "pcaps" / "two-taps-a.pcap"
CONFIGURATION = harness.ROOT / "configs" / "quickstart.toml"
RUNS = 150
NO_MEMORY = "unecho: no memory is left\n"


class NoMemory(harness.E2eTest):
    def run_with(self, arguments, **environment):
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        done = subprocess.run([os.environ["UNECHO_BIN"], *map(str, arguments)], cwd=place, check=False,
                              env=dict(os.environ, LD_PRELOAD=os.environ["UNECHO_FAIL_NTH"], **environment),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        files = {path.name: path.read_bytes() for path in place.iterdir()}
        return done.returncode, done.stdout, done.stderr.decode(), files

    def each_fails(self, *arguments):
        count = self.folder / "count"
        status, out, err, files = self.run_with(arguments, FAIL_COUNT=str(count))
        self.assertEqual(status, 0, err)
        allocations = int(pathlib.Path(count).read_text())
        self.assertGreater(allocations, 100)
        step = 1 if os.environ.get("UNECHO_EVERY_ALLOCATION") else max(1, allocations // RUNS)
        ended = went_on = 0
        for number in range(1, allocations + 1, step):
            with self.subTest(number=number):
                found = self.run_with(arguments, FAIL_NTH=str(number))
                if found[0] == 0:
                    went_on += 1
                    self.assertEqual(found[1:], (out, err, files))
                else:
                    ended += 1
                    self.assertIn(found[0], (1, 2), found[2])
                    self.assertEqual(len(found[2].splitlines()), 1, found[2])
                    self.assertTrue(found[2].startswith("unecho: "), found[2])
                    self.assertEqual(found[3], {})
        print("%s: %d allocations, of %d that failed %d ended it" % (arguments[0], allocations,
                                                                      ended + went_on, ended))
        self.assertGreater(ended, 0)

    def test_pcap(self):
        self.each_fails("pcap", CAPTURE, "-o", "out.pcap", "--quiet")

    def test_pcap_with_a_filter_into_a_compressed_file(self):
        self.each_fails("pcap", CAPTURE, "-o", "out.pcapng.zst", "--quiet", "--engine", "line", "--seed", 1)

    def test_analyze(self):
        self.each_fails("analyze", CAPTURE, "--html", "out.html")

    def test_size(self):
        self.each_fails("size", "--window", "50ms", "--rate", "10Mpps")


if __name__ == "__main__":
    harness.main()
