#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""However a capture ends, one line says why, and the captured packets are complete: full disks, a
reader that reads nothing, a kill, interfaces that go down or away."""
import os
import random
import select
import shutil
import signal
import subprocess

import capturing
import wire
from wire import harness, udp_frame

NUMBERS = random.Random(20)


def large_frame(number):
    """Return a frame of 1,014 bytes that do not compress."""
    frame = udp_frame(number, size=972)
    return frame[:50] + NUMBERS.randbytes(len(frame) - 50)


def frames_in(path, folder=None):
    """Return the frames as tcpdump reads them; fail unless the file is complete."""
    plain = (folder or path.parent) / "plain.pcap"
    with open(plain, "wb") as to:
        unpack = {".gz": ("gzip", "-dc"), ".zst": ("zstd", "-dc"), ".lz4": ("lz4", "-dc")}
        subprocess.run([*unpack.get(path.suffix, ("cat",)), path], stdout=to, check=True)
    converted = plain.with_name("converted.pcap")
    wire.run("tcpdump", "-r", plain, "-w", converted)
    return harness.frames_of(converted)


@wire.needs_namespaces
class CaptureEnds(capturing.CaptureTest):
    def small_disk(self, kibibytes):
        folder = self.folder / "small"
        folder.mkdir()
        wire.run("mount", "-t", "tmpfs", "-o", "size=%dk" % kibibytes, "none", folder)
        self.addCleanup(wire.run, "umount", folder)
        return folder

    def ended_by_a_full_disk(self, path, frames):
        """Return the captured frames, and the line."""
        running = self.capture("-i", self.taps[0], "-w", path, "--dropped", "echoes.pcap")
        self.hosts[0].send([udp_frame(9999), udp_frame(9999)], self.folder)
        harness.wait_for(lambda: frames_in(path, self.folder) == [udp_frame(9999)], "a packet in the file")
        self.hosts[0].send(frames, self.folder)
        result = running.finish()
        self.assertEqual(result.status, 1, result)
        self.assertEqual(len(result.err.splitlines()), 1, result)
        self.assertIn("cannot be written: No space left on device", result.err)
        return result.err

    def test_full_disk(self):
        disk = self.small_disk(400)
        for name in ("out.pcap", "out.pcapng", "out.pcap.gz", "out.pcap.zst", "out.pcapng.lz4"):
            if name.endswith(".lz4") and not shutil.which("lz4"):
                continue
            with self.subTest(name):
                frames = [large_frame(number) for number in range(800)]
                path = disk / name
                said = self.ended_by_a_full_disk(path, frames)
                shutil.copy(path, self.folder / name)
                path.unlink()
                kept = frames_in(self.folder / name)
                self.assertGreater(len(kept), 0)
                self.assertIn("the %d packets in it are whole" % len(kept), said)
                self.assertEqual(kept, [udp_frame(9999), *frames][:len(kept)])
                # Another output, on a disk with space, is complete as well.
                self.assertEqual(frames_in(self.folder / "echoes.pcap"), [udp_frame(9999)])

    def test_device_that_is_full_from_the_beginning(self):
        result = subprocess.run([os.environ["UNECHO_BIN"], "capture", "-i", self.taps[0], "-w", "/dev/full"],
                                capture_output=True, text=True, check=False, timeout=harness.PATIENCE)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("/dev/full: cannot be written: No space left on device", result.stderr)

    def test_limit_of_a_files_size(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcap", wrapper=("prlimit", "--fsize=50000"))
        self.hosts[0].send([large_frame(number) for number in range(200)], self.folder)
        result = running.finish()
        self.assertEqual(result.status, 1, result)
        kept = frames_in(self.folder / "out.pcap")
        self.assertEqual(len(kept), (50000 - 24) // (16 + 1014))
        self.assertIn("File too large; the %d packets in it are whole" % len(kept), result.err)

    def test_killed_leaves_what_came_a_moment_before(self):
        frames = [udp_frame(number) for number in range(30)]
        for name in ("out.pcap", "out.pcap.gz"):
            with self.subTest(name):
                path = self.folder / name
                running = self.capture("-i", self.taps[0], "-w", path, "--pairs", "echoes.csv")
                self.hosts[0].send(frames + frames[:10], self.folder)
                harness.wait_for(lambda path=path: path.stat().st_size and len(frames_in(path)) == 30,
                                 "packets in the file")
                harness.wait_for(lambda: len((self.folder / "echoes.csv").read_text().splitlines()) == 11,
                                 "rows of pairs")
                self.assertTrue(running.alive())
                running.send(signal.SIGKILL)
                running.finish()
                self.assertEqual(frames_in(path), frames)

    def blocked(self, number):
        """Stop a capture whose reader reads nothing."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        other = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, other)
        running = self.capture("-i", self.taps[0], "-w", fifo, "--dropped", "echoes.pcap")
        self.hosts[0].send([udp_frame(1), udp_frame(1)] + [large_frame(number) for number in range(400)],
                           self.folder)
        harness.wait_for(lambda: not select.select([], [other], [], 0)[1], "a full pipe")
        self.assertTrue(running.alive())
        running.send(number)
        return running.finish()

    def test_a_pipe_that_nobody_reads_does_not_hold_it_up(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                result = self.blocked(number)
                self.assertEqual(result.status, 1, result)
                self.assertEqual(len(result.err.splitlines()), 1, result)
                self.assertIn("told to end, and its reader takes no more", result.err)
                self.assertEqual(frames_in(self.folder / "echoes.pcap"), [udp_frame(1)])
                (self.folder / "fifo").unlink()

    def told(self, result):
        """Return the messages other than the summary."""
        return [line for line in result.err.splitlines() if "unecho:" in line]

    def gone(self):
        return ("unecho: warning: %s: packet 30: nothing more is captured here: The interface disappeared" %
                self.taps[0])

    def test_an_interface_that_goes_away_is_one_line(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcap")
        frames = [udp_frame(number) for number in range(30)]
        self.hosts[0].send(frames, self.folder)
        harness.wait_for(lambda: len(frames_in(self.folder / "out.pcap")) == 30, "packets in the file")
        wire.run("ip", "link", "del", self.taps[0])
        result = running.finish()
        self.assertEqual(result.status, 1, result)
        self.assertEqual(self.told(result), [self.gone()])
        self.assertEqual(frames_in(self.folder / "out.pcap"), frames)

    def test_of_two_interfaces_the_other_goes_on(self):
        running = self.capture(*self.from_taps(), "-w", "out.pcap")
        frames = [udp_frame(number) for number in range(60)]
        self.hosts[0].send(frames[:30], self.folder)
        path = self.folder / "out.pcap"
        harness.wait_for(lambda: len(frames_in(path)) == 30, "packets of the first")
        wire.run("ip", "link", "del", self.taps[0])
        self.hosts[1].send(frames[30:], self.folder)
        harness.wait_for(lambda: len(frames_in(path)) == 60, "packets of the second")
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 1, result)
        self.assertEqual(self.told(result), [self.gone()])

    def test_an_interface_that_goes_down_is_waited_for(self):
        running = self.capture("-i", self.taps[0], "-w", "out.pcap")
        frames = [udp_frame(number) for number in range(60)]
        path = self.folder / "out.pcap"
        self.hosts[0].send(frames[:30], self.folder)
        harness.wait_for(lambda: len(frames_in(path)) == 30, "packets before")
        wire.run("ip", "link", "set", self.taps[0], "down")
        wire.run("ip", "link", "set", self.taps[0], "up")
        self.hosts[0].send(frames[30:], self.folder)
        harness.wait_for(lambda: len(frames_in(path)) == 60, "packets behind")
        running.interrupt()
        result = running.finish()
        self.assertEqual((result.status, self.told(result)), (0, []))
        self.assertEqual(frames_in(path), frames)


if __name__ == "__main__":
    harness.main()
