#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""After a kill without clean-up, leftovers do not keep the next process from starting in the same
runtime folder under the same name."""
import signal

import harness

EAL = (*harness.EAL_ARGS, "--file-prefix=killed")


class Killed(harness.E2eTest):
    def test_and_started_again_with_sockets_of_its_own(self):
        document = {"eal": {"args": []},
                    "port": [{"name": name, "device": "net_memif%d,role=server,id=0,socket=%s,socket-abstract=no"
                                                      % (number, self.folder / (name + ".sock"))}
                             for number, name in enumerate(("in", "out"))],
                    "filter": [harness.filter_("f", "1ms", engine="line")],
                    "route": [{"from": ["in"], "to": "out", "filter": "f"}],
                    "run": {"name": "killed", "mbufs": 8191}}
        with self.start(document, eal=EAL) as running:
            with self.telemetry(running) as telemetry:
                first = telemetry.ask("/unecho/info")
            running.send(signal.SIGKILL)
            self.assertEqual(running.finish().status, -signal.SIGKILL)
        left = [path for path in self.folder.rglob("*") if path.is_socket()]
        self.assertGreater(len(left), 0, "nothing was left, so nothing was tested")
        with self.start(document, "--json", eal=EAL) as running:
            with self.telemetry(running) as telemetry:
                again = telemetry.ask("/unecho/info")
                self.assertNotEqual(again["pid"], first["pid"])
                self.assertGreater(again["start_unix_ns"], first["start_unix_ns"])
                own = ("pid", "start_unix_ns", "uptime_ns")
                self.assertEqual({name: again[name] for name in again if name not in own},
                                 {name: first[name] for name in first if name not in own})
                self.assertEqual(len(list(self.folder.glob("dpdk/*/dpdk_telemetry.v2"))), 1)
            running.interrupt()
            self.report_of(running.finish())


if __name__ == "__main__":
    harness.main()
