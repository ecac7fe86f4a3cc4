#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A site against fake nodes instead of Redis: every error that a cluster returns, and replies that
no node should send. Whatever happens, unanswered flows are unknown, the site continues, uses no
additional memory, descriptors or time, and logs a line or two."""
import os
import re
import socket
import struct
import threading
import time
import unittest

import harness
import redis_cluster
from root_test import SITE, Sites, Site

SLOTS = 16384


def bulk(value):
    value = value.encode() if isinstance(value, str) else value
    return b"$%d\r\n%s\r\n" % (len(value), value)


def array(*parts):
    return b"*%d\r\n%s" % (len(parts), b"".join(parts))


def number(value):
    return b":%d\r\n" % value


def error(text):
    return b"-" + text.encode() + b"\r\n"


def slots(*ranges):
    """Return the answer to CLUSTER SLOTS from (first, last, node)."""
    return array(*(array(number(first), number(last),
                         array(bulk("127.0.0.1"), number(node.port), bulk("0" * 40)))
                   for first, last, node in ranges))


class Fake:
    """A fake node. answer(words, before) returns bytes, or None for no answer; before: the earlier
    calls of that command. By default it is the only master of a cluster, to which all flows are
    new."""

    def __init__(self, test, **answers):
        self.answers = {"CLUSTER": lambda *_: slots((0, SLOTS - 1, self)),
                        "FCALL": lambda words, _: self.well(words), "AUTH": lambda *_: b"+OK\r\n",
                        "FUNCTION": lambda *_: bulk("unecho_v1"), **answers}
        self.calls, self.received, self.open = [], bytearray(), 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = "127.0.0.1:%d" % self.port
        test.addCleanup(self._end)
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _end(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @staticmethod
    def well(words, answer=b"0", compared=0):
        width = int(words[7])
        flows = sum(len(prints) // width for prints in words[11::2])
        return array(bulk(answer * flows), number(compared))

    @staticmethod
    def flows(words):
        return len(words) > 10

    def count(self, name):
        return sum(words[0] == name.encode() for words in self.calls)

    def _accept(self):
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()

    def _serve(self, connection):
        self.open += 1
        try:
            with connection:
                self._talk(connection)
        except OSError:
            pass
        self.open -= 1

    def _talk(self, connection):
        left = b""
        while True:
            got = connection.recv(1 << 16)
            if not got:
                return
            self.received += got
            left += got
            while True:
                words, left = self._words(left)
                if words is None:
                    break
                name = words[0].decode()
                before = self.count(name)
                self.calls.append(words)
                answer = self.answers[name](words, before)
                if answer is not None:
                    connection.sendall(answer)

    @staticmethod
    def _words(text):
        """Return the first call in text and the rest; (None, text) if it is incomplete."""
        head, found, rest = text.partition(b"\r\n")
        if not found:
            return None, text
        words = []
        for _ in range(int(head[1:])):
            size, found, rest = rest.partition(b"\r\n")
            if not found or len(rest) < int(size[1:]) + 2:
                return None, text
            words.append(rest[:int(size[1:])])
            rest = rest[int(size[1:]) + 2:]
        return words, rest


def at_first(answer, times, then=lambda words: Fake.well(words)):
    """Answer queries for flows with `answer` the first `times` times."""
    left = [times]

    def of(words, _):
        if not Fake.flows(words) or left[0] == 0:
            return then(words)
        left[0] -= 1
        return answer(words) if callable(answer) else answer
    return of


class Replies(Sites):
    def site(self, *nodes, **options):
        site = Site(self, [getattr(node, "address", node) for node in nodes],
                    **{"timeout": "5s", **options})
        self.assertEqual(site.error, "")
        return site

    def status(self, site, name):
        with open("/proc/%d/status" % site.process.pid, encoding="ascii") as lines:
            return int(re.search(name + r":\s+(\d+)", lines.read()).group(1))


@unittest.skipUnless(SITE, "built without hiredis")
class Errors(Replies):
    def test_what_passes_is_asked_again(self):
        for text in ("ASK 5 127.0.0.1:1", "TRYAGAIN Multiple keys request during rehashing of slot",
                     "LOADING Redis is loading the dataset in memory",
                     "CLUSTERDOWN The cluster is down",
                     "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
                     "READONLY You can't write against a read only replica.",
                     "BUSY Redis is busy running a script.",
                     "ERR Script attempted to access a non local key in a cluster node script: x"):
            with self.subTest(text):
                node = Fake(self, FCALL=at_first(error(text), 3))
                site = self.site(node)
                flows = self.flows(500)
                site.ask(flows)
                counters = site.answered()
                self.assertEqual((counters["unknown"], counters["unanswered"]), (500, 0))
                self.assertGreaterEqual(counters["redirected"], 3)
                self.assertEqual(counters["answering"], 1)

    def test_moved_is_followed(self):
        there = Fake(self)
        here = Fake(self, FCALL=lambda words, _: error("MOVED 0 127.0.0.1:%d" % there.port)
                    if Fake.flows(words) else Fake.well(words))
        # Each error moves only its own slot; after that the map has all of them.
        asked = []

        def moved(words, _):
            if not Fake.flows(words):
                return Fake.well(words)
            asked.append(words)
            return error("MOVED %d 127.0.0.1:%d" % (slot_of(words[3]), there.port))
        here.answers["FCALL"] = moved
        here.answers["CLUSTER"] = lambda _, before: slots(
            (0, SLOTS - 1, there if len(asked) > 0 else here))
        site = self.site(here)
        site.ask(self.flows(2000))
        counters = site.answered()
        self.assertEqual((counters["unknown"], counters["unanswered"]), (2000, 0))
        self.assertEqual(counters["masters"], 1)
        # The connection to a node without slots is closed.
        harness.wait_for(lambda: here.open == 0, "it to be left")

    def test_the_function_is_loaded_where_it_is_missing(self):
        node = Fake(self)
        node.answers["FCALL"] = lambda words, _: (
            Fake.well(words) if node.count("FUNCTION") else error("ERR Function not found"))
        site = self.site(node)
        site.ask(self.flows(100))
        self.assertEqual(site.answered()["unknown"], 100)
        load, = [words for words in node.calls if words[0] == b"FUNCTION"]
        self.assertEqual(load[1], b"LOAD")
        self.assertIn(b"unecho_v1_check", load[2])

    def test_what_it_will_not_do_is_said_once_and_tried_again(self):
        for text in ("OOM command not allowed when used memory > 'maxmemory'.",
                     "NOPERM this user has no permissions to run the 'fcall' command",
                     "MISCONF Redis is configured to save RDB snapshots, but it is currently unable to",
                     "NOREPLICAS Not enough good replicas to write."):
            with self.subTest(text):
                node = Fake(self, FCALL=at_first(error(text), 1))
                site = self.site(node)
                site.ask(self.flows(300))
                counters = site.answered()
                self.assertEqual(counters["unanswered"] + counters["unknown"], 300)
                self.assertGreater(counters["unanswered"], 0)
                self.assertEqual(len([line for line in site.log if text[:20] in line]), 1, site.log)
                harness.wait_for(lambda: site.counters()["answering"] == 1, "it")
                site.ask(self.flows(300))
                self.assertEqual(site.answered()["unknown"] - counters["unknown"], 300)

    def test_a_master_that_is_alone_does_not_say_who_is(self):
        """Its part of the cluster is gone, and others have its slots, but it can still be
        reached."""
        new = Fake(self)
        old = Fake(self)
        other = Fake(self)
        half = SLOTS // 2
        split = []
        old.answers["CLUSTER"] = lambda *_: slots((0, half, old), (half + 1, SLOTS - 1, other))
        old.answers["FCALL"] = lambda words, _: (
            error("CLUSTERDOWN The cluster is down") if split and Fake.flows(words)
            else Fake.well(words))
        other.answers["CLUSTER"] = lambda *_: slots((0, half, new if split else old),
                                                    (half + 1, SLOTS - 1, other))
        site = self.site(old, other)
        site.ask(self.flows(1000))
        self.assertEqual(site.answered()["unknown"], 1000)
        split.append(True)
        site.ask(self.flows(1000))
        site.answered()
        harness.wait_for(lambda: new.count("FCALL") > 0, "the new master")
        time.sleep(1.5)  # three times the life of a map under errors
        before = site.counters()["unanswered"]
        site.ask(self.flows(1000))
        self.assertEqual(site.answered()["unanswered"], before)


def slot_of(key):
    """Return the CRC-16 of the text in braces."""
    crc = 0
    for byte in key[key.index(b"{") + 1:key.index(b"}")]:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xffff if crc & 0x8000 else crc << 1
    return crc % SLOTS


@unittest.skipUnless(SITE, "built without hiredis")
class Hostile(Replies):
    """A hostile answer costs at most what the node would have known."""

    def test_answers_that_are_none(self):
        def flows(words):
            return Fake.well(words)[:4] == b"*2\r\n" and len(words[11]) // int(words[7])
        for name, answer in {
                "a status": b"+OK\r\n", "nil": b"$-1\r\n", "nil list": b"*-1\r\n",
                "an empty list": b"*0\r\n", "one element": array(bulk("0")),
                "a list in it": array(array(), number(0)), "nil in it": b"*2\r\n$-1\r\n:0\r\n",
                "too few": array(bulk(""), number(0)), "too many": array(bulk("1" * 5000), number(0)),
                "text in place of a number": array(bulk("000"), bulk("0")),
                "no protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n", "zeros": b"\0" * 100,
                "a number too large": array(bulk("0"), b":99999999999999999999999\r\n"),
                "a length too large": b"$99999999999999999999999\r\n",
                "a length below zero": b"$-7\r\n", "a list below zero": b"*-7\r\n",
                "two answers": b"+OK\r\n+OK\r\n"}.items():
            with self.subTest(name):
                node = Fake(self, FCALL=at_first(answer, 1))
                site = self.site(node)
                site.ask(self.flows(200))
                counters = site.answered()
                self.assertEqual(counters["unanswered"] + counters["unknown"], 200)
                self.assertGreater(counters["unanswered"], 0)
                self.assertEqual((site.known, counters["known"]), ([], 0))
                harness.wait_for(lambda: site.counters()["answering"] == 1, "it")
                self.assertTrue(any(node.address in line for line in site.log), site.log)

    def test_sizes_without_end_take_no_memory(self):
        nested = b"*1\r\n" * 100000
        for name, answer in {
                "a list of two thousand million": b"*2147483647\r\n",
                "lists in lists": b"*2147483647\r\n" * 7,
                "a deep list": nested,
                "a text of two thousand million": b"$2147483647\r\n" + b"x" * (8 << 20),
                "a list that does not end": b"*16384\r\n" + b"*16384\r\n" + b":1\r\n" * (4 << 20),
                "a line that does not end": b"+" + b"x" * (8 << 20)}.items():
            with self.subTest(name):
                node = Fake(self, FCALL=at_first(answer, 1))
                site = self.site(node, timeout="10s")
                before = self.status(site, "VmHWM"), self.status(site, "VmPeak")
                begun = time.monotonic()
                site.ask(self.flows(200))
                counters = site.answered()
                # At once, and not when the timeout expires.
                self.assertLess(time.monotonic() - begun, 9)
                self.assertEqual(counters["unanswered"] + counters["unknown"], 200)
                self.assertEqual(site.known, [])
                self.assertLess(self.status(site, "VmHWM") - before[0], 512 << 10)  # KiB
                self.assertLess(self.status(site, "VmPeak") - before[1], 4 << 20)

    def test_who_sends_in_circles_is_not_followed_as_fast_as_it_likes(self):
        one, two = Fake(self), Fake(self)
        for name, answers in {
                "moved": lambda to: lambda words, _: error(
                    "MOVED %d 127.0.0.1:%d" % (slot_of(words[3]), to.port))
                    if Fake.flows(words) else Fake.well(words),
                "moved at once": lambda to: lambda words, _: error(
                    "MOVED %d 127.0.0.1:%d" % (slot_of(words[3]), to.port)),
                "no function": lambda to: lambda words, _: error("ERR Function not found"),
                "try again": lambda to: lambda words, _: error("TRYAGAIN")}.items():
            with self.subTest(name):
                one.answers["FCALL"], two.answers["FCALL"] = answers(two), answers(one)
                before, begun = len(one.calls) + len(two.calls), time.monotonic()
                site = Site(self, [one.address, two.address], timeout="5s")
                if site.started:
                    site.ask(self.flows(1))
                    time.sleep(2)
                calls = len(one.calls) + len(two.calls) - before
                # At most one tag every 20 ms to each of both, and the map.
                self.assertLess(calls / (time.monotonic() - begun), 200)
                site.process.kill()

    def test_who_comes_and_goes_is_not_told_of_for_ever(self):
        def close(words, _):
            if Fake.flows(words):
                raise OSError
            return Fake.well(words)
        node = Fake(self, FCALL=close)
        site = self.site(node)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            site.ask(self.flows(10))
            time.sleep(0.05)
        site.counters()
        # Back-off doubles from 0.1 s: six times, with two lines each.
        self.assertLess(len(site.log), 16, site.log)

    def test_addresses_without_end_take_no_descriptors(self):
        """A node moves all slots to another address, again and again."""
        others = [Fake(self) for _ in range(60)]
        turn = [0]

        def elsewhere(words, _):
            turn[0] += 1
            return error("MOVED %d 127.0.0.1:%d" % (
                slot_of(words[3]), others[turn[0] % len(others)].port))
        node = Fake(self)
        node.answers["FCALL"] = lambda words, _: (
            elsewhere(words, _) if Fake.flows(words) else Fake.well(words))
        site = self.site(node)
        for _ in range(40):
            site.ask(self.flows(50))
            site.answered()
            time.sleep(0.05)
        time.sleep(1)
        self.assertLess(sum(each.open for each in others), 49)

    def test_no_secret_is_sent(self):
        node = Fake(self)
        site = self.site(node)
        flows = self.flows(3000)
        site.ask(flows)
        self.assertEqual(site.answered()["unknown"], 3000)
        sent = bytes(node.received)
        self.assertGreater(len(sent), 3000 * 4)
        secret = bytes.fromhex(redis_cluster.SECRET)
        for part in (redis_cluster.SECRET.encode(), secret, secret[:8], secret[:8][::-1]):
            self.assertNotIn(part, sent)
        # Neither a flow's digest nor half of one is sent: the secret's key stream replaces it.
        found = sum(struct.pack(order, part) in sent for flow in flows
                    for order in ("<I", ">I") for part in (flow >> 32, flow & 0xffffffff))
        # Four bytes occur by accident as often as there are positions for them.
        self.assertLess(found, 10 + 5 * 4 * 3000 * len(sent) / 2 ** 32)


@unittest.skipUnless(SITE, "built without hiredis")
class Slow(Replies):
    def test_one_that_does_not_get_on_holds_up_none_of_the_others(self):
        """However many flows wait for it, and however long."""
        slow, quick = Fake(self), Fake(self)
        half = SLOTS // 2
        for node in (slow, quick):
            node.answers["CLUSTER"] = lambda *_: slots((0, half - 1, slow), (half, SLOTS - 1, quick))
        site = self.site(slow, quick, timeout="10s")
        slow.answers["FCALL"] = lambda words, _: None if Fake.flows(words) else Fake.well(words)
        begun = time.monotonic()
        asked = 0
        for _ in range(30):
            site.ask(self.flows(4000))
            asked += 4000
            time.sleep(0.03)
        harness.wait_for(lambda: site.counters()["unknown"] > asked * 0.49,
                         lambda: "the quick one: %s" % site.counters())
        self.assertLess(time.monotonic() - begun, 9.5)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, for a mount namespace")
    def test_a_name_that_nobody_knows_holds_up_nothing(self):
        """Its resolver takes ten seconds to give up."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(server.close)
        address = "127.%d.%d.53" % (self.draw.randrange(1, 255), self.draw.randrange(1, 255))
        server.bind((address, 53))
        resolver = self.folder / "resolv.conf"
        resolver.write_text("nameserver %s\noptions timeout:5 attempts:2\n" % address)
        node = Fake(self)
        site = self.site("redis-1.example.net:6379", node, "redis-2.example.net:6379",
                         before=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"',
                                 str(resolver)])
        self.assertGreater(len(server.recv(512)), 0)  # it received a query
        site.ask(self.flows(100))
        self.assertEqual(site.answered()["unknown"], 100)
        begun = time.monotonic()
        site.process.stdin.close()
        site.process.wait(30)
        self.assertLess(time.monotonic() - begun, 3)


if __name__ == "__main__":
    harness.main()
