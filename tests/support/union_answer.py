# SPDX-License-Identifier: BSD-3-Clause
"""The exact answer if repeats are kept: which packets are copies by the union rule, in the words of
docs/same-packet.md. Nothing is hashed; every transmission has its own record.

Keys, clocks and identified packets are those of exact_answer.py. A packet is (time in ns,
tap, link type, frame). Taps count from 1, and packets are given in the order in which they are
handled.
"""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "oracle"))
import dissect  # noqa: E402
import exact_answer  # noqa: E402
from dissect import COOKED, COOKED2, ETHERNET, NoKey  # noqa: E402
from exact_answer import Answer  # noqa: E402

Options = collections.namedtuple(
    "Options", "window same_port views point groups evidence passes keep key non_ip",
    defaults=(50_000_000, 0, 2, "link", (), True, 1, True, "packet", "pass"))
ADDRESSES = {ETHERNET: (0, 12), COOKED: (0, 14), COOKED2: (4, 20)}
COUNTERS = ("kept_repeats", "second_looks", "untrusted_looks", "third_looks", "loop_suspects")
NEVER = None  # a look that can have no second look


def is_identified(version, ip):
    """Return True if an IP packet says which transmission it is."""
    if version == 4:
        return dissect.number(ip, 4) > 1 or dissect.number(ip, 6) & 0x3FFF != 0
    try:
        return dissect.upper(6, ip).fragment != dissect.WHOLE
    except NoKey:
        return False


# The place where a packet was seen. link: MAC pair, or else the TTL. pair: the population's MAC pair.
Place = collections.namedtuple("Place", "link pair tags ttl identified")


def place_of(link, frame):
    begin, end = ADDRESSES.get(link, (0, 0))
    pair, tags, ttl, identified = frame[begin:end], b"", 0, False
    try:
        version, at, end = dissect.outermost(frame, link)
        ttl, identified = frame[at + (8 if version == 4 else 7)], is_identified(version, frame[at:end])
        tags = frame[12:at - 2] if link == ETHERNET else b""
    except NoKey:
        pass
    return Place(pair or ttl, pair, tags, ttl, identified)


class Population:
    """How many first looks at packets of one MAC pair and port group had a second look."""

    def __init__(self):
        self.first = self.doubled = self.even = 0

    def look(self):
        self.first += 1
        if self.first + self.even > 1024:
            self.first, self.doubled, self.even = self.first / 2, self.doubled / 2, self.even / 2

    def is_doubled(self):
        return (self.first >= 32 and 4 * self.doubled > 3 * self.first
                and 4 * self.first > self.first + self.even)


class Look:
    """Observations of one transmission at one point. second: time of the second look; None if there was
    none or it proves nothing."""

    def __init__(self, time, place, count=1):
        self.time, self.place, self.count = time, place, count
        self.judged, self.second = False, None

    def may_be_seen_again(self, now, place, options):
        return now - self.time < options.same_port and (
            self.place.tags == place.tags or not self.place.tags or not place.tags)


class Transmission:
    def __init__(self, time, number, doubtful):
        self.time, self.number, self.doubtful, self.looks = time, number, doubtful, {}


