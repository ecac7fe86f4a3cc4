#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The name of a process, how clients find it by that name, and who may query it; telemetry with the
maximum number of ports, routes and filters."""
import grp
import os
import shutil
import stat
import subprocess
import unittest

import harness

def as_somebody(group, action):
    """Return action()'s result in a process of nobody who is in this group only, or the name of its
    error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(65534)
            answer = repr(action())
        except OSError as error:
            answer = type(error).__name__
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def nulls(count, **run):
    """Return a configuration of ports in a ring, each with a route to the next and its own
    filter."""
    numbers = range(count)
    return {"port": [{"name": "port-%d" % i, "device": "net_null%d,no-rx=1" % i,
                      "rx_descriptors": 64, "tx_descriptors": 64} for i in numbers],
            "filter": [{"name": "filter.%d" % i, "window": "1ms", "rate": "10kpps"}
                       for i in numbers],
            "route": [{"name": "route_%d" % i, "from": ["port-%d" % i],
                       "to": "port-%d" % ((i + 1) % count), "filter": "filter.%d" % i,
                       "on_echo": "pass"} for i in numbers],
            "run": run}


class Named(harness.E2eTest):
    def running(self, document, name="lab.toml"):
        path = self.folder / name
        path.write_text(harness.toml(document))
        running = self.start(path, by_name=True)
        self.addCleanup(running.__exit__)
        return running

    def refused(self, running, status, *words):
        result = running.finish()
        self.assertEqual((result.status, result.out), (status, ""), result)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        for word in words:
            self.assertIn(word, result.err)

    def end(self, running, said=""):
        running.interrupt()
        result = running.finish()
        self.assertEqual(result.status, 0, result)
        self.assertIn(said, result.err)

    def test_the_file_names_the_process_and_its_folder(self):
        running = self.running(nulls(2), "tap lab.toml")
        with self.telemetry(running) as telemetry:
            info = telemetry.ask("/unecho/info")
        self.assertEqual(info["name"], "tap_lab")
        self.assertTrue((self.folder / "dpdk" / "tap_lab" / "dpdk_telemetry.v2").is_socket())
        self.assertEqual(info["pid"], running.pid())
        self.end(running)

    def test_one_name_is_of_one_process_at_a_time(self):
        first = self.running(nulls(2, name="probe"), "one.toml")
        self.telemetry(first).__exit__()
        self.refused(self.running(nulls(2, name="probe"), "two.toml"), 1, '"probe"', "[run] name")
        second = self.running(nulls(2), "three.toml")
        harness.wait_for((self.folder / "dpdk/three/dpdk_telemetry.v2").is_socket, "the second")
        self.end(second)
        # With DPDK sharing nothing between processes, it would not notice.
        hidden = {**nulls(2, name="probe"), "eal": {"args": ["--no-shconf"]}}
        third = self.running(hidden, "four.toml")
        harness.wait_for((self.folder / "dpdk/probe/dpdk_telemetry.v2:1").is_socket, "the third")
        self.end(third, 'note: another process is named "probe" already')
        hidden["run"]["telemetry_group"] = grp.getgrall()[0].gr_name
        self.refused(self.running(hidden, "five.toml"), 1, '"probe"', "[run] name")
        self.end(first)

    def test_a_group_that_is_not_there_is_one_line(self):
        self.refused(self.running(nulls(2, telemetry_group="no-such-group")), 2,
                     "lab.toml: run.telemetry_group: ", '"no-such-group"', "getent group")
        self.assertFalse((self.folder / "dpdk").exists(), "nothing was started")
        done = harness.unecho("check", self.folder / "lab.toml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, 'warning: .*run.telemetry_group: .*"no-such-group"')

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_a_group_may_read_and_nobody_else(self):
        group = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, 65534))
        stranger = next(entry for entry in grp.getgrall()
                        if entry.gr_gid not in (0, 65534, group.gr_gid))
        self.folder.chmod(0o755)
        running = self.running(nulls(2, name="watched", telemetry_group=group.gr_name))
        self.telemetry(running).__exit__()
        folder = self.folder / "dpdk" / "watched"
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o750)
        self.assertEqual(folder.stat().st_gid, group.gr_gid)
        for path in folder.iterdir():
            mode = 0o660 if path.name == "unecho_telemetry.v2" else 0o600
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o666, mode, path)

        def ask(command, name="unecho_telemetry.v2"):
            with harness.Telemetry(folder / name) as telemetry:
                return telemetry.ask(command)
        self.assertEqual(as_somebody(group.gr_gid, lambda: ask("/unecho/info")["name"]), "'watched'")
        # The first would change the running configuration; another ends a process of DPDK 22.11.
        for command in ("/unecho/reload", "/unecho/reload,dry-run", "/eal/heap_info,-1", "/nothing"):
            self.assertEqual(as_somebody(group.gr_gid, lambda: ask(command)), "None", command)
        self.assertEqual(as_somebody(group.gr_gid, lambda: ask("/eal/params", "dpdk_telemetry.v2")),
                         "PermissionError")
        self.assertEqual(as_somebody(group.gr_gid, lambda: os.listdir(folder) != []), "True")
        self.assertEqual(as_somebody(stranger.gr_gid, lambda: ask("/unecho/info")), "PermissionError")
        self.assertEqual(as_somebody(stranger.gr_gid, lambda: os.listdir(folder.parent)),
                         "['watched']")
        # Commands find the socket by themselves; the user who runs it may still do everything.
        binary = shutil.copy(os.environ["UNECHO_BIN"], self.folder / "unecho")
        environment = dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))

        def command(*arguments, **user):
            done = subprocess.run([binary, *arguments], env=environment, text=True, check=False,
                                  capture_output=True, timeout=60, stdin=subprocess.DEVNULL, **user)
            return done.returncode, done.stdout + done.stderr
        member = {"user": 65534, "group": group.gr_gid, "extra_groups": []}
        status, told = command("status", "watched", **member)
        self.assertEqual((status, told.split()[:2]), (0, ["watched", "unecho"]), told)
        status, told = command("reload", "watched", **member)
        self.assertEqual((status, "allowed: its user and root" in told), (1, True), told)
        self.assertEqual(command("reload", "watched"), (0, "nothing changes\n"))
        self.end(running)
        self.assertFalse((folder / "unecho_telemetry.v2").exists())


if __name__ == "__main__":
    harness.main()
