# SPDX-License-Identifier: BSD-3-Clause
"""Runs the real binary on captures and judges its output.

E2eTest is the base class of every test here. It has a folder of its own, run_unecho() and start()
for the binary that UNECHO_BIN names, and report_of(), which fails unless all packets of a run are
accounted for. The exact answers are those of tools/oracle/exact_answer.py, with its two options for
net_pcap, which takes every frame for Ethernet and has microseconds.
"""
import atexit
import collections
import ctypes
import fcntl
import functools
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools" / "oracle"), str(ROOT / "tests" / "support")]
import exact_answer  # noqa: E402
from reasons import FATES  # noqa: E402
import union_answer  # noqa: E402

# The same packets are judged under many windows and policies, so keys are cached.
exact_answer.key_of = functools.lru_cache(maxsize=1 << 17)(exact_answer.key_of)

PCAPS = ROOT / "pcaps"
SHARED = pathlib.Path(os.environ.get("UNECHO_SHARED", ROOT.parent / "shared"))
FULL = os.environ.get("UNECHO_E2E_FULL") == "1"
US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
# net_pcap writes at most so much of a frame with several mbuf segments.
NET_PCAP_LONGEST = 0x3F00
MOST_PORTS = 32  # the maximum in this build of DPDK
# Works without privileges and hugepages; small, because several may run on one machine.
EAL_ARGS = ("--no-pci", "--no-huge", "-m", "512")
# Seconds until a test gives up waiting. This is no promise of unecho: it allows for a machine on
# which a test gets a tenth of a CPU.
PATIENCE = 120
# Each engine and its values of on_full, from the table in docs/configuration.md, which a unit test
# compares with the code. So a new engine is tested without being named here.
ON_FULL = {name: re.findall(r"\w+", values) for name, values in re.findall(
    r"^\| `([\w-]+)` \|[^|\n]*\| ((?:`\w+`(?:, )?)+|none) \|$",
    (ROOT / "docs/configuration.md").read_text(), re.M) if name != "auto"}
COUNTING_ENGINES = ("shbf-x",)  # engines only for the first packets of flows
SLIDING_ENGINES = tuple(name for name in ON_FULL if name not in ("exact", *COUNTING_ENGINES))
ENGINES = ("exact", *SLIDING_ENGINES)
assert len(ENGINES) > 2, "docs/configuration.md has no table of engines"
_serial = itertools.count()


def skip(reason):
    """End the whole test program as skipped, for meson."""
    print("skipped: " + reason)
    sys.exit(77)


def main(isolated=True):
    """Call instead of unittest.main(): without a binary there is no test. isolated=False: for a
    test that needs the machine's network."""
    if not os.access(os.environ.get("UNECHO_BIN", ""), os.X_OK):
        skip("UNECHO_BIN names no executable")
    if isolated:
        isolate()
    unittest.main(verbosity=2)


# ---- isolation from the machine ------------------------------------------------------------------

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000


