#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `unecho analyze` recommends for taps and mirrors in tunnels, against tools/exact_answer.py: random
mixes of tests/support/made_mirrors.py, of which it is known what each frame is, and where present the
captures of UNECHO_SHARED that have tunnels. `unecho check` takes the configuration; `unecho pcap` with
its options removes exactly what the oracle removes with them, which is as many packets as analyze said;
and of a mix no copy is left in, no packet lost and nothing that was sent again taken out.
"""
import itertools
import json
import os
import re
import shlex
import subprocess

import harness
from harness import FULL, SHARED, exact_answer

import made_mirrors
import tunnels

MIXES = 400 if FULL else 60


def unecho(*arguments, **options):
    return subprocess.run([os.environ["UNECHO_BIN"], *map(str, arguments)], text=True, check=False,
                          capture_output=True, timeout=harness.PATIENCE, **options)


def has_tunnels(path):
    try:
        return any(tunnels.innermost(packet.data, packet.link, frozenset(tunnels.NAMES)).levels
                   for packet in exact_answer.Capture(path))
    except exact_answer.CaptureError:
        return False


class TunnelAdvice(harness.E2eTest):
    def recommended(self, paths):
        """(the recommendation, the options of unecho pcap in the configuration)"""
        analyzed = unecho("analyze", "--json", *paths)
        self.assertEqual(analyzed.returncode, 0, analyzed)
        wanted = json.loads(analyzed.stdout)["recommendation"]
        config = self.folder / "recommended.toml"
        config.write_text(wanted["toml"])
        checked = unecho("check", config, cwd=self.folder)
        self.assertEqual(checked.returncode, 0, checked)
        command = re.search(r"unecho pcap IN\.\.\. -o OUT ((?:.+\n)+?)#?\n", wanted["toml"])
        return wanted, shlex.split(command[1].replace("\n# ", " ")) if command else None

    def options(self, wanted):
        """What the JSON says, as options."""
        out = ["--key", wanted["key"], "--window", "%dns" % wanted["window_ns"], "--policy",
               wanted["policy"], "--non-ip", wanted["non_ip"]]
        if wanted["tunnels"]:
            out += ["--tunnels", ",".join(wanted["tunnels"]), "--tenant", wanted["tenant"]]
        return out + (["--key-bytes", wanted["key_bytes"]] if wanted["key_bytes"] else [])

    def cleaned(self, paths, options):
        """The frames that are left."""
        output = self.folder / "clean.pcap"
        done = unecho("pcap", *paths, "-o", output, "--engine", "exact", "--quiet", *options)
        self.assertEqual(done.returncode, 0, done)
        return [packet.data for packet in exact_answer.Capture(output)]

    def judge(self, paths):
        """[(number of the capture, whether it is removed)] of the packets in the order of their judging."""
        wanted, options = self.recommended(paths)
        order = list(exact_answer.merged([exact_answer.Capture(path) for path in paths],
                                         exact_answer.jump_of(wanted["window_ns"])))
        inner = exact_answer.inner_of(wanted["key"], wanted["tunnels"], (),
                                      wanted["tunnels"] and wanted["tenant"] or None,
                                      wanted["key_bytes"])
        removed = [answer.kind == "echo" for answer in exact_answer.answers(
            (packet for _, packet in order), wanted["key"], wanted["window_ns"], wanted["policy"],
            non_ip=wanted["non_ip"], inner=inner)]
        expected = [packet.data for (_, packet), gone in zip(order, removed) if not gone]
        self.assert_frames(self.cleaned(paths, self.options(wanted)), expected, "by the JSON")
        if options is not None:  # of Ethernet, which the configuration replays
            self.assert_frames(self.cleaned(paths, options), expected, "by the comment")
        self.assertEqual(sum(removed), wanted["removed"]["packets"]
                         + wanted["removed_cut"]["packets"], wanted)
        return [(index, gone) for (index, _), gone in zip(order, removed)]

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
