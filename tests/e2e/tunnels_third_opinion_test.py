#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares decoders, packet by packet: which packet inside a frame is the innermost?

tunnels.py is compared with the last IP layer that tshark dissects: on captures of every form
of encapsulate.py and stacks of them, on the captures of pcaps/, and on those of UNECHO_SHARED
that have tunnels, if present (UNECHO_E2E_FULL=1: on all). Where they differ, an explanation is
required: a named predicate that says which layer of tshark is ours, and why tshark continued or
stopped earlier. Prints the table of differences. None may stay unexplained, and each explanation is
needed by a packet made for it.
"""
import collections
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import FULL, PCAPS, SHARED, exact_answer, skip
import frames  # noqa: E402  harness has put tools/ and tests/support/ on the path
import made_tunnels  # noqa: E402
import tunnels  # noqa: E402

ALL = frozenset(tunnels.NAMES)

# Facts of an IP header. identity: IPv4's identification or IPv6's flow label; length: as stated.
Choice = collections.namedtuple("Choice", "version source destination identity length")


def choice_at(frame, at):
    """Return the Choice of the header that begins there; every decoder's result is compared as
    one."""
    header = frame[at:at + 40]
    if header[0] >> 4 == 4:
        return Choice(4, header[12:16], header[16:20], *struct.unpack_from(">2xHH", header)[::-1])
    flow, length = struct.unpack_from(">IH", header)
    return Choice(6, header[8:24], header[24:40], flow & 0xFFFFF, length)


# ---- decoders -----------------------------------------------------------------------------------

# One frame. ours: the packet chosen, or None; found: the Innermost; seen: tshark's layers.
Case = collections.namedtuple("Case", "frame link ours found seen")


def oracle(packet, names=ALL):
    """Return (Choice, Innermost)."""
    found = tunnels.innermost(packet.data, packet.link, frozenset(names))
    return found.ip and choice_at(packet.data, found.ip.at), found


# protocols: names from the outermost on; layers: (index among them, Choice or None if it is cut).
Seen = collections.namedtuple("Seen", "protocols layers")

FIELDS = {4: ("ip.src", "ip.dst", "ip.id", "ip.len"),
          6: ("ipv6.src", "ipv6.dst", "ipv6.flow", "ipv6.plen")}
# Fragments are not reassembled; the other options set what tshark cannot guess.
TOLD = ("-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE",
        "-d", "udp.port==8472,vxlan", "-d", "ethertype==0x9200,vlan")


def tshark(path, *told):
    """Return a Seen for each packet of a capture."""
    command = ["tshark", "-n", "-r", str(path), *TOLD, *told, "-T", "fields", "-E", "occurrence=a",
               "-E", "aggregator=;", "-e", "frame.protocols"]
    for field in (*FIELDS[4], *FIELDS[6]):
        command += ["-e", field]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True,
                         stdin=subprocess.DEVNULL)
    return [_seen(line.split("\t")) for line in run.stdout.splitlines()]


def _seen(columns):
    protocols = columns[0].split(":")
    values = {4: list(zip(*(column.split(";") for column in columns[1:5] if column))),
              6: list(zip(*(column.split(";") for column in columns[5:9] if column)))}
    layers, met = [], collections.Counter()
    for place, protocol in enumerate(protocols):
        version = {"ip": 4, "ipv6": 6}.get(protocol)
        if version:
            given = values[version][met[version]:met[version] + 1]
            whole = given and len(given[0]) == 4
            layers.append((place, _as_choice(version, *given[0]) if whole else None))
            met[version] += 1
    return Seen(protocols, layers)


def _as_choice(version, source, destination, identity, length):
    return Choice(version, frames.packed(source), frames.packed(destination), int(identity, 0),
                  int(length, 0))


def last_of(seen):
    return seen.layers[-1][1] if seen.layers else None


# ---- explanations -------------------------------------------------------------------------------

def before(seen, place):
    """Return the last layer before an index among the protocols."""
    return next((choice for at, choice in reversed(seen.layers) if at < place), None)


def between(case):
    """Return the protocols from our layer to the next one of tshark, or None if it lacks our
    layer."""
    at = next((at for at, choice in case.seen.layers if choice == case.ours), None)
    following = [other for other, _ in case.seen.layers if at is not None and other > at]
    return case.seen.protocols[at + 1:following[0]] if following else None


def goes_on(case):
    """Return True if tshark has our layer and more after it."""
    return between(case) is not None


def payload_of(case, found):
    """Return the bytes after the fixed header of the packet found."""
    return case.frame[found.ip.at + (20 if found.ip.version == 4 else 40):found.ip.end]


def without(case, name):
    """Return the choice, and its position, if one encapsulation is not listed."""
    return oracle(exact_answer.Packet(0, case.link, case.frame), ALL - {name})


def quoted_by_icmp(case):
    """tshark dissects the packet that an ICMP message quotes."""
    place = next((place for place, protocol in enumerate(case.seen.protocols)
                  if protocol in ("icmp", "icmpv6")), None)
    return place is not None and before(case.seen, place) == case.ours


def first_fragment(case):
    """tshark opens what the first fragment holds."""
    return goes_on(case) and case.found.counter == "tunnel_fragments"


def ninth_level(case):
    """tshark continues after the eighth level."""
    return goes_on(case) and case.found.counter == "tunnel_too_deep"


def cut_header(case):
    """tshark lists an inner IP header that is only partly present."""
    return goes_on(case) and case.found.counter == "tunnel_malformed" \
        and case.seen.layers[-1][1] is None


def malformed_outermost(case):
    """tshark lists an outermost IP header that is cut short or contradictory."""
    return case.ours is None and case.found.no_key.args[0] == "malformed" \
        and len(case.seen.layers) == 1


def version_by_nibble(case):
    """tshark follows the first nibble although an EtherType contradicts it; malformed."""
    return case.ours is None and case.found.no_key.args[1] == "ip version" \
        and case.seen.protocols[:4] == ["eth", "ethertype", "ip", "ipv6"]


def length_of_0(case):
    """tshark fills in the length that segmentation offload left out."""
    given = last_of(case.seen)
    return bool(case.ours and given) and case.ours.length == 0 \
        and given._replace(length=0) == case.ours


def vxlan_without_identifier(case):
    """tshark opens VXLAN without flag I."""
    return goes_on(case) and between(case)[:2] == ["udp", "vxlan"] \
        and case.found.counter == "tunnel_malformed"


def wccp(case):
    """tshark opens packets that WCCP redirects in GRE."""
    return between(case) == ["gre"] and case.found.counter == "tunnel_other" \
        and payload_of(case, case.found)[2:4] == b"\x88\x3e"


def capwap(case):
    """tshark opens CAPWAP (RFC 5415), which is not among our encapsulations."""
    return goes_on(case) and between(case)[:2] == ["udp", "capwap.data"] \
        and case.found.counter is None


def gpe_without_flag(case):
    """tshark reads VXLAN-GPE's next protocol even without flag P."""
    choice, found = without(case, "vxlan-gpe")
    return choice == last_of(case.seen) and not payload_of(case, found)[8] & 0x04


