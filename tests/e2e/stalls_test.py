#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A process that pauses under traffic reports that in its log, in telemetry and in the final table,
and also how it spends its time otherwise. net_null supplies packets without end."""
import re
import signal
import time

import harness
from harness import MS, SECOND

STOPPED = 300 * MS
STALL = r"worker 0 on lcore \d+ was held up for (\S+ [mun]?s)( in \w+)?"


def duration(text):
    """Parse a duration of the log; return nanoseconds."""
    return harness.exact_answer.duration(text.replace(" ", ""))


class Stalls(harness.E2eTest):
    def document(self, **run):
        return {"port": [{"name": "in", "device": "net_null0"},
                         {"name": "out", "device": "net_null1"}],
                "filter": [harness.filter_("f", "1ms", engine="line")],
                "route": [{"from": ["in"], "to": "out", "filter": "f"}],
                "run": {"mbufs": 8191, **run}}

    def stand_still(self, running):
        """Stop the process; return begin and end by the system's clock."""
        before = time.time_ns()
        running.send(signal.SIGSTOP)
        time.sleep(STOPPED / SECOND)
        after = time.time_ns()
        running.send(signal.SIGCONT)
        return before, after

    def test_time_is_busy_or_idle_and_every_poll_has_its_time(self):
        running = self.start(self.document(), "--json")
        with running, self.telemetry(running) as telemetry:
            harness.wait_for(lambda: telemetry.ask("/unecho/counters")["received"] > 10_000,
                             "packets")
            running.interrupt()
            report = self.report_of(running.finish())
        (worker,) = report["workers"]
        self.assertGreater(worker["busy_ns"], 0)
        self.assertLessEqual(worker["busy_ns"] + worker["idle_ns"], report["uptime_ns"])
        self.assertEqual(sum(worker["poll_times"].values()), worker["polls"])
        self.assertEqual(len(report["stalls"]), 1)
        self.assertGreaterEqual(worker["stalls"], len(report["stalls"][0]))
        self.assertEqual([event["number"] for event in report["events"]],
                         list(range(1, len(report["events"]) + 1)))
        self.assertEqual(report["events"][0]["kind"], "start")

    def test_standing_still_is_in_log_telemetry_and_table(self):
        """The threshold is one that nothing else reaches, even on a busy machine."""
        running = self.start(self.document(stall_threshold="200ms"))
        with running, self.telemetry(running) as telemetry:
            harness.wait_for(lambda: telemetry.ask("/unecho/counters")["received"] > 10_000,
                             "packets")
            known = telemetry.ask("/unecho/stalls,0")
            before, after = self.stand_still(running)

            def stalls():
                return [stall for number, stall in telemetry.ask("/unecho/stalls,0").items()
                        if number not in known]
            (stall,) = harness.wait_for(stalls, "a stall")[:1]
            self.assertGreaterEqual(stall["took_ns"], STOPPED * 9 // 10, stall)
            # The poll in which it was stopped had begun before.
            self.assertLess(stall["unix_ns"], after)
            self.assertGreater(stall["unix_ns"] + stall["took_ns"], before + STOPPED * 9 // 10)
            self.assertNotIn("queued_after", stall)  # net_null does not report it
            # A worker's counters may have been copied just before the stall was told.
            worker = harness.wait_for(
                lambda: [one for one in [telemetry.ask("/unecho/workers,0")]
                         if one["stalls"] > len(known)], "a counted stall")[0]
            bucket = next(("below_%d_ns" % 2**bits for bits in range(28, 33)
                           if stall["took_ns"] < 2**bits), "longer")
            self.assertGreaterEqual(worker["poll_times"][bucket], 1)
            event = harness.wait_for(
                lambda: [event for event in telemetry.ask("/unecho/events").values()
                         if event["kind"] == "stall"], "an event")[-1]
            self.assertRegex(event["text"], STALL)
            running.interrupt()
            result = running.finish()
        self.assertEqual(result.status, 0, result)
        told = re.findall("unecho: " + STALL, result.err)
        self.assertTrue(any(duration(took) >= STOPPED * 9 // 10 for took, _ in told), result.err)
        table = result.out[result.out.index("longest stalls"):]
        _, _, _, *took = table.splitlines()[1].split()[:5]  # worker, after with its unit, took
        took = duration("".join(took))
        self.assertGreaterEqual(took, STOPPED * 9 // 10, table)


if __name__ == "__main__":
    harness.main()
