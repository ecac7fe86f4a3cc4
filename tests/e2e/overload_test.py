#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""More packets than planned: what gives way (on_full), and that the report says so.

Each original has one copy about 200 us later; the window is 5 ms. Engines are routes of one run.
Python's standard library only.
"""
import collections
import math
import random

import harness
from harness import MS, SECOND, US

import frames  # noqa: E402  harness has put tools/ on the path

WINDOW = 5 * MS
BOUND = 1e-3
PLANNED = 100_000  # packets a second
DOUBTING, SHRINKING = (tuple(name for name in harness.SLIDING_ENGINES if policy in harness.ON_FULL[name])
                       for policy in ("doubt", "shrink"))
BEGIN = 1_700_000_000 * SECOND

# A frame, and how much younger its copy is.
Pair = collections.namedtuple("Pair", "frame age")


def traffic(originals, duration, seed=7):
    """Return the pairs, and their packets (time, frame) in order; `originals` a second."""
    rng = random.Random(seed)
    pairs, packets = [], []
    for number in range(originals * duration // SECOND):
        payload = number.to_bytes(4, "big") + rng.randbytes(18)
        frame = frames.ethernet(frames.ipv4("10.0.0.1", "10.0.0.2", frames.UDP, frames.udp(
            "10.0.0.1", "10.0.0.2", (4000, 4001), payload)))
        time = BEGIN + rng.randrange(duration // US) * US
        age = (1 + round(rng.lognormvariate(math.log(200), 0.7))) * US
        pairs.append(Pair(frame, age))
        packets += [(time, frame), (time + age, frame)]
    return pairs, sorted(packets, key=lambda packet: packet[0])


def most_of(trials, chance):
    """Return six standard deviations above the mean of a binomial distribution."""
    return trials * chance + 6 * math.sqrt(trials * chance) + 3


class Overload(harness.E2eTest):
    def replayed(self, originals, duration, asked):
        """Return the pairs, and the result of side_by_side() for filters with these fields."""
        pairs, packets = traffic(originals, duration)
        capture = self.folder / "overload.pcap"
        capture.write_bytes(frames.pcap(packets))
        filters = [{"window": "5ms", "rate": "%dpps" % PLANNED, "max_false_drop": BOUND, **fields}
                   for fields in asked]
        return pairs, self.side_by_side([capture], filters)

    def found(self, pairs, table, survivors, doubts):
        """Return how many pairs lost one packet, after checking each by its age."""
        left = collections.Counter(survivors)
        missed = sum(left[pair.frame] == 2 and pair.age < table["shortest_window_ns"]
                     for pair in pairs)
        self.assertLessEqual(missed, doubts, "a copy younger than the window was let through")
        # Both lost, or a copy that was too old: only by accident.
        lost = sum(left[pair.frame] == 0 for pair in pairs)
        early = sum(left[pair.frame] < 2 and pair.age >= WINDOW + table["slack_ns"]
                    for pair in pairs)
        self.assertLessEqual(lost + early, most_of(len(pairs), BOUND))
        return sum(left[pair.frame] == 1 for pair in pairs)

    def test_the_window_shrinks_and_nearly_all_copies_are_found(self):
        """With the default, at three times the planned rate."""
        pairs, routes = self.replayed(3 * PLANNED, 60 * MS,
                                      [{"engine": engine, "rule": rule} for engine in SHRINKING
                                       for rule in ("match", "bound")
                                       if rule == "match" or engine in DOUBTING])
        for route, table, fields, survivors, _ in routes:
            with self.subTest(engine=fields["engine"], rule=fields["rule"]):
                self.assertEqual(table["on_full"], "shrink")
                self.assertGreater(table["early_turns"], 10)
                self.assertTrue(WINDOW / 5 < table["shortest_window_ns"] < WINDOW * 2 / 3, table)
                self.assertTrue(table["shortest_window_ns"] <= table["achieved_window_ns"]
                                < WINDOW, table)
                doubts = route["reasons"]["doubt"]
                self.assertLessEqual(doubts, 0 if fields["rule"] == "match" else 0.04 * len(pairs))
                found = self.found(pairs, table, survivors, doubts)
                young = sum(pair.age < WINDOW for pair in pairs)
                self.assertTrue(0.95 * young < found <= young + most_of(len(pairs), BOUND),
                                "%d of %d" % (found, young))

    def document(self, **fields):
        _, packets = traffic(3 * PLANNED, 20 * MS)
        capture = self.folder / "overload.pcap"
        capture.write_bytes(frames.pcap(packets))
        return harness.replay(
            [harness.port("tap", 0, rx_pcap=capture),
             harness.port("tool", 1, tx_pcap=self.folder / "out.pcap")],
            [harness.filter_("echo", "5ms", rate="%dpps" % PLANNED, max_false_drop=BOUND,
                             engine="line", **fields)],
            [{"from": ["tap"], "to": "tool", "filter": "echo"}])

    def test_the_table_shows_the_window(self):
        for on_full in ("shrink", "doubt"):
            with self.start(self.document(on_full=on_full)) as running:
                result = running.finish()
            self.assertEqual(result.status, 0, result)
            lines = result.out.splitlines()
            head = next(at for at, line in enumerate(lines) if line.lstrip().startswith("filter "))
            # Only counters above 0 have a column.
            turns = "early turns +" if on_full == "shrink" else ""
            self.assertRegex(lines[head], r" +%swindow +shortest$" % turns)
            self.assertEqual("turns" in lines[head], on_full == "shrink")
            shrunk = r" [1-9]\d* +[1-4](\.\d+)? ms +[1-3](\.\d+)? ms after \d"
            kept = r" +5 ms +-$"
            row = next(line for line in lines[head:] if line.lstrip().startswith("echo "))
            self.assertRegex(row, shrunk if on_full == "shrink" else kept)

    def test_check_names_what_gives_way(self):
        for on_full, said in (("shrink", "shrink: a generation ends at"),
                              ("doubt", "doubt: the window is kept")):
            path = self.folder / "check.toml"
            path.write_text(harness.toml(self.document(on_full=on_full)))
            result = harness.unecho("check", path, check=True)
            self.assertIn(said, result.stdout)


if __name__ == "__main__":
    harness.main()
