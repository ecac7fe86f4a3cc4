#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`unecho pcap` and `unecho analyze` on more inputs than fit into memory or descriptors at once."""
import gzip
import json
import os
import resource
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import harness  # noqa: E402
import made_captures  # noqa: E402
from pcap_test import DROPS_NOTHING, PcapTest, records_of  # noqa: E402

FILES, EACH, DESCRIPTORS = 1500, 6, 64
DEFAULT_MEMORY = 256 << 20


def capture_of(times):
    """Return a capture whose packets contain their time, in milliseconds."""
    return made_captures.pcap("<", False, 1, [
        (time * harness.MS, struct.pack("<Q", time) * 40) for time in times])


def limit_descriptors(number):
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


class ManyInputs(PcapTest):
    def make(self, files, times_of, compressed=lambda number: False):
        """Write files whose names are not in the order of time."""
        names = []
        for number in range(files):
            name, data = "in%04d.pcap" % number, capture_of(times_of(number))
            if compressed(number):
                name, data = name + ".gz", gzip.compress(data, 1)
            (self.folder / name).write_bytes(data)
            names.append(name)
        return names[files // 3:] + names[:files // 3]

    def unecho(self, *arguments, warning=None, descriptors=DESCRIPTORS):
        """Return standard output and peak memory."""
        with open(self.folder / "stdout", "w+b") as out, open(self.folder / "stderr", "w+") as err:
            process = subprocess.Popen([self.binary, *arguments], cwd=self.folder,
                                       preexec_fn=lambda: limit_descriptors(descriptors),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            others = [line for line in err if warning is None or warning not in line]
            self.assertEqual((process.returncode, others), (0, []))
            out.seek(0)
            return out.read(), usage.ru_maxrss << 10

    def check(self, names, times):
        _, memory = self.unecho("pcap", *names, "-o", "out.pcapng", *DROPS_NOTHING)
        self.assertLess(memory, DEFAULT_MEMORY)
        self.unecho("pcap", "out.pcapng", "-o", "out.pcap", *DROPS_NOTHING)
        written = [struct.unpack_from("<Q", record.data)[0]
                   for record in records_of(self.folder / "out.pcap")[1]]
        self.assertEqual(written, sorted(times))
        out, memory = self.unecho("analyze", *names, "--json")
        self.assertLess(memory, DEFAULT_MEMORY)
        self.assertEqual(json.loads(out)["total"]["packets"], len(times))

    def test_a_ring_of_files(self):
        """Each file begins shortly before the previous one ends, and has one packet out of order;
        some are empty."""
        def times_of(number):
            if number % 50 == 7:
                return []
            times = list(range(number * EACH, (number + 1) * EACH + 2))
            times[2], times[3] = times[3], times[2]
            return times
        names = self.make(FILES, times_of, compressed=lambda number: number % 3 == 0)
        _, memory = self.unecho("pcap", *names, "-o", "out.pcap", *DROPS_NOTHING,
                                warning="time steps back")
        self.assertLess(memory, DEFAULT_MEMORY)
        written = [struct.unpack_from("<Q", record.data)[0]
                   for record in records_of(self.folder / "out.pcap")[1]]
        everything = [time for number in range(FILES) for time in times_of(number)]
        self.assertEqual(sorted(written), sorted(everything))
        # A packet with an earlier time comes at once, so none is displaced further than that.
        self.assertTrue(all(b >= a - 1 for a, b in zip(written, written[1:])))

    def test_a_second_pass_opens_the_inputs_when_the_first_has_closed_them(self):
        few = 16  # so few that all are open at once
        names = self.make(few, lambda number: range(number, few * EACH, few))
        self.unecho("pcap", *names, "-o", "out.pcap", "--key", "frame", "--same-port", "250us",
                    "--passes", "2", "--quiet", descriptors=few + 10)
        written = [struct.unpack_from("<Q", record.data)[0]
                   for record in records_of(self.folder / "out.pcap")[1]]
        self.assertEqual(written, list(range(few * EACH)))

    def test_all_at_once(self):
        names = self.make(FILES, lambda number: range(number, FILES * EACH, FILES))
        self.check(names, range(FILES * EACH))


if __name__ == "__main__":
    harness.main()
