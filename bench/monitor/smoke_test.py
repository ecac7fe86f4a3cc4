#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""watched_bench measures an appliance with and without queries. The test checks no times."""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    watched_bench, unecho = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rounds.json"
        subprocess.run([watched_bench, "--unecho", unecho, "--rounds", "2", "--seconds", "0.5",
                        "--json", path], check=True)
        rounds = json.loads(path.read_text())["rounds"]
    assert len(rounds) == 2, rounds
    for each in rounds:
        assert each["alone_pps"] > 0 and each["asked_pps"] > 0 and each["asked"] > 0, rounds


if __name__ == "__main__":
    main()
