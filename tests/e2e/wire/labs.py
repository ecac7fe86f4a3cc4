# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels made by the kernel and Open vSwitch between two hosts with unecho in between, and
switches that mirror.

An End is a host with both address families that never resolves an address. A Switch is an Open
vSwitch in a host's namespace, entirely in user space, so it needs nothing of the kernel but veth
and tun. KERNEL and SWITCHED list the tunnels. Each has its own inner addresses, so that all tunnels
of a list are up at once.
"""
import collections
import functools
import os
import pathlib
import shutil
import subprocess
import types
import unittest

import wire
from wire import exact_answer, harness

import encapsulate  # noqa: E402  these are of tools/
import frames  # noqa: E402
import tunnels  # noqa: E402

SCHEMA = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema")
INNER_MTU = 1400


@functools.lru_cache
def _no_kernel_tunnels():
    """Return why the kernel cannot make these tunnels in a namespace, or None."""
    wanted = ("link set lo up", "link add ue0 type vxlan id 7 dstport 4789",
              "link add ue1 type vxlan external gpe dstport 4790",
              "route add fd00::1 encap seg6 mode encap.red segs fd00::2 dev lo")
    probe = subprocess.run(["unshare", "--net", "ip", "-batch", "-"], input="\n".join(wanted),
                           capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else \
        "needs tunnels of the kernel: " + probe.stderr.strip().replace("\n", "; ")


def needs_kernel_tunnels(test):
    return unittest.skipIf(_no_kernel_tunnels() is not None, _no_kernel_tunnels())(test)


def needs_switch(test):
    absent = [name for name in ("ovsdb-server", "ovsdb-tool", "ovs-vswitchd", "ovs-vsctl",
                                "ovs-ofctl", "ovs-appctl") if not shutil.which(name)]
    absent += [] if SCHEMA.exists() else [str(SCHEMA)]
    absent += [] if os.path.exists("/dev/net/tun") else ["/dev/net/tun"]
    return unittest.skipIf(absent, "needs " + ", ".join(absent))(test)


# ---- hosts --------------------------------------------------------------------------------------

class End(wire.Host):
    """A host at one end of a tunnel. Its neighbours are static, so that unecho sees only packets of
    the test; a neighbour query repeated bit for bit would be an echo."""

    def __init__(self, test, number):
        super().__init__(test, number)
        self.number = number
        self.address6 = underlay(6, number)
        settings = []
        for device in ("all", "default", "in0"):
            for key, value in (("accept_dad", 0), ("addr_gen_mode", 1), ("router_solicitations", 0),
                               ("mldv2_unsolicited_report_interval", 1), ("seg6_enabled", 1),
                               ("disable_ipv6", 0)):
                settings.append("net.ipv6.conf.%s.%s=%d" % (device, key, value))
        self.run("sysctl", "-q", "-w", *settings, check=False)
        self.ip("link set lo up")

    def ip(self, *lines):
        """Run commands of ip, one after the other."""
        done = subprocess.run(["ip", "-n", self.name, "-batch", "-"], input="\n".join(lines),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError("ip: %s\n%s" % ("\n".join(lines), done.stderr))

    def settle(self, peer, device):
        """Set the underlay's addresses on a device, and the neighbour entry of the peer."""
        self.ip("link set %s up" % device,
                "addr replace %s/24 dev %s" % (self.address, device),
                "addr replace %s/64 dev %s nodad" % (self.address6, device),
                *(neighbour(address, peer.mac, device)
                  for address in (peer.address, peer.address6)))


def neighbour(address, mac, device):
    return "neigh replace %s lladdr %s dev %s nud permanent" % (address, mac, device)


def underlay(family, number):
    return ("10.99.0.%d" if family == 4 else "fd99::%d") % number


def inner_mac(number):
    return "02:00:00:00:01:%02x" % number


