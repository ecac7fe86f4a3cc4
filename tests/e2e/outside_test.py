#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Input from outside neither stops, blocks nor misleads unecho: folders and links of other users,
blocking files, closed terminals, full disks, awkward names."""
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess

import harness
from harness import PCAPS, E2eTest, toml, unecho, wait_for

UNECHO = os.environ.get("UNECHO_BIN", "")
SOMEBODY = 12345
COMMANDS = ("run", "check", "size", "pcap", "capture", "analyze", "serve", "reload", "status", "init",
            "help", "version")


def idle(**changes):
    """Return an appliance that waits for packets that never arrive."""
    return {"port": [{"name": "in", "device": "net_null0,no-rx=1"},
                     {"name": "tool", "device": "net_null1,no-rx=1"}],
            "filter": [{"name": "echo", "window": "20ms", "rate": "10kpps"}],
            "route": [{"from": ["in"], "to": "tool", "filter": "echo"}],
            "run": {"name": "box"}, **changes}


class Printed(E2eTest):
    def test_answers_that_find_no_room_are_failures(self):
        lines = [("--help",), ("--version",), ("help",), ("version",), *((name, "--help") for name in COMMANDS),
                 ("size", "--window", "50ms", "--rate", "1Mpps")]
        for line in lines:
            with self.subTest(line=line), open("/dev/full", "w", encoding="ascii") as full:
                done = unecho(*line, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, "unecho: standard output: cannot be written: "
                                              "No space left on device\n")
                self.assertEqual(unecho(*line).returncode, 0)


class Memory(E2eTest):
    """[run] lock_memory, by the kernel's own account."""
    IPC_LOCK = 14  # of capabilities(7)
    LIMITED = ("prlimit", "--memlock=65536:65536")
    WITHOUT_RIGHT = ("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock")

    def test_memory_is_locked_if_it_is_asked_for(self):
        rights = int(re.search(r"CapEff:\s+(\w+)", pathlib.Path("/proc/self/status").read_text())[1], 16)
        if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY \
                and not rights >> self.IPC_LOCK & 1:
            self.skipTest("cannot lock memory")
        for lock in (False, True):
            running = self.start(idle(run={"name": "box", "lock_memory": lock}))
            with running, self.telemetry(running):
                status = pathlib.Path("/proc/%d/status" % running.pid()).read_text()
                locked = int(re.search(r"VmLck:\s+(\d+) kB", status)[1])
                # DPDK may lock pages of its own.
                self.assertEqual(locked >= 512 << 10, lock, status)

    def test_memory_that_cannot_be_locked_is_an_error(self):
        if os.geteuid() != 0:
            self.skipTest("cannot give up a right")
        running = self.start(idle(run={"name": "box", "lock_memory": True}),
                             wrapper=(*self.LIMITED, *self.WITHOUT_RIGHT))
        with running:
            done = running.finish()
        self.assertEqual(done.status, 1, done)
        self.assertRegex(done.err, r"run\.lock_memory: memory cannot be locked: .*; allowed: with "
                                   r"CAP_IPC_LOCK or without a limit .*, or false")


