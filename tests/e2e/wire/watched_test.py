#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Everything that displays an appliance, at once: two taps into a tool, `unecho serve` with the
page in Chromium and Debian's Prometheus, and `unecho status --watch` on a terminal. In the end all
agree with the final report of `unecho run`."""
import contextlib
import re
import shutil
import threading

import wire
from wire import Host, harness, udp_frame

import browser  # noqa: E402  these are of tests/e2e
import monitor_page_test as page_test  # noqa: E402
import monitored  # noqa: E402
import prometheus_test  # noqa: E402
import status_test  # noqa: E402

NAME = "link"
TAPS = ("tap-a", "tap-b")
ROUTE = "tap-a+tap-b>tool"
BURST = 300  # frames that a sender sends before it checks whether to continue


def rest_of(lines, head):
    """Return the words after these on the line that begins with them."""
    (found,) = [line.split() for line in lines if line.split()[:len(head.split())] == head.split()]
    return found[len(head.split()):]


def numbers_in(words):
    return [int(word.replace(",", "")) for word in words if re.fullmatch(r"[\d,]+", word)]


class Watching(monitored.MonitorTest):
    """All displays, side by side."""

    @contextlib.contextmanager
    def watchers(self):
        with self.server() as server, contextlib.ExitStack() as stack:
            self.server_ = server
            self.prometheus = stack.enter_context(prometheus_test.Prometheus(
                self.folder, server.port, prometheus_test.MONITORING / "alerts.yml"))
            self.chromium = stack.enter_context(browser.Browser(browser.find()))
            self.terminal = stack.enter_context(contextlib.closing(status_test.Terminal(
                ["status", "--watch", NAME], self.environment(), 160, 80)))
            self.chromium.open("http://%s:%d/" % (server.host, server.port), 1280)
            yield

    def figures(self):
        """Return the page's figures, by their path in the state."""
        return {path: float(value) for path, value, _ in self.chromium.evaluate(page_test.FIGURES)
                if value is not None}

    def screen(self):
        """Return the last complete screen."""
        self.terminal.read()
        drawn = status_test.screens(self.terminal.shown)
        return drawn[-1] if drawn else []

    def headline(self):
        return self.chromium.evaluate("document.querySelector('h1').textContent")

    def wait_for_all(self, received):
        """Wait until each display has seen so many packets."""
        def page():
            return self.figures().get("routes.0.received") == received
        for what, arrived in (
                ("the server", lambda: (self.server_.appliance(NAME) or {}).get("counters", {}).get(
                    "received") == received),
                ("the page", page),
                ("Prometheus", lambda: self.sample("unecho_received_packets_total") == received),
                ("the terminal", lambda: self.of_screen("received") == received)):
            harness.wait_for(arrived, "%d packets in %s" % (received, what))

    def of_screen(self, fate):
        for line in self.screen():
            found = re.match(r"  %s +\S+ +\S+(?: %%)? +([\d,]+) " % fate, line)
            if found:
                return int(found[1].replace(",", ""))
        return None

    def sample(self, metric, **labels):
        given = ",".join('%s="%s"' % each for each in labels.items())
        found = self.prometheus.query("%s{%s}" % (metric, given))
        return sum(float(each["value"][1]) for each in found) if found else None

    def state(self):
        return self.server_.appliance(NAME)

    # ---- agreement ---------------------------------------------------------------------------

    def check_page(self, state):
        expected = page_test.Expected(state, state)
        shown = {path: value for path, value in self.figures().items()
                 if not path.startswith(("now.", "workers.")) and not path.endswith(".shifts")}
        for path in ("routes.0.received", "routes.0.echoes", "filters.0.audit.false_drops.count",
                     "filters.0.audit.misses.count", "sum.lost", "filters.0.fill", "ports.0.lost"):
            self.assertIn(path, shown)
        for path, value in shown.items():
            self.assertAlmostEqual(value, expected(path), delta=abs(value) * 1e-9, msg=path)
        totals = self.chromium.evaluate(
            "[...document.querySelectorAll('#ports data[title]')].map(each => each.title)")
        for port in state["ports"]:
            for counter in ("rx_packets", "tx_packets"):
                if port[counter]:
                    self.assertIn("{:,}".format(port[counter]), totals)

    def check_prometheus(self, state):
        for fate in ("received", "forwarded", "diverted", "dropped", "in_flight"):
            ending = "" if fate == "in_flight" else "_total"
            self.assertEqual(self.sample("unecho_%s_packets%s" % (fate, ending)),
                             state["counters"][fate], fate)
        for reason, packets in state["routes"][0]["reasons"].items():
            self.assertEqual(self.sample("unecho_route_reason_packets_total", route=ROUTE,
                                         reason=reason), packets, reason)
        for port in state["ports"]:
            for counter in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes"):
                self.assertEqual(self.sample("unecho_port_%s_total" % counter, port=port["name"]),
                                 port[counter], (port["name"], counter))
        (filter_,) = state["filters"]
        for name, count in filter_["audit"]["counters"].items():
            self.assertEqual(self.sample("unecho_filter_audit_%s_total" % name, filter="echo"),
                             count, name)
        for metric, member in (("fill", "fill"), ("planned_fill", "planned_fill"),
                               ("insertions_total", "insertions")):
            self.assertEqual(self.sample("unecho_filter_" + metric), filter_[member], metric)
        self.assertAlmostEqual(self.sample("unecho_filter_generation_seconds"),
                               filter_["generation_ns"] / 1e9)

    def check_screen(self, state):
        lines = self.screen()
        for fate in ("received", "forwarded", "dropped"):
            self.assertEqual(self.of_screen(fate), state["counters"][fate], fate)
        self.assertEqual(self.of_screen("echo"), state["reasons"]["echo"])
        for port in state["ports"]:
            # rx/s, tx/s, rx packets, tx packets, lost
            self.assertEqual(numbers_in(rest_of(lines, port["name"])[2:5]),
                             [port["rx_packets"], port["tx_packets"],
                              port["rx_missed"] + port["rx_no_mbuf"]])
        self.assertEqual(numbers_in(rest_of(lines, ROUTE))[-1], state["routes"][0]["received"])
        audit = state["filters"][0]["audit"]
        text = "\n".join(lines)
        for what, member in (("false drops", "false_drops"), ("misses", "misses")):
            self.assertIn("%s: %d of %s," % (what, audit[member]["count"],
                                             "{:,}".format(audit[member]["of"])), text)

    def check_agreement(self):
        """Compare the server's state with all displays; return it."""
        state = self.state()
        self.assert_conserved(state["counters"])
        self.check_page(state)
        self.check_prometheus(state)
        self.check_screen(state)
        return state

    def check_report(self, state, report):
        self.assertEqual(report["totals"], state["counters"])
        self.assertEqual(report["reasons"], state["reasons"])
        for kind in ("ports", "routes"):
            for said, seen in zip(report[kind], state[kind], strict=True):
                self.assertEqual({**said, "name": seen["name"]}, {**seen})
        for said, seen in zip(report["filters"], state["filters"], strict=True):
            self.assertEqual(said["audit"]["counters"], seen["audit"]["counters"])
            for member in ("insertions", "fill", "planned_fill", "generation_ns", "early_turns"):
                self.assertEqual(said[member], seen[member], member)

    # ---- the appliance -------------------------------------------------------------------------

    def ended(self, running):
        running.interrupt()
        done = running.finish()
        self.assertEqual(done.status, 0, done)
        return done

    def wait_until_gone(self):
        """All displays report that it is gone, and continue."""
        harness.wait_for(lambda: self.headline() == "The appliance is gone.",
                         "that the page says so")
        self.terminal.wait(lambda shown: any("link is gone: it is not running" in line
                                             for line in status_test.screens(shown)[-1]),
                           "that the terminal says so")


