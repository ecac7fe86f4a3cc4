# SPDX-License-Identifier: BSD-3-Clause
"""Finds IP packets in captured frames: link types, tags, labels, PPPoE sessions.

Knows nothing of keys. Offsets count from the frame's first byte. A frame is cut at the end of the
bytes under examination, so that no byte beyond is read.
"""
import collections
import struct

ETHERNET, NULL, PPP, LOOP, COOKED, IPV4, IPV6, COOKED2 = 1, 0, 9, 108, 113, 228, 229, 276
WIFI, RADIOTAP, AVS, PPI, HDLC, FRAME_RELAY, NFLOG, PPP_HDLC = 105, 127, 163, 192, 104, 107, 239, 50
PPP_ETHER = 51                           # a PPPoE session
RAW, RADIO = (12, 14, 101), (WIFI, RADIOTAP, AVS, PPI)
LINKS = (ETHERNET, NULL, PPP, PPP_HDLC, LOOP, COOKED, IPV4, IPV6, COOKED2, HDLC, FRAME_RELAY,
         NFLOG, PPP_ETHER) + RAW + RADIO

VLANS = (0x8100, 0x88A8, 0x9100, 0x9200)
HSR, REDUNDANCY_TAG = 0x892F, 0xF1C1      # they number frames
MPLS = (0x8847, 0x8848)
PPPOE = 0x8864                           # sessions
EXTENSIONS = (0, 43, 60, 135, 139, 140)  # headers whose length counts units of 8 bytes after the first 8
FRAGMENT, AUTHENTICATION, NO_NEXT_HEADER = 44, 51, 59
PPP_PROTOCOLS = {0x0021: 4, 0x0057: 6}
FAMILIES = {2: 4, 10: 6, 24: 6, 28: 6, 30: 6}  # each system has its own number for IPv6
# link: (offset of the EtherType, end)
ETHERTYPES = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED2: (0, 20), HDLC: (2, 4)}

# A packet with a complete header: version, offset, and end by its length or by the capture.
Ip = collections.namedtuple("Ip", "version at end")
# The protocol after the IP header, its offset, and whether the packet is a fragment.
Upper = collections.namedtuple("Upper", "protocol at fragment")
WHOLE, FIRST, LATER = range(3)


class NoKey(Exception):
    """A frame that is forwarded without a key; args: kind ("non_ip" or "malformed") and reason."""


class NoIp(NoKey):
    """An EtherType other than IP: its number, and begin and end of its content. For MPLS: the
    content after the labels, which is not IP."""

    def __init__(self, reason, ethertype, at, end):
        super().__init__("non_ip", reason)
        self.ethertype, self.at, self.end = ethertype, at, end


def need(have, size):
    if have < size:
        raise NoKey("malformed", "cut short")


def number(data, at):
    return data[at] << 8 | data[at + 1]


# ---- from the link to the IP packet -------------------------------------------------------------

# One tag: the number of bytes after its EtherType up to and including the next EtherType, that
# EtherType, and True if it belongs to an inner Ethernet frame.
Step = collections.namedtuple("Step", "size ethertype frame")


def _fixed(size):
    return lambda tag: (need(len(tag), size), Step(size, number(tag, size - 2), False))[1]


def _frame_behind(size):
    return lambda tag: (need(len(tag), size + 14), Step(size + 14, number(tag, size + 12), True))[1]


def _arista(tag):
    need(len(tag), 4)
    if tag[:3] not in (b"\0\1\0", b"\0\1\1") or tag[3] not in (0x10, 0x20):
        return None
    return _fixed(14 if tag[3] == 0x10 else 12)(tag)


def _trill(tag):
    need(len(tag), 6)
    flags = number(tag, 0)
    return None if flags >> 14 else _frame_behind(6 + (flags >> 6 & 31) * 4)(tag)


def _nsh(tag):
    need(len(tag), 8)
    size, following = (tag[1] & 0x3F) * 4, {1: 0x0800, 2: 0x86DD, 3: None, 5: MPLS[0]}
    if tag[0] & 0xE0 or size < 8 or tag[3] not in following:
        return None
    if tag[3] == 3:
        return _frame_behind(size)(tag)
    need(len(tag), size)
    return Step(size, following[tag[3]], False)


