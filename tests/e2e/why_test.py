#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The captures of docs/why.md with duplicate packets: the page's table is remade from examples/why
with the binary and with tshark, and its commands run unchanged."""
import json
import os
import re
import shutil
import subprocess
import sys

import harness

PAGE = harness.ROOT / "docs" / "why.md"
RETRANSMISSION, DUPLICATE = "a (suspected) retransmission", "Duplicate ACK"


def wireshark_of(path):
    """Return (retransmissions, duplicate ACKs) as Wireshark's expert counts them."""
    done = subprocess.run(["tshark", "-n", "-r", path, "-q", "-z", "expert,note"], check=True,
                          capture_output=True, text=True, timeout=harness.PATIENCE,
                          env=dict(os.environ, HOME=str(path.parent)))
    counts = [0, 0]
    for line in done.stdout.splitlines():
        for i, summary in enumerate((RETRANSMISSION, DUPLICATE)):
            if summary in line:
                counts[i] += int(line.split()[0])
    return "%d, %d" % tuple(counts)


@harness.unittest.skipIf(shutil.which("tshark") is None, "no tshark here")
class Why(harness.E2eTest):
    def setUp(self):
        super().setUp()
        subprocess.run([sys.executable, "-B", harness.ROOT / "examples" / "why" / "make_copies",
                        self.folder / "copies"], check=True, timeout=harness.PATIENCE)

    def row(self, name):
        capture, clean = self.folder / "copies" / (name + ".pcap"), self.folder / (name + ".pcap")
        tunnels = ["--tunnels", "vxlan"] if name == "vxlan" else []
        report = json.loads(self.command("analyze", capture, "--json"))
        causes = {one["cause"]: one["echoes"]["packets"] for one in report["causes"]}
        cause = max(causes, key=causes.get)
        self.command("pcap", capture, "-o", clean, *tunnels)
        return [name, str(len(harness.frames_of(capture))), wireshark_of(capture),
                cause if causes[cause] else "-", str(len(harness.frames_of(clean))),
                wireshark_of(clean)]

    def command(self, *arguments):
        done = harness.unecho(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_table_is_what_is_seen(self):
        lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \[?[a-z-]+(\]\S+)? \| \d", line)]
        rows = [[re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell.strip()) for cell in line.strip("|").split("|")]
                for line in lines]
        names = {path.stem for path in (self.folder / "copies").glob("*.pcap")}
        self.assertEqual({row[0] for row in rows}, names)
        for row in rows:
            with self.subTest(row[0]):
                self.assertEqual(self.row(row[0]), row)

    def test_what_is_left_are_the_packets_that_were_sent(self):
        plain = sorted(frame[14:] for frame in harness.frames_of(self.folder / "copies" / "plain.pcap"))
        for name in ("span-both", "routed", "tagged"):
            with self.subTest(name):
                clean = self.folder / "clean.pcap"
                self.command("pcap", self.folder / "copies" / (name + ".pcap"), "-o", clean)
                self.assertEqual(sorted(frame[14:] for frame in harness.frames_of(clean)), plain)

    def test_commands_run_as_they_stand_there(self):
        (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S)
        place = self.folder / "as-written"
        place.mkdir()
        (place / "examples").symlink_to(harness.ROOT / "examples")
        path = "%s:%s" % (os.path.dirname(os.environ["UNECHO_BIN"]), os.environ["PATH"])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=place, check=False,
                              capture_output=True, text=True, timeout=harness.PATIENCE,
                              env=dict(os.environ, PATH=path, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("routed", done.stdout)
        self.assertEqual(len(harness.frames_of(place / "clean.pcap")), 126)


if __name__ == "__main__":
    harness.main()
