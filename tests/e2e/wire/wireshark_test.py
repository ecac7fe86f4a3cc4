#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho extcap under the real tshark, which calls it as Wireshark does, in a mount namespace whose
extcap folder contains only unecho. tshark has no toolbar, so the test sends Wireshark's toolbar
messages itself."""
import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import threading

import wire
from wire import Host, harness, udp_frame

PACKETS = 120
NOBODY = 65534
INITIALIZED, SET = 0, 1
SEEN, ORIGINALS, ECHOES = range(3)
REFUSED = ("unecho: %s: this Wireshark already captures from another interface without echoes; two "
           "captures do not see each other's packets. Choose one of them, and the others under "
           "\"Together with\" (--with) in its options; or set \"On its own\" (--alone)")
RULES = harness.ROOT / "configs" / "wireshark" / "colorfilters"


def _no_wireshark():
    """Return why there is no Wireshark here, or None."""
    if not shutil.which("tshark"):
        return "needs tshark"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "needs root"


def extcap_folder():
    said = wire.run("tshark", "-G", "folders").stdout
    return re.search(r"^Extcap path:\s+(.*)$", said, re.M)[1]


@wire.needs_namespaces
@wire.unittest.skipIf(_no_wireshark() is not None, _no_wireshark())
class Extcap(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.host = Host(self, 1)
        self.name = self.host.outside
        self.value = "unecho-" + self.name
        self.extcap = self.folder / "extcap" / "unecho-extcap"
        self.extcap.parent.mkdir()
        self.extcap.symlink_to(os.environ["UNECHO_BIN"])
        home = self.folder / "home" / "wireshark"
        home.mkdir(parents=True)
        self.environment = dict(os.environ, HOME=str(home.parent), WIRESHARK_CONFIG_DIR=str(home),
                                XDG_CONFIG_HOME=str(home.parent))

    def ask(self, *arguments, wrapper=()):
        return subprocess.run([*wrapper, self.extcap, *arguments], capture_output=True, text=True,
                              check=False, timeout=harness.PATIENCE)

    # ---- tshark

    def in_wireshark(self, *command):
        """Return a command that runs with our extcap folder."""
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1"; shift; exec "$@"',
                str(self.extcap.parent), extcap_folder(), *map(str, command)]

    def tshark(self, *arguments, check=True):
        done = subprocess.run(self.in_wireshark("tshark", *arguments), capture_output=True, text=True,
                              check=False, timeout=harness.PATIENCE, env=self.environment)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def preferences(self, of=None, **values):
        """Return preferences as set in the dialogue of this interface, or of another."""
        name = re.sub("[^a-z0-9]", "_", (of or self.value).lower())
        return [word for key, value in values.items()
                for word in ("-o", "extcap.%s.%s:%s" % (name, key, value))]

    def capturing(self, *arguments):
        """Start tshark; return once it has read the beginning of unecho's output. The window is so
        long that a copy is an echo however slowly it is sent."""
        if not any(".window:" in str(argument) for argument in arguments):
            arguments += (*self.preferences(window="60s"),)
        path = self.folder / "out.pcapng"
        process = subprocess.Popen(self.in_wireshark("tshark", "-i", self.value, "-w", path, *arguments),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        said = ""
        while "Capture started" not in said:
            line = process.stderr.readline()
            self.assertNotEqual(line, "", "tshark did not start: " + said)
            said += line
        return process, path

    def frames_from_tshark(self, process, path, wanted):
        """Return the frames it wrote, after Ctrl-C when the last wanted one has arrived."""
        harness.wait_for(lambda: self.lines(path) >= wanted, "packets")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, "Error" in said), (0, False), said)
        self.assertEqual(self.running_extcaps(), [])
        plain = self.folder / "plain.pcap"
        wire.run("editcap", "-F", "nsecpcap", path, plain)
        return harness.frames_of(plain)

    def interfaces_in(self, path):
        """Return the name of each packet's interface."""
        return wire.run("tshark", "-r", path, "-T", "fields", "-e",
                        "frame.interface_name").stdout.split()

    def lines(self, path):
        done = subprocess.run(["tshark", "-r", path], capture_output=True, text=True, check=False)
        return len(done.stdout.splitlines())

    def running_extcaps(self):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--capture" in words and self.value.encode() in words:
                found.append(process.name)
        return found

    def test_tshark_lists_the_interfaces(self):
        said = self.tshark("-D").stdout
        self.assertRegex(said, r"(?m)^\d+\. %s \(%s without echoes \(unecho\)\)$"
                         % (re.escape(self.value), re.escape(self.name)))
        self.assertIn("unecho-any (any", said)
        for other in ("usbmon", "nflog", "dbus"):
            self.assertNotIn("unecho-" + other, said)
        shown = self.tshark("-L", "-i", self.value)
        self.assertIn("EN10MB (Ethernet)", shown.stdout + shown.stderr)

    def test_no_copy_comes(self):
        process, path = self.capturing("-f", "udp port %d and not udp port 20003" % wire.PORT)
        originals = [udp_frame(number) for number in range(PACKETS)]
        self.host.send([frame for number, original in enumerate(originals)
                        for frame in (original, *wire.copies_of(number))], self.folder)
        wanted = [frame for number, frame in enumerate(originals) if number % 64 != 3]
        self.assert_frames(self.frames_from_tshark(process, path, len(wanted)), wanted, "by tshark")

    def test_what_the_dialogue_says_is_done(self):
        process, path = self.capturing(*self.preferences(key="frame", window="60s", snapshotlength=50,
                                                         engine="exact", memory="128MiB",
                                                         buffersize="1MiB", nopromiscuousmode="true",
                                                         policy="refresh"))
        frames = [frame for number in range(30)
                  for frame in (udp_frame(number), udp_frame(number), wire.copies_of(number)[0])]
        self.host.send(frames, self.folder)
        wanted = [frame[:50] for at, frame in enumerate(frames) if at % 3 != 1]
        # The remaining frames still differ by TTL and ID.
        self.assert_frames(self.frames_from_tshark(process, path, len(wanted)), wanted, "by tshark")

    def test_echoes_are_marked_and_the_rule_finds_them(self):
        process, path = self.capturing(*self.preferences(mark="true", window="60s", nonip="frame",
                                                         tunnels="vxlan,gre"))
        self.host.send([frame for number in range(PACKETS)
                        for frame in (udp_frame(number), wire.copies_of(number)[0])], self.folder)
        self.assertEqual(len(self.frames_from_tshark(process, path, 2 * PACKETS)), 2 * PACKETS)
        shutil.copy(RULES, self.environment["WIRESHARK_CONFIG_DIR"])
        rows = [line.split("\t") for line in self.tshark(
            "-r", path, "--color", "-T", "fields", "-e", "frame.comment", "-e",
            "frame.coloring_rule.name").stdout.splitlines()]
        self.assertEqual(len(rows), 2 * PACKETS)
        for at, (comment, rule) in enumerate(rows):
            if at % 2 == 0:
                self.assertEqual((comment, rule), ("", ""), at + 1)
            else:
                self.assertRegex(comment, r"^echo of packet %d, [0-9.]+ [a-z]+$" % at)
                self.assertEqual(rule, "Echo (unecho)")

    def test_interfaces_together_show_each_packet_once(self):
        others = [Host(self, number) for number in (2, 3)]
        process, path = self.capturing(*self.preferences(
            window="60s", **{"with": ",".join(other.outside for other in others)}))
        hosts, wanted = [self.host, *others], []
        for turn, host in enumerate(hosts):  # each is the first to see some of the packets
            numbers = range(turn * PACKETS, (turn + 1) * PACKETS)
            wanted += [udp_frame(number) for number in numbers]
            host.send([udp_frame(number) for number in numbers], self.folder)
            for other, copy in zip((one for one in hosts if one is not host), (0, 1)):
                other.send([wire.copies_of(number)[copy] for number in numbers], self.folder)
        self.assert_frames(self.frames_from_tshark(process, path, len(wanted)), wanted, "by tshark")
        self.assertEqual(self.interfaces_in(path),
                         [host.outside for host in hosts for _ in range(PACKETS)])

    def test_interfaces_apart_are_refused_unless_on_their_own(self):
        other = Host(self, 2)
        value, out = "unecho-" + other.outside, self.folder / "none.pcapng"
        done = self.tshark("-i", self.value, "-i", value, "-w", out, check=False)
        lines = [line for line in done.stderr.splitlines() if "Error by extcap pipe: " in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(lines[0].partition("Error by extcap pipe: ")[2],
                      [REFUSED % name for name in (self.name, other.outside)])
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.running_extcaps(), [])
        # One that is on its own suffices. Then each shows what it sees, echoes between them, too.
        process, path = self.capturing(
            "-i", value, *self.preferences(value, alone="true", window="60s"),
            *self.preferences(window="60s"))
        for host in (self.host, other):
            host.send([udp_frame(number) for number in range(PACKETS) for _ in range(2)],
                      self.folder)
        self.assertEqual(len(self.frames_from_tshark(process, path, 2 * PACKETS)), 2 * PACKETS)
        self.assertEqual(sorted(self.interfaces_in(path)),
                         sorted([self.name, other.outside] * PACKETS))

    def test_what_is_wrong_is_shown_as_one_line_and_ends_the_capture(self):
        out = self.folder / "none.pcapng"
        other = Host(self, 2).outside
        for arguments, said in (
                (self.preferences(window="5parsecs"), '--window: "5parsecs" is not a duration; allowed:'),
                (self.preferences(tunnels="vxlan,gree"), '--tunnels: "gree" is unknown; allowed: all, none'),
                (self.preferences(buffersize="1"), '--buffer-size: "1"; allowed: 64KiB to 1GiB'),
                (self.preferences(**{"with": "nosuch0"}),
                 '--with: "nosuch0" is no other interface of the network; allowed: different '),
                (self.preferences(**{"with": other + "," + self.name}),
                 '--with: "%s" is the interface itself; allowed: different ones of ' % self.name),
                (self.preferences(**{"with": other + "," + other}),
                 '--with: "%s" is in the list already; allowed: different ones of ' % other),
                (["-f", "udp prt 7"], "can't parse filter expression")):
            with self.subTest(said):
                done = self.tshark("-i", self.value, "-w", out, *arguments, check=False)
                lines = [line for line in done.stderr.splitlines() if "Error by extcap pipe: " in line]
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertIn("Error by extcap pipe: unecho: ", lines[0])
                self.assertIn(said, lines[0])
                self.assertNotEqual(done.returncode, 0)

    # ---- without tshark

    def test_lists_without_any_right_and_names_what_capturing_takes(self):
        self.folder.chmod(0o755)
        program = self.folder / "unecho"
        shutil.copy(os.environ["UNECHO_BIN"], program)
        program.chmod(0o755)
        self.extcap.unlink()
        self.extcap.symlink_to(program)
        nobody = ("setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups",
                  "--inh-caps=-all", "--bounding-set=-all")
        listed = self.ask("--extcap-interfaces", "--extcap-version=4.0", wrapper=nobody)
        if listed.returncode == 126:
            self.skipTest("needs a folder that nobody can reach")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertEqual(listed.stdout, self.ask("--extcap-interfaces").stdout)
        self.assertIn("interface {value=%s}{display=" % self.value, listed.stdout)
        dlts = self.ask("--extcap-dlts", "--extcap-interface", self.value, wrapper=nobody)
        self.assertEqual((dlts.returncode, dlts.stdout),
                         (0, "dlt {number=1}{name=EN10MB}{display=Ethernet}\n"))
        _, reader = self.pipe("fifo")
        (self.folder / "fifo").chmod(0o666)
        done = self.ask("--capture", "--fifo=%s" % (self.folder / "fifo"), "--extcap-interface=" + self.value,
                        wrapper=nobody)
        self.assertEqual((done.returncode, os.read(reader, 1)), (1, b""))
        self.assertEqual(done.stderr, "unecho: %s: no permission to capture; once, as root: setcap "
                         "cap_net_raw+ep %s\n" % (self.name, program))

    def pipe(self, name):
        """Return a path, and the descriptor that reads from it and that the test closes."""
        path = self.folder / name
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(self.close, reader)
        return path, reader

    @staticmethod
    def close(descriptor):
        try:
            os.close(descriptor)
        except OSError:
            pass

    def start_extcap(self, *arguments):
        running = harness.Running([str(self.extcap), "--capture", "--extcap-interface", self.value,
                                   *map(str, arguments)], dict(os.environ), self.folder)
        self.addCleanup(running.__exit__)
        return running

    def wait_for_header(self, reader):
        """A section header and an interface come before any packet."""
        select.select([reader], [], [], 60)
        head = os.read(reader, 65536)
        self.assertEqual(head[:4], b"\x0a\x0d\x0d\x0a")
        self.assertIn(self.name.encode(), head)

    def test_ends_well_on_sigterm_and_when_its_reader_leaves(self):
        for leave in (True, False):
            path, reader = self.pipe("fifo-%d" % leave)
            running = self.start_extcap("--fifo=%s" % path)
            self.wait_for_header(reader)
            if leave:
                os.close(reader)  # no packet arrives on which writing could fail
            else:
                running.send(signal.SIGTERM)
            result = running.finish()
            self.assertEqual((result.status, result.out, result.err), (0, "", ""))

    @staticmethod
    def open_files(running):
        found = []
        for one in pathlib.Path("/proc/%d/fd" % running.pid()).iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.append(os.readlink(one))
        return found

    def test_waits_for_the_capture_before_it_even_if_that_is_killed(self):
        path, reader = self.pipe("fifo-1")
        before = self.start_extcap("--fifo", path)
        self.wait_for_header(reader)
        # Another Wireshark: the shell is the parent, and does not become the program.
        path, reader = self.pipe("fifo-2")
        other = harness.Running(["sh", "-c", '"$@"; exit $?', "sh", str(self.extcap), "--capture",
                                 "--extcap-interface", self.value, "--fifo", str(path)],
                                dict(os.environ), self.folder)
        self.addCleanup(other.__exit__)
        self.wait_for_header(reader)
        os.close(reader)
        self.assertEqual(other.finish().status, 0)
        path, reader = self.pipe("fifo-3")
        after = self.start_extcap("--fifo", path)
        parent = "/proc/%d/fd" % os.getpid()
        harness.wait_for(lambda: parent in self.open_files(after), "its wait")
        after.send(signal.SIGSTOP)  # it counts its tries, so the end of the other one takes none
        before.send(signal.SIGKILL)
        before.finish()
        after.send(signal.SIGCONT)
        self.wait_for_header(reader)
        after.send(signal.SIGTERM)
        result = after.finish()
        self.assertEqual((result.status, result.out, result.err), (0, "", ""))

    def test_ends_well_when_its_reader_leaves_under_traffic(self):
        path, reader = self.pipe("fifo")
        running = self.start_extcap("--fifo", path)
        self.wait_for_header(reader)
        stop = threading.Event()

        def send():
            while not stop.is_set():
                self.host.send([udp_frame(number) for number in range(300)], self.folder)
        sender = threading.Thread(target=send)
        sender.start()
        select.select([reader], [], [], 60)
        os.close(reader)
        result = running.finish()
        stop.set()
        sender.join()
        self.assertEqual((result.status, result.out, result.err), (0, "", ""))

    def test_the_toolbar_has_the_counts(self):
        path, reader = self.pipe("fifo")
        told, counts = self.pipe("told")
        speaks = self.folder / "speaks"
        os.mkfifo(speaks)
        running = self.start_extcap("--fifo", path, "--window", "60s", "--extcap-control-in", speaks,
                                    "--extcap-control-out", told)
        toolbar = os.open(speaks, os.O_WRONLY)  # as Wireshark does, which waits for it
        self.addCleanup(self.close, toolbar)
        self.wait_for_header(reader)
        values, rest = {}, b""

        def read_until(wanted):
            nonlocal rest
            while values != wanted:
                ready, _, _ = select.select([counts], [], [], 60)
                self.assertTrue(ready, "%s, not %s" % (values, wanted))
                rest += os.read(counts, 4096)
                while len(rest) >= 6 and len(rest) >= 4 + int.from_bytes(rest[1:4], "big"):
                    self.assertEqual(rest[:1], b"T")
                    end = 4 + int.from_bytes(rest[1:4], "big")
                    control, command = rest[4:6]
                    self.assertEqual(command, SET)
                    values[control], rest = rest[6:end].decode(), rest[end:]
        read_until({SEEN: "0", ORIGINALS: "0", ECHOES: "0"})
        self.host.send([frame for number in range(100) for frame in (udp_frame(number), udp_frame(number))]
                       + [udp_frame(number) for number in range(100, 200)], self.folder)
        final = {SEEN: "300", ORIGINALS: "200", ECHOES: "100"}  # still in the pipe
        read_until(final)
        # In two pieces. After it all values are sent again, though nothing arrived.
        values.clear()
        os.write(toolbar, b"T\0\0\2")
        os.write(toolbar, struct.pack("BB", 0, INITIALIZED))
        read_until(final)
        # Text typed into a field does not stay there.
        values.clear()
        os.write(toolbar, b"T\0\0\4" + struct.pack("BB", ECHOES, SET) + b"17")
        read_until(final)
        os.close(toolbar)
        running.send(signal.SIGTERM)
        result = running.finish()
        self.assertEqual((result.status, result.out, result.err), (0, "", ""))

    def test_a_filter_is_checked(self):
        for expression, said in (("udp port 7", ""), ("inbound and tcp", ""),
                                 ("udp prt 7", "can't parse filter expression: syntax error; "
                                  "allowed: as in pcap-filter(7)\n")):
            done = self.ask("--extcap-interface", self.value, "--extcap-capture-filter", expression)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))

    def test_what_is_called_wrongly_is_one_line(self):
        plain = self.folder / "plain"
        plain.write_bytes(b"")
        path, _ = self.pipe("fifo")
        ours = ("--extcap-interface", self.value)
        for arguments, said in (
                ((), '--extcap-interface: "" is none of these; allowed: unecho-NAME'),
                (("--extcap-config", "--extcap-interface=eth0"), '"eth0" is none of these'),
                (ours, "extcap: one of --extcap-interfaces, "),
                ((*ours, "--capture"), "--capture: needs --fifo FILE"),
                ((*ours, "--capture", "--fifo", plain), "is no pipe; unecho capture -w FILE"),
                ((*ours, "--capture", "--fifo", self.folder / "none"), "No such file or directory; allowed"),
                ((*ours, "--capture", "--fifo", path, "--extcap-control-in", self.folder / "none"),
                 "--extcap-control-in: "),
                ((*ours, "--capture", "--fifo", path, "--windw=1s"), 'did you mean "--window"?')):
            done = self.ask(*map(str, arguments))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done)
            self.assertIn(said, done.stderr)
        for question in ("--extcap-dlts", "--capture"):
            done = self.ask("--extcap-interface=unecho-nosuch0", question, "--fifo", str(path))
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done)
            self.assertIn("nosuch0: no such interface", done.stderr)


if __name__ == "__main__":
    harness.main()
