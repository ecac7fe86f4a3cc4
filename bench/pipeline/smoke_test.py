#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipeline_bench --smoke runs, finds the echoes that it sends, and gives every row in both
forms."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

ENGINES = ("line-m1", "line-m2", "line-m3", "fingerprint-16", "fingerprint-26", "apbbf", "apbf", "exact",
           "fingerprint-26-kept", "fingerprint-26-no-id", "line-m3-kept", "line-m3-no-id", "line-m2-looking",
           "line-m2-vxlan", "line-m2-gtp-u")
RESIDENCES = ("L2", "L3", "DRAM")
FRAMES = ("64", "IMIX", "1518")
ECHOES = (0, 10, 50)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        run = subprocess.run([sys.argv[1], "--smoke", "--no-huge", "--json", path], text=True,
                             capture_output=True, check=False)
        sys.stderr.write(run.stderr)
        assert run.returncode == 0, "exit status %d" % run.returncode
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    wanted = ["%s/%s/%s/%d" % row for row in itertools.product(ENGINES, RESIDENCES, FRAMES, ECHOES)]
    assert [row["name"] for row in result["rows"]] == wanted, "rows"
    printed = [line.split() for line in run.stdout.splitlines()]
    printed = [line for line in printed if line and line[0] in ENGINES]
    assert len(printed) == len(wanted), "printed %d rows" % len(printed)
    for row in result["rows"]:
        share = 100 * (row["echoes_found"] + row["doubts"]) / row["packets"]
        # The first packets after a restart can be echoes hardly or not at all.
        assert row["echo_percent"] * 0.8 - 1 <= share <= row["echo_percent"] * 1.2 + 1, row["name"]
        for stage in ("view", "digest", "decide", "ports", "watch", "worker", "audited"):
            assert row[stage]["windows"] > 0, stage
            assert row[stage]["p10"]["cycles"] > 0 or stage == "watch", stage
            assert row[stage]["p10"]["cycles"] <= row[stage]["p90"]["cycles"], stage
    assert result["environment"]["commit"], "commit"
    print("%d rows" % len(wanted))


if __name__ == "__main__":
    main()
