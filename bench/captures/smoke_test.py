#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""captures_bench measures each command, and the stream. The test checks no times."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

NEEDED = ("tcpdump", "igzip")
EXPECTED = ["tcpdump", "cp", "unecho", "unecho-1", "unecho-editcap", "igzip", "unecho-gz",
            "unecho-bgzf", "unecho-members", "zcat", "zcat-bgzf", "zcat-members", "shard", "analyze",
            "analyze-1", "analyze-gz", "analyze-bgzf", "analyze-members", "stream-50ms", "stream-1h"]


def main():
    captures_bench, unecho = sys.argv[1:]
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        print("skipped: no " + ", ".join(missing))
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([captures_bench, "--unecho", unecho, "--rounds", "1", "--packets", "2000",
                        "--stream", "0.005", "--json", path], check=True)
        rows = json.loads(path.read_text())["rows"]
    assert [row["command"] for row in rows] == EXPECTED, rows
    assert all(row["seconds"] > 0 and row["peak_bytes"] > 0 for row in rows), rows


if __name__ == "__main__":
    main()
