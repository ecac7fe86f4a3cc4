#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""configs/quickstart.toml, run as the README says, keeps exactly the packets of the exact
answer."""
import re
import shutil
import subprocess
import tomllib

import harness
from harness import PCAPS, ROOT, exact_answer


class Quickstart(harness.E2eTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "configs", self.folder / "configs")
        shutil.copytree(PCAPS, self.folder / "pcaps")
        self.config = tomllib.loads((ROOT / "configs" / "quickstart.toml").read_text())

    def files(self, option):
        """Return the files that this device option names, in the order of the ports."""
        return [path for port in self.config["port"]
                for path in re.findall(option + "=([^,]+)", port["device"])]

    def test_output_is_what_the_exact_answer_keeps(self):
        filter_, = self.config["filter"]
        route, = self.config["route"]
        self.assertEqual([port["name"] for port in self.config["port"]][:-1], route["from"])
        result = self.run_unecho("configs/quickstart.toml", eal=())
        report = self.report_of(result)
        output, = self.files("tx_pcap")
        expected = harness.part_where_repeats_are_kept(
            [self.folder / path for path in self.files("rx_pcap")],
            key=filter_.get("key", "packet"), window=exact_answer.duration(filter_["window"]))
        self.assertLess(0, len(expected.echoes))
        self.assert_frames(harness.frames_of(self.folder / output), expected.kept)
        self.assertEqual(harness.nonzero(report["routes"][0]["reasons"]), expected.counts)

    def test_the_table_for_people_shows_the_echoes(self):
        with self.start("configs/quickstart.toml", eal=()) as running:
            result = running.finish()
        self.assertEqual(result.status, 0, result)
        expected = harness.part_where_repeats_are_kept(
            [self.folder / path for path in self.files("rx_pcap")],
            window=exact_answer.duration(self.config["filter"][0]["window"]))
        self.assertRegex(result.out, r"\becho\b.*\b%d\b" % len(expected.echoes))

    def test_check_accepts_it(self):
        result = subprocess.run(
            [harness.os.environ["UNECHO_BIN"], "check", "configs/quickstart.toml"],
            cwd=self.folder, capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for port in self.config["port"]:
            self.assertIn(port["name"], result.stdout)


if __name__ == "__main__":
    harness.main()