def _snap(tag):
    if tag[:6] not in (b"\xaa\xaa\3\0\0\0", b"\xaa\xaa\3\0\0\xf8") or len(tag) < 8:
        return None
    return Step(8, number(tag, 6), False) if number(tag, 6) > 1500 else None


TAGS = {**dict.fromkeys(VLANS, _fixed(4)),
        0x8926: _fixed(6),               # VN-Tag
        0x893F: _fixed(8),               # IEEE 802.1BR
        0x8909: _fixed(8),               # Cisco's security groups
        0x8988: _fixed(8),               # Cisco's time
        0xD28B: _arista,                 # Arista's time
        HSR: _fixed(6), REDUNDANCY_TAG: _fixed(6),
        0x8903: _frame_behind(2),        # FabricPath
        0x22F3: _trill, 0x894F: _nsh,
        0x6558: _frame_behind(0),        # transparent Ethernet
        0x8870: _snap}                   # LLC in jumbo frames


def steps(frame, ethertype, at):
    """Yield (EtherType, offset, Step) of each tag after an EtherType; in cooked captures 4 is
    LLC."""
    while True:
        is_llc = 8 <= ethertype <= 1500 or ethertype == 4
        step = _snap(frame[at:]) if is_llc else TAGS.get(ethertype, lambda _: None)(frame[at:])
        if step is None:
            return
        yield ethertype, at, step
        ethertype, at = step.ethertype, at + step.size


# {EtherType: function from a tag's bytes to its network's number}
_NETWORKS = {**dict.fromkeys(VLANS, lambda tag: number(tag, 0) & 0xFFF),
             0x8926: lambda tag: (number(tag, 0) << 16 | number(tag, 2)) & 0x3FFF0FFF,
             0x893F: lambda tag: (number(tag, 2) & 0x3FFF, tag[5])}


def networks(frame, link):
    """Return the networks of a frame's packet or other content, the outermost first: VLANs, ports
    of fabric extenders, MPLS labels, a PPPoE session."""
    at, found = 0, []
    if link in ETHERTYPES:
        begin, at = ETHERTYPES[link]
        ethertype = number(frame, begin)
    elif link in RADIO:
        try:
            begin, whole, padded = radio(frame, link)
            ethertype, at = wifi_payload(whole, padded)
        except NoKey:
            return ()
        frame = whole
    elif link == PPP_ETHER:
        ethertype = PPPOE
    else:
        return ()
    for tag, begin, step in steps(frame, ethertype, at):
        if tag in _NETWORKS:
            found.append((VLANS[0] if tag in VLANS else tag, _NETWORKS[tag](frame[begin:])))
        ethertype, at = step.ethertype, begin + step.size
    if ethertype in MPLS:
        bottom = False
        while not bottom:
            found.append((MPLS[0], (number(frame, at) << 8 | frame[at + 2]) >> 4))
            bottom, at = frame[at + 2] & 1, at + 4
    if ethertype == PPPOE:
        found.append((PPPOE, number(frame, at + 2)))
    return tuple(found)


def behind_tags(frame, ethertype, at):
    """Return (EtherType, offset) after the last tag."""
    for _, begin, step in steps(frame, ethertype, at):
        ethertype, at = step.ethertype, begin + step.size
    return ethertype, at


def behind_ethertype(frame, ethertype, at):
    """Return (version, offset) of the IP packet after an EtherType."""
    ethertype, at = behind_tags(frame, ethertype, at)
    if ethertype == 0x0800:
        return 4, at
    if ethertype == 0x86DD:
        return 6, at
    if ethertype == PPPOE:
        need(len(frame), at + 6)
        return behind_ppp(frame, at + 6)
    if ethertype in MPLS:
        return behind_labels(frame, at)
    raise NoIp("ethertype 0x%04x" % ethertype, ethertype, at, len(frame))


