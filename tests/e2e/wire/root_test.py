#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two appliances at two sites, on live interfaces, with a Redis Cluster as shared flow store. The
first packets of a flow pass at one of them, not at both; without the store each works alone."""
import json
import os
import re
import signal
import struct
import subprocess
import tempfile

import docs_test
import wire
from wire import Host, Listener, harness

import redis_cluster  # noqa: E402  of tests/e2e/

EXAMPLES = harness.ROOT / "examples" / "root"
FIRST = 5
FLOWS = 300


def packet(flow, number, reverse=False):
    """Return the number-th packet of a flow."""
    payload = struct.pack(">II", flow, number).ljust(40, b"\x5a")
    ends = [(bytes((10, 99, flow >> 8, 1 + flow % 250)), 20000 + flow), (b"\x0a\x63\xff\x01", 443)]
    (source, port), (target, other) = ends[::-1] if reverse else ends
    udp = struct.pack(">HHHH", port, other, 8 + len(payload), 0) + payload
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 2 + number % 65000, 0x4000, 64, 17, 0,
                         source, target)
    header = header[:10] + struct.pack(">H", wire._sum16(header)) + header[12:]
    return bytes((2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1)) + b"\x08\x00" + header + udp


def packets(flows, numbers):
    return [packet(flow, number, number % 2 == 1) for number in numbers for flow in flows]


class Site:
    def __init__(self, test, name, number, root, document=None, **fields):
        """document: tables of the configuration in addition to ports, filter and route."""
        self.name, self._test = name, test
        self.tap, self.tool = Host(test, number), Host(test, number + 1)
        ports = [{"name": port, "device": "net_af_packet%d,iface=%s,framecnt=4096"
                                          % (each, host.outside)}
                 for each, (port, host) in enumerate((("tap", self.tap), ("tool", self.tool)))]
        self.config = {
            "port": ports,
            "filter": [{"name": "flows", "key": "flow-bidir", "first": FIRST, "window": "60s",
                        "rate": "300pps", "root": root, **fields}],
            "route": [{"from": ["tap"], "to": "tool", "filter": "flows"}], **(document or {})}
        self.came = Listener(test, self.tool, "udp port 443")
        self.start()

    def start(self):
        self.running = self._test.start(self.config, "--json",
                                        eal=(*harness.EAL_ARGS, "--file-prefix=" + self.name))
        self._test.addCleanup(self.running.__exit__)

    def ask(self, command):
        with harness.Telemetry(self._test.folder / "dpdk" / self.name /
                               "dpdk_telemetry.v2") as telemetry:
            return telemetry.ask(command)

    def wait(self):
        def polls():
            if not self.running.alive():
                raise AssertionError("%s ended early: %s" % (self.name, self.running.finish()))
            workers = self.ask("/unecho/workers")
            return workers and workers["0"]["polls"] > 0
        harness.wait_for(polls, self.name)

    def root(self):
        return self.ask("/unecho/filters")["0"]["root"]

    def send(self, frames):
        """Send frames, and wait until each is accounted for."""
        before = self.ask("/unecho/counters")["received"]
        self.tap.send(frames, self._test.folder)
        harness.wait_for(lambda: self.ask("/unecho/counters")["received"] == before + len(frames),
                         lambda: "%d frames at %s" % (len(frames), self.name))

    def forwarded(self):
        return self.ask("/unecho/counters")["forwarded"]

    def finish(self):
        self.running.interrupt()
        return self._test.report_of(self.running.finish())


@wire.needs_namespaces
@redis_cluster.needs_redis
class Root(wire.WireTest):
    def setUp(self):
        super().setUp()
        self.secret = self.folder / "secret"
        wire.run(EXAMPLES / "new_secret", self.secret)

    def table(self, addresses, **fields):
        return {"redis": addresses, "secret_file": str(self.secret), "flows": 10000, "timeout": "10s", **fields}

    def both(self, addresses, **fields):
        sites = [Site(self, name, number, self.table(addresses, **fields))
                 for name, number in (("one", 1), ("two", 3))]
        for site in sites:
            site.wait()
        return sites

    def test_a_flow_passes_at_one_site(self):
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        one, two = self.both(cluster.addresses)
        for site in (one, two):
            harness.wait_for(lambda site=site: site.root()["answering"] == 3, "the root")
        one.send(packets(range(FLOWS), range(FIRST + 3)))
        harness.wait_for(lambda: one.root()["unknown"] == FLOWS, "answers")
        self.assertEqual(one.forwarded(), FLOWS * FIRST)
        # The packet that causes the query passes, and so do those before the answer.
        two.send(packets(range(FLOWS), [100]))
        harness.wait_for(lambda: two.root()["learned"] == FLOWS, lambda: "%s" % two.root())
        self.assertEqual(two.root()["late"], FLOWS)
        two.send(packets(range(FLOWS), range(101, 101 + FIRST)))
        self.assertEqual(two.forwarded(), FLOWS)
        # The second site's other flows are known nowhere else.
        two.send(packets(range(FLOWS, 2 * FLOWS), range(FIRST + 2)))
        harness.wait_for(lambda: two.root()["unknown"] == FLOWS, "answers")
        self.assertEqual(two.forwarded(), FLOWS + FLOWS * FIRST)
        self.assertEqual(len(two.came.settled(FLOWS + FLOWS * FIRST)), FLOWS + FLOWS * FIRST)
        for site, known in ((one, 0), (two, FLOWS)):
            # Each site's audit agrees with the decisions about flows known elsewhere.
            audit = site.ask("/unecho/audit")["0"]["counters"]
            self.assertEqual((audit["false_drops"], audit["misses"]), (0, 0), audit)
            self.assertGreater(audit["sampled"], 0)
            report = site.finish()
            root = report["filters"][0]["root"]
            self.assertEqual((root["known"], root["learned"], root["not_asked"],
                              root["unanswered"]), (known, known, 0, 0), root)

    def test_workers_share_a_root_and_what_they_learned_outlives_them(self):
        cluster = redis_cluster.Cluster(self, masters=3, replicas=0)
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        one = Site(self, "one", 1, self.table(cluster.addresses))
        # In memory, as [state] requires.
        state = tempfile.TemporaryDirectory(prefix="unecho-", dir="/dev/shm")
        self.addCleanup(state.cleanup)
        two = Site(self, "two", 3, self.table(cluster.addresses),
                   {"workers": {"lcores": sorted(os.sched_getaffinity(0))[:2]},
                    "state": {"dir": state.name}})
        for site in (one, two):
            site.wait()
            harness.wait_for(lambda site=site: site.root()["answering"] == 3, "the root")
        one.send(packets(range(FLOWS), range(FIRST)))
        harness.wait_for(lambda: one.root()["unknown"] == FLOWS, "answers")
        two.send(packets(range(FLOWS), [100]))
        harness.wait_for(lambda: two.root()["learned"] == FLOWS, lambda: "%s" % two.root())
        two.send(packets(range(FLOWS), range(101, 104)))
        self.assertEqual(two.forwarded(), FLOWS)
        workers = two.ask("/unecho/workers")
        self.assertEqual(sum(worker["settled"] for worker in workers.values()), 4 * FLOWS)
        for worker in workers.values():
            self.assertGreater(worker["settled"], FLOWS)
        two.running.send(signal.SIGKILL)
        two.running.finish()
        two.start()
        two.wait()
        two.send(packets(range(FLOWS), range(104, 107)))
        self.assertEqual((two.forwarded(), two.root()["asked"]), (0, 0))

    def test_counting_changes_nothing(self):
        cluster = redis_cluster.Cluster(self, masters=1, replicas=0)
        one, two = self.both(cluster.addresses, on_root="count")
        for site in (one, two):
            harness.wait_for(lambda site=site: site.root()["answering"] == 1, "the root")
        for site in (one, two):
            site.send(packets(range(FLOWS), range(FIRST + 3)))
            self.assertEqual(site.forwarded(), FLOWS * FIRST)
            harness.wait_for(lambda site=site: site.root()["known"] + site.root()["unknown"] ==
                             FLOWS, "answers")
        self.assertEqual((two.root()["known"], two.root()["learned"]), (FLOWS, 0))

    def test_without_it_each_is_alone_and_with_it_again(self):
        node = redis_cluster.Cluster(self, masters=1, replicas=0).nodes[0]
        node.kill()
        one, two = self.both([node.address], timeout="1s")
        for site in (one, two):
            site.send(packets(range(FLOWS), range(FIRST + 3)))
            self.assertEqual(site.forwarded(), FLOWS * FIRST)
            harness.wait_for(lambda site=site: site.root()["unanswered"] == FLOWS, "no answers")
            harness.wait_for(lambda site=site: any(
                "Connection refused" in event["text"] for event in site.ask("/unecho/events").values()),
                             "the reason")
        node.start()
        for site in (one, two):
            harness.wait_for(lambda site=site: site.root()["answering"] == 1, "the root")
        flows = range(FLOWS, 2 * FLOWS)
        one.send(packets(flows, range(FIRST)))
        harness.wait_for(lambda: one.root()["unknown"] == FLOWS, "answers")
        two.send(packets(flows, [100]))
        harness.wait_for(lambda: two.root()["learned"] == FLOWS, "answers")
        two.send(packets(flows, range(101, 110)))
        self.assertEqual(two.forwarded(), FLOWS * FIRST + FLOWS)

    def test_one_that_has_to_be_there(self):
        port = next(redis_cluster.free_port())
        site = Site(self, "one", 1, self.table(["127.0.0.1:%d" % port], required=True))
        result = site.running.finish()
        self.assertEqual(result.status, 1, result)
        lines = result.err.strip().splitlines()
        self.assertEqual(len(lines), 1, result)
        self.assertIn("filter[0].root: ", lines[0])
        self.assertIn("within 5 s", lines[0])


@wire.needs_namespaces
@wire.needs("nsenter", "openssl")
@redis_cluster.needs_redis
class Page(wire.WireTest):
    """The unchanged commands of docs/many-machines.md."""

    def setUp(self):
        super().setUp()
        absent = docs_test.no_overlay()
        if absent:
            self.skipTest(absent)
        self.host, self.tap, self.tool = Host(self, 9), Host(self, 1), Host(self, 2)
        self.tap.move_outside(self.host, "eth1")
        self.tool.move_outside(self.host, "eth2")
        room = self.folder / "room"
        room.mkdir()
        self.room = self.host.start("bash", "-c", docs_test.ROOM.format(
            room=room, extcap=docs_test.EXTCAP, program=os.environ["UNECHO_BIN"]))
        self.addCleanup(docs_test.Docs.end, self.room)
        self.assertEqual(self.room.stdout.readline(), "ready\n", self.room.poll())
        self.bash("""mkdir {room}/etc {room}/etc-work
            mount -t overlay -o lowerdir=/etc,upperdir={room}/etc,workdir={room}/etc-work none /etc
            for node in 1 2 3 4 5 6; do ip address add 192.0.2.$node/32 dev lo; done
            """.format(room=room))
        for number in range(1, 7):
            node = self.folder / ("node-%d" % number)
            node.mkdir()
            (node / "redis.conf").write_text(
                "bind 192.0.2.%d\nbind-source-addr 192.0.2.%d\nprotected-mode no\nsave \"\"\n"
                "dir %s\ncluster-enabled yes\n" % (number, number, node))
            process = self.inside("redis-server", node / "redis.conf")
            self.addCleanup(docs_test.Docs.end, process)
            harness.wait_for(lambda number=number: "PONG" in self.bash(
                "redis-cli -h 192.0.2.%d ping 2>&1 || true" % number), "Redis")

    def inside(self, *command, **options):
        return subprocess.Popen(
            ["nsenter", "--target", str(self.room.pid), "--net", "--mount",
             "--wdns=" + str(harness.ROOT), *map(str, command)],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder),
                 "RUNTIME_DIRECTORY": str(self.folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            **options)

    def bash(self, text):
        process = self.inside("bash", "-ec", text)
        said = process.communicate(timeout=harness.PATIENCE)[0]
        self.assertEqual(process.returncode, 0, said)
        return said

    def test_flows_across_sites(self):
        page = (harness.ROOT / "docs" / "many-machines.md").read_text()
        block = re.search(r"^## Flows across sites\n.*?^```sh\n(.*?)^```$", page, re.M | re.S).group(1)
        *lines, last = block.splitlines()
        self.assertIn("unecho run", last)
        said = self.bash("\n".join(lines))
        self.assertIn("[OK] All 16384 slots covered.", said)
        self.assertIn("3,000,000 flows of all sites", said)
        self.assertNotRegex(said, "note: .*root")
        running = self.inside("bash", "-c", "exec " + last.partition("sudo ")[2])
        self.addCleanup(docs_test.Docs.end, running)
        harness.wait_for(lambda: running.poll() is not None or '"answering": 3' in self.bash(
            "unecho status --json 2>&1 || true"), lambda: "the root: " + self.bash(
                "unecho status --json 2>&1 || true"))
        self.assertIsNone(running.poll(), running.stdout)

        def status():
            return json.loads(self.bash("unecho status --json || true"))["appliances"][0]

        def root():
            return status()["filters"][0]["root"]
        # At most as many at once as the interface's ring holds, however late its worker is.
        for number in range(12):
            self.tap.send(packets(range(200), [number]), self.folder)
            harness.wait_for(lambda number=number: status()["counters"]["received"] >= 200 * (number + 1), "packets")
        # Some are unanswered if the cluster gets no CPU within the 100 ms of the example.
        harness.wait_for(lambda: root()["unknown"] + root()["unanswered"] == 200, lambda: "%s" % root())
        running.send_signal(signal.SIGINT)
        out = running.communicate(timeout=harness.PATIENCE)[0]
        self.assertEqual(running.returncode, 0, out)
        # The first ten of each flow; no other site has seen any.
        self.assertRegex(out, r"forwarded 2000 ")
        self.assertRegex(out, r"known +0 ")


class Configuration(harness.E2eTest):
    """Errors are reported before anything runs."""

    def check(self, root=(), **fields):
        secret = self.folder / "secret"
        secret.write_text(redis_cluster.SECRET + "\n")
        secret.chmod(0o600)
        filter_ = {"name": "flows", "key": "flow-bidir", "first": 5, "window": "60s",
                   "rate": "10kpps",
                   "root": {"redis": ["127.0.0.1:7000"], "secret_file": str(secret),
                            "flows": 10000, **dict(root)}, **fields}
        filter_ = {key: value for key, value in filter_.items() if value is not None}
        return self.run_unecho(
            {"port": [harness.port("a", 0), harness.port("b", 1)],
             "filter": [filter_], "route": [{"from": ["a"], "to": "b", "filter": "flows"}]})

    def test_the_example_is_right(self):
        done = wire.run(os.environ["UNECHO_BIN"], "check", EXAMPLES / "site.toml")
        self.assertIn("3,000,000 flows of all sites", done.stdout)
        # Files that this host lacks are warnings.
        self.assertRegex(done.stdout, "warning: .*secret_file: /etc/unecho/root.secret: ")

    def test_a_secret_is_not_written_over(self):
        path = self.folder / "secret"
        wire.run(EXAMPLES / "new_secret", path)
        before = path.read_text()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertNotEqual(wire.run(EXAMPLES / "new_secret", path, check=False).returncode, 0)
        self.assertEqual(path.read_text(), before)

    def test_each_mistake_is_one_line(self):
        open_file = self.folder / "open"
        open_file.write_text(redis_cluster.SECRET)
        open_file.chmod(0o644)
        short = self.folder / "short"
        short.write_text("abc")
        short.chmod(0o600)
        for fields, words in (
                (dict(key="packet", first=None), 'key = "flow"'),
                (dict(first=1), "first of 2 or more"),
                (dict(window="500ms"), "1s or longer"),
                (dict(root=dict(redis=[])), "is empty"),
                (dict(root=dict(redis=["localhost"])), '"host:port"'),
                (dict(root=dict(redis=["a:0"])), '"host:port"'),
                (dict(root=dict(flows=5)), "from 1000"),
                (dict(root=dict(secret_file="/nowhere")), "No such file"),
                (dict(root=dict(secret_file=str(open_file))), "chmod 600"),
                (dict(root=dict(secret_file=str(short))), "64 hexadecimal digits"),
                (dict(root=dict(user="me")), "needs password_file"),
                (dict(root=dict(on_root="drp")), '"drop"'),
                (dict(root=dict(timeout="1h")), "1ms to 10s"),
                (dict(root=dict(retries=3)), "retries")):
            with self.subTest(words):
                result = self.check(**fields)
                self.assertEqual(result.status, 2, result)
                self.assertIn(words, result.err)
                self.assertEqual(len(result.err.strip().splitlines()), 1, result)


if __name__ == "__main__":
    harness.main()
