#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/capture.md, recipes.md and wireshark.md, each run unchanged. `unecho` is in
/usr/bin; eth0, tap0 and tap1 are interfaces on which each packet arrives twice. Commands that end
with Ctrl-C get it, as from a terminal."""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

import wire
from wire import Host, harness

import frames  # noqa: E402

EXTCAP = "/usr/lib/x86_64-linux-gnu/wireshark/extcap"
INTERFACES = ("eth0", "tap0", "tap1")
ENDS, PORTS = ("10.99.0.1", "10.99.0.2"), {"tcp": 443, "udp": 53}
TURNS, MANY = 16384, 4000
TIMES = {"marked.pcapng": 2, "echoes.pcap": 3}  # of each packet; the second has two interfaces
# With two interfaces, a capture that ends lacks the packets in a kernel block that is still open
# (at most 40 ms). The blocks of both are not closed at the same time.
LAST_BLOCKS = {3: 0.05}
# Files written to /usr are diverted, and vanish with the process.
ROOM = """set -eu
mount -t tmpfs none {room}
mkdir {room}/new {room}/work
mount -t overlay -o lowerdir=/usr,upperdir={room}/new,workdir={room}/work none /usr
mkdir -p {extcap}
install -m 755 {program} /usr/local/bin/unecho
install -m 755 {program} /usr/bin/unecho
printf '#!/bin/sh\\nexec "$@"\\n' >/usr/bin/sudo
chmod 755 /usr/bin/sudo
ip link set lo up
echo ready
exec sleep infinity
"""
# Begins when a program captures; reports when it has sent enough for a reader to show something.
SEND = """import json, os, socket, time
sockets = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range({interfaces})]
for number, one in enumerate(sockets):
    one.bind(("in%d" % number, 0))
turns = json.load(open({path!r}))
while not os.path.exists({go!r}):
    time.sleep(0.01)
for number, turn in enumerate(turns):
    if number == {many}:
        open({go!r} + "-many", "w").close()
    for one in sockets:
        for frame in turn:
            one.send(bytes.fromhex(frame))
    time.sleep(0.001)
