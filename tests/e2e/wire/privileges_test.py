#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Links between two hosts by an unecho that runs as nobody, with exactly the privileges that
docs/running.md lists for its driver; and its message if one of these capabilities is missing."""
import os
import re
import resource
import subprocess

import wire
from wire import harness

TABLE = (harness.ROOT / "docs" / "running.md").read_text()
NOBODY = 65534
# Limit of locked memory. af_packet gets room for its rings, as most systems allow everybody; af_xdp
# gets less than any pool of packet buffers.
LOCKED = {"net_af_xdp": 1 << 16}
MOST_LOCKED = 8 << 20


def documented(driver):
    """Return the capabilities in the driver's row."""
    row = re.search(r"^\| `%s`[^|]*\|([^|]*)\|" % driver, TABLE, re.M)
    return re.findall(r"`(CAP_\w+)`", row[1])


def without_root(driver, capabilities):
    """Return a wrapper that runs a program as nobody with exactly these."""
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    locked = min([LOCKED.get(driver, MOST_LOCKED)]
                 + [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY])
    listed = "-all" + "".join(",+" + name.removeprefix("CAP_").lower() for name in capabilities)
    return ("prlimit", "--memlock=%d:%d" % (locked, locked),
            "setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups",
            "--inh-caps=" + listed, "--ambient-caps=" + listed, "--bounding-set=" + listed)


@wire.needs_namespaces
class Privileges(wire.WireTest):
    def setUp(self):
        super().setUp()
        os.chown(self.folder, NOBODY, NOBODY)
        reachable = subprocess.run([*without_root(None, []), "test", "-x", os.environ["UNECHO_BIN"]],
                                   check=False)
        if reachable.returncode != 0:
            self.skipTest("needs a build that nobody can reach")
        self.left, self.right = wire.Host(self, 1), wire.Host(self, 2)

    def link(self, driver):
        return wire.link(*("%s%d,iface=%s" % (driver, number, host.outside)
                           for number, host in enumerate((self.left, self.right))),
                         window="60s", rate="10kpps")  # copies are echoes however slowly they are sent

    def carries_the_link(self, driver):
        heard = wire.Listener(self, self.right, "udp", direction="in")
        frames = [wire.udp_frame(number) for number in range(100)]
        running = self.start(self.link(driver), wrapper=without_root(driver, documented(driver)))
        with running:
            self.wait_until_running(running)
            owner = os.stat("/proc/%d" % running.pid()).st_uid
            self.left.send([copy for frame in frames for copy in (frame, frame)], self.folder)
            self.assertEqual(heard.frames(len(frames)), frames)
            running.interrupt()
            result = running.finish()
        self.assertEqual(result.status, 0, result)
        return owner

    def test_af_packet_carries_a_link_with_what_is_documented(self):
        self.assertEqual(self.carries_the_link("net_af_packet"), NOBODY)

    def test_af_xdp_carries_a_link_with_what_is_documented(self):
        self.assertEqual(self.carries_the_link("net_af_xdp"), NOBODY)

    def assert_names(self, driver, granted, missing):
        result = self.run_unecho(self.link(driver), wrapper=without_root(driver, granted))
        self.assertEqual(result.status, 1, result)
        self.assertIn('unecho: port "left": %s missing for %s0: run as root, or grant what %s needs'
                      % (missing, driver, driver), result.err)

    def test_each_that_is_missing_is_named(self):
        for driver in ("net_af_packet", "net_af_xdp"):
            needed = documented(driver)
            self.assertGreaterEqual(len(needed), 2, driver)
            for missing in needed:
                with self.subTest(driver=driver, missing=missing):
                    self.assert_names(driver, [each for each in needed if each != missing],
                                      missing + " is")
            with self.subTest(driver=driver, missing="all"):
                self.assert_names(driver, [], ", ".join(needed[:-1]) + " and " + needed[-1] + " are")

    def test_an_interface_under_net_pcap_needs_one(self):
        device = "net_pcap0,iface=" + self.left.outside
        document = wire.link(device, "net_null0")
        result = self.run_unecho(document, wrapper=without_root(None, []))
        self.assertEqual(result.status, 1, result)
        self.assertIn("CAP_NET_RAW is missing for net_pcap0", result.err)


if __name__ == "__main__":
    harness.main()