class Names(E2eTest):
    """File names that begin with a dash, or contain characters that separate arguments."""
    NAMES = ("-in.pcap", "a,b.pcap", "a=b.pcap", "a,b=c,[d.pcap", "]=,(.pcap")

    def test_files_behind_two_dashes(self):
        shutil.copy(PCAPS / "one-link.pcap", self.folder / "-in.pcap")
        (self.folder / "-box.toml").write_text(toml(idle()))
        for line in (("analyze", "--", "-in.pcap"), ("pcap", "--dry-run", "--", "-in.pcap"),
                     ("check", "--", "-box.toml")):
            done = unecho(*line, cwd=self.folder)
            self.assertEqual((done.returncode, line), (0, line), done)

    def test_what_analyze_recommends_runs(self):
        for name in self.NAMES:
            with self.subTest(name=name):
                shutil.copy(PCAPS / "two-taps-a.pcap", self.folder / name)
                config = self.folder / "box.toml"
                done = unecho("analyze", "--toml", config, "--", name, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("rx_pcap=" + name, config.read_text())
                self.assertEqual(unecho("check", config, cwd=self.folder).returncode, 0)
                report = self.report(config)
                self.assertEqual(report["totals"]["received"], 2392)
                self.assertEqual(len(harness.frames_of(self.folder / "unecho-out.pcap")),
                                 report["totals"]["forwarded"])


class Places(E2eTest):
    """The folder to which DPDK writes belongs to this user alone, or unecho does not start."""

    def refused(self, runtime, *needed, wrapper=()):
        """Refused by one line, and nothing in the folder was created or changed."""
        config = self.folder / "box.toml"
        config.write_text(toml(idle(run={"name": "box", "stop_when_idle": "100ms"})))
        before = self.listing(runtime)
        done = subprocess.run(
            [*wrapper, UNECHO, "run", str(config), "--", *harness.EAL_ARGS], text=True,
            capture_output=True, check=False, timeout=60, cwd="/", stdin=subprocess.DEVNULL,
            env=dict(os.environ, RUNTIME_DIRECTORY=str(runtime)))
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in ("runtime folder %s/dpdk/box: " % runtime, "set RUNTIME_DIRECTORY", *needed):
            self.assertIn(text, done.stderr)
        self.assertEqual(self.listing(runtime), before)

    @staticmethod
    def listing(folder):
        return sorted((str(path), path.lstat().st_mtime_ns if path.is_symlink() or path.is_file() else 0)
                      for path in pathlib.Path(folder).rglob("*"))

    def test_one_that_is_missing_is_named(self):
        missing = self.folder / "missing" / "more"
        self.refused(missing, "there is no folder %s;" % missing.parent)
        # It would not contain anything.
        config = self.folder / "box.toml"
        config.write_text(toml(idle(run={"name": "box", "stop_when_idle": "100ms"})))
        done = unecho("run", config, "--", *harness.EAL_ARGS, "--no-shconf", "--no-telemetry",
                      env=dict(os.environ, RUNTIME_DIRECTORY=str(missing)))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = unecho("run", config, "--", *harness.EAL_ARGS,
                      env=dict(os.environ, RUNTIME_DIRECTORY=str(missing.parent)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(missing.parent.stat().st_mode & 0o7777, 0o700)

    def test_what_others_may_write_to_is_refused(self):
        for below in ("", "dpdk", "dpdk/box"):
            runtime = self.folder / ("open-" + below.replace("/", "-"))
            (runtime / below).mkdir(parents=True)
            (runtime / below).chmod(0o777)
            self.refused(runtime, "others may write to %s" % (runtime / below))
            (runtime / below).chmod(0o770)
            self.refused(runtime, "others may write to %s" % (runtime / below))

    def test_a_link_within_a_folder_of_ours_is_followed(self):
        (self.folder / "real").mkdir()
        (self.folder / "link").symlink_to("real")
        self.report(idle(run={"name": "box", "stop_when_idle": "100ms"}))
        config = self.folder / "box.toml"
        config.write_text(toml(idle(run={"name": "box", "stop_when_idle": "100ms"})))
        done = unecho("run", config, "--", *harness.EAL_ARGS,
                      env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder / "link")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "real/dpdk/box").is_dir())

    def test_what_others_made_first_is_refused(self):
        """The folder is in /tmp if XDG_RUNTIME_DIR is not set, so others can make it first."""
        if os.geteuid() != 0:
            self.skipTest("cannot make files of others")
        victim = self.folder / "thesis"
        victim.write_text("of three years\n")
        shared = self.folder / "tmp"
        for number, make in enumerate((
                lambda base: (base / "dpdk/box").mkdir(parents=True),
                lambda base: (base / "dpdk").symlink_to(self.folder),
                lambda base: ((base / "dpdk").mkdir(), (base / "dpdk").chmod(0o755),
                              (base / "dpdk/box").symlink_to(self.folder)),
                lambda base: ((base / "dpdk/box").mkdir(parents=True),
                              (base / "dpdk/box/config").symlink_to(victim)))):
            base = shared / str(number)
            base.mkdir(parents=True)
            base.chmod(0o1777)
            make(base)
            for path in base.rglob("*"):
                os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
            who = "user %d" % SOMEBODY
            self.refused(base, str(base / "dpdk"), who)
        self.assertEqual(victim.read_text(), "of three years\n")

    def test_an_output_is_not_written_through_links_of_others(self):
        if os.geteuid() != 0:
            self.skipTest("cannot make files of others")
        victim = self.folder / "thesis"
        victim.write_text("of three years\n")
        shared = self.folder / "tmp"
        shared.mkdir()
        shared.chmod(0o1777)
        (shared / "out.pcap").symlink_to(victim)
        os.chown(shared / "out.pcap", SOMEBODY, SOMEBODY, follow_symlinks=False)
        result = self.run_unecho(harness.replay(
            [harness.port("in", 0, rx_pcap=PCAPS / "one-link.pcap"),
             harness.port("out", 1, tx_pcap=shared / "out.pcap")],
            [harness.filter_("f", "50ms")], [{"from": ["in"], "to": "out", "filter": "f"}]))
        self.assertEqual(result.status, 2, result)
        self.assertIn("is a symbolic link that another user may have put into", result.err)
        self.assertEqual(victim.read_text(), "of three years\n")


class Blocked(E2eTest):
    """A configuration that can no longer be read."""

    def test_a_pipe_is_not_read_and_a_stop_is_not_held_up(self):
        config = self.folder / "box.toml"
        config.write_text(toml(idle()))
        environment = dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))
        with self.start(config, "--json") as running, self.telemetry(running) as telemetry:
            config.unlink()
            os.mkfifo(config)
            done = unecho("reload", env=environment)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("is not a regular file; a reload reads nothing else", done.stderr)
            running.send(signal.SIGHUP)
            wait_for(lambda: any("is not a regular file" in event["text"] for event in
                                 telemetry.ask("/unecho/events").values()), "the refusal")
            config.unlink()
            config.write_text(toml(idle(filter=[{"name": "echo", "window": "30ms",
                                                 "rate": "10kpps"}])))
            self.assertEqual(unecho("reload", env=environment).returncode, 0)
            config.unlink()
            os.mkfifo(config)
            running.send(signal.SIGHUP)
            running.send(signal.SIGTERM)
            self.report_of(running.finish())

    def test_a_start_reads_a_pipe(self):
        done = subprocess.run([UNECHO, "check", "/dev/stdin"], input=toml(idle()), text=True,
                              capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done)


