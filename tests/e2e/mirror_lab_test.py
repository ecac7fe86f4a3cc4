#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""examples/mirror_lab: the recommendation of unecho analyze for a tap and mirrors leaves no copy
and loses no packet, in unecho pcap and in unecho run. The lab reports that. It also detects an
unecho that recommends too little."""
import os
import re
import subprocess

import harness
from harness import ROOT

# Replaces unecho: does the same and then spoils the result.
SPOILER = '''#!/usr/bin/env python3
import pathlib, subprocess, sys
status = subprocess.run([%r, *sys.argv[1:]]).returncode
config, clean = pathlib.Path("lab.toml"), pathlib.Path("clean.pcap")
%s
sys.exit(status)
'''
ADVICE = '''if "--toml" in sys.argv:
    text = config.read_text()
    for old, new in %r:
        assert old in text, old
        text = text.replace(old, new)
    config.write_text(text)
'''
FAULTS = {
    "too little": ADVICE % [(" --tunnels vxlan", ""), ('tunnels = ["vxlan"]', 'tunnels = "none"'),
                            ('tenant = "ignore"', "")],
}


class MirrorLab(harness.E2eTest):
    def run_lab(self, *options, unecho=None, folder="lab"):
        # Without write access to /run/dpdk, the folder must be given.
        return subprocess.run(
            [ROOT / "examples" / "mirror_lab", "--unecho", unecho or os.environ["UNECHO_BIN"],
             "--folder", self.folder / folder, "--packets", "1000", *options],
            text=True, capture_output=True, check=False, timeout=harness.PATIENCE,
            env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))

    def outcomes(self, done):
        """Return {file: [number of each column]}."""
        rows = re.findall(r"^  (\S+\.pcap) +([\d,]+(?: +[\d,]+){5})$", done.stdout, re.M)
        self.assertEqual([name for name, _ in rows], ["clean.pcap", "unecho-out.pcap"], done)
        return {name: [int(one.replace(",", "")) for one in row.split()] for name, row in rows}

    def spoiled(self, fault):
        program = self.folder / "spoiled-unecho"
        program.write_text(SPOILER % (os.environ["UNECHO_BIN"], FAULTS[fault]))
        program.chmod(0o755)
        done = self.run_lab(unecho=program)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done)
        self.assertIn("not as it should be", done.stdout)
        return self.outcomes(done)

    def assert_good(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        for packets, *bad in self.outcomes(done).values():
            self.assertGreater(packets, 1000)
            self.assertEqual(bad, [0] * 5, done.stdout)

    def test_no_copy_is_left_and_no_packet_lost(self):
        self.assert_good(self.run_lab())
        self.assert_good(self.run_lab("--packets", "1100"))  # in the same folder

    def test_nor_where_mirrors_cut(self):
        done = self.run_lab("--cut", "160")
        self.assert_good(done)
        self.assertIn("key_bytes = 128", done.stdout)

    def test_copies_that_are_left_are_seen(self):
        for packets, copies, lost, lost_numbers, changed, by_analyze in \
                self.spoiled("too little").values():
            self.assertGreater(copies, 500)
            self.assertEqual(by_analyze, copies)
            self.assertEqual((lost, lost_numbers, changed), (0, 0, 0))
            self.assertGreater(packets, 1500)


if __name__ == "__main__":
    harness.main()
