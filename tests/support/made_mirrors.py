# SPDX-License-Identifier: BSD-3-Clause
"""Random captures of taps and mirrors that see the same traffic: plain, inside one or several
tunnels of every kind, cut, behind a router, of one or many tenants. They also contain tunnels that
carry traffic that is not mirrored, repeats, and ARP and fragments in tunnels. mix(seed) -> Mix. A
Mix says of every frame which packet it is.
"""
import collections
import pathlib
import random
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import encapsulate  # noqa: E402
import frames  # noqa: E402

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
START = 1_700_000_000 * SECOND
ETHERNET, RAW, COOKED = 1, 101, 113
# Names that came later would change what every seed draws.
LATER = ("jmirror", "etherip")
NAMES = sorted({form.names[0] for form in encapsulate.FORMS if len(form.names) == 1} - set(LATER))
SENDER, ROUTER = bytes.fromhex("0200000000aa0200000000ab"), bytes.fromhex("0200000000ba0200000000bb")
HELLOS, ARPS = "hello", "arp"

# One mirror or tap. names: encapsulations, of which one is used or, with levels, several nested.
# cut: at most so many bytes of the IP packet. tenant: None for that of the packet.
Look = collections.namedtuple("Look", "file names levels tenant cut routed tags late share")
# link: that of all files. looks: Look of each mirror or tap. files: for each file, a rising list of
# (time, frame, what). what: the packet's number or (kind, number), equal for two frames of one
# packet. text: a description.
Mix = collections.namedtuple("Mix", "seed text link looks files")


def packet(draw, number, short):
    """Return a TCP or UDP packet, IPv4 or IPv6, whose first bytes differ from those of every
    other."""
    talk = number % 20
    ends = ("10.1.0.%d" % talk, "10.2.0.%d" % talk) if talk % 2 else \
        ("fd01::%x" % talk, "fd02::%x" % talk)
    payload = b"%08d" % number + draw.randbytes(draw.choice((0, 30, 200) if short else (0, 60, 600)))
    kind = frames.TCP if talk % 4 < 2 else frames.UDP
    segment = frames.tcp(*ends, (40000 + talk, 443), payload, 1000 * number) \
        if kind == frames.TCP else frames.udp(*ends, (40000 + talk, 53), payload)
    if talk % 2:
        return frames.ipv4(*ends, kind, segment, draw.randrange(2, 1 << 16))
    return frames.ipv6(*ends, kind, segment)


def hello(router):
    """Return a hello with IP ID 0; its bytes are always the same."""
    body = b"hello of router %d" % router
    return frames.ipv4("10.9.0.%d" % router, "224.0.0.5", 89, body, 0, ttl=1)


def with_serial(frame, serial):
    """Give the outer header a serial number, so that no other frame has an equal one."""
    kind = frame[12:14]
    if kind == b"\x08\x00":
        head = bytearray(frame[14:14 + (frame[14] & 15) * 4])
        head[4:6] = struct.pack(">H", serial & 0xFFFF)
        head[10:12] = bytes(2)
        head[10:12] = struct.pack(">H", frames.checksum(bytes(head)))
        return frame[:14] + bytes(head) + frame[14 + len(head):]
    if kind == b"\x86\xdd":
        return frame[:15] + struct.pack(">BH", serial >> 16 & 15, serial & 0xFFFF) + frame[18:]
    return frame


def on_link(link, frame):
    """Return the frame for this link type, or None if the link type cannot carry it."""
    if link == ETHERNET:
        return frame
    if link == COOKED:
        return bytes.fromhex("0000000100060200000000090000") + frame[12:]
    return frame[14:] if frame[12:14] in (b"\x08\x00", b"\x86\xdd") else None