def erspan_of_ip(case):
    """tshark does not dissect ERSPAN III with frame type IP."""
    return without(case, "erspan")[0] == last_of(case.seen) \
        and case.seen.protocols[-2:] == ["erspan", "data"]


def pseudowire_by_nibble(case):
    """tshark takes bytes after labels for Ethernet only if their first nibble is 0 or 1."""
    return without(case, "mpls-pw")[0] == last_of(case.seen) \
        and case.seen.protocols[-2:] == ["mpls", "data"]


EXPLANATIONS = (quoted_by_icmp, first_fragment, ninth_level, cut_header, malformed_outermost,
                version_by_nibble, length_of_0, vxlan_without_identifier, wccp, capwap,
                gpe_without_flag, erspan_of_ip, pseudowire_by_nibble)


class Table:
    """One line a capture: packets, tunnelled packets, and the number of differences by reason."""

    def __init__(self):
        self.rows, self.unexplained, self.met = [], [], collections.Counter()

    def add(self, name, packets, seen):
        assert len(seen) == len(packets), "%s: tshark has %d of %d packets" % (name, len(seen), len(packets))
        reasons, tunnelled = collections.Counter(), 0
        for index, packet in enumerate(packets):
            ours, found = oracle(packet)
            tunnelled += found.levels > 0
            place = "%s, packet %d: %s\n  %s" % (name, index + 1, packet.data.hex(), found)
            if ours != last_of(seen[index]):
                case = Case(packet.data, packet.link, ours, found, seen[index])
                reason = next((each.__name__ for each in EXPLANATIONS if each(case)), None)
                reasons[reason or "UNEXPLAINED"] += 1
                if reason is None:
                    self.unexplained.append("%s\n  tshark: %s" % (
                        place, ":".join(seen[index].protocols)))
        self.met += reasons
        self.rows.append("%-34s %7d %9d  %s" % (name, len(packets), tunnelled, ", ".join(
            "%s %d" % reason for reason in sorted(reasons.items())) or "-"))
        return tunnelled

    def show(self):
        print("%-34s %7s %9s  %s" % ("capture", "packets", "tunnelled",
                                     "differences, explained by"))
        print("\n".join(self.rows), flush=True)


