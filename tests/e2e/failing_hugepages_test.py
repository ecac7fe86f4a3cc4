#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call that may fail while `unecho run` starts in hugepages, forwards and ends does so in
turn. It forwards the same packets, or ends with one line. Its pages are in files that the next
process takes over, and nowhere else.

All calls with UNECHO_EVERY_CALL=1; otherwise some of each kind, evenly spread."""
import os

import failing_starts_test
import harness

class FailingHugepages(failing_starts_test.Starts):
    def setUp(self):
        super().setUp()
        self.mount = harness.take_hugepages(self, 64)
        self.EAL = ("--no-pci", "-m", "64", "--file-prefix=faults", "--huge-dir=%s" % self.mount)

    def run_with(self, kind, number=0):
        """DPDK leaves the files of its pages to the next process; this file system has no other
        used pages."""
        done = super().run_with(kind, number)
        self.files = sorted(path.name for path in self.mount.iterdir())
        pages = os.statvfs(self.mount)
        self.assertEqual(pages.f_bfree + len(self.files), pages.f_blocks, (kind, number, done[0]))
        return done

    def each_fails(self, kind):
        self.run_with("none")
        before = len(self.files)
        ended = super().each_fails(kind)
        self.run_with("none")
        self.assertLessEqual(len(self.files), before, "files that the next process leaves, too")
        return ended

    def test_in_hugepages(self):
        """The pages are hugepages."""
        whole = self.run_with("none")[0]
        self.report_of(whole)
        self.assertTrue(self.files)
        self.assertIn("pages of 2 MiB", whole.err)


failing_starts_test.of_kinds(FailingHugepages, "open", "map", "control", "dpdk")

if __name__ == "__main__":
    harness.main()
