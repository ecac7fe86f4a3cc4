#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The keyed digest once more, in whole numbers, written from docs/decisions/0008-digest-kernels.md and
not from the code. Prints tests/vectors/digests.csv:

    tests/support/digest_reference.py > tests/vectors/digests.csv

With --check FILE it fails where the file says something else.
"""
import struct
import sys

M32, M64, M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
PRIME = (1 << 61) - 1
HEAD = 0x0123456789ABCDEF
SECOND = 0xFEDCBA9876543210
LENGTHS = (0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 34, 48, 64, 100, 120, 127, 128, 129, 191, 192, 193, 255,
           256, 257, 512, 1000, 1023, 1024, 1025, 1087, 1088, 1089, 1472, 2048, 2049, 8980, 9000, 65535, 65536, 65537,
           65600, 131072, 200000)


def rotl(x, n):
    return (x << n | x >> (32 - n)) & M32


def chacha20_block(key, counter, nonce):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, counter, *nonce]
    x = list(start)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            x[a] = (x[a] + x[b]) & M32
            x[d] = rotl(x[d] ^ x[a], 16)
            x[c] = (x[c] + x[d]) & M32
            x[b] = rotl(x[b] ^ x[c], 12)
            x[a] = (x[a] + x[b]) & M32
            x[d] = rotl(x[d] ^ x[a], 8)
            x[c] = (x[c] + x[d]) & M32
            x[b] = rotl(x[b] ^ x[c], 7)
    return struct.pack("<16I", *((p + q) & M32 for p, q in zip(x, start)))


class Secret:
    def __init__(self, seed):
        key = (seed & M32, seed >> 32, 0, 0, 0, 0, 0, 0)
        stream = b"".join(chacha20_block(key, i, (0, 0, 0)) for i in range(34))
        words = struct.unpack("<272Q", stream)
        self.ends, self.fold, self.points, self.second = words[0:2], words[2:4], words[4:6], words[6:8]
        self.body, self.blocks = words[8:144], words[144:272]
        self.halves = struct.unpack("<272I", stream[64:64 + 1088])


def pair(low, high, key):
    return ((low + key[0]) & M64) * ((high + key[1]) & M64)


def short_body(body, secret):
    """Hash up to 128 bytes as pairs of words. The last pair ends with the body and is first in the
    key."""
    if len(body) < 16:
        body = body + bytes(16 - len(body))
    pairs = [body[-16:]] + [body[at:at + 16] for at in range(0, len(body) - 16, 16)]
    return sum(pair(*struct.unpack("<2Q", p), secret.body[2 * i:]) for i, p in enumerate(pairs)) & M128


def stripe_sum(stripe, key):
    w = struct.unpack("<16I", stripe)
    return sum(((w[i] + key[i]) & M32) * ((w[i + 8] + key[i + 8]) & M32) for i in range(8))


def group_sum(body, begin, end, secret):
    total = 0
    for number, at in enumerate(range(begin, end, 1024)):
        stop = min(at + 1024, end)
        starts = list(range(at, stop - 64, 64)) + [stop - 64]
        first = sum(stripe_sum(body[s:s + 64], secret.halves[16 * i:]) for i, s in enumerate(starts)) & M64
        second = sum(stripe_sum(body[s:s + 64], secret.halves[16 * i + 16:]) for i, s in enumerate(starts)) & M64
        total += pair(first, second, secret.blocks[2 * number:])
    return total & M128


def body_sum(body, secret):
    if len(body) <= 128:
        return short_body(body, secret)
    sums = [group_sum(body, at, min(at + 65536, len(body)), secret) for at in range(0, len(body), 65536)]
    if len(sums) == 1:
        return sums[0]
    values = []
    for point in secret.points:
        value = 0
        for x in sums:
            for part in (x & (1 << 43) - 1, x >> 43 & (1 << 43) - 1, x >> 86):
                value = (value + part) * (point & PRIME) % PRIME
        values.append(value)
    return values[1] << 64 | values[0]


def digest(head, body, secret, second=None):
    total = (pair(head, len(body), secret.ends) + body_sum(body, secret)) & M128
    if second is not None:
        total = (total + pair(second, 0, secret.second)) & M128
    multiplier = secret.fold[1] << 64 | secret.fold[0]
    x = (((total & M64) * multiplier & M128) >> 64) + (total >> 64) & M64
    x = (x ^ x >> 32) * 0xBF58476D1CE4E5B9 & M64
    return x ^ x >> 32


def rows():
    yield "seed,head,second,length,digest"
    for seed in (42, 1 << 63 | 7):
        secret = Secret(seed)
        for head, second in ((0, None), (HEAD, None), (HEAD, 0), (HEAD, SECOND)):
            for length in LENGTHS:
                body = bytes((i + 1) % 251 for i in range(length))
                yield "%d,%d,%s,%d,%016X" % (seed, head, "none" if second is None else second, length,
                                             digest(head, body, secret, second))


def main():
    # RFC 8439, section 2.3.2.
    known = chacha20_block(struct.unpack("<8I", bytes(range(32))), 1, (0x09000000, 0x4A000000, 0))
    assert known.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4"), known.hex()
    if len(sys.argv) == 1:
        print("\n".join(rows()))
        return
    with open(sys.argv[2], encoding="utf-8") as f:
        pinned = f.read().splitlines()
    computed = list(rows())
    wrong = [line for line in zip(pinned, computed) if line[0] != line[1]]
    assert not wrong, "the file has %s, computed is %s" % wrong[0]
    assert len(pinned) == len(computed), "%d lines, not %d" % (len(pinned), len(computed))
    print("%d digests" % (len(computed) - 1))


if __name__ == "__main__":
    main()
