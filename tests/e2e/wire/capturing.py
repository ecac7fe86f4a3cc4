# SPDX-License-Identifier: BSD-3-Clause
"""unecho capture on the interfaces of hosts, with tcpdump beside it."""
import os
import subprocess

import wire
from wire import Host, harness


class CaptureTest(wire.WireTest):
    """Two hosts; our ends of their links are the taps."""

    def setUp(self):
        super().setUp()
        self.hosts = [Host(self, 1), Host(self, 2)]
        self.taps = [host.outside for host in self.hosts]

    def capture(self, *arguments, wrapper=()):
        """Start unecho capture; return once its interfaces are open. The window is so long that a
        copy is an echo however slowly it is sent."""
        if "--window" not in arguments:
            arguments += ("--window", "60s")
        running = harness.Running([*wrapper, os.environ["UNECHO_BIN"], "capture", *map(str, arguments)],
                                  dict(os.environ), self.folder)
        self.addCleanup(running.__exit__)
        names = [arguments[i + 1] for i, word in enumerate(arguments) if word == "-i"]
        self.assertEqual(running.first_error_line(),
                         "unecho: capturing on %s\n" % ", ".join(names))
        return running

    def refused(self, *arguments, wrapper=()):
        done = harness.unecho("capture", *arguments, wrapper=wrapper, cwd=self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertFalse((self.folder / "out.pcap").exists())
        return done.returncode, done.stderr

    def from_taps(self):
        return [word for tap in self.taps for word in ("-i", tap)]

    def tcpdump(self, tap):
        """Capture with nanoseconds, as the kernel reports them."""
        path = self.folder / (tap + ".pcap")
        process = subprocess.Popen(["tcpdump", "-i", tap, "-U", "-B", "65536", "--immediate-mode",
                                    "--time-stamp-precision=nano", "-w", str(path)],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

        def end():
            process.terminate()
            process.communicate(timeout=harness.PATIENCE)
        self.addCleanup(lambda: end() if process.poll() is None else None)
        while "listening on" not in process.stderr.readline():
            self.assertIsNone(process.poll(), "tcpdump did not start")
        return path, end