def isolate():
    """Give this process and its children their own network, /run, /dev/shm and /sys. So tests may
    run in parallel under fixed names, and a killed one leaves nothing on the machine.

    Only root may do that. DPDK keeps the files of an ordinary user in a runtime directory of this
    process.

    Signals get their default actions: nohup and background jobs of a shell leave some of them
    ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
        runtime = tempfile.TemporaryDirectory(prefix="unecho-runtime-")
        atexit.register(runtime.cleanup)
        os.environ["XDG_RUNTIME_DIR"] = runtime.name
        return

    def mount(*arguments):
        subprocess.run(["mount", *arguments], check=True)
    mount("--make-rprivate", "/")
    # Programs expect the folders that their packages made in /run, but not their content.
    folders = [(entry.path, entry.stat()) for entry in os.scandir("/run")
               if entry.is_dir(follow_symlinks=False)]
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for path, stat in folders:
        os.mkdir(path)
        os.chown(path, stat.st_uid, stat.st_gid)
        os.chmod(path, stat.st_mode & 0o7777)
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm")
    # A sysfs shows the interfaces of the network in which it was mounted.
    with tempfile.TemporaryDirectory(dir="/run") as sysfs:
        mount("-t", "sysfs", "sysfs", sysfs)
        if os.path.ismount("/sys/fs/cgroup"):
            mount("--rbind", "/sys/fs/cgroup", sysfs + "/fs/cgroup")
        mount("--move", sysfs, "/sys")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")


def take_hugepages(test, count):
    """Reserve so many pages of 2 MiB until the test ends; return the folder of a hugetlbfs for
    them.

    The kernel has one number of pages for the whole machine, so tests that change it take turns.
    """
    turn = open("/proc/sys/vm/nr_hugepages", encoding="ascii")
    test.addCleanup(turn.close)
    fcntl.flock(turn, fcntl.LOCK_EX)
    number = HUGEPAGES / "nr_hugepages"

    def reserve(more):
        before = int(number.read_text())
        number.write_text(str(max(before + more, 0)))  # another process may have taken pages back
        return int(number.read_text()) - before
    try:
        reserved = reserve(count)
    except OSError as error:
        test.skipTest("needs %d hugepages of 2 MiB: %s" % (count, error))
    test.addCleanup(reserve, -reserved)
    if reserved < count:
        test.skipTest("needs %d hugepages of 2 MiB more, and could reserve %d" % (count, reserved))
    folder = test.folder / "hugepages"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M,size=%dM" % (2 * count),
                           "none", folder], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        test.skipTest("needs a hugetlbfs: " + done.stderr.strip())
    test.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
    return folder


# ---- configurations -----------------------------------------------------------------------------

def _value(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join("%s = %s" % (key, _value(each))
                                for key, each in value.items()) + " }"
    return json.dumps(value)  # strings, numbers and booleans are equal in TOML


def toml(document):
    """Return {"run": {...}, "port": [{...}, ...]} as text: tables and arrays of tables, one level
    deep.

    The exact definition knows nothing of repeats. So packet filters take equal packets for copies
    unless a test says otherwise (union_test.py)."""
    out = []
    for name, tables in document.items():
        many = isinstance(tables, list)
        for table in tables if many else [tables]:
            if name == "filter" and not str(table.get("key", "")).startswith("flow"):
                table = {"repeats": "drop", **table}
            if name == "route":
                table = {"allow_repeat_drop_on_link": True, **table}
            out.append(("[[%s]]" if many else "[%s]") % name)
            out += ["%s = %s" % (key, _value(value)) for key, value in table.items()]
            out.append("")
    return "\n".join(out)


def port(name, number, **files):
    """Return a net_pcap port. rx_pcap and tx_pcap may be lists: one queue each."""
    device = "net_pcap%d" % number
    for key, paths in files.items():
        for path in paths if isinstance(paths, (list, tuple)) else [paths]:
            device += ",%s=%s" % (key, path)
    return {"name": name, "device": device, "rx_descriptors": 128, "tx_descriptors": 128}


def filter_(name, window, keys=50_000, **fields):
    """Return a filter planned for so many keys in a window, at most the highest rate that may be
    configured."""
    rate = min(keys * SECOND // exact_answer.duration(window), 1_000_000_000)
    return {"name": name, "window": window, "max_false_drop": 1e-6, "rate": "%dpps" % rate,
            **fields}


def replay(ports, filters, routes, **run):
    """Replay captures with their own time on one worker, which gives the same verdicts each
    time."""
    return {"eal": {"args": []}, "port": ports, "filter": filters, "route": routes,
            "run": {"clock": "capture", "stop_when_idle": "50ms", "seed": 1, **run}}


# ---- running ------------------------------------------------------------------------------------

class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return "exit status %s\nstdout: %s\nstderr: %s" % (self.status, self.out, self.err)


def unecho(*arguments, wrapper=(), **options):
    """Run the binary to its end; return the CompletedProcess with its output as text."""
    options = {"text": True, "timeout": PATIENCE, "stdin": subprocess.DEVNULL, **options}
    if "stdout" not in options:
        options["capture_output"] = True
    return subprocess.run([*wrapper, os.environ["UNECHO_BIN"], *map(str, arguments)], **options)


class Running:
    """A started process. Leaving the with block stops it."""

    def __init__(self, command, environment, folder):
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, cwd=folder,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def alive(self):
        return self._process.poll() is None

    def pid(self):
        return self._process.pid

    def send(self, number):
        self._process.send_signal(number)

    def interrupt(self):
        self.send(signal.SIGINT)

    def first_error_line(self):
        """Return the line as soon as it is there; finish() returns the rest."""
        return self._process.stderr.readline()

    def output(self):
        """Return the output for another process to read."""
        return self._process.stdout

    def finish(self, timeout=PATIENCE):
        try:
            out, err = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, err = self._process.communicate()
            raise AssertionError("did not end within %d s\nstdout: %s\nstderr: %s"
                                 % (timeout, out, err)) from None
        return Result(self._process.returncode, out, err)


class Telemetry:
    """DPDK's telemetry socket: a command in, JSON out."""

    def __init__(self, path, patience=PATIENCE):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(patience)
        try:
            self._socket.connect(str(path))
            self._longest = json.loads(self._socket.recv(1024))["max_output_len"]
        except (OSError, ValueError, KeyError):
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def ask(self, command):
        self._socket.send(command.encode())
        return json.loads(self._socket.recv(self._longest))[command.partition(",")[0]]