def behind_labels(frame, at):
    bottom = False
    while not bottom:
        need(len(frame), at + 4)
        bottom, at = frame[at + 2] & 1, at + 4
    return sound_ip(frame, at, NoIp("mpls payload", MPLS[0], at, len(frame)))


MOST_TRAILER = 64  # most bytes after a packet that only its header identifies as IP
# Protocols and headers that may follow IPv6, and (first bits, mask) of allocated unicast addresses.
NEXT_HEADERS = frozenset((0, 4, 6, 8, 9, 17, 33, 41, 43, 44, 46, 47, 50, 51, 58, 59, 60, 88, 89, 97,
                          103, 108, 112, 115, 132, 135, 136, 137, 139, 140, 143))
UNICAST = ((0x2000 << 48, 0xE000 << 48), (0xFC00 << 48, 0xFE00 << 48), (0xFE80 << 48, 0xFFC0 << 48),
           (0, 2**64 - 1), (0x0064FF9B << 32, 2**64 - 1))


def sound_ip(frame, at, otherwise):
    """Return (version, at) of a sound header. It is used where nothing else announces IP; many
    Ethernet frames begin with a nibble of 4 or 6."""
    need(len(frame), at + 1)
    version = frame[at] >> 4
    if version not in (4, 6):
        raise otherwise
    need(len(frame), at + (20 if version == 4 else 40))
    if not (_is_sound_ipv4 if version == 4 else _is_sound_ipv6)(frame[at:]):
        raise otherwise
    return version, at


def _is_sound_ipv4(data):
    header, length = (data[0] & 15) * 4, number(data, 2)
    if header < 20 or len(data) < header or 0 < length < header:
        return False
    total = sum(number(data, at) for at in range(0, header, 2))
    return total % 0xFFFF == 0 and (length == 0 or length + MOST_TRAILER >= len(data))


def _is_sound_ipv6(data):
    def unicast(at):
        first = int.from_bytes(data[at:at + 8], "big")
        return any(first & mask == bits for bits, mask in UNICAST)
    length, following, hops = number(data, 4), data[6], data[7]
    fits = 40 + length + MOST_TRAILER >= len(data) or length == 0 and following != NO_NEXT_HEADER
    return fits and hops > 0 and following in NEXT_HEADERS and unicast(8) \
        and (data[24] == 0xFF or unicast(24))


def behind_ppp(frame, at):
    need(len(frame), at + 2)
    return _known(PPP_PROTOCOLS, number(frame, at), at + 2, "ppp 0x%04x")


def by_version(frame, at, *otherwise):
    need(len(frame), at + 1)
    if frame[at] >> 4 not in (4, 6):
        raise NoKey(*otherwise)
    return frame[at] >> 4, at


def _known(versions, value, at, name):
    if value not in versions:
        raise NoKey("non_ip", name % value)
    return versions[value], at


def radio(frame, link):
    """Return (offset of the 802.11 frame after the radio headers, that frame without an announced
    check sequence, True if its header is padded)."""
    if link == WIFI:
        return 0, frame, False
    need(len(frame), 8)
    begin = int.from_bytes(frame[4:8], "big") if link == AVS else frame[2] | frame[3] << 8
    if begin < 8:
        raise NoKey("malformed", "radio header length")
    need(len(frame), begin)
    if link == PPI and frame[4:8] != b"\x69\0\0\0":
        raise NoKey("non_ip", "ppi link type")
    flags = {RADIOTAP: _radiotap_flags, PPI: _ppi_flags, AVS: lambda _: 0}[link](frame[:begin])
    whole = frame[begin:]
    return begin, whole[:max(0, len(whole) - 4)] if flags & 0x10 else whole, bool(flags & 0x20)


def _radiotap_flags(header):
    at, present = 8, struct.unpack_from("<I", header, 4)[0]
    more = present
    while more >> 31:
        need(len(header), at + 4)
        more, at = struct.unpack_from("<I", header, at)[0], at + 4
    if present & 1:
        at += -at % 8 + 8
    if not present & 2:
        return 0
    need(len(header), at + 1)
    return header[at]


