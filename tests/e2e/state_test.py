#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The filters' memory outlives the process. However it ended, a successor that starts in time with
the same configuration continues with it. Anything that does not match gives one line and an empty
filter."""
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import wait_for

import frames  # noqa: E402  harness has put tools/ on the path

SHM = pathlib.Path("/dev/shm")
PACKETS = 3000


def packet(number):
    return frames.ethernet(frames.ipv4("10.0.%d.%d" % divmod(number % 65536, 256), "192.0.2.1",
                                       frames.UDP, frames.udp("10.0.0.1", "192.0.2.1", (1, 2),
                                                              b"%d" % number)))


class StateTest(harness.E2eTest):
    def setUp(self):
        super().setUp()
        (self.folder / "in.pcap").write_bytes(
            frames.pcap([(0, packet(number)) for number in range(PACKETS)]))
        own = pathlib.Path(tempfile.mkdtemp(prefix="unecho-state-", dir=SHM))
        self.addCleanup(shutil.rmtree, own, ignore_errors=True)
        self.state = own / "state"

    def document(self, engine="line", window="60s", workers=1, state=True, run=None, **fields):
        """Return a configuration that receives as many packets as the capture has, at once, and
        then nothing."""
        filters = [{"name": "echo", "window": window, "engine": engine, "rate": "1kpps",
                    "max_false_drop": 1e-6, **fields}]
        document = {"eal": {"args": []},
                    "port": [harness.port("in", 0, rx_pcap="in.pcap"),
                             {"name": "out", "device": "net_null0", "rx_descriptors": 128,
                              "tx_descriptors": 128}],
                    "filter": filters, "route": [{"from": ["in"], "to": "out", "filter": "echo"}],
                    "run": {"name": "state-%d" % os.getpid(), **(run or {})}}
        if workers > 1:
            cpus = sorted(os.sched_getaffinity(0))
            document["workers"] = {"lcores": [cpus[0], cpus[1 % len(cpus)]], "steering": "ring", "ring_size": 8192}
        if state:
            document["state"] = {"dir": str(self.state)}
        return document

    def run_once(self, document, end=signal.SIGKILL, eal=()):
        """Return (packets forwarded, echoes) once all were received, and the messages about the
        state."""
        with self.start(document, "--json", eal=(*harness.EAL_ARGS, *eal)) as running, \
                self.telemetry(running) as telemetry:
            counters = wait_for(lambda: self.received(telemetry), "all packets")
            running.send(end)
            result = running.finish()
        said = [line for line in result.err.splitlines() if "state: " in line]
        return counters["reasons"]["new"], counters["reasons"]["echo"], said

    def received(self, telemetry):
        counters = telemetry.ask("/unecho/counters")
        self.assert_conserved(counters)
        return counters if (counters["received"], counters["in_flight"]) == (PACKETS, 0) else None

    def assert_goes_on(self, document, **options):
        new, echoes, said = self.run_once(document, **options)
        self.assertEqual((new, echoes), (0, PACKETS), said)
        self.assertEqual(len(said), 1, said)
        self.assertIn('filter "echo" goes on with what it knew', said[0])

    def assert_begins_empty(self, document, *why, **options):
        new, echoes, said = self.run_once(document, **options)
        self.assertEqual((new, echoes), (PACKETS, 0), said)
        self.assertEqual(len(said), len(why), said)
        for line, word in zip(said, why):
            self.assertIn(word, line)

    def test_goes_on_after_any_end_with_each_engine(self):
        for engine in harness.ENGINES:
            with self.subTest(engine):
                shutil.rmtree(self.state, ignore_errors=True)
                document = self.document(engine)
                self.assert_begins_empty(document)
                self.assert_goes_on(document)
                if engine == "line" or harness.FULL:
                    self.assert_goes_on(document, end=signal.SIGINT)
                    self.assert_goes_on(document)

    def test_of_first_packets_of_flows_and_of_an_engine_that_counts_them(self):
        for engine in (*harness.COUNTING_ENGINES, "line"):
            with self.subTest(engine):
                shutil.rmtree(self.state, ignore_errors=True)
                document = self.document(engine, key="flow", first=2)
                new, echoes, _ = self.run_once(document)
                self.assertEqual((new, echoes), (PACKETS, 0))
                new, echoes, said = self.run_once(document)
                self.assertEqual((new, echoes), (PACKETS, 0), said)  # the second ones
                self.assert_goes_on(document)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_with_several_workers_each_flow_finds_its_own_again(self):
        document = self.document(workers=2)
        self.assert_begins_empty(document)
        self.assertEqual(len(list(self.state.glob("filter-*"))), 2)
        self.assert_goes_on(document)
        self.assert_goes_on(document, end=signal.SIGINT)
        # From one worker, which gets other packets.
        self.assert_begins_empty(self.document(), "nothing was kept of one like it")

    def outlives(self, running):
        """Return the files of its memory that remain after it, except DPDK's own."""
        own = os.path.realpath(self.folder / "dpdk") + "/"
        maps = pathlib.Path("/proc/%d/maps" % running.pid()).read_text().splitlines()
        mapped = {line.split(maxsplit=5)[5] for line in maps if line.split()[1].startswith("rw-s")}
        return {path for path in mapped
                if not path.startswith(own) and not path.endswith("(deleted)")}

    def test_nothing_is_written_without_it(self):
        for state in (False, True):
            document = self.document(state=state)
            with self.start(document, "--json") as running, self.telemetry(running) as telemetry:
                wait_for(lambda: self.received(telemetry), "all packets")
                files = self.outlives(running)
                running.send(signal.SIGKILL)
                running.finish()
            self.assertEqual({pathlib.Path(path).parent for path in files}, {self.state} if state else set())
        self.assert_begins_empty(self.document(state=False))

    @unittest.skipIf(subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode,
                     "needs root")
    def test_nothing_is_left_in_a_dev_shm_of_its_own_without_it(self):
        alone = ("unshare", "--mount", "sh", "-euc", 'mount -t tmpfs none /dev/shm; exec "$@"', "sh")
        with self.start(self.document(state=False), "--json", wrapper=alone) as running, \
                self.telemetry(running) as telemetry:
            wait_for(lambda: self.received(telemetry), "all packets")
            self.assertEqual(os.listdir("/proc/%d/root/dev/shm" % running.pid()), [])
            running.interrupt()
            running.finish()

    def test_its_audit_goes_on_where_it_was(self):
        """The audit judges once window, slack and grace have passed since the first process began;
        no single process lives so long."""
        document = self.document(window="8s", policy="refresh", run={"name": "audited-%d" % os.getpid()})
        document["filter"][0]["rate"] = "10kpps"
        document["audit"] = {"memory": "32MiB"}
        begun, ends = time.monotonic(), itertools.cycle((signal.SIGKILL, signal.SIGINT))

        def run_once():
            with self.start(document, "--json") as running, self.telemetry(running) as telemetry:
                wait_for(lambda: self.received(telemetry), "all packets")
                audit = telemetry.ask("/unecho/audit,0")["counters"]
                running.send(next(ends))
                running.finish()
            self.assertGreater(audit["sampled"], 10)
            self.assertEqual(audit["false_drops"] + audit["misses"], 0, audit)
            self.assertEqual(audit["sampled"], audit["unsettled"] + audit["echoes"], audit)
            return audit["echoes"] / audit["sampled"]

        self.assertEqual(run_once(), 0, "the first one cannot know what was before it")
        wait_for(run_once, "an audit that judges")
        self.assertGreater(time.monotonic() - begun, 16)
        self.assertEqual(run_once(), 1, "from then on it judges all")

    def test_report_of_two_taps_goes_on_amid_its_window(self):
        """After the restart only tap B has packets; those of A are still known."""
        (self.folder / "none.pcap").write_bytes(frames.pcap([]))
        document = self.document(run={"name": "taps-%d" % os.getpid()})
        document["port"].insert(1, harness.port("b", 2, rx_pcap="none.pcap"))
        document["route"][0].update({"from": ["in", "b"], "report_taps": True, "report_flows": 20_000,
                                     "report_window": "3600s"})

        def taps():
            with self.start(document, "--json") as running, self.telemetry(running) as telemetry:
                wait_for(lambda: self.received(telemetry), "all packets")
                found = wait_for(lambda: telemetry.ask("/unecho/routes,0")["taps"], "the report")
                running.send(signal.SIGKILL)
                running.finish()
            return found["total"]

        self.assertEqual(taps(), {"only_a": PACKETS, "only_b": 0, "both": 0})
        document["port"][0], document["port"][1] = (
            dict(document["port"][0], device=document["port"][1]["device"]),
            dict(document["port"][1], device=document["port"][0]["device"]))
        self.assertEqual(taps(), {"only_a": 0, "only_b": 0, "both": PACKETS})

    def test_one_process_at_a_time(self):
        with self.start(self.document(), "--json") as running, self.telemetry(running) as telemetry:
            wait_for(lambda: self.received(telemetry), "all packets")
            other = self.document(run={"name": "other-%d" % os.getpid()})
            result = self.run_unecho(other)
            self.assertNotEqual(result.status, 0)
            self.assertIn("state.dir", result.err)
            self.assertIn("another process holds it", result.err)
            running.interrupt()
            running.finish()
        self.assert_goes_on(self.document())

    def test_reload_moves_what_is_kept(self):
        """After a reload another filter is kept; the former one leaves nothing."""
        path = self.folder / "box.toml"
        path.write_text(harness.toml(self.document()))
        wanted = self.document(window="50s")
        with self.start(path, "--json") as running, self.telemetry(running) as telemetry:
            wait_for(lambda: self.received(telemetry), "all packets")
            first = {file.name for file in self.state.glob("filter-*")}
            wanted["filter"][0]["key"] = "flow"  # immediately
            path.write_text(harness.toml(wanted))
            self.assertEqual(telemetry.ask("/unecho/reload")["accepted"], 1)
            wait_for(lambda: not first & {file.name for file in self.state.glob("filter-*")},
                     "the file of the one before to go")
            self.assertEqual(len(list(self.state.glob("filter-*"))), 1)
            wanted["state"] = {"dir": str(self.state.parent / "elsewhere")}
            path.write_text(harness.toml(wanted))
            answer = telemetry.ask("/unecho/reload")
            self.assertEqual(answer["accepted"], 0)
            self.assertIn("state.dir", "".join(answer["text"]))
            self.assertIn("needs a restart", "".join(answer["text"]))
            running.send(signal.SIGKILL)
            running.finish()
        wanted["state"] = {"dir": str(self.state)}
        new, echoes, said = self.run_once(wanted)
        self.assertEqual((new, echoes), (PACKETS, 0), "its packets came before the reload")
        self.assertIn("goes on", said[0])

    def test_nothing_goes_on_while_a_filter_is_warmed(self):
        """Neither the former filter, which is no longer fed, nor its future replacement is kept."""
        path = self.folder / "box.toml"
        wanted = self.document(window="120s")
        for after in (self.document(), wanted):
            with self.subTest(after["filter"][0]["window"]):
                shutil.rmtree(self.state, ignore_errors=True)
                path.write_text(harness.toml(self.document()))
                with self.start(path, "--json") as running, self.telemetry(running) as telemetry:
                    wait_for(lambda: self.received(telemetry), "all packets")
                    path.write_text(harness.toml(wanted))
                    answer = telemetry.ask("/unecho/reload")
                    self.assertEqual(answer["accepted"], 1)
                    self.assertIn("is warmed", "".join(answer["text"]))
                    wait_for(lambda: telemetry.ask("/unecho/filters,0")["window_ns"] == 120e9,
                             "the reload")
                    running.send(signal.SIGKILL)
                    running.finish()
                self.assert_begins_empty(after, "the process before it ended amid a reload")
                self.assert_goes_on(after)


if __name__ == "__main__":
    if not os.access(SHM, os.W_OK):
        harness.skip("/dev/shm cannot be written")
    harness.main()
