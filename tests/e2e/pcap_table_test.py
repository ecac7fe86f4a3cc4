#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The equality table of `unecho pcap`: captures x keys x windows x policies, packet by packet.

It is compared with exact_dedup.py of the shared data (UNECHO_SHARED), which compares whole keys.
With the exact engine every echo, the packet that it repeats and its age must be equal. Captures of
the repository are compared with exact_answer.py. Prints the table. Repeats are dropped like copies;
union_test.py has the rule that keeps them.

Each capture is run with one key under all windows and policies, and with the other keys under one
window. The choice rotates, so that every key meets every window. UNECHO_E2E_FULL=1: all
combinations.
"""
import importlib
import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import harness
import made_captures
from harness import FULL, PCAPS, SHARED, exact_answer

KEYS = ("packet", "flow", "flow-bidir", "frame")
WINDOWS = ("20us", "1ms", "50ms", "1s", "inf")
POLICIES = ("fixed", "refresh")
COMBINATIONS = tuple(itertools.product(WINDOWS, POLICIES))
TIME_LIMIT = 1 << 64  # ns; later times are taken for the last of these


def echoes_of(path, out, *arguments):
    """Return [(echo, original, age in ns)] of the real binary."""
    subprocess.run([os.environ["UNECHO_BIN"], "pcap", str(path), "--pairs", str(out), "--quiet",
                    "--engine", "exact", "--repeats", "drop", *arguments],
                   check=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, encoding="ascii") as file:
        assert next(file) == "echo,original,age_ns\n"
        return [tuple(map(int, line.split(","))) for line in file]


def asked(turn, key):
    """Return the windows and policies for the turn-th capture."""
    place = KEYS.index(key)
    if FULL or turn % len(KEYS) == place:
        return COMBINATIONS
    window = WINDOWS[(turn + place) % len(WINDOWS)]
    return [(window, policy) for policy in POLICIES]


class Table:
    """Echoes and differences, one line a capture."""

    def __init__(self):
        self.rows, self.echoes, self.differences, self.cells = [], 0, 0, 0

    def add(self, name, packets, by_key):
        """by_key: {key: (echoes, differences, combinations)}."""
        self.rows.append("%-30s %7d %s" % (name, packets, " ".join(
            "%9d/%d" % by_key[key][:2] for key in KEYS)))
        for echoes, differences, cells in by_key.values():
            self.echoes += echoes
            self.differences += differences
            self.cells += cells

    def show(self):
        print("%-30s %7s %s" % ("echoes/differences", "packets",
                                " ".join("%11s" % key for key in KEYS)))
        print("\n".join(self.rows))
        print("%d captures x %d keys x windows x policies: %d answers, %d echoes, differences = %d"
              % (len(self.rows), len(KEYS), self.cells, self.echoes, self.differences), flush=True)


class EqualityTable(harness.E2eTest):
    def compare(self, capture, key, combinations, expected_of):
        """Return (echoes, differences, combinations)."""

        def ask(index):
            window, policy = combinations[index]
            return echoes_of(capture, self.folder / ("%s-%d.csv" % (key, index)),
                             "--key", key, "--window", window, "--policy", policy)
        with ThreadPoolExecutor(2) as pool:
            answers = pool.map(ask, range(len(combinations)))
            echoes = differences = 0
            for (window, policy), given in zip(combinations, answers):
                expected = expected_of(window, policy)
                wrong = set(given) ^ set(expected)
                if wrong:
                    print("%s --key %s --window %s --policy %s: %s" % (
                        capture, key, window, policy, sorted(wrong)[:5]))
                echoes += len(expected)
                differences += len(wrong)
        return echoes, differences, len(combinations)

    def finish(self, table):
        table.show()
        self.assertEqual(table.differences, 0)
        self.assertGreater(table.echoes, 1000)

    def test_shared_captures_equal_exact_dedup(self):
        if not (SHARED / "tools" / "exact_dedup.py").exists():
            self.skipTest("no exact_dedup.py in %s" % SHARED)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(SHARED / "tools"))
        exact_dedup = importlib.import_module("exact_dedup")
        table = Table()
        for turn, capture in enumerate(sorted((SHARED / "captures").glob("*.pcap*"))):
            opened = exact_dedup.open_capture(str(capture))
            packets = list(opened)
            opened.stream.close()
            stamps = [min(packet[0], TIME_LIMIT - 1) for packet in packets]
            by_key = {}
            for key in KEYS:
                keyer = exact_dedup.Keyer(key, pass_unknown_link=True, pppoe=True)
                keyed = [(number, made) for number, (_, link, wire, data) in enumerate(packets, 1)
                         if (made := keyer.key(link, data, wire)) is not None]

                def expected(window, policy, keyed=keyed, stamps=stamps):
                    window = exact_dedup.duration(window)
                    dedup = exact_dedup.Dedup(window, policy=policy)
                    times = list(harness.filter_times(stamps, window))
                    return [(number, *answer) for number, made in keyed
                            if (answer := dedup.see(number, times[number - 1], made)) is not None]
                by_key[key] = self.compare(capture, key, asked(turn, key), expected)
            table.add(capture.name, len(packets), by_key)
        self.finish(table)

    def test_own_captures_equal_exact_answer(self):
        table = Table()
        # And captures of every other supported kind: formats, link types, units of time.
        captures = sorted(PCAPS.glob("*.pcap")) + made_captures.write(self.folder)
        for turn, capture in enumerate(captures):
            packets = list(exact_answer.Capture(capture))
            by_key = {}
            for key in KEYS:
                def expected(window, policy, packets=packets, key=key):
                    answers = exact_answer.answers(packets, key, exact_answer.duration(window),
                                                   policy)
                    return [(number, answer.reference, answer.age)
                            for number, answer in enumerate(answers, 1) if answer.kind == "echo"]
                by_key[key] = self.compare(capture, key, asked(turn, key), expected)
            table.add(capture.name, len(packets), by_key)
        self.finish(table)


if __name__ == "__main__":
    harness.main()
