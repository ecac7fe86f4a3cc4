#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap` in practical use: right packets, complete files and clear messages for any input.

pcap_table_test.py compares every window and key. Here are the other options, the outputs, the
engines that are not exact, and all kinds of failures.
"""

import collections
import gzip
import harness
import itertools
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import frames  # noqa: E402  harness has put tools/ on the path
import made_captures
from harness import MS, PCAPS, ROOT, SHARED, US, exact_answer

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "captures"))
import traffic  # noqa: E402

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
DROPS_NOTHING = ("--editcap", "--count", "1", "--quiet")
Record = collections.namedtuple("Record", "time length wire data")


def records_of(path, opener=open):
    """Return (header, records) of a little-endian pcap."""
    with opener(path, "rb") as file:
        data = file.read()
    records, at = [], 24
    while at < len(data):
        seconds, fraction, length, wire = struct.unpack_from("<IIII", data, at)
        records.append(Record((seconds, fraction), length, wire, data[at + 16:at + 16 + length]))
        at += 16 + length
    return data[:24], records


def everything_in(descriptor):
    """Return what remains in a pipe or terminal whose other end was closed."""
    data = b""
    while True:
        try:
            more = os.read(descriptor, 65536)
        except OSError:  # the end of a terminal
            return data
        if not more:
            return data
        data += more


class PcapTest(harness.E2eTest):
    @classmethod
    def setUpClass(cls):
        cls.binary = os.path.abspath(os.environ["UNECHO_BIN"])

    def run_pcap(self, *arguments, wrapper=(), **options):
        options = {"stdin": subprocess.DEVNULL, **options}
        done = subprocess.run([*wrapper, self.binary, "pcap", *map(str, arguments)], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.PATIENCE,
                              cwd=self.folder, **options)
        return harness.Result(done.returncode, done.stdout, done.stderr.decode())

    def pcap(self, *arguments, **options):
        result = self.run_pcap(*arguments, **options)
        self.assertEqual(result.status, 0, result)
        return result

    def summary(self, *arguments):
        """Return the JSON summary of a run that must succeed; its numbers must add up."""
        summary = json.loads(self.pcap(*arguments, "--json").out)
        reasons = summary["reasons"]
        self.assertEqual(summary["packets"], sum(reasons.values()))
        self.assertEqual(summary["dropped"], reasons["echo"])
        self.assertEqual(summary["packets"], summary["kept"] + summary["dropped"])
        self.assertEqual(summary["bytes"], summary["kept_bytes"] + summary["dropped_bytes"])
        return summary

    def pairs(self, *arguments, columns=3):
        path = self.folder / "pairs.csv"
        self.pcap(*arguments, "--pairs", path, "--quiet")
        lines = path.read_text().splitlines()
        self.assertEqual(len(lines[0].split(",")), columns, lines[0])
        return [tuple(int(field) if re.fullmatch(r"-?\d+", field) else field
                      for field in line.split(",")) for line in lines[1:]]

    def assert_refused(self, result, status, *words):
        lines = result.err.splitlines()
        self.assertEqual((result.status, result.out, len(lines)), (status, b"", 1), result)
        self.assertTrue(lines[0].startswith("unecho: "), result)
        for word in words:
            self.assertIn(word, result.err)

    def left_over(self):
        return sorted(path.name for path in self.folder.iterdir() if ".unecho-" in path.name)


class Answers(PcapTest):
    def test_known_echoes_of_made_traffic(self):
        """Each copy is reported with its original and its age; near copies are not."""
        capture, packets = self.folder / "made.pcap", []
        traffic.write(capture, count=30_000, rate=1e6, seed=3)
        for number, (_, _, original, age, _) in enumerate(
                traffic.packets(count=30_000, rate=1e6, seed=3), 1):
            if original is not None:
                packets.append((number, original, age))
        self.assertGreater(len(packets), 4000)
        self.assertEqual(self.pairs(capture, "--window", "inf"), packets)
        self.assertEqual(self.pairs(capture, "--window", "200us"),
                         [echo for echo in packets if echo[2] < 200 * US])

    def by_definition(self, packets, window, count, policy):
        """An echo repeats one of so many earlier packets, and is younger than the window."""
        references, echoes = {}, []
        times = harness.filter_times((packet.time for packet in packets), window)
        for number, (now, packet) in enumerate(zip(times, packets), 1):
            identity = harness.identity_of("packet", packet.data)
            if identity is None:
                continue
            then, reference = references.get(identity, (None, None))
            echo = then is not None and number - reference <= count and \
                (window is None or now - then < window)
            if echo:
                echoes.append((number, reference, now - then))
            if not echo or policy == "refresh":
                references[identity] = now, number
        return echoes

    def test_count_and_window_by_their_definition(self):
        total = 0
        for name, window, count, policy in itertools.product(
                ("edges.pcap", "two-taps-b.pcap"), (None, "2ms"), (1, 3, 100),
                harness.exact_answer.POLICIES):
            packets = list(exact_answer.Capture(PCAPS / name))
            expected = self.by_definition(packets, window and exact_answer.duration(window), count,
                                          policy)
            given = self.pairs(PCAPS / name, "--count", count, "--policy", policy,
                               *(("--window", window) if window else ()))
            self.assertEqual(given, expected, (name, window, count, policy))
            total += len(given)
        self.assertGreater(total, 500)

    def test_first_packets_of_a_flow(self):
        for capture, key, first, policy in itertools.product(
                (PCAPS / "flows.pcap", PCAPS / "edges.pcap"), ("flow", "flow-bidir"), (1, 2, 5),
                harness.exact_answer.POLICIES):
            packets = list(exact_answer.Capture(capture))
            expected = [
                (number, answer.reference, answer.age) for number, answer in enumerate(
                    exact_answer.answers(packets, key, 50 * MS, policy, first), 1)
                if answer.kind == "echo"]
            self.assertGreater(len(expected), 10)
            self.assertEqual(self.pairs(capture, "--key", key, "--first", first, "--policy",
                                        policy), expected, (capture.name, key, first, policy))


class NonIp(PcapTest):
    """ARP, LLDP, GOOSE and STP, each repeated: unchanged, tagged, padded, with one bit changed;
    packets between them."""

    def frame_of(self, draw):
        if draw.random() < 0.3:
            ip = frames.ipv4("192.0.2.1", "192.0.2.%d" % draw.randrange(5), frames.UDP, b"payload!")
            return frames.ethernet(frames.routed(ip, draw.randrange(3)))
        ethertype = draw.choice((0x0806, 0x88CC, 0x88B8, 38, 0x8847))
        body = b"\0\0\0\1" + bytes((draw.randrange(3),)) + bytes(draw.choice((22, 40, 41, 200)))
        if ethertype == 0x8847:
            body = draw.choice((b"\0\1\1\x40", b"\0\2\0\x40\0\3\1\x40")) + body
        tags = draw.choice(((), ((0x8100, 7),), ((0x88A8, 1), (0x8100, 2))))
        frame = frames.ethernet(body, ethertype, tags=tags, pad=draw.random() < 0.5)
        if draw.random() < 0.1:
            at = draw.randrange(len(frame))
            frame = frame[:at] + bytes((frame[at] ^ 1,)) + frame[at + 1:]
        return frame[:draw.randrange(len(frame))] if draw.random() < 0.02 else frame

    def setUp(self):
        super().setUp()
        draw, time = random.Random(5), 0
        made = []
        for _ in range(3000):
            time += draw.randrange(2 * MS)
            made.append((time, self.frame_of(draw)))
        self.capture = self.folder / "made.pcap"
        self.capture.write_bytes(frames.pcap(made, nanoseconds=True))
        self.packets = list(exact_answer.Capture(self.capture))

    def test_equal_ones_are_echoes_by_the_definition(self):
        for key, window, policy in (("packet", "20ms", "fixed"), ("packet", "inf", "refresh"),
                                    ("flow-bidir", "100ms", "fixed")):
            with self.subTest(key=key, window=window):
                reasons = {"non_ip": collections.Counter(), "malformed": collections.Counter()}
                answers = exact_answer.answers(
                    self.packets, key, exact_answer.duration(window), policy, 1, reasons, "frame")
                expected = [(number, answer.reference, answer.age)
                            for number, answer in enumerate(answers, 1) if answer.kind == "echo"]
                self.assertGreater(len(expected), 500)
                self.assertGreater(sum(reasons["malformed"].values()), 3)
                given = ("--key", key, "--window", window, "--policy", policy, "--repeats", "drop")
                self.assertEqual(self.pairs(self.capture, "--non-ip", "frame", *given), expected)
                summary = self.summary(self.capture, "--dry-run", "--non-ip", "frame", *given)
                self.assertEqual((summary["dropped"], summary["reasons"]["non_ip"],
                                  summary["non_ip"], summary["non_ip_types"]),
                                 (len(expected), 0, "frame", []))


class Tags(PcapTest):
    """A router is the VRRP master of 20 VLANs of a trunk: the same advertisement in each, every
    second. ARP is in each VLAN too."""

    def test_equal_packets_in_two_vlans_are_two_where_tags_are_compared(self):
        hello = frames.ipv4("192.0.2.5", "224.0.0.18", 112, b"advertisement")
        made = []
        for second, vlan in itertools.product(range(5), range(20)):
            for copy in range(2):
                time = second * 1000 * MS + vlan * 200 * US + copy * US
                made += [(time, frames.ethernet(hello, tags=((0x8100, copy << 13 | vlan),))),
                         (time, frames.ethernet(bytes(28), frames.ARP, tags=((0x8100, vlan),)))]
        capture = self.folder / "trunk.pcap"
        capture.write_bytes(frames.pcap(made))
        for tags, dropped in (("compare", 200), ("ignore", 390)):
            given = ("--tags", tags, "--non-ip", "frame", "--window", "100ms", "--repeats", "drop")
            summary = self.summary(capture, "--dry-run", *given)
            self.assertEqual((summary["tags"], summary["dropped"]), (tags, dropped))
            inner = exact_answer.inner_of("packet", tags=tags)
            answers = exact_answer.answers(exact_answer.Capture(capture), "packet", 100 * MS,
                                           non_ip="frame", inner=inner)
            expected = [(number, answer.reference, answer.age)
                        for number, answer in enumerate(answers, 1) if answer.kind == "echo"]
            self.assertEqual(self.pairs(capture, *given), expected)
        self.assertEqual(self.summary(capture, "--dry-run")["tags"], "ignore")
        self.assertIsNone(self.summary(capture, "--dry-run", "--key", "frame")["tags"])


class Merging(PcapTest):
    def test_taps_are_merged_by_time(self):
        paths = [PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap"]
        merged = list(exact_answer.merged([exact_answer.Capture(path) for path in paths]))
        answers = list(exact_answer.answers([packet for _, packet in merged], window=50 * MS))
        out = self.folder / "out.pcap"
        pairs = self.pairs(*paths, "-o", out, "--repeats", "drop", columns=5)
        self.assertEqual(pairs, [
            (number, answer.reference, answer.age, str(paths[merged[number - 1][0]]),
             str(paths[merged[answer.reference - 1][0]]))
            for number, answer in enumerate(answers, 1) if answer.kind == "echo"])
        self.assertGreater(sum(pair[3] != pair[4] for pair in pairs), 100)
        self.assertEqual([record.data for record in records_of(out)[1]],
                         [packet.data for (_, packet), answer in zip(merged, answers)
                          if answer.kind != "echo"])

    @unittest.skipUnless(shutil.which("mergecap"), "no mergecap")
    def test_the_order_is_that_of_mergecap(self):
        paths = [PCAPS / "two-taps-a.pcap", PCAPS / "two-taps-b.pcap"]
        subprocess.run(["mergecap", "-F", "pcap", "-w", self.folder / "merged.pcap", *paths],
                       check=True)
        self.pcap(*paths, "-o", "out.pcap", *DROPS_NOTHING)
        self.pcap("merged.pcap", "-o", "one.pcap", *DROPS_NOTHING)
        self.assertEqual(records_of(self.folder / "out.pcap")[1],
                         records_of(self.folder / "one.pcap")[1])


class Editcap(PcapTest):
    """The packets that editcap drops, also by the definition of what editcap does."""

    CASES = (("--window", "10ms", "-w", "0.01"), ("--window", "1us", "-w", "0.000001"),
             ("--window", "2s", "-w", "2"), ("--count", "5", "-D", "5"),
             ("--count", "2", "-D", "2"), ("--count", "1000", "-D", "1000"))

    def captures(self):
        made = self.folder / "made.pcap"
        traffic.write(made, count=5000, rate=1e6, seed=5)
        own = [made, PCAPS / "one-link.pcap", PCAPS / "edges.pcap"]
        return own + [SHARED / "captures" / name for name in (
            "ics-modbus-test-2.pcap", "suricata-dnp3-time-back.pcap", "ndpi-1kxun.pcap",
            "arkime-retrans.pcap", "zeek-ssh-dups.pcap") if (SHARED / "captures" / name).exists()]

    @unittest.skipUnless(shutil.which("editcap"), "no editcap")
    def test_editcap_itself_drops_the_same(self):
        dropped = 0
        for capture in self.captures():
            for ours, value, theirs, its in self.CASES:
                self.pcap(capture, "-o", "ours.pcap", "--editcap", ours, value, "--quiet")
                subprocess.run(["editcap", "-F", "nsecpcap", theirs, its, capture,
                                self.folder / "theirs.pcap"], check=True,
                               stderr=subprocess.DEVNULL)
                given = [packet.data for packet in exact_answer.Capture(self.folder / "ours.pcap")]
                expected = list(exact_answer.Capture(self.folder / "theirs.pcap"))
                self.assert_frames(given, [packet.data for packet in expected],
                                   "%s %s %s" % (capture.name, ours, value))
                dropped += sum(1 for _ in exact_answer.Capture(capture)) - len(given)
        self.assertGreater(dropped, 1000)


class Engines(PcapTest):
    """No miss inside the window, and no false drop with a bound of 1e-6."""

    def judge(self, packets, dropped, window, slack, key, policy="fixed"):
        """Return the numbers of packets that were missed, and of those falsely dropped."""
        references, missed, wrong = {}, [], []
        times = harness.filter_times((packet.time for packet in packets), window)
        for number, (now, packet) in enumerate(zip(times, packets), 1):
            try:
                identity = exact_answer.key_of(key, packet.data)
            except exact_answer.NoKey:
                identity = None
            then = references.get(identity) if identity is not None else None
            if number in dropped:
                if then is None or now - then >= window + slack:
                    wrong.append(number)
            elif then is not None and now - then < window:
                missed.append(number)
            if identity is not None and (number not in dropped or policy == "refresh"):
                references[identity] = now
        return missed, wrong

    def check(self, capture, packets, *arguments, window, key="packet", policy="fixed"):
        """Return the summary of a run whose verdicts keep the promise."""
        path = self.folder / "pairs.csv"
        summary = self.summary(capture, "--key", key, "--window", "%dns" % window, "--policy",
                               policy, "--pairs", path, "--seed", 1, "--repeats", "drop",
                               *arguments)
        with open(path, encoding="ascii") as file:
            dropped = {int(line.split(",")[0]) for line in itertools.islice(file, 1, None)}
        self.assertEqual(len(dropped), summary["dropped"])
        self.assertEqual(summary["reasons"]["doubt"], 0)
        self.assertLessEqual(summary["slack_ns"], window)
        self.assertEqual(self.judge(packets, dropped, window, summary["slack_ns"], key, policy),
                         ([], []), arguments)
        return summary

    def test_every_engine_keeps_its_promise(self):
        """Each key, window and policy with each capture; engines rotate."""
        engines = itertools.cycle(harness.SLIDING_ENGINES)
        for name in ("one-link.pcap", "edges.pcap", "flows.pcap"):
            packets = list(exact_answer.Capture(PCAPS / name))
            for (key, window), policy in itertools.product(
                    (("packet", 50 * MS), ("flow", MS), ("frame", 1000 * MS)),
                    exact_answer.POLICIES):
                engine = next(engines)
                summary = self.check(PCAPS / name, packets, "--engine", engine, "--memory",
                                     "32MiB", "--jobs", 1, window=window, key=key, policy=policy)
                self.assertEqual(summary["engine"], engine)
            next(engines)

    def test_a_full_table_hands_over_and_misses_nothing(self):
        capture = self.folder / "made.pcap"
        traffic.write(capture, count=60_000, rate=2e6, seed=4, echoes=0.3)
        packets = list(exact_answer.Capture(capture))
        for policy in exact_answer.POLICIES:
            summary = self.check(capture, packets, "--memory", "24MiB", "--jobs", 1,
                                 window=40 * MS, policy=policy)
            self.assertIn(summary["engine"], ("line", "fingerprint", "apbbf"))
            self.assertGreater(summary["handed_over_at"], 1000)
            self.assertLess(summary["handed_over_at"], 50_000)
            self.assertIn("packet %d: more packets in the window than fit into --memory; from here "
                          "on %s" % (summary["handed_over_at"], summary["engine"]),
                          "".join(summary["warnings"]))
            self.assertIn("at most 1e-06", "".join(summary["warnings"]))

    def test_without_a_window_the_oldest_are_forgotten_aloud(self):
        capture = self.folder / "made.pcap"
        traffic.write(capture, count=60_000, seed=4)
        for window in (("--window", "inf"), ("--count", 1_000_000)):
            result = self.pcap(capture, "--dry-run", "--memory", "22MiB", "--jobs", 1,
                               "--repeats", "drop", *window)
            self.assertRegex(result.err, r"warning: [\d,]+ packets were forgotten inside their window")

    def test_a_filter_too_small_shortens_the_window_aloud(self):
        """Every dropped packet is an echo, and each echo younger than the shortest window is
        dropped."""
        capture = self.folder / "made.pcap"
        made = list(traffic.packets(count=150_000, rate=1e6, seed=10))
        traffic.write(capture, count=150_000, rate=1e6, seed=10)
        path = self.folder / "pairs.csv"
        summary = self.summary(capture, "--window", "1h", "--engine", "line", "--jobs", 1,
                               "--memory", "23MiB", "--max-false-drop", "1e-9", "--pairs", path,
                               "--seed", 1, "--repeats", "drop")
        shortest = summary["shortest_window_ns"]
        self.assertLess(shortest, summary["duration_ns"])
        self.assertGreater(shortest, 20 * MS)
        self.assertGreater(summary["early_turns"], 5)
        self.assertLess(summary["shortest_window_at_ns"], summary["duration_ns"])
        self.assertRegex("".join(summary["warnings"]),
                         "the window was shorter than asked for, [0-9.]+ ms at the least, [0-9.]+ ms "
                         "after the first packet: .* give more --memory or a smaller --window")
        echoes = {number: age for number, (_, _, original, age, _) in enumerate(made, 1)
                  if original is not None}
        dropped = {int(line.split(",")[0]) for line in path.read_text().splitlines()[1:]}
        self.assertEqual(dropped - set(echoes), set())
        missed = [number for number in set(echoes) - dropped if echoes[number] < shortest]
        self.assertLessEqual(len(missed), summary["reasons"]["doubt"])
        self.assertGreater(len(dropped), 0.99 * len(echoes))

    def test_auto_loses_no_more_than_a_table_that_forgets(self):
        """Young and old echoes, in a window that fits into neither table nor filter."""
        capture = self.folder / "made.pcap"
        for median, early in ((100e3, True), (30e6, False)):
            traffic.write(capture, count=60_000, rate=1e6, seed=12, median=median)
            exact, auto = (self.summary(capture, "--window", "10s", "--engine", engine, "--memory",
                                        "21MiB", "--jobs", 1, "--seed", 1, "--dry-run", "--repeats", "drop")
                           for engine in ("exact", "auto"))
            self.assertGreaterEqual(auto["dropped"], exact["dropped"])
            self.assertLess(auto["reasons"]["doubt"], 10)
            self.assertEqual(auto["handed_over_at"] is None, early)
            self.assertGreater(auto["forgotten"] if early else auto["dropped"] - exact["dropped"],
                               1000)


class Files(PcapTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "in.pcap"
        shutil.copy(PCAPS / "one-link.pcap", self.capture)

    def test_kept_and_dropped_are_the_input(self):
        for name in ("one-link.pcap", "edges.pcap", "jumbo.pcap"):
            self.pcap(PCAPS / name, "-o", "kept.pcap", "--dropped", "dropped.pcap")
            dropped = {pair[0] for pair in self.pairs(PCAPS / name)}
            everything = list(exact_answer.Capture(PCAPS / name))
            for path, wanted in (("kept.pcap", False), ("dropped.pcap", True)):
                expected = [packet for number, packet in enumerate(everything, 1)
                            if (number in dropped) == wanted]
                self.assertEqual(list(exact_answer.Capture(self.folder / path)), expected)
        self.assertEqual(self.left_over(), [])

    def test_jobs_change_nothing(self):
        made = self.folder / "made.pcap"
        traffic.write(made, count=40_000, seed=8)
        for capture, *options in ((made,), (self.capture, PCAPS / "flows.pcap"),
                                  (made, "--engine", "apbbf", "--seed", 1)):
            outputs = []
            for jobs in (1, 2, 5):
                self.pcap(capture, *options, "--jobs", jobs, "-o", "out.pcap", "--pairs", "p.csv",
                          "--memory", "128MiB", "--quiet")
                outputs.append([(self.folder / name).read_bytes()
                                for name in ("out.pcap", "p.csv")])
            self.assertEqual(outputs[0], outputs[1])
            self.assertEqual(outputs[0], outputs[2])

    def test_compressed_and_piped(self):
        self.pcap(self.capture, "-o", "out.pcap")
        plain = (self.folder / "out.pcap").read_bytes()
        (self.folder / "in.pcap.gz").write_bytes(gzip.compress(self.capture.read_bytes()))
        self.pcap("in.pcap.gz", "-o", "out.pcap.gz")
        self.assertEqual(gzip.decompress((self.folder / "out.pcap.gz").read_bytes()), plain)
        with open(self.capture, "rb") as file:
            result = self.pcap("-", "-o", "-", "--quiet", stdin=file)
        self.assertEqual((result.out, result.err), (plain, ""))
        self.pcap(self.capture, "-o", "out.pcapng")
        self.pcap("out.pcapng", "-o", "again.pcap", *DROPS_NOTHING)
        self.assertEqual(records_of(self.folder / "again.pcap")[1],
                         records_of(self.folder / "out.pcap")[1])

    def test_a_dry_run_writes_nothing(self):
        before = sorted(self.folder.iterdir())
        result = self.pcap(self.capture, "--dry-run", "-o", "out.pcap")
        self.assertIn("dry run: nothing written", result.err)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_bytes_on_the_wire_are_those_of_whole_packets(self):
        packets = made_captures.packets("one-link.pcap")
        (self.folder / "cut.pcap").write_bytes(made_captures.pcap(
            "<", True, made_captures.ETHERNET, packets, snaplen=64))
        lengths = [len(data) for _, data in packets]
        dropped = [lengths[pair[0] - 1] for pair in self.pairs("cut.pcap")]
        summary = self.summary("cut.pcap", "-o", "out.pcap")
        self.assertEqual((summary["wire_bytes"], summary["dropped_wire_bytes"]),
                         (sum(lengths), sum(dropped)))
        self.assertEqual(summary["bytes"], sum(min(size, 64) for size in lengths))
        self.assertGreater(sum(dropped), summary["dropped_bytes"])

    def test_long_runs_show_progress_on_a_terminal_alone(self):
        data = self.capture.read_bytes()
        for on_terminal in (True, False):
            leader, follower = pty.openpty() if on_terminal else os.pipe()
            process = subprocess.Popen([self.binary, "pcap", "-", "--dry-run"], stderr=follower,
                                       stdin=subprocess.PIPE)
            os.close(follower)
            process.stdin.write(data[:5000])
            process.stdin.flush()
            time.sleep(1.2)
            process.stdin.write(data[5000:])
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
            shown = everything_in(leader)
            os.close(leader)
            self.assertEqual(b"\r\x1b[K" in shown, on_terminal, shown)
            self.assertIn(b"dry run", shown)

    def test_help_and_manual_name_the_same_options(self):
        names = re.compile(r"--[a-z][a-z-]+")
        told = set(names.findall(self.pcap("--help").out.decode())) - {"--help"}
        manual = (ROOT / "docs" / "captures.md").read_text(encoding="utf-8")
        rows = [line for line in manual.splitlines() if line.startswith("| `-")]
        self.assertEqual({name for row in rows for name in names.findall(row.split("|")[1])}, told)

    def test_link_types_without_a_parser_pass(self):
        data = self.capture.read_bytes()
        self.capture.write_bytes(data[:20] + struct.pack("<I", 147) + data[24:])
        summary = self.summary("in.pcap", "-o", "out.pcap")
        self.assertEqual((summary["dropped"], summary["reasons"]["unparsed"]),
                         (0, summary["packets"]))
        words = "link type 147 (USER0) without a parser: packets pass without a key; --non-ip"
        self.assertIn("packet 1: " + words, "".join(summary["warnings"]))
        self.assertIn("({:,} times)".format(summary["packets"]), "".join(summary["warnings"]))
        done = subprocess.run([self.binary, "analyze", "--json", "in.pcap"], check=True,
                              cwd=self.folder, capture_output=True, timeout=harness.PATIENCE)
        said = json.loads(done.stdout)["warnings"]
        self.assertEqual(
            ["%s: packet %d: %s (%s times)" % (one["file"], one["number"], one["text"],
                                               format(one["times"], ",")) for one in said],
            summary["warnings"])
        self.assertEqual((self.folder / "out.pcap").read_bytes()[24:], data[24:])
        self.assertGreater(self.summary("in.pcap", "--dry-run", "--key", "frame", "--window",
                                        "inf", "--repeats", "drop")["dropped"], 0)


class Refusals(PcapTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "in.pcap"
        shutil.copy(PCAPS / "one-link.pcap", self.capture)

    def test_files_that_are_no_captures(self):
        (self.folder / "directory").mkdir()
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "photo.jpg").write_bytes(
            bytes.fromhex("ffd8ffe000104a46494600010100000100010000") + bytes(100))
        (self.folder / "text").write_text("this is no capture\n" * 10)
        for name, word in (("missing.pcap", "missing.pcap"), ("directory", "directory"),
                           ("empty", "empty"), ("photo.jpg", "JPEG"), ("text", "text"),
                           ("in.pcap/x", "in.pcap")):
            with self.subTest(file=name):
                self.assert_refused(self.run_pcap(name, "-o", "out.pcap"), 1, name, word)
                self.assertFalse((self.folder / "out.pcap").exists())

    def test_outputs_that_cannot_be(self):
        (self.folder / "directory").mkdir()
        for name in ("directory", "no/such/folder/out.pcap", "in.pcap/out.pcap"):
            with self.subTest(output=name):
                self.assert_refused(self.run_pcap("in.pcap", "-o", name), 1, name)
        os.link(self.capture, self.folder / "linked.pcap")
        before = self.capture.read_bytes()
        for name in ("in.pcap", "./in.pcap", "linked.pcap"):
            for option in ("-o", "--dropped", "--pairs"):
                with self.subTest(output=name, option=option):
                    self.assert_refused(self.run_pcap("in.pcap", option, name), 2, option, name)
        self.assert_refused(self.run_pcap("in.pcap", "-o", "x.pcap", "--dropped", "./x.pcap"), 2,
                            "--dropped", "x.pcap")
        os.symlink("y.pcap", self.folder / "to-y")
        self.assert_refused(self.run_pcap("in.pcap", "-o", "to-y", "--dropped", "y.pcap"), 2,
                            "--dropped", "y.pcap")
        os.symlink("loop", self.folder / "loop")
        self.assert_refused(self.run_pcap("in.pcap", "-o", "loop"), 1, "loop", "symbolic links")
        self.assertEqual(self.capture.read_bytes(), before)
        self.assertEqual(self.left_over(), [])

    def test_pipes_that_do_not_wait(self):
        """Standard output is a pipe of any kind; no data is lost."""
        traffic.write(self.folder / "made.pcap", count=5_000, seed=9)
        for command in (("pcap", "made.pcap", "-o", "-", "--quiet"),
                        ("pcap", "made.pcap", "--json", "--dry-run", "--seed", "1"),
                        ("analyze", "made.pcap", "--html", "-"),
                        ("size", "--window", "50ms", "--memory", "64MiB", "--json")):
            plain = subprocess.run([self.binary, *command], check=True, capture_output=True,
                                   cwd=self.folder, timeout=harness.PATIENCE).stdout
            ends = os.pipe()
            os.set_blocking(ends[1], False)
            full = os.write(ends[1], bytes(1 << 20))  # until it is full
            with subprocess.Popen([self.binary, *command], stdout=ends[1], cwd=self.folder,
                                  stderr=subprocess.DEVNULL) as process:
                os.close(ends[1])
                got = everything_in(ends[0])
            os.close(ends[0])
            self.assertEqual(process.returncode, 0, command)
            seconds = re.compile(rb'"seconds": [^\n]*')
            self.assertEqual(seconds.sub(b"", got[full:]), seconds.sub(b"", plain), command)

    def test_what_others_planted_is_not_written_to(self):
        """A symbolic link in a directory like /tmp points to a file of ours."""
        if os.geteuid() != 0:
            self.skipTest("cannot make files of others")
        shared = self.folder / "shared"
        shared.mkdir()
        (self.folder / "precious").write_text("ours")
        os.symlink(self.folder / "precious", shared / "out")
        os.lchown(shared / "out", 65534, 65534)
        os.chown(shared, 1, 1)
        shared.chmod(0o1777)
        for command in (("pcap", "in.pcap", "-o"), ("pcap", "in.pcap", "--dropped"),
                        ("pcap", "in.pcap", "--pairs"), ("analyze", "in.pcap", "--html"),
                        ("analyze", "in.pcap", "--toml")):
            done = subprocess.run([self.binary, *command, shared / "out"], check=False, text=True,
                                  cwd=self.folder, capture_output=True, timeout=harness.PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertIn("is a symbolic link that another user may have put into", done.stderr)
        self.assertEqual((self.folder / "precious").read_text(), "ours")
        self.assertEqual(sorted(path.name for path in shared.iterdir()), ["out"])

    def kinds(self, name):
        """Return the block types of a little-endian pcapng."""
        written, kinds, at = (self.folder / name).read_bytes(), [], 0
        while at < len(written):
            kind, length = struct.unpack_from("<II", written, at)
            kinds.append(kind)
            at += length
        return kinds

    def test_many_interfaces(self):
        """Sections that repeat the same interfaces are free; too many different ones end the
        reading."""
        block = lambda kind, body: struct.pack("<II", kind, len(body) + 12) + body + struct.pack(
            "<I", len(body) + 12)
        section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        interface = block(1, struct.pack("<HHI", 1, 0, 0))
        packet = block(6, struct.pack("<IIIII", 0, 0, 0, 60, 60) + bytes(60))
        (self.folder / "sections.pcapng").write_bytes((section + interface + packet) * 20_000)
        (self.folder / "none.pcapng").write_bytes(section + interface)
        done = self.pcap("sections.pcapng", "-o", "out.pcapng", "--key", "frame", "--repeats",
                         "drop")
        self.assertNotIn("warning", done.err)
        kinds = self.kinds("out.pcapng")
        self.assertEqual((kinds.count(1), kinds.count(6)), (20_000, 1))
        done = self.pcap("sections.pcapng", "none.pcapng", "-o", "out.pcapng", "--key", "frame")
        self.assertNotIn("warning", done.err)
        self.assertEqual(self.kinds("out.pcapng").count(1), 2)
        (self.folder / "many.pcapng").write_bytes(
            section + (interface * 250 + packet) * 400 + packet)
        before = "unecho: warning: many.pcapng: packet "
        done = self.run_pcap("many.pcapng", "-o", "out.pcapng", "--memory", "40MiB")
        self.assertEqual(done.status, 1)
        self.assertRegex(done.err, re.escape(before) + r"\d+: more than [\d,]+ interfaces, whose "
                         r"descriptions would take more than 512 KiB at byte [\d,]+: [\d,]+ of "
                         r"[\d,]+ bytes \([\d.]+ %\) are not read\n")
        # Reported like a truncated file in each form: packets that were read are written, those of
        # the first 5,698 interfaces, and the warning stays.
        for name, packets, warning, status in (
                ("many.pcapng", 5_698 // 250, "bytes (", 1),
                ("cut.pcapng", 2, "block cut short", 0)):
            (self.folder / "cut.pcapng").write_bytes((section + interface + packet * 3)[:-7])
            done = self.run_pcap(name, "-o", "out.pcapng", "--key", "frame", "--json")
            self.assertEqual(done.status, status, done)
            summary = json.loads(done.out)
            self.assertEqual((summary["packets"], len(summary["warnings"])), (packets, 1))
            self.assertIn(warning, summary["warnings"][0])
            done = self.run_pcap(name, "-o", "out.pcapng", "--key", "frame", "--quiet")
            self.assertEqual((done.status, done.out), (status, b""), done)
            self.assertTrue(done.err.startswith("unecho: warning: %s\n" % summary["warnings"][0]))

    def test_full_disks(self):
        for option in ("-o", "--dropped", "--pairs"):
            with self.subTest(option=option):
                self.assert_refused(self.run_pcap("in.pcap", option, "/dev/full"), 1, "/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([self.binary, "pcap", "in.pcap", "-o", "-"], check=False,
                                  stdout=full, stderr=subprocess.PIPE, cwd=self.folder, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr.decode(), r"^unecho: .*No space left")
        self.assertEqual(self.left_over(), [])

    def test_values_that_are_not_allowed(self):
        for arguments, words in (
                ((), ("-o",)), (("--json", "-o", "-"), ("--json",)),
                (("--dry-run", "--dropped", "d.pcap"), ("--dry-run",)),
                (("-o", "x", "--key", "five-tuple"), ("--key", "five-tuple", "flow-bidir")),
                (("-o", "x", "--window", "50"), ("--window", "50")),
                (("-o", "x", "--count", "many"), ("--count", "many")),
                (("-o", "x", "--tunnels", "vxlan,wireguard"), ("--tunnels", "wireguard", "geneve")),
                (("-o", "x", "--tenant", "match"), ("--tenant", "tunnels")),
                (("-o", "x", "--tags", "ports"), ("--tags", "ports", "ignore, compare, point")),
                (("-o", "x", "--tags", "point", "--repeats", "drop"), ("--tags", "keep")),
                (("-o", "x", "--tunnels", "all", "--vxlan-ports", "http"),
                 ("--vxlan-ports", "http", "1 to 65535")),
                (("-o", "x", "--key-bytes", "7"), ("--key-bytes", "7", "20 to 9000")),
                (("-o", "x", "--policy", "lru"), ("--policy", "lru", "refresh")),
                (("-o", "x", "--engine", "bloom"), ("--engine", "bloom", "apbbf")),
                (("-o", "x", "--first", "99999999999", "--key", "flow"),
                 ("--first", "99999999999", "64")),
                (("-o", "x", "--memory", "1MiB"), ("--memory", "or more")),
                (("-o", "x", "--jobs", "0"), ("--jobs",)),
                (("-o", "x", "--seed", "x"), ("--seed",)),
                (("-o", "x", "--editcap", "--count", "5", "--tunnels", "all"), ("--tunnels",)),
                (("-", "-", "-o", "x"), ("standard input",))):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.run_pcap("in.pcap", *arguments), 2, *words)
        for arguments in (("in.pcap", "--frobnicate"), ()):
            self.assert_refused(self.run_pcap(*arguments), 2, "unecho pcap --help")
        self.assertFalse((self.folder / "x").exists())

    def test_no_permission(self):
        self.folder.chmod(0o777)
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("cannot become nobody")
        if subprocess.run([*NOBODY, "test", "-x", self.binary], check=False).returncode != 0:
            self.skipTest("nobody cannot reach %s" % self.binary)
        self.capture.chmod(0o600)
        (self.folder / "closed").mkdir(mode=0o700)
        self.assert_refused(self.run_pcap("in.pcap", "-o", "o.pcap", wrapper=NOBODY), 1, "in.pcap")
        self.capture.chmod(0o644)
        self.assert_refused(self.run_pcap("in.pcap", "-o", "closed/o.pcap", wrapper=NOBODY), 1,
                            "closed")

    def test_readers_that_leave_are_told_what_they_got(self):
        made = self.folder / "made.pcap"
        traffic.write(made, count=20_000, seed=9)
        process = subprocess.Popen([self.binary, "pcap", made, "-o", "-", *DROPS_NOTHING],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(500_000)
        process.stdout.close()
        err = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(60), 1)
        told = re.search(r"closed by its reader after ([\d,]+) packets, ([\d,]+) bytes", err)
        packets, size = (int(number.replace(",", "")) for number in told.groups())
        ends = list(itertools.accumulate(
            (16 + record.length for record in records_of(made)[1]), initial=24))
        self.assertLessEqual(ends[packets], size)
        self.assertLess(size, ends[packets] + 2**18)

    def test_interrupted_runs_leave_nothing(self):
        # nohup ignores SIGHUP, and children inherit that; so set the default first.
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        for number, jobs in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
                                              ("1", "2")):
            process = subprocess.Popen(
                [self.binary, "pcap", "-", "-o", "out.pcap", "--dropped", "d.pcap", "--pairs",
                 "p.csv", "--jobs", jobs], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, cwd=self.folder)
            process.stdin.write(self.capture.read_bytes())
            process.stdin.flush()
            harness.wait_for(lambda: len(self.left_over()) == 3, "three unfinished files")
            time.sleep(0.05)
            process.send_signal(number)
            out, err = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual((process.returncode, out), (1, b""), err)
            self.assertIn(b"unecho: stopped by a signal", err)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.pcap"])


if __name__ == "__main__":
    harness.main()