def wait_for(condition, what, timeout=PATIENCE):
    """Return the first true value of condition(), which may fail with OSError before. what: a text,
    or a function that returns one when the time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError("%s did not come to be within %d s"
                         % (what() if callable(what) else what, timeout))


def ahead(function, items):
    """Yield function(item) of each item, computing the next result while one is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = collections.deque()
        for item in items:
            coming.append(pool.submit(function, item))
            if len(coming) == 2:
                yield coming.popleft().result()
        if coming:
            yield coming.popleft().result()


class E2eTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="unecho-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, config, *arguments, eal=EAL_ARGS, wrapper=(), folder=None, by_name=False):
        """Start unecho run. config: a document for toml(), or a path. by_name: under its configured
        name, not a --file-prefix for this run alone."""
        if isinstance(config, dict):
            document, config = config, self.folder / ("config-%d.toml" % next(_serial))
            config.write_text(toml(document))
        # DPDK keeps its socket and locks below this folder: nothing remains, nobody is disturbed.
        environment = dict(os.environ, RUNTIME_DIRECTORY=str(self.folder))
        prefix = "--file-prefix=e2e-%d-%d" % (os.getpid(), next(_serial))
        own = by_name or any(option.startswith("--file-prefix") for option in eal)
        return Running([*wrapper, os.environ["UNECHO_BIN"], "run", str(config), *arguments, "--",
                        *eal, *([] if own else [prefix])], environment, folder or self.folder)

    def telemetry(self, running=None, patience=PATIENCE):
        """Return the socket of a process started here, once it answers. The process must not end
        before."""
        def connect():
            if running is not None and not running.alive():
                raise AssertionError("ended early: %s" % running.finish())
            for path in self.folder.glob("dpdk/*/dpdk_telemetry.v2"):
                try:
                    telemetry = Telemetry(path, patience)
                except ConnectionRefusedError:
                    continue  # of a killed process
                if telemetry.ask("/unecho/counters") is not None:
                    return telemetry
                telemetry.__exit__()
            return None
        return wait_for(connect, "telemetry")

    def run_unecho(self, config, *arguments, timeout=PATIENCE, **options):
        with self.start(config, "--json", *arguments, **options) as running:
            return running.finish(timeout)

    def report(self, config, **options):
        """Return the report of a run that must succeed."""
        return self.report_of(self.run_unecho(config, **options))

    def side_by_side(self, inputs, filters, on_echo="drop"):
        """Run many filters at once, each on a route that replays the inputs. Return a list of (the
        route's report, the filter's report, the filter's fields, forwarded frames, diverted
        frames).

        A process has at most 32 ports, so each port also records. Frames that a route forwards
        leave by the first port of the next route, and those that it diverts by the second.
        """
        count = len(inputs) * len(filters)
        assert len(filters) > 1 and count <= MOST_PORTS
        folder = self.folder / ("run-%d" % next(_serial))
        folder.mkdir()
        outputs = [folder / ("out-%d.pcap" % index) for index in range(count)]
        ports = [port("port-%d" % index, index, rx_pcap=inputs[index % len(inputs)], tx_pcap=output)
                 for index, output in enumerate(outputs)]
        tables, routes, leaves = [], [], []
        for index, fields in enumerate(filters):
            at, tool = index * len(inputs), (index + 1) * len(inputs) % count
            tables.append(filter_("filter-%d" % index, **fields))
            routes.append({"from": [each["name"] for each in ports[at:at + len(inputs)]],
                           "to": "port-%d" % tool, "filter": "filter-%d" % index,
                           "on_echo": "port-%d" % (tool + 1) if on_echo == "divert" else on_echo})
            leaves.append((tool, tool + 1 if on_echo == "divert" else None))
        report = self.report(replay(ports, tables, routes), timeout=3 * PATIENCE)
        frames = [frames_of(output) for output in outputs]
        shutil.rmtree(folder)
        return [(route, table, fields, frames[tool], [] if aside is None else frames[aside])
                for route, table, fields, (tool, aside) in zip(
                    report["routes"], report["filters"], filters, leaves)]

    def assert_audit(self, audit):
        """Each sampled packet has one verdict, and none is a miss."""
        counters = dict(audit["counters"])
        apart = [counters.pop(name) for name in
                 ("sampled", "collisions", "overload", "discarded", "cut_short")]
        self.assertEqual(sum(counters.values()), apart[0], audit)
        self.assertEqual(audit["misses"]["count"], 0, audit)

    def report_of(self, result):
        """Return the report if the run succeeded and its numbers are consistent."""
        self.assertEqual(result.status, 0, result)
        report = json.loads(result.out)
        for counts in report["routes"] + [report["totals"]]:
            self.assert_conserved(counts)
            self.assertEqual(counts["in_flight"], 0, counts)
        for route in report["routes"]:
            for fate, reasons in FATES.items():
                self.assertEqual(route[fate], sum(route["reasons"][name] for name in reasons),
                                 route)
            self.assertLessEqual(set(route["reasons"]), set(itertools.chain(*FATES.values())))
        for filter_report in report["filters"]:
            if filter_report["audit"]["enabled"]:
                self.assert_audit(filter_report["audit"])
        for fate in ("received", *FATES):
            self.assertEqual(report["totals"][fate], sum(route[fate] for route in report["routes"]))
        self.assertEqual(report["totals"]["received"],
                         sum(each["rx_packets"] for each in report["ports"]))
        self.assertEqual(sum(report["totals"][fate] for fate in ("forwarded", "diverted")),
                         sum(each["tx_packets"] for each in report["ports"]))
        return report

    def assert_conserved(self, counts):
        self.assertEqual(counts["received"], sum(counts[fate] for fate in FATES)
                         + counts["in_flight"], counts)
        self.assertGreaterEqual(counts["in_flight"], 0, counts)

    def assert_frames(self, given, expected, what=""):
        """The lists of frames are equal. If not, print where they differ instead of all of them."""
        for number, (one, other) in enumerate(zip(given, expected), 1):
            if one != other:
                self.fail("%s: packet %d of the output is %s, expected %s"
                          % (what, number, one[:48].hex(), other[:48].hex()))
        self.assertEqual(len(given), len(expected), what)


