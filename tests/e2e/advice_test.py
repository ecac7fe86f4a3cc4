#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does `unecho analyze` give useful advice? The captures are labelled packet by packet as copied or
sent again: those of advice_labels.csv, if they are present, and those that
tests/support/made_repeats.py makes. `unecho pcap --engine exact` shows what the recommended
configuration would do. It must leave no copy, and drop nothing that was sent again.

advice_labels.csv: `sent_again` says which of the equal packets were sent again: all, none, or those
with these numbers; the others are copies. A row with a `sha256` labels a capture in a source
package of Debian; `found` names the package's file and the path in it. Such captures are searched
by checksum in the folder that the environment variable UNECHO_PUBLIC_CAPTURES names. `today` says
in which respect the advice is known to be wrong; if it is no longer wrong, the test asks to empty
the field.

Called with names of binaries, it prints a table of what each of them advises, right or wrong.
"""
import csv
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import harness
import made_repeats
from harness import SHARED, exact_answer

LABELS = pathlib.Path(__file__).with_name("advice_labels.csv")
FETCHED = "UNECHO_PUBLIC_CAPTURES"


class Judged:
    """A capture: its packets, and the numbers of those that were copied and those that were sent
    again."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.frames = True  # frames without an IP packet are labelled too
        self.today = None  # the known error of the advice
        self.packets = [packet for _, packet in
                        exact_answer.merged([exact_answer.Capture(path)])]

    def dropped(self, key, window, policy="fixed", non_ip="pass", inner=exact_answer.Inner()):
        return {number for number, answer in enumerate(exact_answer.answers(
            self.packets, key, window, policy, non_ip=non_ip, inner=inner), 1)
            if answer.kind == "echo"}


def made(folder, which=made_repeats.captures):
    for name, (path, packets) in made_repeats.write(folder, which).items():
        one = Judged("made: " + name, path)
        one.copies = {n for n, (*_, again) in enumerate(packets, 1) if again is False}
        one.again = {n for n, (*_, again) in enumerate(packets, 1) if again}
        yield one


