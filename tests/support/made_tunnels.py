# SPDX-License-Identifier: BSD-3-Clause
"""Frames with tunnels for tests: every form of encapsulate.py, stacks of them, and oddities
that unecho, tshark or both do not open. captures() -> {name: frames}; write() puts them into a
folder.
"""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "oracle"))
import encapsulate  # noqa: E402
import frames  # noqa: E402

V4, V6 = ("10.8.0.1", "10.9.0.1"), ("2001:db8:8::1", "2001:db8:9::1")


def inner_packets(count):
    """Return IPv4 and IPv6 packets in turn, all different."""
    for number in range(1, count + 1):
        source = "10.8.%d.%d" % divmod(number, 256), "2001:db8:8::%x" % number
        segments = [frames.udp(host, to, (1000, 2000), b"packet %05d" % number)
                    for host, to in zip(source, (V4[1], V6[1]))]
        yield frames.ipv4(source[0], V4[1], frames.UDP, segments[0], number) if number % 2 \
            else frames.ipv6(source[1], V6[1], frames.UDP, segments[1], flow_label=number)


def forms(of=lambda form: True):
    """Return a frame of each form with of(form), around each kind of packet that it can hold."""
    chosen = [form for form in encapsulate.FORMS if of(form)]
    packets = inner_packets(4 * len(chosen))
    out = []
    for form in chosen:
        for packet in (next(packets), next(packets)):
            if encapsulate.takes(form, packet):
                out.append(encapsulate.wrap(form, packet))
                if form.inside == "ethernet":
                    out.append(encapsulate.wrap(form, packet, tags=((frames.VLAN, 5),),
                                                stack=(16,)))
    return out


def is_l2tp_v3(form):
    return form.names == ("l2tp",) and "version 3" in form.text


def head_of_l2tp_v3(form):
    return int(form.text.split("cookie ")[1][0]) + (4 if "sublayer" in form.text else 0)


def stacks(count=300, seed=20):
    """Return random stacks of 1 to 8 levels, of forms that tshark opens without extra settings."""
    known = [form for form in encapsulate.FORMS if not is_l2tp_v3(form)
             and not (form.names == ("erspan",) and form.inside != "ethernet")
             and (form.names, form.text) != (("vxlan-gpe",), "flag P clear")
             and form.text != "no control word, high address"]
    draw = random.Random(seed)
    return [encapsulate.stacked(draw, packet, draw.randrange(1, 9), known).frame
            for packet in inner_packets(count)]


def oddities():
    """Return, for each known difference between decoders, packets that show it; and some without
    any."""
    inner = list(inner_packets(8))
    quote = inner[0][:28]
    yield frames.ethernet(frames.ipv4(*V4, frames.ICMP, frames.icmp(3, 0, 0, quote), 900))
    quotes = frames.icmpv6(*V6, 3, bytes(4) + inner[1])
    yield frames.ethernet(frames.ipv6(*V6, frames.ICMPV6, quotes))
    gre = encapsulate.gre(inner[2], frames.IPV4)
    yield frames.ethernet(encapsulate.over_ip(4, 47, gre, fragment=0x2000, identification=901))
    yield frames.ethernet(encapsulate.over_ip(4, 47, gre, fragment=0x0010, identification=902))
    parted = frames.ipv6_fragment(47, 0, 1, 1, gre)
    yield frames.ethernet(encapsulate.over_ip(6, frames.FRAGMENT, parted))
    deep = inner[3]
    for number in range(10):
        deep = encapsulate.over_ip(4, 41 if number == 0 else 4, deep, identification=910 + number)
    yield frames.ethernet(deep)
    vxlan = encapsulate.vxlan(encapsulate.inner_ethernet(inner[4]), 7)
    yield frames.ethernet(encapsulate.over_udp(4, (50000, 4789), b"\0" + vxlan[1:]))
    whole = frames.ethernet(encapsulate.over_udp(4, (50000, 4789), vxlan), pad=False)
    options = frames.ipv4(*V4, frames.ESP, b"", 920, options=bytes(8))
    yield frames.ethernet(options, pad=False)[:-4]
    yield frames.ethernet(b"\x66" + inner[0][1:], frames.IPV4)
    offloaded = bytearray(frames.ethernet(inner[0], pad=False))
    offloaded[16:18] = bytes(2)
    yield bytes(offloaded)
    for length in range(42, 42 + 8 + 14 + 21):
        yield whole[:length]
    capwap = bytes.fromhex("00 100200 0000 0000")  # 802.3 inside
    yield frames.ethernet(encapsulate.over_udp(
        4, (50000, 5247), capwap + encapsulate.inner_ethernet(inner[5])))
    arp = frames.ethernet(frames.arp(1, frames.MAC_A[6:], *V4), frames.ARP)
    yield frames.ethernet(encapsulate.over_udp(4, (50000, 4789), encapsulate.vxlan(arp, 7)))
    yield frames.ethernet(encapsulate.over_ip(4, 47, gre[:2] + b"\x88\x3e" + gre[4:]))
    yield from forms(lambda form: (form.names, form.text) == (("vxlan-gpe",), "flag P clear"))
    yield from forms(lambda form: form.names == ("erspan",) and form.inside != "ethernet")
    yield from forms(lambda form: form.text == "no control word, high address")


def captures():
    return {"forms": forms(), "stacks": stacks(), "oddities": list(oddities())}


def write(folder):
    """Write the captures with one frame every 20 us; return their paths."""
    paths = []
    for name, made in captures().items():
        paths.append(pathlib.Path(folder) / (name + ".pcap"))
        paths[-1].write_bytes(frames.pcap([(number * 20_000, frame)
                                           for number, frame in enumerate(made)]))
    return paths
