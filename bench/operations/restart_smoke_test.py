#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""restart_bench measures one restart of each kind. The test checks no times."""
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
    restart_bench, unecho = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([restart_bench, "--unecho", unecho, "--times", "1", "--json", path], check=True)
        rows = {row["end"]: row for row in json.loads(path.read_text())["rows"]}
    assert set(rows) == {"kill -9", "kill -9, state", "SIGTERM, state"}, rows
    assert all(row["times"] == 1 and row["copies"] > 0 for row in rows.values()), rows
    assert rows["kill -9"]["recognised"] < rows["kill -9"]["copies"] / 10, rows
    for name in ("kill -9, state", "SIGTERM, state"):
        assert rows[name]["recognised"] == rows[name]["copies"], rows


if __name__ == "__main__":
    main()
