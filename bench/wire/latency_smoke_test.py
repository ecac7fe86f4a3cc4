#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""latency_bench gets packets back through each forwarder and prints their delays. The test checks
no times."""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    latency_bench, unecho, sender = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        subprocess.run([latency_bench, "--unecho", unecho, "--sender", sender, "--no-huge", "--rounds", "1",
                        "--seconds", "0.5", "--rate", "2000", "--json", path], check=True)
        rows = json.loads(path.read_text())["rows"]
    assert [row["forwarder"] for row in rows] == ["io", "5tswap", "unecho"], rows
    for row in rows:
        assert 0 < row["median"] <= row["p99"] <= row["p99.9"], row
        assert 0 < row["rounds"][0]["packets"] <= row["rounds"][0]["came"], row


if __name__ == "__main__":
    main()
