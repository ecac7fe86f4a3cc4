#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unchanged examples/shards with their schedulers: GNU parallel, Slurm, and the command of a
pod of the indexed Kubernetes Job. Merged, their results equal those of one process, packet by
packet, even if a task is killed half-way and runs again.

Slurm is Debian's: munged, slurmctld and slurmd run as root in a folder and on ports of the test.
Kubernetes is not present: the test reads its file and runs the command as kubelet would.
"""
import os
import shutil
import socket
import subprocess
import sys
import unittest

import harness
from harness import ROOT
from shard_test import assert_same, records_of

SHARDS = ROOT / "examples" / "shards"
WINDOW = ("--window", "10ms")
TIMEOUT = 240  # for what takes a second on an idle machine


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class RecipeTest(harness.E2eTest):
    def setUp(self):
        super().setUp()
        if shutil.which("mergecap") is None:
            self.skipTest("no mergecap")
        self.capture = self.folder / "in.pcap"
        subprocess.run([sys.executable, ROOT / "bench/captures/traffic.py", self.capture,
                        "--packets", "30000"], check=True, timeout=harness.PATIENCE)
        one = self.folder / "one.pcap"
        self.check_run([os.environ["UNECHO_BIN"], "pcap", self.capture, *WINDOW, "--engine", "exact",
                        "-o", one, "-F", "nsecpcap", "--quiet"])
        self.whole = records_of(one)
        self.assertLess(len(self.whole), 30_000)
        self.out = self.folder / "out"

    def check_run(self, command, **more):
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                timeout=TIMEOUT, stdin=subprocess.DEVNULL, **more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def records(self, path):
        out = self.folder / "merged.nsec"
        self.check_run(["mergecap", "-F", "nsecpcap", "-w", out, path])
        return records_of(out)

    def assert_merged(self):
        assert_same(self, self.records(self.out / "merged.pcapng"), self.whole)
        sizes = [len(self.records(path)) for path in sorted(self.out.glob("part-*.pcapng"))]
        self.assertEqual(len(sizes), 3)
        self.assertEqual(sum(sizes), len(self.whole))
        self.assertGreater(min(sizes), 0)
        self.assertEqual((self.out / "seed").stat().st_mode & 0o777, 0o600)
        seed = (self.out / "seed").read_text().strip()
        for path in self.folder.rglob("*"):  # such as the commands in GNU parallel's joblog
            if path.is_file() and path.suffix not in (".pcap", ".pcapng", ".nsec"):
                self.assertEqual(seed in path.read_text(errors="replace"), path.name == "seed", path)

    def wrapper(self, text):
        """Write a program that runs in place of unecho."""
        path = self.folder / "unecho"
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)
        return dict(os.environ, UNECHO=str(path))


@unittest.skipUnless(shutil.which("parallel"), "no GNU parallel")
class GnuParallelTest(RecipeTest):
    def command(self):
        return [SHARDS / "gnu_parallel", 3, self.out, self.capture, *WINDOW]

    def test_what_failed_is_done_again_and_nothing_else(self):
        ran = self.folder / "ran"
        environment = self.wrapper('''
            case "$*" in *"--shard 2/3"*)
                mkdir %s/first 2>/dev/null && kill -9 $$ ;;
            esac
            echo "$*" >>%s
            exec %s "$@"\n''' % (self.folder, ran, os.environ["UNECHO_BIN"]))
        failed = subprocess.run(list(map(str, self.command())), env=environment, timeout=TIMEOUT,
                                capture_output=True, stdin=subprocess.DEVNULL)
        self.assertNotEqual(failed.returncode, 0)
        self.assertFalse((self.out / "merged.pcapng").exists())
        self.check_run(self.command(), env=environment)
        self.assert_merged()
        shards = [line.split("--shard ")[1].split()[0] for line in ran.read_text().splitlines()]
        self.assertEqual(sorted(shards), ["1/3", "2/3", "3/3"])


class KubernetesTest(RecipeTest):
    def test_each_pod_is_a_shard(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        job = yaml.safe_load((SHARDS / "kubernetes.yaml").read_text())
        self.assertEqual((job["apiVersion"], job["kind"]), ("batch/v1", "Job"))
        spec = job["spec"]
        self.assertEqual(spec["completionMode"], "Indexed")
        pod = spec["template"]["spec"]
        self.assertIn(pod["restartPolicy"], ("OnFailure", "Never"))
        container, = pod["containers"]
        seed, ran = "98765432123456789", self.folder / "ran"
        environment = {one["name"]: one.get("value", seed) for one in container["env"]}
        self.assertEqual(environment["SHARDS"], str(spec["completions"]))
        self.out.mkdir()
        shutil.copy(self.capture, self.out / "in.pcap")
        programs = self.folder / "bin"
        programs.mkdir()
        program = programs / "unecho"
        program.write_text('#!/bin/sh\necho "$*" >>%s\nexec %s "$@"\n'
                           % (ran, os.environ["UNECHO_BIN"]))
        program.chmod(0o755)
        for index in range(spec["completions"]):
            self.check_run([*container["command"], *container["args"]], cwd=self.out,
                           env={"PATH": "%s:/usr/bin:/bin" % programs, **environment,
                                "TMPDIR": str(self.folder), "JOB_COMPLETION_INDEX": str(index)})
        self.assertEqual(len(ran.read_text().splitlines()), spec["completions"])
        self.assertNotIn(seed, ran.read_text(), "all users of a node see what programs are given")
        parts = sorted(self.out.glob("part-*.pcapng"))
        self.assertEqual(len(parts), spec["completions"])
        self.check_run(["mergecap", "-w", self.out / "merged.pcapng", *parts])
        assert_same(self, self.records(self.out / "merged.pcapng"), self.whole)


class Slurm:
    """A cluster of one node with four CPUs, whatever the machine has."""
    DAEMONS = ("munged", "slurmctld", "slurmd")
    CONFIG = """\
