# SPDX-License-Identifier: BSD-3-Clause
"""Packets inside tunnels, as bytes; for generators and tests.

FORMS has every encapsulation that unecho opens, over IPv4 and IPv6, around Ethernet, IPv4 and IPv6
if supported, with options on and off. wrap(form, ip) returns an Ethernet frame with the packet
inside; stacked() nests random forms. The other functions make one header each: they take the
content and return header and content.

Knows nothing of decapsulation.
"""
import collections
import struct

import frames

HOSTS = {4: ("192.0.2.10", "192.0.2.20"), 6: ("2001:db8:ffff::10", "2001:db8:ffff::20")}
# Addresses of a real vendor: by them Wireshark decides whether a pseudowire has a control word.
INNER_MACS = bytes.fromhex("001b210000c1001b210000c2")
BACKBONE_MACS = bytes.fromhex("0200000000d10200000000d2")
ENTROPY = 50000  # an arbitrary source port
TEB, GRE_PPP, ERSPAN_II, ERSPAN_III, PBB = 0x6558, 0x880B, 0x88BE, 0x22EB, 0x88E7
MPLS_MULTICAST = 0x8848
ETHERTYPES = {"ethernet": TEB, "ipv4": frames.IPV4, "ipv6": frames.IPV6}
PPP_OF = {4: 0x0021, 6: 0x0057}

# names: the encapsulations to be opened, from the outermost on, one a level. outside: "ipv4",
# "ipv6" or "ethernet"; inside: likewise, the content that make() takes. space: kind of the number
# that make(inner, number) writes (see TENANTS), or None. bare: the Ethernet frame inside may hold
# no further encapsulation.
Form = collections.namedtuple("Form", "names text outside inside space bare make")
# {kind: (its number, bits)}
TENANTS = {"vni": (1, 24), "i-sid": (2, 24), "gre-key": (3, 32), "teid": (4, 32),
           "session": (5, 32), "call": (6, 16)}


# ---- headers ------------------------------------------------------------------------------------

def vxlan(frame, vni, flags=0x08, group=0):
    return struct.pack(">BBHI", flags, 0, group, vni << 8) + frame


def vxlan_gpe(payload, vni, following=None, flags=0x08):
    """following: number of the content's protocol; None: Ethernet, without the flag."""
    return struct.pack(">BHBI", flags | (0 if following is None else 0x04), 0, following or 0,
                       vni << 8) + payload


