#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The units of packaging/service: systemd accepts them, and their exposure is that of
docs/operations.md.

Needs systemd's programs, but not a running systemd.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICE = ROOT / "packaging/service"
DRIVERS = sorted(path.stem for path in (SERVICE / "drivers").glob("*.conf"))
MOST = 3.0


def stated():
    """Return {drop-in, or "" for the base, or "serve": (capabilities, exposure)} from the table."""
    page = (ROOT / "docs" / "operations.md").read_text()
    rows = re.findall(r"^\| `unecho(-serve)?@\.service`(?: with `([\w-]+)\.conf`)? "
                      r"\| ([^|]+) \| ([\d.]+) \|", page, re.M)
    return {("serve" if serve else driver): (capabilities.strip(), float(exposure))
            for serve, driver, capabilities, exposure in rows}


class Installed:
    """The units as on a machine, with instance "x", in a root folder of their own."""

    def __init__(self, root, driver=""):
        self.root = pathlib.Path(root)
        folder = self.root / "etc/systemd/system"
        folder.mkdir(parents=True)
        self.units = {}
        for name in ("unecho", "unecho-serve"):
            self.units[name] = folder / (name + "@x.service")
            shutil.copy(SERVICE / (name + "@.service"), self.units[name])
        if driver:
            drop_ins = folder / "unecho@x.service.d"
            drop_ins.mkdir()
            shutil.copy(SERVICE / "drivers" / (driver + ".conf"), drop_ins)
        self.folder = folder

    def analyze(self, *words):
        return subprocess.run(["systemd-analyze", "--no-pager", *words], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "LC_ALL": "C",
                                   "SYSTEMD_UNIT_PATH": "%s:" % self.folder})

    def exposure(self, name):
        done = self.analyze("security", "--offline=true", "--threshold=%d" % (10 * MOST),
                            str(self.units[name]))
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        assert found, done.stdout + done.stderr
        return float(found[1]), done

    def options(self, name):
        """Return [Service] as systemd reads it: the last value of each option, or all values of a
        list."""
        text = self.units[name].read_text()
        for drop_in in (self.folder / "unecho@x.service.d").glob("*.conf") if name == "unecho" else ():
            text += "\n" + drop_in.read_text()
        found = {}
        for key, value in re.findall(r"^(\w+)=(.*)$", text, re.M):
            found.setdefault(key, []).extend(value.split())
        return found


class Units(unittest.TestCase):
    def setUp(self):
        self._at = tempfile.TemporaryDirectory()
        self.addCleanup(self._at.cleanup)
        self._count = 0

    def installed(self, driver=""):
        self._count += 1
        return Installed(pathlib.Path(self._at.name) / str(self._count), driver)

    def test_systemd_takes_them(self):
        for driver in ("", *DRIVERS):
            there = self.installed(driver)
            for name, unit in there.units.items():
                # This machine lacks the program and the pages to which units refer.
                text = unit.read_text().replace("/usr/bin/unecho", "/bin/true")
                unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
                done = there.analyze("verify", str(unit))
                self.assertEqual((done.returncode, done.stderr), (0, ""), "%s %s" % (name, driver))

    def test_exposure_is_low_and_as_stated(self):
        table = stated()
        self.assertEqual(set(table), {"", "serve", *DRIVERS})
        for driver in ("", *DRIVERS):
            exposure, done = self.installed(driver).exposure("unecho")
            self.assertEqual((done.returncode, exposure), (0, table[driver][1]), driver + done.stderr)
        exposure, done = self.installed().exposure("unecho-serve")
        self.assertEqual((done.returncode, exposure), (0, table["serve"][1]), done.stderr)
        self.assertTrue(all(exposure <= MOST for _, exposure in table.values()))

    def test_capabilities_are_those_stated(self):
        for driver, (capabilities, _) in stated().items():
            there = self.installed("" if driver == "serve" else driver)
            options = there.options("unecho-serve" if driver == "serve" else "unecho")
            words = [] if capabilities == "none" else re.findall(r"CAP_\w+", capabilities)
            self.assertEqual(options["AmbientCapabilities"], words, driver)
            self.assertEqual(options["CapabilityBoundingSet"], words, driver)
            self.assertEqual(options["NoNewPrivileges"], ["yes"])
            self.assertNotIn("root", options.get("User", []))

    def test_commands_are_those_of_the_program(self):
        for unit in SERVICE.glob("*.service"):
            commands = re.findall(r"^Exec\w+=/usr/bin/unecho (\w+)(?: (--\w+))?", unit.read_text(), re.M)
            self.assertTrue(commands, unit.name)
            for command, option in commands:
                done = harness.unecho(command, "--help", check=True)
                self.assertIn(option, done.stdout)


if __name__ == "__main__":
    if shutil.which("systemd-analyze") is None:
        harness.skip("systemd-analyze is not installed")
    harness.main()
