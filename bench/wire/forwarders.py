# SPDX-License-Identifier: BSD-3-Clause
"""unecho and dpdk-testpmd on the same vdevs and the same CPU, for wire_bench and latency_bench."""
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "e2e")]
import harness  # noqa: E402

TESTPMD = ("io", "5tswap")
START_TIMEOUT = 30
MBUFS = 65535
# The filter of every row, fixed in case `auto` chooses another engine one day.
LINE = {"engine": "line"}


class Failed(Exception):
    pass


class Forwarder:
    """A running process with DPDK and the counters of its ports."""

    def __init__(self, command, folder, prefix):
        self._runtime = folder / prefix
        self._runtime.mkdir()
        self._log = open(folder / (prefix + ".log"), "w+")
        self._out = open(folder / (prefix + ".out"), "w+")
        self.process = subprocess.Popen(
            [*command[0], "--file-prefix=" + prefix, *command[1]], stdin=subprocess.PIPE, text=True,
            stdout=self._out, stderr=self._log,
            env=dict(os.environ, RUNTIME_DIRECTORY=str(self._runtime)))

    def received(self, port):
        """Return the packets received so far, and the time of that reading."""
        def ask():
            for path in self._runtime.glob("dpdk/*/dpdk_telemetry.v2*"):
                with harness.Telemetry(path) as telemetry:
                    stats = telemetry.ask("/ethdev/stats,%d" % port)
                    if stats is not None:  # otherwise the port has not started yet
                        return stats["ipackets"], time.monotonic()
            if self.process.poll() is not None:
                raise Failed(self.log())
            return None
        return harness.wait_for(ask, "counters of " + " ".join(self.process.args), START_TIMEOUT)

    def log(self):
        self._log.seek(0)
        return self._log.read()

    def dropped(self):
        """Return the share of echoes that unecho reported when it ended."""
        self._out.seek(0)
        report = json.load(self._out)
        return report["reasons"]["echo"] / report["totals"]["received"]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.communicate("\n", timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self._serial = 0
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            raise Failed("needs two CPUs")
        self.other, self.cpu = cpus[0], cpus[1]
        self.memory = ["--no-huge", "-m", "1024"] if options.no_huge else ["--in-memory", "-m", "700"]

    def start(self, *command):
        self._serial += 1
        return Forwarder(command, self.folder, "wb%d-%d" % (os.getpid(), self._serial))

    def testpmd(self, mode, vdevs, cpu, *arguments):
        """Start testpmd. Its main lcore sleeps, so it may share a CPU."""
        return self.start(
            ["dpdk-testpmd", "--lcores", "0@%d,1@%d" % (self.other, cpu), "--no-pci", *self.memory,
             *("--vdev=" + vdev for vdev in vdevs)],
            ["--", "--forward-mode=" + mode, "--nb-cores=1", "--burst=32", "--rxd=1024", "--txd=1024",
             "--total-num-mbufs=%d" % MBUFS, "--no-flush-rx", *arguments])

    def unecho(self, program, vdevs, filter_fields):
        document = {
            "port": [{"name": name, "device": vdev, "rx_descriptors": 1024, "tx_descriptors": 1024}
                     for name, vdev in zip(("in", "out"), vdevs)],
            "filter": [{"name": "echo", **LINE, **filter_fields}],
            "route": [{"from": ["in"], "to": "out", "filter": "echo"}],
            "workers": {"lcores": [self.cpu]}, "control": {"lcore": self.other},
            "run": {"mbufs": MBUFS}}
        path = self.folder / ("unecho-%d.toml" % self._serial)
        path.write_text(harness.toml(document))
        return self.start([program, "run", str(path), "--json", "--", "--no-pci",
                           *self.memory], [])

    def forwarder(self, name, vdevs, filter_fields):
        programs = {"unecho": self.options.unecho, "before": self.options.before}
        return self.unecho(programs[name], vdevs, filter_fields) if name in programs \
            else self.testpmd(name, vdevs, self.cpu)


def machine():
    text = subprocess.run(["lscpu", "-J"], capture_output=True, text=True, check=True).stdout
    fields = {each["field"]: each["data"] for each in json.loads(text)["lscpu"]}
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12",
                             "--exclude=*"], capture_output=True, text=True, check=False).stdout
    return {"cpu": fields.get("Model name:", platform.machine()), "cpus": os.cpu_count(),
            "l3": fields.get("L3 cache:", ""), "kernel": platform.release(),
            "commit": commit.strip()}
