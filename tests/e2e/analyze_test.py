#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho analyze`: its counts against exact answers for each window and key, its recommendation,
and its messages about files that are not captures."""
import gzip
import importlib
import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import harness
import encapsulate
import frames
import made_captures
import tunnels
from harness import MS, PCAPS, ROOT, SECOND, SHARED, US, exact_answer, unecho

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "captures"))
import traffic  # noqa: E402

KEYS = ("packet", "flow", "flow-bidir", "frame")
WINDOWS = (20 * US, MS, 50 * MS, SECOND, None)
LATEST = (1 << 63) - 2  # ns; later times are taken for this one
BACKTRACE = re.compile(r"terminate called|what\(\)|Segmentation|Assertion|Sanitizer|#0 ")


def report_of(*arguments, **options):
    result = unecho("analyze", "--json", *arguments, **options)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def drops_of(report):
    """Return {(key, policy, window in ns): packets}."""
    drops = {}
    for row in report["windows"]:
        for policy in ("fixed", "refresh"):
            drops["packet", policy, row["window_ns"]] = row[policy]["packets"]
    for mode in report["modes"]:
        for row in mode["rows"]:
            drops[mode["key"], "fixed", row["window_ns"]] = row["dropped"]["packets"]
    return drops


def questions():
    for key, policy, window in itertools.product(KEYS, ("fixed", "refresh"), WINDOWS):
        if key == "packet" or policy == "fixed":
            yield key, policy, window


class Counts(harness.E2eTest):
    def compare(self, name, report, expected):
        drops = drops_of(report)
        for question, dropped in expected.items():
            self.assertEqual(drops[question], dropped, (name, question))
        self.compared += len(expected)
        self.echoes += sum(expected.values())

    def setUp(self):
        super().setUp()
        self.compared = self.echoes = 0

    def finish(self):
        print("%d counts equal, %d echoes in them" % (self.compared, self.echoes), flush=True)
        self.assertGreater(self.echoes, 1000)

    def test_own_captures_equal_exact_answer(self):
        captures = [[path] for path in
                    sorted(PCAPS.glob("*.pcap")) + made_captures.write(self.folder)]
        captures.append(sorted(PCAPS.glob("two-taps-*.pcap")))
        for paths in captures:
            packets = [packet for _, packet in exact_answer.merged(
                [exact_answer.Capture(path) for path in paths])]
            report = report_of(*paths)
            self.assertEqual(report["total"]["packets"], len(packets))
            self.compare(paths, report, {
                (key, policy, window): sum(answer.kind == "echo" for answer in exact_answer.answers(
                    packets, key, window, policy)) for key, policy, window in questions()})
        self.finish()

    def test_shared_captures_equal_exact_dedup(self):
        if not (SHARED / "tools" / "exact_dedup.py").exists():
            self.skipTest("no exact_dedup.py in %s" % SHARED)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(SHARED / "tools"))
        exact_dedup = importlib.import_module("exact_dedup")
        inside = 0
        for capture in sorted((SHARED / "captures").glob("*.pcap*")):
            opened = exact_dedup.open_capture(str(capture))
            packets = list(opened)
            opened.stream.close()
            # One clock for all windows.
            times = harness.filter_times((min(packet[0], LATEST) for packet in packets), 0)
            times = list(times)
            expected = {}
            for key in KEYS:
                keyer = exact_dedup.Keyer(key, pass_unknown_link=True, pppoe=True)
                keyed = [(number, now, made) for number, (now, (_, link, wire, data))
                         in enumerate(zip(times, packets), 1)
                         if (made := keyer.key(link, data, wire)) is not None]
                for key_, policy, window in questions():
                    if key_ == key:
                        dedup = exact_dedup.Dedup(window, policy=policy)
                        expected[key, policy, window] = sum(
                            dedup.see(*packet) is not None for packet in keyed)
            report = report_of(capture)
            if report["recommendation"]["tunnels"]:
                inside += 1
                expected = self.inside(capture)
            self.compare(capture, report, expected)
        print("%d of the captures judged inside their tunnels" % inside, flush=True)
        self.finish()

    def inside(self, capture):
        """Check a capture for which tunnels are recommended: all figures are about innermost
        packets, without tenants."""
        packets = [packet for _, packet in exact_answer.merged([exact_answer.Capture(capture)])]
        return {(key, policy, window): sum(answer.kind == "echo" for answer in exact_answer.answers(
            packets, key, window, policy, inner=exact_answer.Inner() if key == "frame" else
            exact_answer.inner_of(key, tunnels.NAMES, tenant="ignore")))
            for key, policy, window in questions()}

    def test_report_adds_up(self):
        report = report_of(*sorted(PCAPS.glob("two-taps-*.pcap")))
        echoes = report["echoes"]["packets"]
        frames = sum(one["echoes"]["packets"] for one in report["protocols"]
                     if one["name"] == "not IP")
        self.assertEqual(echoes - frames, drops_of(report)["packet", "refresh", None])
        for sums in (report["interfaces"], report["files"], report["protocols"], report["time"]):
            self.assertEqual(sum(one["total"]["packets"] for one in sums),
                             report["total"]["packets"])
            self.assertEqual(sum(one["echoes"]["packets"] for one in sums), echoes)
        self.assertEqual(sum(one["echoes"]["packets"] for one in report["causes"]), echoes)
        self.assertEqual(sum(one["echoes"]["packets"] for one in report["crossings"]), echoes)
        copied = report["copied"]["packets"]
        self.assertEqual(sum(one["echoes"] for one in report["ages"]["bins"]), copied)
        self.assertEqual(sum(one["echoes"]["packets"] for one in report["repeats"]),
                         report["sent_again"]["packets"])
        self.assertEqual(copied - report["non_ip_copied"]["packets"], 2250)
        for sums in ("interfaces", "files", "protocols", "causes"):
            self.assertEqual(sum(one["copied"]["packets"] for one in report[sums]), copied, sums)
        last = report["windows"][-1]
        self.assertEqual(last["refresh_copied"]["packets"], 2250)
        self.assertEqual((last["refresh"]["packets"], copied < echoes), (echoes - frames, True))
        self.assertEqual(copied + report["sent_again"]["packets"], echoes)
        self.assertEqual(report["keys"] + echoes - frames, report["keyed"]["packets"])
        self.assertEqual(sum(report["copies"]), report["keys"])
        # From the captures' README: routed at tap b, where they are also tagged; sent again.
        self.assertEqual({one["cause"] for one in report["causes"] if one["echoes"]["packets"]},
                         {"routed", "identical"})  # an ARP frame is equal at both taps
        self.assertGreater(report["look_alikes"]["segments"]["packets"], 0)


class Answers(harness.E2eTest):
    def setUp(self):
        super().setUp()
        for path in PCAPS.glob("two-taps-*.pcap"):
            shutil.copy(path, self.folder)
        self.taps = [self.folder / ("two-taps-%s.pcap" % tap) for tap in "ab"]

    def test_recommended_configuration_is_valid_and_drops_what_was_said(self):
        report = report_of(*self.taps, "--toml", self.folder / "unecho.toml", cwd=self.folder)
        wanted = report["recommendation"]
        self.assertEqual((self.folder / "unecho.toml").read_text(), wanted["toml"])
        # Copies arrive within 5 ms; packets 120 to 180 ms later are not copies.
        self.assertTrue(10 * MS <= wanted["window_ns"] <= 100 * MS, wanted["window_ns"])
        # 11 of 2,250 copies arrived twice at their tap without an ID, so they look like repeats.
        self.assertEqual(wanted["removed"]["packets"], 2239)
        checked = unecho("check", "unecho.toml", cwd=self.folder)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked)
        run = unecho("run", "unecho.toml", cwd=self.folder)
        self.assertEqual(run.returncode, 0, run)
        kept = list(exact_answer.Capture(self.folder / "unecho-out.pcap"))
        self.assertEqual(len(kept), report["total"]["packets"] - 2239)
        # net_pcap stamps what it writes. Table and configuration say so, and name the alternative.
        self.assertGreater(kept[0].time, report["last_time_ns"])
        words = "packets in unecho-out.pcap have the time of writing, not their own; unecho pcap"
        self.assertIn(words, run.stdout)
        advice = " ".join(wanted["toml"].replace("\n# ", " ").split())
        self.assertIn("unecho pcap IN... -o OUT --key packet --window 10ms", advice)

    def burst_capture(self, name, bursts, packets, gap):
        """Make bursts 10 ms apart, each copied as a whole 20 us after its end; times in
        nanoseconds."""
        def write(file, time, number):
            file.write(struct.pack("<IIII", time // SECOND, time % SECOND, 42, 42) + bytes(12) +
                       struct.pack(">HBBHHHBBH4s4sHHHH", 0x800, 0x45, 0, 28, 2 + number % 65_000, 0, 64,
                                   17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2", 1, 2, 8, 0))
        path = self.folder / name
        with open(path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
            for burst in range(bursts):
                for copy in range(2):
                    begin = 1700 * SECOND + burst * 10 * MS + copy * (packets * gap + 20 * US)
                    for i in range(packets):
                        write(file, begin + i * gap, burst * packets + i)
        return path

    def live(self, capture):
        """The recommended configuration drops what the report says; a doubt may pass."""
        toml = self.folder / "unecho.toml"
        promised = report_of(capture.name, "--toml", toml, cwd=self.folder)["recommendation"]
        run = unecho("run", "--json", toml.name, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run)
        reasons = json.loads(run.stdout)["routes"][0]["reasons"]
        return promised["removed"]["packets"], reasons["echo"], reasons["doubt"]

    def test_recommended_rate_holds_for_short_bursts(self):
        for packets, gap in ((200, US), (64, US), (20, 1200), (13, 700)):
            with self.subTest(packets):
                capture = self.burst_capture("burst-%d.pcap" % packets, 100, packets, gap)
                promised, dropped, doubts = self.live(capture)
                self.assertEqual(promised, 100 * packets)
                # Depending on its secret the filter may have a few doubts.
                self.assertGreaterEqual(dropped, 0.99 * promised)
                self.assertLessEqual(dropped, promised)
                self.assertLessEqual(doubts, 0.01 * promised)

    def test_recommended_window_is_one_that_a_configuration_allows(self):
        for late in (50, 600, 1500):
            with self.subTest(late):
                capture = self.burst_capture("moments.pcap", 40, 1, 0)
                content = bytearray(capture.read_bytes())
                size = 16 + 42
                for record in range(80):  # copies at one moment, except one
                    at = 24 + record * size
                    nanoseconds = struct.unpack_from("<I", content, at + 4)[0]
                    if record % 2:
                        nanoseconds -= 20 * US - (late if record == 79 else 0)
                    struct.pack_into("<I", content, at + 4, nanoseconds)
                capture.write_bytes(content)
                self.assertEqual(self.live(capture), (40, 40, 0))

    def test_text_is_printed_where_nothing_else_is_asked_for_or_it_is(self):
        files = {option: self.folder / ("out" + option) for option in ("--html", "--toml")}
        for given in ((), ("--text",), ("--html", files["--html"], "--text"),
                      ("--toml", files["--toml"], "--text")):
            self.assertIn("What to configure", unecho("analyze", "-v", *self.taps, *given).stdout, given)
        for option, path in files.items():
            result = unecho("analyze", *self.taps, option, path)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result)
            self.assertGreater(path.stat().st_size, 100)
        both = unecho("analyze", *self.taps, "--json", "--text")
        self.assertEqual((both.returncode, both.stdout), (2, ""), both)

    def test_one_answer_on_standard_output(self):
        toml = unecho("analyze", *self.taps, "--toml", "-")
        self.assertIn("[[filter]]", toml.stdout)
        self.assertNotIn("What to configure", toml.stdout)
        both = unecho("analyze", *self.taps, "--toml", "-", "--json")
        self.assertEqual((both.returncode, both.stdout), (2, ""), both)


class Tunnels(harness.E2eTest):
    """A mirror that puts packets into VXLAN beside a tap that sees them plain, and similar
    cases."""

    def capture(self, name, packets):
        path = self.folder / name
        path.write_bytes(made_captures.pcap("<", True, made_captures.ETHERNET, packets))
        return path

    def mixed(self):
        """Return [(time, frame)]: 200 packets at a tap, each also within 0.3 ms in VXLAN from two
        mirrors; ARP in a tunnel; hellos in GRE, repeated every 0.4 s."""
        packets = []
        for i in range(200):
            packet = frames.ipv4("10.0.0.1", "10.0.0.2", 17, frames.udp(
                "10.0.0.1", "10.0.0.2", (1000, 2000), b"%4d" % i * 20), i + 2)
            time = SECOND + i * 5 * MS
            packets.append((time, frames.ethernet(packet)))
            for mirror, late in ((1, 100 * US), (2, 300 * US)):
                packets.append((time + late, frames.ethernet(encapsulate.over_udp(
                    4, (50_000 + i, 4789), encapsulate.vxlan(frames.ethernet(packet), mirror)))))
        hello = frames.ipv4("10.1.0.1", "224.0.0.5", 89, b"hello" * 8)
        for i in range(3):
            packets.append((SECOND + i * 400 * MS + 7, frames.ethernet(encapsulate.over_ip(
                4, 47, encapsulate.gre(hello, 0x800, sequence=i)))))
        return sorted(packets)

    def test_recommended_options_and_configuration_remove_what_was_said(self):
        path = self.capture("mirrors.pcap", self.mixed())
        report = report_of(path.name, "--toml", self.folder / "unecho.toml", cwd=self.folder)
        wanted = report["recommendation"]
        self.assertEqual((wanted["tunnels"], wanted["tenant"]), (["vxlan"], "ignore"))
        self.assertEqual(report["copied"]["packets"], 400)
        self.assertEqual(wanted["removed"]["packets"], 400)
        self.assertEqual({one["meeting"]: one["copied"]["packets"]
                          for one in report["tunnels"]["meetings"] if one["copied"]["packets"]},
                         {"plain": 400})
        self.assertEqual([(one["kind"], one["number"], one["packets"])
                          for one in report["tunnels"]["tenants"]],
                         [("VNI", 1, 200), ("VNI", 2, 200)])
        advice = " ".join(wanted["toml"].replace("\n# ", " ").split())
        options = advice.split("unecho pcap IN... -o OUT ")[1].split(" # ")[0].split()
        self.assertIn("--tunnels", options)
        done = unecho("pcap", "--dry-run", "--json", "--engine", "exact", *options, path)
        self.assertEqual((done.returncode, json.loads(done.stdout)["dropped"]), (0, 400), done)
        checked = unecho("check", "unecho.toml", cwd=self.folder)
        self.assertEqual(checked.returncode, 0, checked)
        run = unecho("run", "unecho.toml", cwd=self.folder)
        self.assertEqual(run.returncode, 0, run)
        kept = list(exact_answer.Capture(self.folder / "unecho-out.pcap"))
        self.assertEqual(len(kept), report["total"]["packets"] - 400)


# Options of analyze, also passed to `unecho pcap`; None: the defaults.
QUESTIONS = (
    ("--window", "5ms"), ("--key", "flow"), ("--key", "packet", "--window", "20us"),
    ("--key", "frame", "--window", "inf"), ("--window", "3s", "--policy", "refresh"),
    ("--key", "flow-bidir", "--window", "100ms", "--first", "3"), ("--non-ip", "frame"),
    ("--key", "flow", "--window", "1s", "--non-ip", "frame", "--policy", "refresh"))


class WhatIf(harness.E2eTest):
    def asked(self, paths, question):
        report = report_of(*paths, *question)
        answer = report["what_if"]
        for side in ("asked", "recommended"):
            it = {name: count["packets"] for name, count in answer[side].items()}
            self.assertEqual(it["removed"], it["copies"] + it["sent_again"] + it["others"])
            self.assertTrue(all(count >= 0 for count in it.values()), it)
        advice = report["recommendation"]
        self.assertEqual(answer["recommended"]["removed"],
                         {unit: advice["removed"][unit] + advice["removed_cut"][unit]
                          for unit in ("packets", "bytes")})
        self.assertEqual(*(answer[side]["copies"]["packets"] + answer[side]["left"]["packets"]
                           for side in ("asked", "recommended")))
        return report, {name: count["packets"] for name, count in answer["asked"].items()}

    def removed_by_pcap(self, paths, question):
        done = unecho("pcap", "--dry-run", "--json", "--engine", "exact", *question, *paths)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)["dropped"]

    def test_removes_what_pcap_removes(self):
        captures = [[path] for path in
                    sorted(PCAPS.glob("*.pcap")) + made_captures.write(self.folder)]
        captures.append(sorted(PCAPS.glob("two-taps-*.pcap")))
        removed = harms = 0
        for number, paths in enumerate(captures):
            for question in QUESTIONS[number % 2::2] if len(paths) == 1 else QUESTIONS:
                with self.subTest(paths=[path.name for path in paths], question=question):
                    _, asked = self.asked(paths, question)
                    self.assertEqual(asked["removed"], self.removed_by_pcap(paths, question))
                    removed += asked["removed"]
                    harms += asked["sent_again"] + asked["others"]
        print("%d packets removed alike, %d of them no copies" % (removed, harms), flush=True)
        self.assertGreater(removed, 10_000)
        self.assertGreater(harms, 1000)

    def test_what_is_not_said_is_the_default_of_pcap(self):
        capture = PCAPS / "one-link.pcap"
        window = report_of(capture, "--window", "5ms")["what_if"]
        self.assertEqual((window["key"], window["window_ns"], window["policy"], window["non_ip"]),
                         ("packet", 5 * MS, "fixed", "pass"))
        key = report_of(capture, "--key", "flow")["what_if"]
        self.assertEqual((key["key"], key["window_ns"], key["first"]), ("flow", 50 * MS, 1))
        self.assertIsNone(report_of(capture)["what_if"])
        self.assertNotIn("What would this do here?", unecho("analyze", "-v", capture).stdout)

    def test_wrong_options_are_told_as_pcap_tells_them(self):
        for question in (("--window", "5"), ("--window", "0ns"), ("--key", "flows"),
                         ("--first", "3"), ("--key", "flow", "--first", "100"), ("--policy", "lru"),
                         ("--non-ip", "drop"),
                         ("--key", "frame", "--non-ip", "frame")):
            with self.subTest(question=question):
                ours, theirs = (unecho(*command, PCAPS / "one-link.pcap", *question)
                                for command in (("analyze",), ("pcap", "--dry-run")))
                self.assertEqual((ours.returncode, ours.stdout), (2, ""))
                self.assertIn(question[-2], ours.stderr)
                self.assertEqual(ours.stderr, theirs.stderr)


class BadInput(harness.E2eTest):
    def assert_refused(self, result, status, *words):
        self.assertEqual((result.returncode, result.stdout), (status, ""), result)
        self.assertEqual(len(result.stderr.splitlines()), 1, result)
        self.assertTrue(result.stderr.startswith("unecho: "), result)
        self.assertNotRegex(result.stderr, BACKTRACE)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_outputs_that_cannot_be_written(self):
        capture = self.folder / "in.pcap"
        shutil.copy(PCAPS / "cut.pcap", capture)
        before = capture.read_bytes()
        for option in ("--toml", "--html"):
            self.assert_refused(unecho("analyze", capture, option, capture), 2,
                                option, "is the input")
            self.assert_refused(unecho("analyze", capture, option, self.folder / "no" / "x"), 1,
                                "its directory does not exist")
            self.assert_refused(unecho("analyze", capture, option, "/dev/full"), 1, "/dev/full")
        self.assert_refused(unecho("analyze", capture, "--html", "x", "--toml", "x"), 2, "--toml too")
        self.assertEqual(capture.read_bytes(), before)
        self.assertFalse(pathlib.Path("x").exists())
        with open("/dev/full", "w") as full:
            result = subprocess.run([os.environ["UNECHO_BIN"], "analyze", str(capture)],
                                    check=False, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("standard output", result.stderr)


class Threads(harness.E2eTest):
    """The answer is equal to the byte for any input and any number of threads."""

    def assert_same(self, *arguments):
        answers = []
        for jobs in (1, 2, 4):
            result = unecho("analyze", "--json", *arguments, "--jobs", jobs)
            answers.append((result.returncode, result.stdout, result.stderr))
        self.assertEqual(answers[0], answers[1], arguments)
        self.assertEqual(answers[0], answers[2], arguments)
        return answers[0]

    def test_captures_of_all_kinds(self):
        captures = sorted(PCAPS.glob("*.pcap*"))
        if SHARED.exists() and harness.FULL:
            captures += sorted((path for path in (SHARED / "captures").rglob("*.pcap*")
                                if path.stat().st_size < 20 << 20))
        self.assertGreater(len(captures), 5)
        for capture in captures:
            self.assert_same(capture)
        self.assert_same(*sorted(PCAPS.glob("two-taps-*.pcap")))

    def test_long_captures_whole_compressed_cut_and_damaged(self):
        made = self.folder / "made.pcap"
        traffic.write(made, count=60_000, seed=3)
        whole = made.read_bytes()
        middle = len(whole) // 2
        files = {"whole.pcap": whole, "cut.pcap": whole[:-17], "packed.pcap.gz": gzip.compress(whole, 1),
                 "cut.pcap.gz": gzip.compress(whole, 1)[:-1000],
                 "damaged.pcap": whole[:middle] + b"\xff" * 4000 + whole[middle + 4000:]}
        for name, content in files.items():
            path = self.folder / name
            path.write_bytes(content)
            with self.subTest(name):
                status, out, _ = self.assert_same(path)
                self.assertEqual(status, 1 if "damaged" in name else 0)
                self.assertGreater(json.loads(out)["total"]["packets"], 20_000)
        self.assert_same(self.folder / "damaged.pcap", "--recover")
        self.assert_same(made, "--memory", "4MiB")
        self.assert_same(made, "--shard", "2/3", "--seed", 5)
        self.assert_same(made, "--key", "flow", "--window", "5ms")
        self.assert_same(made, self.folder / "packed.pcap.gz", self.folder / "cut.pcap")

    def test_memory_does_not_grow_with_the_capture_or_with_threads(self):
        peaks = []
        for count in (100_000, 300_000):
            made = self.folder / "made.pcap"
            traffic.write(made, count=count, seed=4)
            for jobs in (1, 4):
                command = [os.environ["UNECHO_BIN"], "analyze", "--json", "--memory", "8MiB",
                           "--jobs", str(jobs), str(made)]
                # Started by a small process, because a child's peak memory includes its parent's.
                script = ("import os, sys\n"
                          "child = os.fork()\n"
                          "if child == 0:\n"
                          "    os.dup2(os.open('/dev/null', os.O_WRONLY), 1)\n"
                          "    os.execv(sys.argv[1], sys.argv[1:])\n"
                          "_, status, usage = os.wait4(child, 0)\n"
                          "print(status, usage.ru_maxrss)\n")
                out = subprocess.run([sys.executable, "-c", script, *command], text=True,
                                     check=True, capture_output=True, timeout=harness.PATIENCE).stdout
                status, peak = map(int, out.split())
                self.assertEqual(status, 0)
                peaks.append(peak / 1024)
        self.assertLess(max(peaks[2:]), max(peaks[:2]) + 4, peaks)  # MiB
        self.assertLess(peaks[1], peaks[0] + 24, peaks)


class Memory(harness.E2eTest):
    def test_little_memory_is_kept_and_what_is_forgotten_is_said(self):
        captures = sorted(PCAPS.glob("two-taps-*.pcap"))
        self.assertIsNone(report_of(*captures)["blind_after_ns"])
        report = report_of(*captures, "--memory", "4MiB")
        self.assertIsNone(report["blind_after_ns"])
        self.assertLessEqual(report["memory_bytes"], 4 << 20)
        # One packet more than memory holds, many times: a capture of 200,000 packets.
        frames = self.folder / "many.pcap"
        header = (PCAPS / "one-link.pcap").read_bytes()[:24]
        frame = bytearray(bytes(12) + b"\x08\x00\x45\x00\x00\x1c" + bytes(24))
        with open(frames, "wb") as file:
            file.write(header)
            for number in range(200_000):
                frame[26:30] = number.to_bytes(4, "big")
                file.write(b"".join(value.to_bytes(4, "little")
                                    for value in (1, number, len(frame), len(frame))) + frame)
        result = unecho("analyze", "--json", "--memory", "8MiB", frames)
        report = json.loads(result.stdout)
        self.assertEqual(report["total"]["packets"], 200_000)
        self.assertEqual(report["echoes"]["packets"], 0)
        self.assertLess(report["blind_after_ns"], 200 * MS)
        self.assertLessEqual(report["memory_bytes"], 8 << 20)


if __name__ == "__main__":
    harness.main()
