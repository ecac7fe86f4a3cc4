#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sites that share flows through a Redis Cluster, against an exact oracle. A flow that another site
queried within the window is known, once each site has it; without a master's answer it is unknown.
With a real cluster of six processes: failover, moving slots, lost memory, other secrets, other
windows, users and passwords."""
import os
import random
import subprocess
import threading
import time
import unittest

import harness
import redis_cluster

SITE = os.environ.get("UNECHO_ROOT_SITE", "")
CLOCK = os.environ.get("UNECHO_SHIFTED_CLOCK", "")


class Site:
    """A root_site process."""

    def __init__(self, test, nodes, name="flows", window="20s", flows=100000, bound="1e-6",
                 policy="fixed", timeout="10s", secret=redis_cluster.SECRET, before=()):
        """before: command that runs it, such as unshare."""
        path = test.folder / ("secret-%d" % id(self))
        path.write_text(secret + "\n")
        path.chmod(0o600)
        self.process = subprocess.Popen(
            [*before, SITE, name, window, str(flows), bound, policy, str(path), timeout, *nodes],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self._end)
        self.known, self.log, self._counters = [], [], None
        self._said = threading.Condition()
        self.started = self.process.stdout.readline() == "ready\n"
        self.error = "" if self.started else self.process.stderr.read()
        self._asked = 0
        if self.started:
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    def _end(self):
        self.process.kill()
        self.process.wait()
        if self.started:
            self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass

    def _read(self):
        for line in self.process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            with self._said:
                if kind == "known":
                    self.known.append(int(rest, 16))
                elif kind == "log":
                    self.log.append(rest)
                else:
                    self._counters = {name: int(value) for name, value in
                                      (word.split("=") for word in rest.split())}
                self._said.notify_all()

    def counters(self):
        with self._said:
            self._counters = None
            self.process.stdin.write("?\n")
            self.process.stdin.flush()
            if not self._said.wait_for(lambda: self._counters is not None, 30):
                raise AssertionError("no counters")
            return self._counters

    def ask(self, flows):
        flows = list(flows)
        self.process.stdin.write("".join("%x\n" % flow for flow in flows))
        self.process.stdin.flush()
        self._asked += len(flows)

    def ask_in_batches(self, flows, size=20000):
        """Query so few at once that none times out while it waits; return the counters."""
        for at in range(0, len(flows), size):
            self.ask(flows[at:at + size])
            counters = self.answered()
        return counters

    def answered(self):
        """Return the counters once every query has been answered."""
        def done():
            counters = self.counters()
            return sum(counters[name] for name in ("known", "unknown", "no_room", "doubted",
                                                   "unanswered")) == self._asked and counters
        return harness.wait_for(done, lambda: "answers: %s" % self.counters())


class Sites(harness.E2eTest):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(7)

    def flows(self, n):
        return [self.draw.getrandbits(64) for _ in range(n)]

    def sites(self, cluster, n, **options):
        """Return sites, each of which is given another node."""
        out = [Site(self, [cluster.addresses[i % len(cluster.addresses)]], **options)
               for i in range(n)]
        for site in out:
            self.assertEqual(site.error, "")
        return out


@redis_cluster.needs_redis
@unittest.skipUnless(SITE, "built without hiredis")
class Exact(Sites):
    def test_three_sites_know_what_any_of_them_asked_for(self):
        cluster = redis_cluster.Cluster(self)
        sites = self.sites(cluster, 3)
        seen = set()
        pool = self.flows(30000)
        for _ in range(60):
            site = self.draw.choice(sites)
            # No flow twice in a batch: a site queries each once in its window.
            flows = self.draw.sample(pool, 1000)
            before = len(site.known)
            site.ask(flows)
            counters = site.answered()
            self.assertEqual(set(site.known[before:]), seen & set(flows))
            seen |= set(flows)
            self.assertEqual((counters["unanswered"], counters["doubted"], counters["no_room"],
                              counters["untold"]), (0, 0, 0, 0))
        self.assertEqual(counters["masters"], 3)
        self.assertEqual(counters["answering"], 3)
        # All masters have a share of memory and keys.
        keys = [int(node.ask("dbsize").split()[-1]) for node in cluster.masters()]
        self.assertEqual(len(keys), 3)
        self.assertGreater(min(keys), 0.8 * max(keys), keys)

    def test_the_same_flow_at_all_sites_at_once_is_unknown_once(self):
        """However close: the master decides which query was first."""
        cluster = redis_cluster.Cluster(self)
        sites = self.sites(cluster, 3)
        flows = self.flows(20000)
        for site in sites:
            site.ask(flows)
        counters = [site.answered() for site in sites]
        self.assertEqual(sum(each["unknown"] for each in counters), len(flows))
        self.assertEqual(sum(each["known"] for each in counters), 2 * len(flows))
        told = sorted(flow for site in sites for flow in site.known)
        self.assertEqual(told, sorted(flows * 2))

    def test_a_window_slides_and_a_refreshed_one_goes_on(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        for policy in ("fixed", "refresh"):
            with self.subTest(policy):
                one, other = self.sites(cluster, 2, window="3s", policy=policy, name=policy)
                flows = self.flows(500)
                begun = time.monotonic()
                one.ask(flows)
                one.answered()
                # Inside the window, several times.
                for wait in (0.5, 2.0, 2.8):
                    time.sleep(max(0, begun + wait - time.monotonic()))
                    other.ask(flows)
                    other.answered()
                    if time.monotonic() < begun + 3:
                        self.assertEqual(len(other.known), len(flows))
                    other.known.clear()
                # After window and slack; the slack is a third of the window.
                time.sleep(max(0, begun + 4.1 - time.monotonic()))
                one.ask(flows)
                one.answered()
                self.assertEqual(len(one.known), 0 if policy == "fixed" else len(flows))
        harness.wait_for(lambda: cluster.nodes[0].ask("randomkey").strip() == "",
                         "that expired keys are gone by themselves")

    def test_flows_far_beyond_the_plan_are_not_recorded_and_counted(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        site, = self.sites(cluster, 1, flows=1000, window="20min")
        # At least 48 pages of 512 flows, and at most eight times that for a generation; another
        # generation may begin meanwhile.
        room = 48 * 512 * 8
        counters = site.ask_in_batches(self.flows(2 * room + 60000))
        self.assertGreater(counters["no_room"], 50000)
        self.assertLessEqual(counters["no_room"], room + 60000)
        self.assertEqual(counters["unanswered"], 0)

    def test_false_matches_are_as_many_as_planned(self):
        """Fingerprints have three bytes, which suffice for this bound."""
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        site, = self.sites(cluster, 1, flows=48 * 512 * 3, bound="1.3e-4", window="20min")
        # Known by accident: a flow meets on average n / 2 / 48 fingerprints of 24 bits in its page.
        n = 400000
        counters = site.ask_in_batches(self.flows(n))
        expected = n * n / 2 / 48 / 2 ** 24
        found = counters["known"] + counters["doubted"]
        # Matches beyond the plan exceed the bound and are doubts.
        self.assertLess(abs(found - expected), 5 * expected ** 0.5 + 0.02 * expected,
                        (counters, expected))
        self.assertGreater(counters["doubted"], counters["known"])


@redis_cluster.needs_redis
@unittest.skipUnless(SITE, "built without hiredis")
class Trouble(Sites):
    def test_a_master_that_dies_is_replaced(self):
        cluster = redis_cluster.Cluster(self)
        one, other = self.sites(cluster, 2, timeout="2s")
        first = self.flows(6000)
        one.ask(first)
        one.answered()
        cluster.wait_for_replicas()
        master = cluster.masters()[0]
        master.kill()
        dead = self.flows(6000)
        one.ask(dead)
        counters = one.answered()
        # The dead master's third is unanswered, hence unknown; nothing waits longer than the timeout.
        self.assertGreater(counters["unanswered"], 1000)
        self.assertLess(counters["unanswered"], 3500)
        harness.wait_for(lambda: other.counters()["answering"] == 3, "failover")
        harness.wait_for(lambda: one.counters()["answering"] == 3, "failover")
        other.ask(first)
        other.answered()
        self.assertEqual(set(other.known), set(first), "what was there before")
        fresh = self.flows(6000)
        one.ask(fresh)
        one.answered()
        known = len(other.known)
        other.ask(fresh)
        other.answered()
        self.assertEqual(set(other.known[known:]), set(fresh))
        text = "\n".join(one.log)
        self.assertIn(master.address, text)

    def test_a_master_that_hangs_costs_its_part_alone(self):
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        site, = self.sites(cluster, 1, timeout="2s")
        master = cluster.masters()[0]
        master.process.send_signal(19)  # SIGSTOP
        self.addCleanup(master.process.send_signal, 18)
        begun = time.monotonic()
        site.ask(self.flows(6000))
        counters = site.answered()
        self.assertLess(time.monotonic() - begun, 20)
        self.assertGreater(counters["unanswered"], 1000)
        self.assertGreater(counters["unknown"], 2500)
        master.process.send_signal(18)  # SIGCONT
        cluster.wait_until_whole()
        harness.wait_for(lambda: site.counters()["answering"] == 3, "it")
        before = site.counters()["unanswered"]
        site.ask(self.flows(3000))
        self.assertEqual(site.answered()["unanswered"], before)

    def test_a_master_that_is_full_costs_what_it_would_have_known(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        site, = self.sites(cluster, 1, timeout="2s")
        node, = cluster.nodes
        node.ask("config", "set", "maxmemory", "1mb")
        flows = self.flows(1000)
        site.ask(flows)
        counters = site.answered()
        self.assertEqual((counters["unanswered"], counters["known"]), (1000, 0))
        self.assertTrue(any("maxmemory" in line for line in site.log), site.log)
        node.ask("config", "set", "maxmemory", "0")
        harness.wait_for(lambda: site.counters()["answering"] == 1, "it")
        site.ask(flows)
        self.assertEqual(site.answered()["unknown"], 1000)

    def test_slots_that_move_take_what_they_know_along(self):
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        one, other = self.sites(cluster, 2, window="2min", flows=2000000)
        first = self.flows(9000)
        one.ask(first)
        one.answered()
        source, target = cluster.masters()[:2]
        moved = subprocess.Popen(
            ["redis-cli", "--cluster", "reshard", source.address, "--cluster-from",
             source.ask("cluster", "myid").strip(), "--cluster-to",
             target.ask("cluster", "myid").strip(), "--cluster-slots", "5461", "--cluster-yes"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # Both sites query meanwhile.
        asked = []
        while moved.poll() is None:
            flows = self.flows(500)
            one.ask(flows)
            one.answered()
            asked += flows
            if len(asked) > 500000:
                break
        text = moved.communicate()[0]
        self.assertEqual(moved.returncode, 0, text[-2000:])
        cluster.wait_until_whole()
        other.ask(first)
        other.answered()
        self.assertEqual(set(other.known), set(first))
        # Flows whose slot was moving were unanswered, and all others were known.
        known = len(other.known)
        other.ask(asked)
        counters = other.answered()
        missing = len(asked) - (len(other.known) - known)
        self.assertLessEqual(missing, one.counters()["unanswered"] + counters["unanswered"])
        self.assertEqual(one.known, [])

    def test_a_slot_half_on_its_way_makes_nobody_known(self):
        """One page of a batch still exists and the other does not. Neither is recorded; otherwise
        recorded flows would be known when the batch is repeated."""
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        # Two pages a tag, in generations of 400 s.
        site, = self.sites(cluster, 1, window="20min", flows=2 * 48 * 512 * 3, timeout="20s")
        site.ask(self.flows(3000))
        self.assertEqual(site.answered()["unknown"], 3000)
        source, target = cluster.masters()[:2]
        tag = next(key for key in source.ask("keys", "unecho:*").split() if key.endswith("}"))
        stays, goes = sorted((key for key in source.ask("keys", tag + ":*").split()),
                             key=lambda key: int(key.split(":")[2]))
        page, generation = stays.rsplit(":", 1)
        for age in (1, 2, 3):
            source.ask("set", "%s:%d" % (page, int(generation) - age), "")
        slot = source.ask("cluster", "keyslot", tag).strip()
        one, other = (node.ask("cluster", "myid").strip() for node in (source, target))
        self.assertIn("OK", target.ask("cluster", "setslot", slot, "importing", one))
        self.assertIn("OK", source.ask("cluster", "setslot", slot, "migrating", other))

        def move(*keys):
            self.assertIn("OK", source.ask("migrate", "127.0.0.1", target.port, "", 0, 5000, "keys",
                                           *keys))
        move(goes)
        site.ask(self.flows(3000))
        harness.wait_for(lambda: site.counters()["redirected"] > 2, "the slot is asked for")
        move(*source.ask("keys", tag + "*").split())
        for node in (target, source):
            self.assertIn("OK", node.ask("cluster", "setslot", slot, "node", other))
        counters = site.answered()
        self.assertEqual((site.known, counters["known"], counters["unanswered"]), ([], 0, 0))
        self.assertEqual(counters["unknown"], 6000)

    def test_memory_that_is_gone_is_begun_anew(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        one, other = self.sites(cluster, 2, timeout="2s")
        flows = self.flows(2000)
        one.ask(flows)
        one.answered()
        node = cluster.nodes[0]
        node.kill()
        node.start()
        harness.wait_for(lambda: "cluster_state:ok" in node.ask("cluster", "info"), "it")
        harness.wait_for(lambda: other.counters()["answering"] == 1, "it")
        other.ask(flows)
        other.answered()
        self.assertEqual(other.known, [], "nothing is known of an empty memory")
        harness.wait_for(lambda: one.counters()["answering"] == 1, "it")
        one.ask(flows)
        one.answered()
        self.assertEqual(set(one.known), set(flows))


@redis_cluster.needs_redis
@unittest.skipUnless(SITE, "built without hiredis")
class Clocks(Sites):
    WINDOW, SPAN = 12, 4

    @unittest.skipUnless(os.geteuid() == 0, "needs root, for time namespaces")
    def test_the_window_is_that_of_the_root_whatever_a_site_takes_for_the_time(self):
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        sites = [Site(self, cluster.addresses, window="3s", before=[
            "unshare", "--time", "--monotonic", str(days * 86400), "--fork", "--kill-child"])
            for days in (0, 1, 300)]
        self.assertEqual([site.error for site in sites], [""] * 3)
        flows = self.flows(300)
        begun = time.monotonic()
        for at, (site, part) in enumerate(zip(sites, (flows[:100], flows[100:200], flows[200:]))):
            site.ask(part)
            self.assertEqual(site.answered()["unknown"], 100, at)
        time.sleep(max(0, begun + 2.5 - time.monotonic()))
        for at, site in enumerate(sites):
            others = flows[:100 * at] + flows[100 * at + 100:]
            site.ask(others)
            site.answered()
            if time.monotonic() < begun + 3:
                self.assertEqual(set(site.known), set(others))
        time.sleep(max(0, begun + 4.3 - time.monotonic()))
        for site in sites:
            site.known.clear()
        sites[2].ask(flows[:200])
        sites[2].answered()
        self.assertEqual(sites[2].known, [])

    def after_failover(self, skew):
        """Return two sites, the flows that one of them queried, when, and which of them belong to a
        master whose replica takes over, with a clock that differs by skew. The other two masters
        continue."""
        cluster = redis_cluster.Cluster(self, replicas_by=[
            "env", "LD_PRELOAD=" + CLOCK, "UNECHO_CLOCK_SHIFT=%d" % skew])
        one, other = self.sites(cluster, 2, window="%ds" % self.WINDOW, timeout="2s")
        flows = self.flows(3000)
        begun = time.monotonic()
        one.ask(flows)
        self.assertEqual(one.answered()["unknown"], 3000)
        cluster.wait_for_replicas()
        cluster.masters()[0].kill()
        for site in (one, other):
            harness.wait_for(lambda site=site: site.counters()["answering"] == 3, "failover")
        return other, flows, begun

    def known(self, site, flows):
        before = len(site.known)
        site.ask(flows)
        site.answered()
        return set(site.known[before:])

    def test_who_follows_with_a_clock_before_makes_the_window_shorter(self):
        other, flows, begun = self.after_failover(6)
        # Some are queried while all are known, others while those of the new master are not.
        if time.monotonic() < begun + self.WINDOW - 6:
            self.assertEqual(self.known(other, flows[:1500]), set(flows[:1500]))
        time.sleep(max(0, begun + self.WINDOW + self.SPAN - 6 + 0.3 - time.monotonic()))
        found = len(self.known(other, flows[1500:]))
        if time.monotonic() < begun + self.WINDOW:
            self.assertLess(abs(found - 1000), 120)

    def test_who_follows_with_a_clock_behind_knows_the_last_later(self):
        other, flows, begun = self.after_failover(-10)
        # Flows of the last ten seconds are not yet known there.
        found = len(self.known(other, flows[:1500]))
        if time.monotonic() < begun + 10 - self.SPAN:
            self.assertLess(abs(found - 1000), 120)
        # After that they are known, and for longer.
        time.sleep(max(0, begun + 10.2 - time.monotonic()))
        if time.monotonic() < begun + self.WINDOW - 1:
            self.assertEqual(self.known(other, flows[1500:2000]), set(flows[1500:2000]))
        time.sleep(max(0, begun + self.WINDOW + self.SPAN + 0.3 - time.monotonic()))
        found = len(self.known(other, flows[2000:]))
        if time.monotonic() < begun + self.WINDOW + 10:
            self.assertLess(abs(found - 333), 80)


@redis_cluster.needs_redis
@unittest.skipUnless(SITE, "built without hiredis")
class Refusals(Sites):
    def refused(self, nodes, **options):
        site = Site(self, nodes, **options)
        self.assertFalse(site.started)
        self.assertEqual(len(site.error.strip().splitlines()), 1, site.error)
        return site.error

    def test_what_sites_mean_has_to_be_the_same(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        site, = self.sites(cluster, 1)
        for options, words in ((dict(window="40s"), ("window 20s", "window 40s")),
                               (dict(flows=200000), ("flows 100000", "flows 200000")),
                               (dict(secret="ab" * 32), ("secret ",)),
                               (dict(policy="refresh"), ("policy fixed", "policy refresh"))):
            error = self.refused(cluster.addresses, **options)
            self.assertIn("other sites have another root under this name", error)
            for word in words:
                self.assertIn(word, error)
            self.assertNotIn("ab" * 32, error)
        # Another name is another shared flow store.
        self.sites(cluster, 1, window="40s", name="other")
        flows = self.flows(100)
        site.ask(flows)
        site.answered()
        self.assertEqual(site.known, [])

    def test_another_version_is_another_root(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        site, = self.sites(cluster, 1)
        site.ask(self.flows(2000))
        site.answered()
        node, = cluster.nodes
        for tag in [key for key in node.ask("keys", "unecho:*").split() if key.endswith("}")]:
            said = node.ask("get", tag).strip()
            self.assertTrue(said.startswith("version 1, "), said)
            node.ask("set", tag, said.replace("version 1", "version 2"))
        error = self.refused(cluster.addresses)
        self.assertIn("with version 2, ", error)
        self.assertIn("here it is version 1, ", error)
        # A node that was reachable before is refused too, with one message.
        site.ask(self.flows(2000))
        self.assertEqual(site.answered()["unanswered"], 2000)
        self.assertEqual(len([line for line in site.log if "version 2" in line]), 1, site.log)

    def test_what_is_no_cluster_or_nobody_is_told(self):
        ports = redis_cluster.free_port()
        alone = redis_cluster.Node(self, next(ports))
        self.assertIn("is no Redis Cluster", self.refused([alone.address]))
        empty = redis_cluster.Node(self, next(ports), "--cluster-enabled", "yes")
        self.assertIn("no slots are assigned", self.refused([empty.address]))
        nobody = "127.0.0.1:%d" % next(ports)
        self.assertIn("within 5 s", self.refused([nobody]))

    def test_users_and_passwords(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        node, = cluster.nodes
        rules = (harness.ROOT / "examples" / "root" / "acl").read_text().split()
        self.assertEqual(node.ask("acl", "setuser", "unecho", *(
            rule for rule in rules if not rule.startswith("#")), ">right").strip(), "OK")
        self.assertEqual(node.ask("acl", "setuser", "default", "off").strip(), "OK")
        self.assertIn("NOAUTH", self.refused(cluster.addresses))
        self.assertIn("WRONGPASS",
                      self.refused(["user=unecho", "password=wrong", *cluster.addresses]))
        site = Site(self, ["user=unecho", "password=right", *cluster.addresses])
        self.assertEqual(site.error, "")
        site.ask(self.flows(1000))
        counters = site.answered()
        self.assertEqual(counters["unknown"], 1000)


if __name__ == "__main__":
    harness.main()
