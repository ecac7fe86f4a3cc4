#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels of the kernel and of Open vSwitch through unecho: copies of inner packets disappear,
whatever carries them, and nothing else does. Also switches that mirror, as taps."""
import re
import signal

import labs
import wire
from wire import Host, Listener, harness

import encapsulate  # noqa: E402  these are of tools/
import frames  # noqa: E402

PINGS = 4
TRANSFER = ("-n", "300K", "-w", "32K")
# So long that copies are echoes however slowly they are sent; room for 60,000 packets, no
# accidents.
WINDOW = {"window": "20min", "rate": "50pps", "engine": "exact"}
AF_PACKET = "net_af_packet%d,iface=%s,framecnt=4096"


def port(name, number, host):
    return {"name": name, "device": AF_PACKET % (number, host.outside)}


def ping(test, host, address, *options):
    """Ping until so many are answered. An unanswered one did not reach unecho either, because all
    frames are accounted for."""
    done = host.run("ping", "-q", "-c", PINGS, "-i", "0.05", "-w", harness.PATIENCE, *options, address)
    test.assertGreaterEqual(int(re.search(r"(\d+) received", done.stdout)[1]), PINGS, done.stdout)


class Way:
    """One direction of a link: frames of the sender's underlay, and frames at the receiver."""

    def __init__(self, test, sender, receiver):
        self._test = test
        self._sent = Listener(test, sender, direction="out")
        self._got = Listener(test, receiver, direction="in")

    def heard(self):
        return self._sent.seen()

    def sent(self):
        return self._sent.settled(1)

    def check(self, **options):
        """The receiver has exactly the new packets; return (frames sent, frames received). Two
        senders on one host are recorded in one order and may send in another, so it is not checked
        which copy was first."""
        sent = self._sent.frames(1)
        kept = labs.answers(sent, **options).kept
        got = self._got.frames(len(kept))
        self._test.assertEqual(set(got) - set(sent), set(), "frames that nobody sent")
        keys = [sorted(labs.key(frame, **options) for frame in frames_) for frames_ in (got, kept)]
        self._test.assertEqual(*keys, "%d came of %d that are new" % (len(got), len(kept)))
        return sent, got


class OnTheWay(wire.WireTest):
    """Two ends, with unecho between their underlays. unecho runs and listeners record before the
    ends have addresses: new addresses are announced on the link (MLD) after an unknown time, and no
    such frame may be missed."""

    def setUp(self):
        super().setUp()
        self.one, self.two = labs.End(self, 1), labs.End(self, 2)

    def running(self, driver=AF_PACKET, **options):
        document = wire.link(driver % (0, self.one.outside), driver % (1, self.two.outside),
                             **{**WINDOW, "tunnels": "all", "repeats": "drop", **options})
        for route in document["route"]:
            route["allow_tunnel_drop_on_link"] = True
            route["allow_repeat_drop_on_link"] = True
        self.ways = [Way(self, self.one, self.two), Way(self, self.two, self.one)]
        running = self.start(document, "--json")
        self.addCleanup(running.__exit__)
        self.wait_until_running(running)
        for way in self.ways:
            self.assertEqual(way.heard(), [], "of hosts without an address")
        return running

    def finish(self, running, **options):
        """Check each way; return the report, and the frames sent and received."""
        try:
            checked = [way.check(**options) for way in self.ways]
        except AssertionError as error:
            running.interrupt()
            raise AssertionError("%s\n%s" % (error, running.finish())) from error
        running.interrupt()
        report = self.report_of(running.finish())
        for route, filter_, (sent, got) in zip(report["routes"], report["filters"], checked):
            self.assertEqual(route["received"], len(sent), route)
            self.assertEqual(route["reasons"]["echo"], len(sent) - len(got), route)
            counted = labs.counted(sent)
            self.assertEqual({name: filter_[name] for name in counted}, counted)
        return report, *checked[0]

    def transfer(self, tunnel):
        for family in tunnel.families:
            address = tunnel.inside(family, self.two)
            if not tunnel.is_answered():
                self.one.run("ping", "-q", "-c", PINGS, "-i", "0.01", "-W", "0.1", address,
                             check=False)
                continue
            ping(self, self.one, address)
        if not tunnel.is_answered():
            return
        # iperf3 ends when all data is in the sender's buffer, and counts what was received by then.
        done = wire.iperf3(self, self.one, self.two, tunnel.inside(4, self.two), *TRANSFER)
        self.assertGreater(done["end"]["sum_received"]["bytes"], 100_000)

    def requests(self, tunnel, sent):
        """Return, for each family, one packet of a ping as it is in the tunnel."""
        found = tunnel.requests(sent, self.one, self.two)
        self.assertGreaterEqual(len(found), PINGS * len(tunnel.families), tunnel.name)
        return list({ip[0] >> 4: ip for ip in found}.values())

    def check_tunnels(self, connect, tunnels):
        running = self.running()
        state = connect(self.one, self.two, tunnels)
        for tunnel in tunnels:
            try:
                self.transfer(tunnel)
            except AssertionError as error:
                heard = [len(way.heard()) for way in self.ways]
                raise AssertionError("%s: %s\nframes sent: %s\n%s" % (
                    tunnel.name, error, heard, state())) from error
        injected, sent = [], self.ways[0].sent()
        for number, tunnel in enumerate(tunnels):
            forms = labs.FORMS if number == 0 else FORMS[number % 3::3]
            injected += [copy for ip in self.requests(tunnel, sent)
                         for copy in labs.copies(ip, forms)]
        # New packets, each first in a tunnel and then as copies.
        firsts = [encapsulate.wrap(form, unseen(number)) for number, form in enumerate(FORMS)]
        fresh = [frame for number, first in enumerate(firsts)
                 for frame in (first, *labs.copies(unseen(number), FORMS))]
        self.one.send(injected + fresh, self.folder)
        _, sent, got = self.finish(running)
        # The same without the oracle.
        self.assertEqual(0, len(set(injected + fresh) - set(sent)), "copies not sent")
        self.assertEqual(0, len(set(injected) & set(got)), "copies not dropped")
        self.assert_frames([frame for frame in got if frame in set(fresh)], firsts, "new ones")


