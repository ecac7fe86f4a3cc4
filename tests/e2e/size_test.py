#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho size: which engines it lists, and what it says to options that cannot be."""
import json
import os
import subprocess
import unittest

TARGETS = ("--window", "50ms", "--rate", "1Mpps")


def size(*options):
    return subprocess.run([os.environ["UNECHO_BIN"], "size", *TARGETS, *options],
                          capture_output=True, text=True, timeout=60, check=False)


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
        self.assertIn("4 machines for 1Mpps: each is sized for 375kpps", text)
        self.assertIn("no flow has more than 0.32 % of the packets", text)
        self.assertIn("for one machine to fail: --machines 3", text)
        self.assertNotIn("machine", size("--machines", "1").stdout)

    def test_options_that_cannot_be_are_one_line(self):
        for options, message in (
                (("--first", "3"), '--first: counts packets of a flow; it needs key "flow"'),
                (("--key", "frame", "--first", "2"), "--first: counts packets of a flow"),
                (("--key", "flow", "--first", "0"), '--first: "0"; allowed: a whole number'),
                (("--key", "flow", "--first", "65"), "from 1 to 64"),
                (("--key", "flow", "--first", "3x"), '--first: "3x"'),
                (("--max-false-drop", "2"),
                 'unecho: --max-false-drop: "2"; allowed: above 0 up to 0.5'),
                (("--machines", "0"), '--machines: "0"; allowed: 1 to 1024'),
                (("--machines", "1025"), '--machines: "1025"; allowed: 1 to 1024'),
                (("--machines", "many"), '--machines: "many"; allowed: 1 to 1024'),
                (("--machines", "-2"), "--machines"),
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
