#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The recommendation of `unecho analyze` for taps and mirrors in tunnels, against
exact_answer.py. The input are random mixes of tests/support/made_mirrors.py, in which the
origin of each frame is known, and, if present, the captures of UNECHO_SHARED that have tunnels.
`unecho check` accepts the configuration. With its options `unecho pcap` removes as many packets as
analyze states, and with repeats "drop" exactly those that the oracle removes. Of a mix no copy is
left, no packet is lost, and no repeat is dropped.
"""
import itertools
import json
import re
import shlex

import harness
from harness import FULL, SHARED, exact_answer, unecho

import made_mirrors
import tunnels

MIXES = 400 if FULL else 60


def has_tunnels(path):
    try:
        return any(tunnels.innermost(packet.data, packet.link, frozenset(tunnels.NAMES)).levels
                   for packet in exact_answer.Capture(path))
    except exact_answer.CaptureError:
        return False


class TunnelAdvice(harness.E2eTest):
    def recommended(self, paths):
        analyzed = unecho("analyze", "--json", *paths)
        self.assertEqual(analyzed.returncode, 0, analyzed)
        wanted = json.loads(analyzed.stdout)["recommendation"]
        config = self.folder / "recommended.toml"
        config.write_text(wanted["toml"])
        checked = unecho("check", config, cwd=self.folder)
        self.assertEqual(checked.returncode, 0, checked)
        command = re.search(r"unecho pcap IN\.\.\. -o OUT ((?:.+\n)+?)#?\n", wanted["toml"])
        if command:  # only Ethernet, which the configuration can replay
            self.assertEqual(command[1].replace("\n# ", " ").strip(), wanted["pcap_options"])
        return wanted

    def removed(self, paths, options):
        """Return the numbers of the packets that `unecho pcap` drops, in the order of decision."""
        pairs = self.folder / "pairs.csv"
        done = unecho("pcap", *paths, "--pairs", pairs, "--engine", "exact", "--quiet", *options)
        self.assertEqual(done.returncode, 0, done)
        return {int(line.split(",")[0]) for line in pairs.read_text().splitlines()[1:]}

    def judge(self, paths):
        """Return [(number of the capture, True if removed)] of the packets in the order of
        decision."""
        wanted = self.recommended(paths)
        options = shlex.split(wanted["pcap_options"])
        order = list(exact_answer.merged([exact_answer.Capture(path) for path in paths],
                                         exact_answer.jump_of(wanted["window_ns"])))
        inner = exact_answer.inner_of(wanted["key"], wanted["tunnels"], (),
                                      wanted["tunnels"] and wanted["tenant"] or None,
                                      wanted["key_bytes"])
        expected = {number for number, answer in enumerate(exact_answer.answers(
            (packet for _, packet in order), wanted["key"], wanted["window_ns"], wanted["policy"],
            non_ip=wanted["non_ip"], inner=inner), 1) if answer.kind == "echo"}
        # The oracle knows tunnels, but not points of observation; union_test.py covers those.
        of_repeats = ("--repeats", "--same-port", "--second-looks", "--views", "--point", "--tags")
        drop = [word for pair in zip(options[::2], options[1::2]) if pair[0] not in of_repeats for word in pair]
        drop += ["--repeats", "drop"]
        self.assertEqual(self.removed(paths, drop), expected)
        gone = self.removed(paths, options)
        # With repeats kept, analyze counts by a 12-bit hash of the point of observation.
        self.assertLessEqual(abs(len(gone) - wanted["removed"]["packets"]
                                 - wanted["removed_cut"]["packets"]), 4 + len(gone) // 500, wanted)
        return [(index, number in gone) for number, (index, _) in enumerate(order, 1)]

    def test_random_mixes(self):
        met = set()
        for seed in range(1, MIXES + 1):
            made = made_mirrors.mix(seed)
            with self.subTest("%d: %s, link type %d" % (seed, made.text, made.link)):
                files = [iter(file) for file in made.files]
                seen, kept = set(), set()
                for index, gone in self.judge(made_mirrors.write(made, self.folder)):
                    _, _, what = next(files[index])
                    self.assertTrue(what not in seen or gone, "a copy of %s is left" % (what,))
                    seen.add(what)
                    kept |= set() if gone else {what}
                self.assertEqual(seen - kept, set(), "lost")
            met.update(itertools.chain.from_iterable(look.names for look in made.looks))
        self.assertEqual(met, set(made_mirrors.NAMES), "not met in any mix")

    def test_captures_of_others(self):
        found = [path for path in sorted((SHARED / "captures").glob("*.pcap*")) if has_tunnels(path)]
        if not found:
            self.skipTest("no captures in %s with tunnels" % SHARED)
        for path in found:
            with self.subTest(path.name):
                self.judge([path])


if __name__ == "__main__":
    harness.main()
