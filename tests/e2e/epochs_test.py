#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures with large steps in time: one stamp ahead, clocks that are set, taps that disagree.

A step back of more than J = max(window, 1 s) begins an epoch. Every engine is compared with
exact_answer.py packet by packet: the exact ones pair by pair, the others by their promise.
Packets have no ID, and repeats are dropped like copies.
"""
import json
import os
import random
import re
import subprocess
import sys

import harness
from harness import MS, ROOT, SECOND, exact_answer

sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import frames  # noqa: E402

HOUR = 3600 * SECOND
SEED = os.environ.get("UNECHO_SEED", "1")
START = 1_700_000_000 * SECOND


def jump_of(window):
    return exact_answer.jump_of(exact_answer.duration(window))


def stream(times, flows=7, seed=1):
    """Return packets at these times, many of which are copies of others."""
    draw = random.Random(seed)
    out = []
    for time in times:
        ip = frames.ipv4("10.0.0.1", "10.0.0.2", 17, frames.udp(
            "10.0.0.1", "10.0.0.2", (1000, 2000), b"%4d" % draw.randrange(flows)))
        out.append((time, frames.ethernet(ip)))
    return out


def steady(start, count, gap=7 * MS):
    return [start + gap * i for i in range(count)]


def stepping(jump, seed, count=400):
    """Return times with steps of 1 or 10 ms, and sometimes just below, at or above the jump."""
    draw, time, latest, times = random.Random(seed), START, START, []
    for _ in range(count):
        far = draw.random()
        if far < 0.02:
            time = latest - jump + draw.choice((1000, 0, -1000))
        elif far < 0.03:
            time -= draw.randrange(jump, 3 * HOUR)
        elif far < 0.04:
            time += draw.randrange(jump, 3 * HOUR)
        elif far < 0.05:
            time = max(latest - draw.randrange(jump), 0)
        else:
            time += draw.choice((1, 10)) * MS
        latest = time if time > latest or latest - time > jump else latest
        times.append(time)
    return times


def hellos():
    """Like tcpdump's vrrp.pcap: one packet again and again, 10 s apart; its first one also stands
    at the front, an hour ahead."""
    return [(time, stream([0])[0][1]) for time in
            [START + HOUR, *steady(START, 60, 10 * SECOND)]]


class Epochs(harness.E2eTest):
    def write(self, name, packets):
        path = self.folder / name
        path.write_bytes(frames.pcap(packets, nanoseconds=True))
        return path

    def pcap(self, *arguments):
        done = harness.unecho("pcap", "--repeats", "drop", *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def check_exact(self, paths, window, policy):
        packets = [packet for _, packet in exact_answer.merged(
            [exact_answer.Capture(path) for path in paths], jump_of(window))]
        expected = [(number, answer.reference, answer.age) for number, answer in enumerate(
            exact_answer.answers(packets, "packet", exact_answer.duration(window), policy), 1)
            if answer.kind == "echo"]
        self.pcap(*paths, "--window", window, "--policy", policy, "--pairs", "pairs.csv", "--quiet")
        lines = (self.folder / "pairs.csv").read_text().splitlines()[1:]
        self.assertEqual([tuple(map(int, line.split(",")[:3])) for line in lines], expected,
                         (window, policy))
        return packets, len(expected)

    def captures(self, window):
        jump = jump_of(window)
        yield "hellos", hellos()
        for seed in range(3):
            yield "steps-%d" % seed, stream(stepping(jump, seed), seed=seed)
        for more in (-1, 0, 1):
            yield "edge%+d" % more, stream(
                steady(START, 40) + steady(START + 39 * 7 * MS - jump - more, 40))
        yield "ahead", stream(steady(START, 20) + [START + HOUR] + steady(START + 140 * MS, 40))

    def test_one_stamp_ahead_does_not_stop_the_clock(self):
        done = self.pcap(self.write("hellos.pcap", hellos()), "--dry-run", "--json")
        summary = json.loads(done.stdout)
        self.assertEqual((summary["packets"], summary["dropped"]), (61, 1))
        self.assertEqual(summary["duration_ns"], 590 * SECOND)
        self.assertRegex(done.stderr, r"hellos.pcap: packet 2: time steps back by 3600 s: goes on")

    def test_exact_to_the_pair(self):
        echoes = 0
        for window in ("50ms", "1500ms", "inf"):
            for name, packets in self.captures("50ms" if window == "inf" else window):
                path = self.write(name + ".pcap", packets)
                for policy in exact_answer.POLICIES:
                    echoes += self.check_exact([path], window, policy)[1]
        self.assertGreater(echoes, 1000)

    def test_filters_keep_their_promise(self):
        """One seed, because accidents have a rate of their own
        (lib/filters/window/segmented/tlbf.h, weakness)."""
        for window in ("50ms", "1500ms"):
            for name, made in self.captures(window):
                path = self.write(name + ".pcap", made)
                packets = list(exact_answer.Capture(path))
                for engine in harness.SLIDING_ENGINES:
                    done = self.pcap(path, "-o", "out.pcap", "--json", "--engine", engine,
                                     "--window", window, "--seed", SEED)
                    slack = json.loads(done.stdout)["slack_ns"]
                    survivors = harness.frames_of(self.folder / "out.pcap")
                    self.assertIsNone(harness.audit(packets, survivors, "packet",
                                                    exact_answer.duration(window), slack),
                                      (name, window, engine, "UNECHO_SEED=" + SEED))

    def test_clocks_of_two_taps(self):
        """One tap's clock is an hour ahead for some packets; its other packets are not held
        back."""
        ahead = steady(START, 80)
        for at in (0, 30, 31, 32):
            ahead[at] += HOUR
        paths = [self.write("a.pcap", stream(ahead)),
                 self.write("b.pcap", stream(steady(START + MS, 80)))]
        for order in (paths, paths[::-1]):
            packets, echoes = self.check_exact(order, "20ms", "fixed")
            self.assertGreater(echoes, 60, "copies at the two taps meet")
        latest = max(number for number, packet in enumerate(packets)
                     if packet.time > START + HOUR // 2)
        self.assertLess(latest, 80)
        draw = random.Random(5)
        for seed in range(3):
            paths = [self.write("%d.pcap" % tap, stream(
                stepping(SECOND, 10 * seed + tap, draw.randrange(100, 400))))
                for tap in range(3)]
            self.check_exact(paths, "50ms", "fixed")

    def test_clock_of_captures_in_a_run(self):
        """clock = "capture": the same rule, and the report counts the epochs."""
        taps = [self.write("a.pcap", stream(stepping(SECOND, 1))),
                self.write("b.pcap", stream(stepping(SECOND, 2), seed=2))]
        out = self.folder / "out.pcap"
        report = self.report(harness.replay(
            [*(harness.port("in-%d" % tap, tap, rx_pcap=path) for tap, path in enumerate(taps)),
             harness.port("out", 2, tx_pcap=out)],
            [harness.filter_("f", "50ms", engine="exact", key="packet")],
            [{"from": ["in-0", "in-1"], "to": "out", "filter": "f"}]))
        packets = harness.packets_of(*taps, jump=jump_of("50ms"))
        self.assert_frames(harness.frames_of(out),
                           harness.part(packets, key="packet", window=50 * MS).kept)
        self.assertGreater(report["epochs"]["count"], 0)
        self.assertGreater(report["epochs"]["first_step_ns"], SECOND)
        self.assertIn("time", [event["kind"] for event in report["events"]])

    def test_analyze_counts_time_that_passed(self):
        path = self.write("hellos.pcap", hellos())
        done = subprocess.run([os.environ["UNECHO_BIN"], "analyze", str(path), "--json"],
                              check=True, capture_output=True, timeout=harness.PATIENCE)
        report = json.loads(done.stdout)
        self.assertEqual(report["duration_ns"], 590 * SECOND)
        self.assertEqual([(row["period_ns"], row["oldest_ns"]) for row in report["repeats"]],
                         [(10 * SECOND, 10 * SECOND)])
        self.assertEqual(report["last_time_ns"], START + HOUR)
        drops = {row["window_ns"]: row["fixed"]["packets"] for row in report["windows"]}
        self.assertEqual((drops[50 * MS], drops[10 * SECOND], drops[20 * SECOND]), (1, 1, 31))
        steps = [note for note in report["warnings"] if re.search("steps back by", note["text"])]
        self.assertEqual([note["number"] for note in steps], [2])


if __name__ == "__main__":
    harness.main()
