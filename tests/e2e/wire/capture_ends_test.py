#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""However a capture ends, one line says why, and the captured packets are complete: full disks, a
reader that reads nothing, a kill, interfaces that go down or away."""
import random
import shutil
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