def _ppi_flags(header):
    """Return radiotap's flags as far as PPI has them: 0x10."""
    at = 8
    while at + 4 <= len(header):
        kind, size = struct.unpack_from("<HH", header, at)
        value = header[at + 4:at + 4 + size]
        if kind == 2 or len(value) < size:
            return (value[8] & 1) << 4 if kind == 2 and len(value) == size >= 10 else 0
        at += 4 + size + (-size % 4 if header[1] & 1 else 0)
    return 0


def wifi_payload(frame, padded):
    """Return (EtherType, offset of the content) in an 802.11 frame."""
    need(len(frame), 2)
    version, kind, subtype = frame[0] & 3, frame[0] >> 2 & 3, frame[0] >> 4
    if version != 0 or kind != 2 or subtype & 4 or frame[1] & 0x40:
        raise NoKey("non_ip", "802.11 type %d" % kind)
    four, qos = 6 if frame[1] & 3 == 3 else 0, subtype & 8
    at = 24 + four + ((6 if frame[1] & 0x80 else 2) if qos else 0)
    at += -at % 4 if padded else 0
    need(len(frame), at)
    if frame[22] & 15 or qos and frame[24 + four] & 0x80:
        raise NoKey("non_ip", "802.11 fragment or several packets")
    need(len(frame), at + 3)
    if frame[at:at + 3] != b"\xaa\xaa\x03":
        raise NoKey("non_ip", "802.11 llc")
    need(len(frame), at + 8)
    if frame[at + 3:at + 6] not in (b"\0\0\0", b"\0\0\xf8"):
        raise NoKey("non_ip", "802.11 snap")
    return number(frame, at + 6), at + 8


def _in_nflog(frame):
    """Return (version, offset, end) of the packet."""
    need(len(frame), 4)
    version, at = _known({2: 4, 10: 6}, frame[0], 4, "address family %d")
    while True:
        need(len(frame), at + 4)
        size, kind = struct.unpack_from("<HH", frame, at)
        if size < 4:
            raise NoKey("malformed", "nflog field")
        if kind & 0x7FFF == 9:
            return version, at + 4, at + size
        at += size + -size % 4


def _behind_frame_relay(frame):
    at = next((i + 1 for i, byte in enumerate(frame[:4]) if byte & 1), 0)
    if at < 2:
        raise NoKey("malformed", "frame relay address")
    need(len(frame), at + 2)
    if frame[at] != 3:  # as Cisco does
        return behind_ethertype(frame, number(frame, at), at + 2)
    at += 2 if frame[at + 1] == 0 else 1
    need(len(frame), at + 1)
    nlpid, at = frame[at], at + 1
    if nlpid in (0xCC, 0x8E):
        return (4 if nlpid == 0xCC else 6), at
    if nlpid == 0xCF:
        return behind_ppp(frame, at)
    if nlpid != 0x80:
        raise NoKey("non_ip", "nlpid 0x%02x" % nlpid)
    need(len(frame), at + 5)
    if frame[at:at + 3] != b"\0\0\0":
        raise NoKey("non_ip", "snap")
    return behind_ethertype(frame, number(frame, at + 3), at + 5)


def find_ip(frame, link):
    """Return (version, offset, end of the frame or None) of the outermost IP packet."""
    if link in RADIO:
        begin, whole, padded = radio(frame, link)
        ethertype, at = wifi_payload(whole, padded)
        end = begin + len(whole)
        return *behind_ethertype(frame[:end], ethertype, begin + at), end
    if link == NFLOG:
        return _in_nflog(frame)
    return *_find_ip_to_the_end(frame, link), None


def _find_ip_to_the_end(frame, link):
    if link in ETHERTYPES:
        at, end = ETHERTYPES[link]
        need(len(frame), end)
        return behind_ethertype(frame, number(frame, at), end)
    if link in RAW:
        return by_version(frame, 0, "malformed", "ip version")
    if link in (IPV4, IPV6):
        return (4 if link == IPV4 else 6), 0
    if link in (PPP, PPP_HDLC):
        return behind_ppp(frame, 2 if frame[:2] == b"\xff\x03" else 0)
    if link == PPP_ETHER:
        return behind_ethertype(frame, PPPOE, 0)
    if link == FRAME_RELAY:
        return _behind_frame_relay(frame)
    if link not in (NULL, LOOP):
        raise NoKey("non_ip", "link type %d" % link)
    need(len(frame), 4)
    swapped = link == NULL and frame[0]  # in the byte order of the capturing host
    return _known(FAMILIES, frame[0] if swapped else frame[3], 4, "address family %d")


