#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Text from outside in everything that unecho prints: control characters, invalid UTF-8, 10,000
bytes, markup and formulas. They are names of files, interfaces, configurations and appliances, or
come from a Redis, a configuration or another process's telemetry socket. Everywhere they are
printed as complete, readable text, and no process ends by them."""
import csv
import html.parser
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import tomllib
import urllib.parse

import harness
import monitored

ESCAPE = "\x1b]0;pwned\x07\x1b[31mred\x1b[0m"
LONG = "long" * 2500
NAMES = {
    "escape": ESCAPE.encode(),
    "C1": "\u009b31m".encode(),
    "no UTF-8": b"caf\xe9\xff",
    "cut": b"x\xc3",
    "another alphabet": "ключ".encode(),
    "direction": "\u202egpj.exe".encode(),
    "markup": b"<img src=x onerror=alert(1)>\"'&",
    "formula": b"=1+cmd|' -C calc'!A1",
    "at": b"@SUM(1,2)",
    "plus": b"+1",
    "line": b"a\nunecho: forged",
    "quotes": b"\"\"\",\\",
}
# Characters that no readable text may contain: C0 except the line end (a tab separates columns), DEL, C1,
# separators and directions.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def pcapng(names, comment):
    """Return a packet and its copy, on interfaces with these names, in a section with this
    comment."""
    frame = (bytes(12) + b"\x08\x00" + b"\x45\0\0\x20\x12\x34\0\0\x40\x11\0\0" + bytes([10, 0, 0, 1, 10, 0, 0, 2])
             + b"\x01\x02\x03\x04\0\x0c\0\0abcd")
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(1, comment) + option(0, b""))
    for name in names:
        out += block(1, struct.pack("<HHI", 1, 0, 0) + option(2, name) + option(3, comment) + option(0, b""))
    for number in range(2 * len(names)):
        out += block(6, struct.pack("<IIIII", number % len(names), 0, 1000 * number, len(frame), len(frame))
                     + frame + bytes(-len(frame) % 4) + option(1, comment) + option(0, b""))
    return out


class Tags(html.parser.HTMLParser):
    """Collects the elements of a page and the names of their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))


class Texts(harness.E2eTest):
    def harmless(self, text, where=""):
        """Check bytes or text as printed on a terminal; return the text."""
        if isinstance(text, bytes):
            text = text.decode()  # fails unless it is UTF-8
        found = HARMFUL.search(text)
        self.assertIsNone(found, "%s: %r" % (where, text[max(0, found.start() - 60):found.end() + 60]
                                             if found else ""))
        return text

    def unecho(self, *arguments, status=(0,), **options):
        done = subprocess.run([os.environ["UNECHO_BIN"], *arguments], cwd=self.folder, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **options)
        self.assertIn(done.returncode, status, done)
        self.harmless(done.stdout, arguments)
        self.harmless(done.stderr, arguments)
        return done


