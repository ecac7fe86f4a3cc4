#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run one benchmark for moments: every row is there, and its answers are right. No times are
checked.

    smoke_test.py NAME PROGRAM [ARGUMENT...]
"""
import itertools
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ISAS = ("scalar", "avx2", "avx512")


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def needs(programs=(), root=False, cpus=1):
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        skip("no " + ", ".join(missing))
    if root and os.geteuid() != 0:
        skip("needs root")
    if len(os.sched_getaffinity(0)) < cpus:
        skip("needs two CPUs")


def printed(command, *options, out="--json "):
    """Return what the program writes as JSON, and the lines that it prints."""
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "rows.json"
        run = subprocess.run([*command, *options, *(out + str(path)).split()], text=True, stdout=subprocess.PIPE,
                             check=False)
        sys.stdout.write(run.stdout)
        run.check_returncode()
        return json.loads(path.read_text()), run.stdout.splitlines()


def told(command, *options):
    return printed(command, *options)[0]


# ---- filters -------------------------------------------------------------------------------------

def benchmarks(command):
    """Return rows by name, and the lines printed, of a program of Google Benchmark."""
    result, lines = printed(command, "--smoke", out="--benchmark_out=")
    assert result["context"]["commit"], "commit"
    return {row["name"].removesuffix("/iterations:1/manual_time"): row
            for row in result["benchmarks"]}, lines


def has_figures(row):
    for figure in ("ns", "raw_ns", "burst_us", "bits_per_key"):
        assert row[figure] > 0, "%s: %s" % (row["name"], figure)


def is_below_the_prediction(row):
    """Six deviations above the mean of the worst moment."""
    mean = row["fpr_predicted"] * row["new_keys"]
    seen = row["fpr_measured"] * row["new_keys"]
    assert seen <= mean + 6 * math.sqrt(mean) + 3, "%s: %d false of %d" % (row["name"], seen, row["new_keys"])


def micro(command):
    """No echo is missed, nothing is allocated, and false positives are below the prediction."""
    with_kernels = ("line-m1", "line-m2", "line-m3", "line-m4", "apbbf-2-5-512-8", "fingerprint")
    kernels = ["%s-%s" % kernel for kernel in itertools.product(with_kernels, ISAS)]
    rows, lines = benchmarks(command)
    engines = {name.split("/")[0] for name in rows}.difference(kernels)
    assert engines.issuperset((*with_kernels, "apbbf", "apbf", "shbf", "tlbf", "btbf", "exact", "bucket")), engines
    # The kernel that the machine chooses has no separate rows.
    chosen = "-" + rows["line-m1/L2/0/32"]["label"].split()[0]
    others = [kernel for kernel in kernels if not kernel.endswith(chosen)]
    assert len(others) < len(kernels), "no kernel is " + chosen
    lined = [engine for engine in (*engines, *others) if engine.startswith("line-")]
    wanted = ["%s/%s/%s" % (engine, place, row) for some, each in (
        (engines, ("0/32", "10/32", "50/32", "90/32", "0/1", "0/8", "0/64")), (others, ("0/32", "50/32")),
        (lined, ("0/32/ahead", "50/32/ahead", "0/64/ahead")))
        for engine, place, row in itertools.product(some, ("L2", "L3", "DRAM", "DRAM-2M"), each)]
    for name in wanted:
        row = rows[name]
        if row.get("error_occurred"):
            reason = row["error_message"]
            assert ("/DRAM-2M/" in name and "hugepages" in reason) or "isa" in reason, name
            continue
        has_figures(row)
        assert row["missed_percent"] == 0 and row["allocations"] == 0, row
        is_below_the_prediction(row)
    assert all(any(line.startswith(name + " ") for line in lines) for name in wanted), "table"


def peers(command):
    """Exact windows are exact, filters miss no echo, and only caches and taken slots forget."""
    filters = ("line-m1", "line-m2", "line-m3", "line-m4", "apbbf-2-5-512-8", "apbbf", "fingerprint-avx2",
               "fingerprint-avx512", "rotating-avx2", "rotating-avx512", "member-vbf", "member-sketch")
    exact = ("exact", "rte_hash", "absl-flat-set", "std-unordered-set")
    caches = ("member-cache-x1", "member-cache-x2")
    rows, lines = benchmarks(command)
    wanted = list(itertools.product((*filters, *exact, *caches, "locked-slots"), ("0/32", "50/32")))
    for engine, rest in wanted:
        row = rows["%s/4Ki/%s" % (engine, rest)]
        if row.get("error_occurred"):
            assert engine.startswith(("rotating-", "fingerprint-")), "%s: %s" % (engine, row["error_message"])
            continue
        has_figures(row)
        if engine in caches:
            continue
        # 4,096 keys in 65,536 slots; echoes are 0 to 2,048 new keys old.
        assert row["missed_percent"] < (3 if engine == "locked-slots" else 1e-9), row
        if engine in exact:
            assert row["fpr_measured"] == 0, row
        else:
            is_below_the_prediction(row)
    for engine, least in (("locked-slots", 0), ("member-cache-x1", 1)):  # misses do not go unnoticed
        assert rows[engine + "/4Ki/50/32"]["missed_percent"] > least, engine
    assert rows["std-unordered-set/4Ki/0/32"]["allocations"] > 0, "allocations"
    assert all(any(line.startswith("%s/4Ki/%s " % row) for line in lines) for row in wanted)


# ---- workers -------------------------------------------------------------------------------------

def has_echoes(row, share, most=0.0):
    """The first packets after a restart can be echoes hardly or not at all."""
    assert row["echo_percent"] * 0.8 - 1 <= share <= row["echo_percent"] * 1.2 + 1 + most, row["name"]


def rows_of(command, names):
    result, lines = printed(command, "--smoke", "--no-huge")
    assert result["environment"]["commit"], "commit"
    assert [row["name"] for row in result["rows"]] == names, "rows"
    begins = {name.partition("/")[0] for name in names} | set(names)
    shown = [line for line in lines if line.split()[:1] and line.split()[0] in begins]
    assert len(shown) == len(names), "printed %d rows" % len(shown)
    return result


def pipeline(command):
    engines = ("line-m1", "line-m2", "line-m3", "fingerprint-16", "fingerprint-26", "apbbf", "apbf", "exact",
               "fingerprint-26-kept", "fingerprint-26-no-id", "line-m3-kept", "line-m3-no-id", "line-m2-looking",
               "line-m2-vxlan", "line-m2-gtp-u")
    names = ["%s/%s/%s/%d" % row for row in itertools.product(
        engines, ("L2", "L3", "DRAM"), ("64", "IMIX", "1518"), (0, 10, 50))]
    for row in rows_of(command, names)["rows"]:
        has_echoes(row, 100 * (row["echoes_found"] + row["doubts"]) / row["packets"])
        for stage in ("view", "digest", "decide", "ports", "watch", "worker", "audited"):
            assert row[stage]["windows"] > 0, stage
            assert row[stage]["p10"]["cycles"] > 0 or stage == "watch", stage
            assert row[stage]["p10"]["cycles"] <= row[stage]["p90"]["cycles"], stage


def scaling(command):
    names = ["line-m2/%s/%s/%d" % row for row in itertools.product(
        ("L2", "L3", "DRAM"), ("64", "IMIX", "1518"), (0, 50))]
    result = rows_of(command, names)
    for row in result["rows"]:
        for way, workers in (("alone", 1), ("queues", 2), ("rings", 2)):
            found = row[way]
            assert found["packets"] == 2 * 20 * workers * result["window_packets"], found
            unfiltered = 100 * found["unfiltered"] / found["packets"]
            has_echoes(row, 100 * (found["echoes_found"] + found["doubts"]) / found["packets"] + unfiltered,
                       unfiltered)
            assert found["mpps"]["rounds"] > 0 and found["mpps"]["p10"] > 0, found
            assert (found["hops"] == 0) == (way != "rings"), found
        # Half of the flows belong to the other worker, within the sampling error of 65536 flows.
        assert 0.45 < row["hops_a_packet"] < 0.55, row["hops_a_packet"]


# ---- programs ------------------------------------------------------------------------------------

def captures(command):
    needs(("tcpdump", "igzip"))
    rows = told(command, "--rounds", "1", "--packets", "2000", "--stream", "0.005")["rows"]
    assert [row["command"] for row in rows] == [
        "tcpdump", "cp", "unecho", "unecho-1", "unecho-editcap", "igzip", "unecho-gz", "unecho-bgzf",
        "unecho-members", "zcat", "zcat-bgzf", "zcat-members", "shard", "analyze", "analyze-1", "analyze-gz",
        "analyze-bgzf", "analyze-members", "stream-50ms", "stream-1h"], rows
    assert all(row["seconds"] > 0 and row["peak_bytes"] > 0 for row in rows), rows


def live(command):
    needs(root=True)
    rows = told(command, "--rates", "1000", "--seconds", "0.2", "--rounds", "1")
    assert [row["tool"] for row in rows] == ["tcpdump", "unecho"], rows
    assert all(0 <= row["read"] <= row["packets"] == 200 for row in rows), rows


def reload(command):
    needs(cpus=2)
    found = told(command, "--times", "5", "--rate", "100000")
    assert (found["reloads"], found["in_flight"]) == (5, 0) and found["received"] > 0, found
    # A reload may be in both rows, or in none if neither side got CPU time.
    assert sum(row["times"] for row in found["rows"] if row["what"].startswith("reload")) >= 1, found


def restart(command):
    needs(root=True)
    rows = {row["end"]: row for row in told(command, "--times", "1")["rows"]}
    assert set(rows) == {"kill -9", "kill -9, state", "SIGTERM, state"}, rows
    for name, row in rows.items():
        assert row["times"] == 1 and row["copies"] > 0, rows
        assert row["recognised"] == row["copies"] if "state" in name else row["recognised"] < row["copies"] / 10, rows


def bypass(command):
    needs(root=True)
    for options, events in (((), ["start", "kill", "start again", "end"]), (("--stuck", "1"), ["stuck"])):
        found = told(command, "--times", "1", *options)
        assert [(row["event"], row["times"]) for row in found["rows"]] == [(event, 1) for event in events], found
        assert found["twice"] == 0, found


def goodput(command):
    needs(root=True)
    rows = told(command, "--rounds", "1", "--seconds", "1")["rows"]
    assert list(rows) == ["pass", "keep", "drop"], rows
    assert all(run["bps"] > 0 for runs in rows.values() for run in runs), rows
    assert [rows[name][0]["dropped"] for name in ("pass", "keep")] == [0, 0], rows


def latency(command):
    rows = told(command, "--no-huge", "--rounds", "1", "--seconds", "0.5", "--rate", "2000")["rows"]
    assert [row["forwarder"] for row in rows] == ["io", "5tswap", "unecho"], rows
    for row in rows:
        assert 0 < row["median"] <= row["p99"] <= row["p99.9"], row
        assert 0 < row["rounds"][0]["packets"] <= row["rounds"][0]["came"], row


def wire(command):
    expected = {"pcap/64/50%": (0.4, 0.99), "memif/64/0%": (0, 0.05)}
    rows = told(command, "--no-huge", "--rounds", "1", "--seconds", "0.1", "--only", "pcap/64/50|memif")["rows"]
    assert [row["setup"] for row in rows] == list(expected), rows
    for row in rows:
        low, high = expected[row["setup"]]
        assert low <= row["dropped"] <= high, row
        assert all(row[name] > 0 for name in ("io", "5tswap", "unecho")), row


def root(command):
    needs(("redis-server",))
    rows = told(command, "--flows", "20000", "--rounds", "1", "--no-kill")["rows"]
    assert [(row["masters"], row["by"]) for row in rows] == [
        (masters, by) for masters in (1, 3) for _ in range(2) for by in ("root", "set")], rows
    assert all(row["bytes"] > 4 and row["per_second"] > 0 for row in rows), rows


def watched(command):
    rounds = told(command, "--rounds", "2", "--seconds", "0.5")["rounds"]
    assert len(rounds) == 2, rounds
    assert all(each[name] > 0 for each in rounds for name in ("alone_pps", "asked_pps", "asked")), rounds


def soak(command):
    needs(cpus=2)
    # Stops, and the load of other tests, may outlast a window on few CPUs.
    found = told(command, "--minutes", "0.2", "--rest", "5", "--without", "stop")
    assert found["last"]["received"] > 0 and found["rests"] >= 2, found
    assert found["events"]["stop"] == 0, found


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2:])
