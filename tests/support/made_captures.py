# SPDX-License-Identifier: BSD-3-Clause
"""Captures of every format that unecho reads, made of the packets of pcaps/: captures() -> {name:
bytes}.

pcap in both byte orders and precisions, with other link types, and cut by a snap length. pcapng in
both byte orders, with several interfaces, time units, offsets and sections, and all kinds of packet
blocks.
"""
import gzip
import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import exact_answer  # noqa: E402

ETHERNET, NULL, RAW, COOKED, COOKED2 = 1, 0, 101, 113, 276
HDLC, FRAME_RELAY, RADIOTAP, NFLOG, PPP_ETHER = 104, 107, 127, 239, 51
PACKETS = 240


def packets(name="edges.pcap", count=PACKETS):
    """Return [(time in ns, frame)]."""
    return [(packet.time, packet.data) for packet in
            exact_answer.Capture(ROOT / "pcaps" / name)][:count]


def pcap(order, nanoseconds, link, packets_, snaplen=65535):
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0,
                       snaplen, link)]
    for time, data in packets_:
        seconds, fraction = divmod(time, 10**9)
        kept = data[:snaplen]
        out.append(struct.pack(order + "IIII", seconds, fraction if nanoseconds else fraction // 1000,
                               len(kept), len(data)) + kept)
    return b"".join(out)