def geneve(payload, protocol, vni, options=b"", flags=0):
    return struct.pack(">BBHI", len(options) // 4, flags, protocol, vni << 8) + options + payload


def geneve_option(value, critical=False):
    """value: a multiple of 4 bytes."""
    return struct.pack(">HBB", 0x0101, 0x80 if critical else 0x01, len(value) // 4) + value


def gre(payload, protocol, key=None, sequence=None, checksum=False):
    flags = (0x8000 if checksum else 0) | (0 if key is None else 0x2000) \
        | (0 if sequence is None else 0x1000)
    optional = b"".join(struct.pack(">I", value) for value in (key, sequence) if value is not None)
    head = struct.pack(">HH", flags, protocol)
    if checksum:
        value = frames.checksum(head + bytes(4) + optional + payload)
        head += struct.pack(">HH", value, 0)
    return head + optional + payload


def pptp(payload, call, sequence=0, acknowledged=None):
    flags = 0x3001 | (0 if acknowledged is None else 0x80)
    return struct.pack(">HHHHI", flags, GRE_PPP, len(payload), call, sequence) \
        + (b"" if acknowledged is None else struct.pack(">I", acknowledged)) + payload


def erspan_ii(frame, session, vlan=7, index=3):
    return struct.pack(">HHI", 1 << 12 | vlan, session, index) + frame


def erspan_iii(payload, session, frame_type=0, vlan=7, timestamp=99, subheader=None):
    """frame_type: 0 Ethernet, 2 IP; subheader: 8 bytes."""
    return struct.pack(">HHIHH", 2 << 12 | vlan, session, timestamp, 0,
                       frame_type << 10 | (subheader is not None)) + (subheader or b"") + payload


def gtp_u(packet, teid, sequence=None, pdu=None, extensions=(), kind=255):
    """extensions: (type, content of 4n - 2 bytes)."""
    flags = 0x30 | (4 if extensions else 0) | (0 if sequence is None else 2) | (pdu is not None)
    optional = b""
    if flags & 7:
        optional = struct.pack(">HB", sequence or 0, pdu or 0)
        for following, content in extensions:
            optional += bytes((following, (len(content) + 2) // 4)) + content
        optional += b"\0"
    return struct.pack(">BBHI", flags, kind, len(optional + packet), teid) + optional + packet


def labels(payload, stack=(16,)):
    return b"".join(struct.pack(">I", label << 12 | (index == len(stack) - 1) << 8 | 63)
                    for index, label in enumerate(stack)) + payload


def pseudowire(frame, control_word=True, sequence=5):
    return (struct.pack(">HH", 0, sequence) if control_word else b"") + frame


def labelled(payload, stack=(16,)):
    """Return an Ethernet frame with labels in front of the payload."""
    return frames.ethernet(labels(payload, stack), frames.MPLS, macs=BACKBONE_MACS, pad=False)


def pbb(frame, i_sid, tags=(), macs=BACKBONE_MACS):
    """Return an Ethernet frame of the backbone."""
    return frames.ethernet(struct.pack(">I", i_sid) + frame, PBB, macs=macs, tags=tags, pad=False)


def ppp(packet, address=True, short=False):
    """address: with FF 03; short: a protocol of one byte."""
    protocol = PPP_OF[packet[0] >> 4]
    return (b"\xff\x03" if address else b"") + (
        bytes((protocol,)) if short else struct.pack(">H", protocol)) + packet


def l2tp_v2(payload, tunnel, session, length=False, sequence=None, offset=None):
    flags = 2 | (0x4000 if length else 0) | (0 if sequence is None else 0x0800) \
        | (0 if offset is None else 0x0200)
    body = struct.pack(">HH", tunnel, session)
    body += b"" if sequence is None else struct.pack(">HH", sequence, 0)
    body += b"" if offset is None else struct.pack(">H", offset) + bytes(offset)
    head = struct.pack(">H", flags)
    if length:
        head += struct.pack(">H", 4 + len(body) + len(payload))
    return head + body + payload


def l2tp_v3(payload, session, cookie=b"", sublayer=False, udp=False):
    return (b"\0\x03\0\0" if udp else b"") + struct.pack(">I", session) + cookie \
        + (b"\x40\0\0\x01" if sublayer else b"") + payload


def jmirror(payload, mirror, session=7):
    return struct.pack(">II", mirror, session) + payload


def etherip(frame):
    return b"\x30\0" + frame


def tzsp(frame, fields=b""):
    return b"\1\0\0\1" + fields + b"\1" + frame


def teredo(packet, authentication=None, origin=False):
    """authentication: (client identifier, value)."""
    out = b""
    if authentication is not None:
        client, value = authentication
        out += bytes((0, 1, len(client), len(value))) + client + value + b"nonce678\0"
    if origin:
        out += b"\0\0" + struct.pack(">H", 40000 ^ 0xFFFF) + bytes.fromhex("3ffffdf6")
    return out + packet


def authentication_header(protocol, payload):
    return struct.pack(">BBHII", protocol, 4, 0, 0x1000, 1) + b"integrity123" + payload


def over_ip(version, protocol, payload, **fields):
    return (frames.ipv4 if version == 4 else frames.ipv6)(*HOSTS[version], protocol, payload,
                                                          **fields)


def over_udp(version, ports, payload):
    return over_ip(version, frames.UDP, frames.udp(*HOSTS[version], ports, payload))


def inner_ethernet(packet, tags=(), stack=()):
    """stack: MPLS labels."""
    return frames.ethernet(packet, macs=INNER_MACS, tags=tags, labels=stack, pad=False)


# ---- forms --------------------------------------------------------------------------------------

_FRAME, _IP, _ALL = ("ethernet",), ("ipv4", "ipv6"), ("ethernet", "ipv4", "ipv6")


def _udp_forms():
    """Return (names, text, insides, space, bare, ports, header(inner, inside, number)) of each
    form."""
    def udp(name, text, insides, space, port, header, bare=False):
        return (name,), text, insides, space, bare, (ENTROPY, port), header
    for port in (4789, 8472):
        yield udp("vxlan", "port %d" % port, _FRAME, "vni", port, lambda p, _, n: vxlan(p, n))
    yield udp("tzsp", "no fields", _FRAME, None, 37008, lambda p, _, n: tzsp(p))
    yield udp("tzsp", "fields and padding", _FRAME, None, 37008,
              lambda p, _, n: tzsp(p, b"\0\x0a\1\x40\0"))
    yield udp("jmirror", "IP", _IP, None, 30030, lambda p, _, n: jmirror(p, n))
    yield udp("jmirror", "PPP", _IP, None, 30030, lambda p, _, n: jmirror(ppp(p), n))
    yield udp("vxlan", "group policy", _FRAME, "vni", 4789,
              lambda p, _, n: vxlan(p, n, flags=0x88, group=9))
    yield udp("vxlan-gpe", "flag P clear", _FRAME, "vni", 4790, lambda p, _, n: vxlan_gpe(p, n))
    following = {"ipv4": 1, "ipv6": 2, "ethernet": 3}
    yield udp("vxlan-gpe", "flag P set", _ALL, "vni", 4790,
              lambda p, kind, n: vxlan_gpe(p, n, following[kind]))
    yield udp("vxlan-gpe", "no identifier", _ALL, None, 4790,
              lambda p, kind, _: vxlan_gpe(p, 0, following[kind], flags=0))
    yield udp("vxlan-gpe", "labels", _IP, "vni", 4790,
              lambda p, _, n: vxlan_gpe(labels(p), n, 5))
    yield udp("geneve", "plain", _ALL, "vni", 6081,
              lambda p, kind, n: geneve(p, ETHERTYPES[kind], n))
    yield udp("geneve", "labels", _IP, "vni", 6081,
              lambda p, _, n: geneve(labels(p, (16, 17)), frames.MPLS, n))
    options = geneve_option(b"") + geneve_option(b"12345678", critical=True)
    yield udp("geneve", "options", _ALL, "vni", 6081,
              lambda p, kind, n: geneve(p, ETHERTYPES[kind], n, options, flags=0x40))
    most = geneve_option(bytes(124)) + geneve_option(bytes(120))
    yield udp("geneve", "most options", _ALL, "vni", 6081,
              lambda p, kind, n: geneve(p, ETHERTYPES[kind], n, most))
    yield udp("gre", "in UDP", _ALL, "gre-key", 4754,
              lambda p, kind, n: gre(p, ETHERTYPES[kind], key=n))
    yield udp("gtp-u", "plain", _IP, "teid", 2152, lambda p, _, n: gtp_u(p, n))
    yield udp("gtp-u", "sequence", _IP, "teid", 2152, lambda p, _, n: gtp_u(p, n, sequence=3))
    yield udp("gtp-u", "pdu number", _IP, "teid", 2152, lambda p, _, n: gtp_u(p, n, pdu=3))
    session = 0x85, b"\x10\x09"
    yield udp("gtp-u", "an extension", _IP, "teid", 2152,
              lambda p, _, n: gtp_u(p, n, extensions=(session,)))
    yield udp("gtp-u", "all of it", _IP, "teid", 2152, lambda p, _, n: gtp_u(
        p, n, sequence=3, pdu=3, extensions=(session, (0x40, bytes(10)))))
    yield udp("mpls", "in UDP", _IP, None, 6635, lambda p, _, n: labels(p, (16, 17, 18)))
    yield from _l2tp_udp_forms()
    ipv6 = _IP[1:]
    for port in ((ENTROPY, 3544), (3544, ENTROPY)):
        for text, extra in (
                ("plain", {}), ("origin", {"origin": True}),
                ("authentication", {"authentication": (b"", b"")}),
                ("all of it", {"authentication": (b"client", b"value"), "origin": True})):
            yield (("teredo",), "%s, from port %d" % (text, port[0]), ipv6, None, False, port,
                   lambda p, kind, n, extra=extra: teredo(p, **extra))


def _chosen(bits, **options):
    """Return the options whose bit is set."""
    return {name: value for bit, (name, value) in enumerate(options.items()) if bits >> bit & 1}


def _l2tp_udp_forms():
    def header(packet, number, options, framing):
        return l2tp_v2(ppp(packet, **framing), number >> 16, number & 0xFFFF, **options)
    for bits in range(8):
        options = _chosen(bits, length=True, sequence=4, offset=6)
        for framing in ({}, {"address": False}, {"address": False, "short": True}):
            text = "version 2 %s" % ", ".join([*options, *framing])
            port = (1701, ENTROPY) if bits & 1 else (ENTROPY, 1701)
            yield (("l2tp",), text, _IP, "session", False, port,
                   lambda p, _, n, o=options, f=framing: header(p, n, o, f))
    for text, insides, make in _l2tp_v3_forms(udp=True):
        yield ("l2tp",), text + " in UDP", insides, "session", True, (1701, 1701), make


def _l2tp_v3_forms(udp):
    for cookie in (b"", b"\xc0\x0c\x1e\x04", b"\xc0\x0c\x1e\x08cook"):
        for sublayer in (False, True):
            text = "version 3, cookie %d%s" % (len(cookie), ", sublayer" if sublayer else "")
            yield text, _ALL, lambda p, kind, n, c=cookie, s=sublayer: l2tp_v3(
                p if kind == "ethernet" else ppp(p), n, c, s, udp)


def _ip_forms():
    """Return (names, text, insides, space, bare, protocol or function of the inside, header) of
    each form."""
    for bits in range(8):
        options, keyed = _chosen(bits & 5, checksum=True, key=None, sequence=4), bits & 2
        text = "with " + "".join(letter for bit, letter in enumerate("CKS") if bits >> bit & 1)
        yield (("gre",), text if bits else "plain", _ALL, "gre-key" if keyed else None, False, 47,
               lambda p, kind, n, o=options, keyed=keyed: gre(
                   p, ETHERTYPES[kind], key=n if keyed else None, **o))
    for protocol in (frames.MPLS, MPLS_MULTICAST):
        yield (("gre",), "labels 0x%04x" % protocol, _IP, None, False, 47,
               lambda p, _, n, protocol=protocol: gre(labels(p, (16, 17)), protocol))
    for text, more in (("PPTP", {}), ("PPTP, acknowledges", {"acknowledged": 8})):
        for framing in ({}, {"address": False}, {"address": False, "short": True}):
            yield (("gre",), ", ".join([text, *framing]), _IP, "call", False, 47,
                   lambda p, _, n, more=more, f=framing: pptp(ppp(p, **f), n, 5, **more))
    yield from _erspan_forms()
    for text, insides, make in _l2tp_v3_forms(udp=False):
        yield ("l2tp",), text, insides, "session", True, 115, make
    yield ("mpls",), "in IP", _IP, None, False, 137, lambda p, _, n: labels(p)
    yield ("etherip",), "in IP", _FRAME, None, False, 97, lambda p, _, n: etherip(p)
    number = {"ipv4": 4, "ipv6": 41}
    yield ("ip-in-ip",), "plain", _IP, None, False, number.get, lambda p, _, n: p
    yield (("ip-in-ip",), "behind AH", _IP, None, False, 51,
           lambda p, kind, n: authentication_header(number[kind], p))


def _erspan_forms():
    def form(text, insides, header):
        return ("erspan",), text, insides, None, False, 47, header
    yield form("I", _FRAME, lambda p, _, n: gre(p, ERSPAN_II))
    yield form("II", _FRAME, lambda p, _, n: gre(erspan_ii(p, 100), ERSPAN_II, sequence=1))
    yield form("II, key", _FRAME,
               lambda p, _, n: gre(erspan_ii(p, 100), ERSPAN_II, sequence=1, key=n))
    for text, subheader in (("III", None), ("III, subheader", b"platform")):
        yield form(text, _ALL, lambda p, kind, n, s=subheader: gre(erspan_iii(
            p, 100, 0 if kind == "ethernet" else 2, subheader=s), ERSPAN_III, sequence=1))


def _link_forms():
    """Return (names, text, bare, space, make(frame, number)) of each form."""
    for text, tags in (("plain", ()), ("tag outside", ((frames.QINQ, 5),))):
        yield ("pbb",), text, False, "i-sid", lambda f, n, tags=tags: pbb(f, n, tags)
    for word in (True, False):
        yield (("mpls-pw",), "control word" if word else "no control word", True, None,
               lambda f, n, word=word: labelled(pseudowire(f, word), (16, 17)))
    yield (("mpls-pw",), "no control word, high address", False, None,
           lambda f, n: labelled(b"\xb2" + f[1:]))


def _wires_in_tunnels():
    """Return pseudowires inside tunnels: (names, text, space, carrier, header(inner, number))."""
    wire = "mpls-pw"
    yield (("gre", wire), "in GRE", "gre-key", 47,
           lambda f, n: gre(labels(pseudowire(f)), frames.MPLS, key=n))
    yield (("mpls", wire), "in IP", None, 137, lambda f, n: labels(pseudowire(f)))
    yield (("mpls", wire), "in UDP", None, (ENTROPY, 6635),
           lambda f, n: labels(pseudowire(f, control_word=False)))
    yield (("geneve", wire), "in GENEVE", "vni", (ENTROPY, 6081),
           lambda f, n: geneve(labels(pseudowire(f)), frames.MPLS, n))


def _forms():
    def over(version, carrier, inside, header):
        def make(inner, number):
            payload = header(inner, inside, number)
            if isinstance(carrier, tuple):
                return over_udp(version, carrier, payload)
            return over_ip(version, carrier(inside) if callable(carrier) else carrier, payload)
        return make
    shapes = [*_udp_forms(), *_ip_forms()]
    shapes += [(names, text, _FRAME, space, True, carrier,
                lambda f, _, n, header=header: header(f, n))
               for names, text, space, carrier, header in _wires_in_tunnels()]
    for names, text, insides, space, bare, carrier, header in shapes:
        for version in (4, 6):
            for inside in insides:
                yield Form(names, text, "ipv%d" % version, inside, space, bare,
                           over(version, carrier, inside, header))
    for names, text, bare, space, make in _link_forms():
        yield Form(names, text, "ethernet", "ethernet", space, bare, make)


FORMS = tuple(_forms())


def kind_of(packet):
    return "ipv6" if packet[0] >> 4 == 6 else "ipv4"


def takes(form, packet):
    """Return True if the form can hold this IP packet."""
    return form.inside in ("ethernet", kind_of(packet))


def tenant_of(form, number):
    """Return (kind as a number, number that make() writes), or None."""
    if form.space is None:
        return None
    kind, bits = TENANTS[form.space]
    return kind, number & ((1 << bits) - 1)


def wrap(form, packet, number=0x10007, tags=(), stack=()):
    """Return an Ethernet frame with the IP packet inside. tags and labels: those of the inner
    Ethernet frame."""
    inner = inner_ethernet(packet, tags, stack) if form.inside == "ethernet" else packet
    return _framed(form, _made(form, inner, number))


def _made(form, inner, number):
    tenant = tenant_of(form, number)
    return form.make(inner, tenant[1] if tenant else number & 0xFFFF)


def _framed(form, outer):
    return outer if form.outside == "ethernet" else frames.ethernet(outer, pad=False)


_INNER_ETHERNET = ((), (((frames.VLAN, 3),),), ((), (16,)))  # (tags, labels)

# A frame, the names of its encapsulations from the outermost on, and the tenant of the innermost.
Stacked = collections.namedtuple("Stacked", "frame names tenant")


def stacked(draw, packet, levels, forms=FORMS):
    """Return the IP packet in so many levels of random forms. draw: a random.Random."""
    inner, whole, names, tenant = packet, True, (), None  # whole: inner is an IP packet, not an Ethernet frame
    while len(names) < levels:
        kind = kind_of(inner) if whole else "ethernet"
        usable = [form for form in forms if len(names) + len(form.names) <= levels and (
            form.inside == kind if not whole else form.inside in (kind, "ethernet"))
            and (whole or not form.bare)]
        form = draw.choice(usable)
        number = draw.randrange(1, 1 << 32) | 0x10001
        if form.inside == "ethernet" and whole:
            inner = inner_ethernet(inner, *draw.choice(_INNER_ETHERNET))
        inner = _made(form, inner, number)
        whole, names = form.outside != "ethernet", form.names + names
        tenant = tenant or tenant_of(form, number)
    frame = _framed(form, inner) if names else frames.ethernet(packet, pad=False)
    return Stacked(frame, names, tenant)
