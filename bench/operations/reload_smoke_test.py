#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reload_bench measures some reloads. The test checks no times."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: needs two CPUs")
        sys.exit(77)
    reload_bench, unecho, sender = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([reload_bench, "--unecho", unecho, "--sender", sender, "--times", "5",
                        "--rate", "100000", "--json", path], check=True)
        told = json.loads(path.read_text())
    assert told["reloads"] == 5, told
    assert told["received"] > 0 and told["in_flight"] == 0, told
    reloads = [row for row in told["rows"] if row["what"].startswith("reload")]
    # A reload may be in both rows, or in none if neither side got CPU time.
    assert sum(row["times"] for row in reloads) >= 1, told


if __name__ == "__main__":
    main()
