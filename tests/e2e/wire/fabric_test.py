#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Three appliances behind a switch that spreads flows (examples/fabric): all copies of a packet,
and both directions of its flow, reach the same one. One appliance is killed, and returns."""
import collections
import itertools
import os
import random
import signal
import socket

import labs
import wire
from wire import Host, Listener, harness

import frames  # noqa: E402  of tools/

FABRIC = harness.ROOT / "examples" / "fabric"
TAPS = 3
NAMES = ("one", "two", "three")
CHUNK = 90  # frames that fit into the socket of the switch, however slowly it reads
# A copy is an echo however slowly the two are sent, until the appliance is killed.
FILTER = {"name": "echo", "window": "20min", "rate": "50pps", "engine": "exact"}
# The share of the 16 slots of the switch's hash that an appliance gets, with random variation.
SHARES = {3: (0.18, 0.52), 2: (0.25, 0.75)}


class Flow:
    """Two numbered ends; TCP or UDP, over IPv4 or IPv6."""

    def __init__(self, number):
        draw = random.Random(number)
        self._family = 4 if number % 3 else 6
        self._protocol = frames.TCP if number % 2 else frames.UDP
        form = "10.%d.%d.%d" if self._family == 4 else "fd00:%x:%x::%x"
        self._ends = [(form % tuple(draw.randrange(1, 255) for _ in range(3)),
                       draw.randrange(1024, 65536)) for _ in range(2)]

    def packet(self, direction, number):
        """Return an IP packet of that direction."""
        (source, port), (target, other) = self._ends[::-1] if direction else self._ends
        payload = b"%032d" % number
        if self._protocol == frames.TCP:
            segment = frames.tcp(source, target, (port, other), payload, number)
        else:
            segment = frames.udp(source, target, (port, other), payload)
        if self._family == 6:
            return frames.ipv6(source, target, self._protocol, segment)
        return frames.ipv4(source, target, self._protocol, segment, 2 + number % 65000)


def copies_of(ip):
    """Return the packet as each tap sees it: with the MACs and TTL of its link."""
    kind = frames.IPV4 if ip[0] >> 4 == 4 else frames.IPV6
    return [bytes((2, 0, 0, 1, tap, 1, 2, 0, 0, 1, tap, 2)) + kind.to_bytes(2, "big")
            + (frames.routed(ip, tap) if tap else ip) for tap in range(TAPS)]


def key_of(frame):
    return harness.identity_of("packet", frame)


class Appliance:
    """unecho in a namespace, with its link to the switch and its own tool."""

    def __init__(self, test, number, fabric):
        self.name, self._test = NAMES[number], test
        self.host, self._tool = Host(test, 10 + number), Host(test, 20 + number)
        self.host.move_outside(fabric, self.name)
        self._tool.move_outside(self.host, "tool0")
        self.arrived = Listener(test, self.host, "greater 60 and not arp", "in")
        self.came = Listener(test, self._tool, "greater 60 and not arp", "in")
        self._config = test.folder / (self.name + ".toml")
        self._config.write_text(harness.toml({
            "port": [{"name": name, "device": "net_af_packet%d,iface=%s,framecnt=4096" % each}
                     for name, each in (("taps", (0, "in0")), ("tool", (1, "tool0")))],
            "filter": [FILTER], "route": [{"from": ["taps"], "to": "tool", "filter": "echo"}]}))
        self.start()

    def start(self):
        environment = dict(os.environ, RUNTIME_DIRECTORY=str(self._test.folder),
                           UNECHO=os.environ["UNECHO_BIN"])
        self.running = harness.Running(
            ["ip", "netns", "exec", self.host.name, FABRIC / "appliance", "in0", self._config,
             "--json", "--", *harness.EAL_ARGS], environment, self._test.folder)
        self._test.addCleanup(self._end, self.running)

    def _end(self, running):
        """Stop the script and what it started."""
        if running.alive():
            running.send(signal.SIGTERM)
            try:
                running.finish()
            except AssertionError:
                self.kill()
        running.__exit__()

    def telemetry(self):
        return harness.Telemetry(self._test.folder / "dpdk" / self.name / "dpdk_telemetry.v2")

    def counters(self):
        with self.telemetry() as telemetry:
            return telemetry.ask("/unecho/counters")

    def kill(self):
        """Kill its process at once; the script that started it then ends."""
        with self.telemetry() as telemetry:
            os.kill(telemetry.ask("/info")["pid"], signal.SIGKILL)


def ended(listeners):
    """Return the bytes written: each frame and 16 bytes before it."""
    return sum(listener.path.stat().st_size for listener in listeners)


@wire.needs_namespaces
@labs.needs_switch
class Fabric(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.fabric = labs.End(self, 1)
        self.taps = []
        for number in range(TAPS):
            tap = Host(self, 30 + number)
            tap.move_inside(self.fabric, "tap%d" % number)
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.addCleanup(sender.close)
            sender.bind((tap.outside, 0))
            self.taps.append(sender)
        self.fabric.run("sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1")
        self.switch = labs.Switch(self, self.fabric)
        self.appliances = [Appliance(self, number, self.fabric) for number in range(len(NAMES))]
        self.script("switch", "up", "fab", *("tap%d" % number for number in range(TAPS)), "--",
                    *NAMES)
        self.sent = 0
        self._numbers = itertools.count(1)

    def script(self, name, *arguments):
        return self.fabric.run("env", "OVS_RUNDIR=%s" % self.switch.folder, FABRIC / name,
                               *arguments)

    def wait_for_links(self, *names):
        """Wait until the switch sees exactly the links of these appliances, and no flow is at
        another."""
        def seen():
            for appliance in self.appliances:
                if appliance.name in names and not appliance.running.alive():
                    self.fail("ended early: %s" % appliance.running.finish())
            return {name for name in NAMES if self.switch.vsctl(
                "get", "interface", name, "link_state").stdout.strip() == "up"} == set(names)
        harness.wait_for(seen, "links of " + ", ".join(names))
        self.switch.appctl("revalidator/wait")

    def send(self, packets, taps=range(TAPS)):
        """Send copies of these IP packets at these taps; return {packet: names of appliances} once
        all have arrived."""
        packets, taps = list(packets), list(taps)
        before = [len(each.arrived.seen()) for each in self.appliances]
        listeners = [each.arrived for each in self.appliances]
        size, step = ended(listeners), CHUNK // len(taps)
        for at in range(0, len(packets), step):
            for packet in packets[at:at + step]:
                copies = copies_of(packet)
                for tap in taps:
                    self.taps[tap].send(copies[tap])
                    size += 16 + len(copies[tap])
            harness.wait_for(lambda size=size: ended(listeners) >= size,
                             lambda size=size: "%d bytes (%d came)" % (size, ended(listeners)))
        self.assertEqual(ended(listeners), size, "what nobody sent, or twice")
        self.sent += len(packets) * len(taps)
        number_of = {key_of(copies_of(packet)[0]): packet for packet in packets}
        places = collections.defaultdict(collections.Counter)
        for each, first in zip(self.appliances, before):
            for frame in each.arrived.seen()[first:]:
                places[number_of[key_of(frame)]][each.name] += 1
        self.assertEqual({sum(places[packet].values()) for packet in packets}, {len(taps)})
        return {packet: set(places[packet]) for packet in packets}

    def forwarded(self, expected):
        """Each of these packets reached the tools so often in total, and nothing else did."""
        listeners = [each.came for each in self.appliances]
        wanted = collections.Counter()
        for packet, times in expected.items():
            wanted[key_of(copies_of(packet)[0])] += times
        total = sum(wanted.values())
        harness.wait_for(lambda: sum(len(each.seen()) for each in listeners) >= total,
                         lambda: "%d frames at tools" % total)
        for appliance in self.appliances:
            if appliance.running.alive():
                harness.wait_for(lambda each=appliance: each.counters()["in_flight"] == 0, "rest")
        got = collections.Counter(key_of(frame) for each in listeners for frame in each.seen())
        self.assertTrue(got == wanted, "of %d packets: too few %d, too many %d" % (
            len(wanted), sum((wanted - got).values()), sum((got - wanted).values())))

    def flows(self, numbers):
        """Return new packets, one of each direction."""
        return {number: [Flow(number).packet(direction, next(self._numbers))
                         for direction in range(2)] for number in numbers}

    def spread(self, flows, alive):
        """Send all copies of both directions; return the appliance of each flow."""
        places = self.send(itertools.chain(*flows.values()))
        at = {}
        for number, packets in flows.items():
            names = set.union(*(places[packet] for packet in packets))
            self.assertEqual(len(names), 1, "flow %d is at %s" % (number, names))
            at[number], = names
        counts = collections.Counter(at.values())
        self.assertEqual(set(counts), set(alive))
        low, high = SHARES[len(alive)]
        for name, count in counts.items():
            self.assertTrue(low < count / len(flows) < high, "%s: %s" % (name, counts))
        return at

    def test_copies_meet_and_a_dead_appliance_costs_what_it_knew(self):
        self.wait_for_links(*NAMES)
        expected = collections.Counter()
        everything = self.flows(range(2000))
        home = self.spread(everything, NAMES)
        expected.update(dict.fromkeys(itertools.chain(*everything.values()), 1))
        self.forwarded(expected)

        # The killed appliance knows these flows, of which more copies follow.
        victim, others = self.appliances[0], NAMES[1:]
        known = self.flows(range(300))
        self.send(itertools.chain(*known.values()), [0])
        expected.update(dict.fromkeys(itertools.chain(*known.values()), 1))
        self.forwarded(expected)
        of_victim = victim.counters()
        victim.kill()
        self.assertEqual(victim.running.finish().status, 128 + signal.SIGKILL)
        self.wait_for_links(*others)
        places = self.send(itertools.chain(*known.values()), [1, 2])
        misses = [packet for number, packets in known.items() for packet in packets
                  if home[number] == victim.name]
        self.assertGreater(len(misses), 0)
        expected.update(dict.fromkeys(misses, 1))
        for number, packets in known.items():
            for packet in packets:
                self.assertEqual(len(places[packet]), 1)
                if home[number] != victim.name:
                    self.assertEqual(places[packet], {home[number]})
        after = self.flows(range(300))
        away = self.spread(after, others)
        expected.update(dict.fromkeys(itertools.chain(*after.values()), 1))
        self.forwarded(expected)

        # It returns and knows nothing. Its flows come back, with copies of packets known elsewhere.
        known = self.flows(range(300))
        self.send(itertools.chain(*known.values()), [0])
        victim.start()
        self.wait_for_links(*NAMES)
        self.send(itertools.chain(*known.values()), [1, 2])
        for number, packets in known.items():
            expected.update(dict.fromkeys(packets, 2 if away[number] != home[number] else 1))
        last = self.flows(range(300))
        self.assertEqual(self.spread(last, NAMES), {number: home[number] for number in last})
        expected.update(dict.fromkeys(itertools.chain(*last.values()), 1))
        self.forwarded(expected)
        self.account(of_victim, sum(expected.values()))

    def account(self, of_victim, forwarded):
        """Everything sent was forwarded or an echo, over all three and the killed process."""
        totals = [of_victim]
        for appliance in self.appliances:
            appliance.running.send(signal.SIGTERM)
            report = self.report_of(appliance.running.finish())
            self.assertEqual(set(harness.nonzero(report["reasons"])), {"new", "echo"})
            totals.append(report["totals"])
        self.assertEqual(sum(each["received"] for each in totals), self.sent)
        self.assertEqual(sum(each["forwarded"] for each in totals), forwarded)
        self.assertEqual(sum(each["dropped"] for each in totals), self.sent - forwarded)


if __name__ == "__main__":
    harness.main()