class Captures(Texts):
    def setUp(self):
        super().setUp()
        interfaces = [name[:256] for name in NAMES.values()] + [LONG.encode()]
        self.capture = pcapng(interfaces, ESCAPE.encode() + LONG.encode())

    def test_names_of_files_in_every_output(self):
        (self.folder / "plain").write_bytes(self.capture)
        self.unecho("analyze", "plain", "--html", "plain.html")
        tags = Tags((self.folder / "plain.html").read_text()).found
        for what, name in NAMES.items():
            with self.subTest(what):
                with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
                    file.write(self.capture)
                told = self.unecho("pcap", name, "plain", "-o", "out.pcapng", "--pairs", "pairs.csv",
                                   "--mark", "--json")
                json.loads(told.stdout)
                self.unecho("pcap", name, "-o", name + b".pcapng")
                self.unecho("pcap", name, "-o", name + b".pcapng/no", status=(1, 2))
                self.unecho("pcap", name + b".none", "-o", "out.pcap", status=(1, 2))
                self.unecho("analyze", name + b".none", status=(1, 2))
                self.cells((self.folder / "pairs.csv").read_bytes())
                self.unecho("analyze", name)
                told = self.unecho("analyze", name, "--json", "--html", "out.html", "--toml", "out.toml")
                json.loads(told.stdout)
                page = self.harmless((self.folder / "out.html").read_bytes(), "HTML")
                self.assertEqual(Tags(page).found, tags)
                tomllib.loads(self.harmless((self.folder / "out.toml").read_bytes(), "TOML"))

    def cells(self, text):
        rows = list(csv.reader(io.StringIO(self.harmless(text, "CSV")), strict=True))
        self.assertGreater(len(rows), 1)
        for row in rows[1:]:
            self.assertEqual(len(row), 5)
            for number in row[:3]:
                self.assertRegex(number, r"\A(-?\d+)?\Z")
            for name in row[3:]:
                self.assertNotRegex(name, r"\A[=+\-@\t\r]")

    def test_arguments_that_are_wrong(self):
        for what, name in NAMES.items():
            with self.subTest(what):
                for arguments in ((name,), ("pcap", b"--" + name), ("run", name + b"/x"),
                                  ("size", "--window", name, "--rate", "1Mpps"), ("check", name + b"/x"),
                                  ("status", name), ("reload", name), ("serve", "--listen", name),
                                  ("capture", "-i", name[:200], "-w", "x.pcap"), ("status", LONG)):
                    environment = dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))
                    self.unecho(*arguments, status=(1, 2), env=environment)


CONFIG = """
[[port]]
name = "in"
device = "net_null0,no-rx=1"
[[port]]
name = "out"
device = "net_null1,no-rx=1"
[[filter]]
name = "echo"
window = "50ms"
rate = "10kpps"
[[route]]
from = ["in"]
to = "out"
filter = "echo"
[run]
name = "box"
"""
COMMANDS = ("info", "counters", "ports", "routes", "workers", "filters", "audit", "paths", "stalls",
            "events", "help", "kinds")


