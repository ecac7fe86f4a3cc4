#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a service manager sees of a run: its log, as text, JSON and with the journal's priorities."""
import json
import os
import re

import harness

# As systemd says it of a service whose standard error is the journal: here it is the test's pipe.
JOURNAL = ("sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /dev/fd/2) exec "$@"', "sh")
RUNNING = r"running with 1 worker\(s\), 1 route\(s\); stop with Ctrl-C"


def document(out="net_null1", **run):
    return {"port": [{"name": "in", "device": "net_null0"}, {"name": "out", "device": out}],
            "filter": [harness.filter_("f", "1ms", engine="line")],
            "route": [{"from": ["in"], "to": "out", "filter": "f"}],
            "run": {"mbufs": 8191, **run}}


class Log(harness.E2eTest):
    def lines(self, *arguments, config=None, status=0, **options):
        result = self.run_unecho(config or document(duration="10ms"), *arguments, **options)
        self.assertEqual(result.status, status, result)
        self.assertTrue(result.err.endswith("\n"), result)
        return result.err.splitlines()

    def broken(self):
        path = self.folder / "broken.toml"
        path.write_text("[run]\nburst = 1\nname = 7\n")
        return path

    def test_text_has_the_programs_name_and_no_priorities(self):
        lines = self.lines()
        self.assertTrue(all(line.startswith("unecho: ") for line in lines), lines)
        self.assertTrue(any(re.fullmatch("unecho: " + RUNNING, line) for line in lines), lines)

    def test_the_journal_gets_the_priority_of_each_line(self):
        lines = self.lines(wrapper=JOURNAL)
        self.assertTrue(all(re.match("<[3-6]>unecho: ", line) for line in lines), lines)
        self.assertTrue(any(re.fullmatch("<6>unecho: " + RUNNING, line) for line in lines), lines)
        lines = self.lines(config=self.broken(), status=2, wrapper=JOURNAL)
        self.assertGreater(len(lines), 1)
        self.assertTrue(all(line.startswith("<3>") for line in lines), lines)

    def test_another_stream_than_the_journals_gets_none(self):
        elsewhere = ("env", "JOURNAL_STREAM=1:1")
        for line in self.lines(wrapper=elsewhere):
            self.assertTrue(line.startswith("unecho: "), line)

    def test_json_is_an_object_a_line(self):
        events = [json.loads(line) for line in self.lines("--log-format", "json")]
        for event in events:
            self.assertEqual(set(event), {"time", "severity", "event", "message"}, event)
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        told = [event for event in events if re.fullmatch(RUNNING, event["message"])]
        self.assertEqual([event["severity"] for event in told], ["info"], events)
        # An error too, whole: it is the last line.
        events = [json.loads(line) for line in
                  self.lines("--log-format", "json", config=self.broken(), status=2)]
        self.assertEqual([event["severity"] for event in events], ["error"], events)
        self.assertIn("burst", events[0]["message"])

    def test_json_has_the_journals_priority_before_it(self):
        for line in self.lines("--log-format", "json", wrapper=JOURNAL):
            priority, text = re.fullmatch(r"<(\d)>(.*)", line).groups()
            severity = json.loads(text)["severity"]
            self.assertEqual(severity, {"3": "error", "4": "warning", "5": "notice",
                                        "6": "info"}[priority])

    def test_a_form_that_there_is_not_is_refused_by_name(self):
        lines = self.lines("--log-format", "xml", status=2)
        self.assertEqual(lines, ['unecho: --log-format: "xml" is unknown; allowed: text, json'])

    def test_a_reader_that_does_not_read_holds_nothing_up(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        # It is the program's standard error, not the wrapper's.
        full = ("sh", "-c", 'exec "$@" 2>/proc/%d/fd/%d' % (os.getpid(), writer), "sh")
        try:
            report = self.report(document(duration="10ms"), wrapper=full)
        finally:
            os.close(writer)
        self.assertGreater(report["totals"]["received"], 0)


if __name__ == "__main__":
    harness.main()
