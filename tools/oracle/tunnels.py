# SPDX-License-Identifier: BSD-3-Clause
"""The innermost IP packet of a frame, reached through the listed encapsulations.

Decapsulation begins at the outermost IP packet or, without one, at an EtherType or labels of a
listed encapsulation. It opens each listed encapsulation that follows; each is a level, at most 8.
At anything that cannot be opened, the last complete IP packet is the innermost one, and a counter
says why:
  tunnel_fragments   a fragment (an atomic one of IPv6 is none) of a protocol that a listed
                     encapsulation uses; for UDP the first fragment, by its ports
  tunnel_malformed   cut short or contradictory, up to the end of the next IP header
  tunnel_other       an encapsulation with another payload, version or kind of message
  tunnel_too_deep    a ninth level
The packet in front of an encapsulation that is not listed, or whose ports or protocol are
incomplete, is the innermost one without a counter. An encapsulated packet ends where its enclosing
packet does, or where a length of the encapsulation says (UDP unless 0, GTP-U, L2TPv2, PPTP). Parts
are read in this order: the fixed header, version and kind, the optional parts, the payload type.

Authentication headers (RFC 4302) are skipped, in IPv4 too. UDP: the destination port decides; for
L2TP and Teredo, failing that, the source port. Inner tags, labels and sessions of PPPoE are skipped
as on the link. After labels, in GTP-U and in Teredo an IP header has to be sound
(dissect.sound_ip), and in ERSPAN III its first nibble has to be 4 or 6; otherwise it is counted as
tunnel_other.

Names:
  vxlan      RFC 7348, UDP 4789, 8472, 48879 (iVXLAN) and --vxlan-ports; flag I must be set
  vxlan-gpe  draft-ietf-nvo3-vxlan-gpe, UDP 4790: IPv4, IPv6, Ethernet, MPLS; not OAM
  geneve     RFC 8926, UDP 6081: Ethernet, IPv4, IPv6, MPLS; not control messages
  gre        RFC 2784, 2890, NVGRE of RFC 7637: IPv4, IPv6, Ethernet, MPLS; PPTP's PPP (RFC 2637),
             if there is data (flag S); also in UDP 4754 (RFC 8086); not with routing (RFC 1701)
  erspan     draft-foschiano-erspan-03, I to III, in GRE of both kinds: Ethernet, type III also IP
  gtp-u      3GPP TS 29.281, UDP 2152: G-PDUs
  ip-in-ip   RFC 2003, 2473, 4213: protocols 4 and 41
  mpls       RFC 4023, 7510: protocol 137, UDP 6635
  mpls-pw    RFC 4448: Ethernet after any labels that no sound IP header follows. First nibble 0:
             after a control word, otherwise without one if tags, labels and PPPoE lead to a
             complete IP header; 1: only without one, likewise. Other nibbles: without one.
  pbb        IEEE 802.1ah, EtherType 0x88E7 after any tags
  l2tp       RFC 2661, 3931: UDP 1701, protocol 115; PPP or Ethernet. Version 3 does not state the
             length of cookie and sublayer. Totals of 0, 4, 8 and 12 bytes are tried, PPP (FF 03)
             before Ethernet, until there is a complete IP header with a fitting length and, in
             IPv4, a correct checksum
  teredo     RFC 4380, UDP 3544: authentication, then origin, then IPv6
  tzsp       UDP 37008, version 1, types 0 and 1: fields up to the end field, then Ethernet
  jmirror    UDP 30030: two identifiers, then an IP packet, or PPP with FF 03
  etherip    RFC 3378, protocol 97: version 3 in the first nibble, then Ethernet
PPP in PPTP and L2TPv2: also without FF 03, and with a protocol of one byte (RFC 1661).

Tenant: (space, number) of the innermost opened encapsulation that has one. Spaces: 1 VNI, 2 I-SID,
3 GRE key, 4 TEID, 5 L2TP session (version 2: tunnel << 16 | session), 6 PPTP call.
"""
import collections
import functools

import dissect
from dissect import FIRST, LATER, MPLS, NoIp, NoKey, bounded, need, number

NAMES = ("vxlan", "vxlan-gpe", "geneve", "gre", "erspan", "gtp-u", "ip-in-ip", "mpls", "mpls-pw",
         "pbb", "l2tp", "teredo", "tzsp", "jmirror", "etherip")
