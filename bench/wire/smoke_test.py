#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wire_bench measures a setup of each kind, and unecho drops what it should. The test checks no
times."""
import json
import pathlib
import subprocess
import sys
import tempfile

EXPECTED = {"pcap/64/50%": (0.4, 0.99), "memif/64/0%": (0, 0.05)}


def main():
    wire_bench, unecho = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([wire_bench, "--unecho", unecho, "--no-huge", "--rounds", "1", "--seconds", "0.1",
                        "--only", "pcap/64/50|memif", "--json", path], check=True)
        rows = json.loads(path.read_text())["rows"]
    assert [row["setup"] for row in rows] == list(EXPECTED), rows
    for row in rows:
        low, high = EXPECTED[row["setup"]]
        assert low <= row["dropped"] <= high, row
        assert all(row[name] > 0 for name in ("io", "5tswap", "unecho")), row


if __name__ == "__main__":
    main()
