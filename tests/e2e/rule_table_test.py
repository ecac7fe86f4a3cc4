#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/same-packet.md, smaller: what the union rule loses and leaves in each scenario,
within two-sided bounds.

Senders, points and seeds are fixed, so the same captures are made each time and decided exactly:
nothing varies. The bounds contain the results of other seeds, with room for other traffic of the
same kind.
"""
import os
import subprocess

import harness
import repeat_scenes
from repeat_senders import MS

SEEDS, SIZE = (1, 2), 120
TRAFFIC = {"losses": (0.02,), "rtts": (MS,)}
NONE, FEW, ALL = (0, 0), (0, 0.02), (100, 100)
# {scenario: {setting: (lost, left)}} in percent of repeats, of copies; None: there are no copies.
BOUNDS = {
    "2 to 3 taps, nothing lost on the way": {
        "repeats = drop": ((90, 97), NONE), "default": (NONE, NONE), "point = port": (NONE, NONE)},
    "taps lose 1 %": {"default": ((0.2, 0.6), (0.02, 0.12))},
    "taps are down for 20 %, in bursts": {"default": ((0.8, 2.5), FEW)},
    "a SPAN that doubles all": {"default": (FEW, FEW), "default, live": (FEW, (20, 35))},
    "a SPAN that doubles half of the flows, each direction by itself": {
        "default": (FEW, FEW), "default, live": (FEW, (20, 35))},
    "a SPAN that doubles all and loses 10 %": {"default": ((0.05, 0.4), (3, 12))},
    "one port that sees each packet once": {"default": (NONE, None), "same_port = 1ms": (NONE, None)},
    "a routed SPAN, a broker, a router on a stick": {
        "default": (NONE, NONE), "point = port": (NONE, (45, 65))},
    "two mirrors in tunnels that are opened": {"default": (NONE, NONE), "point = port": (NONE, (90, 100))},
    "a LAG whose members are grouped": {"default": (NONE, NONE)},
    "a LAG without a group": {"default": ((38, 50), None)},
    "a broker that tags by port": {"default": (NONE, (99, 100))},
    "the same with `tags = \"point\"`": {"default": (NONE, NONE)},
    "routing loops": {"default": (NONE, ALL)},
    "ECMP for each packet, one tap": {"default": ((38, 50), None), "point = port": (NONE, None)},
    "senders that say everything twice, one port": {"default": ((95, 100), None)},
}


class RuleTable(harness.E2eTest):
    def test_each_scenario_is_within_its_bounds(self):
        for scenario, settings in BOUNDS.items():
            measured = repeat_scenes.measure(os.environ["UNECHO_BIN"], scenario, SEEDS, SIZE, settings, **TRAFFIC)
            for setting, counts in measured.items():
                self.assertGreater(counts["repeats"], 1000, scenario)
                shares = repeat_scenes.percents(counts)
                print("%s, %s: lost %s, left %s" % (scenario, setting, *(
                    "-" if share is None else "%.3f %%" % share for share in shares)), flush=True)
                with self.subTest(scenario, setting=setting):
                    for what, share, bounds in zip(("lost", "left"), shares, settings[setting]):
                        if bounds is None:
                            self.assertIsNone(share, what)
                        else:
                            self.assertTrue(bounds[0] <= share <= bounds[1], "%s: %g %%, bounds %s" % (
                                what, share, bounds))

    def rows(self, *arguments):
        """Return the program's output as a list of cells for each row, using only captures of the
        repository."""
        done = subprocess.run([harness.ROOT / "bench" / "repeats" / "rule_table", *arguments], check=True, text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "UNECHO_SHARED": str(self.folder)})
        return [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]

    def test_program_prints_the_table(self):
        unecho = os.environ["UNECHO_BIN"]
        row, = self.rows("--unecho", unecho, "--only", "LAG without", "--seeds", "1", "--size", "20")
        self.assertEqual((len(row), row[0]), (6, "a LAG without a group"))
        row, = self.rows("--unecho", unecho, "--labelled")
        self.assertEqual(row[:3], ["26 captures: made (tests/support/made_repeats.py)", "27 / 186", "9 / 286"],
                         "docs/same-packet.md has these figures")


if __name__ == "__main__":
    harness.main()