class Terminals(E2eTest):
    def run_in_terminal(self, use):
        """Call use(process, master) while an appliance runs in its own session and terminal."""
        config = self.folder / "box.toml"
        config.write_text(toml(idle()))
        pid, master = pty.fork()
        if pid == 0:
            os.environ["RUNTIME_DIRECTORY"] = str(self.folder)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.execv(UNECHO, [UNECHO, "run", str(config), "--", *harness.EAL_ARGS])
        try:
            self.telemetry().__exit__()
            use(pid, master)
            found = []

            def ended():
                done, status = os.waitpid(pid, os.WNOHANG)
                found.append(status)
                return done == pid
            wait_for(ended, "the end", 60)
            self.assertEqual(os.waitstatus_to_exitcode(found[-1]), 0)
            pid = None
        finally:
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def test_closing_the_terminal_stops_what_runs_in_it(self):
        self.run_in_terminal(lambda pid, master: os.close(master))


class Waiting(E2eTest):
    """A reload that waits for another one, whose filter warms up as long as packets arrive."""

    def write(self, window, **fields):
        (self.folder / "box.toml").write_text(toml(idle(
            port=[{"name": "in", "device": "net_pcap0,rx_pcap=%s,infinite_rx=1"
                   % (PCAPS / "edges.pcap")}, {"name": "tool", "device": "net_null0,no-rx=1"}],
            filter=[{"name": "echo", "window": window, "rate": "200kpps", **fields}])))

    def reload(self, *arguments):
        return unecho("reload", *arguments,
                      env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))

    def test_tells_what_became_of_it(self):
        self.write("8s")
        with self.start(self.folder / "box.toml", "--json") as running, \
                self.telemetry(running) as telemetry:
            self.write("6s")
            self.assertEqual(self.reload().returncode, 0)  # its filter warms up
            # Only when its turn comes it is known to need a restart.
            good = (self.folder / "box.toml").read_text()
            (self.folder / "box.toml").write_text(good + "[workers]\nburst = 16\n")
            soon = self.reload("--no-wait")
            self.assertEqual((soon.returncode, soon.stderr), (0, ""))
            self.assertIn("it waits", soon.stdout)
            later = self.reload()
            self.assertEqual((later.returncode, later.stdout), (1, ""))
            self.assertIn("it waits", later.stderr)
            self.assertIn("workers.burst: 32 -> 16 needs a restart", later.stderr)
            self.assertEqual(telemetry.ask("/unecho/reload,0")["accepted"], 0)
            self.assertEqual(telemetry.ask("/unecho/reload,999")["accepted"], 0)
            # If unecho ends meanwhile, the reload has failed.
            self.write("8s")
            self.assertEqual(self.reload().returncode, 0)
            self.write("6s")
            with subprocess.Popen([UNECHO, "reload"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.PIPE,
                                  env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))) as waits:
                self.assertIn("it waits", waits.stderr.readline())
                running.interrupt()
                self.report_of(running.finish())
                self.assertIn("it is not known what became of the reload", waits.stderr.read())
                self.assertEqual(waits.wait(60), 1)


if __name__ == "__main__":
    harness.main()