class Tunnel(collections.namedtuple("Tunnel", "name number outer families setup")):
    """One of several tunnels between two ends; its number selects its addresses. setup: for the
    kernel's tunnels, a function that returns lines for End.ip; for a Switch's, a _Port."""

    def inside(self, family, end):
        return ("10.98.%d.%d" if family == 4 else "fd98:%d::%d") % (self.number, end.number)

    def device(self):
        return "t%d" % self.number

    def is_answered(self):
        """Open vSwitch 3.1 writes GTP's length after computing UDP's checksum, and drops such
        packets on arrival."""
        return not self.name.startswith("gtp-u")

    def requests(self, packets, one, two):
        """Return the IP packets of one's pings in captured frames, at any offset."""
        found = []
        for family in self.families:
            ends = frames.packed(self.inside(family, one)) + frames.packed(self.inside(family, two))
            before, length = (12, 20) if family == 4 else (8, 40)
            for frame in packets:
                at = frame.find(ends) - before
                if at >= 0:
                    total = int.from_bytes(frame[at + 2:at + 4], "big") if family == 4 else \
                        40 + int.from_bytes(frame[at + 4:at + 6], "big")
                    ip = frame[at:at + total]
                    if ip[9 if family == 4 else 6] in (frames.ICMP, frames.ICMPV6) \
                            and ip[length] in (8, 128):
                        found.append(ip)
        return found


def numbered(*tunnels):
    return tuple(Tunnel(name, number, *rest) for number, (name, *rest) in enumerate(tunnels, 1))


# ---- the kernel's tunnels -----------------------------------------------------------------------

def vni(tunnel):
    return 70 + tunnel.number


def _addresses(tunnel, end, peer, device):
    yield "addr add %s/24 dev %s" % (tunnel.inside(4, end), device)
    yield "addr add %s/64 dev %s nodad" % (tunnel.inside(6, end), device)
    for family in tunnel.families:
        yield neighbour(tunnel.inside(family, peer), inner_mac(peer.number), device)


def _vxlan(tunnel, end, peer, mtu=INNER_MTU):
    yield "link add %s address %s mtu %d type vxlan id %d local %s remote %s dstport %d" % (
        tunnel.device(), inner_mac(end.number), mtu, vni(tunnel),
        underlay(tunnel.outer, end.number), underlay(tunnel.outer, peer.number),
        8472 if "8472" in tunnel.name else 4789)
    yield "link set %s up" % tunnel.device()
    yield from _addresses(tunnel, end, peer, tunnel.device())


def _too_long(tunnel, end, peer):
    """Inner packets may be as long as outer ones, and no end learns that they do not fit."""
    yield from _vxlan(tunnel, end, peer, 1500)
    for family in tunnel.families:
        yield "route add %s dev %s mtu lock 1500" % (tunnel.inside(family, peer), tunnel.device())


def _gpe(tunnel, end, peer):
    """IP without Ethernet; each packet's route selects its tunnel. One device serves both families,
    over IPv6 without checksums."""
    if tunnel.outer == 4:
        yield "link add gpe type vxlan external gpe dstport 4790 udp6zerocsumtx udp6zerocsumrx"
        yield "link set gpe mtu %d up" % INNER_MTU
    encap = "encap %s id %d dst %s" % ("ip" if tunnel.outer == 4 else "ip6", vni(tunnel),
                                       underlay(tunnel.outer, peer.number))
    yield "addr add %s/32 dev gpe" % tunnel.inside(4, end)
    yield "addr add %s/128 dev gpe nodad" % tunnel.inside(6, end)
    for family in (4, 6):
        yield "route add %s %s dev gpe src %s" % (tunnel.inside(family, peer), encap,
                                                  tunnel.inside(family, end))


def _segments(tunnel, end, peer):
    """Segment routing: IP in IPv6, with a routing header in between or, "reduced", without one."""
    mode = "encap" if "routing header" in tunnel.name else "encap.red"
    actions = {4: "End.DX4 nh4 0.0.0.0", 6: "End.DT6 table 255"}
    for family in (4, 6):
        way = "fd97:%d:%d::" % (tunnel.number, family)
        yield "addr add %s/%d dev lo nodad" % (tunnel.inside(family, end),
                                               32 if family == 4 else 128)
        yield "route add %s%d via %s dev in0" % (way, peer.number, underlay(6, peer.number))
        yield "route add %s%d encap seg6local action %s dev in0" % (way, end.number,
                                                                     actions[family])
        yield "route add %s encap seg6 mode %s segs %s%d dev in0 src %s mtu %d" % (
            tunnel.inside(family, peer), mode, way, peer.number, tunnel.inside(family, end),
            INNER_MTU)


