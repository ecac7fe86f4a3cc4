#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Paths between two taps, live: which sampled packets never came from one to the other, and how
late the others were, against what the path did."""
import math
import os
import statistics

import labs
import repeats_test
import two_taps
import wire
from lossy_path import LossyPath
from two_taps import LEFT, RIGHT
from wire import harness

# More runs show the share of intervals that hold the true loss.
RUNS = int(os.environ.get("UNECHO_ROUNDS", "1"))
SETTINGS = {
    "loss 1e-2": {"loss": 1e-2},
    "loss 1e-3, IPv6": {"loss": 1e-3, "family": 6},
    "loss 1e-5": {"loss": 1e-5},
    "VXLAN at the right tap": {"loss": 1e-2, "vxlan": True},
    "delay 10 us": {"loss": 1e-2, "delay": 10e-6},
    "delay 50 ms": {"loss": 1e-2, "delay": 50e-3},
    "jitter and reordering": {"loss": 1e-2, "jitter": 2e-3},
    "duplicates": {"loss": 1e-2, "duplicates": 0.05},
}
UNCERTAIN = 20_000  # ns
WARM_UP = 800  # packets
RARE = 1e-6  # chance of a run that fails without a fault


def binomial_bounds(trials, share):
    """Return the least and the largest number that are not rare."""
    chances = [math.exp(math.lgamma(trials + 1) - math.lgamma(n + 1) - math.lgamma(trials - n + 1)
                        + n * math.log(share) + (trials - n) * math.log1p(-share))
               for n in range(trials + 1)]
    low = next(n for n in range(trials + 1) if sum(chances[:n + 1]) > RARE)
    high = next(n for n in range(trials, -1, -1) if sum(chances[n:]) > RARE)
    return low, high


class AssertLoss:
    def assert_loss(self, path, loss):
        """The sample has as many missing packets as its size and the path's loss allow. Return its
        size: on a busy machine, directions are found late and few packets are judged."""
        said = path["loss"]
        self.assertEqual(said["of"], path["arrived"] + path["missing"])
        low, high = binomial_bounds(said["of"], loss)
        self.assertLessEqual(low, said["count"])
        self.assertLessEqual(said["count"], high)
        return said["of"]


@wire.needs_namespaces
class Paths(AssertLoss, wire.WireTest):
    def setUp(self):
        super().setUp()
        for name in ("left", "right"):
            self.veth(name, "to-" + name)

    def config(self, engine="auto", **route):
        ports = [{"name": name, "device": "net_af_packet%d,iface=%s,framecnt=8192" % (number, name)}
                 for number, name in enumerate(("left", "right"))]
        return {"port": [*ports, {"name": "tool", "device": "net_null0"}],
                "filter": [{"name": "echo", "window": "150ms", "rate": "200kpps",
                            "tunnels": "all", "engine": engine}],
                "route": [{"from": ["left", "right"], "to": "tool", "filter": "echo", **route}]}

    def measure(self, route=(), **path):
        """Return what the appliance says of each direction, by its first tap, and what the path
        did."""
        with self.start(self.config(**dict(route)), "--json") as running:
            self.wait_until_running(running)
            # Packets of a first window are not judged; they show on which side the hosts are.
            self.send(packets=WARM_UP, sides=path.get("sides", [LEFT, RIGHT]))
            done = self.send(**path)
            with self.telemetry(running) as telemetry:
                harness.wait_for(lambda: telemetry.ask("/unecho/filters,0")["path_sample"]["entries"] == 0,
                                 "an empty table")
            running.interrupt()
            report = self.report_of(running.finish())
        return {one["from"]: one for one in report["paths"]}, done, report

    def send(self, **path):
        return two_taps.run(["to-left", "to-right"], **path)

    def assert_delays(self, path):
        """What holds however late programs and the kernel's queues are."""
        said = path["delay"]
        self.assertEqual(said["packets"], path["timed"])
        self.assertEqual(path["timed"] + path["untimed"], path["came"])
        if path["timed"]:
            figures = [said[name] for name in ("min_ns", "median_ns", "p99_ns", "p999_ns", "max_ns")]
            self.assertEqual(figures, sorted(figures))
            self.assertEqual(sum(one["packets"] for one in path["delays"]), path["timed"])

    def test_loss_and_delays_are_those_of_the_path(self):
        judged = 0
        for name, setting in SETTINGS.items():
            held, errors = [], []
            for number in range(RUNS):
                with self.subTest(setting=name, run=number):
                    paths, done, _ = self.measure(**setting, seed=number)
                    for side, tap in ((LEFT, "left"), (RIGHT, "right")):
                        path, delays = paths[tap], done[side]["delays"]
                        judged += self.assert_loss(path, setting["loss"])
                        self.assert_delays(path)
                        self.assertEqual(path["changes"].get("ttl", 0), path["directed"])
                        self.assertLessEqual(path["arrived"], path["directed"])
                        held.append(path["loss"]["low"] <= setting["loss"] <= path["loss"]["high"])
                        if path["timed"]:
                            errors.append(abs(path["delay"]["median_ns"] - statistics.median(delays)))
            if RUNS > 1:
                print("%s: %d of %d intervals hold the loss; median delays differ by %.1f us, at most "
                      "%.1f" % (name, sum(held), len(held), statistics.median(errors) / 1000,
                                max(errors) / 1000), flush=True)
                self.assertGreaterEqual(sum(held), 0.93 * len(held))
                # With a jitter the sample's median is not that of all packets.
                if not setting.get("jitter"):
                    self.assertLess(statistics.median(errors), UNCERTAIN)
        self.assertGreater(judged, 100)

    def test_a_stated_path_needs_no_traffic_from_the_other_side(self):
        route = {"path": ["left", "right"], "max_path_delay": "1500us"}
        paths, _, report = self.measure(route, sides=[LEFT], loss=0.05, delay=1e-3, jitter=1e-3)
        self.assertEqual(list(paths), ["left"])
        self.assertGreater(self.assert_loss(paths["left"], 0.05), 20)
        self.assert_delays(paths["left"])
        self.assertEqual(paths["left"]["unannounced"], 0)
        self.assertLessEqual(paths["left"]["late"], paths["left"]["timed"])
        self.assertGreater(report["filters"][0]["path_sample"]["packets"], 0)

    def test_all_packets_are_counted_exactly(self):
        route = {"path": ["left", "right"], "path_packets": "all", "engine": "exact"}
        paths, done, report = self.measure(route, sides=[LEFT], loss=0.03, jitter=1e-3, rate=8000)
        path, counted = paths["left"], report["filters"][0]
        self.assertEqual(path["packets"], "all")
        self.assertEqual(path["loss"]["of"], path["arrived"] + path["missing"])
        # Packets that are not judged were sent before the first window had passed, or when the table
        # was full, as a sender that was held up sends too fast.
        sent, lost = done[LEFT]["sent"] + WARM_UP, done[LEFT]["lost"]
        unjudged = counted["path_sample"]["all_unjudged"]
        if counted["evicted_early"] == 0:
            self.assertEqual(path["missing"], lost)
            self.assertEqual(path["arrived"] + path["missing"] + unjudged, sent)
            self.assertLessEqual(unjudged, WARM_UP)
            self.assertEqual(path["unannounced"], 0)
        self.assertLessEqual(path["missing"], lost)
        self.assertLessEqual(path["arrived"], sent - lost)

    def test_hosts_on_one_side_are_not_missing_on_the_other(self):
        """Packets that the right tap never shows, between hosts of which nothing came there."""
        paths, _, _ = self.measure(loss=1 - 1e-9, hosts=200, sides=[LEFT], seed=7)
        self.assertLess(paths["left"]["missing"], paths["left"]["alone"])


