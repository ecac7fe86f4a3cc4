#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients of `unecho serve` and of an appliance's telemetry socket: ten thousand at once
that send nothing, half a request or far too much, or never read. Memory and descriptors stay
bounded, other clients are answered, and the appliance forwards and accounts for all packets."""
import contextlib
import errno
import os
import pathlib
import re
import resource
import socket
import struct

import harness
import monitored

SERVER_FILES = 800 + 192  # lib/monitor/server/http_server.h, .cpp
SERVER_MEMORY = 250_000   # KiB: 128 MiB of answers, and its memory without them
CONNECTIONS = 10_000
TELEMETRY_CLIENTS = 10    # the maximum that DPDK accepts


def memory_of(pid):
    """Return the resident memory in KiB."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text())[1])


def files_of(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def at_once(connection):
    """Make close() leave nothing behind in the kernel."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class HttpClients(monitored.MonitorTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        # Fewer if this process may not open so many files.
        self.most = min(CONNECTIONS, hard - 200)

    @contextlib.contextmanager
    def served(self):
        with self.appliance("taps") as running, self.server() as server:
            server.wait(server.appliance, "the appliance")
            before = server.appliance()["counters"]["received"]
            yield server
            self.assertLess(memory_of(server.pid), SERVER_MEMORY)
            self.assertLess(files_of(server.pid), SERVER_FILES)
            server.wait(lambda: server.appliance()["counters"]["received"] > before, "news of the appliance")
            self.assertEqual(server.appliance()["state"], "running")
            running.interrupt()
            self.report_of(running.finish())

    def begin(self, server, stack, said):
        """Begin a connection and send `said` if it is connected at once."""
        connection = stack.enter_context(socket.socket())
        at_once(connection)
        connection.setblocking(False)
        problem = connection.connect_ex((server.host, server.port))
        self.assertIn(problem, (0, errno.EINPROGRESS))
        with contextlib.suppress(OSError):
            connection.send(said)
        return connection

    def test_ten_thousand_connections(self):
        half = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "
        with self.served() as server, contextlib.ExitStack() as stack:
            peak = 0
            for number in range(self.most):
                self.begin(server, stack, half if number % 2 else b"")
                if number % 1000 == 999:
                    self.assertIn("unecho_up", server.request("/metrics", timeout=harness.PATIENCE)[2].decode())
                    peak = max(peak, files_of(server.pid))
                    self.assertLess(peak, SERVER_FILES)
            self.assertGreater(peak, 100)  # the connections existed
            server.wait(lambda: server.get("/healthz") == "ok\n", "an answer")
            print("%d connections: at most %d descriptors, %d KiB" % (self.most, peak, memory_of(server.pid)))

    def test_requests_without_end(self):
        """Each client sends 16 MiB: in one header, many headers, a path, a body or a chunk."""
        heads = (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"GET /", b"GET /?", b"",
                 b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16777216\r\n\r\n",
                 b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1000000\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with self.served() as server:
            before = memory_of(server.pid)
            for head in heads:
                filler = b"X: y\r\n" if head.endswith(b"localhost\r\n") else b"x"
                block = filler * ((1 << 20) // len(filler))
                taken = 0
                with self.subTest(head), server.raw(head) as connection, contextlib.suppress(OSError):
                    connection.settimeout(5)
                    for _ in range(16):
                        connection.sendall(block)
                        taken += len(block)
                # The server does not read what the kernel has buffered.
                self.assertLess(taken, 16 << 20, head)
                self.assertEqual(server.get("/healthz"), "ok\n")
            self.assertLess(memory_of(server.pid), before + 8_000)

    def test_answers_that_nobody_reads(self):
        asked = b"".join(b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
                         for path in (b"", b"metrics", b"api/v1/history?name=taps&seconds=3600", b"api/v1/state"))
        with self.served() as server, contextlib.ExitStack() as stack:
            for number in range(2 * SERVER_FILES):
                connection = self.begin(server, stack, b"")
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    connection.setblocking(True)
                    connection.settimeout(2)
                    connection.sendall(asked * 20)
                if number % 400 == 399:
                    self.assertEqual(server.request("/healthz", timeout=harness.PATIENCE)[0], 200)
                    self.assertLess(memory_of(server.pid), SERVER_MEMORY)


class TelemetryClients(monitored.MonitorTest):
    def path(self):
        return self.folder / "dpdk" / "taps" / "dpdk_telemetry.v2"

    def client(self, stack):
        connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        connection.connect(str(self.path()))
        connection.settimeout(10)
        return connection

    def test_one_that_never_reads_and_ones_that_say_nothing(self):
        with self.appliance("taps") as running, contextlib.ExitStack() as stack:
            never = self.client(stack)
            never.settimeout(0.2)
            sent = 0
            with self.assertRaises(TimeoutError):  # its own unread answers block it
                while sent < 100_000:
                    never.send(b"/unecho/filters")
                    sent += 1
            silent = [self.client(stack) for _ in range(TELEMETRY_CLIENTS - 2)]
            with harness.wait_for(lambda: harness.Telemetry(self.path()), "the last place") as telemetry:
                before = telemetry.ask("/unecho/counters")
                self.assert_conserved(before)
                harness.wait_for(lambda: telemetry.ask("/unecho/counters")["received"] > before["received"],
                                 "packets")
                # All places are taken, and a new client gets an error.
                done = self.status("--check")
                self.assertEqual(done.status, 2, done)
                self.assertIn("too many clients", done.out)
            silent.pop().close()
            harness.wait_for(lambda: self.status("--check").status in (0, 1), "a place")
            self.assertTrue(running.alive())
            running.interrupt()
            self.report_of(running.finish())


if __name__ == "__main__":
    harness.main()
