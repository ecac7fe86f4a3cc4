# SPDX-License-Identifier: BSD-3-Clause
"""Makes calls fail by a preloaded library (tests/support/failing_calls.h). A shared file says which
calls fail, and counts them."""
import mmap
import os
import pathlib
import re
import struct
import time

# In the order of failing_calls.h.
KINDS = ("none", "allocate", "open", "read", "write", "close", "rename", "map", "thread", "socket", "send",
         "receive", "wait", "control", "interrupt", "dpdk", "mbuf", "full", "listen")
NAME = 5 * 8
SIZE = NAME + 64
LEAKS = pathlib.Path(__file__).resolve().parents[1] / "support" / "failing_leaks.txt"
ALWAYS = 2**40  # every call from the first failing one on
# Left by a process that cannot recover, as by a killed one; its successor removes them.
SOCKETS = {"dpdk/faults/mp_socket", "dpdk/faults/dpdk_telemetry.v2", "memif.sock"}
ABRUPT = ("unecho: no memory is left", "unecho: DPDK gave up: ")
HELD_UP = re.compile(r"unecho: worker \d+ on lcore \d+ was held up")  # logged on a slow machine
EVERY = os.environ.get("UNECHO_EVERY_CALL") == "1"


class Failing:
    """The shared file, and the environment of a process that uses it."""

    def __init__(self, path):
        self._path = pathlib.Path(path)
        self._path.write_bytes(bytes(SIZE))
        with open(self._path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)

    def environment(self):
        # The program that symbolises a sanitizer's report would load the library too. The
        # sanitizer's runtime, if it is a library, need not come first.
        return {"LD_PRELOAD": os.environ["UNECHO_FAILING_CALLS"], "FAIL_CONTROL": str(self._path),
                "ASAN_OPTIONS": "symbolize=0:verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""),
                "LSAN_OPTIONS": "print_suppressions=0:suppressions=%s" % LEAKS}

    def set(self, kind, number=0, many=1, others=False):
        """From now on, calls from `number` on fail, `many` of them; 0: they are only counted.
        others: count calls of all threads but the first."""
        struct.pack_into("=q", self._map, 0, 0)
        self._map[NAME:SIZE] = bytes(SIZE - NAME)
        struct.pack_into("=qqqqq", self._map, 0, 0, number, many, 0, others)
        struct.pack_into("=q", self._map, 0, KINDS.index(kind))

    def off(self):
        """Stop, and return the number of calls."""
        struct.pack_into("=q", self._map, 0, 0)
        return struct.unpack_from("=q", self._map, 24)[0]

    def failed(self):
        """Return the name of the last call that failed; empty if none did."""
        return self._map[NAME:SIZE].rstrip(b"\0").decode()


def numbers(calls, runs):
    """Return the numbers of calls to fail: all if every call is wanted, otherwise `runs`, evenly
    spread."""
    return range(1, calls + 1, 1 if EVERY else max(1, calls // runs))


def told(text):
    """Return the lines without what differs from run to run."""
    return {re.sub(r"[\d.]+", "N", line) for line in text.splitlines()}


def descriptors_at_rest(pid):
    """Return the descriptors once those of former clients are closed."""
    seen = []
    while len(seen) < 4 or seen[-4:] != 4 * seen[-1:]:
        seen.append(descriptors(pid))
        time.sleep(0.05)
    return seen[-1]


def descriptors(pid):
    """Return what a process has open: counts by kind."""
    found = {}
    folder = pathlib.Path("/proc/%d/fd" % pid)
    for link in folder.iterdir():
        try:
            kind = re.sub(r"\d+", "N", os.readlink(link))
        except FileNotFoundError:
            continue
        found[kind] = found.get(kind, 0) + 1
    return found