@wire.needs_namespaces
class Taps(Watching):
    """Two hosts send, and a third one is the tool."""

    def setUp(self):
        super().setUp()
        self.hosts = dict(zip((*TAPS, "tool"), (Host(self, 1), Host(self, 3), Host(self, 2))))
        self.next, self.sent = 0, 0

    def config(self, number=0, **run):
        ports = [{"name": name, "device": "net_af_packet%d,iface=%s,framecnt=4096"
                                          % (index, host.outside)}
                 for index, (name, host) in enumerate(self.hosts.items())]
        return {"port": ports,
                "filter": [{"name": "echo", "window": "60s", "rate": "10kpps"}],
                "route": [{"from": list(TAPS), "to": "tool", "filter": "echo"}],
                "audit": {"enabled": True}, "run": run}

    def send_both(self):
        """Send the same packets at both taps, one hop apart."""
        numbers = range(self.next, self.next + BURST)
        self.next += BURST
        for tap, hop in zip(TAPS, (0, 1)):
            self.hosts[tap].send([udp_frame(number, ttl=64 - hop, mac_shift=hop)
                                  for number in numbers], self.folder)
            self.sent += BURST

    @contextlib.contextmanager
    def traffic(self):
        stop = threading.Event()

        def send():
            while not stop.is_set():
                self.send_both()
        sender = threading.Thread(target=send)
        sender.start()
        try:
            yield
        finally:
            stop.set()
            sender.join()

    def see_it_move(self):
        """While traffic flows, page and terminal show rising numbers."""
        shown = {"page": [], "terminal": []}

        def moved():
            for name, value in (("page", self.figures().get("routes.0.received")),
                                ("terminal", self.of_screen("received"))):
                if value and value not in shown[name]:
                    shown[name].append(value)
            return all(len(values) >= 3 for values in shown.values())
        harness.wait_for(moved, "three sights of the page and of the terminal")
        for values in shown.values():
            self.assertEqual(values, sorted(values))

    def test_all_that_shows_it_agrees_with_the_report(self):
        with self.watchers():
            with self.appliance(NAME) as running:
                self.terminal.wait(lambda _: self.of_screen("received") is not None, "the terminal")
                with self.traffic():
                    self.see_it_move()
                self.wait_for_all(self.sent)
                state = self.check_agreement()
                self.assertEqual(state["reasons"]["echo"], self.sent // 2)
                self.assertEqual(state["ports"][2]["tx_packets"], self.sent // 2)
                self.assertGreater(state["filters"][0]["audit"]["counters"]["sampled"], 0)
                self.check_report(state, self.report_of(self.ended(running)))
            self.wait_until_gone()
            self.restarted()

    def test_a_dark_tap_is_told_everywhere(self):
        """By the same name in each display, until it is acknowledged, and until the link is up."""
        tap = self.hosts["tap-a"]
        with self.watchers(), self.appliance(NAME) as running:
            self.send_both()
            self.wait_for_all(self.sent)
            tap.run("ip", "link", "set", tap.inside, "down")
            harness.wait_for(lambda: self.headline() == "A link is down.", "the page")
            self.assertIn("The link of port tap-a is down. Check the cable",
                          self.chromium.evaluate("document.body.innerText"))
            harness.wait_for(lambda: self.shown_of_link() == {
                "server": ["port tap-a"], "check": 1, "terminal": True, "alerts": 1},
                "the same of all")
            done = self.status(NAME, "--acknowledge", "link-down")
            self.assertEqual((done.status, done.out), (
                0, "acknowledged: The link of port tap-a is down\n"), done)
            harness.wait_for(lambda: self.shown_of_link() == {
                "server": [], "check": 0, "terminal": True, "alerts": 0}, "that it is acknowledged")
            tap.run("ip", "link", "set", tap.inside, "up")
            harness.wait_for(lambda: not self.shown_of_link()["terminal"], "the link")
            self.ended(running)

    def shown_of_link(self):
        """Return what each display says of links that are down and that nobody acknowledged."""
        findings = self.state()["health"]["findings"]
        check = self.status(NAME, "--check").out
        return {"server": [each["where"] for each in findings
                           if each["rule"] == "link-down" and not each["acknowledged"]],
                "check": len(re.findall("(?:%s: |; )The link of port tap-a is down" % NAME, check)),
                "terminal": any("The link of port tap-a is down" in line
                                for line in self.screen()),
                "alerts": len(self.prometheus.query(
                    'ALERTS{alertname="UnechoLinkDown",alertstate="firing",where="port tap-a"}'))}

    def restarted(self):
        """The displays find the next process by themselves, with its own numbers."""
        with self.appliance(NAME) as running:
            self.wait_for_all(0)
            self.sent = 0
            self.send_both()
            self.wait_for_all(self.sent)
            state = self.check_agreement()
            self.assertEqual(state["starts"], 2)
            self.check_report(state, self.report_of(self.ended(running)))


if __name__ == "__main__":
    for program in ("prometheus", "promtool"):
        if not shutil.which(program):
            harness.skip("%s is not installed" % program)
    if browser.find() is None:
        harness.skip("there is no Chromium")
    harness.main()