def l2tp_v3_settings():
    """Return the settings that tshark needs for version 3, for each length of the header before the
    payload: (length, True for PPP, options)."""
    for length, cookie, sublayer in ((0, "None", "None"), (4, "4 Byte Cookie", "None"),
                                     (8, "8 Byte Cookie", "None"),
                                     (12, "8 Byte Cookie", "Default L2-Specific")):
        for is_ppp in (False, True):
            yield length, is_ppp, (
                "-o", "l2tp.cookie_size:" + cookie, "-o", "l2tp.l2_specific:" + sublayer,
                "-d", "l2tp.pw_type==0,%s" % ("ppp" if is_ppp else "eth"))


class ThirdOpinion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.table = pathlib.Path(folder.name), Table()

    def compare_made(self, name, made, *told):
        path = self.folder / (name.replace("/", "-") + ".pcap")
        path.write_bytes(frames.pcap([(number * 10**6, frame)
                                      for number, frame in enumerate(made)]))
        return self.compare(name, path, *told)

    def compare(self, name, path, *told):
        """Compare a capture; return the number of tunnelled packets. told: options of tshark."""
        return self.table.add(name, list(exact_answer.Capture(path)), tshark(path, *told))

    def finish(self):
        self.table.show()
        self.assertEqual(self.table.unexplained[:50], [])

    def test_every_form(self):
        known = made_tunnels.forms(lambda form: not made_tunnels.is_l2tp_v3(form))
        self.assertEqual(self.compare_made("forms", known), len(known))
        for length, is_ppp, told in l2tp_v3_settings():
            made = made_tunnels.forms(
                lambda form: made_tunnels.is_l2tp_v3(form) and (form.inside != "ethernet") == is_ppp
                and made_tunnels.head_of_l2tp_v3(form) == length)
            self.assertEqual(self.compare_made("l2tp v3, %d bytes before %s" % (
                length, "PPP" if is_ppp else "Ethernet"), made, *told), len(made))
        self.finish()
        self.assertLessEqual(set(self.table.met),
                             {"gpe_without_flag", "erspan_of_ip", "pseudowire_by_nibble"})

    def test_stacks_of_up_to_8_levels(self):
        made = made_tunnels.stacks()
        self.assertEqual(self.compare_made("stacks", made), len(made))
        self.finish()
        self.assertEqual(self.table.met, {})

    def test_each_explanation_is_needed(self):
        self.compare_made("oddities", list(made_tunnels.oddities()))
        self.finish()
        self.assertEqual(set(self.table.met), {explain.__name__ for explain in EXPLANATIONS})

    def test_captures_of_the_repository(self):
        for path in sorted(set(PCAPS.glob("*.pcap")) - {PCAPS / "cut.pcap"}):  # it is cut from one-link
            self.compare(path.name, path)
        self.finish()

    def test_shared_captures_with_tunnels(self):
        captures = sorted((SHARED / "captures").glob("*.pcap*"))
        if not captures:
            self.skipTest("no captures in %s" % SHARED)
        tunnelled = 0
        for path in captures:
            met = (oracle(packet)[1] for packet in exact_answer.Capture(path))
            if FULL or "capwap" in path.name or any(found.levels or found.counter for found in met):
                tunnelled += self.compare(path.name, path)
        self.finish()
        self.assertGreater(tunnelled, 500)


if __name__ == "__main__":
    if not shutil.which("tshark"):
        skip("no tshark")
    unittest.main(verbosity=2)
