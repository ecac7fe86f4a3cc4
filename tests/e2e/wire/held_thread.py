# SPDX-License-Identifier: BSD-3-Clause
"""Keeps a thread of another process from running, as a hypervisor or a busy CPU does: it is stopped
by ptrace for a while, again and again. It runs on when this program ends."""
import ctypes
import os
import pathlib
import subprocess
import sys
import time

PTRACE_CONT, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 0x4206, 0x4207
WALL = 0x40000000  # threads of other processes, too


def threads_of(pid):
    """Return {name: thread}."""
    return {(path / "comm").read_text().strip(): int(path.name)
            for path in pathlib.Path("/proc/%d/task" % pid).iterdir()}


class HeldThread:
    """held: seconds for which it is stopped, every time; free: seconds between, 0 for none."""

    def __init__(self, thread, held, free=0):
        self._process = subprocess.Popen(
            [sys.executable, "-B", __file__, str(thread), str(held), str(free)],
            stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "held\n":
            raise AssertionError("the thread %d cannot be held" % thread)

    def release(self):
        """It may be called again."""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def main(thread, held, free):
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    ptrace.restype = ctypes.c_long

    def ask(what):
        if ptrace(what, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def stop():
        ask(PTRACE_INTERRUPT)
        os.waitpid(thread, WALL)
    ask(PTRACE_SEIZE)
    stop()
    print("held", flush=True)
    while True:
        time.sleep(held)
        if free:
            ask(PTRACE_CONT)
            time.sleep(free)
            stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
