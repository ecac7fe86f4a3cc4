#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho check` says what this host lacks, `unecho run` refuses it before it touches a port, and
`unecho init` writes a configuration that both accept. Help, version and misspelt options."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import unittest

import harness
from harness import E2eTest, toml, unecho

UNECHO = os.environ.get("UNECHO_BIN", "")
CPU_OF_OTHERS = max(set(range(128)) - set(range(os.cpu_count())), default=None)
ALL_HERE = "this host: it has all that the plan needs"


def taps(*interfaces, **changes):
    """Return taps on interfaces into a port that drops; without hugepages."""
    ports = [{"name": "tap-%d" % i, "device": "net_af_packet%d,iface=%s" % (i, name)}
             for i, name in enumerate(interfaces)]
    return {"eal": {"args": ["--no-huge", "-m", "256"]},
            "port": [*ports, {"name": "tool", "device": "net_null9"}],
            "filter": [{"name": "echo", "window": "20ms", "rate": "10kpps"}],
            "route": [{"from": [port["name"] for port in ports], "to": "tool", "filter": "echo"}],
            "run": {"name": "host-test"}, **changes}


@unittest.skipIf(os.geteuid() != 0, "only root has a network of its own here")
class Host(E2eTest):
    """In a network of its own with the interfaces left and right."""
    mtu = 1500  # of right; announced() counts on

    @classmethod
    def setUpClass(cls):
        subprocess.run(["ip", "link", "add", "left", "type", "veth", "peer", "name", "right"], check=True)
        for name in ("left", "right"):
            subprocess.run(["ip", "link", "set", name, "up"], check=True)

    def config(self, document):
        path = self.folder / "box.toml"
        path.write_text(toml(document))
        return path

    def check(self, document, *arguments):
        return unecho("check", *arguments, self.config(document), cwd=self.folder)

    def warned(self, document, key, *words):
        """It is a warning of check, and an error with --strict."""
        done = self.check(document)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        lines = [line for line in done.stdout.splitlines() if line.startswith("warning: ")]
        self.assertEqual(len(lines), 1, done.stdout)
        for word in (key + ": ", *words):
            self.assertIn(word, lines[0])
        self.assertIn("this host: 1 warning; --strict makes errors of them", done.stdout)
        strict = self.check(document, "--strict")
        self.assertEqual((strict.returncode, strict.stdout), (2, ""), strict)
        self.assertIn(self.without_sizes(lines[0].removeprefix("warning: ")),
                      self.without_sizes(strict.stderr))

    @staticmethod
    def without_sizes(text):
        """Free memory changes from one moment to the next."""
        return re.sub(r"[\d.]+ [KMG]iB", "SIZE", text)

    def refused(self, document, status, *words):
        """run refuses it before it touches a port: no change of an interface is announced."""
        with subprocess.Popen(["ip", "monitor", "link"], stdout=subprocess.PIPE) as monitor:
            self.addCleanup(monitor.kill)
            self.announced(monitor)
            result = self.run_unecho(document)
            self.assertEqual((result.status, result.out), (status, ""), result)
            self.assertEqual(len(result.err.splitlines()), 1, result)
            for word in words:
                self.assertIn(word, result.err)
            self.assertNotRegex(self.announced(monitor), r"(?m)^\d+: left@")
            monitor.kill()

    def announced(self, monitor):
        """Change the MTU of the other interface until that is announced, because the monitor may not
        listen yet; return what was announced until then."""
        text = ""
        while "mtu %d " % self.mtu not in text:
            Host.mtu += 1
            subprocess.run(["ip", "link", "set", "right", "mtu", str(self.mtu)], check=True)
            while select.select([monitor.stdout], [], [], 0.2)[0] and "mtu %d " % self.mtu not in text:
                text += os.read(monitor.stdout.fileno(), 1 << 16).decode()
        return text

    def test_one_that_has_everything_is_told_so(self):
        done = self.check(taps("left", "right"), "--strict")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.rstrip().endswith(ALL_HERE), done.stdout)
        self.assertNotIn("lcore 127", done.stdout)

    def test_missing_interface(self):
        document = taps("left", "rihgt")
        self.warned(document, "port[1].device", 'no interface "rihgt"', 'did you mean "right"?')
        self.refused(document, 1, "port[1].device", 'did you mean "right"?')

    @unittest.skipIf(CPU_OF_OTHERS is None, "lcores end before the CPUs of this machine")
    def test_lcores_beyond_the_cpus(self):
        document = taps("left", workers={"lcores": [CPU_OF_OTHERS]})
        self.warned(document, "workers.lcores", "CPU %d is not there" % CPU_OF_OTHERS)
        self.refused(document, 2, "CPU %d is not there" % CPU_OF_OTHERS)

    def test_mtu_that_the_driver_cannot_do(self):
        document = taps("left")
        document["port"][0]["mtu"] = 1550
        self.warned(document, "port[0].mtu", "1550 is more than the device can: at most 1500")
        self.refused(document, 2, "port[0].mtu: 1550 is more than the device can: at most 1500")

    def test_filter_larger_than_memory(self):
        total = next(int(line.split()[1]) * 1024 for line in open("/proc/meminfo", encoding="ascii")
                     if line.startswith("MemTotal"))
        document = taps("left")
        document["filter"][0].update(window="10min", rate="%dpps" % (total * 2 / 3 / 600))
        self.warned(document, "filter[0]", "the filters need", "lower window, rate or workers")
        self.refused(document, 1, "the filters need")

    def test_interface_of_another_appliance(self):
        with self.start(taps("left"), by_name=True) as running:
            with self.telemetry(running):
                pass
            other = taps("left", run={"name": "other"})
            self.warned(other, "port[0].device", 'interface "left" is in use by another unecho')
            # It uses what it needs itself: a check before an upgrade passes.
            done = unecho("check", "--strict", self.config(taps("left")),
                          env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
            self.assertIn(ALL_HERE, done.stdout, done)
            self.assertIn(ALL_HERE, self.check(taps("right")).stdout)
        harness.wait_for(lambda: ALL_HERE in self.check(taps("left")).stdout, "the end of its use")

    def test_interface_of_another_appliance_beside_one_that_was_killed(self):
        with self.start(taps("left"), by_name=True) as running:
            with self.telemetry(running):
                pass
            running.send(signal.SIGKILL)
            running.finish()
        self.assertEqual(len(list(self.folder.glob("dpdk/host-test/dpdk_telemetry.v2"))), 1)
        with self.start(taps("left", run={"name": "other"}), by_name=True) as running:
            with self.telemetry(running):
                pass
            done = unecho("check", self.config(taps("left")),
                          env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
            self.assertIn('interface "left" is in use by another unecho', done.stdout, done)

    def test_interface_that_is_down_or_merges_packets(self):
        for name, change, back, word in (
                ("left", "ip link set left down", "ip link set left up", "ip link set left up"),
                ("right", "ethtool -K right gro on", "ethtool -K right gro off", "gro off lro off")):
            self.addCleanup(subprocess.run, back.split(), check=True)
            subprocess.run(change.split(), check=True)
            self.warned(taps(name), "port[0].device", 'interface "%s"' % name, word)
            subprocess.run(back.split(), check=True)
            self.assertIn(ALL_HERE, self.check(taps(name)).stdout)

    def test_no_hugepages(self):
        if any(int(path.read_text()) for path in
               pathlib.Path("/sys/kernel/mm/hugepages").glob("*/nr_hugepages")):
            self.skipTest("this machine has hugepages")
        document = taps("left", eal={"args": []})
        done = self.check(document, "--strict")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"\nnote: \S+: eal.args: .*no hugepages.* as with --no-huge;.*\n"
                                      + ALL_HERE)


class Init(E2eTest):
    def init(self, *arguments, **options):
        return unecho("init", *arguments, cwd=self.folder, **options)

    def test_writes_what_check_accepts(self):
        for arguments in (("--tap", "eth1", "--tap", "eth2", "--tool", "eth3"),
                          ("--link", "eth1,eth2", "--window", "5ms", "--rate", "2Mpps"),
                          ("--link", "eth1,eth2", "--driver", "af_xdp"),
                          ("--tap", "0000:3b:00.0", "--tool", "eth3")):
            with self.subTest(arguments):
                done = self.init("first.toml", "--force", *arguments)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done)
                self.assertIn("unecho check first.toml", done.stdout)
                checked = unecho("check", "first.toml", cwd=self.folder)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked)
                self.assertEqual(self.init("-", *arguments).stdout.replace("unecho.toml", "first.toml"),
                                 (self.folder / "first.toml").read_text().replace("unecho.toml",
                                                                                  "first.toml"))

    def test_never_overwrites_without_force(self):
        link = ("--link", "eth1,eth2")
        self.assertEqual(self.init(*link).returncode, 0)
        before = (self.folder / "unecho.toml").read_text()
        done = self.init("--link", "eth3,eth4")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("unecho.toml is there already; --force", done.stderr)
        self.assertEqual((self.folder / "unecho.toml").read_text(), before)
        (self.folder / "dangling").symlink_to("nowhere")
        self.assertEqual(self.init("dangling", *link).returncode, 2)
        self.assertFalse((self.folder / "nowhere").exists())
        self.assertEqual(self.init("--force", "--link", "eth3,eth4").returncode, 0)
        self.assertIn("iface=eth3", (self.folder / "unecho.toml").read_text())

    def test_refusals_are_one_line(self):
        for arguments, word in (((), "which interfaces?"), (("--tap", "eth1"), "--tool IF"),
                                (("--link", "eth1"), "two interfaces"),
                                (("--link", "eth1,eth1"), "there twice"),
                                (("--link", "eth1,eth2", "--tap", "eth3"), "leave out one"),
                                (("--tap", 'a",b', "--tool", "eth1"), "is no interface"),
                                (("--link", "eth1,eth2", "--window", "5"), "--window"),
                                (("--link", "eth1,eth2", "--window", "0s"), "allowed: 1us to 1h"),
                                (("--link", "eth1,eth2", "--rate", "0.5pps"), "1pps to 1Gpps"),
                                (("--link", "eth1,eth2", "--window", "99h"), "allowed: 1us to 1h"),
                                (("none/x.toml", "--link", "eth1,eth2"), "none/x.toml"),
                                (("/dev/null/x.toml", "--link", "eth1,eth2"), "Not a directory")):
            with self.subTest(arguments):
                done = self.init(*arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def answers(self, text, *arguments):
        """Type the answers on a terminal; return what it shows, and the exit status."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execv(UNECHO, ["unecho", "init", *arguments])
        os.write(terminal, text.encode())
        shown = b""
        try:
            while select.select([terminal], [], [], harness.PATIENCE)[0]:
                shown += os.read(terminal, 4096)
        except OSError:  # the program has ended
            pass
        os.close(terminal)
        return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def test_asks_on_a_terminal_until_the_answers_are_allowed(self):
        shown, status = self.answers("3\n1\neth1 eth1\neth1, eth2\neth2\neth3\nsoon\n7ms\n\n")
        self.assertEqual(status, 0, shown)
        for part in ("allowed: 1 or 2", "there twice", "unecho check unecho.toml"):
            self.assertIn(part, shown)
        text = (self.folder / "unecho.toml").read_text()
        for part in ("iface=eth1", "iface=eth2", 'name = "tool"', 'window = "7ms"', 'rate = "1Mpps"'):
            self.assertIn(part, text)
        self.assertEqual(unecho("check", "unecho.toml", cwd=self.folder).returncode, 0)

    def test_asks_only_for_what_no_option_says(self):
        shown, status = self.answers("2\neth1, eth2\n", "--window", "7ms", "--rate", "2Mpps")
        self.assertEqual(status, 0, shown)
        self.assertNotIn("(the window)", shown)
        text = (self.folder / "unecho.toml").read_text()
        for part in ("iface=eth2", 'window = "7ms"', 'rate = "2Mpps"'):
            self.assertIn(part, text)
        shown, status = self.answers("", "--force", "--window", "2h")
        self.assertEqual(status, 2, shown)
        self.assertNotIn("What is it for?", shown)

    def test_writes_nothing_when_the_answers_end(self):
        shown, status = self.answers("2\n\x04")
        self.assertEqual(status, 1, shown)
        self.assertIn("nothing was written", shown)
        self.assertFalse((self.folder / "unecho.toml").exists())


class Words(E2eTest):
    def test_misspelt_options_are_named(self):
        for arguments, said in ((("--hlep",), '--hlep is no option; did you mean "--help"?'),
                                (("run", "a.toml", "--no-huge"), "unecho run CONFIG -- --no-huge"),
                                (("help", "pcpa"), 'did you mean "pcap"?')):
            done = unecho(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_help_and_version(self):
        self.assertEqual(unecho("help").stdout, unecho("--help").stdout)
        for command in ("pcap", "run", "init", "help"):
            self.assertEqual(unecho("help", command).stdout, unecho(command, "--help").stdout)
            self.assertIn("\nExamples:\n", unecho("help", command).stdout)
        self.assertEqual(unecho("version").stdout, unecho("--version").stdout)
        self.assertRegex(unecho("version").stdout,
                         r"^unecho [0-9.]+, commit \S+\nDPDK [0-9.]+.*\nLinux \S+ \S+\nfilter kernels up to \w+\n$")
        nothing = unecho()
        self.assertEqual((nothing.returncode, nothing.stdout), (2, ""))
        self.assertIn("unecho help COMMAND", nothing.stderr)


if __name__ == "__main__":
    harness.main()
