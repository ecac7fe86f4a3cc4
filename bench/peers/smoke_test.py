#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers_bench --smoke gives every row in both forms. Exact windows are exact, filters miss no echo
and keep the predicted rate, and only the cache forgets."""
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

FILTERS = ("line-m1", "line-m2", "line-m3", "line-m4", "apbbf-2-5-512-8", "apbbf", "fingerprint-avx2",
           "fingerprint-avx512", "rotating-avx2", "rotating-avx512", "member-vbf", "member-sketch")
EXACT = ("exact", "rte_hash", "absl-flat-set", "std-unordered-set")
CACHES = ("member-cache-x1", "member-cache-x2")
SLOTS = ("locked-slots",)
ROWS = ("0/32", "50/32")


def check(engine, row):
    name = row["name"]
    for figure in ("ns", "raw_ns", "burst_us", "bits_per_key"):
        assert row[figure] > 0, "%s: %s" % (name, figure)
    if engine in CACHES:
        return
    # 4,096 keys in 65,536 slots; echoes are 0 to 2,048 new keys old.
    assert engine not in SLOTS or row["missed_percent"] < 3, row
    assert engine in SLOTS or row["missed_percent"] == 0, "%s missed %g %%" % (name, row["missed_percent"])
    seen = row["fpr_measured"] * row["new_keys"]
    if engine in EXACT:
        assert seen == 0, "%s: %d false" % (name, seen)
    else:
        # Six deviations above the mean of the worst moment.
        mean = row["fpr_predicted"] * row["new_keys"]
        assert seen <= mean + 6 * math.sqrt(mean) + 3, "%s: %d false of %d" % (
            name, seen, row["new_keys"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        run = subprocess.run([sys.argv[1], "--smoke", "--benchmark_out=" + path], text=True,
                             capture_output=True, check=False)
        sys.stderr.write(run.stderr)
        assert run.returncode == 0, "exit status %d" % run.returncode
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    rows = {row["name"].removesuffix("/iterations:1/manual_time"): row
            for row in result["benchmarks"]}
    measured = 0
    wanted = list(itertools.product(FILTERS + EXACT + CACHES + SLOTS, ROWS))
    for engine, rest in wanted:
        row = rows["%s/4Ki/%s" % (engine, rest)]
        if row.get("error_occurred"):
            assert engine.startswith(("rotating-", "fingerprint-")), "%s: %s" % (engine, row["error_message"])
            continue
        check(engine, row)
        measured += 1
    assert rows["locked-slots/4Ki/50/32"]["missed_percent"] > 0, "slots that are taken"
    # A cache of one entry a key must forget some, or misses would go unnoticed.
    assert rows["member-cache-x1/4Ki/50/32"]["missed_percent"] > 1, "misses"
    assert rows["std-unordered-set/4Ki/0/32"]["allocations"] > 0, "allocations"
    printed = run.stdout.splitlines()
    assert all(any(line.startswith("%s/4Ki/%s " % row) for line in printed) for row in wanted)
    assert result["context"]["commit"], "commit"
    print("%d rows, %d measured" % (len(wanted), measured))


if __name__ == "__main__":
    main()
