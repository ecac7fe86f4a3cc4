#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two workers, rings between them, the machine's clock. Copies meet on one worker, flows keep their
order, and the numbers are consistent at every reading.

The traffic is made here: packets that contain their flow and their number in it, each at three of
four places (two taps with two queues each). The workers decide which copy of a packet comes first.
So the test checks what holds for any order: one of them passes, and those of one flow from one
place leave in the order in which they arrived.
"""
import collections
import json
import os
import random
import unittest

import harness
from harness import exact_answer

import dissect  # noqa: E402  harness has put tools/ on the path
import frames  # noqa: E402

PLACES = ("a0", "a1", "b0", "b1")
FLOWS, PACKETS = 40, 25
COPIES = 3
# A ring that holds all packets, so none passes unfiltered because its owner is slow.
RING_SIZE = 8192


def flow_packet(flow, number):
    """Return packet `number` of flow `flow`; flows 2n and 2n + 1 are one conversation."""
    conversation, back = divmod(flow, 2)
    ends = [("10.0.0.%d", "198.51.100.%d"), ("2001:db8:1::%x", "2001:db8:2::%x")][conversation % 2]
    hosts = [end % (conversation + 1) for end in ends]
    ports = [5000 + conversation, 443]
    if back:
        hosts, ports = hosts[::-1], ports[::-1]
    payload = b"%4d%6d" % (flow, number)
    if conversation % 3 == 0:
        protocol, segment = frames.TCP, frames.tcp(*hosts, ports, payload, sequence=number * 10)
    else:
        protocol, segment = frames.UDP, frames.udp(*hosts, ports, payload)
    if conversation % 2:
        return frames.ipv6(*hosts, protocol, segment)
    return frames.ipv4(*hosts, protocol, segment, identification=number)


def traffic(rng, marked=True):
    """Return the frames of each place. The MAC of a marked frame names its place."""
    out = collections.defaultdict(list)
    for number in range(PACKETS):
        for flow in rng.sample(range(FLOWS), FLOWS):
            packet = flow_packet(flow, number)
            for place in rng.sample(range(len(PLACES)), COPIES):
                hops = place // 2 if marked else 0
                macs = bytes(11) + bytes((place if marked else 0,))
                out[place].append(frames.ethernet(frames.routed(packet, hops), macs=macs))
    return [out[place] for place in range(len(PLACES))]


def place_of(frame):
    return frame[11]


def identity(frame):
    """Return (flow, number) from the payload."""
    ip = dissect.outermost(frame)
    text = frame[ip.at:ip.end][-10:]
    return int(text[:4]), int(text[4:])


def two_cpus():
    return sorted(os.sched_getaffinity(0))[:2]


@unittest.skipIf(len(two_cpus()) < 2, "two workers need two CPUs")
class TwoWorkers(harness.E2eTest):
    def replay(self, places, key, engine="exact", outputs=1, ring_size=RING_SIZE, isa=None,
               **fields):
        """Return (report, list of frames for each output file)."""
        for name, content in zip(PLACES, places):
            (self.folder / name).write_bytes(frames.pcap([(0, frame) for frame in content]))
        files = [self.folder / ("out-%d.pcap" % index) for index in range(outputs)]
        document = {
            "eal": {"args": []},
            "port": [{**harness.port("tap-a", 0, rx_pcap=["a0", "a1"]), "rx_queues": 2},
                     {**harness.port("tap-b", 1, rx_pcap=["b0", "b1"]), "rx_queues": 2},
                     harness.port("tool", 2, tx_pcap=files)],
            "filter": [harness.filter_("f", "60s", key=key, engine=engine, **fields)],
            "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "f",
                       "allow_flow_drop_on_link": False}],
            "workers": {"lcores": two_cpus(), "steering": "ring", "ring_size": ring_size}}
        with self.start(document, "--json", wrapper=("env", "UNECHO_ISA=" + isa) if isa else ()) as running, \
                self.telemetry(running) as telemetry:
            # Not stop_when_idle: two workers that share a CPU are seldom idle at the same time.
            harness.wait_for(lambda: self.is_all(telemetry.ask("/unecho/counters"), sum(map(len, places))),
                             "all packets")
            running.interrupt()
            return self.report_of(running.finish()), [harness.frames_of(file) for file in files]

    def is_all(self, counters, packets):
        return (counters["received"], counters["in_flight"]) == (packets, 0)

    def check_one_of_each(self, places, survivors, key):
        """Every key passed once, as one of the frames that have it."""
        def keys(given):
            return [exact_answer.key_of(key, frame) for frame in given]
        everything = [frame for place in places for frame in place]
        self.assertEqual(collections.Counter(keys(survivors)),
                         dict.fromkeys(keys(everything), 1))
        self.assertLessEqual(set(survivors), set(everything))

    def check_order(self, places, survivors):
        """For one flow and one place: some of the frames that arrived, in the same order."""
        def parts(given):
            out = collections.defaultdict(list)
            for frame in given:
                out[place_of(frame), identity(frame)[0]].append(frame)
            return out
        arrived = parts(frame for place in places for frame in place)
        for part, left in parts(survivors).items():
            self.assertTrue(harness.is_subsequence(left, arrived[part]), part)

    def test_every_echo_is_found_and_flows_keep_their_order(self):
        places = traffic(random.Random(11))
        for engine, isa, outputs in (("exact", None, 1), ("line", "avx2", 1),
                                     ("line", "scalar", 2), ("apbbf", None, 2)):
            with self.subTest(engine=engine, isa=isa, outputs=outputs):
                report, out = self.replay(places, "packet", engine, outputs, isa=isa)
                survivors = sum(out, [])
                self.check_one_of_each(places, survivors, "packet")
                for part in out:
                    self.check_order(places, part)
                reasons = report["routes"][0]["reasons"]
                self.assertEqual(reasons["new"], FLOWS * PACKETS)
                self.assertEqual(reasons["echo"], FLOWS * PACKETS * (COPIES - 1))
                for worker in report["workers"]:
                    for counter in ("rx_packets", "handed_in", "handed_out", "settled"):
                        self.assertGreater(worker[counter], FLOWS, worker)
                if outputs == 2:  # one worker owns a flow, and transmits it
                    flows = [{identity(frame)[0] for frame in part} for part in out]
                    self.assertEqual(flows[0] & flows[1], set())
                    self.assertTrue(flows[0] and flows[1])

    def test_flow_keys_meet_on_one_worker(self):
        places = traffic(random.Random(13))
        for key, expected in (("flow", FLOWS), ("flow-bidir", FLOWS // 2)):
            with self.subTest(key=key):
                _, out = self.replay(places, key)
                self.check_one_of_each(places, out[0], key)
                self.assertEqual(len(out[0]), expected)

    def test_a_full_ring_sheds_the_filtering(self):
        """With rings much too small no packet is lost or overtaken: packets pass unfiltered in
        their turn, and are counted."""
        places = traffic(random.Random(15))
        report, out = self.replay(places, "packet", ring_size=64)
        reasons = report["routes"][0]["reasons"]
        everything = collections.Counter(frame for place in places for frame in place)
        survivors = collections.Counter(out[0])
        self.assertLessEqual(survivors, everything)
        self.check_order(places, out[0])
        self.assertEqual(len(out[0]), reasons["new"] + reasons["overload"])
        self.assertEqual(sum(everything.values()) - len(out[0]),
                         reasons["echo"] + reasons["tx_lost"])
        if reasons["tx_lost"] == 0:
            self.assertEqual({identity(frame) for frame in survivors},
                             {identity(frame) for frame in everything})


if __name__ == "__main__":
    harness.main()
