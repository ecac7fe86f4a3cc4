#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho size: the engines that it lists, and its messages about impossible options."""
import json
import pathlib
import re
import tempfile
import unittest

import harness

TARGETS = ("--window", "50ms", "--rate", "1Mpps")
CONFIG = """
[[port]]
name = "a"
device = "net_null0"
[[port]]
name = "b"
device = "net_null1"
[[port]]
name = "tool"
device = "net_null2"
[[filter]]
name = "f"
window = "50ms"
rate = "1Mpps"
unidentified = %s
[[route]]
name = "r"
from = ["a", "b"]
to = "tool"
filter = "f"
[workers]
lcores = [0]
"""


def size(*options):
    return harness.unecho("size", *TARGETS, *options)


def engines(*options):
    done = size("--json", *options)
    assert (done.returncode, done.stderr) == (0, ""), done
    answer = json.loads(done.stdout)
    return answer["first"], {candidate["engine"] for candidate in answer["candidates"]}


class Size(unittest.TestCase):
    def test_engines_that_count_packets_are_listed_for_flows_beside_the_others(self):
        first, plain = engines()
        self.assertEqual(first, 1)
        self.assertNotIn("shbf-x", plain)
        self.assertIn("line", plain)
        self.assertEqual(engines("--key", "flow"), (1, plain))
        for key in "flow", "flow-bidir":
            self.assertEqual(engines("--key", key, "--first", "3"), (3, plain | {"shbf-x"}))
        self.assertEqual(engines("--key", "flow", "--first", "64"), (64, plain))

    def test_table_says_what_the_first_packets_are(self):
        self.assertIn("the first 3 packets of a flow pass",
                      size("--key", "flow", "--first", "3").stdout)
        self.assertNotIn("packets of a flow", size("--key", "flow").stdout)

    def test_machines_are_sized_for_their_share_and_half_more(self):
        def json_of(*options):
            return json.loads(size("--json", *options).stdout)
        plain, one, four = json_of(), json_of("--machines", "1"), json_of("--machines", "4")
        self.assertNotIn("machines", plain)
        self.assertEqual(one["candidates"], plain["candidates"])
        self.assertEqual(one["machines"]["machine_rate_pps"], 1e6)
        self.assertEqual(four["machines"]["rate_pps"], 1e6)
        self.assertEqual(four["machines"]["machine_rate_pps"], 375e3)
        self.assertEqual({c["rate_pps"] for c in four["candidates"]}, {375e3})
        self.assertLess(four["candidates"][0]["bytes"], plain["candidates"][0]["bytes"])
        self.assertLess(four["machines"]["heaviest_flow"], 0.01)
        text = size("--machines", "4").stdout
        self.assertIn("4 machines for 1 Mpps: each is sized for 375 kpps", text)
        self.assertIn("no flow has more than 0.32 % of the packets", text)
        self.assertIn("for one machine to fail: --machines 3", text)
        self.assertNotIn("machine", size("--machines", "1").stdout)

    def test_packets_without_an_id_take_what_check_says(self):
        def candidates(*options):
            return json.loads(size("--json", *options).stdout)["candidates"]
        kept, fifth, dropped = candidates(), candidates("--unidentified", "0.2"), candidates("--repeats", "drop")
        # 1 Mpps, 50 ms and two points: 100,000 looks of 72 bytes, rounded up to a power of two.
        self.assertEqual({one["repeats_bytes"] // 1024 for one in kept}, {9 * 1024})
        self.assertEqual({one["repeats_bytes"] for one in candidates("--key", "flow")}, {0})
        self.assertEqual({one["repeats_bytes"] for one in dropped}, {0})
        self.assertLess(fifth[0]["repeats_bytes"], kept[0]["repeats_bytes"] / 3)
        self.assertEqual([one["bytes"] for one in kept], [one["bytes"] for one in dropped])
        self.assertIn("for 20 % of the packets", size("--unidentified", "0.2").stdout)
        self.assertNotIn("without an ID", size("--repeats", "drop").stdout)
        with tempfile.TemporaryDirectory() as folder:
            for share in ("1", "0.2"):
                config = pathlib.Path(folder) / "size.toml"
                config.write_text(CONFIG % share, encoding="ascii")
                plan = harness.unecho("check", config).stdout
                text = size("--unidentified", share).stdout
                told = re.search(r"; (\S+ \S+) a worker", plan)[1]
                self.assertIn(told, re.split("  +", text.splitlines()[1]))

    def test_memory_is_for_both(self):
        def rate(*options):
            done = harness.unecho("size", "--window", "50ms", "--memory", "16MiB", "--json", *options,
                                  check=True)
            for one in json.loads(done.stdout)["candidates"]:
                self.assertLessEqual(one["bytes"] + one["repeats_bytes"], 16 << 20)
                self.assertTrue(one["fits"])
            return json.loads(done.stdout)["candidates"][0]["rate_pps"]
        self.assertLess(rate(), rate("--unidentified", "0.2"))
        self.assertLess(rate("--unidentified", "0.2"), rate("--repeats", "drop"))

    def test_options_that_cannot_be_are_one_line(self):
        for options, message in (
                (("--key", "frame", "--first", "2"), "--first: counts packets of a flow"),
                (("--key", "flow", "--first", "65"), "from 1 to 64"),
                (("--max-false-drop", "2"),
                 'unecho: --max-false-drop: "2"; allowed: above 0 up to 0.5'),
                (("--unidentified", "1.5"), '--unidentified: "1.5"; allowed: a number from 0 to 1'),
                (("--machines", "1025"), '--machines: "1025"; allowed: 1 to 1024'),
                (("--key", "flows"),
                 '--key: "flows" is unknown; allowed: packet, flow, flow-bidir, frame')):
            with self.subTest(options=options):
                done = size(*options)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
