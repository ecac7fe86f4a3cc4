#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unecho compare on captures of both sides of a path that loses packets of real hosts. The path
records what it lost; tcpdump's timestamps give the delays."""
import collections
import json
import os

import labs
import repeats_test
import wire
from capturing import CaptureTest
from lossy_path import LEFT, RIGHT, LossyPath, is_tcp
from wire import exact_answer, harness


def read_packets(path):
    return exact_answer.Capture(path)


@wire.needs_namespaces
class Compare(repeats_test.Hosts):
    """Two hosts that speak TCP through the path, tcpdump on both sides of it."""

    tcpdump = CaptureTest.tcpdump

    def compare(self, *arguments):
        done = harness.unecho("compare", *arguments, "--json", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def lose(self, every, family):
        """Return the captures of both sides and what the path was given."""
        left, end_left = self.tcpdump(self.one.outside)
        right, end_right = self.tcpdump(self.two.outside)
        path = LossyPath(self, self.one.outside, self.two.outside, every)
        # A first and a last exchange of which nothing is lost, so that the ends are clear.
        self.one.run("ping", "-q", "-c", "3", "-i", "0.2", labs.underlay(family, 2))
        self.transfer(family, 1_500_000)
        self.one.run("ping", "-q", "-c", "3", "-i", "0.2", labs.underlay(family, 2))
        sent = path.end()
        end_left()
        end_right()
        return left, right, sent

    def assert_is_true(self, result, sent):
        pair = result["pairs"][0]
        self.assertEqual(pair["clock"]["relation"], "agree")
        for side, path in zip((LEFT, RIGHT), pair["paths"]):
            mine = [one for one in sent if one.side == side]
            self.assertEqual(path["missing"], sum(one.lost for one in mine))
            self.assertEqual(path["sent"] + path["not_judged"], len(mine))
            self.assertLessEqual(path["not_judged"], 4)
            self.assertEqual(path["unannounced"], 0)
        # One side alone shows packets that a host's kernel sent before the path began or after
        # its end.
        passed = [sum(one.side == side or not one.lost for one in sent) for side in (LEFT, RIGHT)]
        strays = [point["packets"] - of for point, of in zip(result["points"], passed)]
        self.assertLessEqual(pair["only_a"], strays[0])
        self.assertLessEqual(pair["only_b"], strays[1])
        self.assertLessEqual(sum(strays), 8)

    def assert_delays(self, result, left, right):
        """TCP segments that came once on each side have one possible delay. Pings stand around the
        transfer, so all of these are judged."""
        times = [collections.defaultdict(list) for _ in range(2)]
        for path, seen in zip((left, right), times):
            for packet in read_packets(path):
                if is_tcp(packet.data):
                    seen[packet.data].append(packet.time)
        once = [times[1][frame][0] - seen[0] for frame, seen in times[0].items()
                if len(seen) == 1 == len(times[1][frame])]
        there, back = [d for d in once if d > 0], [-d for d in once if d < 0]
        for delays, path in zip((there, back), result["pairs"][0]["paths"]):
            self.assertLessEqual(path["delay"]["min_ns"], min(delays))
            self.assertGreaterEqual(path["delay"]["max_ns"], max(delays))
            middle = sorted(delays)[len(delays) // 2]
            self.assertLess(abs(path["delay"]["median_ns"] - middle), 0.2 * middle + 20_000)

    def test_what_is_missing_is_what_the_path_lost(self):
        for family, every in ((4, 100), (6, 100), (4, 17)):
            with self.subTest(family=family, every=every):
                left, right, sent = self.lose(every, family)
                self.assertGreater(sum(one.lost for one in sent), 0)
                result = self.compare(left, right)
                self.assert_is_true(result, sent)
                self.assert_delays(result, left, right)
                lost = self.folder / "lost.pcap"
                self.compare(left, right, "--missing", lost)
                written = collections.Counter(packet.data for packet in read_packets(lost))
                self.assertEqual(sum(written.values()), sum(one.lost for one in sent))
                self.assertFalse(written - collections.Counter(one.frame for one in sent))
                os.remove(left)
                os.remove(right)


if __name__ == "__main__":
    harness.main()