class Appliances(Texts):
    def setUp(self):
        super().setUp()
        self.environment = dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))

    def started(self, path, *arguments):
        process = subprocess.Popen(
            [os.environ["UNECHO_BIN"], "run", path, "--json", *arguments, "--", *harness.EAL_ARGS],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
            env=self.environment)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.telemetry(process_alive(process)).__exit__()
        return process

    def ask_all(self):
        """Collect each answer as bytes. They must be ASCII, because DPDK's own JSON escapes nothing
        else."""
        path = self.folder / "dpdk/box/dpdk_telemetry.v2"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.settimeout(20)
            asking.connect(str(path))
            asking.recv(1024)
            for command in COMMANDS:
                asking.send(b"/unecho/" + command.encode())
                answer = asking.recv(1 << 16)
                self.assertRegex(answer, rb"\A[\x20-\x7e]+\Z", command)
                self.assertIsNotNone(json.loads(answer)["/unecho/" + command])

    def ended(self, process):
        """The process still runs, and stops in good order with its report; return its log."""
        self.assertIsNone(process.poll(), "the appliance ended")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        report = json.loads(self.harmless(out, "report"))
        self.harmless(err, "log")
        return report, err.decode()

    def test_a_file_that_says_anything(self):
        """The path, and what is wrong in the file: in the log, in telemetry, on the terminal, in
        the report."""
        for kind, name in (("json", b"caf\xe9\x1b[31m.toml"), ("text", "ключ\u009b.toml".encode())):
            with self.subTest(kind):
                path = os.path.join(os.fsencode(self.folder), name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(CONFIG)
                checked = self.unecho("check", path, env=self.environment)
                self.assertIn(b"is valid", checked.stdout)
                process = self.started(path, "--log-format", kind)
                for wrong in (*(pad + 50 * "ключ" for pad in ("", "x", "xx", "xxx")),
                              r"\u001b[31m\u009b31m", LONG, "<b>", r"\u202e"):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(CONFIG.replace("50ms", wrong))
                    self.unecho("reload", "box", status=(1,), env=self.environment)
                    self.unecho("check", path, status=(2,), env=self.environment)
                    self.ask_all()
                    self.unecho("status", "box", env=self.environment)
                    process.send_signal(signal.SIGHUP)  # reported only in the log
                status = json.loads(self.unecho("status", "box", "--json", env=self.environment).stdout)
                texts = [event["text"] for event in status["appliances"][0]["events"]]
                self.assertTrue(any("\\xd0\\xba" in text for text in texts), "not named: %s" % texts)
                report, log = self.ended(process)
                self.assertTrue(any("ключ" in event["text"] for event in report["events"]))
                if kind == "json":
                    for line in log.splitlines():
                        json.loads(line)

    def test_a_redis_that_says_anything(self):
        lines = [("-ERR " + pad + text + "\r\n").encode("utf-8", "surrogateescape")
                 for pad in ("", "x") for text in (120 * "\u00e9", ESCAPE, "\udcff\udcc3", LONG, "\u009b1m")]
        with socket.create_server(("127.0.0.1", 0)) as listening:
            threading.Thread(target=self.reply, args=(listening, lines), daemon=True).start()
            secret = self.folder / "secret"
            secret.write_text("ab" * 32)
            secret.chmod(0o600)
            path = self.folder / "box.toml"
            path.write_text(CONFIG.replace("[[route]]", """key = "flow-bidir"
first = 10
[filter.root]
redis = ["127.0.0.1:%d"]
secret_file = "%s"
flows = 1000
[[route]]""" % (listening.getsockname()[1], secret)).replace("50ms", "2s").replace("10kpps", "1kpps"))
            checked = subprocess.run([os.environ["UNECHO_BIN"], "check", path], capture_output=True,
                                     check=False, text=True)
            if "without hiredis" in checked.stderr:
                self.skipTest(checked.stderr)
            self.assertEqual(checked.returncode, 0, checked)
            process = self.started(path)

            def said():
                with self.telemetry() as telemetry:
                    return len([event for event in telemetry.ask("/unecho/events").values()
                                if isinstance(event, dict) and event["kind"] == "root"])
            harness.wait_for(said, "what Redis says")
            for _ in range(3):
                self.ask_all()
                self.unecho("status", "box", env=self.environment)
            self.ended(process)

    def reply(self, listening, lines):
        def one(connection, line):
            with connection:
                try:
                    while connection.recv(65536):
                        connection.sendall(line)
                except OSError:
                    pass
        for number in range(1 << 30):
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection, lines[number % len(lines)]), daemon=True).start()


def process_alive(process):
    """Stand in for the process handle that harness.telemetry() takes."""
    class Alive:
        def alive(self):
            return process.poll() is None

        def finish(self):
            return process.communicate()
    return Alive()


RIGHT = {
    "info": {"version": "0.1", "pid": 1, "uptime_ns": 10**9, "start_unix_ns": 1},
    "counters": {"received": 0, "uptime_ns": 10**9, "reasons": {"echo": 1}},
    "help": {"reasons": {}, "ports": {"rx_packets": "packets"}}, "kinds": {"ports": {"rx_packets": "packets counter"}},
    "ports": {"0": {"name": "in", "rx_packets": 1}}, "routes": {"0": {"name": "r", "received": 1}},
    "workers": {"0": {"lcore": 1}}, "filters": {"0": {"name": "f"}}, "audit": {"enabled": 1}, "events": {},
    "paths": {"0": {"name": "a>b", "came": 1}},
}


