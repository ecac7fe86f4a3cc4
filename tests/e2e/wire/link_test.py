#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A bump in the wire between two hosts with real network stacks, by both kernel drivers."""
import collections
import itertools
import signal
import socket
import threading

import wire
from wire import Host, Listener, copies_of, exact_answer, harness, udp_frame

PACKETS = 200


@wire.needs_namespaces
@wire.needs("iperf3", "ping", "ss")
class Link:
    """The tests; a subclass names the driver."""
    driver = None
    arguments = ""

    def setUp(self):
        super().setUp()
        self.one, self.two = Host(self, 1), Host(self, 2)
        self.left = "net_%s0,iface=%s%s" % (self.driver, self.one.outside, self.arguments)
        self.right = "net_%s1,iface=%s%s" % (self.driver, self.two.outside, self.arguments)

    def running(self, **options):
        running = self.start(wire.link(self.left, self.right, **options), "--json")
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        return running

    def finish(self, running):
        running.interrupt()
        return self.report_of(running.finish())

    def test_copies_disappear_and_the_rest_is_untouched(self):
        # So long that copies are echoes however slowly they are sent.
        running = self.running(window="60s", rate="10kpps")
        listener = Listener(self, self.two, "udp port %d or (vlan 42 and udp port %d)" % (wire.PORT, wire.PORT))
        originals = [udp_frame(number, vlan=42 if number % 3 == 0 else None) for number in range(PACKETS)]
        frames = []
        for number, frame in enumerate(originals):
            frames += [frame, *copies_of(number)]
        self.one.send(frames, self.folder)
        self.assert_frames(listener.frames(PACKETS), originals)
        report = self.finish(running)
        rightward = report["routes"][0]
        self.assertEqual(rightward["reasons"]["echo"], 2 * PACKETS, rightward)
        self.assertEqual(rightward["dropped"], 2 * PACKETS)

    def test_ping_and_iperf3_pass_unharmed(self):
        # Echoes go to a file, so that each can be compared with what was sent. The bound is so low
        # that no false drop is expected here, even if generations turn late under the hosts' load.
        diverted = self.folder / "diverted.pcap"
        running = self.running(max_false_drop=1e-10, on_echo="echoes", more_ports=[
            {"name": "echoes", "device": "net_pcap9,tx_pcap=%s" % diverted}])
        sent = Listener(self, self.two, "ip and src host %s and less 100" % self.two.address)
        # ping waits for the last reply only twice as long as for the slowest before.
        replies = Listener(self, self.one, "icmp[icmptype] = icmp-echoreply", "in")
        ping = self.one.run("ping", "-q", "-c", 20, "-i", "0.05", self.two.address, check=False)
        try:
            numbers = [frame[40:42] for frame in replies.frames(20)]
        except AssertionError as error:
            self.fail("%s\n%s\n%s" % (error, ping.stdout, self.finish(running)))
        self.assertEqual((len(numbers), len(set(numbers))), (20, 20))
        tcp = self.iperf3("-n", "4M")
        self.assertGreater(tcp["end"]["sum_received"]["bytes"], 1_000_000)
        # Every buffer on the path holds as many, so none is lost, however late it is read.
        udp = self.iperf3("-n", "30K", "-u", "-b", "10M", "-l", "200")
        self.assertEqual(udp["end"]["sum"]["lost_packets"], 0, udp["end"]["sum"])
        report = self.finish(running)
        self.assertEqual(report["totals"]["dropped"], report["reasons"]["tx_lost"], report)
        self.check_diverted(harness.frames_of(diverted), sent.frames(20))

    def iperf3(self, *options):
        return wire.iperf3(self, self.one, self.two, self.two.address, *options)

    def check_diverted(self, diverted, sent):
        """Diverted are only packets that were sent twice, to the byte, such as the resets of a
        closing TCP with ID 0."""
        times = collections.Counter(exact_answer.key_of("packet", frame) for frame in sent)
        for frame in diverted:
            key = exact_answer.key_of("packet", frame)
            self.assertGreaterEqual(times[key], 2, frame.hex())
            times[key] -= 1


@wire.needs_namespaces
class AfPacket(Link, wire.WireTest):
    driver = "af_packet"
    arguments = ",framecnt=4096"

    def test_what_a_full_ring_loses_is_missed_and_counted_and_nothing_else(self):
        """More arrives than the device holds while nobody polls. Only then packets are lost, after
        filtering was shed."""
        running = self.running(window="60s", rate="10kpps")
        sent = 3 * 4096
        with self.telemetry(running) as telemetry:
            running.send(signal.SIGSTOP)
            try:
                self.one.send([udp_frame(number) for number in range(sent)], self.folder)
            finally:
                running.send(signal.SIGCONT)

            def all_found():
                counters = self.assert_consistent(telemetry)
                missed = telemetry.ask("/unecho/ports,0")["rx_missed"]
                return missed if counters["received"] + missed >= sent else None
            missed = harness.wait_for(all_found, "each packet to be received or missed")
            # Packets in the ring were not lost; some of the interface's own may be among them.
            self.assertGreater(missed, sent - 4096 - 100)
            self.assertLess(missed, sent - 2000)
            listener = Listener(self, self.two, "udp port %d" % wire.PORT)
            later = [udp_frame(number) for number in range(sent, sent + PACKETS)]
            self.one.send(later, self.folder)
            self.assert_frames(listener.frames(PACKETS), later)
            self.assertEqual(telemetry.ask("/unecho/ports,0")["rx_missed"], missed, "it recovers")
        report = self.finish(running)
        self.assertEqual(report["ports"][0]["rx_missed"], missed)
        self.assertEqual(report["routes"][0]["reasons"]["echo"], 0)
        self.assertEqual(report["totals"]["dropped"], 0)

    def test_nothing_of_other_interfaces_passes_at_the_start(self):
        """Until they are bound to their interfaces, the driver's sockets receive packets of all."""
        ended = threading.Event()

        def talk():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to, \
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                to.bind(("127.0.0.1", 0))
                for number in itertools.count():
                    if ended.wait(0.0002):
                        return
                    own.sendto(b"%d" % number, to.getsockname())
        talker = threading.Thread(target=talk)
        talker.start()
        self.addCleanup(talker.join)
        self.addCleanup(ended.set)
        running = self.running()
        report = self.finish(running)
        for route in report["routes"]:
            self.assertEqual(route["reasons"]["new"] + route["reasons"]["echo"], 0, route)


@wire.needs_namespaces
class AfXdp(Link, wire.WireTest):
    driver = "af_xdp"

    def test_a_second_user_is_refused_and_the_first_goes_on(self):
        running = self.running()
        result = self.run_unecho(wire.link(self.left, self.right))
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.err, r"^unecho: port \"\w+\".*%s" % self.one.outside)
        listener = Listener(self, self.two, "udp port %d" % wire.PORT)
        frames = [udp_frame(number) for number in range(PACKETS)]
        self.one.send(frames, self.folder)
        self.assert_frames(listener.frames(PACKETS), frames)
        self.finish(running)


if __name__ == "__main__":
    wire.harness.main()