class Maker:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.link = self.draw.choice((ETHERNET,) * 8 + (RAW, COOKED))
        self.serial = 0
        self.many = self.draw.random() < 0.4  # many tenants
        self.cuts = self.draw.random() < 0.3
        self.files = collections.defaultdict(list)

    def look(self, file):
        draw, kind = self.draw, self.draw.random()
        names = () if kind < 0.3 else (draw.choice(NAMES),) if kind < 0.85 else tuple(
            draw.sample(NAMES, 3))
        cut = draw.choice((90, 120, 150, 300)) if self.cuts and draw.random() < 0.5 else None
        return Look(file, names, draw.randrange(2, 4) if len(names) > 1 else min(1, len(names)),
                    None if draw.random() < 0.6 else draw.randrange(1, 1 << 16), cut,
                    draw.random() < 0.4, draw.choice(((), (), ((frames.VLAN, 7),))),
                    draw.choice((20 * US, 500 * US, 5 * MS, 20 * MS)), draw.choice((0.7, 1, 1)))

    def tunnelled(self, look, ip, number):
        """Return the packet in a tunnel, or None if no encapsulation of the look can hold it."""
        ip = frames.routed(ip) if look.routed and ip[8 if ip[0] >> 4 == 4 else 7] > 1 else ip
        ip = ip[:look.cut]
        if not look.names:
            return frames.ethernet(ip, macs=ROUTER if look.routed else SENDER, tags=look.tags)
        forms = [form for form in encapsulate.FORMS if set(form.names) <= set(look.names)]
        if look.levels > 1:
            try:
                return encapsulate.stacked(self.draw, ip, look.levels, forms).frame
            except IndexError:
                return None
        usable = [form for form in forms if encapsulate.takes(form, ip)]
        tenant = look.tenant or (100 + number % 5 if self.many else 100)
        return encapsulate.wrap(self.draw.choice(usable), ip, tenant, look.tags) if usable else None

    def see(self, look, time, ip, what):
        frame = self.tunnelled(look, ip, what if isinstance(what, int) else 0)
        frame = frame and on_link(self.link, with_serial(frame, self.next()) if look.names else frame)
        if frame:
            self.files[look.file].append((time, frame, what))

    def next(self):
        self.serial += 1
        return self.serial

    def traffic(self, looks, count, begin, gap):
        for number in range(begin, begin + count):
            ip = packet(self.draw, number, self.cuts)
            for look in looks:
                if self.draw.random() < look.share:
                    late = self.draw.randrange(look.late // 2, look.late)
                    self.see(look, START + (number - begin) * gap + late, ip, number)

    def hellos(self, looks, span):
        for router in range(1, 3):
            for number, time in enumerate(range(router * MS, span, 400 * MS)):
                for look in looks:
                    self.see(look, START + time + look.late // 2, hello(router),
                             (HELLOS, router, number))

    def arps(self, look, span):
        """Add ARP frames. In a tunnel they are packets without IP, which stay unopened."""
        for number in range(3):
            arp = frames.ethernet(frames.arp(1, SENDER[6:], "10.1.0.1", "10.1.0.%d" % number),
                                  frames.ARP)
            vxlan = encapsulate.over_udp(4, (50000, 4789), encapsulate.vxlan(arp, 7))
            frame = on_link(self.link, with_serial(frames.ethernet(vxlan, pad=False), self.next()))
            self.files[look.file].append((START + span * number // 3, frame,
                                          (ARPS, number, self.serial)))


def mix(seed):
    maker = Maker(seed)
    draw = maker.draw
    looks = [maker.look(draw.randrange(2)) for _ in range(draw.randrange(2, 5))]
    count, gap = draw.randrange(60, 160), draw.choice((200 * US, 2 * MS, 12 * MS))
    maker.traffic(looks, count, 0, gap)
    parts = ["%d looks" % len(looks)]
    if draw.random() < 0.4:  # in a tunnel whose traffic is not mirrored
        maker.traffic([maker.look(0)._replace(cut=None)], 40, 100_000, gap)
        parts.append("a tunnel seen once")
    if draw.random() < 0.4:
        maker.hellos(looks, 3 * SECOND)
        parts.append("hellos")
    if draw.random() < 0.3:
        maker.arps(looks[0], count * gap)
        parts.append("ARP in VXLAN")
    files = [sorted(maker.files[file], key=lambda one: one[0]) for file in sorted(maker.files)]
    for look in looks:
        parts.append("/".join(look.names) * bool(look.names) + "*%d" % look.levels
                     if look.names else "plain")
        parts[-1] += " cut %d" % look.cut if look.cut else ""
    return Mix(seed, ", ".join(parts), maker.link, looks, files)


def write(made, folder):
    """Write one pcap a file; return their paths."""
    paths = []
    for number, file in enumerate(made.files):
        path = pathlib.Path(folder) / ("mix-%d-%d.pcap" % (made.seed, number))
        path.write_bytes(frames.pcap([(time, frame) for time, frame, _ in file], nanoseconds=True,
                                     link=made.link))
        paths.append(path)
    return paths