# One form for each kind of encapsulation.
FORMS = list({form.names: form for form in labs.FORMS if form.inside != "ipv6"}.values())


def unseen(number):
    """Return an IP packet that no host sends."""
    datagram = frames.udp("10.97.0.1", "10.97.0.2", (1000, wire.PORT), b"%04d" % number * 20)
    return frames.ipv4("10.97.0.1", "10.97.0.2", frames.UDP, datagram, 2 + number % 65000)


def unicast(given):
    """Return the frames without a host's own announcements (MLD)."""
    return [frame for frame in given if frames.packed("ff02::16") not in frame]


@wire.needs_namespaces
@wire.needs("iperf3", "ping", "ss")
@labs.needs_kernel_tunnels
class OfTheKernel(OnTheWay):
    def test_copies_in_any_tunnel_disappear_and_nothing_else(self):
        self.check_tunnels(labs.connect_kernels, labs.KERNEL)

    def test_packets_of_other_tenants_are_others_where_that_is_asked_for(self):
        running = self.running(tenant="match")
        labs.connect_kernels(self.one, self.two, labs.KERNEL[:1])
        self.transfer(labs.KERNEL[0])
        ip = self.requests(labs.KERNEL[0], self.ways[0].sent())[0]
        own = labs.vni(labs.KERNEL[0])
        ways = [encapsulate.wrap(labs.form(name), frames.routed(ip), number) for name, number in (
            ("vxlan", own), ("geneve", own), ("vxlan", own + 1), ("gtp-u", own), ("gre", 9))]
        same, others = ways[:2], ways[2:]
        self.one.send(same + others + same + others, self.folder)
        _, _, got = self.finish(running, tenant="match")
        self.assert_frames([frame for frame in got if frame in same + others], others)

    def test_fragments_are_not_opened(self):
        """With af_xdp, because the kernel reassembles fragments for af_packet."""
        running = self.running("net_af_xdp%d,iface=%s")
        labs.connect_kernels(self.one, self.two, [labs.FRAGMENTED])
        for family in (4, 6):
            ping(self, self.one, labs.FRAGMENTED.inside(family, self.two), "-s", 1440)
        fragments = unicast(self.ways[0].sent())
        self.assertGreaterEqual(len(fragments), 2 * PINGS * 2)
        self.assertEqual({len(frame) < 200 for frame in fragments[::2]}, {False})
        self.assertEqual({len(frame) < 200 for frame in fragments[1::2]}, {True})
        copies = [frame[:14] + frames.routed(frame[14:]) for frame in fragments]
        self.one.send(copies, self.folder)
        _, sent, got = self.finish(running)
        self.assert_frames(unicast(sent), fragments + copies)
        self.assert_frames(unicast(got), fragments)


@wire.needs_namespaces
@wire.needs("iperf3", "ping", "ss")
@labs.needs_switch
class OfASwitch(OnTheWay):
    def connect(self, *lab):
        return labs.connect_switches(self, *lab)

    def check(self, tunnels):
        """Check once more if a switch ended itself. In about one of ten runs Open vSwitch 3.1 fails
        its own assertion on the length of actions (lib/netlink.c, nl_msg_end_nested) when flows are
        set."""
        try:
            self.check_tunnels(self.connect, tunnels)
        except AssertionError as error:
            if "%s %d" % (labs.ENDED, -signal.SIGABRT) not in str(error):
                raise
            print("a switch has aborted; once more\n%s" % error, flush=True)
            self.doCleanups()
            self.setUp()
            self.check_tunnels(self.connect, tunnels)

    def test_copies_in_any_tunnel_disappear_and_nothing_else(self):
        self.check(labs.SWITCHED)

    if harness.FULL:  # Mirrors has ERSPAN of both types too
        def test_copies_of_mirrored_packets_do_too(self):
            self.check(labs.SWITCHED_ERSPAN)


