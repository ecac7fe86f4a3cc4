# SPDX-License-Identifier: BSD-3-Clause
"""Senders that repeat packets without an IP ID: TCP with and without timestamps and SACK, counters,
cyclic values, tones and hellos, over IPv4 with ID 0 and over IPv6. Times are in ns.

A packet crosses three points on its way. It may be lost before each of them or after the last.
"""
import collections
import heapq
import itertools

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
FAMILIES = (4, 6)

# key: equal for equal packets of a flow. crossed: how many of the three points the packet crosses.
Transmission = collections.namedtuple("Transmission", "time key direction crossed")
Flow = collections.namedtuple("Flow", "number family one_way transmissions")


class Tcp:
    """A transfer: Reno, fast retransmit after three duplicate ACKs, holes by SACK, timeouts."""
    SERIAL = (12 * US, 660)  # ns to serialise a data packet, an ACK
    WINDOW = 128

    def __init__(self, chance, timestamps, sack, loss, rtt, segments):
        self._chance, self._timestamps, self._sack, self._loss = chance, timestamps, sack, loss
        self._rtt, self._segments = rtt, segments
        self.sent, self._events, self._serial = [], [], itertools.count()
        self._free, self._echo = [0, 0], [0, 0]
        self._offset = [chance.randrange(SECOND), chance.randrange(SECOND)]
        self._first, self._next, self._duplicates, self._recover = 0, 0, 0, -1
        self._window, self._threshold, self._recovering = 10.0, 1e9, False
        self._known, self._at, self._timer, self._backoff = set(), {}, 0, 0  # known: segments acknowledged by SACK
        self._wanted, self._ahead, self._waiting, self._delayed = 0, set(), 0, 0
        self._run()

    def _transmit(self, now, side, identity):
        """Return arrival time and timestamp, or None if the packet is lost."""
        leaves = self._free[side] = max(now, self._free[side]) + self.SERIAL[side]
        stamp = (leaves + self._offset[side]) // MS if self._timestamps else 0
        lost = self._chance.random() < self._loss
        crossed = self._chance.randrange(4) if lost else 3
        self.sent.append(Transmission(
            leaves, (side, identity, stamp, self._echo[side] if self._timestamps else 0), side, crossed))
        return None if lost else (leaves + self._rtt // 2, stamp)

    def _push(self, when, what, *more):
        heapq.heappush(self._events, (when, next(self._serial), what, more))

    def _data(self, now, segment):
        self._at[segment] = now
        arrives = self._transmit(now, 0, segment)
        if arrives:
            self._push(arrives[0], self._receive, segment, arrives[1])

    def _arm(self, now):
        self._timer += 1
        self._push(now + (max(200 * MS, 2 * self._rtt) << min(self._backoff, 6)), self._timeout, self._timer)

    def _fill(self, now):
        while self._next < min(self._segments, self._first + self.WINDOW):
            flying = self._next - self._first - len(self._known)
            if not self._sack and self._recovering:
                flying -= self._duplicates
            if flying >= int(self._window):
                break
            self._data(now, self._next)
            self._next += 1
            if self._next == self._first + 1:
                self._arm(now)

    def _hole(self, now):
        """Retransmit a segment that SACK reports missing."""
        for segment in range(self._first, max(self._known, default=self._first)):
            if segment not in self._known and self._at[segment] < now - self._rtt * 5 // 4:
                return self._data(now, segment)
        return None

    def _acknowledge(self, now):
        self._waiting, self._delayed = 0, self._delayed + 1
        blocks = ()
        if self._sack and self._ahead:
            ordered, blocks = sorted(self._ahead), []
            for segment in ordered:
                if blocks and blocks[-1][1] == segment:
                    blocks[-1][1] += 1
                else:
                    blocks.append([segment, segment + 1])
            blocks = tuple(map(tuple, blocks[-3:]))
        arrives = self._transmit(now, 1, (self._wanted, blocks))
        if arrives:
            self._push(arrives[0], self._acknowledged, self._wanted, blocks, arrives[1])

    def _receive(self, now, segment, stamp):
        if segment != self._wanted:
            if segment > self._wanted:
                self._ahead.add(segment)
            return self._acknowledge(now)
        self._echo[1] = stamp
        self._wanted += 1
        while self._wanted in self._ahead:
            self._ahead.remove(self._wanted)
            self._wanted += 1
        self._waiting += 1
        if self._ahead or self._waiting == 2:
            return self._acknowledge(now)
        return self._push(now + 40 * MS, self._late, self._delayed)

    def _late(self, now, turn):
        if turn == self._delayed and self._waiting:
            self._acknowledge(now)

    def _acknowledged(self, now, wanted, blocks, stamp):
        self._echo[0] = max(self._echo[0], stamp)
        self._known.update(segment for begin, end in blocks for segment in range(begin, end))
        if wanted > self._first:
            more, self._first, self._duplicates, self._backoff = wanted - self._first, wanted, 0, 0
            self._known = {segment for segment in self._known if segment >= wanted}
            self._arm(now)
            if not self._recovering:
                self._window += more if self._window < self._threshold else more / self._window
            elif wanted >= self._recover:
                self._recovering, self._window = False, self._threshold
            elif self._sack:
                self._hole(now)
            else:
                self._data(now, wanted)
        elif self._next > self._first:
            self._duplicates += 1
            if self._duplicates == 3 and not self._recovering and self._first > self._recover:
                self._lower(now, max(2.0, (self._next - self._first) / 2))
            elif self._recovering and self._sack:
                self._hole(now)
        self._fill(now)

    def _lower(self, now, threshold):
        self._recovering, self._recover, self._threshold = True, self._next, threshold
        self._window = threshold + 1
        self._data(now, self._first)
        self._arm(now)

    def _timeout(self, now, timer):
        if timer == self._timer and self._next > self._first:
            self._backoff += 1
            self._duplicates = 0
            self._lower(now, max(2.0, self._window / 2))
            self._window = 1.0

    def _run(self):
        self._fill(0)
        while self._events and self._first < self._segments:
            now, _, what, more = heapq.heappop(self._events)
            what(now, *more)


def datagrams(chance, times, loss):
    """Return a transmission for each (time, value); equal values make equal packets."""
    return [Transmission(int(time), value, 0, chance.randrange(4) if chance.random() < loss else 3)
            for time, value in times]


def counters(chance, period, count):
    """Send one of 200 texts at random times."""
    time = 0
    for _ in range(count):
        time += chance.expovariate(1 / period)
        yield time, chance.randrange(200)


def cyclic(chance, period, jitter, equal, count):
    """Send one value each period; the share `equal` of them repeats the one before."""
    time, value = chance.randrange(10 * MS), 0
    for _ in range(count):
        time += period * (1 + jitter * (2 * chance.random() - 1))
        value += chance.random() >= equal
        yield time, value


def tones(chance, count):
    """Send three equal packets, 20 ms apart."""
    time = 0
    for number in range(count):
        time += 20 * MS + (chance.expovariate(1 / (100 * MS)) if number % 3 == 0 else 0)
        yield time, number // 3


def twice(chance, period, count):
    """Send each packet twice, 20 to 40 us apart: indistinguishable from a mirror."""
    time = 0
    for number in range(count):
        time += chance.expovariate(1 / period) + 50 * US
        yield time, number
        yield time + chance.randrange(20 * US, 40 * US), number


LOSSES, RTTS = (0, 0.001, 0.01, 0.05), (100 * US, MS, 10 * MS, 100 * MS)


def flows(chance, size, losses=LOSSES, rtts=RTTS):
    """Return flows of each kind in both address families, `size` segments or datagrams each."""
    made = []
    for family in FAMILIES:
        for stamps, sack, loss, rtt in itertools.product((False, True), (False, True), losses, rtts):
            made.append((family, rtt // 2, Tcp(chance, stamps, sack, loss, rtt, size).sent))
        sent = [counters(chance, period, size) for period in (20 * US, 200 * US, 2 * MS)]
        sent += [cyclic(chance, period, jitter, equal, size) for period, jitter, equal in itertools.product(
            (500 * US, MS, 2 * MS, 5 * MS, 10 * MS), (0, 0.01, 0.1), (0.7, 1.0))]
        sent += [tones(chance, size)]
        sent += [cyclic(chance, period, 0.1, 1.0, size // 2) for period in (3_300 * US, 50 * MS, SECOND)]
        made += [(family, 500 * US, datagrams(chance, times, 0.001)) for times in sent]
    return [Flow(number, *one) for number, one in enumerate(made)]


def flows_said_twice(chance, size):
    return [Flow(number, 6, 500 * US, datagrams(chance, twice(chance, MS, size), 0)) for number in range(8)]
