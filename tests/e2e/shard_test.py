#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap --shard I/N`: N processes together keep, drop and pair exactly what one process
does.

Every capture of the repository and of the shared data, with keys, windows and numbers of shards in
rotation. The pairs of all shards are those of one process. Each record is in one shard's output or
in its echoes, and both directions of a flow are in the same shard. Merged by mergecap, the outputs
equal the capture that one process writes.
"""
import itertools
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys

import harness
from harness import PCAPS, ROOT, SHARED

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "captures"))
import traffic  # noqa: E402

SEED = ("--seed", "7")
WAYS = (
    ("--key", "packet"),
    ("--key", "packet", "--window", "1s", "--policy", "refresh", "--non-ip", "frame"),
    ("--key", "flow", "--first", "3", "--window", "1s"),
    ("--key", "frame", "--window", "inf"),
    ("--key", "flow-bidir", "--window", "1s"),
    ("--key", "packet", "--window", "inf", "--tunnels", "all"),
    ("--key", "packet", "--key-bytes", "24", "--window", "inf"),
    # A shard learns only from its own packets which populations a mirror shows twice.
    ("--key", "frame", "--ignore-bytes", "14", "--window", "1s", "--second-looks", "all"),
)


def records_of(path):
    """Return (seconds, fraction, bytes) of each packet of a little-endian nanosecond pcap,
    sorted."""
    data = pathlib.Path(path).read_bytes()
    assert data[:4] == bytes.fromhex("4d3cb2a1"), path
    found, at = [], 24
    while at < len(data):
        seconds, fraction, length, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds, fraction, data[at + 16:at + 16 + length]))
        at += 16 + length
    return sorted(found)


def pairs_of(path):
    lines = path.read_text(encoding="ascii").splitlines()
    return sorted(lines[1:], key=lambda line: int(line.split(",")[0]))


def assert_same(test, found, expected):
    """Compare many records; assertEqual takes minutes to show where long lists differ."""
    if found != expected:
        odd = sorted(set(found) - set(expected))[:3]
        test.fail("%d instead of %d; the first that are not expected: %r"
                  % (len(found), len(expected), odd))


def captures():
    shared = SHARED / "captures"
    return sorted([*PCAPS.glob("*.pcap"), *shared.glob("*.pcap"), *shared.glob("*.pcapng")])


class ShardTest(harness.E2eTest):
    def pcap(self, inputs, *arguments, status=0):
        result = harness.unecho("pcap", *inputs, "--json", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout) if result.stdout else result.stderr

    def outputs(self, name, inputs):
        """Return arguments, and the paths of kept, dropped and paired packets, for one process. A
        pcapng may have several link types, which a pcap cannot hold; then only the pairs are
        written."""
        kept, dropped, pairs = (self.folder / (name + end) for end in (".pcap", ".dropped.pcap", ".csv"))
        if inputs[0].suffix == ".pcapng":
            return ("--pairs", pairs), (None, None, pairs)
        return (("-o", kept, "--dropped", dropped, "--pairs", pairs, "-F", "nsecpcap"),
                (kept, dropped, pairs))

    def compare(self, inputs, way, shards):
        """Compare one process with so many shards; return the shards' reports."""
        arguments, one = self.outputs("one", inputs)
        whole = self.pcap(inputs, *way, "--engine", "exact", *SEED, *arguments,
                          status=self.status_of(inputs))
        if isinstance(whole, str):
            return None
        parts, reports = [], []
        for index in range(1, shards + 1):
            arguments, paths = self.outputs("part%d" % index, inputs)
            parts.append(paths)
            reports.append(self.pcap(inputs, *way, "--shard", "%d/%d" % (index, shards), *SEED,
                                     *arguments, status=self.status_of(inputs)))
        for report in reports:
            self.assertEqual(report["read"], whole["packets"])
            self.assertEqual(report["duration_ns"], whole["duration_ns"])
        for field in ("packets", "bytes", "wire_bytes", "kept", "dropped", "dropped_wire_bytes"):
            self.assertEqual(sum(report[field] for report in reports), whole[field], field)
        for reason in set(whole["reasons"]).union(*(report["reasons"] for report in reports)):
            self.assertEqual(sum(report["reasons"].get(reason, 0) for report in reports),
                             whole["reasons"].get(reason, 0), reason)
        for kind in (0, 1) if one[0] else ():
            merged = sorted(itertools.chain(*(records_of(part[kind]) for part in parts)))
            assert_same(self, merged, records_of(one[kind]))
        pairs = sorted(itertools.chain(*(pairs_of(part[2]) for part in parts)),
                       key=lambda line: int(line.split(",")[0]))
        assert_same(self, pairs, pairs_of(one[2]))
        return reports

    def status_of(self, inputs):
        """Return 3 if an input is damaged; the single run and the shards must agree."""
        path = str(inputs[0])
        return self.statuses.setdefault(path, subprocess.run(
            [os.environ["UNECHO_BIN"], "pcap", *map(str, inputs), "--dry-run", "--quiet"],
            capture_output=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL).returncode)

    def setUp(self):
        super().setUp()
        self.statuses = {}

    def test_shards_are_one_process_on_every_capture(self):
        compared = echoes = malformed = 0
        for turn, path in enumerate(captures()):
            for way in (WAYS[turn % len(WAYS)], WAYS[(turn + 3) % len(WAYS)]):
                with self.subTest(path.name, way=way):
                    reports = self.compare([path], way, 2 + turn % 4)
                    compared += 1
                    echoes += sum(report["dropped"] for report in reports)
                    if "frame" not in way[1]:
                        malformed += reports[0]["reasons"]["malformed"]
                        if way[1] == "packet":  # with a flow key, ports may be cut off too
                            self.assertEqual([report["reasons"]["malformed"]
                                              for report in reports[1:]], [0] * len(reports[1:]))
        self.assertGreaterEqual(compared, 16)
        self.assertGreater(echoes, 1000)
        self.assertGreater(malformed, 0)

    def made(self, packets=30_000):
        capture = self.folder / "in.pcap"
        subprocess.run([sys.executable, ROOT / "bench/captures/traffic.py", capture, "--packets",
                        str(packets)], check=True, timeout=harness.PATIENCE)
        return capture

    def test_several_inputs_and_one_shard(self):
        taps = [PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap"]
        self.assertGreater(sum(report["dropped"] for report in self.compare(taps, WAYS[0], 3)), 0)
        self.assertEqual(len(self.compare(taps, WAYS[0], 1)), 1)

    def test_marks_are_those_of_one_process(self):
        def marked(*arguments):
            out = self.folder / "marked.pcapng"
            self.pcap([PCAPS / "one-link.pcap"], "--mark", "-o", out, *SEED, *arguments)
            lines = subprocess.run(["tshark", "-r", out, "-T", "fields", "-e", "frame.time_epoch",
                                    "-e", "frame.comment", "-e", "ip.id"],
                                   capture_output=True, text=True, check=True, timeout=harness.PATIENCE).stdout
            return lines.splitlines()
        whole = marked("--engine", "exact")
        parts = [marked("--shard", "%d/3" % index) for index in (1, 2, 3)]
        self.assertEqual(sorted(itertools.chain(*parts)), sorted(whole))
        self.assertTrue(any("repeats" in line or "echo" in line for line in whole))
        self.assertTrue(all(0 < len(part) < len(whole) for part in parts))

    def test_mergecap_makes_the_capture_of_one_process(self):
        capture, out = self.made(), self.folder / "merged.pcap"
        self.compare([capture], ("--window", "10ms"), 3)
        subprocess.run(["mergecap", "-F", "nsecpcap", "-w", out,
                        *(self.folder / ("part%d.pcap" % index) for index in (1, 2, 3))],
                       check=True, timeout=harness.PATIENCE)
        assert_same(self, records_of(out), records_of(self.folder / "one.pcap"))

    def test_a_shard_that_is_killed_leaves_nothing_and_is_run_again(self):
        capture, out = self.made(), self.folder / "part2.pcap"
        shard = [os.environ["UNECHO_BIN"], "pcap", "-", "-o", str(out), "--quiet", *SEED, "--shard",
                 "2/3", "--window", "10ms"]
        before = b"of a run before"
        out.write_bytes(before)
        with subprocess.Popen(shard, stdin=subprocess.PIPE) as process:
            process.stdin.write(capture.read_bytes()[:1 << 20])
            process.stdin.flush()
            harness.wait_for(lambda: any(self.folder.glob(".part2.pcap.unecho-*")),
                               "a temporary file")
            process.send_signal(signal.SIGKILL)
            process.wait(60)
            process.stdin.close()
            process.stdin = None
        self.assertEqual(out.read_bytes(), before)
        self.compare([capture], ("--window", "10ms"), 3)

    def seed_file(self, text, mode=0o600):
        path = self.folder / "seed"
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_a_seed_in_a_file_is_the_seed(self):
        out = self.folder / "out.pcap"
        given = []
        for seed in (SEED, ("--seed-file", self.seed_file("7\n")), ("--seed", "8")):
            self.pcap([PCAPS / "flows.pcap"], "-o", out, "-F", "nsecpcap", *seed, "--shard", "1/3")
            given.append(records_of(out))
        self.assertGreater(len(given[0]), 0)
        self.assertEqual(given[0], given[1])
        self.assertNotEqual(given[0], given[2])

    def test_a_seed_file_that_is_none_is_one_line(self):
        """By pcap and analyze alike. The file's content is not printed, because it may be a
        secret."""
        seed = self.folder / "seed"
        number = "%s: its first line is no seed; allowed: a whole number from 0 to %d" % (
            seed, 2 ** 64 - 1)
        others = "%s: others than its owner may use it; chmod 600" % seed
        for text, mode, error in (("", 0o600, number), ("password\n", 0o600, number),
                                  ("-1\n", 0o600, number), ("7 8\n", 0o600, number),
                                  ("%d\n" % 2 ** 64, 0o600, number), ("7\n", 0o640, others),
                                  ("7\n", 0o604, others), ("7\n", 0o644, others)):
            self.seed_file(text, mode)
            for command in ("pcap", "analyze"):
                with self.subTest(command, text=text, mode=oct(mode)):
                    self.refused(command, error, "--seed-file", seed)
        for command in ("pcap", "analyze"):
            self.refused(command, "not together with --seed", *SEED, "--seed-file", seed)
            self.refused(command, "/nowhere: No such file or directory", "--seed-file", "/nowhere")
            self.refused(command, "%s: is no file" % self.folder, "--seed-file", self.folder)

    def refused(self, command, error, *seed):
        more = ("--dry-run",) if command == "pcap" else ()
        result = harness.unecho(command, PCAPS / "flows.pcap", *more, *seed, "--shard", "1/3")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (2, "", "unecho: --seed-file: " + error + "\n"))


if __name__ == "__main__":
    harness.main()