ClusterName=unecho
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=20
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

    def __init__(self, folder):
        self.folder = folder / "slurm"
        self.processes = []
        self.host = socket.gethostname().partition(".")[0]
        for name, mode in (("", 0o755), ("munge", 0o700), ("state", 0o755), ("spool", 0o755)):
            (self.folder / name).mkdir(mode=mode)
        key = self.folder / "munge" / "key-file"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        config = self.folder / "slurm.conf"
        config.write_text(self.CONFIG.format(host=self.host, folder=self.folder, ports=free_ports(2)))
        self.environment = dict(os.environ, SLURM_CONF=str(config))

    @staticmethod
    def give_address():
        """Slurm uses the address families of an interface other than lo; the test's own network has
        none."""
        shown = subprocess.run(["ip", "-brief", "-4", "address"], check=True, capture_output=True, text=True).stdout
        if all(line.startswith("lo ") for line in shown.splitlines()):
            for arguments in ("link add ue-slurm type veth peer name ue-peer", "address add 192.0.2.1/24 dev ue-slurm",
                              "link set ue-slurm up", "link set ue-peer up"):
                subprocess.run(["ip", *arguments.split()], check=True)

    def begin(self):
        self.give_address()
        munge, config = self.folder / "munge", self.folder / "slurm.conf"
        self.start("munged", "--force", "--foreground", *(
            "--%s=%s" % (name, munge / name) for name in (
                "socket", "key-file", "pid-file", "log-file", "seed-file")))
        harness.wait_for(lambda: self.alive() and (munge / "socket").exists(), "munged", TIMEOUT)
        self.start("slurmctld", "-D", "-f", config)
        self.start("slurmd", "-D", "-f", config, "-N", self.host)
        harness.wait_for(lambda: self.alive() and self.ask("sinfo", "-h", "-o", "%T") == "idle",
                         "an idle node", TIMEOUT)

    def start(self, program, *arguments):
        with open(self.folder / (program + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                [program, *map(str, arguments)], stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def alive(self):
        for process, name in zip(self.processes, self.DAEMONS):
            if process.poll() is not None:
                lines = (self.folder / (name + ".log")).read_text(errors="replace").splitlines()
                raise unittest.SkipTest("%s does not start: %s" % (name, "; ".join(lines[-2:])))
        return True

    def ask(self, *command):
        return subprocess.run(list(map(str, command)), env=self.environment, capture_output=True,
                              text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL).stdout.strip()

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@unittest.skipUnless(os.geteuid() == 0, "slurmd needs root")
@unittest.skipUnless(all(map(shutil.which, Slurm.DAEMONS)), "no slurm-wlm and munge")
class SlurmTest(RecipeTest):
    def setUp(self):
        super().setUp()
        self.slurm = Slurm(self.folder)
        self.addCleanup(self.slurm.stop)
        self.slurm.begin()

    def submit(self, environment):
        said = self.check_run([SHARDS / "slurm", 3, self.out, self.capture, *WINDOW],
                              env={**self.slurm.environment, **environment})
        self.assertRegex(said, r"^job array \d+, merged by job \d+ into %s\n$"
                         % (self.out / "merged.pcapng"))
        return said.split()[2].rstrip(",")

    def logs(self):
        return "\n".join(path.name + ": " + path.read_text(errors="replace")
                         for path in sorted(self.out.glob("*.log")))

    def wait_for_merged(self):
        harness.wait_for(lambda: (self.out / "merged.pcapng").exists(),
                         lambda: "merged.pcapng\n" + self.slurm.ask("squeue", "-l") + self.logs(),
                         TIMEOUT)

    def test_a_task_that_is_killed_and_requeued_changes_nothing(self):
        # At first the second shard gets half of the capture, and waits for the rest.
        environment = self.wrapper('''
            if [[ "$*" = *"--shard 2/3"* ]] && mkdir %(folder)s/first 2>/dev/null; then
                { head -c 5000000 %(capture)s; exec sleep infinity; } |
                    %(unecho)s pcap - "${@:3}"
                exit
            fi
            exec %(unecho)s "$@"\n''' % {"folder": self.folder, "capture": self.capture,
                                         "unecho": os.environ["UNECHO_BIN"]})
        array = self.submit(environment)
        harness.wait_for(lambda: list(self.out.glob(".part-2.pcapng.unecho-*")),
                         lambda: "half a part\n" + self.logs(), TIMEOUT)
        self.assertFalse((self.out / "part-2.pcapng").exists())
        self.slurm.ask("scontrol", "requeue", array + "_2")
        self.wait_for_merged()
        self.assert_merged()


if __name__ == "__main__":
    harness.main()