COUNTERS = ("tunnelled", "tunnel_fragments", "tunnel_malformed", "tunnel_other", "tunnel_too_deep")
FRAGMENTS, MALFORMED, OTHER, TOO_DEEP = COUNTERS[1:]
MOST_LEVELS, MOST_VXLAN_PORTS = 8, 8
VNI, I_SID, GRE_KEY, TEID, L2TP_SESSION, PPTP_CALL = range(1, 7)
ONE_WAY = (TEID, L2TP_SESSION, PPTP_CALL)  # they name one direction of a conversation

PBB_TAG, TRANSPARENT_ETHERNET, GRE_PPP = 0x88E7, 0x6558, 0x880B
ERSPAN_II, ERSPAN_III = 0x88BE, 0x22EB
UDP, AUTHENTICATION = 17, 51
UDP_HEADER = 8

Tenant = collections.namedtuple("Tenant", "space number")

# The result for one frame. ip: the innermost packet, or None; then no_key says why. levels: number of
# encapsulations opened. counter: why decapsulation ended there, unless nothing follows. ethernet:
# offset of the Ethernet frame that contains the packet, if its encapsulation holds Ethernet.
Innermost = collections.namedtuple("Innermost", "ip levels tenant counter no_key ethernet",
                                   defaults=(None, 0, None, None, None, None))

# The content of an encapsulation: a reader of _READERS, its begin and end, its Tenant or None.
Payload = collections.namedtuple("Payload", "reader at end tenant", defaults=(None,))


class Stop(Exception):
    """Decapsulation stops here; args: the counter or None."""


# ---- payloads: from their first byte to (version, offset) ---------------------------------------

def _ethernet(frame, at):
    need(len(frame), at + 14)
    return dissect.behind_ethertype(frame, number(frame, at + 12), at + 14)


def _ipv4(_, at):
    return 4, at


def _ipv6(_, at):
    return 6, at


def _ip(frame, at):
    return dissect.by_version(frame, at, "non_ip", "first nibble")


def _sound_ip(frame, at):
    return dissect.sound_ip(frame, at, NoKey("non_ip", "no sound header"))


def _ppp(frame, at):
    at += 2 if frame[at:at + 2] == b"\xff\x03" else 0
    need(len(frame), at + 1)
    if frame[at] & 1:
        if frame[at] not in dissect.PPP_PROTOCOLS:
            raise NoKey("non_ip", "ppp 0x%02x" % frame[at])
        return dissect.PPP_PROTOCOLS[frame[at]], at + 1
    return dissect.behind_ppp(frame, at)


_BY_ETHERTYPE = {0x0800: _ipv4, 0x86DD: _ipv6, TRANSPARENT_ETHERNET: _ethernet,
                 MPLS[0]: dissect.behind_labels, MPLS[1]: dissect.behind_labels}


# ---- encapsulations: from their first byte to their payload -------------------------------------

def _word(data, at):
    return number(data, at) << 16 | number(data, at + 2)


def _vxlan(data, at):
    need(len(data), at + 8)
    if not data[at] & 0x08:
        raise Stop(MALFORMED)
    return Payload(_ethernet, at + 8, len(data), Tenant(VNI, _word(data, at + 4) >> 8))


def _vxlan_gpe(data, at):
    need(len(data), at + 8)
    flags = data[at]
    if flags & 0x31:  # another version, or OAM
        raise Stop(OTHER)
    reader = {1: _ipv4, 2: _ipv6, 3: _ethernet, 5: dissect.behind_labels}.get(
        data[at + 3] if flags & 0x04 else 3)
    if reader is None:
        raise Stop(OTHER)
    tenant = Tenant(VNI, _word(data, at + 4) >> 8) if flags & 0x08 else None
    return Payload(reader, at + 8, len(data), tenant)


def _geneve(data, at):
    need(len(data), at + 8)
    if data[at] >> 6 or data[at + 1] & 0x80:  # another version, or a control message
        raise Stop(OTHER)
    begin = at + 8 + (data[at] & 0x3F) * 4
    need(len(data), begin)
    ethertype = number(data, at + 2)
    if ethertype not in _BY_ETHERTYPE:
        raise Stop(OTHER)
    return Payload(_BY_ETHERTYPE[ethertype], begin, len(data),
                   Tenant(VNI, _word(data, at + 4) >> 8))