# ---- judging ------------------------------------------------------------------------------------

def packets_of(*paths, jump=10**9):
    """Return what net_pcap ports deliver of these files, merged by time, for windows up to the
    jump."""
    captures = [exact_answer.Capture(path, as_ethernet=True, microseconds=True) for path in paths]
    return [packet for _, packet in exact_answer.merged(captures, jump)]


def filter_times(times, window):
    """Return the filter time of packets with these timestamps."""
    return map(exact_answer.Clock(exact_answer.jump_of(window)).at, times)


def frames_of(path):
    """Return the frames of an output file."""
    return [packet.data for packet in exact_answer.Capture(path)]


def written(frame):
    """Return a frame as net_pcap writes it."""
    return frame[:NET_PCAP_LONGEST]


# The frames that are forwarded, the echoes, and the number of packets with each answer.
Parted = collections.namedtuple("Parted", "kept echoes counts")


def part(packets, **answer_options):
    """Split packets by the exact answer."""
    parted = Parted([], [], collections.Counter())
    for packet, answer in zip(packets, exact_answer.answers(packets, **answer_options)):
        frames = parted.echoes if answer.kind == "echo" else parted.kept
        frames.append(written(packet.data))
        parted.counts[answer.kind] += 1
    return parted


def part_where_repeats_are_kept(paths, **options):
    """Split the packets of these files, one tap each, by the union rule
    (tests/support/union_answer.py)."""
    captures = [exact_answer.Capture(path, as_ethernet=True, microseconds=True) for path in paths]
    packets = [(packet.time, tap + 1, union_answer.ETHERNET, packet.data)
               for tap, packet in exact_answer.merged(captures, 10**9)]
    parted = Parted([], [], collections.Counter())
    answers, _ = union_answer.answers(packets, union_answer.Options(**options))
    for packet, answer in zip(packets, answers):
        frames = parted.echoes if answer.kind == "echo" else parted.kept
        frames.append(written(packet[3]))
        parted.counts[answer.kind] += 1
    return parted


