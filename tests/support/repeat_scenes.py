# SPDX-License-Identifier: BSD-3-Clause
"""Points of observation that see repeats (repeat_senders.py). A scene knows which packets are
copies of one transmission, and so what unecho should drop. Used by bench/repeats/rule_table and its
test.
"""
import bisect
import collections
import csv
import pathlib
import random
import struct
import subprocess
import tempfile

import made_captures
import repeat_senders
from repeat_senders import MS, SECOND, US

BEGIN = 1_700_000_000 * SECOND
POINTS = (1, 2, 3)  # in the order that a packet of direction 0 crosses them; one of direction 1 crosses them in reverse

# One packet at one port. hop: the point whose MAC addresses and TTL it has; 0 without a router,
# negative for rounds in a loop. mirror: number of its tunnel; negative for one of two next hops.
Look = collections.namedtuple("Look", "time port hop tag mirror", defaults=(0, 0, 0))


# ---- points of observation ----------------------------------------------------------------------

class Scene:
    """ports: number of captures. arguments: options of unecho besides those of a setting."""

    flows = staticmethod(repeat_senders.flows)

    def __init__(self, ports=1, arguments=()):
        self.ports, self.arguments = ports, list(arguments)

    def arguments_of(self, setting):
        """A setting in which equal packets are always copies has no points of observation: only
        tunnels matter."""
        if setting == "repeats = drop" and "--tunnels" not in self.arguments:
            return []
        return self.arguments

    def begin(self, chance, flow):
        """Draw what is fixed for a flow."""

    def looks(self, chance, flow, one):
        raise NotImplementedError

    @staticmethod
    def crosses(one, point):
        return (point if one.direction == 0 else 4 - point) <= one.crossed

    @staticmethod
    def at(flow, one, point):
        apart = min(flow.one_way // 5, 100 * US)
        return one.time + apart * (point if one.direction == 0 else 4 - point)


def delayed(chance, delay, jitter=0.1):
    return delay + int(chance.expovariate(1 / (jitter * delay + 500)))


class Taps(Scene):
    """Two or three taps at points of the path. down: each is off a fifth of the time, 100 ms at a
    time."""
    DELAYS = {"near": (5 * US, 20 * US), "far": (5 * US, 20 * MS), "three": (5 * US, MS, 20 * MS)}

    def __init__(self, which="near", loss=0.0, routed=True, down=False, **more):
        self._delays = self.DELAYS[which]
        super().__init__(len(self._delays), **more)
        self._loss, self._routed, self._down = loss, routed, down

    def begin(self, chance, flow):
        self._ends = []  # for each tap, the times at which it goes down and comes back, alternating
        for _ in self._delays:
            time, end, ends = flow.transmissions[0].time, flow.transmissions[-1].time, []
            while self._down and time < end:
                time += int(chance.expovariate(1 / (400 * MS)))
                ends += [time, time + 100 * MS]
                time += 100 * MS
            self._ends.append(ends)

    def looks(self, chance, flow, one):
        for tap, (point, delay) in enumerate(zip((1, 3) if self.ports == 2 else POINTS, self._delays)):
            if chance.random() < self._loss or bisect.bisect(self._ends[tap], one.time) % 2 or \
                    not self.crosses(one, point):
                continue
            yield Look(self.at(flow, one, point) + delayed(chance, delay, 0.1 if delay < 9 * MS else 0.02), tap,
                       point if self._routed else 0)


class Span(Scene):
    """One port that mirrors a packet where it enters a switch. For the share `doubled` of the
    flows, drawn for each direction, it also mirrors the packet where it leaves."""

    def __init__(self, doubled=1.0, loss=0.0, routed=False):
        super().__init__()
        self._doubled, self._loss, self._routed = doubled, loss, routed

    def begin(self, chance, flow):
        self._both = [chance.random() < self._doubled for _ in range(2)]

    def looks(self, chance, flow, one):
        first, last = (1, 2) if one.direction == 0 else (2, 1)
        time = self.at(flow, one, first) + delayed(chance, 5 * US)
        if self.crosses(one, first) and chance.random() >= self._loss:
            yield Look(time, 0, first if self._routed else 0)
        if self._both[one.direction] and self.crosses(one, last) and chance.random() >= self._loss:
            yield Look(time + chance.randrange(US, MS if self._routed else 50 * US), 0, last if self._routed else 0)


class OnePort(Scene):
    """Two taps that arrive at one port: through a broker, which may tag them (tags), or through
    tunnels (mirrors)."""

    def __init__(self, routed=False, tags=False, mirrors=False, arguments=()):
        super().__init__(1, arguments)
        self._routed, self._tags, self._mirrors = routed, tags, mirrors

    def looks(self, chance, flow, one):
        for number, (point, delay) in enumerate(zip((1, 2), (5 * US, 300 * US)), 1):
            if self.crosses(one, point):
                yield Look(self.at(flow, one, point) + delayed(chance, delay), 0, point if self._routed else 0,
                           100 + number if self._tags else 0, number if self._mirrors else 0)


class Stick(Scene):
    """A router that returns a packet over the link on which it arrived, with taps on that link."""

    def looks(self, chance, flow, one):
        for tap in range(self.ports):
            time = self.at(flow, one, 1) + delayed(chance, (5 * US, 20 * US)[tap])
            if self.crosses(one, 1):
                yield Look(time, tap, 1 if one.direction == 0 else 2)
            if self.crosses(one, 2):
                yield Look(time + 20 * US + int(chance.expovariate(1 / (200 * US))), tap,
                           2 if one.direction == 0 else 1)


class Lag(Scene):
    """Packets take one of two member links at random. far: a second LAG behind a router."""

    def __init__(self, far=False, **more):
        super().__init__(4 if far else 2, **more)

    def looks(self, chance, flow, one):
        for lag, point in enumerate((1, 3)[:self.ports // 2]):
            if self.crosses(one, point):
                yield Look(self.at(flow, one, point) + delayed(chance, (5 * US, 20 * US)[lag]),
                           2 * lag + chance.randrange(2), point)


class NextHops(Scene):
    """Packets alternate between two routers in front of one tap: other MAC addresses, equal TTL."""

    def looks(self, chance, flow, one):
        if self.crosses(one, 1):
            yield Look(self.at(flow, one, 1) + delayed(chance, 5 * US), 0, 0, 0, -chance.randrange(2))


class Loop(Scene):
    """Two of 100 packets loop twenty times. routed: with a lower TTL in each round."""

    def __init__(self, routed):
        super().__init__()
        self._routed = routed

    def looks(self, chance, flow, one):
        if not self.crosses(one, 1):
            return
        time = self.at(flow, one, 1)
        yield Look(time + delayed(chance, 5 * US), 0)
        if chance.random() < 0.02:
            apart = chance.randrange(100 * US, 2 * MS) if self._routed else chance.randrange(20 * US, 500 * US)
            for turn in range(1, 21):
                time += apart + int(chance.expovariate(1 / (5 * US)))
                yield Look(time, 0, -turn if self._routed else 0)


class Twice(Scene):
    """One port that sees each packet once, from senders that send everything twice."""
    flows = staticmethod(lambda chance, size, **_: repeat_senders.flows_said_twice(chance, size))

    def looks(self, chance, flow, one):
        yield Look(one.time, 0)


# ---- frames and files ---------------------------------------------------------------------------

EXPERIMENT = 253  # RFC 3692: a protocol number without ports and checksums of its own


def frame(flow, one, look, key):
    """key: equal for equal packets of a flow."""
    body = struct.pack(">II", flow.number, key)
    passed = 0 if look.hop == 0 else -2 * look.hop if look.hop < 0 else \
        look.hop - 1 if one.direction == 0 else 3 - look.hop
    if flow.family == 4:
        ends = struct.pack(">II", 0x0A000000 + flow.number, 0x0A010000 + flow.number)
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0x4000, 64 - passed, EXPERIMENT, 0)
    else:
        ends = struct.pack(">QQQQ", 0x20010DB8 << 32, flow.number, 0x20010DB8 << 32, 0x10000 + flow.number)
        packet = struct.pack(">IHBB", 6 << 28, len(body), EXPERIMENT, 64 - passed)
    half = len(ends) // 2
    packet += (ends if one.direction == 0 else ends[half:] + ends[:half]) + body
    # Each router writes new addresses; with two next hops they are those of the one that was taken.
    macs = struct.pack(">HBBHHBBH", 0x0200, one.direction, max(look.hop, 0), flow.number,
                       0x0200, 1 - one.direction, max(-look.mirror, 0), flow.number)
    tag = struct.pack(">HH", 0x8100, look.tag) if look.tag else b""
    made = macs + tag + (b"\x08\x00" if flow.family == 4 else b"\x86\xdd") + packet
    return in_vxlan(made, look) if look.mirror > 0 else made


def in_vxlan(made, look):
    """Wrap as the mirror of this number does; the outer packet has an ID, and so is identified."""
    udp = struct.pack(">HHHHII", 50000, 4789, 16 + len(made), 0, 0x08000000, look.mirror << 8) + made
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 2 + look.time % 65000, 0x4000, 64, 17, 0,
                     0x0AFE0000 + look.mirror, 0x0AFE00FF)
    return bytes.fromhex("02fe0000000902fe0000000a0800") + ip + udp


class Shown:
    """The packets that the ports of a scene saw, in the order in which unecho merges their
    captures."""

    def __init__(self, chance, scene, given):
        self._looks, self.transmissions, self.ports = [], [], scene.ports
        for flow in given:
            scene.begin(chance, flow)
            keys = {}
            for one in flow.transmissions:
                key = keys.setdefault(one.key, len(keys))
                looks = list(scene.looks(chance, flow, one))
                number = len(self.transmissions)
                self.transmissions.append((flow.number, key, len(looks), min(looks)[0] if looks else 0))
                self._looks += [(look.time, look.port, number, frame(flow, one, look, key)) for look in looks]
        self._looks.sort(key=lambda look: look[:2])

    def write(self, folder):
        """Write one capture for each port."""
        paths = [folder / ("port-%d.pcap" % port) for port in range(1, self.ports + 1)]
        for port, path in enumerate(paths):
            path.write_bytes(made_captures.pcap("<", True, made_captures.ETHERNET, [
                (BEGIN + time, made) for time, at, _, made in self._looks if at == port]))
        return paths

    def score(self, dropped, together=25 * MS, window=50 * MS):
        """Return the score of `dropped`, a set of packet numbers from 1. Equal transmissions at
        most `together` apart are interchangeable: a surplus of one makes up for a lack of
        another."""
        kept = collections.Counter(number for at, (_, _, number, _) in enumerate(self._looks, 1)
                                   if at not in dropped)
        counts, last = collections.Counter(), {}
        extra, missing = collections.defaultdict(list), collections.defaultdict(list)
        for number, (flow, key, looks, time) in enumerate(self.transmissions):
            if not looks:
                continue
            counts["transmissions"] += 1
            counts["copies"] += looks - 1
            counts["repeats"] += time - last.get((flow, key), -window) < window
            last[flow, key] = time
            if kept[number] == 0:
                missing[flow, key].append(time)
            else:
                extra[flow, key] += [time] * (kept[number] - 1)
        for key, times in missing.items():
            others = sorted(extra.get(key, ()))
            for time in sorted(times):
                at = bisect.bisect_left(others, time - together)
                if at < len(others) and others[at] <= time + together:
                    others.pop(at)
                else:
                    counts["lost"] += 1
            extra[key] = others
        counts["left"] = sum(map(len, extra.values()))
        return counts


# ---- unecho under each setting -------------------------------------------------------------------

SETTINGS = {
    "repeats = drop": ["--repeats", "drop"],
    "default": [],
    "default, live": ["--passes", "1"],
    "point = port": ["--point", "port"],
    "same_port = 1ms": ["--same-port", "1ms"],
}
SCENARIOS = {
    "2 to 3 taps, nothing lost on the way": [Taps(), Taps(routed=False), Taps("far"), Taps("three")],
    "taps lose 0.1 %": [Taps(loss=0.001), Taps("far", loss=0.001), Taps("three", loss=0.001)],
    "taps lose 1 %": [Taps(loss=0.01), Taps("far", loss=0.01), Taps("three", loss=0.01)],
    "taps are down for 20 %, in bursts": [Taps(down=True)],
    "a SPAN that doubles all": [Span()],
    "a SPAN that doubles half of the flows, each direction by itself": [Span(doubled=0.5)],
    "a SPAN that doubles all and loses 10 %": [Span(loss=0.1)],
    "one port that sees each packet once": [Span(doubled=0)],
    "a routed SPAN, a broker, a router on a stick": [Span(routed=True), OnePort(routed=True), Stick(), Stick(2)],
    "two mirrors in tunnels that are opened": [OnePort(mirrors=True, arguments=["--tunnels", "vxlan"])],
    "a LAG whose members are grouped": [
        Lag(arguments=["--group", "1,2"]), Lag(far=True, arguments=["--group", "1,2", "--group", "3,4"])],
    "a broker that tags by port": [OnePort(tags=True)],
    "the same with `tags = \"point\"`": [OnePort(tags=True, arguments=["--tags", "point"])],
    "routing loops": [Loop(True), Loop(False)],
    "a LAG without a group": [Lag()],
    "ECMP for each packet, one tap": [NextHops()],
    "senders that say everything twice, one port": [Twice()],
}


def dropped(unecho, paths, arguments):
    """Return the numbers of packets that unecho drops as copies, counted over all captures
    together."""
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        pairs = pathlib.Path(folder) / "pairs.csv"
        done = subprocess.run(
            [unecho, "pcap", *paths, "--pairs", pairs, "--engine", "exact", "--quiet", *arguments],
            check=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise AssertionError(done)
        return {int(row[0]) for row in list(csv.reader(pairs.read_text(encoding="ascii").splitlines()))[1:]}


def measure(unecho, name, seeds, size, settings=SETTINGS, **limits):
    """Return {setting: counts over all seeds} of a scenario. limits: those of
    repeat_senders.flows."""
    totals = {setting: collections.Counter() for setting in settings}
    for seed in seeds:
        chance = random.Random("%s, %d" % (name, seed))
        given = SCENARIOS[name][0].flows(chance, size, **limits)
        for scene in SCENARIOS[name]:
            shown = Shown(chance, scene, given)
            with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
                paths = shown.write(pathlib.Path(folder))
                for setting in settings:
                    totals[setting] += shown.score(dropped(
                        unecho, paths, SETTINGS[setting] + scene.arguments_of(setting)))
    return totals


def percents(counts):
    """Return (% of repeats lost, % of copies left); None for a share of nothing."""
    return tuple(100 * counts[part] / counts[whole] if counts[whole] else None
                 for part, whole in (("lost", "repeats"), ("left", "copies")))
