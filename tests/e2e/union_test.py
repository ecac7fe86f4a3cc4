#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeats are kept and copies dropped, packet by packet, as the union rule says
(docs/same-packet.md).

Random captures of one to four taps are compared with tests/support/union_answer.py, under random
options: the copies, the packet that each repeats, its age, and the counters. UNECHO_ROUNDS: number
of captures in the long part (2,000). Captures and union_dedup.py of the shared data are used too,
if present.
"""
import collections
import heapq
import importlib
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import warnings

import harness
import frames  # noqa: E402  harness has put tools/ on the path
import made_captures
import union_answer
from harness import MS, PCAPS, SHARED, US, exact_answer
from union_answer import Options

ETHERNET, RAW, COOKED, COOKED2 = (made_captures.ETHERNET, made_captures.RAW, made_captures.COOKED,
                                  made_captures.COOKED2)
ROUNDS = int(os.environ.get("UNECHO_ROUNDS", "2000"))
BEGIN = 1_700_000_000 * harness.SECOND
WINDOWS = {"200us": 200 * US, "1ms": MS, "5ms": 5 * MS, "50ms": 50 * MS, "1s": harness.SECOND, "inf": None}
SAME_PORTS = {"0s": 0, "20us": 20 * US, "100us": 100 * US, "250us": 250 * US, "1ms": MS}
DEFAULT_SAME_PORT = 250 * US


# ---- captures -----------------------------------------------------------------------------------

def mac_pair(flow, hop=0):
    return bytes([2, 0, 0, hop, 0, flow, 2, 0, 0, hop, 1, flow])


class Sender:
    """Packets of a few flows, some of which are sent again, byte for byte."""

    # Kinds of packets: IPv6, and IPv4 without an ID, are more frequent than identified packets.
    KINDS = ("udp6", "tcp6", "ping6", "udp6", "fragment6", "zero", "one", "counted", "counted", "fragment",
             "arp")

    def __init__(self, chance, count, flows=3):
        self._chance, self._sent, self._number, self._flows = chance, [], 0, flows
        self._again = chance.choice((0, 0.1, 0.3, 0.7))
        self._kinds = chance.sample(self.KINDS, chance.randint(1, 6))
        # Gaps between transmissions, of several lengths in one capture.
        self._gaps = chance.choices((3 * US, 12 * US, 25 * US, 110 * US, 400 * US, 3 * MS, 20 * MS), k=3)
        self.transmissions = list(self._all(count))

    def _all(self, count):
        now = BEGIN
        for _ in range(count):
            gap = self._chance.choice(self._gaps)
            # A cycle, or exponential gaps.
            now += gap if self._chance.random() < 0.2 else int(self._chance.expovariate(1 / gap)) + 1
            if self._sent and self._chance.random() < self._again:
                one = self._chance.choice(self._sent[-self._chance.choice((1, 5)):])
            else:
                one = self._new()
                self._sent.append(one)
            yield (now, *one)

    def _new(self):
        self._number += 1
        flow, kind = self._chance.randrange(self._flows), self._chance.choice(self._kinds)
        if kind == "arp":
            return flow, frames.arp(1, bytes([2, 0, 0, 0, 0, flow]), "10.0.0.%d" % (self._number % 250),
                                    "10.0.0.254"), frames.ARP
        data = struct.pack(">I", self._number) + bytes(self._chance.choice((0, 9, 60)))
        if kind.endswith("6"):
            ends = "2001:db8::%d" % (flow + 1), "2001:db8::ff"
            body = {"udp6": lambda: frames.udp(*ends, (5000, 53), data),
                    "tcp6": lambda: frames.tcp(*ends, (5000, 443), data, self._number),
                    "ping6": lambda: frames.icmpv6(*ends, 128, data),
                    "fragment6": lambda: frames.ipv6_fragment(frames.UDP, 0, True, self._number, data)}
            protocol = {"udp6": frames.UDP, "tcp6": frames.TCP, "ping6": frames.ICMPV6,
                        "fragment6": frames.FRAGMENT}
            return flow, frames.ipv6(*ends, protocol[kind], body[kind]()), frames.IPV6
        ends = "10.1.0.%d" % (flow + 1), "10.2.0.1"
        identification = {"zero": 0, "one": 1, "counted": self._number + 1, "fragment": 0}[kind]
        return flow, frames.ipv4(*ends, frames.UDP, frames.udp(*ends, (5000, 53), data), identification,
                                 fragment=0x2000 if kind == "fragment" else 0x4000), frames.IPV4


class Tap:
    """The packets that one tap shows: once, twice or more by a mirror, before and behind a router;
    late by a varying delay, with losses, and with a clock that steps."""

    ROLES = ("once", "once", "mirror", "mirror", "sometimes", "thrice", "routed", "loop")

    def __init__(self, chance, number, furthest, roles=ROLES):
        self._chance, self._number = chance, number
        self.link = chance.choices((ETHERNET, RAW, COOKED, COOKED2), (12, 3, 1, 1))[0]
        self._role = chance.choice(roles)
        self._share = chance.choice((0.5, 0.73, 0.78, 0.9))  # share of packets that are sometimes doubled
        self._apart = chance.choice((2 * US, 9 * US, 40 * US, 150 * US))
        self._loss = chance.choice((0, 0, 0.01, 0.2))
        # Times of a coarse clock coincide with the ends of windows.
        self._unit = chance.choice((1, 1, US, 20 * US, 50 * US))
        self._delay = chance.choice((0, 5 * US, 300 * US, 8 * MS))
        self._jitter = chance.choice((1, 1, 10 * US, 200 * US))
        self._tags = chance.choice(("none", "none", "own", "some", "trunk"))
        self._steps = furthest if chance.random() < 0.3 else 0
        self._hop = chance.choice((0, 0, number))  # behind its own router, or not

    def _views(self):
        """Return (delay, hops) of each time that this tap shows a packet."""
        apart = self._apart + self._chance.randrange(2 * US)
        doubled = self._role == "sometimes" and self._chance.random() < self._share
        if doubled or self._role in ("mirror", "thrice"):
            return [(i * apart, 0) for i in range(3 if self._role == "thrice" else 2)]
        if self._role == "routed":
            return [(0, 0), (apart, 1)]
        if self._role == "loop" and self._chance.random() < 0.2:
            return [(i * apart, -i) for i in range(6)]
        return [(0, 0)]

    def _frame(self, flow, packet, ethertype, hops):
        """hops: negative for a loop that returns over the same link."""
        passed = self._hop + abs(hops)
        if ethertype != frames.ARP and passed:
            packet = frames.routed(packet, passed)
        if self.link == RAW:
            return packet
        if self.link == COOKED:
            return struct.pack(">HHH8sH", 0, 1, 6, mac_pair(flow, self._hop), ethertype) + packet
        if self.link == COOKED2:
            return struct.pack(">HHIHBB8s", ethertype, 0, 3, 1, 0, 6, mac_pair(flow, self._hop)) + packet
        tags = {"none": [], "own": [100 + self._number], "some": [7] if self._chance.random() < 0.5 else [],
                "trunk": [self._chance.randrange(1, 4)]}[self._tags]
        return frames.ethernet(packet, ethertype, mac_pair(flow, self._hop + max(hops, 0)),
                               tags=[(frames.VLAN, tag) for tag in tags])

    def shown(self, transmissions):
        """Return [(time, frame)] in the order of arrival."""
        arrived = []
        for then, flow, packet, ethertype in transmissions:
            if ethertype == frames.ARP and self.link == RAW:
                continue
            at = then + self._delay + self._chance.randrange(self._jitter)
            for late, hops in self._views():
                if self._chance.random() >= self._loss:
                    arrived.append((at + late, self._frame(flow, packet, ethertype, hops)))
        arrived.sort(key=lambda one: one[0])
        out, offset = [], 0
        for at, frame in arrived:
            if self._steps and self._chance.random() < 0.02:
                offset = self._chance.randint(-self._steps, self._steps)
            at += offset
            out.append((at - at % self._unit, frame))
        return out


class Scene:
    """The captures of some taps, and options, all from one seed."""

    def __init__(self, seed, folder, **fixed):
        chance = random.Random(seed)
        self.seed, self._folder, self._chance = seed, folder, chance
        self.taps = fixed.get("taps") or chance.choice((1, 1, 1, 2, 2, 3, 4))
        self.window = fixed.get("window") or chance.choice(list(WINDOWS))
        mirrors = chance.random() < 0.4  # captures long enough for evidence, often near its limits
        sent = Sender(chance, chance.choice((90, 160, 300) if mirrors else (15, 40, 90, 160)),
                      1 if mirrors else 3).transmissions
        furthest = min(WINDOWS[self.window] or harness.SECOND, harness.SECOND) // 3
        made = [Tap(chance, number, 0 if mirrors else furthest,
                    ("mirror", "sometimes", "sometimes", "thrice") if mirrors else Tap.ROLES)
                for number in range(self.taps)]
        shown = [tap.shown(sent) for tap in made]
        self.packets = list(heapq.merge(
            *([(time, tap, made[tap - 1].link, frame) for time, frame in given]
              for tap, given in enumerate(shown, 1)), key=lambda one: one[0]))
        self.inputs = self._interfaces(made) if self.taps > 1 and chance.random() < 0.4 else \
            [self._file(tap.link, number, given) for number, (tap, given) in enumerate(zip(made, shown), 1)]
        self.options, self.arguments = self._options(fixed)

    def _file(self, link, number, given):
        path = self._folder / ("tap-%d.pcap" % number)
        path.write_bytes(made_captures.pcap("<", True, link, given))
        return path

    def _interfaces(self, made):
        out = made_captures.Pcapng("<")
        out.section()
        for tap in made:
            out.interface(tap.link, 9)
        for time, tap, _, frame in self.packets:
            out.enhanced(tap - 1, time, frame)
        path = self._folder / "taps.pcapng"
        path.write_bytes(out.bytes())
        return [path]

    def _options(self, fixed):
        """Draw options; others have their defaults as in docs/captures.md."""
        chance, given = self._chance, {"--window": self.window}

        def one(option, values, default):
            if option in fixed:
                given[option] = str(fixed[option])
                return values[given[option]]
            if chance.random() < 0.4:
                return default
            given[option] = chance.choice(list(values))
            return values[given[option]]
        window = WINDOWS[self.window]
        key = one("--key", {"packet": "packet", "frame": "frame"}, "packet")
        non_ip = one("--non-ip", {"pass": "pass", "frame": "frame"}, "pass") if key == "packet" else "pass"
        if chance.random() < 0.05 and not fixed:
            given["--repeats"] = "drop"
            return Options(window, keep=False, key=key, non_ip=non_ip), self._words(given)
        point = one("--point", {name: name for name in ("link", "port", "link-ttl")}, "link")
        fitting = {name: time for name, time in SAME_PORTS.items() if window is None or time <= window}
        same_port = one("--same-port", fitting, DEFAULT_SAME_PORT if self.taps == 1 else 0)
        views = one("--views", {"2": 2, "3": 3, "4": 4}, 2)
        passes = one("--passes", {"1": 1, "2": 2}, 2)
        groups = []
        if self.taps > 1 and chance.random() < 0.4:
            taps = chance.sample(range(1, self.taps + 1), self.taps)
            groups = [taps[:2], taps[2:]] if self.taps == 4 else [taps[:chance.randint(2, self.taps)]]
        evidence = one("--second-looks", {"doubled": True, "all": False}, True)
        return Options(window, same_port, views, point, groups, evidence, passes, True, key, non_ip), \
            self._words(given) + [word for group in groups for word in ("--group", ",".join(map(str, group)))]

    @staticmethod
    def _words(given):
        return [word for pair in given.items() for word in pair]


# ---- the binary ---------------------------------------------------------------------------------

class UnionTest(harness.E2eTest):
    def unecho(self, *arguments):
        return subprocess.run([os.environ["UNECHO_BIN"], "pcap", *map(str, arguments)], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=harness.PATIENCE,
                              cwd=self.folder)

    def copies(self, inputs, *arguments):
        """Return ([(copy, original, age)], the counters of repeats) of a run that must succeed."""
        done = self.unecho(*inputs, "--pairs", "pairs.csv", "--json", *arguments)
        self.assertEqual(done.returncode, 0, done)
        rows = (self.folder / "pairs.csv").read_text(encoding="ascii").splitlines()[1:]
        return [tuple(int(field or -1) for field in row.split(",")[:3]) for row in rows], \
            json.loads(done.stdout)["repeats"]

    @staticmethod
    def expected(packets, options):
        answers, counters = union_answer.answers(packets, options)
        return [(number, answer.reference, answer.age) for number, answer in enumerate(answers, 1)
                if answer.kind == "echo"], counters

    @staticmethod
    def expected_answers(scene, copies):
        """Return copies without an ID by the input of the packet and that of its copy."""
        name = lambda tap: scene.inputs[tap - 1 if len(scene.inputs) > 1 else 0]
        pairs = collections.Counter()
        for number, reference, _ in copies:
            _, tap, link, frame = scene.packets[number - 1]
            if not union_answer.place_of(link, frame).identified:
                pairs[name(scene.packets[reference - 1][1]), name(tap)] += 1
        return sorted((str(first), str(again), packets) for (first, again), packets in pairs.items())

    def assert_scene(self, seed, **fixed):
        scene = Scene(seed, self.folder, **fixed)
        copies, counters = self.expected(scene.packets, scene.options)
        what = "Scene(%d): %s" % (seed, " ".join(map(str, scene.inputs + scene.arguments)))
        got, counted = self.copies(scene.inputs, "--engine", "exact", *scene.arguments)
        self.assertEqual(got, copies, what)
        if scene.options.keep:
            answers = counted.pop("answers")
            self.assertEqual(counted, {**counters, "forgotten_looks": 0}, what)
            self.assertEqual(sorted((each["first"], each["repeated"], each["packets"]) for each in answers),
                             self.expected_answers(scene, copies), what)
        else:
            self.assertIsNone(counted, what)
        return scene, copies, counters


class Random(UnionTest):
    def walk(self, seeds):
        seen = collections.Counter()
        for seed in seeds:
            scene, copies, counters = self.assert_scene(seed)
            seen.update(counters)
            seen.update(captures=1, packets=len(scene.packets), copies=len(copies))
        print(" ".join("%s %d" % each for each in seen.items()), flush=True)
        for name in union_answer.COUNTERS:
            self.assertGreater(seen[name], 0, "no capture has any: " + name)

    def test_some_captures(self):
        self.walk(range(60))

    def test_many_captures(self):
        self.walk(range(1000, 1000 + ROUNDS))

    def test_defaults_are_those_of_the_documents(self):
        """With one tap a mirror of both directions is known from the first packet on; with several,
        nothing is."""
        for taps, seed in ((1, 7), (2, 8)):
            scene = Scene(seed, self.folder, taps=taps, window="50ms")
            options = Options(same_port=DEFAULT_SAME_PORT if taps == 1 else 0, passes=2)
            self.assertEqual(self.copies(scene.inputs)[0], self.expected(scene.packets, options)[0])

    def test_a_pipe_is_read_once(self):
        """Its mirrors are learnt on the way."""
        for seed in range(99):
            scene = Scene(seed, self.folder, taps=1, window="50ms")
            once, twice = (self.expected(scene.packets, Options(same_port=DEFAULT_SAME_PORT, passes=passes))[0]
                           for passes in (1, 2))
            if once != twice:
                break
        self.assertNotEqual(once, twice)
        with subprocess.Popen(["cat", scene.inputs[0]], stdout=subprocess.PIPE) as cat:
            done = subprocess.run([os.environ["UNECHO_BIN"], "pcap", "-", "--pairs", "pairs.csv", "--quiet"],
                                  check=False, stdin=cat.stdout, capture_output=True, cwd=self.folder,
                                  timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, done)
        rows = (self.folder / "pairs.csv").read_text(encoding="ascii").splitlines()[1:]
        self.assertEqual([tuple(map(int, row.split(","))) for row in rows], once)


class Engines(UnionTest):
    """Packets without an ID are decided exactly by any engine."""

    def test_every_engine_is_exact_while_nothing_expires(self):
        for engine, seed in itertools.product(harness.SLIDING_ENGINES, range(20, 32)):
            scene = Scene(seed, self.folder, window="inf")
            if not scene.options.keep:
                continue
            arguments = [word if word != "inf" else "1min" for word in scene.arguments]
            copies, _ = self.expected(scene.packets, scene.options)
            with self.subTest(engine=engine, seed=seed):
                got, _ = self.copies(scene.inputs, "--engine", engine, *arguments)
                self.assertEqual([one[0] for one in got], [one[0] for one in copies])

    def test_a_window_does_not_depend_on_the_engine(self):
        """Among identified packets an engine may take older ones for copies, which changes the
        evidence."""
        for engine, seed in itertools.product(harness.SLIDING_ENGINES, range(40, 52)):
            scene = Scene(seed, self.folder, window="1ms", **{"--same-port": "0s"})
            unidentified = {number for number, (_, _, link, frame) in enumerate(scene.packets, 1)
                            if not union_answer.place_of(link, frame).identified}
            copies, _ = self.expected(scene.packets, scene.options)
            with self.subTest(engine=engine, seed=seed):
                got, _ = self.copies(scene.inputs, "--engine", engine, *scene.arguments)
                self.assertEqual({one[0] for one in got} & unidentified,
                                 {one[0] for one in copies} & unidentified)


class WrongInput(UnionTest):
    def test_one_line_says_what_is_allowed(self):
        for arguments, words in {
                ("--views", "15"): ("--views", "2 to 14"),
                ("--same-port", "60ms"): ("--same-port", "--window"),
                ("--group", "1,1"): ("--group", "different"),
                ("--group", "a,b"): ("--group", "numbers"),
                ("--group", "1,2", "--group", "2,3"): ("--group", "tap 2", "one group"),
                ("--passes", "3"): ("--passes", "1 or 2"),
                ("--repeats", "some"): ("--repeats", "drop", "keep"),
                ("--point", "ttl"): ("--point", "port", "link", "link-ttl"),
                ("--second-looks", "all", "--repeats", "drop"): ("--second-looks", "--repeats keep"),
                ("--repeats", "keep", "--count", "4"): ("--repeats", "--count"),
                ("--group", "1,2", "--repeats", "drop"): ("--group", "--repeats keep")}.items():
            with self.subTest(arguments):
                done = self.unecho(PCAPS / "edges.pcap", "--dry-run", *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done)
                self.assertEqual(len(done.stderr.splitlines()), 1, done)
                for word in words:
                    self.assertIn(word, done.stderr.decode())

    def test_two_passes_need_files(self):
        os.mkfifo(self.folder / "pipe")
        for name in ("-", "pipe"):
            done = self.unecho(name, "--dry-run", "--passes", "2")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done)
            self.assertIn("--passes: 2 reads the inputs twice, and %s is no regular file; allowed: 1" % name,
                          done.stderr.decode())


class OtherCaptures(UnionTest):
    """Captures of the repository and the shared ones, each as one tap, and a second
    implementation."""

    ASKED = ({}, {"same_port": "250us"}, {"same_port": "250us", "passes": 1},
             {"point": "port", "same_port": "1ms"}, {"repeats": "drop"}, {"point": "link-ttl"},
             {"same_port": "1ms", "second_looks": "all"},
             {"key": "frame", "same_port": "250us", "passes": 1},
             {"window": "1s", "same_port": "2ms", "views": 3, "passes": 1})
    ONE_TAP = "1,2,3,4,5,6,7,8"  # for all interfaces of a pcapng

    @staticmethod
    def words(asked):
        return [word for name, value in asked.items() for word in ("--" + name.replace("_", "-"), str(value))]

    def captures(self, *folders):
        return sorted(path for folder in folders for path in folder.glob("*.pcap*")
                      if path.suffix in (".pcap", ".pcapng"))

    def packets(self, path):
        return [(packet.time, 1, packet.link, packet.data) for packet in exact_answer.Capture(path)]

    def options(self, asked):
        return Options(exact_answer.duration(asked.get("window", "50ms")),
                       exact_answer.duration(asked.get("same_port", "0ns")), asked.get("views", 2),
                       asked.get("point", "link"), (),
                       "second_looks" not in asked, asked.get("passes", 2),
                       "repeats" not in asked, asked.get("key", "packet"))

    def walk(self, paths):
        compared = 0
        for turn, path in enumerate(paths):
            packets = self.packets(path)
            # A capture of many packets is run in one way only; the ways rotate.
            every = harness.FULL or len(packets) < 2000
            for asked in self.ASKED if every else self.ASKED[turn % len(self.ASKED)::len(self.ASKED)]:
                keeps = [] if "repeats" in asked else ["--group", self.ONE_TAP]
                if keeps and "same_port" not in asked:
                    keeps += ["--same-port", "0s"]
                done = self.unecho(path, "--engine", "exact", "--pairs", "pairs.csv", "--quiet", *keeps,
                                   *self.words(asked))
                self.assertIn(done.returncode, (0, 1), done)  # 1: a damaged capture
                rows = (self.folder / "pairs.csv").read_text(encoding="ascii").splitlines()[1:]
                self.assertEqual([tuple(map(int, row.split(","))) for row in rows],
                                 self.expected(packets, self.options(asked))[0], (path.name, asked))
                compared += 1
        self.assertGreater(compared, len(paths))
        print("%d captures, %d answers" % (len(paths), compared), flush=True)

    def test_own_captures(self):
        self.walk([path for path in self.captures(PCAPS) if path.name != "cut.pcap"])

    def test_shared_captures(self):
        folders = SHARED / "captures", SHARED / "captures" / "advice", SHARED / "reports" / "captures"
        paths = self.captures(*folders)
        if not paths:
            self.skipTest("no captures in %s" % SHARED)
        self.walk(paths)

    def test_a_second_implementation_says_the_same(self):
        """union_dedup.py of the shared data, on captures with link types that it knows."""
        tools = SHARED / "tools"
        if not (tools / "union_dedup.py").exists():
            self.skipTest("no union_dedup.py in %s" % tools)
        sys.path.insert(0, str(tools))
        union_dedup = importlib.import_module("union_dedup")
        self.addCleanup(sys.path.remove, str(tools))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves files open
        compared = 0
        for seed in range(2000, 2200):
            scene = Scene(seed, self.folder)
            # It has no keys for frames without IP, and takes a capture for a tap. Its populations
            # use the whole cooked header, ours only addresses, as on Ethernet.
            if scene.options.non_ip == "frame" or scene.inputs[0].suffix == ".pcapng" or \
                    {link for _, _, link, _ in scene.packets} & {COOKED, COOKED2}:
                continue
            compared += 1
            options = scene.options
            rule = union_dedup.Union(options.window, options.same_port, options.views, options.evidence,
                                     options.keep)
            point = {"link-ttl": "both"}.get(options.point, options.point)
            asked = type("Asked", (), {"taps": scene.inputs, "key": options.key, "point": point,
                                       "tags": "ignore"})
            groups = {tap: min(group) for group in options.groups for tap in group}
            for _ in range(options.passes if options.same_port else 1):
                known = rule.populations
                rule = union_dedup.Union(options.window, options.same_port, options.views, options.evidence,
                                         options.keep)
                rule.populations = known
                _, copies = union_dedup.decide(asked, groups, rule)
            expected = {number for number, _, _ in self.expected(scene.packets, options)[0]}
            numbers, counted = set(), collections.Counter()
            for number, (_, tap, _, _) in enumerate(scene.packets, 1):
                counted[tap] += 1
                if number in expected:
                    numbers.add("%d:%d" % (tap, counted[tap]))
            self.assertEqual(set(copies), numbers, "Scene(%d): %s" % (seed, scene.arguments))
        self.assertGreater(compared, 50)


if __name__ == "__main__":
    harness.main()
