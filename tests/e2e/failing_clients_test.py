#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each call of `unecho serve`, `unecho status` and `unecho reload` that may fail does so in turn:
sockets, files, threads, memory. A running server continues whatever fails, with as many open
descriptors as before. A command has the same result, or says in one line why not.

All calls with UNECHO_EVERY_CALL=1; otherwise some of each kind, evenly spread."""
import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import time

import failing
import harness
import monitored

RUNS = 25  # of each kind
NAME = "dpdk_telemetry.v2"


class StandIn:
    """A telemetry socket with an appliance's recorded answers; unrecorded commands are passed to
    that appliance."""

    def __init__(self, path, real):
        self._real, self._answers, self._lock = real, {}, threading.Lock()
        path.parent.mkdir(parents=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._socket.accept()[0],), daemon=True).start()

    def _answer(self, command):
        with self._lock:
            if command not in self._answers:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
                    asked.settimeout(10)
                    asked.connect(str(self._real))
                    greeting = asked.recv(1 << 16)
                    self._answers.setdefault(b"", greeting)
                    asked.send(command)
                    self._answers[command] = asked.recv(1 << 16)
            return self._answers[command]

    def _serve(self, client):
        with contextlib.suppress(OSError), client:
            self._answer(b"/unecho/info")
            client.send(self._answer(b""))
            while command := client.recv(1 << 16):
                client.send(self._answer(command))


class FailingClients(monitored.MonitorTest):
    def setUp(self):
        super().setUp()
        self.failing = failing.Failing(self.folder / "control")
        self.apart = self.folder / "apart"

    @contextlib.contextmanager
    def stand_in(self):
        """Record an appliance's answers to all that these tests ask, in a folder of its own."""
        with self.appliance("taps"):
            stand_in = StandIn(self.apart / "dpdk" / "taps" / NAME, self.folder / "dpdk" / "taps" / NAME)
            for arguments in (("status",), ("status", "--json"), ("reload", "--dry-run")):
                subprocess.run([os.environ["UNECHO_BIN"], *arguments], env=self.environment(), check=False,
                               capture_output=True, timeout=harness.PATIENCE)
            with self.server() as server:
                server.wait(server.appliance, "the appliance")
        yield stand_in
        stand_in.close()

    def environment(self):
        return dict(os.environ, RUNTIME_DIRECTORY=str(self.apart if self.apart.exists() else self.folder),
                    **(self.failing.environment() if self.apart.exists() else {}))

    # ---- a server that runs -------------------------------------------------------------------

    def ask_for_all(self, server, patience=2):
        """Send one round of requests; return True if all were answered."""
        answered = True
        for path in ("/metrics", "/api/v1/state", "/", "/api/v1/history?name=taps&seconds=5", "/readyz"):
            try:
                answered &= server.request(path, timeout=patience)[0] == 200
            except (OSError, http.client.HTTPException):
                answered = False
        with contextlib.suppress(OSError):
            with server.raw(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", patience) as stream:
                answered &= bool(stream.recv(4096))
        return answered

    def at_rest(self, server):
        """Return what it has open without clients; None while a client is connected."""
        found = failing.descriptors(server.pid)
        return found if found["socket:[N]"] == 2 else None

    def watching(self, stack):
        """Start a server; return it and its open descriptors once it has seen the appliance."""
        server = stack.enter_context(self.server())
        server.wait(lambda: self.ask_for_all(server), "answers")
        server.wait(lambda: (server.appliance() or {}).get("state") == "running", "the appliance")
        # The listening socket, and the one to the appliance.
        return server, harness.wait_for(lambda: self.at_rest(server), "all connections closed")

    def ended_with_a_line(self, server):
        """Its library cannot work without this, so the server ended in good order."""
        self.assertEqual(server.wait_for_end(), 1, server.lines)
        self.assertRegex(server.lines[-1], "^unecho: the server's library gave up: ")

    def running_fails(self, kind):
        self.failing.set("none")
        with contextlib.ExitStack() as stack:
            server, before = self.watching(stack)
            self.failing.set(kind)
            self.ask_for_all(server)
            time.sleep(1.1)  # a reading of the server itself
            calls = self.failing.off()
            failed = lost = ended = 0
            for number in failing.numbers(calls, RUNS):
                self.failing.set(kind, number)
                lost += not self.ask_for_all(server, 0.5)
                self.failing.off()
                failed += self.failing.failed() != ""
                with self.subTest(kind=kind, number=number, call=self.failing.failed()):
                    harness.wait_for(lambda: not server.alive() or self.ask_for_all(server), "answers, or its end")
                    if self.failing.failed() == "epoll_ctl" and not server.alive():
                        ended += 1
                        self.ended_with_a_line(server)
                        server, before = self.watching(stack)
                        continue
                    self.assertTrue(server.alive(), server.lines)
            server.wait(lambda: (server.appliance() or {}).get("state") == "running", "the appliance")
            harness.wait_for(lambda: self.at_rest(server) == before, "as many descriptors as before: %s" % before)
            for line in server.lines:
                self.assertTrue(line.startswith("unecho: "), line)
        print("serve, %s: %d calls a round, of %d that failed %d cost an answer, %d ended it"
              % (kind, calls, failed, lost, ended))

    def test_a_server_goes_on(self):
        with self.stand_in():
            for kind in ("socket", "send", "receive", "wait", "control", "interrupt", "open", "read", "write",
                         "close"):
                self.running_fails(kind)

    # ---- a server that starts -----------------------------------------------------------------

    def start_fails(self, kind, number=0):
        """Start a server, query it once and stop it: return (status, lines)."""
        self.failing.set(kind, number)
        with subprocess.Popen([os.environ["UNECHO_BIN"], "serve", "--listen", "127.0.0.1:0"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, env=self.environment()) as process:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "serving" in line:
                    time.sleep(0.02)
                    process.terminate()
            return process.wait(harness.PATIENCE), lines

    def test_a_server_starts_or_says_why_not(self):
        with self.stand_in():
            for kind in ("socket", "wait", "control", "open", "read", "thread", "allocate", "map"):
                self.assertEqual(self.start_fails(kind)[0], 0)
                calls, ended = self.failing.off(), 0
                for number in failing.numbers(calls, RUNS):
                    status, lines = self.start_fails(kind, number)
                    self.failing.off()
                    with self.subTest(kind=kind, number=number, call=self.failing.failed()):
                        self.assertIn(status, (0, 1), lines)
                        ended += status
                        for line in lines:
                            self.assertTrue(line.startswith("unecho: "), lines)
                        if status == 1:
                            self.assertEqual(len([line for line in lines if "serving" not in line
                                                  and "note: " not in line
                                                  and "taps " not in line]), 1, lines)
                print("serve, %s: %d calls, %d ended it" % (kind, calls, ended))

    # ---- commands -----------------------------------------------------------------------------

    def command_fails(self, kind, statuses, *arguments):
        def run(number=0):
            self.failing.set(kind, number)
            done = self.run_command(*arguments)
            self.failing.off()
            return done
        whole = run()
        calls, ended = self.failing.off(), 0
        self.assertIn(whole.status, statuses, whole)
        for number in failing.numbers(calls, RUNS):
            done = run(number)
            with self.subTest(arguments, kind=kind, number=number, call=self.failing.failed()):
                self.assertIn(done.status, statuses, done)
                ended += done.status != whole.status
                lines = done.err.splitlines()
                self.assertLessEqual(len(lines), 1, done)
                self.assertTrue(all(line.startswith("unecho: ") for line in lines), done)
                self.assertTrue(done.out or lines, "says something")
        print("%s, %s: %d calls, %d ended it" % (" ".join(arguments), kind, calls, ended))

    def test_commands(self):
        with self.stand_in():
            for kind in ("socket", "send", "receive", "interrupt", "open", "read", "write", "close", "allocate"):
                self.command_fails(kind, (0, 1), "status", "--json")
                self.command_fails(kind, (0, 1), "reload", "--dry-run")


if __name__ == "__main__":
    harness.main()