def nonzero(reasons):
    """Return the reasons that occurred."""
    return {name: count for name, count in reasons.items() if count}


def identity_of(key, frame):
    """Return the key, or None if there is none."""
    try:
        return exact_answer.key_of(key, frame)
    except exact_answer.NoKey:
        return None


def audit(packets, survivors, key, window, slack, policy="fixed"):
    """Return why survivors cannot be the output of a sliding filter, or None if they can.

    The promise: an echo younger than the window is dropped; nothing as old as window + slack is
    dropped; between them either may happen; everything else passes unchanged and in order. Ages are
    measured from the filter's own verdicts, which follow from comparing both lists. If equal
    packets leave open which of them passed, every possibility is followed.
    """
    references, clock = {}, exact_answer.Clock(exact_answer.jump_of(window))
    ways = {(0, frozenset())}  # (survivors consumed, references that not all possibilities share)
    for number, packet in enumerate(packets, 1):
        now = clock.at(packet.time)
        identity, frame = identity_of(key, packet.data), written(packet.data)
        following = set()
        for at, own in ways:
            then = dict(own).get(identity, references.get(identity))
            comes_next = at < len(survivors) and survivors[at] == frame
            for forwarded in _allowed(None if then is None else now - then, window, slack,
                                      comes_next):
                seen = identity is not None and (forwarded or policy == "refresh")
                following.add((at + forwarded,
                               _with(own, identity, now) if seen else own))
        if not following:
            return "packet %d of the input: survivor %d cannot be the next" % (
                number, max(at for at, _ in ways) + 1)
        ways = following
        if len(ways) == 1:
            (at, own), = ways
            references.update(own)
            ways = {(at, frozenset())}
    if all(at < len(survivors) for at, _ in ways):
        return "survivor %d should have been dropped, or was never received" % (
            max(at for at, _ in ways) + 1)
    return None


def _allowed(age, window, slack, comes_next):
    """Return whether a packet of this age may have been forwarded (True), dropped (False), or
    either."""
    if age is None or age >= window + slack:
        return (True,) if comes_next else ()
    if age < window or not comes_next:
        return (False,)
    return (True, False)


def _with(own, identity, now):
    return frozenset(entry for entry in own if entry[0] != identity) | {(identity, now)}


def is_subsequence(part, whole):
    """Return True if all of part occurs in whole in the same order."""
    rest = iter(whole)
    return all(any(item == other for other in rest) for item in part)
