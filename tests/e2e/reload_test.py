# SPDX-License-Identifier: BSD-3-Clause
"""A running appliance takes over another configuration from its file: by command, by signal, under
load, and not at all if anything is wrong."""
import os
import signal

import harness
from harness import E2eTest, MS, PCAPS, toml, wait_for

RELOADS = 60


def rss_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


class ReloadTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "box.toml"

    def write(self, **changes):
        """Packets arrive as fast as they are taken, always the same ones."""
        fields = {"window": "20ms", "engine": "line", "rate": "200kpps"}
        fields.update(changes.pop("filter", {}))
        document = {
            "port": [{"name": "in", "device": "net_pcap0,rx_pcap=%s,infinite_rx=1"
                      % (PCAPS / "edges.pcap")},
                     {"name": "tool", "device": "net_null0,no-rx=1"},
                     {"name": "aside", "device": "net_null1,no-rx=1"}],
            "filter": [{"name": "echo", **fields}],
            "route": [{"name": "all", "from": ["in"], "to": "tool", "filter": "echo",
                       "on_echo": "aside", **changes.pop("route", {})}],
            "run": {"name": "box"}}
        document.update(changes)
        self.path.write_text(toml(document))

    def reload(self, *arguments):
        done = harness.unecho("reload", *arguments, env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)))
        return done.returncode, done.stdout, done.stderr

    def settled(self, telemetry):
        """Return once no reload is underway: a dry run of an unchanged file says so."""
        wait_for(lambda: self.reload("--dry-run")[1] == "nothing changes\n", "the end of warming")
        return telemetry.ask("/unecho/filters,0")

    def test_takes_over_what_the_file_says(self):
        self.write()
        with self.start(self.path, "--json") as running, self.telemetry(running) as telemetry:
            before = telemetry.ask("/unecho/counters")
            self.assertEqual(self.reload(), (0, "nothing changes\n", ""))
            self.write(filter={"window": "30ms"}, route={"on_echo": "aside"})
            status, dry, _ = self.reload("--dry-run")
            self.assertEqual(status, 0)
            self.assertIn('filter "echo" window: "20ms" -> "30ms" (warmed)\n', dry)
            self.assertEqual(telemetry.ask("/unecho/filters,0")["window_ns"], 20 * MS)
            self.assertEqual(self.reload(), (0, dry, ""))
            self.assertEqual(self.settled(telemetry)["window_ns"], 30 * MS)
            # From now on echoes are diverted; counters continue.
            self.write(filter={"window": "30ms"}, route={"on_echo": "drop", "to": "aside"},
                       port=[{"name": "in", "device": "net_pcap0,rx_pcap=%s,infinite_rx=1"
                              % (PCAPS / "edges.pcap")},
                             {"name": "tool", "device": "net_null0,no-rx=1"},
                             {"name": "aside", "device": "net_null1,no-rx=1"}])
            status, _, problems = self.reload()
            self.assertEqual(status, 1)
            self.assertIn('port "tool" is used by no route', problems)
            after = telemetry.ask("/unecho/counters")
            self.assertGreater(after["received"], before["received"])
            running.interrupt()
            report = self.report_of(running.finish())
        self.assertEqual(report["totals"]["in_flight"], 0)
        self.assertIn("reload", [event["kind"] for event in report["events"]])

    def test_a_root_stays_what_it_was_at_the_start(self):
        """The store's thread has that secret, password and bound; other keys change beside it."""
        files = {name: self.folder / name for name in ("secret", "password")}
        for path, text in zip(files.values(), ("01" * 32, "word")):
            path.write_text(text + "\n")
            path.chmod(0o600)

        def write(**fields):
            self.write(filter={"key": "flow", "first": 5, "window": "1s", "rate": "10kpps", "root": {
                "redis": ["127.0.0.1:1"], "flows": 1000, "user": "me",
                **{name + "_file": str(path) for name, path in files.items()}}, **fields})
        write()
        with self.start(self.path, "--json") as running, self.telemetry(running) as telemetry:
            for name, text in (("secret", "02" * 32), ("password", "another")):
                before = files[name].read_text()
                files[name].write_text(text + "\n")
                write(rate="12kpps")
                status, _, problems = self.reload()
                self.assertEqual(status, 1)
                self.assertIn("filter[0].root.%s_file: what is in it" % name, problems)
                self.assertNotIn(text, problems)
                files[name].write_text(before)
            write(max_false_drop=1e-9)
            status, _, problems = self.reload()
            self.assertEqual(status, 1)
            self.assertIn('filter "echo" max_false_drop', problems)
            write(rate="12kpps")
            self.assertEqual(self.reload()[0], 0)
            self.assertEqual(self.settled(telemetry)["root"]["name"], "echo")
            running.interrupt()
            self.report_of(running.finish())

    def test_refuses_with_everything_that_is_wrong_and_goes_on(self):
        self.write()
        with self.start(self.path, "--json", by_name=True) as running, \
                self.telemetry(running) as telemetry:
            self.write(filter={"window": "8", "engine": "no"})
            status, out, problems = self.reload("box")
            self.assertEqual((status, out), (1, ""))
            self.assertIn("goes on as it was", problems)
            self.assertIn("filter[0].window", problems)
            self.assertIn("filter[0].engine", problems)
            self.write(workers={"burst": 16}, run={"name": "box", "mbufs": 65535})
            status, _, problems = self.reload()
            self.assertEqual(status, 1)
            self.assertIn("workers.burst: 32 -> 16 needs a restart", problems)
            self.assertIn("run.mbufs: none -> 65535 needs a restart", problems)
            os.remove(self.path)
            self.assertEqual(self.reload()[0], 1)
            self.assertEqual(telemetry.ask("/unecho/filters,0")["window_ns"], 20 * MS)
            self.assertEqual(self.reload("other")[0], 1)
            running.interrupt()
            self.report_of(running.finish())
        self.assertEqual(self.reload()[0], 1, "nobody runs")

    def test_many_times_by_a_signal_under_load(self):
        """Each reload is warmed up; all packets are accounted for at every reading."""
        self.write()
        with self.start(self.path, "--json") as running, self.telemetry(running) as telemetry:
            sizes = []
            for number in range(RELOADS):
                window = "20ms" if number % 2 else "25ms"
                self.write(filter={"window": window})
                running.send(signal.SIGHUP)
                wanted = (20 if number % 2 else 25) * MS
                last = {"received": 0}

                def adopted():
                    nonlocal last
                    counters = telemetry.ask("/unecho/counters")
                    self.assert_conserved(counters)
                    self.assertGreaterEqual(counters["received"], last["received"])
                    last = counters
                    return telemetry.ask("/unecho/filters,0")["window_ns"] == wanted
                wait_for(adopted, "window of %s, the %dth time" % (window, number))
                sizes.append(rss_kib(running.pid()))
            self.settled(telemetry)
            running.interrupt()
            report = self.report_of(running.finish())
        self.assertEqual(report["reasons"]["tx_lost"], 0)
        # Memory for warming up is released: no more is in use than at the tenth reload.
        self.assertLess(max(sizes[-10:]), max(sizes[5:20]) + 4096, sizes)

    def test_of_several_says_which_one(self):
        self.write()
        with self.start(self.path, by_name=True) as one:
            self.telemetry(one).__exit__()
            other = self.folder / "fox.toml"
            other.write_text(self.path.read_text().replace('"box"', '"fox"'))
            with self.start(other, by_name=True) as second:
                wait_for(lambda: second.alive() and self.reload("fox")[0] == 0, "the second one")
                status, _, problems = self.reload()
                self.assertEqual(status, 1)
                self.assertIn("say which one", problems)
                second.interrupt()
                second.finish()
            one.interrupt()
            one.finish()


if __name__ == "__main__":
    harness.main()
