#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho run` and `unecho pcap` forward the same packets, under every engine and policy, and on
every kernel that this processor has (UNECHO_ISA)."""
import itertools
import os
import pathlib
import re
import subprocess
from unittest import mock

import harness
from harness import MS, PCAPS, US, exact_answer

import frames  # noqa: E402  harness has put tools/ on the path

ONE_LINK, FLOWS = PCAPS / "one-link.pcap", PCAPS / "flows.pcap"
FLAGS = {"scalar": (), "avx2": ("avx2", "bmi2"),
         "avx512": ("avx512f", "avx512dq", "avx512bw", "avx512vl")}


def lacks(isa):
    found = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return not set(FLAGS[isa]) <= set(found[1].split())


class Both(harness.E2eTest):
    """Runs captures live, each on a route with its filter in one start, and the same with `unecho
    pcap`."""

    def live(self, cases):
        """Return the forwarded frames, one list a case: (capture, fields of the filter)."""
        ports, filters, routes = [], [], []
        outputs = [self.folder / ("live-%d.pcap" % index) for index in range(len(cases))]
        for index, ((capture, fields), output) in enumerate(zip(cases, outputs)):
            ports += [harness.port("in-%d" % index, 2 * index, rx_pcap=capture),
                      harness.port("out-%d" % index, 2 * index + 1, tx_pcap=output)]
            filters.append(harness.filter_("f-%d" % index, **{"window": "50ms", **fields}))
            routes.append({"from": ["in-%d" % index], "to": "out-%d" % index,
                           "filter": "f-%d" % index})
        report = self.report(harness.replay(ports, filters, routes))
        return report, list(map(harness.frames_of, outputs))

    def offline(self, capture, window="50ms", **options):
        output = self.folder / "offline.pcap"
        if not str(options.get("key", "")).startswith("flow"):
            options["repeats"] = "drop"
        arguments = [word for name, value in options.items()
                     for word in ("--" + name.replace("_", "-"), str(value))]
        subprocess.run([os.environ["UNECHO_BIN"], "pcap", capture, "-o", output, "--quiet",
                        "--window", window, *arguments], check=True, timeout=harness.PATIENCE,
                       stdin=subprocess.DEVNULL)
        return harness.frames_of(output)


class LiveIsTheDefinition(Both):
    """With repeats kept, the union rule decides, which is exact under every engine."""

    def mirror(self):
        """Return a capture of a port that shows each packet twice: 300 different ones, then one
        packet that is sent five times."""
        made = []
        for number, payload in enumerate([b"%03d" % number for number in range(300)] + 5 * [b"again"]):
            udp = frames.udp("2001:db8::1", "2001:db8::2", (1, 2), payload)
            ip = frames.ipv6("2001:db8::1", "2001:db8::2", frames.UDP, udp)
            made += [(number * MS + look * 5 * US, frames.ethernet(ip)) for look in range(2)]
        path = self.folder / "mirror.pcap"
        path.write_bytes(frames.pcap(made))
        return path

    def test_every_engine(self):
        mirror = self.mirror()
        engines = harness.SLIDING_ENGINES[:7]  # a process takes 32 ports
        cases = [(capture, {"engine": engine, "repeats": "keep"})
                 for capture, engine in itertools.product((ONE_LINK, mirror), engines)]
        report, live = self.live(cases)
        learned = {path: harness.part_where_repeats_are_kept([path], same_port=250 * US)
                   for path in (ONE_LINK, mirror)}
        # 31 second looks are kept until the population is known; 5 of the packet sent five times.
        self.assertEqual(len(learned[mirror].kept), 300 + 31 + 5)
        for (capture, fields), route, filter_, came in zip(cases, report["routes"],
                                                           report["filters"], live):
            with self.subTest(capture=capture.name, **fields):
                self.assert_frames(came, learned[capture].kept)
                self.assertEqual(harness.nonzero(route["reasons"]), learned[capture].counts)
                if capture is mirror:
                    self.assertEqual((filter_["kept_repeats"], filter_["second_looks"],
                                      filter_["untrusted_looks"]), (4, 274, 31))
                    self.assertEqual([each["packets"] for each in filter_["answers"]], [274])


class LiveIsOffline(Both):
    def test_every_engine_and_policy(self):
        """Captures in which no age lies in a filter's slack, so only one output is right."""
        cases = [(ONE_LINK, {"engine": engine, "policy": policy})
                 for engine, policy in itertools.product(harness.ENGINES, exact_answer.POLICIES)]
        cases += [(FLOWS, {"engine": "shbf-x", "policy": policy, "key": "flow", "first": 2})
                  for policy in exact_answer.POLICIES]
        half = len(cases) // 2  # a process takes 32 ports
        for part in (cases[:half], cases[half:]):
            report, live = self.live(part)
            for (capture, fields), route, frames in zip(part, report["routes"], live):
                with self.subTest(**fields):
                    self.check(capture, fields, route, frames)

    def check(self, capture, fields, route, frames):
        answer = {name: value for name, value in fields.items() if name != "engine"}
        expected = harness.part(harness.packets_of(capture), window=exact_answer.duration("50ms"), **answer)
        self.assertGreater(len(expected.echoes), 300)
        self.assertEqual(harness.nonzero(route["reasons"]), expected.counts)
        self.assert_frames(frames, expected.kept, "live")
        self.assert_frames(self.offline(capture, **fields), frames, "offline")


