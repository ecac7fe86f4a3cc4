#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad packets are forwarded and counted; bad files, arguments and machines are refused in one line.

Exit status 2 is for the command line, and for the configuration with the files that it names; 1 is
for errors that only show when DPDK starts or while it runs.
"""
import os
import pathlib
import re
import shutil

import harness
from harness import MS, PCAPS, exact_answer

HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages")
BACKTRACE = re.compile(r"terminate called|what\(\)|Segmentation|Assertion|Sanitizer|EAL:|PANIC|#0 ")

# A valid CPU number that this process may not use.
CPU_OF_OTHERS = max(set(range(128)) - os.sched_getaffinity(0))


class BadPackets(harness.E2eTest):
    def check(self, capture, packets):
        for key in exact_answer.KEYS:
            out = self.folder / "out.pcap"
            ports = [harness.port("in", 0, rx_pcap=capture), harness.port("out", 1, tx_pcap=out)]
            report = self.report(harness.replay(
                ports, [harness.filter_("f", "50ms", key=key)],
                [{"from": ["in"], "to": "out", "filter": "f"}]))
            expected = harness.part(packets, key=key, window=50 * MS)
            self.assertEqual(harness.nonzero(report["routes"][0]["reasons"]), expected.counts, key)
            self.assert_frames(harness.frames_of(out), expected.kept, key)
            yield key, report

    def test_malformed_packets_all_pass(self):
        packets = harness.packets_of(PCAPS / "malformed.pcap")
        for key, report in self.check(PCAPS / "malformed.pcap", packets):
            if key == "packet":
                self.assertEqual(report["totals"]["forwarded"], len(packets))
                self.assertGreater(report["routes"][0]["reasons"]["malformed"], 500)

    def test_a_file_that_is_cut_gives_what_it_has(self):
        for _, report in self.check(PCAPS / "cut.pcap", harness.packets_of(PCAPS / "cut.pcap")):
            self.assertEqual(report["totals"]["received"], 40)


class Refusals(harness.E2eTest):
    def setUp(self):
        super().setUp()
        shutil.copy(PCAPS / "one-link.pcap", self.folder / "in.pcap")

    def document(self, **changes):
        """Return a working configuration with changes: table, or (table, key) as table__key."""
        document = harness.replay(
            [{"name": "in", "device": "net_pcap0,rx_pcap=in.pcap"},
             {"name": "out", "device": "net_pcap1,tx_pcap=out.pcap"}],
            [{"name": "f", "window": "50ms", "rate": "100kpps", "max_false_drop": 1e-6}],
            [{"from": ["in"], "to": "out", "filter": "f"}])
        for place, value in changes.items():
            table, _, key = place.partition("__")
            table = document.setdefault(table, {})
            (table[0] if isinstance(table, list) else table)[key] = value
        return document

    def assert_refused(self, result, status, *words):
        self.assertEqual((result.status, result.out), (status, ""), result)
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, result)
        self.assertTrue(lines[0].startswith("unecho: "), result)
        self.assertNotRegex(result.err, BACKTRACE)
        for word in words:
            self.assertIn(word, result.err)

    def test_the_document_itself_works(self):
        self.report(self.document())

    def test_configuration_files_that_cannot_be_read(self):
        self.assert_refused(self.run_unecho("missing.toml"), 2, "missing.toml")
        self.assert_refused(self.run_unecho(str(self.folder)), 2, str(self.folder))
        for text, place in (("[run\n", "bad.toml:1"), ("a = 1\na = 2\n", "bad.toml:2"),
                            ("\x00\xff", "bad.toml")):
            (self.folder / "bad.toml").write_text(text, encoding="latin-1")
            self.assert_refused(self.run_unecho("bad.toml"), 2, place)
        (self.folder / "bad.toml").write_text("")
        result = self.run_unecho("bad.toml")  # everything is missing, so there are several problems
        self.assertEqual((result.status, result.out), (2, ""), result)

    def test_values_that_are_not_allowed(self):
        for change, words in (
                ({"filter__window": "50"}, ("filter[0].window", "50")),
                ({"filter__widnow": "50ms"}, ("widnow", "window")),
                ({"route__to": "tool"}, ("route[0].to", "tool")),
                ({"port__device": ""}, ("port[0].device",)),
                ({"workers__lcores": [CPU_OF_OTHERS]}, ("workers.lcores", str(CPU_OF_OTHERS))),
                ({"port__rx_queues": 2}, ("port[0].rx_queues",))):
            with self.subTest(**change):
                self.assert_refused(self.run_unecho(self.document(**change)), 2, *words)

    def test_command_lines(self):
        for arguments in ((), ("walk",), ("run",), ("run", "a", "b"), ("run", "--frobnicate", "a"),
                          ("--frobnicate",)):
            with self.subTest(arguments=arguments):
                result = harness.unecho(*arguments, cwd=self.folder)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result)
                self.assertNotEqual(result.stderr, "")
                self.assertNotRegex(result.stderr, BACKTRACE)
        self.assert_refused(self.run_unecho(self.document(), "--duration", "long"), 2, "duration")
        help_text = harness.unecho("--help", check=True).stdout
        self.assertIn("run", help_text)

    def test_files_that_are_no_captures(self):
        (self.folder / "text").write_text("this is no capture, whatever its name says")
        (self.folder / "empty").write_text("")
        for name in ("text", "empty"):
            with self.subTest(file=name):
                document = self.document(port__device="net_pcap0,rx_pcap=" + name)
                self.assert_refused(self.run_unecho(document), 1, '"in"', name)

    def test_devices_that_cannot_be_opened(self):
        for device in ("net_pcap0,nonsense=1", "net_pcap0", "net_nonsense0", "0000:ff:1f.7",
                       "net_pcap0,rx_iface=no-such-if", "net_af_packet0,iface=no-such-if"):
            with self.subTest(device=device):
                document = self.document(port__device=device, run__clock="tsc")
                self.assert_refused(self.run_unecho(document), 1, '"in"')

    def test_eal_arguments_that_dpdk_refuses(self):
        for eal, word in ((("--no-huge", "--frobnicate"), "--frobnicate"),
                          (("--no-huge", "--in-memory"), "--in-memory"),
                          (("--no-huge", "--proc-type=nonsense"), "process type")):
            with self.subTest(eal=eal):
                self.assert_refused(self.run_unecho(self.document(), eal=eal), 2, word)

    def test_too_little_memory(self):
        self.assert_refused(self.run_unecho(self.document(), eal=("--no-huge", "-m", "1")), 1)

    def test_no_hugepages(self):
        wrapper = ()
        if os.geteuid() == 0 and HUGEPAGES.exists():
            wrapper = self.hide_hugepages()  # another test may reserve some meanwhile
        elif any(int(path.read_text()) for path in HUGEPAGES.glob("*/nr_hugepages")):
            self.skipTest("this machine has hugepages, and only root can hide them")
        # Ordinary pages take their place, unless the arguments want hugepages.
        result = self.run_unecho(self.document(), eal=(), wrapper=wrapper)
        self.report_of(result)
        said = [line for line in result.err.splitlines() if "hugepages" in line]
        self.assertEqual(len(said), 1, result)
        self.assertRegex(said[0], "no hugepages: ordinary pages are used, as with -- --no-huge -m [0-9]+$")
        self.assertNotIn("no hugepages", self.run_unecho(self.document(), wrapper=wrapper).err)
        self.assert_refused(self.run_unecho(self.document(), eal=("--in-memory",), wrapper=wrapper),
                            1, "no hugepages", "--no-huge")

    def hide_hugepages(self):
        """Return a wrapper in whose mount namespace the machine has the same page sizes, but no
        pages."""
        copy = self.folder / "sys"
        for path in HUGEPAGES.glob("*/*_hugepages"):
            none = copy / path.relative_to(HUGEPAGES)
            none.parent.mkdir(parents=True, exist_ok=True)
            none.write_text("0\n")
        return ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                str(copy), str(HUGEPAGES))


if __name__ == "__main__":
    harness.main()
