#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bypass_bench measures each event once, and no packet arrives twice. The test checks no times."""
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
    bypass_bench, unecho = sys.argv[1:]
    for options, events in (((), ["start", "kill", "start again", "end"]), (("--stuck", "1"), ["stuck"])):
        with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
            path = pathlib.Path(folder) / "rows.json"
            subprocess.run([bypass_bench, "--unecho", unecho, "--times", "1", *options, "--json", path],
                           check=True)
            told = json.loads(path.read_text())
        assert [row["event"] for row in told["rows"]] == events, told
        assert told["twice"] == 0, told
        assert all(row["times"] == 1 for row in told["rows"]), told


if __name__ == "__main__":
    main()