class EveryIsa(Both):
    """Filters that are far too small, so accidents decide. They are equal on each kernel."""
    CASES = [(ONE_LINK, {"engine": engine, "policy": policy, "keys": 5, "max_false_drop": 0.1,
                         "rule": "match"})
             for engine, policy in itertools.product(("line", "apbbf"), exact_answer.POLICIES)]
    expected = None

    def answers(self, isa):
        with mock.patch.dict(os.environ, UNECHO_ISA=isa):
            report, live = self.live(self.CASES)
            offline = [self.offline(ONE_LINK, engine=fields["engine"], policy=fields["policy"],
                                    seed=1)
                       for _, fields in self.CASES]
        return [route["reasons"] for route in report["routes"]], live, offline

    def check(self, isa):
        if lacks(isa):
            self.skipTest("this processor lacks " + isa)
        if EveryIsa.expected is None:
            EveryIsa.expected = self.answers("scalar")
            exact = harness.part(harness.packets_of(ONE_LINK), window=50 * harness.MS)
            by_engine = [reasons["echo"] for reasons in self.expected[0]]
            for pair in (by_engine[:2], by_engine[2:]):  # both policies
                self.assertGreater(sum(pair), 2 * len(exact.echoes), "no accident to compare")
        with mock.patch.dict(os.environ, UNECHO_ISA=isa):
            shown = harness.unecho("check", harness.ROOT / "configs" / "quickstart.toml", check=True,
                                   cwd=self.folder_of_captures())
        self.assertRegex(shown.stdout, r"kernel +%s \(as UNECHO_ISA says; ns a packet in cache, "
                         r"measured: \d+\.\d" % isa)
        self.assertEqual(self.answers(isa), self.expected)

    def folder_of_captures(self):
        if not (self.folder / "pcaps").exists():
            (self.folder / "pcaps").symlink_to(PCAPS)
        return self.folder

    def test_scalar(self):
        self.check("scalar")

    def test_avx2(self):
        self.check("avx2")

    def test_avx512(self):
        self.check("avx512")

    def test_what_this_processor_has_not_is_refused(self):
        missing = [isa for isa in FLAGS if lacks(isa)] + ["neon", ""]
        config = harness.replay([harness.port("in", 0, rx_pcap=ONE_LINK),
                                 harness.port("out", 1, tx_pcap=self.folder / "out.pcap")],
                                [harness.filter_("f", "50ms")],
                                [{"from": ["in"], "to": "out", "filter": "f"}])
        allowed = "; allowed: " + ", ".join(["auto"] + [isa for isa in FLAGS if not lacks(isa)])
        for isa in missing:
            with self.subTest(isa=isa), mock.patch.dict(os.environ, UNECHO_ISA=isa):
                run = self.run_unecho(config)
                self.assertNotEqual(run.status, 0, run)
                said = [run.err]
                for engine in ("line", "auto", "exact"):
                    done = harness.unecho("pcap", ONE_LINK, "--dry-run", "--engine", engine)
                    self.assertNotEqual((engine, done.returncode), (engine, 0))
                    said.append(done.stderr)
                for text in said:
                    self.assertIn('UNECHO_ISA: "%s" is no' % isa, text)
                    self.assertIn(allowed, text)


if __name__ == "__main__":
    harness.main()
