#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""testpmd replays a capture into memif, unecho drops the echoes, testpmd writes what comes back."""
import os
import subprocess

import wire
from wire import exact_answer, harness

ROOM = 14  # log2 of the rings' size: one holds the whole capture
MEMIF_PORTS = (1, 2)  # of testpmd


@wire.needs("dpdk-testpmd")
class Memif(wire.WireTest):
    def sockets(self):
        return self.folder / "in.sock", self.folder / "out.sock"

    def config(self):
        sockets = self.sockets()
        ports = [{"name": name, "device": "net_memif%d,role=server,id=0,socket=%s,"
                                          "socket-abstract=no,rsize=%d" % (number, path, ROOM),
                  "rx_descriptors": 16384, "tx_descriptors": 16384}
                 for number, (name, path) in enumerate(zip(("in", "out"), sockets))]
        return {"port": ports,
                "filter": [{"name": "echo", "window": "60s", "rate": "1kpps"}],
                "route": [{"from": ["in"], "to": "out", "filter": "echo"}],
                "run": {"mbufs": 131071}}

    def replay(self, capture, output):
        """testpmd's ports pair 0<->1 and 2<->3: the capture goes into one memif, and the other one
        into a file."""
        sockets = self.sockets()
        cpus = os.sched_getaffinity(0)
        vdevs = ["net_pcap0,rx_pcap=%s" % capture,
                 "net_memif0,role=client,id=0,socket=%s,socket-abstract=no,rsize=%d"
                 % (sockets[0], ROOM),
                 "net_memif1,role=client,id=0,socket=%s,socket-abstract=no,rsize=%d"
                 % (sockets[1], ROOM),
                 "net_pcap1,tx_pcap=%s" % output]
        command = ["dpdk-testpmd", "--lcores", "0@%d,1@%d" % (min(cpus), max(cpus)),
                   "--no-pci", "--no-huge", "-m",
                   "1024", "--file-prefix=pmd-%d" % os.getpid(), *("--vdev=" + v for v in vdevs),
                   "--", "-i", "--nb-cores=1", "--total-num-mbufs=65536", "--no-flush-rx"]
        testpmd = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env=dict(os.environ, RUNTIME_DIRECTORY=str(self.folder / "pmd")))
        self.addCleanup(lambda: testpmd.poll() is None and testpmd.kill())
        return testpmd

    def wait_for_links(self, telemetry):
        """Wait until both processes see both links up: each learns of a link by itself."""
        def linked():
            return all(p["link_up"] for p in telemetry.ask("/unecho/ports").values())
        harness.wait_for(linked, "unecho's links")
        [path] = harness.wait_for(
            lambda: list(self.folder.glob("pmd/dpdk/*/dpdk_telemetry.v2")), "testpmd's telemetry")
        with harness.wait_for(lambda: harness.Telemetry(path), "testpmd's answer") as testpmd:
            for port in MEMIF_PORTS:
                command = "/ethdev/link_status,%d" % port
                harness.wait_for(lambda: testpmd.ask(command)["status"] == "UP", command)

    def wait_for_output(self, telemetry, received):
        harness.wait_for(lambda: self.assert_consistent(telemetry)["received"] >= received,
                         "%d packets" % received)

    def test_one_link(self):
        capture = harness.PCAPS / "one-link.pcap"
        (self.folder / "pmd").mkdir()
        packets = harness.packets_of(capture)
        parted = harness.part(packets, window=None, key="packet")
        output = self.folder / "back.pcap"
        running = self.start(self.config(), "--json", eal=(
            "--no-pci", "--no-huge", "-m", "1024"))
        self.addCleanup(running.__exit__)
        self.wait_until_running()
        testpmd = self.replay(capture, output)
        with self.telemetry() as telemetry:
            # Both links must be up before the capture starts, or its first packets are lost.
            self.wait_for_links(telemetry)
            # A server can send only into buffers that its client gives when it first polls, so
            # testpmd polls the link that unecho sends on before it reads the capture.
            testpmd.stdin.write("set burst tx delay 10 retry 10000\nset portlist 2,3,0,1\n"
                                "set fwd io retry\nstart\n")
            testpmd.stdin.flush()
            self.wait_for_output(telemetry, len(packets))
            harness.wait_for(
                lambda: output.exists() and len(written(output)) >= len(parted.kept), "output")
        # unecho first: a polling memif port does not survive the end of its peer.
        running.interrupt()
        report = self.report_of(running.finish())
        testpmd.stdin.write("stop\nquit\n")
        testpmd.communicate(timeout=harness.PATIENCE)
        self.assertEqual(harness.nonzero(report["reasons"]), parted.counts)
        self.assert_frames(harness.frames_of(output), parted.kept)


def written(path):
    """Return the frames flushed so far; the file may end within a frame."""
    try:
        return harness.frames_of(path)
    except exact_answer.CaptureError:
        return []


if __name__ == "__main__":
    harness.main()
