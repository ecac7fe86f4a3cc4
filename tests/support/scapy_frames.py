# SPDX-License-Identifier: BSD-3-Clause
"""scapy_frames.py CAPTURE: write frames that scapy builds of each encapsulation that it knows,
around an IPv4 and an IPv6 packet, all different. Print a line for each, NAME OFFSET LENGTH, with
the position of the inner packet. Exit status 77 without scapy.

It is a separate program because scapy may be installed for another Python than that of the tests.
"""
import sys

try:
    from scapy.contrib.erspan import ERSPAN_I, ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
    from scapy.contrib.geneve import GENEVE, GeneveOptions
    from scapy.contrib.gtp import GTPPDUSessionContainer, GTP_U_Header
    from scapy.contrib.mpls import EoMCW, MPLS
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.ipsec import AH
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether, GRE, GRE_PPTP
    from scapy.layers.l2tp import L2TP
    from scapy.layers.ppp import HDLC, PPP, PPPoE
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Raw
    from scapy.utils import wrpcap
except ImportError as error:
    print("no scapy: %s" % error)
    sys.exit(77)

V4, V6 = {"src": "10.7.0.1", "dst": "10.7.0.2"}, {"src": "2001:db8:7::1", "dst": "2001:db8:7::2"}
MACS = {"src": "00:1b:21:00:00:c2", "dst": "00:1b:21:00:00:c1"}


def inside(number):
    """Return an IPv4 and an IPv6 packet."""
    datagram = UDP(sport=1000, dport=2000) / Raw(b"scapy %05d" % number)
    return (IP(src="10.6.%d.%d" % divmod(number, 256), dst="10.6.255.1", id=number) / datagram,
            IPv6(src="2001:db8:6::%x" % number, dst="2001:db8:6:1::1", fl=number) / datagram)


def wire(packet):
    return Ether(**MACS, type=0x86DD if isinstance(packet, IPv6) else 0x0800) / packet


def session(packet):
    """PPP; scapy writes a protocol field of one byte."""
    return PPP(proto=0x0057 if isinstance(packet, IPv6) else 0x0021) / packet


def full_session(packet):
    """PPP with a protocol field of two bytes, as in PPPoE sessions (RFC 2516, section 7)."""
    return Raw(b"\0\x57" if isinstance(packet, IPv6) else b"\0\x21") / packet


# name: the headers between outer IP header and inner packet; UDP ports are those that scapy binds.
IN_IP = {
    "vxlan": lambda p: UDP(sport=50000, dport=4789) / VXLAN(vni=7, flags="Instance") / wire(p),
    "vxlan-tags": lambda p: (UDP(sport=50000, dport=4789) / VXLAN(vni=7, flags="Instance")
                             / Ether(**MACS) / Dot1AD(vlan=3) / Dot1Q(vlan=5) / p),
    "vxlan-policy": lambda p: (UDP(sport=50000, dport=8472)
                               / VXLAN(vni=7, flags="Instance+G", gpid=5) / wire(p)),
    "vxlan-pppoe": lambda p: (UDP(sport=50000, dport=4789) / VXLAN(vni=7, flags="Instance")
                              / Ether(**MACS, type=0x8864) / PPPoE(sessionid=3) / full_session(p)),
    "geneve": lambda p: UDP(sport=50000, dport=6081) / GENEVE(vni=7, proto=0x6558) / wire(p),
    "geneve-ip": lambda p: UDP(sport=50000, dport=6081) / GENEVE(vni=7) / p,
    "geneve-options": lambda p: (UDP(sport=50000, dport=6081)
                                 / GENEVE(vni=7, critical=1,
                                          options=GeneveOptions(data=b"12345678")) / p),
    "gre": lambda p: GRE() / p,
    "gre-all": lambda p: (GRE(chksum_present=1, key_present=1, key=7, seqnum_present=1,
                              sequence_number=3) / p),
    "gre-ethernet": lambda p: GRE(proto=0x6558) / wire(p),
    "gre-labels": lambda p: GRE(proto=0x8847) / MPLS(label=16, s=0) / MPLS(label=17, s=1) / p,
    "gre-wire": lambda p: GRE(proto=0x8847) / MPLS(label=16, s=1) / EoMCW(seq=5) / wire(p),
    "pptp": lambda p: (GRE_PPTP(call_id=7, seqnum_present=1, sequence_number=3,
                                payload_len=len(bytes(HDLC() / session(p))))
                       / HDLC() / session(p)),
    "erspan-1": lambda p: GRE(proto=0x88BE) / ERSPAN_I() / wire(p),
    "erspan-2": lambda p: (GRE(proto=0x88BE, seqnum_present=1, sequence_number=3)
                           / ERSPAN_II(ver=1, session_id=7) / wire(p)),
    "erspan-3": lambda p: (GRE(proto=0x22EB, seqnum_present=1, sequence_number=3)
                           / ERSPAN_III(session_id=7, ft=0) / wire(p)),
    "erspan-3-subheader": lambda p: (GRE(proto=0x22EB, seqnum_present=1, sequence_number=3)
                                     / ERSPAN_III(session_id=7, ft=0, o=1)
                                     / ERSPAN_PlatformSpecific(platf_id=7) / wire(p)),
    "gtp-u": lambda p: UDP(sport=2152, dport=2152) / GTP_U_Header(teid=7, gtp_type=255) / p,
    "gtp-u-extension": lambda p: (UDP(sport=2152, dport=2152)
                                  / GTP_U_Header(teid=7, gtp_type=255, E=1, next_ex=0x85)
                                  / GTPPDUSessionContainer(type=1, QFI=9) / p),
    "ip": lambda p: p,
    "ah": lambda p: AH(nh=41 if isinstance(p, IPv6) else 4, payloadlen=4, spi=7, seq=1,
                       icv=bytes(12)) / p,
    "mpls-udp": lambda p: UDP(sport=50000, dport=6635) / MPLS(label=16, s=1) / p,
    "l2tp": lambda p: (UDP(sport=1701, dport=1701)
                       / L2TP(hdr="length", tunnel_id=7, session_id=8) / HDLC() / session(p)),
    "l2tp-sequence": lambda p: (UDP(sport=1701, dport=1701)
                                / L2TP(hdr="sequence", tunnel_id=7, session_id=8, ns=1, nr=2)
                                / HDLC() / session(p)),
}
ON_LINK = {
    "pseudowire": lambda p: MPLS(label=16, s=1) / EoMCW(seq=5) / wire(p),
}


def made():
    """Return [(name, frame, inner packet)]."""
    number = 0
    for name, build in IN_IP.items():
        for outer in (IP(**V4), IPv6(**V6)):
            number += 1
            for packet in inside(number):
                yield name, Ether(**MACS) / outer / build(packet), packet
    for name, build in ON_LINK.items():
        number += 1
        for packet in inside(number):
            yield name, Ether(**MACS, type=0x8847) / build(packet), packet


def main(path):
    frames = []
    for name, frame, packet in made():
        # The innermost packet as it was passed in, with its own lengths and checksums.
        data, whole = bytes(frame), bytes(packet)
        frames.append(data)
        print(name, data.index(whole), len(whole))
    wrpcap(path, [Ether(data) for data in frames])


if __name__ == "__main__":
    main(sys.argv[1])