class UnionRule:
    """Call see() for each unidentified packet, and see_identified() for each other one with its
    answer."""

    def __init__(self, options, populations):
        self._options, self._populations = options, populations
        self._weighs = options.evidence and options.same_port > 0
        self._transmissions, self._accepted = {}, {}
        self.counters = collections.Counter(dict.fromkeys(COUNTERS, 0))

    def _population(self, group, place):
        return self._populations.setdefault((group, place.pair), Population())

    def _point(self, group, place):
        return group, {"link": place.link, "link-ttl": (place.link, place.ttl)}.get(self._options.point)

    def see(self, number, now, key, group, place):
        """Return the transmission of which this packet is a copy, or None for a new one."""
        window = self._options.window
        live = [one for one in self._transmissions.get(key, ())
                if window is None or now - one.time < window]
        self._transmissions[key] = live
        point = self._point(group, place)
        population = self._population(group, place) if self._weighs else None
        known = [one for one in live if point in one.looks]
        again, twin = self._second_look(now, point, place, known, population)
        if again is not None:
            self.counters["second_looks"] += 1
            return again
        # A point answers the oldest transmission first, so the unanswered ones are the younger
        # ones.
        unanswered = live[len(known):]
        assert known == live[:len(known)]
        if unanswered and unanswered[0].doubtful:
            population = None
        if population is not None and not twin:
            self._first_look(now, point, known, population)
        if unanswered:
            unanswered[0].looks[point] = Look(now, place)
            return unanswered[0]
        if known:
            self._count_kept(now, point, place, known, twin)
        new = Transmission(now, number, twin)
        new.looks[point] = Look(now, place, NEVER if twin else 1)
        live.append(new)
        return None

    def _second_look(self, now, point, place, known, population):
        """Return (transmission of which this is a second look or None, True if it resembles an
        untrusted one)."""
        twin = False
        for one in known:
            look = one.looks[point]
            if look.count is NEVER or look.count >= self._options.views or \
                    not look.may_be_seen_again(now, place, self._options):
                continue
            trusted = population is None or population.is_doubled()
            if population is not None and not look.judged and not one.doubtful:
                look.judged, look.second = True, now
                population.doubled += 1
                if not trusted:
                    twin, look.count = True, look.count + 1
            if trusted:
                look.count += 1
                return one, False
        return None, twin

    @staticmethod
    def _first_look(now, point, known, population):
        """Evenly spaced looks come from the sender: take back the two looks before this one."""
        before = next((one.looks[point] for one in reversed(known) if not one.doubtful), None)
        if before is not None and before.second is not None and before.second > before.time \
                and now - before.second < 2 * (before.second - before.time):
            before.second = None
            population.first -= 1
            population.doubled -= 1
            population.even += 1
        population.look()

    def _count_kept(self, now, point, place, known, twin):
        looks = [one.looks[point] for one in known]
        self.counters["untrusted_looks" if twin else "kept_repeats"] += 1
        self.counters["third_looks"] += not twin and any(
            look.count is not NEVER and look.count >= self._options.views
            and now - look.time < self._options.same_port for look in looks)
        self.counters["loop_suspects"] += place.ttl < looks[-1].place.ttl

    def see_identified(self, now, key, group, place, copy):
        if not self._weighs:
            return
        point, population = self._point(group, place), self._population(group, place)
        if not copy:
            self._accepted[key] = [now, point]
            population.look()
        elif key in self._accepted:
            then, where = self._accepted[key]
            if where == point and now - then < self._options.same_port:
                population.doubled += 1
                self._accepted[key][1] = NEVER


def _pass(packets, options, populations, group_of):
    clock = exact_answer.Clock(exact_answer.jump_of(options.window))
    memory = exact_answer.Memory(options.window)
    rule = UnionRule(options, populations)
    for number, (time, tap, link, frame) in enumerate(packets, 1):
        now = clock.at(time)
        try:
            key = exact_answer.key_of(options.key, frame, link, options.non_ip)
        except NoKey as no_key:
            yield rule, Answer(no_key.args[0])
            continue
        place, group = place_of(link, frame), group_of.get(tap, tap)
        if place.identified or not options.keep:
            answer = memory.see(number, now, key)
            rule.see_identified(now, key, group, place, answer.kind == "echo")
        else:
            one = rule.see(number, now, key, group, place)
            answer = Answer("new") if one is None else Answer("echo", now - one.time, one.number)
        yield rule, answer


def answers(packets, options):
    """Return ([Answer of each packet], {counter: packets})."""
    group_of = {tap: min(group) for group in options.groups for tap in group}
    populations, out, rule = {}, [], UnionRule(options, {})
    for _ in range(options.passes):
        out = []
        for rule, answer in _pass(packets, options, populations, group_of):
            out.append(answer)
    return out, dict(rule.counters)