def rows():
    with open(LABELS, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def judged(row, path):
    one = Judged(row["capture"], path)
    one.today = row["today"]
    repeated = one.dropped("packet", None)
    if row["sha256"] or not repeated:  # otherwise no frame without an IP packet was labelled
        repeated = one.dropped("packet", None, non_ip="frame")
    else:
        one.frames = False
    again = row["sent_again"]
    one.again = repeated if again == "all" else set() if again == "none" \
        else {int(number) for number in again.split()}
    assert one.again <= repeated, (one.name, one.again - repeated)
    one.copies = repeated - one.again
    if row["inside"]:  # copies that are found only inside these
        inner = exact_answer.inner_of("packet", row["inside"].split(), tenant="ignore")
        one.copies |= one.dropped("packet", None, inner=inner) - repeated
    return one


def public():
    """Yield the shared captures that are present."""
    for row in rows():
        path = SHARED / "captures" / row["capture"]
        if not row["sha256"] and path.exists():
            yield judged(row, path)


def fetched(folder):
    """Return the captures of source packages in this folder, by checksum and not by name."""
    paths = {hashlib.sha256(path.read_bytes()).hexdigest(): path
             for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}
    for row in rows():
        if row["sha256"] in paths:
            yield judged(row, paths[row["sha256"]])


def fetched_if_named():
    return fetched(os.environ[FETCHED]) if os.environ.get(FETCHED) else ()


def advice(binary, one):
    run = subprocess.run([binary, "analyze", "--json", str(one.path)], text=True, check=False,
                         capture_output=True, timeout=harness.PATIENCE)
    assert run.returncode == 0, run
    return json.loads(run.stdout)


def dropped(binary, one, options):
    """Return the numbers of the packets that `unecho pcap` drops with these options."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = pathlib.Path(folder) / "pairs.csv"
        run = subprocess.run([binary, "pcap", str(one.path), "--engine", "exact", "--quiet", "--pairs",
                              str(pairs), *shlex.split(options)], text=True, check=False,
                             capture_output=True, timeout=harness.PATIENCE)
        assert run.returncode == 0, run
        return {int(line.split(",")[0]) for line in pairs.read_text().splitlines()[1:]}


def outcome(binary, one, report):
    """Return the copies that the advice leaves, and the packets sent again that it drops."""
    wanted = report["recommendation"]
    taken = dropped(binary, one, wanted["pcap_options"]) if wanted["needed"] else set()
    return len(one.copies - taken), len(one.again & taken), len(taken)


class Advice(harness.E2eTest):
    known = 0  # errors that advice_labels.csv names

    def judge(self, captures):
        count = 0
        for one in captures:
            with self.subTest(one.name):
                self.judge_one(one)
            count += 1
        return count

    def judge_one(self, one):
        try:
            self.compare(one, advice(os.environ["UNECHO_BIN"], one))
        except self.failureException:
            if not one.today:
                raise
            self.known += 1
        else:
            if one.today:
                self.fail("right now: empty its field `today` in %s" % LABELS.name)

    def compare(self, one, report):
        left, lost, taken = outcome(os.environ["UNECHO_BIN"], one, report)
        self.assertEqual((left, lost), (0, 0), report["recommendation"])
        if report["recommendation"]["needed"]:
            removed = report["recommendation"]["removed"]["packets"] \
                + report["recommendation"]["removed_cut"]["packets"]
            self.assertEqual(taken, removed)
        self.assertEqual(report["recommendation"]["needed"], bool(one.copies))
        others = 0 if one.frames else report["non_ip_copied"]["packets"]
        self.assertEqual(report["copied"]["packets"] - others, len(one.copies))
        self.assertGreaterEqual(report["sent_again"]["packets"], len(one.again))
        self.assertEqual(sum(kind["echoes"]["packets"] for kind in report["repeats"]),
                         report["sent_again"]["packets"])
        self.assertEqual(sum(each["echoes"] for each in report["ages"]["bins"]),
                         report["copied"]["packets"])

    def test_made_captures(self):
        self.assertEqual(self.judge(made(self.folder)), len(made_repeats.captures()))

    def test_captures_on_which_the_odds_decide(self):
        self.assertEqual(self.judge(made(self.folder, made_repeats.weighed)),
                         len(made_repeats.weighed()))

    def test_what_one_radio_hears_again_was_sent_again(self):
        path, packets = made_repeats.write_wifi(self.folder)
        one = Judged("wifi", path)
        one.copies, one.again = set(), {n for n, (*_, again) in enumerate(packets, 1) if again}
        self.judge([one])

    def test_public_captures(self):
        if not (SHARED / "captures" / "advice").exists():
            self.skipTest("no captures in %s" % SHARED)
        self.assertGreaterEqual(self.judge(public()), 60)

    def test_captures_of_source_packages(self):
        folder = os.environ.get(FETCHED)
        if not folder:
            self.skipTest("no captures in %s, which is not set" % FETCHED)
        count = self.judge(fetched(folder))
        self.assertGreater(count, 0, "none of them is in %s" % folder)
        print("%d captures of source packages, %d known differences" % (count, self.known))


def table(binaries):
    print("| capture | copies | sent again |" + "".join(
        " %s: window | left in | taken out |" % pathlib.Path(b).name for b in binaries))
    print("|---|---:|---:|" + "---:|---:|---:|" * len(binaries))
    right = [0] * len(binaries)
    with tempfile.TemporaryDirectory() as folder:
        captures = [*public(), *fetched_if_named(), *made(folder)]
        for one in captures:
            line = "| %s | %d | %d |" % (one.name, len(one.copies), len(one.again))
            for i, binary in enumerate(binaries):
                report = advice(binary, one)
                wanted = report["recommendation"]
                left, taken, _ = outcome(binary, one, report)
                right[i] += (left, taken) == (0, 0)
                line += " %s | %d | %d |" % ("%g ms" % (wanted["window_ns"] / 1e6)
                                             if wanted["needed"] else "not needed", left, taken)
            print(line)
    print("\nRight, of %d: %s" % (len(captures), ", ".join(map(str, right))))


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.access(sys.argv[1], os.X_OK):
        table(sys.argv[1:])
    else:
        harness.main()
