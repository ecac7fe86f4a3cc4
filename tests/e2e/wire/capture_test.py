#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho capture on interfaces, beside tcpdump on the same ones. Both get the same packets with the
same times from the kernel, so unecho must write what `unecho pcap` makes of tcpdump's files."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import capturing
import wire
from wire import harness, udp_frame

PACKETS = 600
NOBODY = 65534


@wire.needs_namespaces
class Capture(capturing.CaptureTest):
    def send_in_turns(self, frames):
        """Send one frame to each tap in turn. The kernel delivers blocks of one tap after the
        other, so the reader has to wait to restore the order."""
        self.hosts[1].move_inside(self.hosts[0], "in1")
        path = self.folder / "frames.json"
        path.write_text(json.dumps([[frame.hex() for frame in each] for each in frames]))
        program = ("import itertools,json,socket,time\n"
                   "taps=[socket.socket(socket.AF_PACKET,socket.SOCK_RAW) for _ in '01']\n"
                   "for s,name in zip(taps,('in0','in1')): s.bind((name,0))\n"
                   "frames=json.load(open(%r))\n"
                   "for turn in itertools.zip_longest(*frames):\n"
                   " for s,frame in zip(taps,turn):\n"
                   "  if frame: s.send(bytes.fromhex(frame))\n"
                   " time.sleep(0.0005)\n" % str(path))
        self.hosts[0].run(sys.executable, "-c", program)

    def test_agrees_with_pcap_of_what_tcpdump_wrote(self):
        files = [self.tcpdump(tap) for tap in self.taps]
        running = self.capture(*self.from_taps(), "--window", "60s", "--engine", "exact", "--buffer-size",
                               "32MiB", "--json", "--pairs", "live.csv", "-w", "live.pcap")
        copies = [[udp_frame(number) for number in range(PACKETS)],
                  [udp_frame(number, ttl=63, mac_shift=1) for number in range(PACKETS) for _ in (0, 1)]]
        self.send_in_turns(copies)
        for (path, _), sent in zip(files, copies):
            harness.wait_for(lambda path=path, sent=sent: len(harness.frames_of(path)) >= len(sent),
                             "tcpdump's packets")
        for _, end in files:
            end()
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        report = json.loads(result.out)
        self.assertEqual([(one["name"], one["read"], one["kernel_dropped"]) for one in report["interfaces"]],
                         [(tap, len(sent), 0) for tap, sent in zip(self.taps, copies)])
        wire.run(os.environ["UNECHO_BIN"], "pcap", *(path for path, _ in files), "--window", "60s",
                 "--engine", "exact", "--pairs", self.folder / "pcap.csv", "-o", self.folder / "pcap.pcap")
        live = harness.frames_of(self.folder / "live.pcap")
        self.assertEqual(len(live), PACKETS)
        # Equal to the byte: the same packets in the same order with the same times.
        self.assertEqual((self.folder / "live.pcap").read_bytes()[24:],
                         (self.folder / "pcap.pcap").read_bytes()[24:])
        rows = [[line.split(",") for line in (self.folder / name).read_text().splitlines()]
                for name in ("live.csv", "pcap.csv")]
        self.assertEqual(len(rows[0]), 1 + 2 * PACKETS)
        self.assertEqual(len(rows[0]), len(rows[1]))

    def test_ends_after_packets_and_goes_into_a_pipe(self):
        running = self.capture("-i", self.taps[0], "-f", "udp port %d" % wire.PORT, "-c", 40, "-w", "-",
                               "--dropped", "echoes.pcap")
        reader = threading.Thread(target=lambda: self.hosts[0].send(
            [udp_frame(number) for number in range(20) for _ in (0, 1)], self.folder))
        reader.start()
        tcpdump = subprocess.run(["tcpdump", "-nr", "-"], stdin=running.output(),
                                 capture_output=True, text=True, check=True, timeout=harness.PATIENCE)
        reader.join()
        self.assertEqual(len(tcpdump.stdout.splitlines()), 20)
        self.assertEqual(len(harness.frames_of(self.folder / "echoes.pcap")), 20)

    def test_a_quiet_interface_holds_the_other_back_for_a_moment_only(self):
        running = self.capture(*self.from_taps(), "-c", 30, "-w", "out.pcap")
        self.hosts[0].send([udp_frame(number) for number in range(30)], self.folder)
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(len(harness.frames_of(self.folder / "out.pcap")), 30)

    def test_duration_ends_it_without_a_packet(self):
        result = self.capture("-i", self.taps[0], "--duration", "50ms", "-w", "out.pcap").finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(harness.frames_of(self.folder / "out.pcap"), [])

    def test_marked_echoes_stay_in_their_place(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcapng", "--mark", "--window", "60s", "-c", 40)
        frames = [frame for number in range(20) for frame in (udp_frame(number), udp_frame(number, ttl=63))]
        self.hosts[0].send(frames, self.folder)
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(harness.frames_of(self.folder / "out.pcapng"), frames)
        comments = re.findall(rb"echo of packet (\d+), [0-9.]+ [a-z]+", (self.folder / "out.pcapng").read_bytes())
        self.assertEqual(list(map(int, comments)), list(range(1, 40, 2)))

    def test_so_many_bytes_of_each_packet(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcap", "-s", 60, "--window", "60s", "-c", 60)
        self.hosts[0].send([udp_frame(number, ttl=ttl) for number in range(30) for ttl in (64, 63)], self.folder)
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(harness.frames_of(self.folder / "out.pcap"),
                         [udp_frame(number)[:60] for number in range(30)])
        said = wire.run("tcpdump", "-enr", self.folder / "out.pcap").stdout
        self.assertEqual(said.count(", length %d: " % len(udp_frame(0))), 30, said)

    def test_promiscuous_unless_told_otherwise(self):
        def times():
            return json.loads(wire.run("ip", "-d", "-j", "link", "show", self.taps[0]).stdout)[0]["promiscuity"]
        before = times()
        for arguments, more in (((), 1), (("-p",), 0)):
            running = self.capture("-i", self.taps[0], "-w", "out.pcap", *arguments)
            self.assertEqual(times(), before + more, arguments)
            running.interrupt()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(times(), before)

    def test_what_the_kernel_dropped_is_told(self):
        """Stopped while more arrives than the buffer holds: this is reported, and all packets are
        accounted for."""
        running = self.capture("-i", self.taps[0], "-w", "out.pcap", "--buffer-size", "64KiB", "--json")
        running.send(signal.SIGSTOP)
        self.hosts[0].send([udp_frame(number) for number in range(PACKETS)], self.folder)
        running.send(signal.SIGCONT)
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        one, = json.loads(result.out)["interfaces"]
        self.assertEqual(one["read"] + one["kernel_dropped"], PACKETS, one)
        self.assertGreater(one["kernel_dropped"], 0)
        self.assertIn("unecho: warning: %s: %d packets were dropped by the kernel, whose buffer was full; give more "
                      "--buffer-size\n" % (self.taps[0], one["kernel_dropped"]), result.err)
        self.assertEqual(len(harness.frames_of(self.folder / "out.pcap")), one["read"])

    def test_what_is_wrong_is_one_line(self):
        status, said = self.refused("-i", "nosuch0", "-w", "out.pcap")
        self.assertEqual(status, 1)
        self.assertIn("nosuch0: no such interface", said)
        status, said = self.refused("-i", self.taps[0], "-f", "udp prt 7", "-w", "out.pcap")
        self.assertEqual(status, 2)
        self.assertIn("allowed: as in pcap-filter(7)", said)
        status, said = self.refused("-i", self.taps[0], "-i", "any", "-w", "out.pcap")
        self.assertEqual(status, 2)
        self.assertIn("out.pcap: %s has link type 1 (EN10MB), any link type 276 (LINUX_SLL2); a pcap holds "
                      "one link type" % self.taps[0], said)
        status, said = self.refused("-w", "out.pcap")
        self.assertEqual(status, 2)
        self.assertIn("-i IF is needed", said)
        self.assertFalse((self.folder / "out.pcap").exists())
        self.assertEqual(list(self.folder.glob(".out*")), [])

    def test_without_root_the_capability_is_named_and_is_enough(self):
        self.folder.chmod(0o777)
        program = self.folder / "unecho"
        shutil.copy(os.environ["UNECHO_BIN"], program)
        program.chmod(0o755)

        def nobody(capabilities):
            return ("setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups",
                    "--inh-caps=" + capabilities, "--ambient-caps=" + capabilities,
                    "--bounding-set=" + capabilities, "env", "UNECHO_BIN=" + str(program))
        reachable = subprocess.run([*nobody("-all"), os.environ["UNECHO_BIN"], "--version"],
                                   capture_output=True, check=False)
        if reachable.returncode != 0:
            self.skipTest("needs a build that nobody can reach")
        _, said = self.refused("-i", self.taps[0], "-w", "out.pcap", wrapper=nobody("-all"))
        self.assertIn("CAP_NET_RAW", said)
        result = self.capture("-i", self.taps[0], "--duration", "50ms", "-w", "out.pcap",
                              wrapper=nobody("-all,+net_raw")).finish()
        self.assertEqual(result.status, 0, result)

    def test_lists_interfaces(self):
        done = wire.run(os.environ["UNECHO_BIN"], "capture", "-D")
        self.assertIn(self.taps[0], [line.split("\t")[0] for line in done.stdout.splitlines()])


if __name__ == "__main__":
    harness.main()
