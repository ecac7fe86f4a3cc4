#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""micro_bench --smoke gives every row in both forms. The engines keep their promises in it: no echo
is missed, nothing is allocated, and the false-positive rate is below the predicted one."""
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

ENGINES = ("line-m1", "line-m2", "line-m3", "line-m4", "fingerprint", "apbbf", "apbbf-2-5-512-8", "apbf", "shbf", "tlbf", "btbf", "exact")
KERNELS = tuple("line-m%d-%s" % kernel
                for kernel in itertools.product((1, 2, 3, 4), ("scalar", "avx2", "avx512")))
KERNELS += tuple(engine + isa for engine in ("apbbf-2-5-512-8-", "fingerprint-")
                 for isa in ("scalar", "avx2", "avx512"))
PLACES = ("L2", "L3", "DRAM", "DRAM-2M")
ROWS = ("0/32", "10/32", "50/32", "90/32", "0/1", "0/8", "0/64")
KERNEL_ROWS = ("0/32", "50/32")
AHEAD_ROWS = ("0/32/ahead", "50/32/ahead", "0/64/ahead")  # of the line filter


def check(row):
    name = row["name"]
    for figure in ("ns", "raw_ns", "burst_us", "bits_per_key"):
        assert row[figure] > 0, "%s: %s" % (name, figure)
    assert row["missed_percent"] == 0, "%s missed %g %%" % (name, row["missed_percent"])
    assert row["allocations"] == 0, "%s: %d allocations" % (name, row["allocations"])
    # Six deviations above the mean of the worst moment.
    mean = row["fpr_predicted"] * row["new_keys"]
    seen = row["fpr_measured"] * row["new_keys"]
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
    wanted = ["%s/%s/%s" % row for row in itertools.product(ENGINES, PLACES, ROWS)]
    # The kernel that the machine chooses has no separate rows.
    chosen = "-" + rows["line-m1/L2/0/32"]["label"].split()[0]
    kernels = [kernel for kernel in KERNELS if not kernel.endswith(chosen)]
    assert len(kernels) < len(KERNELS), "no kernel is " + chosen
    wanted += ["%s/%s/%s" % row for row in itertools.product(kernels, PLACES, KERNEL_ROWS)]
    wanted += ["%s/%s/%s" % row
               for row in itertools.product([engine for engine in (*ENGINES, *kernels)
                                             if engine.startswith("line-")], PLACES, AHEAD_ROWS)]
    missing = [name for name in wanted if name not in rows]
    assert not missing, "no row " + missing[0]
    measured = 0
    for name in wanted:
        if rows[name].get("error_occurred"):
            reason = rows[name]["error_message"]
            assert ("/DRAM-2M/" in name and "hugepages" in reason) or "isa" in reason, name
            continue
        check(rows[name])
        measured += 1
    printed = run.stdout.splitlines()
    assert all(any(line.startswith(name + " ") for line in printed) for name in wanted), "table"
    assert result["context"]["commit"], "commit"
    print("%d rows, %d measured" % (len(wanted), measured))


if __name__ == "__main__":
    main()
