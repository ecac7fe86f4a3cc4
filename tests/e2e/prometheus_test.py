#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The metrics of `unecho serve` with Prometheus itself: Debian's version scrapes them, its promtool
checks metrics and alerts, and the queries of alerts and dashboard return data."""
import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import urllib.parse

import harness
import monitored

MONITORING = harness.ROOT / "configs" / "monitoring"
# Metrics that an appliance may lack: without a problem or an audit, or in an older version.
MAY_BE_MISSING = re.compile(r"unecho_(problem|filter_(audit|false_drop|miss|echo_age)_\w+|"
                            r"worker_(stalls|busy_seconds|idle_seconds)_total)$")


def expressions():
    """Return (place, query) of the dashboard, for all appliances and short intervals."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"].replace("$appliance", ".*").replace("$__rate_interval", "5s")
            yield panel["title"], query


def metrics_in(query):
    return set(re.findall(r"\bunecho_\w+", query))


class Prometheus:
    """A Prometheus server on a free port."""

    def __init__(self, folder, target, rules):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "unecho", "static_configs": [
                {"targets": ["127.0.0.1:%d" % target]}]}]}))
        self._log = (folder / "prometheus.log").open("w")
        self._process = subprocess.Popen(
            ["prometheus", "--config.file=%s" % config,
             "--storage.tsdb.path=%s" % (folder / "data"),
             "--web.listen-address=127.0.0.1:%d" % self.port, "--log.level=warn"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def __enter__(self):
        try:
            harness.wait_for(lambda: self._get("/-/ready")[0] == 200, "Prometheus")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(harness.PATIENCE)
        self._log.close()

    def _get(self, path):
        """Return (status, body)."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port,
                                                           timeout=harness.PATIENCE)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def ask(self, path, **parameters):
        answer = json.loads(self._get(path + "?" + urllib.parse.urlencode(parameters))[1])
        if answer["status"] != "success":
            raise AssertionError("%s %s: %s" % (path, parameters, answer))
        return answer["data"]

    def query(self, query):
        return self.ask("/api/v1/query", query=query)["result"]


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, text=True, check=False,
                          capture_output=True)
    return done.returncode, done.stdout + done.stderr


class Alerts(harness.E2eTest):
    def test_the_rules_are_valid_and_fire_for_what_is_found(self):
        status, said = promtool("check", "rules", MONITORING / "alerts.yml")
        self.assertEqual(status, 0, said)
        tests = harness.ROOT / "tests" / "prometheus" / "alerts_test.yml"
        status, said = promtool("test", "rules", tests)
        self.assertEqual(status, 0, said)

    def test_the_configuration_is_one_of_prometheus(self):
        status, said = promtool("check", "config", MONITORING / "prometheus.yml")
        self.assertEqual(status, 0, said)


class Scraped(monitored.MonitorTest):
    def test_prometheus_takes_it_all(self):
        with self.appliance("taps"), self.appliance("paths", self.paths()), \
                self.server() as server:
            server.wait(lambda: server.appliance("taps"), "the appliance")
            metrics = server.wait(self.metrics_with_paths(server), "packets on a path")
            status, said = promtool("check", "metrics", given=metrics)
            self.assertEqual((status, said), (0, ""))
            names = {name for name, _ in monitored.samples_of(metrics)}
            with Prometheus(self.folder, server.port, MONITORING / "alerts.yml") as prometheus:
                server.wait(lambda: prometheus.query("unecho_up"), "the first scrape")
                self.scraped(prometheus, names)
                self.dashboard(prometheus, names)
                self.rules(prometheus, names)

    def paths(self):
        """Return a configuration that replays the taps once, by the times of their captures."""
        config = self.config(1, clock="capture")
        for tap in config["port"][:2]:
            tap["device"] = tap["device"].replace(",infinite_rx=1", "")
        config["filter"][0]["window"] = "200ms"
        config["route"][0].update(max_path_loss=0.5, max_path_delay="150ms")
        return config

    @staticmethod
    def metrics_with_paths(server):
        def metrics():
            text = server.get("/metrics")
            return text if all(name + "{" in text for name in (
                "unecho_path_loss_ratio", "unecho_path_delay_seconds_bucket",
                "unecho_path_changes_packets_total")) else None
        return metrics

    def scraped(self, prometheus, names):
        stored = set(prometheus.ask("/api/v1/label/__name__/values"))
        self.assertLessEqual(names, stored)
        (target,) = prometheus.ask("/api/v1/targets")["activeTargets"]
        self.assertEqual((target["health"], target["lastError"]), ("up", ""))
        with harness.Telemetry(self.folder / "dpdk/taps/dpdk_telemetry.v2") as telemetry:
            before = telemetry.ask("/unecho/counters")["received"]

            def counted():
                (sample,) = prometheus.query('unecho_received_packets_total{appliance="taps"}')
                received = int(sample["value"][1])
                return received if received >= before else None
            received = harness.wait_for(counted, "what was received, looked at and scraped")
            self.assertLessEqual(received, telemetry.ask("/unecho/counters")["received"])

    def dashboard(self, prometheus, names):
        for counter in ("received", "path_arrived"):
            harness.wait_for(
                lambda name=counter: prometheus.query("rate(unecho_%s_packets_total[5s])" % name),
                "two scrapes")
        asked = list(expressions())
        self.assertGreater(len(asked), 30)
        self.assertTrue(any("unecho_path_" in query for _, query in asked))
        for where, query in asked:
            with self.subTest(panel=where, query=query):
                found = prometheus.query(query)
                missing = metrics_in(query) - names
                if missing:
                    self.assertTrue(all(MAY_BE_MISSING.match(name) for name in missing), missing)
                elif "unecho_problem{" not in query:
                    self.assertTrue(found)

    def rules(self, prometheus, names):
        def evaluated():
            groups = prometheus.ask("/api/v1/rules")["groups"]
            rules = [rule for group in groups for rule in group["rules"]]
            return rules if rules and all(rule["health"] == "ok" for rule in rules) else None
        for rule in harness.wait_for(evaluated, "the rules"):
            with self.subTest(rule=rule["name"]):
                missing = metrics_in(rule["query"]) - names
                self.assertTrue(all(MAY_BE_MISSING.match(name) for name in missing), missing)
                if rule["name"] in ("UnechoServerDown", "UnechoNeverUp", "UnechoDown",
                                    "UnechoPacketsUnaccounted"):
                    self.assertNotEqual(rule["state"], "firing")


if __name__ == "__main__":
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        harness.skip("prometheus is not installed")
    harness.main()