def _gre(names, data, at):
    need(len(data), at + 4)
    flags, protocol = number(data, at), number(data, at + 2)
    erspan = protocol in (ERSPAN_II, ERSPAN_III)
    if not erspan and "gre" not in names:
        raise Stop(None)
    if flags & 0x4000 or flags & 7 > 1:  # routing (RFC 1701), or another version
        raise Stop(OTHER)
    if flags & 7 == 1:
        return _pptp(flags, protocol, data, at)
    key_at = at + 4 + (4 if flags & 0x8000 else 0)
    sequence_at = key_at + (4 if flags & 0x2000 else 0)
    begin = sequence_at + (4 if flags & 0x1000 else 0)
    need(len(data), begin)
    if erspan and "erspan" in names:
        return _erspan(protocol, flags & 0x1000, data, begin)
    if protocol not in _BY_ETHERTYPE:
        raise Stop(OTHER)
    tenant = Tenant(GRE_KEY, _word(data, key_at)) if flags & 0x2000 else None
    return Payload(_BY_ETHERTYPE[protocol], begin, len(data), tenant)


def _pptp(flags, protocol, data, at):
    if protocol != GRE_PPP:
        raise Stop(OTHER)
    if flags & 0xA000 != 0x2000:  # without a key, or with a checksum
        raise Stop(MALFORMED)
    if not flags & 0x1000:  # an acknowledgement without payload
        raise Stop(OTHER)
    begin = at + 12 + (4 if flags & 0x0080 else 0)
    need(len(data), begin)
    return Payload(_ppp, begin, min(len(data), begin + number(data, at + 4)),
                   Tenant(PPTP_CALL, number(data, at + 6)))


def _erspan(protocol, sequenced, data, at):
    """Read what follows a GRE header."""
    if protocol == ERSPAN_II:
        if not sequenced:
            return Payload(_ethernet, at, len(data))
        need(len(data), at + 8)
        if data[at] >> 4 != 1:
            raise Stop(MALFORMED)
        return Payload(_ethernet, at + 8, len(data))
    need(len(data), at + 12)
    if data[at] >> 4 != 2:
        raise Stop(MALFORMED)
    reader = {0: _ethernet, 2: _ip}.get(data[at + 10] >> 2 & 31)
    begin = at + 12 + (8 if data[at + 11] & 1 else 0)
    need(len(data), begin)
    if reader is None:
        raise Stop(OTHER)
    return Payload(reader, begin, len(data))


def _gtp_u(data, at):
    need(len(data), at + 8)
    if data[at] >> 4 != 3 or data[at + 1] != 255:  # not version 1 of GTP, or not a G-PDU
        raise Stop(OTHER)
    end, begin = min(len(data), at + 8 + number(data, at + 2)), at + 8
    if data[at] & 7:
        begin += 4
        need(end, begin)
        following = data[begin - 1] if data[at] & 4 else 0
        while following:
            need(end, begin + 1)
            size = data[begin] * 4
            if size == 0:
                raise Stop(MALFORMED)
            begin += size
            need(end, begin)
            following = data[begin - 1]
    return Payload(_sound_ip, begin, end, Tenant(TEID, _word(data, at + 4)))


def _labels(data, at):
    return Payload(dissect.behind_labels, at, len(data))


def _l2tp_in_udp(data, at):
    need(len(data), at + 2)
    flags = number(data, at)
    if flags & 0x8000 or flags & 15 not in (2, 3):  # control, or another version
        raise Stop(OTHER)
    if flags & 15 == 3:
        return _l2tp_session(data, at + 4)
    ids_at = at + 2 + (2 if flags & 0x4000 else 0)
    begin = ids_at + 4 + (4 if flags & 0x0800 else 0)
    need(len(data), begin)
    end = min(len(data), at + number(data, at + 2)) if flags & 0x4000 else len(data)
    if flags & 0x0200:
        need(end, begin + 2)
        begin += 2 + number(data, begin)
    need(end, begin)
    return Payload(_ppp, begin, end, Tenant(L2TP_SESSION, _word(data, ids_at)))


