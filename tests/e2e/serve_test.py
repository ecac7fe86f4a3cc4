#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho serve` beside real appliances: its answers, its handling of bad clients, and its reports
on appliances that are silent, gone, restarted or not permitted."""
import contextlib
import json
import os
import pathlib
import pwd
import re
import resource
import select
import signal
import socket
import subprocess
import unittest

import harness
import monitored
from monitored import samples_of


def counters_of(folder, name):
    with harness.Telemetry(folder / "dpdk" / name / "dpdk_telemetry.v2") as telemetry:
        return telemetry.ask("/unecho/counters")


CHANGE = {"X-Unecho-Change": "1"}


class Answers(monitored.MonitorTest):
    """One appliance and one server for all queries."""

    @staticmethod
    def forget(server, name, headers=()):
        return server.request("/api/v1/forget?name=" + name, "POST", {**CHANGE, **dict(headers)})

    def test_all_that_it_serves(self):
        with self.appliance("taps") as running, self.server() as server:
            server.wait(lambda: server.appliance(), "the appliance")
            self.state(server)
            self.metrics(server)
            self.history(server)
            self.stream(server)
            self.readiness(server)
            self.bad_requests(server)
            running.interrupt()
            report = self.report_of(running.finish())
            self.assertGreater(report["totals"]["received"], 1000)
            server.wait(lambda: server.appliance()["state"] == "gone", "that it is gone")
            gone = server.appliance()
            self.assertLessEqual(gone["counters"]["received"], report["totals"]["received"])
            self.assertEqual(samples_of(server.get("/metrics"))[
                "unecho_up", (("appliance", "taps"),)], 0)
            self.assertEqual(server.request("/readyz")[0], 503)
            self.assertEqual(server.request("/healthz")[0], 200)

    def state(self, server):
        before = counters_of(self.folder, "taps")

        def looked():
            seen = server.appliance()
            return seen if seen["counters"]["received"] >= before["received"] else None
        seen = harness.wait_for(looked, "the server's next look")
        after = counters_of(self.folder, "taps")
        self.assertEqual((seen["name"], seen["state"], seen["problem"], seen["starts"]),
                         ("taps", "running", "", 1))
        self.assertLessEqual(seen["counters"]["received"], after["received"])
        self.assert_conserved(seen["counters"])
        self.assertEqual([each["name"] for each in seen["ports"]], ["tap-a", "tap-b", "tool"])
        self.assertEqual([each["name"] for each in seen["routes"]], ["tap-a+tap-b>tool"])
        self.assertEqual(seen["routes"][0]["from"], ["tap-a", "tap-b"])
        self.assertIs(seen["ports"][0]["link_up"], True)
        self.assertIs(seen["workers"][0]["answering"], True)
        self.assertIsInstance(seen["filters"][0]["predicted_false_drop"], float)
        self.assertGreater(seen["reasons"]["echo"], 0)

    def metrics(self, server):
        """Every counter of /unecho/help is present, with its description."""
        status, headers, body = server.request("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        text = body.decode()
        with harness.Telemetry(self.folder / "dpdk/taps/dpdk_telemetry.v2") as telemetry:
            told = telemetry.ask("/unecho/help")
            kinds = telemetry.ask("/unecho/kinds")
        self.assertLessEqual(set(kinds), set(told))
        helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.M))
        types = dict(re.findall(r"^# TYPE (\w+) (.*)$", text, re.M))
        samples = samples_of(text)
        self.assertEqual(set(helps), set(types))
        for block, prefix in (("ports", "unecho_port_"), ("workers", "unecho_worker_"),
                              ("filters", "unecho_filter_"), ("routes", "unecho_route_"),
                              ("routes", "unecho_")):
            self.assertTrue(kinds[block])
            for name, known in kinds[block].items():
                unit, kind = known.split()
                what = told[block][name]
                base = name[:-3] if name.endswith("_ns") else name
                unit = {"nanoseconds": "seconds", "count": ""}.get(unit, unit)
                metric = (prefix + base + ("_" + unit if unit and unit not in base else "")
                          + ("_total" if kind == "counter" else ""))
                with self.subTest(metric):
                    self.assertEqual(types[metric], kind)
                    self.assertEqual(helps[metric], what.replace("\\", "\\\\"))
                    self.assertTrue([key for key in samples if key[0] == metric])
        fates = {}
        for (name, labels), _ in samples.items():
            if name == "unecho_route_reason_packets_total":
                fates[dict(labels)["reason"]] = dict(labels)["fate"]
        self.assertEqual(fates, {reason: fate for fate, reasons in harness.FATES.items()
                                 for reason in reasons})
        self.assertEqual(samples["unecho_up", (("appliance", "taps"),)], 1)
        self.assertIn("unecho_build_info", {name for name, _ in samples})

    def history(self, server):
        def shares(history, index):
            """Return two pairs that must agree: packets of the taps over those received, and the
            echo share, stated and computed. They are read one after the other, and a server
            without CPU time may wait in between."""
            received = history["totals"]["received"][index]
            taps = sum(history["ports"][tap]["rx_packets"][index] for tap in ("tap-a", "tap-b"))
            share = history["routes"]["tap-a+tap-b>tool"]["echo_share"][index]
            return (taps / received, 1), (share, history["reasons"]["echo"][index] / received)

        def full():
            history = server.json("/api/v1/history?name=taps&seconds=3")
            return history if len(history["times_ms"]) == 3 and all(
                history["totals"]["received"]) and all(abs(one - other) < 0.2 for index in range(3)
                                                       for one, other in shares(history, index)) else None
        history = server.wait(full, "three seconds of history that agree")
        self.assertEqual((history["name"], history["interval_ms"]), ("taps", 1000))
        self.assertEqual(history["times_ms"], sorted(history["times_ms"]))
        for column in (history["totals"]["dropped"], history["ports"]["tap-a"]["rx_packets"],
                       history["routes"]["tap-a+tap-b>tool"]["echo_share"]):
            self.assertEqual(len(column), 3)
        self.assertEqual(server.json("/api/v1/history?seconds=1")["name"], "taps", "the only one")

    def stream(self, server):
        with server.raw(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
            text, states = b"", []
            while len(states) < 3:
                piece = connection.recv(65536)
                self.assertTrue(piece, text)
                text += piece
                states = re.findall(rb"event: state\ndata: (\{.*\})\n\n",
                                    re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", text))
            self.assertIn(b"text/event-stream", text)
        received = [json.loads(state)["appliances"][0]["counters"]["received"] for state in states]
        self.assertEqual(received, sorted(received))
        self.assertLess(received[0], received[-1])

    def readiness(self, server):
        status, headers, body = server.request("/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("script-src 'sha256-", headers["Content-Security-Policy"])
        self.assertIn(b"<script", body)
        self.assertEqual(server.get("/readyz"), "ready\n")
        self.assertEqual(server.get("/healthz"), "ok\n")

    def bad_requests(self, server):
        for path, status in (("/nothing", 404), ("/metrics/", 404), ("//metrics", 404),
                             ("/../etc/passwd", 404), ("/%2e%2e/%2e%2e/etc/passwd", 404),
                             ("/..%2f..%2fetc%2fpasswd", 404), ("/metrics%00", 404), ("/metrics%00.html", 404),
                             ("/api/v1/history?seconds=0", 400),
                             ("/api/v1/history?seconds=3601", 400),
                             ("/api/v1/history?seconds=x", 400),
                             ("/api/v1/history?name=other", 404),
                             ("/api/v1/history?name=../taps", 404)):
            with self.subTest(path):
                got, _, body = server.request(path)
                self.assertEqual(got, status, body)
                self.assertNotIn(b"root:", body)
        for method in ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
            with self.subTest(method):
                got, headers, _ = server.request("/metrics", method)
                self.assertEqual((got, headers["Allow"]), (405, "GET"))
        got, headers, _ = server.request("/api/v1/forget?name=taps")
        self.assertEqual((got, headers["Allow"]), (405, "POST"))
        # A page of another site can send a POST, but without this header.
        self.assertEqual(server.request("/api/v1/forget?name=taps", "POST")[0], 403)
        self.assertEqual(self.forget(server, "taps", {"Host": "evil.example"})[0], 421)
        self.assertEqual(server.request("/api/v1/forget", "POST", CHANGE)[0], 400)
        self.assertEqual(self.forget(server, "other")[0], 404)
        status, _, body = self.forget(server, "taps")
        self.assertEqual((status, body), (409, b'"taps" is running; allowed: an appliance that is '
                                               b"gone\n"))
        self.assertEqual(server.request("/metrics", body=b"x" * 10)[0], 413)
        self.assertEqual(server.request("/metrics", headers={"Host": "evil.example"})[0], 421)
        self.assertEqual(server.request("/metrics", headers={"Host": "[::1]:9"})[0], 200)
        for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
                     b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
                     b"GET /\x01 HTTP/9.9\r\n\r\n",
                     b"\x16\x03\x01\x02\x00" + os.urandom(64) + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\n\r\n",  # without Host
                     b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"):
            with self.subTest(data[:30]), contextlib.suppress(ConnectionError):
                # The server answers with 4xx or closes, and then reads and sends nothing more.
                with server.raw() as connection:
                    connection.sendall(data)
                    said = connection.recv(4096)
                    self.assertRegex(said[:13], rb"^$|^HTTP/1.[01] (4\d\d|505)")
        self.assertEqual(server.get("/healthz"), "ok\n")


class SlowClients(monitored.MonitorTest):
    def test_hundreds_of_slow_clients_do_not_stop_it(self):
        """Clients send nothing, half a request, or a byte now and then, or never read answers."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2048)), hard))
        with self.appliance("taps"), self.server() as server, contextlib.ExitStack() as stack:
            server.wait(lambda: server.appliance(), "the appliance")
            slow = []
            for data, count in ((b"", 150), (b"GET /metrics HT", 150),
                                (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX:", 150),
                                (b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", 100),
                                (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20, 150)):
                slow += [stack.enter_context(server.raw(data)) for _ in range(count)]
            self.assertEqual(len(slow), 700)
            for turn in range(5):
                for connection in slow[300:450]:  # the byte that keeps it from being idle
                    with contextlib.suppress(OSError):
                        connection.send(b"x")
                self.assertIn("unecho_up", server.get("/metrics"))
                self.assertEqual(server.appliance()["state"], "running")
            # More than its limit: it closes those that have been idle longest.
            slow += [stack.enter_context(server.raw()) for _ in range(200)]
            self.assertEqual(server.get("/healthz"), "ok\n")

            # After their time no client that sends nothing, or a byte now and then, is connected.
            def closed():
                for connection in slow[300:450]:
                    with contextlib.suppress(OSError):
                        connection.send(b"x")
                return len(looking.poll(200)) == 650
            looking = select.poll()
            for connection in slow[:450] + slow[700:]:
                looking.register(connection, select.POLLIN)
            server.wait(closed, "that all of them are closed")
            self.assertEqual(server.get("/healthz"), "ok\n")
            memory = re.search(r"VmRSS:\s+(\d+)",
                               pathlib.Path("/proc/%d/status" % server.pid).read_text())[1]
            self.assertLess(int(memory), 200_000)


class Presence(monitored.MonitorTest):
    def test_an_appliance_that_is_restarted(self):
        with self.server() as server:
            self.assertEqual(server.json("/api/v1/state")["appliances"], [])
            self.assertEqual(server.request("/readyz")[0], 503)
            with self.appliance("taps") as running:
                server.wait(lambda: (server.appliance() or {}).get("state") == "running", "it")
                running.send(signal.SIGKILL)
                running.finish()
                server.wait(lambda: server.appliance()["state"] == "gone", "that it is gone")
                self.assertEqual(server.appliance()["problem"], "is not running")
            with self.appliance("taps"):
                server.wait(lambda: server.appliance()["state"] == "running", "the next one")
                self.assertEqual(server.appliance()["starts"], 2)
                history = server.json("/api/v1/history")
                self.assertIn(None, history["totals"]["received"], "of the time between nothing")
            self.assertTrue(any("taps was restarted" in line for line in server.lines),
                            server.lines)
            self.assertTrue(any("taps is gone: it is not running" in line
                                for line in server.lines), server.lines)

    def test_two_appliances(self):
        with self.appliance("one"), self.appliance("two"), self.server() as server:
            server.wait(lambda: len(server.json("/api/v1/state")["appliances"]) == 2, "both")
            ups = {labels for name, labels in samples_of(server.get("/metrics"))
                   if name == "unecho_up"}
            self.assertEqual(ups, {(("appliance", "one"),), (("appliance", "two"),)})
            self.assertEqual(server.request("/api/v1/history")[0], 404)
            self.assertEqual(server.json("/api/v1/history?name=two&seconds=1")["name"], "two")

    def test_one_that_does_not_answer(self):
        with self.appliance("one") as one, self.appliance("two"), self.server() as server:
            server.wait(lambda: len(server.json("/api/v1/state")["appliances"]) == 2, "both")
            one.send(signal.SIGSTOP)
            try:
                server.wait(lambda: server.appliance("one")["state"] == "silent", "its silence")
                self.assertEqual(server.appliance("one")["problem"], "does not answer")
                self.assertEqual(server.appliance("two")["state"], "running")
                self.assertEqual(server.request("/readyz")[0], 503)
                self.assertIn(b"one is silent", server.request("/readyz")[2])
                before = server.appliance("two")["counters"]["received"]
                server.wait(lambda: server.appliance("two")["counters"]["received"] > before,
                            "news of the other")
                check = self.status("--check", "one")
                self.assertEqual(check.status, 2, check)
                self.assertIn("UNECHO CRITICAL - one: it does not answer", check.out)
            finally:
                one.send(signal.SIGCONT)
            server.wait(lambda: server.appliance("one")["state"] == "running", "its answer")
            self.assertEqual(server.appliance("one")["starts"], 1)
            self.assertEqual(server.get("/readyz"), "ready\n")

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_one_that_may_not_be_asked(self):
        nobody = pwd.getpwnam("nobody")
        as_nobody = ("setpriv", "--reuid=%d" % nobody.pw_uid, "--regid=%d" % nobody.pw_gid,
                     "--clear-groups")
        self.folder.chmod(0o755)
        with self.appliance("taps"):
            runtime = self.folder / "dpdk"
            with self.server(wrapper=as_nobody) as server:
                problems = server.json("/api/v1/state")["server"]["problems"]
                self.assertEqual(len(problems), 1)
                self.assertRegex(problems[0], "^%s: Permission denied; run as its user" % runtime)
                # The folders may be listed, but the socket may not be used.
                runtime.chmod(0o755)
                (runtime / "taps").chmod(0o755)
                (runtime / "taps" / "dpdk_telemetry.v2").chmod(0o700)
                server.wait(lambda: server.appliance(), "it")
                self.assertEqual(server.appliance()["state"], "silent")
                self.assertIn("its socket is not permitted", server.appliance()["problem"])
                # Now it may be used.
                (runtime / "taps" / "dpdk_telemetry.v2").chmod(0o777)
                server.wait(lambda: server.appliance()["state"] == "running", "that it answers")
            done = harness.unecho("status", "--check", wrapper=as_nobody, env=self.environment())
            self.assertIn(done.returncode, (0, 1), done)  # 1: the machine is busy
            self.assertRegex(done.stdout, "^UNECHO [A-Z]+ - taps: ")
            (runtime / "taps").chmod(0o700)
            done = harness.unecho("status", "--check", wrapper=as_nobody, env=self.environment())
            self.assertEqual(done.returncode, 3, done)


class Expected(monitored.MonitorTest):
    """Appliances that should run, those that are forgotten, and what a restart leaves."""

    def test_one_that_never_came_is_down_and_one_that_is_retired_is_forgotten(self):
        configs = self.folder / "configs"
        configs.mkdir()
        (configs / "west.toml").write_text(harness.toml(self.config(1)))
        with self.appliance("taps") as running, \
                self.server("--expect", str(configs), "--expect", "east") as server:
            server.wait(lambda: self.states(server) == {
                "east": "absent", "west": "absent", "taps": "running"}, "all three")
            metrics = samples_of(server.get("/metrics"))
            for name, up, expected in (("east", 0, 1), ("west", 0, 1), ("taps", 1, 0)):
                label = (("appliance", name),)
                self.assertEqual((metrics["unecho_up", label], metrics["unecho_expected", label]),
                                 (up, expected))
                problem = (("appliance", name), ("rule", "absent"), ("severity", "critical"),
                           ("where", ""))
                self.assertEqual(metrics.get(("unecho_problem", problem)), None if up else 1, name)
            self.assertIn(b"east is absent: it is expected", server.request("/readyz")[2])
            self.assert_forget(server, "taps", 1, '"taps" is running; allowed: an appliance that '
                                                  "is gone")
            running.interrupt()
            running.finish()
            server.wait(lambda: self.states(server)["taps"] == "gone", "that it is gone")
            self.assert_forget(server, "east", 1, '"east" is expected, and stays; first remove it '
                                                  "from what --expect lists")
            self.assert_forget(server, "taps", 0, "taps is forgotten")
            self.assertEqual(set(self.states(server)), {"east", "west"})
            (configs / "west.toml").unlink()
            server.wait(lambda: set(self.states(server)) == {"east"}, "that it is not expected")
            with self.appliance("east"):
                server.wait(lambda: self.states(server) == {"east": "running"}, "that it came")
        self.assert_forget(server, "taps", 1,
                           "http://127.0.0.1:%d/: no unecho serve listens there" % server.port)

    @staticmethod
    def states(server):
        return {each["name"]: each["state"] for each in server.json("/api/v1/state")["appliances"]}

    def assert_forget(self, server, name, status, words):
        done = self.run_command("serve", "--listen", "127.0.0.1:%d" % server.port, "--forget", name)
        self.assertEqual(done.status, status, done)
        self.assertEqual(done.out if status == 0 else done.err,
                         words + "\n" if status == 0 else "unecho: %s\n" % words)

    def test_one_that_is_gone_for_long_is_forgotten(self):
        with self.server("--forget-after", "1s") as server:
            with self.appliance("taps") as running:
                server.wait(lambda: self.states(server) == {"taps": "running"}, "it")
                running.interrupt()
                running.finish()
            server.wait(lambda: not self.states(server), "that it is forgotten")

    def test_no_change_where_others_reach_it(self):
        with self.server(listen="0.0.0.0:0") as server:
            server.host = "127.0.0.1"
            self.assertIs(server.json("/api/v1/state")["server"]["changes"], False)
            self.assertEqual(server.request("/api/v1/forget?name=taps", "POST", CHANGE)[0], 403)

    def test_history_survives_a_restart_and_damage(self):
        kept = self.folder / "kept"
        file = kept / "taps.unecho-history"
        with self.appliance("taps"):
            with self.server("--history", str(kept)) as server:
                server.wait(lambda: server.appliance(), "the appliance")
                server.wait(lambda: len([each for each in self.received(server) if each]) >= 3,
                            "three samples")
                before = self.received(server)
                done = self.run_command("serve", "--listen", "127.0.0.1:0", "--history", str(kept))
                self.assertEqual(done.status, 1, done)
                self.assertIn("another unecho serve keeps its history there", done.err)
            with self.server("--history", str(kept)) as server:
                server.wait(lambda: server.appliance(), "the appliance")
                # The file has single precision.
                for one, other in zip(before, self.received(server)):
                    self.assertEqual(one is None, other is None)
                    self.assertAlmostEqual(one or 0, other or 0, delta=1e-6 * (one or 0))
            for data in (b"", file.read_bytes()[:-1], os.urandom(100_000), b"\0" * 100_000):
                file.write_bytes(data)
                with self.server("--history", str(kept)) as server:
                    line = "taps: %s is damaged; its history begins anew" % file
                    server.wait(lambda: any(line in each for each in server.lines), line)
                    server.wait(lambda: file.read_bytes() != data, "a new file")
                    self.assertTrue(server.alive())

    @staticmethod
    def received(server):
        return server.json("/api/v1/history")["totals"]["received"]

    def test_what_cannot_be_asked_for(self):
        for arguments, words in (
                (("--expect", "/none/"), "--expect: /none/: No such file or directory; allowed"),
                (("--expect", "a,.b"), '--expect: ".b"; allowed: NAME,NAME or a folder'),
                (("--forget-after", "1"), "--forget-after: "),
                (("--history", "/none/here"), "--history: /none/here: No such file"),
                (("--forget", "a", "--expect", "b"), "--expect excludes --forget")):
            with self.subTest(arguments):
                done = self.run_command("serve", "--listen", "127.0.0.1:0", *arguments)
                self.assertNotEqual(done.status, 0, done)
                self.assertIn(words, done.err)


class Start(monitored.MonitorTest):

    def test_a_port_that_is_taken_and_one_that_is_nobody_s(self):
        with self.server() as server:
            done = self.run_command("serve", "--listen", "127.0.0.1:%d" % server.port)
            self.assertEqual(done.status, 1, done)
            self.assertEqual(done.err, "unecho: --listen: 127.0.0.1:%d: somebody listens there "
                             "already\n" % server.port)
        done = self.run_command("serve", "--listen", "192.0.2.1:9797")
        self.assertEqual(done.status, 1, done)
        self.assertEqual(done.err,
                         "unecho: --listen: 192.0.2.1:9797: no address of this host\n")

    def test_it_stays_on_loopback_unless_told(self):
        with self.server() as server:
            server.wait(lambda: self.notes(server), "the note")
            self.assertEqual(self.notes(server), [
                "unecho: note: every user of this host can read it, whatever [run] telemetry_group "
                "says; --listen unix:PATH is for one user or a group"])
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.2", server.port), timeout=5).close()
        with self.server(listen="0.0.0.0:0") as server:
            server.wait(lambda: any("note: whoever reaches" in line for line in server.lines),
                        "the note")
            server.host = "127.0.0.1"
            self.assertEqual(server.request("/healthz", headers={"Host": "any.example"})[0], 200)

    @staticmethod
    def notes(server):
        return [line for line in server.lines if "note:" in line]


class UnixSocket(monitored.MonitorTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "socket"
        self.listen = "unix:%s" % self.path

    def refused(self, error, *arguments, status):
        done = self.run_command("serve", *arguments)
        self.assertEqual((done.status, done.err), (status, "unecho: " + error + "\n"))

    def test_it_serves_there_and_nowhere_else(self):
        with self.appliance("taps"), self.server(listen=self.listen) as server:
            server.wait(lambda: server.appliance(), "the appliance")
            self.assertEqual(server.json("/api/v1/state")["server"]["url"], self.listen)
            self.assertEqual(samples_of(server.get("/metrics"))[
                "unecho_up", (("appliance", "taps"),)], 1)
            # A request through a proxy has the proxy's name.
            self.assertEqual(server.request("/healthz", headers={"Host": "any.example"})[0], 200)
            curl = subprocess.run(["curl", "--silent", "--fail", "--unix-socket", self.path,
                                   "http://localhost/healthz"], capture_output=True, text=True,
                                  timeout=harness.PATIENCE, check=False)
            self.assertEqual((curl.returncode, curl.stdout), (0, "ok\n"))
            sockets = subprocess.run(["ss", "-Hnltp"], capture_output=True, text=True, check=True)
            self.assertNotIn("pid=%d," % server.pid, sockets.stdout)
            self.assertEqual([line for line in server.lines if "note:" in line], [])
            self.refused("--listen: %s: somebody listens there already" % self.listen,
                         "--listen", self.listen, status=1)
            self.assertEqual(server.request("/healthz")[0], 200)
        self.assertFalse(self.path.exists())

    def test_a_killed_one_is_replaced_and_other_files_are_not(self):
        with self.server(listen=self.listen) as server:
            os.kill(server.pid, signal.SIGKILL)
            server.wait_for_end()
        self.assertTrue(self.path.is_socket())
        with self.server(listen=self.listen) as server:
            self.assertEqual(server.request("/healthz")[0], 200)
        self.path.write_text("precious")
        self.refused("--listen: %s: is there already, and is no socket" % self.listen,
                     "--listen", self.listen, status=1)
        self.assertEqual(self.path.read_text(), "precious")

    @unittest.skipUnless(os.geteuid() == 0, "becoming another user needs root")
    def test_who_may_connect(self):
        """By default only its user; with a group also its members."""
        self.folder.chmod(0o755)
        ask = ["curl", "--silent", "--fail", "--unix-socket", self.path, "http://localhost/healthz"]

        def asked(*groups):
            return subprocess.run(
                ["setpriv", "--reuid=nobody", "--regid=nogroup",
                 *(["--groups=" + ",".join(groups)] if groups else ["--clear-groups"]), *ask],
                capture_output=True, text=True, timeout=harness.PATIENCE, check=False).stdout
        with self.server(listen=self.listen):
            self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
            self.assertEqual((asked(), asked("games")), ("", ""))
        with self.server("--listen-group", "games", listen=self.listen):
            self.assertEqual((self.path.group(), self.path.stat().st_mode & 0o777),
                             ("games", 0o660))
            self.assertEqual((asked(), asked("games")), ("", "ok\n"))

    def test_groups_that_cannot_be(self):
        self.refused('--listen-group: this machine has no group "nobody-s"; allowed: one that '
                     "getent group lists", "--listen", self.listen, "--listen-group", "nobody-s",
                     status=2)
        self.refused("--listen-group: is for --listen unix:PATH", "--listen-group", "games",
                     status=2)
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    harness.main()