"""
CAPTURES = re.compile("unecho: capturing|Capture started")
INTERRUPTED = re.compile("^tcpdump: .*: Interrupted system call\\n", re.M)
UNPACK = {".zst": ("zstd", "-dc"), ".gz": ("gzip", "-dc"), ".lz4": ("lz4", "-dc")}


def commands(page):
    """Return the lines of its shell blocks."""
    text = (harness.ROOT / "docs" / page).read_text()
    return [line for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
            for line in block.splitlines() if line.strip()]


def window_of(line):
    """Return the window in seconds."""
    named = re.search(r"--window (\d+)ms", line)
    return int(named[1]) / 1000 if named else 0.05


def no_overlay():
    """Return why nothing can be mounted over /usr here, or None."""
    probe = subprocess.run(
        ["unshare", "--mount", "sh", "-ec",
         "mount -t tmpfs none /mnt; mkdir /mnt/u /mnt/w;"
         "mount -t overlay -o lowerdir=/usr,upperdir=/mnt/u,workdir=/mnt/w none /usr"],
        capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else "needs overlay mounts: " + probe.stderr.strip()


def turn(number):
    """Return a packet whose IP identification is its number, and its copy from behind a router."""
    kind = "udp" if number % 2 else "tcp"
    ports, payload = (40000, PORTS[kind]), number.to_bytes(8, "big") * 8
    inside = frames.udp(*ENDS, ports, payload) if kind == "udp" else \
        frames.tcp(*ENDS, ports, payload, 1000 + 64 * number, 1)
    ip = frames.ipv4(*ENDS, getattr(frames, kind.upper()), inside, 2 + number % 65000)
    return [frames.ethernet(ip).hex(), frames.ethernet(frames.routed(ip)).hex()]


def packets_in(path):
    """Return number and time of each packet in a capture, in order, as tcpdump reads it;
    RuntimeError if it cannot."""
    with subprocess.Popen([*UNPACK.get(path.suffix, ("cat",)), path], stdout=subprocess.PIPE) as plain, \
            subprocess.Popen(["tcpdump", "-ttnvr", "-"], stdin=plain.stdout, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        plain.stdout.close()
        out, said = reader.communicate(timeout=harness.PATIENCE)
    if reader.returncode != 0 or "truncated" in said:
        raise RuntimeError("%s: %s" % (path, said))
    return [(int(number), float(time)) for time, number in re.findall(r"(?m)^(\d+\.\d+) .*, id (\d+), offset", out)]


@wire.needs_namespaces
@wire.needs("setcap", "nsenter", "zstd", "tshark", "tcpreplay", "softflowd", "nfdump", "argus")
class Docs(wire.WireTest):
    def setUp(self):
        super().setUp()
        absent = no_overlay()
        if absent:
            self.skipTest(absent)
        self.host = Host(self, 9)
        senders = [Host(self, number) for number in range(1, 1 + len(INTERFACES))]
        for number, (sender, name) in enumerate(zip(senders, INTERFACES)):
            sender.move_outside(self.host, name)
            sender.move_inside(senders[0], "in%d" % number)
        self.sender = senders[0]
        (self.folder / "turns").write_text(json.dumps([turn(number) for number in range(TURNS)]))
        (self.folder / "room").mkdir()
        self.room = self.host.start("bash", "-c", ROOM.format(
            room=self.folder / "room", extcap=EXTCAP, program=os.environ["UNECHO_BIN"]))
        self.addCleanup(self.end, self.room)
        self.place = self.folder / "place"
        self.place.mkdir()
        (self.place / "examples").symlink_to(harness.ROOT / "examples")
        self.assertEqual(self.room.stdout.readline(), "ready\n", self.room.poll())

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def in_room(self, line):
        """Run a line of shell in a process group, as a terminal does, until it ends or there is
        output; then send Ctrl-C. Return its standard output and its other messages."""
        out, said = self.folder / "out", self.folder / "said"
        before = self.sizes()
        with open(out, "w") as to, open(said, "w") as errors:
            process = subprocess.Popen(
                ["nsenter", "--target", str(self.room.pid), "--net", "--mount",
                 "--wdns=" + str(self.place), "bash", "-c", line],
                env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.place)},
                stdin=subprocess.DEVNULL, stdout=to, stderr=errors, start_new_session=True)
        self.addCleanup(self.end, process)
        ends_itself = not re.search(r"eth0|tap0| any ", line) or re.search(" -c |&", line)
        deadline = time.monotonic() + harness.PATIENCE
        while process.poll() is None and time.monotonic() < deadline and \
                (ends_itself or not self.is_enough(before, out)):
            if not self.go.exists() and any(CAPTURES.search(text.read_text()) for text in (said, self.place / "said")
                                            if text.exists()):
                self.go.touch()
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
        # tshark and tcpdump report as an error that Ctrl-C interrupted their reading.
        out, interrupted = out.read_text(), INTERRUPTED.search(said.read_text())
        said = INTERRUPTED.sub("", said.read_text())
        allowed = {0, 2} if "tshark" in line else {0, 1} if interrupted else {0}
        self.assertIn(process.returncode, allowed, said)
        self.assertNotRegex(said, r"(?i)error|warning: (?!Running)")
        return out, said

    def sizes(self):
        return {path: path.stat().st_size for path in self.place.rglob("*pcap*") if path.is_file()}

    def is_enough(self, before, out):
        if self.many.exists():  # for a command that shows nothing, as intended
            return True
        new = [size for path, size in self.sizes().items() if size != before.get(path)]
        return bool(new) and min(new) >= 20_000 or out.stat().st_size >= 20_000

    def try_out(self, line):
        """Run the line and examine the captures that it leaves; return its output and messages."""
        before = self.sizes()
        self.go, self.many = self.folder / "go", self.folder / "go-many"
        for path in (self.go, self.many):
            path.unlink(missing_ok=True)
        sender = self.sender.start(sys.executable, "-c", SEND.format(
            interfaces=len(INTERFACES), path=str(self.folder / "turns"), go=str(self.go), many=MANY))
        try:
            out, said = self.in_room(line)
        finally:
            self.end(sender)
        for path, size in self.sizes().items():
            if size != before.get(path) and path.name != "span.pcap":
                self.assert_each(TIMES.get(path.name, 1), packets_in(path), window_of(line))
        return out, said

    def assert_each(self, times, packets, window):
        """Each packet occurs so often. Exceptions: the last packets of one interface, copies that
        the busy machine delayed beyond the window, and a few at the start or out of order."""
        found = collections.defaultdict(list)
        for number, time_ in packets:
            found[number].append(time_)
        if times in LAST_BLOCKS:
            end = max(map(max, found.values())) - LAST_BLOCKS[times]
            found = {number: at for number, at in found.items() if max(at) < end}
        self.assertGreater(len(found), 20)
        others = [(number, at) for number, at in found.items()
                  if len(at) != times and not (len(at) > times and max(at) - min(at) >= window)]
        self.assertLessEqual(len(others), len(found) // 20, others[:10])

    def try_all(self, lines, printed):
        """printed: {part of a line: what such a line must print or say}."""
        for line in lines:
            with self.subTest(line):
                text = "\n".join(self.try_out(line))
                for pattern in (pattern for part, pattern in printed.items() if part in line):
                    self.assertRegex(text, pattern)

    def test_readme(self):
        lines = [line for line in commands("../README.md") if "unecho capture" in line]
        self.assertGreaterEqual(len(lines), 2)
        self.try_all(lines, {"| tcpdump": r"IP 10\.99\.0\.1\.40000 > 10\.99\.0\.2\.443: "})

    def test_capture(self):
        running = ("unecho capture -i eth0 -w - >usr1 2>said & PID=$!; until grep -q capturing said; do sleep 0.01; "
                   "done; %s; until grep -q 'so far' said; do sleep 0.01; done; kill -INT $PID; wait $PID; cat said >&2")
        lines = [running % line.partition("#")[0].replace("PID", "$PID") if "PID" in line else line
                 for line in commands("capture.md")]
        self.try_all(lines, {
            "-D": r"(?m)^eth0\tup$", "-c 1000": r"(?s)> 10\.99\.0\.2\.53: .*\b1,000 packets, .*dropped 500 ",
            "tshark": r"10\.99\.0\.1 → 10\.99\.0\.2", "--mark": r"marked [0-9,]+ echoes \(50\.0 %\)",
            "kill": r"unecho: [0-9,]+ packets so far, of these [0-9,]+ echoes"})

    def test_recipes(self):
        self.try_all(commands("recipes.md"), {
            "recipes/flows": r"Packets: 1012\nBytes: 467824\n(?s:.*)Packets: 506\nBytes: 233912\n",
            "recipes/argus": r"tcp", "recipes/tshark": r"dropped [0-9,]+ echoes \(7[45]\.\d %\)"})

    def test_wireshark(self):
        self.try_all(commands("wireshark.md"), {
            "tshark -D": r"(?m)^\d+\. unecho-eth0 \(eth0 without echoes \(unecho\)\)$"})


if __name__ == "__main__":
    harness.main()
