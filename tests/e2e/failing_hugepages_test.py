#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every call that may fail while `unecho run` starts in hugepages, forwards and ends does in turn: it
forwards what it would have forwarded, or ends with one line; its pages are in files that the next process
takes, and none elsewhere.

All of them with UNECHO_EVERY_CALL=1; else so many of each kind, spread evenly."""
import pathlib
import subprocess

import failing_starts_test
import harness

PAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
NEEDED = 64


def pages(name):
    try:
        return int((PAGES / name).read_text())
    except OSError:
        return 0


def reserve(more):
    """How many there are more."""
    before = pages("nr_hugepages")
    try:
        (PAGES / "nr_hugepages").write_text(str(before + more))
    except OSError:
        return 0
    return pages("nr_hugepages") - before


class FailingHugepages(failing_starts_test.Starts):
    def setUp(self):
        super().setUp()
        reserved = reserve(NEEDED)
        self.addCleanup(lambda: reserve(-reserved))
        if reserved < NEEDED:
            self.skipTest("needs %d hugepages of 2 MiB more, and could reserve %d" % (NEEDED, reserved))
        mount = self.folder / "hugepages"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "hugetlbfs", "none", mount], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("may not mount hugetlbfs")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        self.mount = mount
        self.free = pages("free_hugepages")
        self.EAL = ("--no-pci", "-m", "64", "--file-prefix=faults", "--huge-dir=%s" % mount)

    def run_with(self, kind, number=0):
        """DPDK leaves files of its pages to the next process; no page is elsewhere."""
        done = super().run_with(kind, number)
        self.files = sorted(path.name for path in self.mount.iterdir())
        self.assertEqual(pages("free_hugepages") + len(self.files), self.free, (kind, number, done[0]))
        return done

    def each_fails(self, kind):
        self.run_with("none")
        before = len(self.files)
        ended = super().each_fails(kind)
        self.run_with("none")
        self.assertLessEqual(len(self.files), before, "files that the next process leaves, too")
        return ended

    def test_in_hugepages(self):
        """That they are."""
        whole = self.run_with("none")[0]
        self.report_of(whole)
        self.assertTrue(self.files)
        self.assertIn("pages of 2MiB", whole.err)


failing_starts_test.of_kinds(FailingHugepages, "open", "map", "control", "dpdk")

if __name__ == "__main__":
    harness.main()
