# SPDX-License-Identifier: BSD-3-Clause
"""A link whose interfaces are also in a kernel bridge (examples/fail_open), and numbered packets at
a steady pace across it: which are lost, and which arrive twice."""
import collections
import signal
import struct
import sys
import time

import wire
from wire import Host, harness, udp_frame

SCRIPT = harness.ROOT / "examples" / "fail_open"
# Both programs keep their results until the end: a full pipe would block them.
_SEND = """
import signal, socket, sys, time
data, size, pause = open(sys.argv[1], "rb").read(), int(sys.argv[2]), float(sys.argv[3])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("in0", 0))
sent, due = [], time.monotonic()
for at in range(0, len(data), size):
    sent.append(time.monotonic())
    out.send(data[at:at + size])
    due += pause
    rest = due - time.monotonic()
    if rest > 0:
        time.sleep(rest)
    if stop:
        break
print(*sent)
"""
_RECEIVE = """
import os, socket, struct, sys, time
ETH_P_IP, SO_RCVBUFFORCE, NUMBER_AT = 0x0800, 33, 42
last, port, end, patience = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3], float(sys.argv[4])
given = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
given.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
given.bind(("in0", ETH_P_IP))
given.settimeout(0.05)
print("ready", flush=True)
came, highest, until = [], -1, None
while highest != last:
    try:
        frame, where = given.recvfrom(2048)
    except TimeoutError:
        if until is None and os.path.exists(end):  # nothing more is sent
            last, until = int(open(end).read()), time.monotonic() + patience
        if until is not None and time.monotonic() > until:
            break
        continue
    if where[2] != socket.PACKET_OUTGOING and frame[36:38] == port:
        of, = struct.unpack_from(">Q", frame, NUMBER_AT)
        if of <= last:  # others are the test's own
            highest = max(highest, of)
            came.append((of, time.monotonic()))
print(*(word for row in came for word in row))
"""
NUMBER_AT = 42
Gap = collections.namedtuple("Gap", "packets begin end")  # from the packet before it to the next one
PATIENCE = 5  # s to wait for the last packet, which may be lost


class Probes:
    """Sends one packet each pause (s), for so long (s) or until stopped. Or sends the given frames,
    one of which has the last number."""

    def __init__(self, test, sender, receiver, pause, duration, frames=None, last=None):
        frames = frames or [udp_frame(number, size=22) for number in range(round(duration / pause))]
        path = test.folder / "probes"
        path.write_bytes(b"".join(frames))
        self._frames, self._end_file = frames, test.folder / "probes-end"
        self.pause = pause
        port = struct.pack(">H", wire.PORT).hex()
        self._receiver = receiver.start(sys.executable, "-c", _RECEIVE,
                                        len(frames) - 1 if last is None else last, port,
                                        self._end_file, PATIENCE)
        test.addCleanup(self._end, self._receiver)
        assert self._receiver.stdout.readline() == "ready\n", self._receiver.stderr.read()
        self._sender = sender.start(sys.executable, "-c", _SEND, path, len(frames[0]), pause)
        test.addCleanup(self._end, self._sender)

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def stop(self):
        """Stop sending."""
        self._sender.send_signal(signal.SIGTERM)

    def finish(self):
        """Return when each packet was sent, and all arrivals: (number, time)."""
        sent = self._sender.communicate(timeout=600)[0].split()
        written = self._end_file.with_suffix(".new")
        written.write_text("%d" % max(struct.unpack_from(">Q", frame, NUMBER_AT)[0]
                                      for frame in self._frames[:len(sent)]))
        written.rename(self._end_file)
        came = self._receiver.communicate(timeout=600)[0].split()
        return list(map(float, sent)), list(zip(map(int, came[::2]), map(float, came[1::2])))


def gaps(sent, came):
    """Return the runs of packets that never arrived."""
    when = dict(reversed(came))
    found, first = [], None
    for number in range(len(sent) + 1):
        if number < len(sent) and number not in when:
            first = number if first is None else first
        elif first is not None:
            found.append(Gap(number - first, sent[first], when.get(number, sent[-1])))
            first = None
    return found


def slowest(sent, came):
    """Return the longest time that a packet took."""
    return max(when - sent[number] for number, when in came)


def times_twice(came):
    return len(came) - len({number for number, _ in came})


class Link:
    """Two hosts, and between them a third one whose interfaces l0 and r0 are in a bridge."""

    def __init__(self, test):
        self._test = test
        self.one, self.two, self.box = Host(test, 1), Host(test, 2), Host(test, 3)
        self.one.move_outside(self.box, "l0")
        self.two.move_outside(self.box, "r0")
        self.box.run(SCRIPT, "up", "l0", "r0")

    def start(self, eal=harness.EAL_ARGS, wrapper=(), **options):
        """Start unecho on the link; return once its workers poll."""
        document = wire.link("net_af_xdp0,iface=l0", "net_af_xdp1,iface=r0", **options)
        running = self._test.start(document, "--json", eal=eal,
                                   wrapper=("ip", "netns", "exec", self.box.name, *wrapper))
        self._test.addCleanup(running.__exit__)
        self._test.wait_until_running(running)
        return running

    def kill(self, running):
        """Kill it; return when, and when the kernel had released everything."""
        begin = time.monotonic()
        running.send(signal.SIGKILL)
        running.finish()
        return begin, time.monotonic()

    def answers(self):
        """Return True if the other host answers."""
        return self.one.run("ping", "-q", "-c", 1, "-W", 1, self.two.address,
                            check=False).returncode == 0
