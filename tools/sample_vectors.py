#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copy a sample of the reference vectors into tests/vectors.

The vectors come from $UNECHO_SHARED/reference/csv, or ../shared beside the repository. A file
larger than MAX_BYTES keeps every n-th row, beginning with the first; columns with remarks are left
out.
"""
import csv
import io
import os
import sys

MAX_BYTES = 20_000
# Vectors of layouts that are not in lib/filters, and those that no test reads.
NOT_HERE = ("linelocal_baseline", "linelocal_log", "linelocal_spill",
            "slicing_fairness_sim", "btbf_simulation", "btbf_summary", "apbbf_table3",
            "apbbf_table4")
REMARKS = {"note", "agrees(round|unit|no)"}


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    keep = [i for i, name in enumerate(rows[0]) if name not in REMARKS]
    return [[row[i] for i in keep] for row in rows]


def text_of(rows, step):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows[:1] + rows[1::step])
    return out.getvalue()


def sample(rows):
    step = 1
    while len(text_of(rows, step)) >= MAX_BYTES:
        step += 1
    return text_of(rows, step)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    shared = os.environ.get("UNECHO_SHARED", os.path.join(os.path.dirname(root), "shared"))
    source = os.path.join(shared, "reference", "csv")
    target = os.path.join(root, "tests", "vectors")
    if not os.path.isdir(source):
        sys.exit("%s: not there; set UNECHO_SHARED" % source)
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)):
        if name.startswith(NOT_HERE):
            continue
        text = sample(read(os.path.join(source, name)))
        with open(os.path.join(target, name), "w") as file:
            file.write(text)
        print("%-32s %4d rows %6d bytes" % (name, text.count("\n") - 1, len(text)))


if __name__ == "__main__":
    main()