KERNEL = numbered(
    ("vxlan over IPv4", 4, (4, 6), _vxlan),
    ("vxlan over IPv6", 6, (4, 6), _vxlan),
    ("vxlan at port 8472", 4, (4, 6), _vxlan),
    ("vxlan-gpe over IPv4", 4, (4, 6), _gpe),
    ("vxlan-gpe over IPv6", 6, (4, 6), _gpe),
    ("ip-in-ip over IPv6", 6, (4, 6), _segments),
    ("ip-in-ip over IPv6 behind a routing header", 6, (4, 6), _segments))
# Over IPv6 the kernel drops packets that are too long.
FRAGMENTED, = numbered(("vxlan in fragments over IPv4", 4, (4, 6), _too_long))


def connect_kernels(one, two, wanted):
    """Connect the ends; return a function that describes their state for a failed test."""
    for end, peer in ((one, two), (two, one)):
        end.settle(peer, "in0")
        end.ip(*(line for tunnel in wanted for line in tunnel.setup(tunnel, end, peer)))
    return lambda: "\n".join(end.run("ip", "-s", "link").stdout for end in (one, two))


# ---- Open vSwitch -------------------------------------------------------------------------------

ENDED = "ovs-vswitchd has ended, exit status"


class Switch:
    """ovsdb-server and ovs-vswitchd in a host's namespace, with their files in the test's
    folder."""

    def __init__(self, test, host):
        self._host, self._test = host, test
        self.folder = test.folder / ("ovs-" + host.name)
        self.folder.mkdir()
        database = self.folder / "conf.db"
        wire.run("ovsdb-tool", "create", database, SCHEMA)
        self._server = "unix:%s" % (self.folder / "db.sock")
        self._start("ovsdb-server", "--remote=p" + self._server, database)
        harness.wait_for((self.folder / "db.sock").exists, "ovsdb-server")
        self.vsctl("--no-wait", "init")
        self._daemon = self._start("ovs-vswitchd", self._server)
        harness.wait_for((self.folder / "ovs-vswitchd.ctl").exists, "ovs-vswitchd")

    def _start(self, program, *arguments):
        """Start a program in the foreground with its files in the test's folder, so that it ends
        with the test. Meson makes malloc() fill memory to find bugs of unecho; that is switched off
        for a foreign program."""
        places = ["OVS_%s=%s" % (name, self.folder) for name in ("RUNDIR", "LOGDIR", "DBDIR")]
        process = self._host.start(
            "env", "-u", "MALLOC_PERTURB_", *places, program, *arguments,
            "-vconsole:off", "-vsyslog:off", "-vfile:info",
            "--log-file=%s" % (self.folder / (program + ".log")), "--no-chdir",
            "--unixctl=%s" % (self.folder / (program + ".ctl")))
        self._test.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        process.terminate()
        process.communicate()

    def vsctl(self, *command):
        return self._host.run("ovs-vsctl", "--db=" + self._server, "--timeout=%d" % harness.PATIENCE, *command)

    def appctl(self, *command):
        return self._host.run("ovs-appctl", "-t", self.folder / "ovs-vswitchd.ctl", *command)

    def state(self):
        """Return the switch's routes, neighbours, ports and flows, and its log."""
        asked = ("ovs/route/show", "tnl/neigh/show", "tnl/ports/show", "dpif/show",
                 "dpctl/dump-flows", "coverage/show")
        log = (self.folder / "ovs-vswitchd.log").read_text()
        if (status := self._daemon.poll()) is not None:
            return "%s: %s %d\n%s" % (self._host.name, ENDED, status, log)
        return "\n".join([*(self.appctl(command).stdout for command in asked), log])

    def flows(self, bridge, *lines):
        """Replace all flows."""
        path = self.folder / "flows"
        path.write_text("\n".join(lines) + "\n")
        self._host.run("ovs-ofctl", "--bundle", "replace-flows",
                       "unix:%s" % (self.folder / (bridge + ".mgmt")), path)

    def add_bridge(self, name, mac, *ports, settings=()):
        words = ["--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev",
                 "other_config:hwaddr=" + mac, *settings]
        for port in ports:
            words += ["--", "add-port", name, port]
        self.vsctl(*words)

    def underlay(self, host, peers, port="in0", bridge="phy"):
        """Move the host's addresses to a bridge with that port, as tunnels in user space need it.
        The port gets another MAC, or the kernel would answer that it knows no such tunnels."""
        host.ip("addr flush dev %s" % port,
                "link set %s address 02:00:00:00:03:%02x up" % (port, host.number))
        self.add_bridge(bridge, host.mac, port)
        for peer in peers:
            host.settle(peer, bridge)
            for address in (peer.address, peer.address6):
                self.appctl("tnl/neigh/set", bridge, address, peer.mac)

    def add_port(self, bridge, tunnel, settings, peer):
        self.vsctl("--", "add-port", bridge, tunnel.device(),
                   "--", "set", "interface", tunnel.device(), *settings,
                   "options:remote_ip=" + underlay(tunnel.outer, peer.number))


