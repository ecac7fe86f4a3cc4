#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run as a service manager sees it: its log as text, as JSON and with the journal's priorities,
and its messages to a real NOTIFY_SOCKET. For a hung worker the log says which one, in which stage
and where, before the watchdog acts."""
import json
import os
import re
import signal
import threading
import time

import harness
from notified import Manager

# systemd's variable for a service whose standard error is the journal; here it is the test's pipe.
JOURNAL = ("sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/2) exec "$@"', "sh")
RUNNING = r"running with 1 worker\(s\), 1 route\(s\); stop with Ctrl-C"


def document(out="net_null1", **run):
    return {"port": [{"name": "in", "device": "net_null0"}, {"name": "out", "device": out}],
            "filter": [harness.filter_("f", "1ms", engine="line")],
            "route": [{"from": ["in"], "to": "out", "filter": "f"}],
            "run": {"mbufs": 8191, **run}}


class Log(harness.E2eTest):
    def lines(self, *arguments, config=None, status=0, **options):
        result = self.run_unecho(config or document(duration="10ms"), *arguments, **options)
        self.assertEqual(result.status, status, result)
        self.assertTrue(result.err.endswith("\n"), result)
        return result.err.splitlines()

    def broken(self):
        path = self.folder / "broken.toml"
        path.write_text("[run]\nburst = 1\nname = 7\n")
        return path

    def test_the_journal_gets_the_priority_of_each_line(self):
        lines = self.lines(wrapper=JOURNAL)
        self.assertTrue(all(re.match("<[3-6]>unecho: ", line) for line in lines), lines)
        self.assertTrue(any(re.fullmatch("<6>unecho: " + RUNNING, line) for line in lines), lines)
        lines = self.lines(config=self.broken(), status=2, wrapper=JOURNAL)
        self.assertGreater(len(lines), 1)
        self.assertTrue(all(line.startswith("<3>") for line in lines), lines)

    def test_json_is_an_object_a_line(self):
        events = [json.loads(line) for line in self.lines("--log-format", "json")]
        for event in events:
            self.assertEqual(set(event), {"time", "severity", "event", "message"}, event)
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        told = [event for event in events if re.fullmatch(RUNNING, event["message"])]
        self.assertEqual([event["severity"] for event in told], ["info"], events)
        # An error too, complete: it is the last line.
        events = [json.loads(line) for line in
                  self.lines("--log-format", "json", config=self.broken(), status=2)]
        self.assertEqual([event["severity"] for event in events], ["error"], events)
        self.assertIn("burst", events[0]["message"])

    def test_a_reader_that_does_not_read_holds_nothing_up(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        # The program's standard error, not the wrapper's.
        full = ("sh", "-c", 'exec "$@" 2>/proc/%d/fd/%d' % (os.getpid(), writer), "sh")
        try:
            report = self.report(document(duration="10ms"), wrapper=full)
        finally:
            os.close(writer)
        self.assertGreater(report["totals"]["received"], 0)


class Service(harness.E2eTest):
    def manager(self, address=None):
        return Manager(self, address or str(self.folder / "notify"))

    def test_ready_watchdog_status_and_stopping_are_told(self):
        """Once with a socket in a path, and once in the abstract namespace."""
        for address in (None, "@unecho-test-%d" % os.getpid()):
            manager = self.manager(address)
            running = self.start(document(), wrapper=manager.starter(watchdog_us=400_000))
            with running, self.telemetry(running) as telemetry:
                manager.wait_for(lambda m: m.count("WATCHDOG=1") > 3, "a watchdog that is fed")
                self.assertEqual(manager.messages()[0], "READY=1")
                self.assertGreater(telemetry.ask("/unecho/counters")["received"], 0)
                self.assertEqual(manager.count("STOPPING=1"), 0)
                manager.wait_for(lambda m: any(each.startswith("STATUS=") for each in m.messages()),
                                 "a status")
                running.interrupt()
                self.assertEqual(running.finish().status, 0)
            manager.wait_for(lambda m: m.count("STOPPING=1") == 1, "an end")
            self.assertEqual(manager.count("READY=1"), 1)
            status = [each for each in manager.messages() if each.startswith("STATUS=")]
            self.assertRegex(status[0], r"^STATUS=forwarding on 1 worker\(s\): \S+ \S*pps received, "
                                        r"\S+ \S*pps forwarded, \S+ \S*pps dropped$")

    def test_a_reload_is_told_from_its_beginning_to_its_end(self):
        """A reload without changes, or one that is refused, is not reported."""
        manager = self.manager()
        path = self.folder / "reloaded.toml"
        path.write_text(harness.toml(document()))
        running = self.start(path, wrapper=manager.starter())
        with running, self.telemetry(running) as telemetry:
            def reloaded():
                return sum(each["kind"] == "reload"
                           for each in telemetry.ask("/unecho/events").values())
            manager.wait_for(lambda m: m.count("READY=1") == 1, "a start")
            path.write_text("[[port]]\n")
            running.send(signal.SIGHUP)
            harness.wait_for(lambda: reloaded() == 1, "a reload that is refused")
            self.assertEqual(manager.count("READY=1"), 1)
            changed = document()
            changed["filter"][0]["window"] = "3ms"
            path.write_text(harness.toml(changed))
            running.send(signal.SIGHUP)
            manager.wait_for(lambda m: m.count("READY=1") == 2, "a reload that is over")
            told = [each for each in manager.messages()
                    if each.startswith(("READY", "RELOADING", "STOPPING"))]
            self.assertEqual(len(told), 3)
            self.assertRegex(told[1], r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            running.interrupt()
            self.assertEqual(running.finish().status, 0)

    def test_a_start_that_fails_is_never_ready(self):
        manager = self.manager()
        result = self.run_unecho(document(out="net_memif0,role=server,socket=/absent/a.sock,"
                                              "socket-abstract=no"), wrapper=manager.starter())
        self.assertEqual(result.status, 1, result)
        self.assertEqual(manager.messages(), [])


class HungWorker(harness.E2eTest):
    """A worker that hangs in a driver: net_pcap writes into a pipe that nobody reads."""

    def setUp(self):
        super().setUp()
        self.pipe = self.folder / "out.pcap"
        os.mkfifo(self.pipe)
        # Both ends are open, so data stays in the pipe until it is read.
        self.reader = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, self.reader)
        self.log = self.folder / "log"

    def document(self):
        return document(out="net_pcap0,tx_pcap=%s" % self.pipe)

    def logging(self, *wrapper):
        return ("sh", "-c", 'exec "$@" 2>"%s"' % self.log, "sh", *wrapper)

    def drain(self, stop):
        """Read the pipe, so that the worker continues."""
        while not stop.is_set():
            try:
                os.read(self.reader, 1 << 16)
            except BlockingIOError:
                time.sleep(0.001)

    def let_go(self):
        stop = threading.Event()
        thread = threading.Thread(target=self.drain, args=(stop,))
        thread.start()

        def end():
            stop.set()
            thread.join()
        self.addCleanup(end)

    def said(self, pattern):
        return re.search(pattern, self.log.read_text(), re.M) if self.log.exists() else None

    def test_is_named_with_stage_and_stack_and_its_watchdog_is_not_fed(self):
        manager = Manager(self, str(self.folder / "notify"))
        watchdog_us = 4_000_000
        running = self.start(self.document(),
                             wrapper=self.logging(*manager.starter(watchdog_us)))
        with running:
            harness.wait_for(lambda: self.said(r"^unecho: worker 0 on lcore \d+ is at: .*$"),
                             lambda: "a stack in " + self.log.read_text())
            found = self.said(r"^unecho: worker 0 on lcore \d+ does not poll: in (\w+) for (\S+ \S+), "
                              r"(.*)$")
            self.assertEqual(found[1], "transmit")
            self.assertLess(harness.exact_answer.duration(found[2].replace(" ", "")), watchdog_us * harness.US)
            self.assertRegex(found[3], r"^(sleeping|waiting)")
            stack = self.said(r"is at: (.*)$")[1].split(" < ")
            self.assertTrue(any(frame.startswith("write+") or "_write" in frame
                                for frame in stack), stack)
            self.assertTrue(any("librte_net_pcap" in frame for frame in stack), stack)
            self.assertTrue(any("unecho::" in frame for frame in stack), stack)
            # It would be fed after half of the watchdog's time at the latest.
            fed = manager.count("WATCHDOG=1")
            time.sleep(watchdog_us / 2e6)
            self.assertEqual(manager.count("WATCHDOG=1"), fed)
            self.assertTrue(running.alive())
            # The worker continues, the watchdog is fed again, and unecho ends normally.
            self.let_go()
            harness.wait_for(lambda: self.said(r"^unecho: worker 0 on lcore \d+ polls again$"),
                             "a worker that is back")
            manager.wait_for(lambda m: m.count("WATCHDOG=1") > fed, "a watchdog that is fed again")
            running.interrupt()
            self.assertEqual(running.finish().status, 0, self.log.read_text())

    def test_is_named_without_a_service_manager_and_in_telemetry(self):
        running = self.start(self.document(), wrapper=self.logging())
        with running, self.telemetry(running) as telemetry:
            def events():
                return [event["text"] for event in telemetry.ask("/unecho/events").values()
                        if event["kind"] == "worker"]
            harness.wait_for(lambda: len(events()) >= 2, lambda: "two events: %s" % events())
            told = events()
            self.assertRegex(told[0], r"^worker 0 on lcore \d+ does not poll: in transmit for ")
            self.assertRegex(told[1], r"^worker 0 on lcore \d+ is at: \S*write\+")  # cut short
            self.let_go()
            running.interrupt()
            self.assertEqual(running.finish().status, 0, self.log.read_text())


if __name__ == "__main__":
    harness.main()
