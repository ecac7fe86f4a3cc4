#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scaling_bench --smoke runs, finds the echoes that it sends in each way, hands over by rings what
it should, and gives every row in both forms."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

ROWS = ["line-m2/%s/%s/%d" % row
        for row in itertools.product(("L2", "L3", "DRAM"), ("64", "IMIX", "1518"), (0, 50))]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        run = subprocess.run([sys.argv[1], "--smoke", "--no-huge", "--json", path], text=True,
                             capture_output=True, check=False)
        sys.stderr.write(run.stderr)
        assert run.returncode == 0, "exit status %d" % run.returncode
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    assert [row["name"] for row in result["rows"]] == ROWS, "rows"
    printed = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("line-m2/")]
    assert printed == ROWS, printed
    for row in result["rows"]:
        for way, workers in (("alone", 1), ("queues", 2), ("rings", 2)):
            found = row[way]
            assert found["packets"] == 2 * 20 * workers * result["window_packets"], found
            passed = found["echoes_found"] + found["doubts"] + found["unfiltered"]
            share = 100 * passed / found["packets"]
            # The first packets of a turn can be echoes hardly or not at all.
            least, most = (row["echo_percent"] * part for part in (0.8, 1.2))
            most += 1 + 100 * found["unfiltered"] / found["packets"]
            assert least - 1 <= share <= most, row["name"]
            assert found["mpps"]["rounds"] > 0 and found["mpps"]["p10"] > 0, found
            assert (found["hops"] == 0) == (way != "rings"), found
        # Half of the flows belong to the other worker, within the sampling error of 65536 flows.
        assert 0.45 < row["hops_a_packet"] < 0.55, row["hops_a_packet"]
    assert result["environment"]["commit"], "commit"
    print("%d rows" % len(ROWS))


if __name__ == "__main__":
    main()
