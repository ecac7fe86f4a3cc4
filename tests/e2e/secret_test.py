#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The secret: no two runs have the same accidents. Crafted packets are in statistical digests."""
import collections
import ctypes
import json
import platform
import struct
import unittest

import harness


def capture(path, packets):
    """Write a capture of (body of an IPv4 packet after its addresses, its length), 1 us apart."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, body in enumerate(packets):
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 12 + len(body), 1, 0x4000, 64, 253, 0) + body
            file.write(struct.pack("<IIII", 1, number, 14 + len(ip), 14 + len(ip)))
            file.write(b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip)
    return path


# Linux system call numbers by architecture.
GETRANDOM = {"x86_64": 318, "aarch64": 278}


class Program(ctypes.Structure):
    """struct sock_fprog"""
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def without_random_bytes():
    """Make the kernel answer getrandom with EIO from here on (seccomp(2)): load the call's number;
    if it is getrandom, return the error, otherwise allow it. For a child before exec."""
    instructions = ((0x20, 0, 0, 0), (0x15, 0, 1, GETRANDOM[platform.machine()]),
                    (0x06, 0, 0, 0x00050000 | 5), (0x06, 0, 0, 0x7FFF0000))
    program = Program(len(instructions),
                      b"".join(struct.pack("=HBBI", *each) for each in instructions))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if (prctl(no_new_privileges, 1, 0, 0, 0) != 0
            or prctl(seccomp, by_filter, ctypes.byref(program)) != 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Secret(harness.E2eTest):
    def pcap(self, *arguments):
        done = harness.unecho("pcap", *arguments, "--json", "--repeats", "drop")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def different(self, count):
        """Write a capture of that many packets, all different."""
        return capture(self.folder / "different.pcap",
                       (struct.pack(">QQ", 0x0A0000010A000002, number) for number in range(count)))

    def accidents(self, path, *options):
        """Return the packets that a filter too small for them drops; all packets are different."""
        dropped = self.folder / "dropped.pcap"
        self.pcap(path, "--window", "1s", "--engine", "apbf", "--max-false-drop", "0.3",
                  "-o", "/dev/null", "--dropped", dropped, *options)
        frames = collections.Counter(harness.frames_of(dropped))
        self.assertLess(10, len(frames), "too few accidents to tell runs apart")
        return frames

    def test_accidents_are_those_of_the_run_or_of_its_seed(self):
        path = self.different(60_000)
        self.assertNotEqual(self.accidents(path), self.accidents(path), "the secret is constant")
        seeded = self.accidents(path, "--seed", "1")
        self.assertEqual(seeded, self.accidents(path, "--seed", "1"))
        self.assertNotEqual(seeded, self.accidents(path, "--seed", "2"))
        self.assertNotEqual(seeded, self.accidents(path))

    def accidents_of_the_appliance(self, path, **run):
        """Return the same for `unecho run`: the packets that it keeps from the tool."""
        forwarded = self.folder / "forwarded.pcap"
        document = harness.replay(
            [harness.port("in", 0, rx_pcap=path, tx_pcap="/dev/null"),
             harness.port("out", 1, rx_pcap=path.with_name("none.pcap"), tx_pcap=forwarded)],
            [harness.filter_("small", "1s", keys=20_000, engine="apbf", max_false_drop=0.3)],
            [{"from": ["in"], "to": "out", "filter": "small"}], **run)
        if "seed" not in run:
            del document["run"]["seed"]
        self.report(document)
        dropped = set(harness.frames_of(path)) - set(harness.frames_of(forwarded))
        self.assertLess(10, len(dropped), "too few accidents to tell runs apart")
        return dropped

    def test_the_appliance_has_the_accidents_of_its_run_or_of_its_seed(self):
        path = self.different(20_000)
        capture(self.folder / "none.pcap", ())
        self.assertNotEqual(self.accidents_of_the_appliance(path),
                            self.accidents_of_the_appliance(path), "the secret is constant")
        seeded = self.accidents_of_the_appliance(path, seed=1)
        self.assertEqual(seeded, self.accidents_of_the_appliance(path, seed=1))

    def unlucky(self, *arguments):
        """Return (exit status, standard error) if the kernel has no random bytes."""
        done = harness.unecho(*arguments, preexec_fn=without_random_bytes)
        return done.returncode, done.stderr

    @unittest.skipUnless(platform.machine() in GETRANDOM, "getrandom has an unknown number here")
    def test_without_a_seed_the_secret_is_of_the_kernel_or_there_is_none(self):
        path = self.different(10)
        pcap = ("pcap", path, "--window", "1s", "-o", "/dev/null", "--quiet")
        self.assertEqual(self.unlucky(*pcap, "--seed", "1"), (0, ""))
        for command in (pcap, ("analyze", "--json", path)):
            status, error = self.unlucky(*command)
            self.assertEqual(status, 1, error)
            self.assertIn("no random bytes for the hash secret: getrandom: Input/output error",
                          error)


if __name__ == "__main__":
    harness.main()