def everywhere(text):
    """Return everything that an appliance answers, with this text in place of each text and
    name."""
    rate = {"count": 1, "of": 2, "rate": text, "verdict": text, "explained": {text: 3}}
    return {
        "info": {"version": text, "pid": 1, "uptime_ns": 10**9, "start_unix_ns": 1, "name": text},
        "counters": {"received": 0, "uptime_ns": 10**9, "reasons": {text: 7}, text: 1},
        "help": {"reasons": {text: text}, "ports": {text: text}}, "kinds": {"ports": {text: text}},
        "ports": {"0": {"name": text, "rx_packets": 1, text: 1, "link_up": 0}},
        "routes": {"0": {"name": text, "from": [text], "to": text, "filter": text, "reasons": {text: 1}}},
        "workers": {"0": {"lcore": text, "answering": 0, "poll_times": {text: 1}}},
        "filters": {"0": {"name": text, "engine": text, "window_ns": 1, "root": {"masters": 1, "name": text}}},
        "audit": {"enabled": 1, "false_drops": rate, "misses": rate, "advice": [text], "causes": {text: 1},
                  "counters": {text: 1}, "crossings": [{"first": text, "repeated": text, "packets": 1}]},
        "paths": {"0": {"name": text, "filter": text, "from": text, "to": text, "came": 2, "directed": 2, "missing": 1,
                        "loss": rate, "delay": {"median_ns": text}, "changes": {text: 1},
                        "max_path_loss": "0.0", "delays": {"0": {"to_ns": text, "packets": 1}}}},
        "events": {"0": {"number": 2**64 - 1, "kind": text, "text": text, "unix_ns": 1}},
        "reload": {"accepted": 0, "text": [text + "\n", text]},
    }


ODD = [1, [1], [["x"]], {"0": [1]}, [None, "x", 5, {}], "x", True, {"0": {"name": {"a": 1}}}, 1.5]


class Impostors(Texts, monitored.MonitorTest):
    """Sockets in the folders of appliances that are none."""

    def impostor(self, name, answers):
        folder = os.path.join(os.fsencode(self.folder), b"dpdk", name)
        os.makedirs(folder)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listening.close)
        listening.bind(os.path.join(folder, b"dpdk_telemetry.v2"))
        listening.listen(64)

        def serve(connection):
            with connection:
                connection.send(b'{"version": "DPDK", "pid": 1, "max_output_len": 1000000}')
                try:
                    while asked := connection.recv(4096).decode():
                        name = asked.partition(",")[0]
                        answer = answers.get(name.rpartition("/")[2])
                        connection.send(json.dumps({name: answer}, ensure_ascii=False).encode("utf-8", "replace"))
                except OSError:
                    pass

        def accept():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()

    def looked_at(self, names, reloaded):
        """Read them with every telemetry client."""
        environment = self.environment()
        self.unecho("status", env=environment)
        json.loads(self.unecho("status", "--json", env=environment).stdout)
        self.unecho("status", "--check", status=(0, 1, 2, 3), env=environment)
        for name in reloaded:
            self.unecho("reload", name, status=(0, 1), env=environment)
            self.unecho("reload", "--dry-run", name, status=(0, 1), env=environment)
        with self.server() as server:
            server.wait(lambda: len(server.json("/api/v1/state")["appliances"]) == len(names), "all of them")
            shown = server.json("/api/v1/state")["appliances"]
            for path in ("/", "/metrics", "/readyz", "/api/v1/state", "/api/v1", "/healthz",
                         *("/api/v1/history?name=" + urllib.parse.quote(one["name"], safe="") for one in shown)):
                connection = server.connection()
                connection.request("GET", path)
                answer = connection.getresponse()
                self.assertIn(answer.status, (200, 503), path)
                text = self.harmless(answer.read(), path)
                if path == "/metrics":
                    monitored.samples_of(text)
                connection.close()
            self.assertTrue(server.alive())

    def test_answers_of_another_kind(self):
        self.answer_oddly("ports", "routes", "workers", "filters", "audit", "events", "reload")

    def test_paths_of_another_kind(self):
        self.answer_oddly("paths")

    def answer_oddly(self, *commands):
        names = []
        for number, odd in enumerate(ODD):
            for what in commands:
                names.append("%s-%d" % (what, number))
        self.assertLess(len(names), 64, "more are not looked for")
        for name in names:
            what, number = name.split("-")
            self.impostor(name.encode(), {**RIGHT, what: ODD[int(number)]})
        self.looked_at(names, [name for name in names if name.startswith("reload")])

    def test_answers_with_anything_in_them(self):
        texts = [name.decode("utf-8", "replace") for name in NAMES.values()] + [LONG, "nul\0"]
        names = []
        for text, name in zip(texts, [*NAMES.values(), b"long", b"nul"]):
            self.impostor(name, everywhere(text))
            names.append(name)
        self.looked_at(names, names)


if __name__ == "__main__":
    harness.main()