@wire.needs_namespaces
class RealHosts(AssertLoss, repeats_test.Hosts):
    """TCP of two hosts through a path that loses packets of it, with taps on both sides that see
    both directions."""

    def config(self, family):
        ports = [{"name": name, "device": "net_af_packet%d,iface=%s,framecnt=8192"
                                          % (number, host.outside)}
                 for number, (name, host) in enumerate((("left", self.one), ("right", self.two)))]
        return {"port": [*ports, {"name": "tool", "device": "net_null0"}],
                "filter": [{"name": "echo", "window": "200ms", "rate": "10kpps"}],
                "route": [{"from": ["left", "right"], "to": "tool", "filter": "echo"}],
                "audit": {"memory": "16MiB"}}

    def test_lost_segments_are_missing_although_they_are_sent_again(self):
        judged = 0
        for family in (4, 6):
            with self.subTest(family=family), self.start(self.config(family), "--json") as running:
                self.wait_until_running(running)
                path = LossyPath(self, self.one.outside, self.two.outside, 25)
                # The hosts become known.
                self.one.run("ping", "-q", "-c", "10", "-i", "0.1", labs.underlay(family, 2))
                for _ in range(3):
                    self.transfer(family, 2_000_000)
                sent = path.end()
                with self.telemetry(running) as telemetry:
                    harness.wait_for(
                        lambda: telemetry.ask("/unecho/filters,0")["path_sample"]["entries"] == 0,
                        "an empty table")
                running.interrupt()
                report = self.report_of(running.finish())
            paths = {one["from"]: one for one in report["paths"]}
            for side, tap in ((LEFT, "left"), (RIGHT, "right")):
                mine = [one for one in sent if one.side == side]
                lost = sum(one.lost for one in mine)
                judged += self.assert_loss(paths[tap], lost / len(mine))
        self.assertGreater(judged, 20)


if __name__ == "__main__":
    harness.main()
