#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho analyze` states first, on one screen, what it could not compare. It never says that there
are no copies if that is the reason."""
import json
import re

import harness
import made_not_compared
import made_repeats
from harness import PCAPS, SHARED

ROWS, COLUMNS = 24, 80
# The reported kind of each capture, its effect, and words of the sentence.
EXPECTED = {
    "nat-tcp": ("nat", "stays", "30 of 60 IPv4 packets came before with other addresses or ports"),
    "nat-udp": ("nat", "stays", "a TTL that differs by 1"),
    "gro": ("merged_segments", "stays", "30 of 120 TCP segments hold the bytes of several others"),
    "tso": ("merged_segments", "stays", "30 of 120 TCP segments hold the bytes of several others"),
    "vxlan-5000": ("udp_tunnel", "hidden", "--tunnels vxlan --vxlan-ports 5000 opens them"),
    "geneve-5001": ("udp_tunnel", "hidden", "look like GENEVE on UDP port 5001"),
    "tzsp-5002": ("udp_tunnel", "hidden", "unecho opens TZSP on port 37008 alone"),
    "ether-type": ("ether_type", "hidden", "60 of 60 packets have an unknown EtherType (0x9abc)"),
    "acknowledgements": ("short_frames", "unknown", "80 frames of less than 14 bytes equal"),
    "link-type": ("link_type", "hidden", "100 of 100 packets are of link type 195"),
    "empty": ("malformed", "hidden", "30 of 30 packets are empty"),
    "cut-headers": ("cut_headers", "hidden", "60 of 60 packets are cut short within the TCP or UDP"),
    "one-time": ("no_times", "unknown", "all of them have the same time"),
    "three": ("few_packets", "unknown", "1 of 3 packets equals an earlier one"),
}
CONCLUSION = {"unknown": "Whether there are copies cannot be known.",
              "hidden": "No copies among what could be compared.",
              "stays": "No copies that unecho removes."}


def rows_of(text):
    return sum(max(1, -(-len(line) // COLUMNS)) for line in text.splitlines())


class NotCompared(harness.E2eTest):
    def setUp(self):
        super().setUp()
        for name, content in made_not_compared.captures().items():
            (self.folder / (name + ".pcap")).write_bytes(content)

    def said(self, *arguments, status=0, refused=False):
        done = harness.unecho("analyze", *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if refused else done.stdout

    def test_it_comes_first_everywhere(self):
        for name, (what, effect, words) in EXPECTED.items():
            with self.subTest(name):
                path = name + ".pcap"
                first = json.loads(self.said("--json", path))["not_compared"][0]
                self.assertEqual((first["what"], first["effect"]), (what, effect))
                self.assertIn(words, first["text"])
                heading = {"unknown": "Not known", "hidden": "Not compared", "stays": "Not removed"}[effect]
                answer = self.said(path)
                self.assertRegex(answer, r"\A.*(\n.*)?\n%s: " % heading)
                self.assertIn("\n%s\n" % CONCLUSION[effect], answer)
                self.assertLessEqual(rows_of(answer), ROWS)
                self.said(path, "--html", "page.html")
                whole, toml = self.said("-v", path), self.said(path, "--toml", "-")
                page = (self.folder / "page.html").read_text()
                for text in (whole, toml, page):
                    self.assertIn(first["text"].split()[0], text)
                    self.assertIn(heading + ": ", text)
                for text in (answer, whole, toml, page):
                    self.assertNotRegex(text, r"hardly anything to remove|No copies\.(\n|<)|No echoes\.")

    def test_an_ordinary_capture_has_nothing_of_it(self):
        for path in ["plain.pcap", *(path for path, _ in made_repeats.write(self.folder).values())]:
            self.assertEqual(json.loads(self.said("--json", path))["not_compared"], [], path)
        self.assertIn("\nNo copies.\n", self.said("plain.pcap"))

    def test_what_opens_a_tunnel_opens_it(self):
        report = json.loads(self.said("--json", "vxlan-5000.pcap", "--tunnels", "vxlan",
                                      "--vxlan-ports", "5000"))
        self.assertEqual(report["not_compared"], [])
        self.assertEqual(report["copied"]["packets"], 30)

    def test_the_end_agrees_about_clocks(self):
        paths = ("late-a.pcap", "late-b.pcap")
        answer = self.said(*paths)
        self.assertIn("No window removes them before the clocks agree.", answer)
        self.assertIn("\nFirst:        editcap -t -37 late-b.pcap shifted.pcap\n", answer)
        self.assertNotIn("Remove them", answer)
        self.assertNotIn("hardly anything", self.said("-v", *paths))
        self.assertNotIn("hardly anything", self.said("--toml", "-", *paths))

    def test_erf_files_are_named(self):
        for type_, kind in ((2, "Ethernet"), (0x92, "ATM"), (21, "InfiniBand")):
            (self.folder / "x.erf").write_bytes(made_not_compared.erf(type_) * 3)
            self.assertIn("an ERF capture (%s), which editcap -F pcap converts" % kind,
                          self.said("x.erf", status=1, refused=True))

    def test_a_screen_is_enough_for_real_captures(self):
        captures = sorted(PCAPS.glob("*.pcap")) + sorted((SHARED / "captures").glob("*.pcap*"))
        for path in captures:
            done = harness.unecho("analyze", path)
            self.assertLessEqual(rows_of(done.stdout), ROWS, done.stdout)
            commands = re.findall(r"^(?:Remove them|If they are copies|First): +(.*)", done.stdout, re.M)
            self.assertLessEqual(len(commands), 1, done.stdout)
        print("%d captures, each on a screen" % len(captures), flush=True)


if __name__ == "__main__":
    harness.main()