def _l2tp_session(data, at):
    """Read version 3, from the session's number on."""
    need(len(data), at + 4)
    session = _word(data, at)
    if session:  # otherwise a control message
        for begin in range(at + 4, at + 17, 4):
            for reader, starts in ((_ppp, b"\xff\x03\0"), (_ethernet, b"")):
                if data.startswith(starts, begin) and _is_sound(data, reader, begin):
                    return Payload(reader, begin, len(data), Tenant(L2TP_SESSION, session))
    raise Stop(OTHER)


def _is_sound(data, reader, at):
    """Return True if it leads to an IP header that cannot be there by accident."""
    try:
        version, at = reader(data, at)
        bounded(data, version, at)
    except NoKey:
        return False
    try:
        dissect.sound_ip(data, at, NoKey("non_ip", "no sound header"))
    except NoKey:
        return False
    length = 40 + number(data, at + 4) if version == 6 else number(data, at + 2)
    return 0 < length <= len(data) - at


def _teredo(data, at):
    def indicated(kind):
        need(len(data), at + 1)
        if data[at]:
            return False
        need(len(data), at + 2)
        return data[at + 1] == kind
    if indicated(1):
        need(len(data), at + 4)
        at += 4 + data[at + 2] + data[at + 3] + 9
    if indicated(0):
        at += 8
    need(len(data), at + 1)
    if data[at] >> 4 != 6:
        raise Stop(OTHER)
    return Payload(_sound_ip, at, len(data))


def _tzsp(data, at):
    need(len(data), at + 4)
    if data[at] != 1 or data[at + 1] > 1 or number(data, at + 2) != 1:
        raise Stop(OTHER)
    at += 4
    while True:
        need(len(data), at + 1)
        if data[at] == 1:
            return Payload(_ethernet, at + 1, len(data))
        if data[at] == 0:
            at += 1
        else:
            need(len(data), at + 2)
            at += 2 + data[at + 1]


def _jmirror(data, at):
    need(len(data), at + 9)
    at += 8
    if data[at:at + 2] == b"\xff\x03":
        return Payload(_ppp, at, len(data))
    if data[at] >> 4 not in (4, 6):
        raise Stop(OTHER)
    return Payload(_sound_ip, at, len(data))


def _etherip(data, at):
    need(len(data), at + 2)
    if data[at] >> 4 != 3:
        raise Stop(OTHER)
    return Payload(_ethernet, at + 2, len(data))


def _pbb(data, at):
    need(len(data), at + 4)
    return Payload(_ethernet, at + 4, len(data), Tenant(I_SID, _word(data, at) & 0xFFFFFF))


def _pseudowire(data, at):
    """Read the content after the bottom label, which is not IP and has at least one byte."""
    def fits(begin):
        try:
            bounded(data, *_ethernet(data, begin))
        except NoKey:
            return False
        return True
    nibble = data[at] >> 4
    if nibble > 1:
        return Payload(_ethernet, at, len(data))
    for begin in (at + 4, at) if nibble == 0 else (at,):
        if fits(begin):
            return Payload(_ethernet, begin, len(data))
    raise Stop(OTHER)


# ---- what follows -------------------------------------------------------------------------------

_PORTS = {4790: ("vxlan-gpe", _vxlan_gpe), 6081: ("geneve", _geneve), 2152: ("gtp-u", _gtp_u),
          6635: ("mpls", _labels), 37008: ("tzsp", _tzsp), 30030: ("jmirror", _jmirror)}
_PORTS_OF_BOTH = {1701: ("l2tp", _l2tp_in_udp), 3544: ("teredo", _teredo)}
_PROTOCOLS = {4: ("ip-in-ip", lambda data, at: Payload(_ipv4, at, len(data))),
              41: ("ip-in-ip", lambda data, at: Payload(_ipv6, at, len(data))),
              97: ("etherip", _etherip), 115: ("l2tp", _l2tp_session), 137: ("mpls", _labels)}
VXLAN_PORTS, GRE_PORT, GRE_PROTOCOL = (4789, 8472, 48879), 4754, 47
FIXED_PORTS = frozenset(VXLAN_PORTS[:2]) | {GRE_PORT} | _PORTS.keys() | _PORTS_OF_BOTH.keys()


