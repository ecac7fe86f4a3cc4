#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The fault drill: faults in two running appliances, one after the other. For each, the page of
`unecho serve`, `unecho status --check` and Prometheus say within a minute what it is, and all three
are quiet within a minute after its end. UNECHO_DRILL_TABLE names a file for the table of
docs/fault-drill.md, UNECHO_DRILL_PICTURES a folder for pictures of the page in each fault."""
import collections
import contextlib
import math
import os
import pathlib
import re
import signal
import struct
import time

import wire
from held_thread import HeldThread, threads_of
from steady_sender import SteadySender
from wire import Host, harness

import browser  # noqa: E402  these are of tests/e2e
import monitored  # noqa: E402
import prometheus_test  # noqa: E402
import redis_cluster  # noqa: E402

TABLE = os.environ.get("UNECHO_DRILL_TABLE") and pathlib.Path(os.environ["UNECHO_DRILL_TABLE"])
PICTURES = os.environ.get("UNECHO_DRILL_PICTURES") and \
    pathlib.Path(os.environ["UNECHO_DRILL_PICTURES"])
WIDTH = 1280
LOOKS = [(width, dark) for width in (1400, 390) for dark in (False, True)]
HEADING = "## The drill"
# A pattern: only faults with such a name.
CHOSEN = os.environ.get("UNECHO_DRILL_FAULTS", "")
PROMISE = 60  # seconds
# How long to wait for what is late, so that the table says how late.
PATIENCE = 150
SHIFTED_CLOCK = os.environ.get("UNECHO_SHIFTED_CLOCK", "")
ALERTS = prometheus_test.MONITORING / "alerts.yml"
DISPLAYS = ("page", "check", "alert")
# Threads of DPDK.
WORKER = "(rte|lcore|dpdk)-worker"
STATUS = {"ok": 0, "warning": 1, "critical": 2}
# What --check says of an appliance that does not run.
UNKNOWN = "^UNECHO UNKNOWN - no appliance is called"
# In a page with several appliances.
ANSWER = """(async () => {
  location.hash = "#appliance=%s";
  await new Promise(done => setTimeout(done, 50));
  return {headline: document.querySelector("h1").textContent,
          rules: [...document.querySelectorAll("#answer .lead a:not([hidden]), #findings a")]
            .map(each => each.textContent)};
})()"""

# headline, status, check: what differs from what the rule says; check is a pattern. before, after:
# what all displays say before it is injected and after it is mended.
Fault = collections.namedtuple(
    "Fault", "name where rule inject mend headline status check before told after",
    defaults=(None, None, None, "is_quiet", "says", "is_quiet"))


def rules_of_alerts():
    """Return {rule: (headline, severity)}."""
    return {rule: (headline, severity) for rule, severity, headline in re.findall(
        r'unecho_problem\{rule="([\w-]+)"\} == 1\n(?: +for: .*\n)? +labels: \{severity: (\w+)\}\n'
        r' +annotations:\n +summary: ".*\{\{ end \}\}: (.*)"', ALERTS.read_text())}


def alert_of(rule):
    return "Unecho" + "".join(word.capitalize() for word in rule.split("-"))


class Clocks:
    """When each display first said so, in seconds since the beginning."""

    def __init__(self):
        self.begin, self.first = time.monotonic(), {}

    def passed(self):
        return time.monotonic() - self.begin

    def note(self, at, said, lasting):
        """Return whether all say so at once. lasting: only what stays counts."""
        for display, yes in said.items():
            if yes:
                self.first.setdefault(display, at)
            elif lasting:
                self.first.pop(display, None)
        return all(said.values())


@wire.needs_namespaces
@wire.needs("prometheus", "redis-server", "redis-cli", "tc")
class Drill(monitored.MonitorTest):
    def setUp(self):
        super().setUp()
        self.rules = rules_of_alerts()
        self.assertGreater(len(self.rules), 20)
        self.hosts = {name: Host(self, number) for number, name in enumerate(
            ("tap-a", "tap-b", "tool", "tap", "span", "probe", "ids", "in", "out"), 1)}
        self.expected = self.folder / "expected"
        self.expected.mkdir()
        self.shift = self.folder / "shift"
        self.shift.write_bytes(bytes(8))
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        wire.run("mount", "-t", "tmpfs", "-o", "size=24M", "none", self.disk)
        self.addCleanup(wire.run, "umount", "-l", self.disk)
        self.running, self.rows, self.late = {}, [], []
        self.cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        self.cluster.nodes[0].ask("config", "set", "cluster-require-full-coverage", "no")
        self.secret = self.folder / "secret"
        self.secret.write_text(redis_cluster.SECRET + "\n")
        self.secret.chmod(0o600)

    # ---- appliances --------------------------------------------------------------------------

    def device(self, number, name):
        return {"name": name, "device": "net_af_packet%d,iface=%s,framecnt=4096,qdisc_bypass=0"
                                        % (number, self.hosts[name].outside)}

    def documents(self):
        # A stall is longer than any time slice of a busy machine.
        run = {"stall_threshold": "40ms"}
        return {
            "link": {
                "port": [self.device(n, name) for n, name in enumerate(("tap-a", "tap-b", "tool"))],
                "filter": [{"name": "echo", "window": "2s", "rate": "1kpps"}],
                "route": [{"from": ["tap-a", "tap-b"], "to": "tool", "filter": "echo"}],
                "run": run},
            "site": {
                "port": [self.device(n, name)
                         for n, name in enumerate(("tap", "probe", "span", "ids"))],
                "filter": [
                    {"name": "flows", "key": "flow-bidir", "first": 5, "window": "5s",
                     "rate": "2kpps", "root": {
                         "redis": [self.cluster.nodes[0].address], "secret_file": str(self.secret),
                         "flows": 100000, "timeout": "5s"}},
                    {"name": "pairs", "window": "2s", "rate": "1kpps", "on_full": "doubt"}],
                "route": [{"from": ["tap"], "to": "probe", "filter": "flows"},
                          {"from": ["span"], "to": "ids", "filter": "pairs"}],
                "run": run},
            "spare": {
                "port": [self.device(n, name) for n, name in enumerate(("in", "out"))],
                "filter": [{"name": "echo", "window": "2s", "rate": "1kpps"}],
                "route": [{"from": ["in"], "to": "out", "filter": "echo"}],
                "run": run},
        }

    def path_of(self, name):
        return self.expected / (name + ".toml")

    def write(self, name):
        self.path_of(name).write_text(harness.toml(self.documents()[name]))

    def preloaded(self):
        return {"LD_PRELOAD": SHIFTED_CLOCK, "UNECHO_CLOCK_FILE": str(self.shift)} \
            if SHIFTED_CLOCK else {}

    def wrapper(self):
        return ("env", *("%s=%s" % each for each in self.preloaded().items()))

    def begin(self, name):
        running = self.start(self.path_of(name), "--json", eal=harness.EAL_ARGS,
                             wrapper=self.wrapper(), by_name=True)
        self.running[name] = running
        self.addCleanup(running.__exit__)
        path = self.folder / "dpdk" / name / "dpdk_telemetry.v2"

        def answers():
            if not running.alive():
                raise AssertionError("%s ended early: %s" % (name, running.finish()))
            with harness.Telemetry(path) as telemetry:
                return telemetry.ask("/unecho/counters")
        harness.wait_for(answers, name)

    def kill(self, name, number=signal.SIGKILL):
        self.running[name].send(number)
        self.running[name].finish()

    def thread(self, name, pattern):
        pid = self.running[name].pid()
        found = [thread for comm, thread in threads_of(pid).items() if re.match(pattern, comm)]
        self.assertEqual(len(found), 1, threads_of(pid))
        return found[0]

    def hold(self, name, pattern, *times):
        thread = self.thread(name, pattern) if pattern else self.running[name].pid()
        self.held = HeldThread(thread, *times)
        self.addCleanup(self.held.release)
        return self.held

    # ---- displays ----------------------------------------------------------------------------

    def read_page(self, name):
        answer = self.chromium.evaluate(ANSWER % name)
        return answer["headline"], answer["rules"]

    def read_check(self, name):
        done = self.run_command("status", name, "--check",
                                environment={**self.environment(), **self.preloaded()})
        return done.status, done.out

    def read_alerts(self):
        """Return {appliance: its alerts that fire}; those of the server have none."""
        out = collections.defaultdict(set)
        for each in self.prometheus.query('ALERTS{alertstate="firing"}'):
            out[each["metric"].get("appliance", "")].add(each["metric"]["alertname"])
        return out

    def says(self, fault, alerts):
        """Return whether each display says what it is."""
        headline, severity = self.rules[fault.rule]
        shown, rules = self.read_page(fault.where)
        status, text = self.read_check(fault.where)
        named = [each for each in re.findall(r"\[([\w-]+)\]", text) if each in self.rules]
        check = fault.check or "^UNECHO %s - %s: " % (severity.upper(), fault.where)
        said = {"page": shown == (fault.headline or headline) and rules[:1] == [fault.rule],
                "check": bool(re.search(check, text)) and
                (fault.check is not None or named[:1] == [fault.rule]) and
                status == (STATUS[severity] if fault.status is None else fault.status),
                "alert": alert_of(fault.rule) in alerts[fault.where]}
        return said, (shown, rules, status, text, sorted(alerts[fault.where]))

    def is_quiet(self, fault, alerts):
        name = fault.where
        shown, rules = self.read_page(name)
        status, text = self.read_check(name)
        quiet = {"page": shown == "All is well." and not rules, "check": status == 0,
                 "alert": not alerts[name]}
        return quiet, (shown, rules, status, text, sorted(alerts[name]))

    def is_unknown(self, fault, alerts):
        name = fault.where
        state = self.server_.appliance(name)
        status, text = self.read_check(name)
        return ({"page": state is None and name not in self.chromium.evaluate(
                    "document.getElementById('appliances').textContent"),
                 "check": status == 3 and bool(re.search(UNKNOWN, text)),
                 "alert": not alerts[name]}, (state, status, text, sorted(alerts[name])))

    def server_is_dead(self, _, alerts):
        """The appliances do not need it."""
        shown = self.chromium.evaluate("document.querySelector('h1').textContent")
        status = self.read_check("link")[0]
        return ({"page": shown == "The server does not answer.", "check": status == 0,
                 "alert": "UnechoServerDown" in alerts[""]}, (shown, status, sorted(alerts[""])))

    def server_is_back(self, fault, alerts):
        quiet, seen = self.is_quiet(fault, alerts)
        return {**quiet, "alert": quiet["alert"] and not alerts[""]}, (seen, sorted(alerts[""]))

    # ---- the drill ---------------------------------------------------------------------------

    def exercise(self, fault):
        """Inject a fault, wait until all say what it is, mend it, and wait until all are quiet. A
        generator: between two readings others have their turn. It receives the alerts."""
        times, told = [], getattr(self, fault.told)
        for act, look in ((lambda: None, getattr(self, fault.before)), (fault.inject, told),
                          (fault.mend, getattr(self, fault.after))):
            act()
            clocks = Clocks()
            while True:
                alerts = yield
                at = clocks.passed()
                said, seen = look(fault, alerts)
                if clocks.note(at, said, look != told) or at > PATIENCE:
                    break
            times.append([clocks.first.get(display) for display in DISPLAYS])
            if look == told and PICTURES:
                self.take_pictures(fault)
            if not all(said.values()) or (len(times) > 1 and at > PROMISE):
                self.late.append("%s, %s: %s; all after %.1f s, at last: %s" % (
                    fault.name, ("before", "told", "quiet")[len(times) - 1], times[-1], at, seen))
                print("LATE", self.late[-1], flush=True)
        self.rows.append((fault, *times[1:]))
        print(self.row(self.rows[-1]), flush=True)

    def take_pictures(self, fault):
        """The page is not loaded again, as its server may be dead."""
        self.chromium.evaluate(ANSWER % fault.where)
        for width, dark in LOOKS:
            self.chromium.resize(width, dark=dark)
            self.chromium.evaluate("new Promise(done => setTimeout(done, 300))")
            self.chromium.screenshot(PICTURES / ("%s %d %s.png" % (
                fault.name, width, "dark" if dark else "light")))
        self.chromium.resize(WIDTH)

    def play(self, tracks):
        """Exercise the faults of each track in order, the tracks side by side."""
        def track(faults):
            for fault in faults:
                yield from self.exercise(fault)
        active = [track(faults) for faults in tracks if faults]
        for each in active:
            next(each)
        while active:
            alerts = self.read_alerts()
            for each in list(active):
                with contextlib.suppress(StopIteration):
                    each.send(alerts)
                    continue
                active.remove(each)
            time.sleep(0.3)

    # ---- faults ------------------------------------------------------------------------------

    def link(self, name, state):
        host = self.hosts[name]
        return lambda: host.run("ip", "link", "set", host.inside, state)

    def block_tool(self):
        """A queue of which the tool takes a byte a second."""
        wire.run("tc", "qdisc", "add", "dev", self.hosts["tool"].outside, "root", "tbf", "rate",
                 "8bit", "burst", 2000, "limit", 10_000_000)

    def free_tool(self):
        wire.run("tc", "qdisc", "del", "dev", self.hosts["tool"].outside, "root")

    def step_clock(self):
        (before,) = struct.unpack("=q", self.shift.read_bytes())
        with self.shift.open("r+b") as file:
            file.write(struct.pack("=q", before + 3 * harness.SECOND))

    def faults_of_link(self):
        taps, usual = self.taps, self.taps.change

        def of(name, rule, inject, mend, **more):
            return Fault(name, "link", rule, inject, mend, **more)

        def stream(name, rule, **mode):
            return of(name, rule, lambda: taps.change(**mode), usual)
        faults = [
            of("A tap has no link", "link-down", self.link("tap-a", "down"),
               self.link("tap-a", "up")),
            of("The tool is unplugged", "link-down", self.link("tool", "down"),
               self.link("tool", "up")),
            # The driver af_packet waits for room, and with it the worker.
            of("The tool takes no packet", "worker-silent", self.block_tool, self.free_tool),
            stream("Five times the planned rate", "window-short", rate=5000),
            stream("All taps are dark", "no-traffic", silent=[0, 1]),
            stream("A loop: each packet comes 40 times", "drop-share-implausible", rate=100,
                   times=40),
            stream("One tap is dark", "input-silent", silent=[1]),
            stream("The taps see different packets", "echoes-stopped", other=1),
            stream("Most copies are missing", "echo-share-changed", other=0.8),
        ]
        if SHIFTED_CLOCK:
            faults.append(of("The system's clock is set", "clock-stepped", self.step_clock,
                             lambda: None))
        return faults

    def faults_of_site(self):
        node = self.cluster.nodes[0]

        def of(name, rule, inject, mend, **more):
            return Fault(name, "site", rule, inject, mend, **more)

        def held(name, rule, thread, *times):
            return of(name, rule, lambda: self.hold("site", thread, *times),
                      lambda: self.held.release())
        return [
            of("The Redis node is gone", "root-unreachable", node.kill, self.restart_node),
            of("Half of the slots have no master", "root-unassigned",
               lambda: node.ask("cluster", "delslotsrange", 0, 8191),
               lambda: node.ask("cluster", "addslotsrange", 0, 8191)),
            of("Matches may be accidents", "doubts",
               lambda: self.site.change(rate=4000, share=20), self.site.change),
            held("A worker hangs", "worker-silent", WORKER, 1),
            held("A worker loses its CPU for 80 ms, often", "worker-stalled", WORKER, 0.08, 0.15),
            held("The control thread loses its CPU", "generations-late", None, 0.3, 0.1),
            of("The process is stopped", "down", lambda: self.running["site"].send(signal.SIGSTOP),
               lambda: self.running["site"].send(signal.SIGCONT),
               check="^UNECHO CRITICAL - site: it does not answer"),
            of("The process is killed", "down", lambda: self.kill("site"),
               lambda: self.begin("site"), headline="The appliance is gone.", status=3,
               check=UNKNOWN),
        ]

    def restart_node(self):
        node = self.cluster.nodes[0]
        node.start()
        node.ask("config", "set", "cluster-require-full-coverage", "no")

    def retire(self):
        self.path_of("spare").unlink()
        self.kill("spare", signal.SIGINT)

    def forget(self):
        done = self.run_command("serve", "--listen", "127.0.0.1:%d" % self.server_.port,
                                "--forget", "spare")
        self.assertEqual(done.status, 0, done)

    def fill_disk(self):
        with contextlib.suppress(OSError), (self.disk / "filler").open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        self.write("spare")
        self.begin("spare")

    def faults_of_spare(self):
        return [
            Fault("An expected appliance was never started", "spare", "absent",
                  lambda: self.write("spare"), lambda: self.begin("spare"), status=3,
                  check=UNKNOWN, before="is_unknown"),
            Fault("An appliance was retired", "spare", "down", self.retire, self.forget,
                  headline="The appliance is gone.", status=3, check=UNKNOWN,
                  after="is_unknown"),
            # The appliance is well, and does not know the server's disk.
            Fault("The disk of the server's history is full", "spare", "history-not-kept",
                  self.fill_disk, lambda: (self.disk / "filler").unlink(), status=0,
                  check="^UNECHO OK - spare: ", before="is_unknown"),
        ]

    def fault_of_server(self):
        def restart():
            self.server_ = self.stack.enter_context(self.server(
                *self.options, listen="127.0.0.1:%d" % self.server_.port, wrapper=self.wrapper()))
        return Fault("The server is killed", "link", "server-down",
                     lambda: os.kill(self.server_.pid, signal.SIGKILL), restart, status=0,
                     told="server_is_dead", after="server_is_back")

    def test_each_fault_is_told_alike_within_a_minute(self):
        for name in ("link", "site"):
            self.write(name)
            self.begin(name)
        self.taps = SteadySender(self, "taps", [self.hosts[tap] for tap in ("tap-a", "tap-b")])
        self.site = SteadySender(self, "site", [self.hosts[tap] for tap in ("tap", "span", "in")])
        self.options = ("--expect", "%s/" % self.expected, "--history", self.disk / "history")
        with contextlib.ExitStack() as self.stack:
            enter = self.stack.enter_context
            self.server_ = enter(self.server(*self.options, wrapper=self.wrapper()))
            self.prometheus = enter(prometheus_test.Prometheus(self.folder, self.server_.port,
                                                               ALERTS))
            self.chromium = enter(browser.Browser(browser.find()))
            self.chromium.open("http://%s:%d/" % (self.server_.host, self.server_.port), WIDTH)
            self.play(self.chosen([self.faults_of_link(), self.faults_of_site(),
                                   self.faults_of_spare()]))
            self.play(self.chosen([[self.fault_of_server()]]))
            for name in ("link", "site"):
                self.running[name].interrupt()
                result = self.running[name].finish()
                self.assertEqual(result.status, 0, result)
        if TABLE:
            self.write_table()
        self.assertEqual(self.late, [])
        if not CHOSEN:
            self.assertGreaterEqual(len(self.rows), 20)

    @staticmethod
    def chosen(tracks):
        return [[fault for fault in faults if re.search(CHOSEN, fault.name)] for faults in tracks]

    # ---- the table ---------------------------------------------------------------------------

    def row(self, row):
        fault, told, quiet = row
        severity = self.rules.get(fault.rule, ("", "critical"))[1]
        status = STATUS[severity] if fault.status is None else fault.status

        def text(times):
            return " / ".join("-" if each is None else "%d" % math.ceil(each) for each in times)
        return "| %s | [%s](runbook.md#%s) | %d | %s | %s |" % (
            fault.name, fault.rule, fault.rule, status, text(told), text(quiet))

    def write_table(self):
        """Rows of faults that were not chosen stay."""
        model = re.search(r"^Model name: +(.*)", wire.run("lscpu").stdout, re.M)[1]
        before, _, table = TABLE.read_text().partition(HEADING)
        rows = {row.split(" | ")[0]: row for row in
                [*re.findall(r"^\| .* \[.*", table, re.M), *map(self.row, self.rows)]}
        TABLE.write_text("\n".join((
            before + HEADING, "",
            "Seconds on %s with %d CPUs. Each cell has the page, `--check` and the alert."
            % (model, os.cpu_count()), "",
            "| fault | rule | `--check` exits with | told after | quiet after |",
            "|---|---|---|---|---|", *rows.values(), "")))


if __name__ == "__main__":
    if browser.find() is None:
        harness.skip("needs Chromium")
    harness.main()
