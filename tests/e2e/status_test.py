#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho status` beside real appliances: as text, as JSON, as a plugin, and on a terminal."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import harness
import monitored

# Machines that test are busy, so that workers are held up.
JUDGED = r"^(all is well|warning: .*)$"
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A program on a terminal of this size."""

    def __init__(self, arguments, environment, columns, lines):
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            try:
                os.execve(os.environ["UNECHO_BIN"], [os.environ["UNECHO_BIN"], *arguments],
                          dict(environment, TERM="xterm"))
            finally:
                os._exit(127)
        self.shown = b""
        self.resize(columns, lines)
        self.settings = termios.tcgetattr(self._end)

    def resize(self, columns, lines):
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """Read new output; return False at the end."""
        if select.select([self._end], [], [], 0.1)[0]:
            try:
                piece = os.read(self._end, 65536)
            except OSError:
                return False
            self.shown += piece
        return True

    def wait(self, condition, what):
        def met():
            self.read()
            return condition(self.shown)
        return harness.wait_for(met, what)

    def type(self, keys):
        os.write(self._end, keys)

    def send(self, number):
        os.kill(self._pid, number)

    def stopped(self):
        return os.waitpid(self._pid, os.WUNTRACED | os.WNOHANG)[1]

    def exit_status(self):
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def close(self):
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._end)


def screens(shown):
    """Return each screen as lines without colours."""
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", shown).decode()
    return [[line.rstrip("\r").replace("\x1b[K", "")
             for line in screen.split("\x1b[J")[0].split("\n")]
            for screen in text.split("\x1b[H")[2:] if "\x1b[J" in screen]


class Nothing(monitored.MonitorTest):
    def test_without_an_appliance(self):
        looked = "no appliance is running; looked in %s/dpdk (RUNTIME_DIRECTORY names another " \
                 "place)" % self.folder
        for arguments, status, out, err in (
                ((), 1, "", "unecho: %s\n" % looked),
                (("--json",), 1, "", "unecho: %s\n" % looked),
                (("taps",), 1, "", "unecho: %s\n" % looked),
                (("--check",), 3, "UNECHO UNKNOWN - %s\n" % looked, "")):
            with self.subTest(arguments):
                done = self.status(*arguments)
                self.assertEqual((done.status, done.out, done.err), (status, out, err))

    def test_bad_usage(self):
        for arguments, status in ((("--bogus",), 2), (("--check", "--bogus"), 3),
                                  (("--check", "--watch"), 3), (("--json", "--watch"), 2),
                                  (("a", "b"), 2)):
            with self.subTest(arguments):
                done = self.status(*arguments)
                self.assertEqual(done.status, status, done)
                self.assertEqual(len(done.err.splitlines()), 1, done)


class Shown(monitored.MonitorTest):
    def test_one_appliance(self):
        with self.appliance("taps") as running:
            path = self.folder / "dpdk/taps/dpdk_telemetry.v2"

            def received():
                with harness.Telemetry(path) as telemetry:
                    return telemetry.ask("/unecho/counters")["received"]
            before = received()
            seen = json.loads(self.status("--json").out)["appliances"]
            after = received()
            self.assertEqual([each["name"] for each in seen], ["taps"])
            self.assertLessEqual(before, seen[0]["counters"]["received"])
            self.assertLessEqual(seen[0]["counters"]["received"], after)
            self.assert_conserved(seen[0]["counters"])
            self.text(received)
            self.check(received)
            self.names()
            self.watch_in_a_pipe()
            self.watch_on_a_terminal()
            self.watch_until_quit()
            running.interrupt()
            self.report_of(running.finish())

    def text(self, received):
        before = received()
        done = self.status()
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertNotIn("\x1b", done.out)
        first, second = done.out.splitlines()[:2]
        self.assertRegex(first, r"^taps  unecho \d+\.\d+\.\d+, up \S+")
        self.assertRegex(second, JUDGED)
        total = int(re.search(r"^ +received +\S+ +100 % +([\d,]+) +100 %$", done.out,
                              re.M)[1].replace(",", ""))
        self.assertLessEqual(before, total)
        self.assertLessEqual(total, received())
        for words in ("tap-a", "tool", "tap-a+tap-b>tool", "lcore", "echo", "50 ms"):
            self.assertIn(words, done.out)

    def check(self, received):
        before = received()
        done = self.status("--check", "--since", "5m")
        self.assertIn(done.status, (0, 1), done)
        said = r"WARNING - taps: .*" if done.status else \
            r"OK - taps: [\d,]+ packets received, [\d,]+ dropped, all accounted for"
        found = re.fullmatch(r"UNECHO %s \| received=(\d+)c forwarded=(\d+)c diverted=0c "
                             r"dropped=(\d+)c\n" % said, done.out)
        self.assertTrue(found, done)
        self.assertLessEqual(before, int(found[1]))
        self.assertLessEqual(int(found[1]), received())

    def names(self):
        self.assertEqual(self.status("taps").status, 0)
        done = self.status("other")
        self.assertEqual((done.status, done.err), (
            1, 'unecho: no appliance is called "other"; there are: taps\n'))
        self.assertEqual(self.status("other", "--check").status, 3)

    def watch_in_a_pipe(self):
        with subprocess.Popen([os.environ["UNECHO_BIN"], "status", "--watch"], text=True,
                              stdout=subprocess.PIPE, env=self.environment()) as process:
            heads = 0
            while heads < 2:
                line = process.stdout.readline()
                self.assertNotIn("\x1b", line)
                heads += line.startswith("taps  unecho")
            process.terminate()
            process.communicate(timeout=harness.PATIENCE)
            self.assertEqual(process.returncode, 0)

    def watch_on_a_terminal(self):
        terminal = Terminal(["status", "--watch"], self.environment(), 80, 16)
        with contextlib.closing(terminal):
            terminal.wait(lambda shown: len(screens(shown)) >= 3, "three screens")
            self.assertIn(ENTER, terminal.shown)
            self.assertRegex(terminal.shown, rb"\x1b\[32mall is well|\x1b\[1;33mwarning: ")
            drawn = screens(terminal.shown)
            for screen in drawn[1:]:
                self.assertLessEqual(len(screen), 16)
                self.assertTrue(all(len(line) <= 80 for line in screen), screen)
                self.assertTrue(any("more lines" in line for line in screen), screen)
            self.assertTrue(any(re.match(r"  received +\d", line) for line in drawn[-1]), drawn[-1])
            terminal.resize(120, 60)
            terminal.wait(lambda shown: len(screens(shown)[-1]) > 20, "a higher screen")
            self.assertFalse(any("more lines" in line for line in screens(terminal.shown)[-1]))
            before = len(terminal.shown)
            terminal.type(b"\x1a")  # Ctrl-Z
            harness.wait_for(terminal.stopped, "that it is suspended")
            terminal.read()
            self.assertIn(LEAVE, terminal.shown[before:])
            terminal.send(signal.SIGCONT)
            terminal.wait(lambda shown: ENTER in shown[before:], "the screen again")
            terminal.type(b"\x03")  # Ctrl-C
            begin = time.monotonic()
            self.assertEqual(terminal.exit_status(), 0)
            self.assertLess(time.monotonic() - begin, 15)
            self.assertTrue(terminal.shown.endswith(b"\x1b[?25h" + LEAVE), terminal.shown[-100:])
            self.assertEqual(termios.tcgetattr(terminal._end), terminal.settings)

    def watch_until_quit(self):
        terminal = Terminal(["status", "--watch"], self.environment(), 80, 16)
        with contextlib.closing(terminal):
            terminal.wait(lambda shown: screens(shown), "a screen")
            terminal.type(b"\x1c")  # Ctrl-\
            self.assertEqual(terminal.exit_status(), -signal.SIGQUIT)
            self.assertTrue(terminal.shown.endswith(b"\x1b[?25h" + LEAVE), terminal.shown[-100:])

    def test_two_appliances(self):
        with self.appliance("one"), self.appliance("two"):
            done = self.status()
            self.assertRegex(done.out, r"(?s)^one  unecho.*\ntwo  unecho")
            self.assertNotIn("two", self.status("one").out)
            done = self.status("--check")
            self.assertIn(done.status, (0, 1), done)
            self.assertEqual(len(done.out.splitlines()), 2, done)

    def test_what_is_wrong_is_told(self):
        """Planned for a thousandth of the traffic, so that the achieved window is short."""
        config = self.config()
        config["filter"] = [harness.filter_("echo", "1s", keys=20)]
        with self.appliance("taps", config):
            keeps = r"Filter echo keeps \S+ \S+ of its 1 s window, because more packets come than "

            def short():
                done = self.status("--check")
                return done if re.search(keeps, done.out) else None
            done = harness.wait_for(short, "a short window")
            self.assertEqual(done.status, 1, done)
            self.assertRegex(done.out, r"^UNECHO WARNING - taps: .*%splanned.* Raise its rate, .*"
                                       r"\[window-short\]" % keeps)
            self.assertRegex(self.status().out, r"\nwarning: Filter echo keeps ")
            done = self.status("--acknowledge", "window-short")
            self.assertEqual(done.status, 0, done)
            self.assertRegex(done.out, r"^acknowledged: %splanned\n$" % keeps)
            self.assertRegex(self.status("--check").out, "acknowledged: " + keeps)
            done = self.status("--acknowledge", "link-down")
            self.assertEqual(done.status, 1, done)
            # On a busy machine there may be others.
            self.assertRegex(done.err, r"^unecho: --acknowledge link-down: nothing to acknowledge: no "
                                       r"incident of this name; there are: .*\bwindow-short\b.*\n$")
            done = self.run_command("__complete", "incidents")
            self.assertEqual(done.status, 0, done)
            self.assertIn("window-short", done.out.splitlines())

    def test_a_time_that_cannot_be_judged(self):
        for given in ("9s", "61min", "soon"):
            with self.subTest(given):
                done = self.status("--check", "--since", given)
                self.assertEqual(done.status, 3)
                self.assertRegex(done.out, "^UNECHO UNKNOWN - .*--since")


if __name__ == "__main__":
    harness.main()
