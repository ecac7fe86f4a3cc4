#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Series of files by size, number and time, counts meanwhile, and another user after opening: as in
tcpdump. Every file is complete, and each packet is in one of them."""
import itertools
import json
import os
import pathlib
import pty
import pwd
import re
import select
import signal
import subprocess

import capturing
import wire
from wire import harness, udp_frame

NOBODY = pwd.getpwnam("nobody")


def frames_in(path):
    """Return the frames as tcpdump reads them; fail unless the file is complete."""
    converted = path.parent / "converted"
    wire.run("tcpdump", "-r", path, "-w", converted)
    frames = harness.frames_of(converted)
    converted.unlink()
    return frames


@wire.needs_namespaces
class CaptureFiles(capturing.CaptureTest):
    def rows(self, *arguments, frames, name="out.pcap"):
        """Capture these frames, each of which arrives twice; return what is left: [(name,
        frames)]."""
        folder = self.folder / "rows"
        folder.mkdir()
        running = self.capture("-i", self.taps[0], "-w", folder / name, *arguments)
        for frame in range(0, len(frames), 30):
            some = frames[frame:frame + 30]
            self.hosts[0].send(some + some, self.folder)
        total = 2 * len(frames)
        harness.wait_for(lambda: self.packets_so_far(running) == total, "all packets")
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertIn("dropped %d echoes" % len(frames), result.err.replace(",", ""))
        return [(path.name, frames_in(path)) for path in sorted(folder.iterdir())]

    def packets_so_far(self, running):
        running.send(signal.SIGUSR1)
        for line in iter(running.first_error_line, ""):
            if "so far" in line:
                return int(line.split()[1].replace(",", ""))
        return None

    def test_by_size_nothing_is_lost_between_two_files(self):
        frames = [udp_frame(number, size=400) for number in range(120)]
        rows = self.rows("-C", "10KiB", frames=frames)
        self.assertGreater(len(rows), 3)
        names = ["out.pcap"] + ["out.pcap%d" % number for number in range(1, len(rows))]
        self.assertEqual({name for name, _ in rows}, set(names))
        files = dict(rows)
        self.assertEqual([frame for name in names for frame in files[name]], frames)
        record = 16 + len(frames[0])
        for name in names[:-1]:  # a full file has more than that
            self.assertEqual(len(files[name]), 10240 // record + 1 - (24 + 10240 // record * record > 10240))

    def test_by_number_in_a_ring(self):
        frames = [udp_frame(number) for number in range(50)]
        rows = self.rows("--split-packets", "8", "-W", "3", frames=frames)
        self.assertEqual(rows, [("out.pcap0", frames[48:]), ("out.pcap1", frames[32:40]),
                                ("out.pcap2", frames[40:48])])

    def test_by_time_it_ends_behind_so_many(self):
        folder = self.folder / "rows"
        folder.mkdir()
        running = self.capture("-i", self.taps[0], "-w", folder / "%Y%m%d-%H%M%S.pcap", "-G", "1", "-W", "2")
        sent = itertools.count()

        def ended():
            frame = udp_frame(next(sent))
            self.hosts[0].send([frame, frame], self.folder)
            return not running.alive()
        harness.wait_for(ended, "the end of the second file's time")
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        rows = [frames_in(path) for path in sorted(folder.iterdir())]
        self.assertEqual(len(rows), 2)
        self.assertEqual(sum(rows, []), [udp_frame(number) for number in range(len(sum(rows, [])))])

    def test_what_cannot_be_is_one_line(self):
        one = ("-i", self.taps[0])
        for arguments, said in (
                (("-C", "0", "-w", "out.pcap"), "-C: \"0\"; allowed: millions of bytes"),
                (("-C", "1", "-w", "-"), "cannot be split"),
                (("-W", "3", "-w", "out.pcap"), "-W: only with -C"),
                (("-G", "60", "-w", "out.pcap"), "-G needs a time in the name"),
                (("-G", "x", "-w", "%S.pcap"), "-G: \"x\"; allowed: seconds, 1 or more"),
                (("-C", "1", "--dropped", "echoes.pcap", "-w", "out.pcap"), "would grow without end"),
                (("-C", "1", "--pairs", "echoes.csv"), "-w FILE is needed"),
                (("--format", "text", "-w", "out.pcap"), "--format"),
                (("-Z", "nobody-of-that-name", "-w", "out.pcap"), "-Z: \"nobody-of-that-name\": no such user")):
            with self.subTest(arguments):
                status, err = self.refused(*one, *arguments)
                self.assertIn(said, err)
                self.assertIn(status, (1, 2))

    def test_counts_meanwhile(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcap")
        frames = [udp_frame(number) for number in range(10)]
        self.hosts[0].send(frames + frames[:3], self.folder)
        harness.wait_for(lambda: self.packets_so_far(running) == 13, "all packets")
        running.send(signal.SIGUSR1)
        lines = {running.first_error_line() for _ in range(2)}
        self.assertIn("unecho: 13 packets so far, of these 3 echoes\n", lines)
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(frames_in(self.folder / "out.pcap"), frames)

    def test_progress_on_a_terminal_and_counts_have_lines_of_their_own(self):
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        running = subprocess.Popen([os.environ["UNECHO_BIN"], "capture", "-i", self.taps[0], "-w",
                                    "out.pcap", "--window", "60s"], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stderr=other_end)
        os.close(other_end)
        self.addCleanup(running.kill)
        shown = ""

        def shows(pattern):
            nonlocal shown
            self.hosts[0].send([udp_frame(1)], self.folder)
            while select.select([terminal], [], [], 0)[0]:
                shown += os.read(terminal, 65536).decode()
            return re.search(pattern, shown)
        harness.wait_for(lambda: shows(r"^unecho: capturing on %s\r\n" % self.taps[0]), "the beginning")
        harness.wait_for(lambda: shows(r"\r\x1b\[K[2-9]\d* packets, [1-9]\d* echo(es)?, 0 dropped"), "progress")
        shown = ""
        running.send_signal(signal.SIGUSR1)
        harness.wait_for(lambda: shows(r"by the interface\r\n"), "the counts")
        self.assertRegex(shown, r"\r\x1b\[Kunecho: \d+ packets so far, of these \d+ echoes\r\n"
                                r"%s: \d+ read, 0 dropped by the kernel, 0 by the interface\r\n" % self.taps[0])
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(harness.PATIENCE), 0)

    def test_goes_on_as_another_user(self):
        self.folder.chmod(0o777)
        running = self.capture("-i", self.taps[0], "-w", "out.pcap", "-Z", "nobody")
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path("/proc/%d/status" % running.pid()).read_text().splitlines() if ":\t" in line)
        self.assertEqual(status["Uid"].split(), [str(NOBODY.pw_uid)] * 4)
        self.assertEqual(status["Gid"].split(), [str(NOBODY.pw_gid)] * 4)
        self.assertNotIn("0", status["Groups"].split())
        self.assertEqual({int(status[name], 16) for name in ("CapPrm", "CapEff")}, {0})
        self.hosts[0].send([udp_frame(1), udp_frame(1)], self.folder)
        harness.wait_for(lambda: self.packets_so_far(running) == 2, "packets")
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertEqual(frames_in(self.folder / "out.pcap"), [udp_frame(1)])
        self.assertEqual((self.folder / "out.pcap").stat().st_uid, NOBODY.pw_uid)

    def test_nobody_can_become_another_user(self):
        status, err = self.refused("-i", self.taps[0], "-w", "out.pcap", "-Z", "root",
                                   wrapper=("setpriv", "--reuid", "nobody", "--clear-groups"))
        self.assertEqual(status, 2)
        self.assertIn("-Z: only root can go on as another user", err)

    def test_a_filter_is_made_for_what_an_interface_can_bring(self):
        """Not for everything that fits into memory, which it would have to sweep within each
        window."""
        running = self.capture("-i", self.taps[0], "-w", "out.pcap", "--engine", "line", "--window", "10ms",
                               "--json", "--duration", "50ms")
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertIn("up to 20 Mpps new packets", json.loads(result.out)["engine_text"])

    def test_a_format_for_a_pipe(self):
        running = self.capture("-i", self.taps[0], "-w", "-", "--format", "pcapng", "-c", "1")
        self.hosts[0].send([udp_frame(1)], self.folder)
        self.assertEqual(running.output().buffer.read(4), b"\x0a\x0d\x0d\x0a")


if __name__ == "__main__":
    harness.main()
