#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""live_bench measures both, and neither reads more than was sent. The test checks no times."""
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
    live_bench, sender, unecho = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([live_bench, "--sender", sender, "--unecho", unecho, "--rates", "1000", "--seconds", "0.2",
                        "--rounds", "1", "--json", path], check=True)
        rows = json.loads(path.read_text())
    assert [row["tool"] for row in rows] == ["tcpdump", "unecho"], rows
    assert all(0 <= row["read"] <= row["packets"] == 200 for row in rows), rows


if __name__ == "__main__":
    main()
