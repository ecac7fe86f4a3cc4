#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/exact_answer.py against an independently written oracle, on captures of real traffic.

Oracle and captures are in the folder UNECHO_SHARED, else in ../shared beside the repository. The
test is skipped without it. Packets of link types that neither program supports have no key.
"""
import contextlib
import functools
import importlib.util
import itertools
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import exact_answer  # noqa: E402

# Each capture and key is queried ten times, so keys are cached.
exact_answer.key_of = functools.lru_cache(maxsize=1 << 17)(exact_answer.key_of)

SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
ORACLE = SHARED / "tools" / "exact_dedup.py"
CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))
WINDOWS = (20_000, 1_000_000, 50_000_000, 1_000_000_000, None)


def load_oracle():
    spec = importlib.util.spec_from_file_location("exact_dedup", ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def oracle_keys(oracle, packets, mode):
    """Return (keys, or None for packets without one; number of non-IP; number of malformed)."""
    keyer = oracle.Keyer(mode, pass_unknown_link=True, pppoe=True)
    keys = [keyer.key(link, data, wire) for _, link, wire, data in packets]
    return keys, sum(keyer.non_ip.values()), sum(keyer.malformed.values())


def with_epochs(times, window):
    """Map times like the oracle's `--clock epochs`: a step back of more than J begins an epoch."""
    now, shift = None, 0
    for time in times:
        if window is not None and now is not None \
                and now - (time + shift) > max(window, 1_000_000_000):
            shift = now - time
        now = time + shift if now is None else max(now, time + shift)
        yield now


def oracle_answers(oracle, packets, keys, window, policy):
    """Return (reference, age) or None for each packet."""
    dedup = oracle.Dedup(window=window, policy=policy)
    times = with_epochs((time for time, *_ in packets), window)
    return [None if key is None else dedup.see(number, now, key)
            for number, (now, key) in enumerate(zip(times, keys), 1)]


class Oracle(unittest.TestCase):
    def compare(self, oracle, path):
        capture = oracle.open_capture(str(path))
        with contextlib.closing(capture.stream):
            theirs = list(capture)
        ours = list(exact_answer.Capture(path))
        self.assertEqual([(time, link, data) for time, link, _, data in theirs],
                         [tuple(packet) for packet in ours])
        for mode in exact_answer.KEYS:
            keys, non_ip, malformed = oracle_keys(oracle, theirs, mode)
            for window, policy in itertools.product(WINDOWS, exact_answer.POLICIES):
                answers = list(exact_answer.answers(ours, mode, window, policy))
                with self.subTest(capture=path.name, key=mode, window=window, policy=policy):
                    kinds = [answer.kind for answer in answers]
                    self.assertEqual((kinds.count("non_ip"), kinds.count("malformed")),
                                     (non_ip, malformed))
                    self.assertEqual(
                        [(answer.reference, answer.age) if answer.kind == "echo" else None
                         for answer in answers],
                        oracle_answers(oracle, theirs, keys, window, policy))

    def test_every_capture_has_the_same_answers(self):
        oracle = load_oracle()
        self.assertGreater(len(CAPTURES), 0)
        for path in CAPTURES:
            self.compare(oracle, path)


if __name__ == "__main__":
    if not ORACLE.exists():
        print("skipped: no %s" % ORACLE)
        sys.exit(77)
    unittest.main(verbosity=2)