@wire.needs_namespaces
@wire.needs("iperf3", "ping", "ss")
@labs.needs_switch
class Mirrors(wire.WireTest):
    """Two hosts on a switch that mirrors their traffic twice: to a port, and into a tunnel."""

    def setUp(self):
        super().setUp()
        self.hosts = [labs.End(self, 1), labs.End(self, 2)]
        # The switch's namespace has the ends of both taps: in0 for the port, in1 for the tunnel.
        self.taps = [labs.End(self, 3), Host(self, 4)]
        self.tool = Host(self, 5)
        at = self.taps[0]
        at.ip("addr flush dev in0")
        for number, host in enumerate(self.hosts, 1):
            host.move_outside(at, "h%d" % number)
        self.taps[1].move_inside(at, "in1")
        self.switch, self.mirrored = labs.Switch(self, at), []

    def connect(self):
        """Connect the hosts to the switch. Nothing was sent before, because hosts announce their
        addresses."""
        at = self.taps[0]
        self.switch.underlay(at, [labs.COLLECTOR], "in1")
        self.switch.add_bridge("lan", "02:00:00:00:02:01", "h1", "h2", "in0")
        for host, other in zip(self.hosts, reversed(self.hosts)):
            host.settle(other, "in0")
            host.ip("link set in0 mtu %d" % labs.INNER_MTU)

    def mirror(self, tunnel, *more):
        """Mirror to port in0 and into the tunnel, replacing earlier mirrors."""
        self.switch.vsctl("--", "clear", "bridge", "lan", "mirrors",
                          *(word for name in self.mirrored for word in ("--", "del-port", name)))
        self.mirrored = [tunnel.device()]
        self.switch.add_port("lan", tunnel, tunnel.setup.settings, labs.COLLECTOR)
        self.switch.vsctl(
            "--", "--id=@port", "get", "port", "in0",
            "--", "--id=@tunnel", "get", "port", tunnel.device(),
            "--", "--id=@one", "create", "mirror", "name=one", "select_all=true",
            "output_port=@port",
            "--", "--id=@two", "create", "mirror", "name=two", "select_all=true",
            "output_port=@tunnel", *more,
            "--", "set", "bridge", "lan", "mirrors=@one,@two")

    def speak(self):
        """Ping and transfer between the hosts."""
        one, two = self.hosts
        for address in (two.address, two.address6):
            ping(self, one, address)
        wire.iperf3(self, one, two, two.address, *TRANSFER)

    def running(self, **options):
        document = {
            "port": [port("plain", 0, self.taps[0]), port("tunnel", 1, self.taps[1]),
                     port("tool", 2, self.tool)],
            "filter": [{"name": "echo", **WINDOW, "tunnels": "all", **options}],
            "route": [{"from": ["plain", "tunnel"], "to": "tool", "filter": "echo"}]}
        running = self.start(document, "--json")
        self.addCleanup(running.__exit__)
        self.wait_until_running(running)
        return running

    def check(self, tunnels, *more, **options):
        """Packets of the hosts reach the tool once, from the port or out of the tunnel."""
        running = self.running(**options)
        at = self.taps[0]
        taps = [Listener(self, at, direction="out", interface=name) for name in ("in0", "in1")]
        tool = Listener(self, self.tool, direction="in")
        self.connect()
        for tunnel in tunnels:
            with self.subTest(tunnel=tunnel.name):
                self.mirror(tunnel, *more)
                self.speak()
        tapped = [tap.frames(1) for tap in taps]
        expected = labs.answers(tapped[0] + tapped[1], **options)
        got = tool.frames(len(expected.kept))
        running.interrupt()
        report = self.report_of(running.finish())
        self.assertEqual(report["reasons"]["echo"], len(expected.echoes), report)
        plain, tunnelled, once = [[frame for frame in frames_ if self.is_of_hosts(frame)]
                                  for frames_ in (*tapped, got)]
        keys = [sorted(labs.key(frame, **options) for frame in frames_)
                for frames_ in (plain, tunnelled, once, expected.kept, got)]
        self.assertTrue(keys[3] == keys[4], "the tool has not what the oracle keeps")
        self.assertTrue(keys[0] == keys[1], "the mirrors differ: %d and %d"
                        % (len(plain), len(tunnelled)))
        # Some packets are sent twice: TCP resets have no ID.
        self.assertTrue(sorted(set(keys[0])) == keys[2], "not each packet once: %d, %d of %d"
                        % (len(set(keys[0])), len(once), len(plain)))
        return plain, tunnelled

    def is_of_hosts(self, frame):
        """Return True unless the switch itself sent it."""
        one, two = self.hosts
        return any(frames.packed(source) + frames.packed(target) in frame
                   for source, target in ((one.address, two.address), (two.address, one.address),
                                          (one.address6, two.address6),
                                          (two.address6, one.address6)))

    def test_each_packet_of_two_mirrors_reaches_the_tool_once(self):
        self.check(labs.MIRRORED)

    def test_truncated_copies_match_whole_ones_in_their_first_bytes(self):
        plain, tunnelled = self.check(labs.MIRRORED[:1], "snaplen=200", key_bytes=100)
        self.assertGreater(max(map(len, plain)), 1000)
        self.assertEqual(max(map(len, tunnelled)), 200)


if __name__ == "__main__":
    harness.main()
