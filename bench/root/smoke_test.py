#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""root_bench measures what it states, and every flow is accounted for. The test checks no times."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    if not shutil.which("redis-server"):
        print("skipped: needs redis-server")
        sys.exit(77)
    root_bench, load = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([root_bench, "--flows", "20000", "--rounds", "1", "--no-kill", "--load", load,
                        "--json", path], check=True)
        rows = json.loads(path.read_text())["rows"]
    assert [(row["masters"], row["by"]) for row in rows] == [
        (masters, by) for masters in (1, 3) for _ in range(2) for by in ("root", "set")], rows
    assert all(row["bytes"] > 4 and row["per_second"] > 0 for row in rows), rows


if __name__ == "__main__":
    main()
