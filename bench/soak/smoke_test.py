#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak runs for some seconds. Its verdict on inconsistent counts, which no run produces, is tested
directly."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def load(path):
    loader = importlib.machinery.SourceFileLoader("soak", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def refuses(soak, judge, word):
    try:
        judge()
    except soak.Broken as broken:
        assert word in str(broken), broken
    else:
        raise AssertionError("nothing was said of " + word)


def judges(soak):
    refuses(soak, lambda: soak.Soak.compare("sent", 3, 4), "3 instead of 4")
    refuses(soak, lambda: soak.Soak.at_most("copies", 3, 2), "of which 2 are explained")
    soak.Soak.at_most("copies", 3, 3)

    def samples(leak=0, warming=0, descriptors=0):
        return [{"at_s": 60 * number, "rss_kib": 400000 + leak * number + warming * (number * 7 % 5),
                 "descriptors": 20 + descriptors * number, "threads": 3} for number in range(40)]
    refuses(soak, lambda: soak.check_growth(samples(leak=150, warming=9000)), "rss_kib: never below")
    refuses(soak, lambda: soak.check_growth(samples(descriptors=1)), "descriptors: never below")
    soak.check_growth(samples(warming=9000))

    class Telling(soak.Soak):
        def __init__(self, **counts):
            self.before = {"received": 5, "new": 5}
            self.telemetry = self
            self.counts = {"received": 9, "forwarded": 8, "diverted": 0, "dropped": 1, "in_flight": 0,
                           "reasons": {"new": 8}, **counts}

        def ask(self, _):
            return self.counts
    refuses(soak, Telling(dropped=0).counters, "not accounted for")
    refuses(soak, Telling(reasons={"new": 4}).counters, "new decreases")
    Telling().counters()

    # Copies that arrived 0 to 10, 140 to 150, 150 to 160, over 310 ms late; seven within 150 ms.
    told = {"leaked_by_age": [4, *[0] * 13, 3, 9, *[0] * 15, 5]}
    for window, within in ((150, 7), (159, 7), (160, 16), (200, 16), (900, 16), (9, 0)):
        one = Telling()
        one.shortest_window = window * 1_000_000
        assert one.within_window(told) == within, (window, one.within_window(told))

    class Receiving(Telling):
        polls = 0

        def ask(self, what):
            self.polls += 1
            if "ports" in what:
                return {"rx_packets": self.polls, "rx_missed": 1, "rx_errors": 0, "rx_no_mbuf": 0}
            return {**self.counts, "received": self.polls - 1, "forwarded": self.polls - 2, "reasons": {"new": self.polls}}
    one = Receiving(reasons={})
    one.before = None
    ins, counts = one.all_received(8)
    assert ins["rx_packets"] + 1 == 8 and counts["received"] == 7, (ins, counts)


def main():
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: needs two CPUs")
        sys.exit(77)
    soak, unecho, peer = sys.argv[1:]
    judges(load(soak))
    with tempfile.TemporaryDirectory(prefix="unecho-") as folder:
        path = pathlib.Path(folder) / "told.json"
        # Stops and the load of other tests may outlast a window on few CPUs, so no stop is
        # requested.
        subprocess.run([soak, "--unecho", unecho, "--peer", peer, "--minutes", "0.2", "--rest", "5",
                        "--without", "stop", "--json", path], check=True)
        told = json.loads(path.read_text())
    assert told["last"]["received"] > 0 and told["rests"] >= 2, told
    assert told["events"]["stop"] == 0, told


if __name__ == "__main__":
    main()