class _Port:
    """The setup of a Tunnel in a Switch: settings of its interface, and additional actions of its
    flows."""

    def __init__(self, *settings, push="", match="", pop="mod_dl_dst:{inside},"):
        self.settings, self._push, self._match, self._pop = settings, push, match, pop

    def connect(self, switch, tunnel, end, peer):
        """Add the tunnel to bridge "inner"."""
        switch.add_port("inner", tunnel, self.settings, peer)

    def flows(self, tunnel, end, peer):
        """Yield the tunnel's flows for bridge "inner"."""
        push = self._push.format(label=tunnel.number, mac=end.mac, peer=peer.mac)
        for family in tunnel.families:
            yield "in_port=LOCAL,%s=%s,actions=%soutput:%s" % (
                "ip,nw_dst" if family == 4 else "ipv6,ipv6_dst", tunnel.inside(family, peer), push,
                tunnel.device())
        yield "in_port=%s%s,actions=%sLOCAL" % (
            tunnel.device(), self._match, self._pop.format(inside=inner_mac(end.number)))


class _Pseudowire(_Port):
    """Ethernet behind a label, directly to the other end."""

    def __init__(self):
        super().__init__(push="encap(mpls),set_field:{label}->mpls_label,encap(ethernet),"
                         "set_field:{peer}->eth_dst,set_field:{mac}->eth_src,",
                         match=",dl_type=0x8847",
                         pop="decap(),decap(packet_type(ns=0,type=0)),")

    def connect(self, switch, tunnel, end, peer):
        name, other = tunnel.device(), tunnel.device() + "w"
        switch.vsctl("--", "add-port", "inner", name, "--", "set", "interface", name, "type=patch",
                     "options:peer=" + other,
                     "--", "add-port", "phy", other, "--", "set", "interface", other, "type=patch",
                     "options:peer=" + name)
        switch.flows("phy", "priority=0,actions=NORMAL",
                     "priority=1,in_port=in0,dl_type=0x8847,actions=output:" + other)


def _over_both(*kinds):
    for name, families, port in kinds:
        for outer in (4, 6):
            yield "%s over IPv%d" % (name, outer), outer, families, port


_L3 = "options:packet_type=legacy_l3"
_GPE = ("type=vxlan", "options:exts=gpe", "options:dst_port=4790")
SWITCHED = numbered(*_over_both(
    ("vxlan", (4, 6), _Port("type=vxlan", "options:key=71")),
    ("vxlan-gpe", (4, 6), _Port(*_GPE, "options:key=72")),
    ("vxlan-gpe without Ethernet", (4, 6), _Port(*_GPE, "options:key=73", _L3)),
    ("geneve", (4, 6), _Port("type=geneve", "options:key=74")),
    ("gre", (4, 6), _Port("type=gre", "options:key=75")),
    ("gre with checksum", (4, 6), _Port("type=gre", "options:key=76", "options:csum=true")),
    ("gre without Ethernet", (4, 6), _Port("type=gre", "options:key=77", _L3)),
    ("mpls in gre", (4,), _Port("type=gre", "options:key=78", _L3, match=",dl_type=0x8847",
                                push="push_mpls:0x8847,set_field:{label}->mpls_label,",
                                pop="pop_mpls:0x0800,mod_dl_dst:{inside},")),
    ("gtp-u", (4, 6), _Port("type=gtpu", "options:key=80"))),
    ("mpls-pw", "ethernet", (4, 6), _Pseudowire()))
