#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho analyze --shard I/N` and `--merge`: the merged report equals that of one process, except
the rate and what follows from it. The peak rate is bounded by the sum of the shards' peaks."""
import json
import os
import random
import shutil
import subprocess
import sys
import unittest

import harness
from harness import PCAPS, ROOT, SHARED

SEED = ("--seed", "7")
# Captures of many flows, with copies, repeats, cut packets, tunnels and epochs; one without a flow.
CAPTURES = [PCAPS / name for name in ("one-link.pcap", "flows.pcap", "edges.pcap", "two-taps-a.pcap")]
CAPTURES += [path for path in (SHARED / "captures" / name for name in (
    "ndpi-fix2.pcap", "ndpi-vxlan.pcap", "zeek-gre-in-gre.pcap", "zeek-tcp-snaplen.pcap",
    "suricata-dnp3-time-back.pcap", "pcpp-two-links.pcapng", "suricata-sll2.pcap"))
    if path.exists()]
# Fields that follow from the peak, or from processes and not from packets.
BOUNDED = ("rate_pps", "rate_reason", "engine_chosen", "memory_bytes", "toml")


def exact(report):
    """Return the report without fields that merging only bounds."""
    report = json.loads(report) if isinstance(report, str) else dict(report)
    del report["merge"], report["memory_bytes"], report["talkers"]
    report["recommendation"] = {name: value for name, value in report["recommendation"].items()
                                if name not in BOUNDED}
    return report


