# SPDX-License-Identifier: BSD-3-Clause
"""Points of observation that see repeats (repeat_senders.py): who makes a scene knows which packets are
copies of one transmission, and what the product should have dropped. For bench/repeats/rule_table and
its test.
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
POINTS = (1, 2, 3)  # as a packet of direction 0 crosses them; one of direction 1 comes from the other side

# What a port shows. hop: the point whose MAC addresses and TTL it has, 0 where no router is between,
# negative: turns of a loop. mirror: the tunnel that it came in; negative: one of two next hops.
Look = collections.namedtuple("Look", "time port hop tag mirror", defaults=(0, 0, 0))


# ---- points of observation ----------------------------------------------------------------------

class Scene:
    """ports: how many captures. arguments: of unecho, beside those of a setting."""

    flows = staticmethod(repeat_senders.flows)

    def __init__(self, ports=1, arguments=()):
        self.ports, self.arguments = ports, list(arguments)

    def arguments_of(self, setting):
        """Where equal packets are copies anyway there are no points of observation: tunnels alone count."""
        if setting == "repeats = drop" and "--tunnels" not in self.arguments:
            return []
        return self.arguments

    def begin(self, chance, flow):
        """What is drawn for each flow."""

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
    """Two or three taps, at points of the path. down: each is for a fifth of the time, 100 ms at once."""
    DELAYS = {"near": (5 * US, 20 * US), "far": (5 * US, 20 * MS), "three": (5 * US, MS, 20 * MS)}

    def __init__(self, which="near", loss=0.0, routed=True, down=False, **more):
        self._delays = self.DELAYS[which]
        super().__init__(len(self._delays), **more)
        self._loss, self._routed, self._down = loss, routed, down

    def begin(self, chance, flow):
        self._ends = []  # of each tap: when it goes down and when it comes back, in turns
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
    """One port that shows a packet where it enters a switch, and of the share `doubled` of the flows,
    each direction by itself, where it leaves."""

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
    """Two taps whose packets come by one port: through a broker (tags: that says which), or through
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
    """A router that sends a packet back over the link by which it came, and taps on that link."""

    def looks(self, chance, flow, one):
        for tap in range(self.ports):
            time = self.at(flow, one, 1) + delayed(chance, (5 * US, 20 * US)[tap])
            if self.crosses(one, 1):
                yield Look(time, tap, 1 if one.direction == 0 else 2)
            if self.crosses(one, 2):
                yield Look(time + 20 * US + int(chance.expovariate(1 / (200 * US))), tap,
                           2 if one.direction == 0 else 1)


class Lag(Scene):
    """Packets take turns on two members at random. far: a second LAG behind a router."""

    def __init__(self, far=False, **more):
        super().__init__(4 if far else 2, **more)

    def looks(self, chance, flow, one):
        for lag, point in enumerate((1, 3)[:self.ports // 2]):
            if self.crosses(one, point):
                yield Look(self.at(flow, one, point) + delayed(chance, (5 * US, 20 * US)[lag]),
                           2 * lag + chance.randrange(2), point)


class NextHops(Scene):
    """Packets take turns between two routers, at one tap: other MAC addresses, the same TTL."""

    def looks(self, chance, flow, one):
        if self.crosses(one, 1):
            yield Look(self.at(flow, one, 1) + delayed(chance, 5 * US), 0, 0, 0, -chance.randrange(2))


class Loop(Scene):
    """Of a hundred packets two go round twenty times. routed: with a lower TTL each time."""

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
    """One port that sees each packet once, of senders that say everything twice."""
    flows = staticmethod(lambda chance, size, **_: repeat_senders.flows_said_twice(chance, size))

    def looks(self, chance, flow, one):
        yield Look(one.time, 0)


# ---- frames and files ---------------------------------------------------------------------------

EXPERIMENT = 253  # RFC 3692: a protocol without ports and checksums of its own


def frame(flow, one, look, key):
    """key: of the flow, of equal packets the same."""
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
    # Each router writes new addresses; of two next hops the addresses are those of either.
    macs = struct.pack(">HBBHHBBH", 0x0200, one.direction, max(look.hop, 0), flow.number,
                       0x0200, 1 - one.direction, max(-look.mirror, 0), flow.number)
    tag = struct.pack(">HH", 0x8100, look.tag) if look.tag else b""
    made = macs + tag + (b"\x08\x00" if flow.family == 4 else b"\x86\xdd") + packet
    return in_vxlan(made, look) if look.mirror > 0 else made


def in_vxlan(made, look):
    """From the mirror of that number; the packet outside is identified, by a number of its own."""
    udp = struct.pack(">HHHHII", 50000, 4789, 16 + len(made), 0, 0x08000000, look.mirror << 8) + made
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), 2 + look.time % 65000, 0x4000, 64, 17, 0,
                     0x0AFE0000 + look.mirror, 0x0AFE00FF)
    return bytes.fromhex("02fe0000000902fe0000000a0800") + ip + udp


class Shown:
    """What the ports of a scene saw of flows, in the order in which unecho merges their captures."""

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
        """The captures, a port each."""
        paths = [folder / ("port-%d.pcap" % port) for port in range(1, self.ports + 1)]
        for port, path in enumerate(paths):
            path.write_bytes(made_captures.pcap("<", True, made_captures.ETHERNET, [
                (BEGIN + time, made) for time, at, _, made in self._looks if at == port]))
        return paths

    def score(self, dropped, together=25 * MS, window=50 * MS):
        """dropped: numbers of packets, from 1. Of equal transmissions at most `together` apart nobody
        knows which a packet was: what one has too much of stands for another that is missing."""
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


# ---- the product under each setting --------------------------------------------------------------

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
    """The numbers of the packets that are taken for copies, in the order of all captures together."""
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        pairs = pathlib.Path(folder) / "pairs.csv"
        done = subprocess.run(
            [unecho, "pcap", *paths, "--pairs", pairs, "--engine", "exact", "--quiet", *arguments],
            check=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise AssertionError(done)
        return {int(row[0]) for row in list(csv.reader(pairs.read_text(encoding="ascii").splitlines()))[1:]}


def measure(unecho, name, seeds, size, settings=SETTINGS, **limits):
    """{setting: counts of all seeds} of a scenario. limits: of repeat_senders.flows."""
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
    """(transmissions lost of the repeats, copies left of the copies); None where there are none"""
    return tuple(100 * counts[part] / counts[whole] if counts[whole] else None
                 for part, whole in (("lost", "repeats"), ("left", "copies")))