# A switch that knows GRE takes these for GRE, so they have a list of their own.
SWITCHED_ERSPAN = numbered(*_over_both(
    ("erspan type II", (4, 6), _Port("type=erspan", "options:key=78", "options:erspan_ver=1",
                                     "options:erspan_idx=3")),
    ("erspan type III", (4, 6), _Port("type=erspan", "options:key=79", "options:erspan_ver=2",
                                      "options:erspan_dir=1", "options:erspan_hwid=7"))))


def connect_switches(test, one, two, wanted):
    """Connect the ends by a Switch each, with a bridge "inner" whose own port has all inner
    addresses. Return a function that describes their state for a failed test."""
    switches = []
    for end, peer in ((one, two), (two, one)):
        switch = Switch(test, end)
        switches.append(switch)
        switch.underlay(end, [peer])
        # Nothing passes before the flows exist: without flows a bridge floods all tunnels, and gets
        # its packets back through the pseudowire.
        switch.add_bridge("inner", inner_mac(end.number), settings=["fail_mode=secure"])
        switch.vsctl("set", "interface", "inner", "mtu_request=%d" % INNER_MTU)
        end.ip("link set inner up",
               *(line for tunnel in wanted for line in _addresses(tunnel, end, peer, "inner")))
        for tunnel in wanted:
            tunnel.setup.connect(switch, tunnel, end, peer)
        switch.flows("inner", *(flow for tunnel in wanted
                                for flow in tunnel.setup.flows(tunnel, end, peer)))
    return lambda: "\n".join(switch.state() for switch in switches)


# A host that exists in no test; switches mirror to it.
COLLECTOR = types.SimpleNamespace(number=200, address=underlay(4, 200), address6=underlay(6, 200),
                                  mac="02:00:00:00:77:77")
MIRRORED = tuple(tunnel for tunnel in (*SWITCHED_ERSPAN, *SWITCHED) if tunnel.name in (
    "vxlan over IPv6", "geneve over IPv4", "gre over IPv4", "erspan type II over IPv4",
    "erspan type III over IPv4", "erspan type III over IPv6"))


# ---- copies -------------------------------------------------------------------------------------

def form(*names):
    """Return the first of encapsulate.FORMS with these encapsulations."""
    return next(form for form in FORMS if form.names == names)


# The kernel removes an outermost tag of any type, and af_packet's driver inserts an 802.1Q tag
# instead, so such a frame arrives changed.
FORMS = [form for form in encapsulate.FORMS if form.text != "tag outside"]


def copies(ip, forms):
    """Yield the same packet as other taps and tunnels would deliver it. The addresses belong to
    nobody, so hosts do not answer and switches do not open the tunnels."""
    yield frames.ethernet(ip, pad=False)
    yield frames.ethernet(frames.routed(ip), tags=[(frames.VLAN, 5)])
    for form_ in forms:
        if encapsulate.takes(form_, ip):
            yield encapsulate.wrap(form_, frames.routed(ip, 3))


# ---- exact answers ------------------------------------------------------------------------------

def inner_of(key="packet", **options):
    """Return exact_answer's Inner for the keys of a filter."""
    return exact_answer.inner_of(key, tunnels.NAMES, **options)


def answers(given, **options):
    """Return the exact answer for frames in the order in which a filter gets them."""
    packets = [exact_answer.Packet(0, exact_answer.ETHERNET, frame) for frame in given]
    return harness.part(packets, inner=inner_of(**options))


def key(frame, **options):
    """Return the key as a string, for sorting; without a key, all bytes of the frame."""
    try:
        return repr(exact_answer.key_of("packet", frame, inner=inner_of(**options)))
    except exact_answer.NoKey:
        return repr(frame)


def counted(given):
    """Return the counters of tunnels, summed over all frames."""
    met = collections.Counter(name for frame in given for name in tunnels.counted(
        tunnels.innermost(frame, exact_answer.ETHERNET, frozenset(tunnels.NAMES))))
    return {name: met[name] for name in tunnels.COUNTERS}