class _Openers:
    """The listed encapsulations, by port and protocol."""

    def __init__(self, names, vxlan_ports):
        def gre(data, at):
            return _gre(names, data, at)

        def named(table):
            return {value: opener for value, (name, opener) in table.items() if name in names}
        self.names = names
        self.of_source = named(_PORTS_OF_BOTH)
        self.of_destination = {**named(_PORTS), **self.of_source}
        self.of_protocol = named(_PROTOCOLS)
        if "vxlan" in names:
            self.of_destination.update(dict.fromkeys(VXLAN_PORTS + tuple(vxlan_ports), _vxlan))
        if "gre" in names or "erspan" in names:
            self.of_destination[GRE_PORT] = self.of_protocol[GRE_PROTOCOL] = gre

    def behind_ip(self, frame, ip):
        """Return (opener, data, offset) of what follows, or None."""
        data = frame[:ip.end]
        try:
            protocol, at, fragment = _upper(data, ip)
        except NoKey:
            return None
        if protocol == UDP:
            if fragment == LATER or ip.end - at < UDP_HEADER:
                return None
            opener = self.of_destination.get(number(data, at + 2)) \
                or self.of_source.get(number(data, at))
        else:
            opener = self.of_protocol.get(protocol)
        if opener and fragment in (FIRST, LATER):
            raise Stop(FRAGMENTS)
        if opener and protocol == UDP:
            return _in_udp(opener), data, at
        return opener and (opener, data, at)

    def behind_link(self, frame, no_ip):
        """Return the opener for an EtherType that is not IP, or for labels in front of other
        content than IP."""
        data = frame[:no_ip.end]
        if no_ip.ethertype == PBB_TAG and "pbb" in self.names:
            return _pbb, data, no_ip.at
        if no_ip.ethertype in MPLS and "mpls-pw" in self.names:
            return _pseudowire, data, no_ip.at
        return None


def _in_udp(opener):
    def opened(data, at):
        length, begin = number(data, at + 4), at + UDP_HEADER
        if 0 < length < UDP_HEADER:
            raise Stop(MALFORMED)
        return opener(data[:at + length] if length else data, begin)
    return opened


def _upper(data, ip):
    """Like dissect.upper, with offsets from the frame's beginning; authentication headers are
    skipped."""
    protocol, at, fragment = dissect.upper(ip.version, data[ip.at:])
    at += ip.at
    while protocol == AUTHENTICATION and fragment != LATER:
        need(len(data), at + 8)
        protocol, at = data[at], at + data[at + 1] * 4 + 8
        need(len(data), at)
    return protocol, at, fragment


@functools.lru_cache(maxsize=None)
def _openers(names, vxlan_ports):
    return _Openers(names, vxlan_ports)


def _counter_of(no_key):
    return MALFORMED if no_key.args[0] == "malformed" else OTHER


def innermost(frame, link, names=frozenset(), vxlan_ports=()):
    """Return the Innermost of a frame. names: a frozenset, vxlan_ports: a tuple."""
    found, levels, tenant = None, 0, None
    openers = _openers(names, vxlan_ports)
    place = None  # a Payload; None for the link, before the first encapsulation
    while True:
        try:
            if place is None:
                ip = dissect.outermost(frame, link)
            else:
                ip = bounded(frame[:place.end], *place.reader(frame[:place.end], place.at))
            found = Innermost(ip, levels, tenant, ethernet=place.at if place is not None
                              and place.reader is _ethernet else None)
            follows = openers.behind_ip(frame, ip)
        except NoKey as no_key:
            found = found or Innermost(no_key=no_key)
            follows = openers.behind_link(frame, no_key) if isinstance(no_key, NoIp) else None
            if follows is None and place is not None:
                return found._replace(counter=_counter_of(no_key))
        except Stop as stop:
            return found._replace(counter=stop.args[0])
        if follows is None:
            return found
        opener, data, at = follows
        counter = None
        try:
            place = opener(data, at)
        except Stop as stop:
            if stop.args[0] is None:  # GRE that is not listed
                return found
            counter = stop.args[0]
        except NoKey as no_key:
            counter = _counter_of(no_key)
        if levels == MOST_LEVELS or counter is not None:
            return found._replace(counter=TOO_DEEP if levels == MOST_LEVELS else counter)
        levels, tenant = levels + 1, place.tenant or tenant


def counted(found):
    """Return the counters to which this frame adds."""
    return [name for name in ("tunnelled" if found.levels else None, found.counter) if name]
