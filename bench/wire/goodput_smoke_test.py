#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""goodput_bench measures all three, and only one drops anything. The test checks no times."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    goodput_bench, unecho = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([goodput_bench, "--unecho", unecho, "--rounds", "1", "--seconds", "1", "--json", path],
                       check=True)
        rows = json.loads(path.read_text())["rows"]
    assert list(rows) == ["pass", "keep", "drop"], rows
    assert all(run["bps"] > 0 for runs in rows.values() for run in runs), rows
    assert [rows[name][0]["dropped"] for name in ("pass", "keep")] == [0, 0], rows


if __name__ == "__main__":
    main()