class Pcapng:
    def __init__(self, order):
        self.order, self.out, self.units = order, [], []

    def block(self, kind, body):
        body += bytes(-len(body) % 4)
        total = struct.pack(self.order + "I", len(body) + 12)
        self.out.append(struct.pack(self.order + "I", kind) + total + body + total)

    def option(self, code, value):
        return struct.pack(self.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    def section(self, order=None):
        self.order, self.units = order or self.order, []
        self.block(0x0A0D0D0A, struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
                   + self.option(4, b"made") + self.option(0, b""))

    def interface(self, link, units=6, offset=0, snaplen=0):
        """units: a power of ten, or of two if the highest bit is set."""
        self.units.append((2 ** (units & 127) if units & 128 else 10 ** units, offset))
        options = self.option(2, b"eth%d" % len(self.units)) + self.option(9, bytes([units]))
        if offset:
            options += self.option(14, struct.pack(self.order + "q", offset))
        self.block(1, struct.pack(self.order + "HHI", link, 0, snaplen) + options
                   + self.option(0, b""))

    def _stamp(self, which, time):
        units, offset = self.units[which]
        ticks = -(-(time - offset * 10**9) * units // 10**9)  # rounded up, so that it is not read back as less
        return ticks >> 32, ticks & 0xFFFFFFFF

    def enhanced(self, which, time, data, wire=None, options=b""):
        self.block(6, struct.pack(self.order + "IIIII", which, *self._stamp(which, time), len(data),
                                  wire or len(data)) + data + bytes(-len(data) % 4) + options)

    def obsolete(self, which, time, data):
        self.block(2, struct.pack(self.order + "HHIIII", which, 0, *self._stamp(which, time),
                                  len(data), len(data)) + data)

    def simple(self, data):
        self.block(3, struct.pack(self.order + "I", len(data)) + data)

    def bytes(self):
        return b"".join(self.out)


def _pcapng_of_many(order, given):
    """Two interfaces with equal link types, units and offsets; other blocks between the packets."""
    made = Pcapng(order)
    made.section()
    made.interface(ETHERNET, 9)
    made.interface(ETHERNET, 6, offset=1_600_000_000)
    for number, (time, data) in enumerate(given):
        if number % 50 == 7:
            made.block(4, struct.pack(order + "HH", 0, 0))       # names
            made.block(5, struct.pack(order + "III", 0, 0, 0))   # statistics
            made.interface(ETHERNET, 0x80 | 20)                  # one more, with its own unit
        which = number % len(made.units)
        if number % 5 == 2:
            made.obsolete(which, time, data)
        else:
            made.enhanced(which, time, data[:60] if number % 7 == 3 else data, len(data),
                          made.option(2, b"\0\0\0\1") + made.option(0, b"") if number % 3 else b"")
    return made.bytes()


def _pcapng_of_sections(given):
    """Sections of either byte order, each with its own interfaces."""
    made = Pcapng("<")
    for part in range(4):
        made.section("<>"[part % 2])
        made.interface(ETHERNET, (9, 6)[part // 2])
        for time, data in given[part * 60:part * 60 + 60]:
            made.enhanced(0, time, data)
    return made.bytes()


def _pcapng_without_times(given):
    made = Pcapng("<")
    made.section()
    made.interface(ETHERNET, snaplen=96)
    for time, data in given[:3]:
        made.enhanced(0, time, data)
    for _, data in given:
        made.simple(data[:96])
    return made.bytes()


def ip_packets(given):
    """Return the packets of untagged frames without their Ethernet headers."""
    return [(time, data[14:]) for time, data in given if data[12:14] in (b"\x08\0", b"\x86\xdd")]


def wifi(frame, number, retry=False, access=b"\2\0\0\0\0\xaa"):
    """Turn an Ethernet frame into an 802.11 frame on its way to an access point."""
    return (struct.pack("<BBH", 8, 9 if retry else 1, 44) + access + frame[6:12] + frame[:6]
            + struct.pack("<H", number % 4096 << 4) + b"\xaa\xaa\3\0\0\0" + frame[12:])


def radiotap(time, signal, frame):
    """Add a radiotap header with time, flags and signal, and a check sequence."""
    return (struct.pack("<BBHIQBBHHb", 0, 0, 23, 0x2B, time // 1000, 0x10, 0, 2412, 0, signal)
            + frame + b"FCS!")


def _on_other_links(given, ip):
    versioned = [(time, data, data[0] >> 4) for time, data in ip]
    return {
        "radiotap.pcap": pcap("<", True, RADIOTAP, [
            (time, radiotap(time, -number % 60, wifi(data, number)))
            for number, (time, data) in enumerate(given)]),
        "hdlc.pcap": pcap("<", True, HDLC, [(time, b"\x0f\0" + data[12:]) for time, data in given]),
        "relay.pcap": pcap("<", True, FRAME_RELAY, [
            (time, b"\x18\x41\3" + (b"\xcc" if version == 4 else b"\x8e") + data)
            for time, data, version in versioned]),
        "nflog.pcap": pcap("<", True, NFLOG, [
            (time, (b"\2" if version == 4 else b"\x0a") + b"\0\0\7\6\0\x0a\0in\0\0"
             + struct.pack("<HH", len(data) + 4, 9) + data) for time, data, version in versioned]),
        "pppoe.pcap": pcap(">", True, PPP_ETHER, [
            (time, struct.pack(">BBHHH", 0x11, 0, 9, len(data) + 2, 0x21 if version == 4 else 0x57)
             + data) for time, data, version in versioned]),
    }


def captures():
    given = packets()
    ip = ip_packets(given)
    cooked = [(time, struct.pack(">HHH8s", 0, 1, 6, b"\2\0\0\0\0\1\0\0") + data[12:])
              for time, data in given]
    cooked2 = [(time, data[12:14] + struct.pack(">HIHBB8s", 0, 1, 1, 0, 6, b"\2\0\0\0\0\1\0\0")
                + data[14:]) for time, data in given]
    null = [(time, struct.pack("<I", 2 if data[0] >> 4 == 4 else 10) + data) for time, data in ip]
    made = {
        "micro-little.pcap": pcap("<", False, ETHERNET, given),
        "micro-big.pcap": pcap(">", False, ETHERNET, given),
        "nano-big.pcap": pcap(">", True, ETHERNET, given),
        "snapped.pcap": pcap("<", True, ETHERNET, given, snaplen=64),
        "raw.pcap": pcap("<", True, RAW, ip),
        "null.pcap": pcap("<", True, NULL, null),
        "cooked.pcap": pcap("<", True, COOKED, cooked),
        "cooked2.pcap": pcap(">", True, COOKED2, cooked2),
        "many-little.pcapng": _pcapng_of_many("<", given),
        "many-big.pcapng": _pcapng_of_many(">", given),
        "sections.pcapng": _pcapng_of_sections(given),
        "simple.pcapng": _pcapng_without_times(given),
    }
    made.update(_on_other_links(given, ip))
    nano = pcap("<", True, ETHERNET, given)
    made["members.pcap.gz"] = gzip.compress(nano[:999], 1) + gzip.compress(nano[999:], 9)
    return made


def write(folder):
    """Write all captures into the folder; return their paths."""
    paths = []
    for name, data in captures().items():
        paths.append(pathlib.Path(folder) / name)
        paths[-1].write_bytes(data)
    return paths