def bounded(frame, version, at, end=None):
    """Return the Ip at this offset. end: that of the frame, if given."""
    end = len(frame) if end is None else min(end, len(frame))
    need(end, at + (20 if version == 4 else 40))
    if frame[at] >> 4 != version:
        raise NoKey("malformed", "ip version")
    # Segmentation offload leaves the length 0; then everything captured belongs to the packet.
    if version == 6:
        payload = number(frame, at + 4)
        known = payload or frame[at + 6] == NO_NEXT_HEADER
        return Ip(6, at, min(end, at + 40 + payload) if known else end)
    header, length = (frame[at] & 15) * 4, number(frame, at + 2)
    if header < 20:
        raise NoKey("malformed", "ipv4 header length")
    need(end, at + header)
    if 0 < length < header:
        raise NoKey("malformed", "ipv4 total length")
    return Ip(4, at, min(end, at + length) if length else end)


def outermost(frame, link=ETHERNET):
    """Return the Ip of a captured frame."""
    return bounded(frame, *find_ip(frame, link))


# ---- inside the IP packet -----------------------------------------------------------------------

def upper(version, ip):
    """Return the Upper of a packet, after IPv6's extension headers."""
    if version == 4:
        flags = number(ip, 6)
        fragment = LATER if flags & 0x1FFF else FIRST if flags & 0x2000 else WHOLE
        return Upper(ip[9], (ip[0] & 15) * 4, fragment)
    protocol, at, fragment = ip[6], 40, WHOLE
    while protocol in EXTENSIONS or protocol in (FRAGMENT, AUTHENTICATION):
        need(len(ip), at + 8)
        this, protocol, units = protocol, ip[at], ip[at + 1]
        if this == FRAGMENT:
            if number(ip, at + 2) >> 3:
                return Upper(protocol, at + 8, LATER)
            fragment = FIRST if ip[at + 3] & 1 else fragment
            at += 8
        else:
            at += units * 4 + 8 if this == AUTHENTICATION else units * 8 + 8
    need(len(ip), at)
    return Upper(protocol, at, fragment)


# ---- checksums that a card fills in later -------------------------------------------------------

def _folded(total):
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _words(data):
    data += b"\0" * (len(data) % 2)
    return sum(struct.unpack(">%dH" % (len(data) // 2), data))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_checksum(version, ip):
    """Return a packet's bytes with a complete TCP, UDP or SCTP checksum if it is partial: the
    folded sum of the pseudo header, or 0 in SCTP. Fragments, truncated packets and packets without
    a stated length stay unchanged."""
    length = number(ip, 2) if version == 4 else number(ip, 4) and 40 + number(ip, 4)
    if length == 0 or length != len(ip):
        return ip
    try:
        protocol, begin, fragment = upper(version, ip)
    except NoKey:
        return ip
    least, field, size = {6: (20, 16, 2), 17: (8, 6, 2), 132: (12, 8, 4)}.get(protocol, (1 << 16, 0, 0))
    if fragment != WHOLE or length - begin < least:
        return ip
    at = begin + field
    pseudo = _words(ip[12:20] if version == 4 else ip[8:40]) + protocol + length - begin
    if ip[at:at + size] != (bytes(4) if protocol == 132 else struct.pack(">H", _folded(pseudo))):
        return ip
    if protocol == 132:
        filled = struct.pack("<I", crc32c(ip[begin:]))
    else:
        filled = ~_folded(pseudo + _words(ip[begin:at] + b"\0\0" + ip[at + 2:])) & 0xFFFF
        filled = struct.pack(">H", 0xFFFF if protocol == 17 and filled == 0 else filled)
    return ip[:at] + filled + ip[at + size:]
