#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A link that stays up when unecho dies: examples/fail_open."""
import time

import bypass
import wire
from wire import Host, Listener, copies_of, harness, udp_frame

PAUSE = 0.002
LONGEST = 120
# Packets in the receive queue, and those not yet sent, are lost with a process, however it ends: as
# many as arrive in this time, in addition to the longest waiting time on this machine.
IN_HAND = 0.1
# A copy is an echo however slowly the two are sent.
WINDOW = {"window": "10s", "rate": "1kpps", "engine": "exact"}


@wire.needs_namespaces
@wire.needs("ping", "bridge")
class FailOpen(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.link = bypass.Link(self)

    def repeated(self, first):
        """Return how many of 20 packets and 20 copies reach the other host. first: the first copies
        are new if unecho restarted."""
        listener = Listener(self, self.link.two, "udp port %d and greater 100" % wire.PORT, "in")
        originals = [udp_frame(number) for number in range(first, first + 20)]
        self.link.one.send(originals + [copies_of(number)[0] for number in range(first, first + 20)],
                           self.folder)
        return len(listener.frames(20))

    def test_the_bridge_carries_the_link_while_unecho_is_dead_and_only_then(self):
        probes = bypass.Probes(self, self.link.one, self.link.two, PAUSE, LONGEST)
        self.assertEqual(self.repeated(10**6), 40)
        running = self.link.start(**WINDOW)
        self.assertEqual(self.repeated(2 * 10**6), 20)
        killed = self.link.kill(running)
        harness.wait_for(self.link.answers, "an answer across the bridge")
        self.assertEqual(self.repeated(3 * 10**6), 40)
        running = self.link.start(**WINDOW)
        polls = time.monotonic()
        self.assertEqual(self.repeated(4 * 10**6), 20)
        ended = [time.monotonic()]
        running.interrupt()
        report = self.report_of(running.finish())
        ended.append(time.monotonic())
        harness.wait_for(self.link.answers, "an answer across the bridge")
        self.assertEqual(self.repeated(5 * 10**6), 40)
        probes.stop()
        sent, came = probes.finish()
        in_hand = IN_HAND + bypass.slowest(sent, came)
        self.assertGreater(sent[-1], ended[1], "not all was seen by the probes")
        self.assertEqual(bypass.times_twice(came), 0)
        for gap in bypass.gaps(sent, came):
            self.assertTrue(any(end[0] - in_hand <= gap.begin <= end[1] and gap.end >= end[0] - PAUSE
                                for end in (killed, ended)),
                            "%s, killed %s, ended %s" % (gap, killed, ended))
        # It took over again: it saw each packet since it polled.
        self.assertGreaterEqual(report["totals"]["received"],
                                sum(polls < when < ended[0] - in_hand for when in sent))

    def test_a_link_without_unecho_is_as_it_was(self):
        self.link.box.run(bypass.SCRIPT, "down", "l0", "r0")
        self.assertNotIn("unecho0", self.link.box.run("ip", "link").stdout)
        self.assertFalse(self.link.answers())


@wire.needs_namespaces
class Queues(wire.WireTest):
    def test_that_would_pass_by_are_refused(self):
        host = Host(self, 1)
        name = host.outside + "q"
        wire.run("ip", "link", "add", name, "numrxqueues", 2, "numtxqueues", 2, "type", "veth",
                 "peer", "name", name + "p")
        self.addCleanup(wire.run, "ip", "link", "del", name, check=False)
        wire.run("ethtool", "-L", name, "rx", 2)
        result = self.run_unecho(wire.link("net_af_xdp0,iface=" + name,
                                           "net_af_xdp1,iface=" + host.outside))
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, r'^unecho: port "left" \(net_af_xdp0\): %s receives from 2 '
                         r"queue\(s\) and this device takes 1 from queue 0 on: .*ethtool -L %s "
                         % (name, name))


if __name__ == "__main__":
    harness.main()
