# SPDX-License-Identifier: BSD-3-Clause
"""`unecho serve` and `unecho status` beside running appliances.

MonitorTest starts appliances that replay captures without end and servers on free ports, and
queries them over HTTP.
"""
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import threading

import harness


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """A running `unecho serve`."""

    def __init__(self, process):
        self._process = process
        self.lines = []
        self.port = self.path = None
        for line in process.stderr:
            self.lines.append(line.rstrip("\n"))
            found = re.search(r"serving (?:http://(.*):(\d+)/|unix:(.*);)", line)
            if found and found[3]:
                self.path = found[3]
                break
            if found:
                self.host, self.port = found[1].strip("[]"), int(found[2])
                break
        if self.port is None and self.path is None:
            raise AssertionError("did not serve: %s" % self.lines)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process.poll() is None

    def wait_for_end(self, timeout=harness.PATIENCE):
        """Return its exit status; all of its lines have been read then."""
        status = self._process.wait(timeout)
        self._reader.join(timeout)
        return status

    def connection(self, timeout=harness.PATIENCE):
        if self.path is not None:
            return UnixConnection(self.path, timeout=timeout)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, path, method="GET", headers=(), body=None, timeout=harness.PATIENCE):
        """Return (status, headers, body as bytes)."""
        with contextlib.closing(self.connection(timeout)) as connection:
            connection.request(method, path, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path):
        """Return the text of a resource that must exist."""
        status, _, body = self.request(path)
        if status != 200:
            raise AssertionError("%s: %d %s" % (path, status, body))
        return body.decode()

    def json(self, path):
        return json.loads(self.get(path))

    def appliance(self, name=None):
        """Return an appliance from the state; without a name, the only one."""
        found = [each for each in self.json("/api/v1/state")["appliances"]
                 if name in (None, each["name"])]
        if len(found) > 1:
            raise AssertionError([each["name"] for each in found])
        return found[0] if found else None

    def raw(self, data=b"", timeout=harness.PATIENCE):
        """Return a connection on which this was sent."""
        connection = socket.create_connection((self.host, self.port), timeout=timeout)
        connection.sendall(data)
        return connection

    def wait(self, condition, what, timeout=harness.PATIENCE):
        return harness.wait_for(condition, what, timeout)


class MonitorTest(harness.E2eTest):
    def environment(self):
        return dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))

    def config(self, number=0, **run):
        """Return a configuration of two taps that replay a capture without end, with its time, into
        a tool."""
        taps = [harness.port("tap-%s" % letter, 3 * number + index, rx_pcap=path)
                for index, (letter, path) in enumerate((("a", harness.PCAPS / "two-taps-a.pcap"),
                                                       ("b", harness.PCAPS / "two-taps-b.pcap")))]
        for tap in taps:
            tap["device"] += ",infinite_rx=1"
        tool = harness.port("tool", 3 * number + 2, tx_pcap="/dev/null")
        return {"port": [*taps, tool], "filter": [harness.filter_("echo", "50ms", keys=500_000)],
                "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo"}],
                "run": {"seed": 1, **run}}

    @contextlib.contextmanager
    def appliance(self, name, config=None, arguments=("--json",)):
        """Start an appliance; return once it answers on its socket."""
        eal = (*harness.EAL_ARGS, "--file-prefix=" + name)
        with self.start(config or self.config(), *arguments, eal=eal) as running:
            path = self.folder / "dpdk" / name / "dpdk_telemetry.v2"

            def answers():
                if not running.alive():
                    raise AssertionError("ended early: %s" % running.finish())
                with harness.Telemetry(path) as telemetry:
                    return telemetry.ask("/unecho/counters")
            harness.wait_for(answers, name)
            yield running

    @contextlib.contextmanager
    def server(self, *arguments, listen="127.0.0.1:0", wrapper=()):
        with subprocess.Popen(
                [*wrapper, os.environ["UNECHO_BIN"], "serve", "--listen", listen, *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, env=self.environment()) as process:
            try:
                yield Server(process)
            finally:
                process.terminate()
                try:
                    process.wait(harness.PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise AssertionError("did not stop") from None

    def run_command(self, *arguments, environment=None, timeout=harness.PATIENCE, **options):
        done = harness.unecho(*arguments, timeout=timeout, env=environment or self.environment(), **options)
        return harness.Result(done.returncode, done.stdout, done.stderr)

    def status(self, *arguments, **options):
        return self.run_command("status", *arguments, **options)


def samples_of(metrics):
    """Return {(name, ((label, value), ...)): number} from a text in Prometheus' format."""
    out = {}
    for line in metrics.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
        out[name, tuple(sorted(pairs))] = float(value)
    return out