class AnalyzeMergeTest(harness.E2eTest):
    def assert_same_report(self, merged, whole):
        self.assertEqual(exact(merged), exact(whole))
        ranges = [{(one["source"], one["destination"]): (one["echoes"] - one["excess"], one["echoes"])
                   for one in json.loads(report)["talkers"]} for report in (merged, whole)]
        for pair in set(ranges[0]) & set(ranges[1]):  # both bounds exist for the same number
            self.assertLessEqual(ranges[0][pair][0], ranges[1][pair][1], pair)
            self.assertLessEqual(ranges[1][pair][0], ranges[0][pair][1], pair)
        self.assertEqual(len(ranges[0]), len(ranges[1]))
        if all(low == high for report in ranges for low, high in report.values()):
            self.assertEqual(*ranges)

    def analyze(self, *arguments, status=0):
        result = harness.unecho("analyze", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status != 2 else result.stderr

    def report(self, name, *arguments):
        path = self.folder / name
        path.write_text(self.analyze(*arguments, "--json"), encoding="utf-8")
        return path

    def shards(self, count, *inputs):
        return [self.report("shard-%d-%d.json" % (count, i), *inputs, *SEED, "--shard",
                            "%d/%d" % (i, count)) for i in range(1, count + 1)]

    def refused(self, message, *arguments, status=1):
        result = harness.unecho("analyze", *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(message, result.stderr)

    def test_merged_shards_are_the_whole(self):
        draw = random.Random(1)
        for inputs in [[path] for path in CAPTURES] + [[PCAPS / "two-taps-a.pcap",
                                                        PCAPS / "two-taps-b.pcap"]]:
            whole = self.analyze(*inputs, "--json")
            for count in 2, 5:
                with self.subTest(inputs=[path.name for path in inputs], count=count):
                    parts = self.shards(count, *inputs)
                    draw.shuffle(parts)
                    merged = self.analyze("--merge", *parts, "--json")
                    self.assert_same_report(merged, whole)
                    rate = [json.loads(text)["recommendation"]["rate_pps"]
                            for text in (merged, whole)]
                    self.assertGreaterEqual(rate[0], rate[1])
                    totals = [json.loads(part.read_text("utf-8"))["total"]["packets"]
                              for part in parts]
                    self.assertEqual(sum(totals), json.loads(whole)["total"]["packets"])

    def test_order_and_grouping_do_not_matter(self):
        other = self.report("other.json", PCAPS / "flows.pcap")
        parts = self.shards(4, PCAPS / "one-link.pcap") + [other]
        wanted = self.analyze("--merge", *parts, "--json")
        draw = random.Random(2)
        for turn in range(4):
            draw.shuffle(parts)
            cut = draw.randrange(1, len(parts))
            groups = [self.report_of_merge("group-%d.json" % i, group)
                      for i, group in enumerate((parts[:cut], parts[cut:]))]
            self.assertEqual(self.analyze("--merge", *groups, "--json"), wanted, turn)

    def report_of_merge(self, name, parts):
        """Merge some of the shards. The report and the exit status say what is missing."""
        result = harness.unecho("analyze", "--merge", *parts, "--json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        path = self.folder / name
        path.write_text(result.stdout, encoding="utf-8")
        return path

    def test_report_merged_with_nothing_is_the_same_in_every_form(self):
        for arguments in ((), ("--window", "5ms", "--key", "flow")):
            one = self.report("one.json", PCAPS / "two-taps-a.pcap", *arguments)
            self.assertEqual(self.analyze("--merge", one, "--json"), one.read_text("utf-8"))
            self.assertEqual(self.analyze("--merge", one),
                             self.analyze(PCAPS / "two-taps-a.pcap", *arguments))
            pages = [self.folder / "a.html", self.folder / "b.html"]
            self.analyze("--merge", one, "--html", pages[0])
            self.analyze(PCAPS / "two-taps-a.pcap", *arguments, "--html", pages[1])
            self.assertEqual(pages[0].read_bytes(), pages[1].read_bytes())

    def test_missing_shard_is_told(self):
        parts = self.shards(3, PCAPS / "one-link.pcap")
        out = self.analyze("--merge", parts[0], parts[2], "--json", status=1)
        self.assertIn("only 2 shards of 3 are in this; missing: 2",
                      json.loads(out)["warnings"][0]["text"])

    def test_what_does_not_go_together_is_refused(self):
        one_link, flows = PCAPS / "one-link.pcap", PCAPS / "flows.pcap"
        whole = self.report("whole.json", one_link)
        again = self.report("again.json", one_link)
        parts = self.shards(2, one_link)
        asked = self.report("asked.json", flows, "--window", "5ms")
        self.refused("shard-2-1.json: shard 1/2 is in", "--merge", parts[0], parts[0])
        self.refused("again.json: the same packets as in", "--merge", whole, again)
        self.refused("of what", "--merge", whole, parts[0])
        self.refused("asked.json: other --key, --window", "--merge", whole, asked)
        other = self.report("seed.json", one_link, "--seed", "8", "--shard", "2/2")
        self.refused("shards of another --seed", "--merge", parts[0], other)
        other = self.report("packets.json", flows, *SEED, "--shard", "2/2")
        self.refused("packets.json: shard 2/2 of other packets than", "--merge", parts[0], other)

    def test_options_that_cannot_be_are_one_line(self):
        capture = PCAPS / "one-link.pcap"
        for message, options in (
                ("--shard: needs --seed-file", (capture, "--shard", "1/2")),
                ('--shard: "3/2"', (capture, *SEED, "--shard", "3/2")),
                ("--shard: is for reports of all keys", (capture, *SEED, "--shard", "1/2", "--window", "5ms")),
                ("--seed: is for --shard", (capture, *SEED)),
                ("leave out --shard", ("--merge", capture, *SEED, "--shard", "1/2")),
                ("--merge: reads reports", ("--merge", capture, "--window", "5ms"))):
            with self.subTest(message=message):
                self.refused(message, *options, status=2)

    def test_what_is_no_report_is_refused(self):
        whole = json.loads(self.report("whole.json", PCAPS / "one-link.pcap").read_text("utf-8"))
        bad = self.folder / "bad.json"

        def refused(message, text):
            bad.write_text(text, encoding="utf-8")
            self.refused(message, "--merge", bad)
        refused("bad.json: is no JSON", "")
        refused("bad.json: is no JSON", "{\"merge\": ")
        refused("bad.json: is no report that merges", "[1]")
        refused("bad.json: is no report that merges", "{\"total\": 1}")
        whole["merge"]["version"] = 0
        refused("bad.json: holds version 0", json.dumps(whole))
        self.refused("none.json: cannot be read", "--merge", self.folder / "none.json")
        self.refused("cannot be read", "--merge", self.folder)

    @unittest.skipUnless(shutil.which("parallel"), "no GNU parallel")
    def test_recipe_gives_the_report_of_the_whole(self):
        out = self.folder / "out"
        capture = self.folder / "in.pcap"
        subprocess.run([sys.executable, ROOT / "bench/captures/traffic.py", capture, "--packets",
                        "20000"], check=True, timeout=harness.PATIENCE)
        result = subprocess.run([ROOT / "examples/shards/gnu_parallel_analyze", "3", out, capture],
                                capture_output=True, text=True, timeout=240,
                                stdin=subprocess.DEVNULL,
                                env=dict(os.environ, UNECHO=os.environ["UNECHO_BIN"]))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_same_report((out / "merged.json").read_text("utf-8"),
                                self.analyze(capture, "--json"))
        self.assertIn("<html", (out / "merged.html").read_text("utf-8"))
        self.assertEqual((out / "seed").stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main(verbosity=2)
