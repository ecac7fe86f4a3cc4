// SPDX-License-Identifier: BSD-3-Clause
// Everything that `unecho analyze` says, as plain data: filled by the collector, drawn as text,
// JSON, TOML or a page. Knows nothing of how it was found. docs/captures-report.md explains every
// figure, by its name in the JSON (json_names.h).
//
// "Echo": a packet that has the same key as an earlier one, in mode packet unless it says so,
// frames without an IP packet as with non_ip "frame", with no limit of time but memory's
// (blind_after). Its age is the time since the last packet with that key before it, echo or not. It
// is a copy, or was sent again: copy_classifier.h tells which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/packet_clock.h"
#include "base/units.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/non_ip_types.h"
#include "dedup/engines/spec.h"
#include "packets/keys/cause.h"
#include "packets/keys/key.h"
#include "packets/keys/observation.h"
#include "packets/tunnels/encapsulation.h"

namespace unecho::analyze {

// Steps back in time that are longer begin an epoch: that of windows up to this long, for all
// windows, so that one clock serves them.
inline constexpr Nanoseconds kEpochJump = epoch_jump(0);

struct Count {
    static constexpr bool kSparse = true;  // state_json.h: what is 0 is left out
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  // of the frames as they were on the wire

    void add(std::uint64_t length) noexcept {
        ++packets;
        bytes += length;
    }
    constexpr Count& operator+=(const Count& other) noexcept {
        packets += other.packets;
        bytes += other.bytes;
        return *this;
    }
    constexpr Count& operator-=(const Count& other) noexcept {
        packets -= other.packets;
        bytes -= other.bytes;
        return *this;
    }
    bool operator==(const Count&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(packets, bytes);
    }
};

[[nodiscard]] constexpr Count operator+(Count a, const Count& b) noexcept {
    return a += b;
}
[[nodiscard]] constexpr Count operator-(Count a, const Count& b) noexcept {
    return a -= b;
}
// Of packets and of bytes the fewer.
[[nodiscard]] constexpr Count least(const Count& a, const Count& b) noexcept {
    return {a.packets < b.packets ? a.packets : b.packets, a.bytes < b.bytes ? a.bytes : b.bytes};
}

using packet::Cause;
using packet::Difference;

struct CauseInfo {
    Cause cause;
    std::string_view name;      // in the JSON and the text
    std::string_view meaning;   // beside it in the text
    std::string_view title;     // on the page
    std::string_view sentence;  // below it there
};

// Indexed by Cause.
inline constexpr auto kCauseTable = std::to_array<CauseInfo>({
    {Cause::kLoop, name_of(Cause::kLoop), "TTL falls with each round: a routing loop", "Loop",
     "It came back again and again, each time with a lower TTL: a routing loop."},
    {Cause::kTunnelled, name_of(Cause::kTunnelled), "plain or tunnelled, or tunnelled otherwise",
     "Tunnelled", "Once plain and once inside a tunnel, or inside tunnels of different kinds."},
    {Cause::kTunnels, name_of(Cause::kTunnels), "in tunnels with other ends or of another tenant",
     "Several tunnels",
     "In tunnels of one kind with different ends or tenants: several mirrors, "
     "or a broadcast to all ends."},
    {Cause::kRouted, name_of(Cause::kRouted),
     "TTL or hop limit and MAC addresses differ: a router in between", "Routed",
     "TTL and MAC addresses differ: seen before and behind a router."},
    {Cause::kHopLimit, name_of(Cause::kHopLimit), "TTL or hop limit differs", "Hop limit",
     "The TTL differs, the MAC addresses do not: a hop that hides them, or the first round of a "
     "loop."},
    {Cause::kRetagged, name_of(Cause::kRetagged), "VLAN tags, MPLS labels or the like differ",
     "Retagged", "VLAN tags or MPLS labels differ: seen on both sides of a trunk."},
    {Cause::kRelayed, name_of(Cause::kRelayed),
     "MAC addresses or cooked header differ: other port or mirror", "Relayed",
     "MAC addresses alone differ: a host or a balancer in between passed it on."},
    {Cause::kResent, name_of(Cause::kResent),
     "802.11 retry bit or number differs: sent again on the air, no copy", "Resent",
     "802.11 retry bit or sequence number differs: sent again on the air, no copy."},
    {Cause::kRemarked, name_of(Cause::kRemarked), "TOS or traffic class differs", "Remarked",
     "TOS or traffic class differs: something on the way marks packets."},
    {Cause::kPadded, name_of(Cause::kPadded), "bytes behind the IP packet differ", "Padded",
     "Bytes behind the IP packet differ: padding, trailers, or cut off elsewhere."},
    {Cause::kChecksum, name_of(Cause::kChecksum), "a checksum differs: offload", "Checksum",
     "Nothing but a checksum differs: of the IPv4 header, or one filled in by a card."},
    {Cause::kOuter, name_of(Cause::kOuter), "only headers of the tunnel differ", "Outer headers",
     "The same packet in the same tunnel: only the headers outside differ."},
    {Cause::kIdentical, name_of(Cause::kIdentical), "the same frame", "Identical",
     "The same frame, byte for byte: a mirror port or two taps on a wire."},
});
inline constexpr std::size_t kCauses = kCauseTable.size();
static_assert(
    [] {
        for (std::size_t i = 0; i < kCauses; ++i) {
            if (kCauseTable[i].cause != static_cast<Cause>(i)) {
                return false;
            }
        }
        return kCauseTable.back().cause == Cause::kIdentical;
    }(),
    "each cause has its row, in the order of the causes");

[[nodiscard]] constexpr const CauseInfo& info_of(Cause cause) noexcept {
    return kCauseTable[static_cast<std::size_t>(cause)];
}

struct DifferenceInfo {
    Difference difference;
    std::string_view name;   // in the JSON; in the text with blanks
    std::string_view words;  // on the page
};

// Indexed by Difference.
inline constexpr auto kDifferenceTable = std::to_array<DifferenceInfo>({
    {Difference::kHopLimit, "hop_limit", "TTL or hop limit"},
    {Difference::kMacs, "macs", "MAC addresses"},
    {Difference::kTags, "tags", "VLAN tags, MPLS labels"},
    {Difference::kTos, "tos", "TOS or traffic class"},
    {Difference::kPadding, "padding", "behind the IP packet"},
    {Difference::kChecksum, "checksum", "checksum, of the header or filled in later"},
    {Difference::kRetry, "retry", "802.11 retry bit"},
    {Difference::kNumber, "number", "802.11 sequence number"},
    {Difference::kEncapsulation, "encapsulation", "Kinds of tunnels, or none"},
    {Difference::kTunnel, "tunnel", "Ends or tenant of the tunnel"},
    {Difference::kOuter, "outer", "Outermost packet"},
});
inline constexpr std::size_t kDifferences = kDifferenceTable.size();
static_assert(
    [] {
        for (std::size_t i = 0; i < kDifferences; ++i) {
            if (kDifferenceTable[i].difference != static_cast<Difference>(i)) {
                return false;
            }
        }
        return kDifferenceTable.back().difference == Difference::kOuter;
    }(),
    "each difference has its row, in the order of the differences");

[[nodiscard]] constexpr const DifferenceInfo& info_of(Difference difference) noexcept {
    return kDifferenceTable[static_cast<std::size_t>(difference)];
}

using Causes = std::array<std::uint64_t, kCauses>;  // echoes by Cause

struct FileInfo {
    std::string path;
    Count total;
    Count echoes;
    Count copied;  // of the echoes, here and below
    // A regular file, not compressed: others read it as it is. For report_toml.h, not in the JSON.
    bool plain = false;
};

struct InterfaceInfo {
    std::string name;  // if_name of pcapng, else the file's name; unique among them
    std::uint32_t file = 0;
    std::uint16_t link_type = 0;
    std::string link_name;  // "Ethernet"
    Count total;
    Count echoes;
    Count copied;
};

// Ages in [low, high). Logarithmic, ten to a power of ten, their ends whole numbers of the
// resolution of ages; from the youngest age met to the oldest, without holes. The first may begin
// at 0.
struct AgeBin {
    Nanoseconds low = 0;
    Nanoseconds high = 0;
    std::uint64_t echoes = 0;
    Causes causes{};
};

struct Ages {
    std::vector<AgeBin> bins;    // empty without echoes
    Nanoseconds youngest = 0;    // exact
    Nanoseconds oldest = 0;      // exact
    Nanoseconds resolution = 1;  // all ages are whole numbers of it
    Nanoseconds p50 = 0;  // these: the oldest age of the bin in which they lie, at most oldest
    Nanoseconds p90 = 0;
    Nanoseconds p99 = 0;
    Nanoseconds p999 = 0;
};

struct CauseCount {
    Cause cause = Cause::kIdentical;
    Count echoes;
    Count copied;
};

struct DifferenceCount {
    Difference difference = Difference::kHopLimit;
    std::uint64_t echoes = 0;
    std::uint64_t copied = 0;
};

// Where the first packet came from, and where its echo. Indices into interfaces; only cells that
// are not 0.
struct Crossing {
    std::uint32_t original = 0;
    std::uint32_t echo = 0;
    Count echoes;
};

struct ProtocolCount {
    std::string name;  // "IPv4 TCP", "IPv6 ICMPv6", "not IP", "malformed"
    Count total;
    Count echoes;
    Count copied;
    std::uint16_t number = 0;  // dissect.h's
};

// A stretch of the capture's time. All are equally long: Report::time_bin.
struct TimeBin {
    Nanoseconds start = 0;  // since the first packet
    Count total;
    Count echoes;
};

// Packets of one kind that have the key of an earlier one and are no copies.
struct SentAgain {
    std::string protocol;  // "IPv4 VRRP", "IPv6 UDP (mDNS)", "ARP"
    Count echoes;
    Nanoseconds period = 0;  // the median age, about
    Nanoseconds youngest = 0;
    Nanoseconds oldest = 0;
    bool regular = false;  // three in four ages are within a fifth of the period
};

// Many packets that came at one interface had been at another, all of them about so long before:
// the clocks of two taps differ.
struct ClockShift {
    std::uint32_t original = 0;  // indices into interfaces
    std::uint32_t echo = 0;
    std::uint64_t packets = 0;
    Nanoseconds age = 0;  // the median, about
};

// What was sent again, as nothing tells of a copy, and yet may have been copied.
struct UncertainRepeats {
    std::uint64_t doubled = 0;    // not 0: nearly all packets came again as many times
    Nanoseconds within = 0;       // the oldest of these
    std::uint64_t in_storms = 0;  // that came many times in a row
};

// If only so many bytes of a packet counted: what would be an echo and is none now.
inline constexpr std::array<std::uint32_t, 5> kKeyBytesAsked{44, 64, 96, 128, 256};

struct KeyBytes {
    std::uint32_t bytes = 0;
    Count cut;     // copies of packets that were captured longer or shorter
    Count others;  // no copies, but the same so far
};

// Packets that went round in a routing loop, as they were seen on one link: loops.h.
struct Loop {
    std::string one;  // MAC addresses of the link's two ends; empty: it has none
    std::string other;
    Count copies;               // from the third round on
    std::uint64_t packets = 0;  // that began to go round here
    std::uint32_t step = 0;     // by which the TTL falls with each round: routers in the loop
    Nanoseconds round = 0;      // how long one took, the latest
};

// How a copy inside a tunnel met the first packet with its key.
enum class TunnelRelation : std::uint8_t {
    kWithPlain,    // one is in no tunnel
    kOtherKind,    // in tunnels of another kind, or nested otherwise
    kOtherTunnel,  // of the same kind, but with other ends or of another tenant
    kSameTunnel,   // in another outer packet
    kWhole,        // in the same: found without looking inside
};

struct MeetingInfo {
    TunnelRelation meeting;
    std::string_view name;   // in the JSON
    std::string_view words;  // in the text and on the page
};

// Indexed by TunnelRelation.
inline constexpr auto kMeetingTable = std::to_array<MeetingInfo>({
    {TunnelRelation::kWithPlain, "plain", "one plain, one inside a tunnel"},
    {TunnelRelation::kOtherKind, "encapsulation", "in tunnels of different kinds"},
    {TunnelRelation::kOtherTunnel, "tunnel", "in tunnels with other ends or of another tenant"},
    {TunnelRelation::kSameTunnel, "outer", "in the same tunnel, with other headers outside"},
    {TunnelRelation::kWhole, "whole", "with the whole tunnel around it: equal outside, too"},
});
inline constexpr std::size_t kMeetings = kMeetingTable.size();

[[nodiscard]] constexpr const MeetingInfo& info_of(TunnelRelation meeting) noexcept {
    return kMeetingTable[static_cast<std::size_t>(meeting)];
}

struct MeetingCount {
    TunnelRelation meeting = TunnelRelation::kWhole;
    Count copied;
};

struct EncapsulationCount {
    std::string name;
    Count total;  // of packets that have it anywhere around them
};

// Packets inside the same encapsulations, nested in the same way.
struct TunnelStack {
    std::vector<std::string> names;  // the outermost first; none: all others
    Count total;
};

// Packets with this innermost identifier; at most `excess` of them belong to others.
struct TunnelTenant {
    std::string kind;  // "VNI", "TEID"
    std::uint32_t number = 0;
    std::uint64_t packets = 0;
    std::uint64_t excess = 0;
    std::uint64_t bytes = 0;  // since it was first kept
};

// What is in which tunnel, and how that is copied, whatever is recommended.
struct TunnelReport {
    Count opened;                 // packets inside a tunnel
    std::uint64_t fragments = 0;  // these as the counters of a filter: packets/tunnels/tunnels.h
    std::uint64_t malformed = 0;
    std::uint64_t other = 0;
    std::uint64_t too_deep = 0;
    std::vector<EncapsulationCount> encapsulations;  // most packets first, as all below
    std::vector<TunnelStack> stacks;                 // at most 20
    Count other_stacks;
    std::vector<TunnelTenant> tenants;  // at most 20
    std::array<MeetingCount, kMeetings> meetings;
    Count needing;         // copies that are found only inside tunnels
    Count across_tenants;  // of all copies inside tunnels, those of another tenant, or of none
    // What these are in: the list that finds them. Not in the JSON, but recommended.
    packet::EncapsulationSet needed;
    packet::EncapsulationSet needed_cut;  // and with key_bytes these, for those cut short
    Count across_tenants_cut;             // of those cut short, as across_tenants
};

// Source and destination of packets whose copies are many. At most `excess` of the echoes counted
// here belong to others (space-saving counting); bytes as counted since the pair was first kept.
struct Talker {
    std::string source;
    std::string destination;
    std::uint64_t echoes = 0;
    std::uint64_t excess = 0;
    std::uint64_t bytes = 0;
};

// What key packet drops with this window, by policy.
struct WindowRow {
    std::optional<Nanoseconds> window;  // absent: without end
    Count fixed;
    Count refresh;
    Count fixed_copied;  // of these, copies
    Count refresh_copied;
};

// What of that stays with repeats = "keep": packets without an ID that came where their point had
// seen all equal ones before.
struct KeptRow {
    Count fixed;
    Count refresh;
    Count fixed_copied;  // of these, copies
    Count refresh_copied;

    KeptRow& operator+=(const KeptRow& other) noexcept {
        fixed += other.fixed;
        refresh += other.refresh;
        fixed_copied += other.fixed_copied;
        refresh_copied += other.refresh_copied;
        return *this;
    }
};

// What makes a point of observation beside port and link.
struct PointParts {
    bool ttl = false;
    bool tags = false;
    bool again = false;  // of points beside the first, which show packets twice
};

// Looks at packets without an ID that the same point saw before, of one bin of ages
// (age_histogram.h).
struct SamePointRow {
    unsigned bin = 0;
    Count copies;
    Count again;                // sent again
    std::vector<KeptRow> kept;  // of both, where they are no second looks, by window
};

// Of populations that one point shows more than once.
struct DoubledLooks {
    Nanoseconds within = 0;  // of the look before
    Count all;               // second looks that repeats = "keep" asks evidence for
    double first = 0;        // packets that were no second looks, identified or not
    double second = 0;       // the others
    double by_views = 0;     // their sum, each as often as its population shows a packet
    double unshown = 0;      // of the first, where no second look stands between two that are equal

    void add(const DoubledLooks& more) {
        all += more.all;
        first += more.first;
        second += more.second;
        by_views += more.by_views;
        unshown += more.unshown;
    }
};

// Of packets, or of frames without an IP packet, that do not say which transmission they are.
struct RepeatsBasis {
    std::vector<KeptRow> elsewhere;  // stay, at another point than the first, by window
    std::vector<SamePointRow> here;
    // By packet::SecondLooks, rising.
    std::array<std::vector<DoubledLooks>, packet::kSecondLooksNames.size()> seen_twice;
};

// What a key mode would drop with policy fixed, with the recommended window and with every other.
struct ModeRow {
    std::optional<Nanoseconds> window;
    Count dropped;
    Count lost;    // of these: that key packet forwards with the same window, so no copies
    Count missed;  // copies that key packet drops with the same window and this mode forwards
};

struct Mode {
    packet::KeyMode key = packet::KeyMode::kPacket;
    ModeRow recommended;        // that of the recommended window
    std::vector<ModeRow> rows;  // as many as windows, with the same windows
};

// TCP segments with the addresses, ports, sequence number and payload of an earlier one that differ
// otherwise (ID, flags, acknowledgement, options): no echoes, but look like ones.
struct PayloadRetransmissions {
    Count segments;
    std::uint64_t compared = 0;  // TCP segments with payload that are no echoes
    std::vector<AgeBin> ages;    // causes all 0
};

struct Recommendation {
    packet::KeyMode key = packet::KeyMode::kPacket;
    Nanoseconds window = 0;
    double rate = 0;  // planned, new packets per second
    engines::Policy policy = engines::Policy::kFixed;
    packet::NonIp non_ip = packet::NonIp::kPass;
    double max_false_drop = engines::kDefaultFalseDrop;
    engines::Engine engine = engines::Engine::kAuto;
    bool needed = true;         // false: there is nothing worth removing
    double covered = 0;         // share of the copies that it removes, 0 to 1
    Count removed;              // with this window and policy, counted
    Count removed_copies;       // of these
    Count removed_cut;          // beside these: copies cut short, with key_bytes
    std::uint64_t memory = 0;   // bytes that the engine chosen would take, 0: not known
    std::string engine_chosen;  // what "auto" stands for with these figures
    // A sentence or two each.
    std::string key_reason;
    std::string window_reason;
    std::string rate_reason;
    std::string policy_reason;
    std::vector<std::string> tunnels;  // to look into; empty: none
    packet::Tenant tenant = packet::Tenant::kIgnore;
    std::optional<std::uint32_t> key_bytes;  // absent: all of the packet counts
    std::string tunnels_reason;              // empty: there are no tunnels
    std::string tenant_reason;     // empty: nothing is looked into, or there are no tenants
    std::string key_bytes_reason;  // empty: not counted
    std::string non_ip_reason;     // empty: no frames without an IP packet are copies
    packet::Repeats repeats = packet::Repeats::kKeep;
    packet::Point point = packet::Point::kLink;
    packet::Tags tags = packet::Tags::kIgnore;
    std::optional<Nanoseconds> same_port;  // absent: by the number of taps
    unsigned views = 2;
    packet::SecondLooks second_looks = packet::SecondLooks::kDoubled;
    std::string repeats_reason;  // empty: nothing without an ID came twice
    std::string taps_reason;     // empty with one interface
    std::string sure_reason;     // what parts copies from what was sent again, and how widely
    std::string pcap_options;    // of `unecho pcap`, the same
    std::string toml;            // a whole configuration, reasons as comments
};

// What a configuration removes here.
struct Removal {
    Count removed;     // copies, sent_again and others
    Count copies;      // of these
    Count left;        // copies that stay
    Count sent_again;  // taken out all the same
    Count others;      // with no equal packet before them: of the same flow, or malformed
};

// A configuration that was asked about, beside the recommended one.
struct WhatIf {
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    std::vector<std::string> tunnels;  // that it looks into
    packet::Tenant tenant = packet::Tenant::kIgnore;
    std::optional<std::uint32_t> key_bytes;  // absent: all count
    std::optional<Nanoseconds> window;       // absent: without end
    engines::Policy policy = engines::Policy::kFixed;
    packet::Repeats repeats = packet::Repeats::kKeep;
    std::uint64_t first = 1;
    Removal asked;
    Removal recommended;
    std::uint64_t forgotten = 0;  // packets inside the window, for want of memory
    std::string verdict;          // a sentence or two
};

struct Note {
    std::string file;          // path, empty: all
    std::uint64_t number = 0;  // packet, 0: none
    std::uint64_t times = 1;
    std::string text;
};

// What a reader has to know before any share of copies: what could not be compared, and why.
enum class NotComparedEffect : std::uint8_t {
    kUnknown,  // whether equal packets are copies cannot be told
    kHidden,   // copies among these packets are not found
    kStays,    // they are copies in a way, but other packets, and stay
};
inline constexpr std::array<std::string_view, 3> kNotComparedEffects{"unknown", "hidden", "stays"};

struct NotCompared {
    std::string what;  // "no_times", "few_packets", ...: not_compared.h
    NotComparedEffect effect = NotComparedEffect::kHidden;
    std::uint64_t packets = 0;
    std::string text;  // sentences
};

// What the recommendation, and the words of text and TOML, are made from beside the figures of the
// report. Not in the JSON, which has those words.
struct Basis {
    std::optional<Nanoseconds> youngest_keyed;     // of what was sent again: IP packets alone
    std::optional<Nanoseconds> youngest_frame;     // and frames without one
    Nanoseconds oldest_keyed = 0;                  // of the copies that are IP packets
    UncertainRepeats doubtful;                     // of what was sent again
    std::vector<std::vector<KeyBytes>> key_bytes;  // by window; empty: not counted
    bool inside = false;                           // keys are those of the innermost packets
    std::vector<std::uint16_t> vxlan_ports;        // that were told
    std::vector<WindowRow> frame_windows;  // of frames without an IP packet, non_ip being "frame"
    RepeatsBasis repeats;
    RepeatsBasis frame_repeats;
    PointParts point;                 // that nothing but these tells copies by
    std::uint32_t longest_frame = 0;  // captured bytes
    std::uint64_t short_echoes = 0;   // frames too short for addresses, the same as an earlier one
};

struct AnalysisState;

struct Report {
    std::vector<FileInfo> files;
    std::vector<InterfaceInfo> interfaces;
    std::uint64_t other_interfaces = 0;     // beyond: the last one is them too
    std::vector<NotCompared> not_compared;  // what matters most first
    std::vector<Note> warnings;
    bool incomplete = false;  // packets of the inputs are missing or damaged

    Count total;
    std::uint64_t captured = 0;  // bytes; fewer where packets were cut off
    Count echoes;                // those that are copies and those that were sent again
    Count copied;                // of the echoes
    Count sent_again;            // the others
    Count non_ip_copied;         // of the copies: frames without an IP packet
    std::vector<SentAgain> kinds_sent_again;         // most first
    std::optional<Nanoseconds> youngest_sent_again;  // of what was sent again
    // The part of the verdicts on echoes that is expected to be right; absent: there are no echoes.
    std::optional<double> confidence;
    Count appended;  // copies: the capture holds what it held before once more
    std::vector<ClockShift> clock_shifts;          // copies, these
    Count keyed;                                   // packets that have a key
    Count non_ip;                                  // ARP, LLDP and the like
    std::vector<engines::NonIpType> non_ip_types;  // what these are, most first
    Count malformed;
    Count cut;  // captured shorter than their IP packet is
    // With the recommended window; empty: not counted, as no packet was cut short or in a tunnel.
    std::vector<KeyBytes> key_bytes;
    Nanoseconds first_time = 0;  // since 1970
    Nanoseconds last_time = 0;   // the latest, not the last packet's
    Nanoseconds duration = 0;    // all steps forward in time; one far back begins an epoch
    std::uint64_t keys = 0;      // different ones: packets that are no echoes but have a key
    // key_times[i]: keys met i + 1 times, those met more often in the last; counted while
    // remembered.
    std::array<std::uint64_t, 10> key_times{};

    Ages ages;                                 // of the copies
    std::vector<CauseCount> causes;            // all of them, in the order of the enum
    std::vector<DifferenceCount> differences;  // all of them, in the order of the enum
    PayloadRetransmissions look_alikes;
    std::vector<Loop> loops;  // most copies first; at most 64
    std::vector<Crossing> crossings;
    std::vector<ProtocolCount> protocols;  // most packets first
    Nanoseconds time_bin = 0;
    std::vector<TimeBin> time;       // from the first packet to the last, holes too; at most 256
    std::vector<Talker> talkers;     // most echoes first; at most 20
    std::vector<WindowRow> windows;  // 100 ns to 1000 s in steps 1-2-5, then without end
    std::array<Mode, packet::kKeyModes> modes;  // by KeyMode
    Basis basis;
    Recommendation recommendation;
    std::optional<WhatIf> what_if;        // absent: nothing was asked about
    std::optional<TunnelReport> tunnels;  // absent: there are none

    // Ages from which on echoes may have been overlooked, because memory was full and the oldest
    // packets were forgotten. Absent: everything was remembered.
    std::optional<Nanoseconds> blind_after;
    // The same for what other key modes drop and for look-alikes.
    std::optional<Nanoseconds> others_blind_after;
    std::uint64_t memory_bytes = 0;  // taken at most for what was remembered

    // What it was made of, which merges with others; null: nothing was read.
    std::shared_ptr<const AnalysisState> whole;
};

// Which interfaces to show, in this order: most copies first, then most echoes, then most packets;
// none without any.
[[nodiscard]] std::vector<std::size_t> order_by_echoes(
    const std::vector<InterfaceInfo>& interfaces);

// Of `order`, what order_by_echoes() says, those behind the first `shown`; and those beyond the
// last.
[[nodiscard]] std::size_t count_hidden_interfaces(const Report& report,
                                                  const std::vector<std::size_t>& order,
                                                  std::size_t shown);

// Whether packets per second mean something: of 100 that come by chance the rate is off by a tenth,
// within a millisecond it is that of a burst, and below one it is a matter of hours.
[[nodiscard]] bool has_rate(const Report& report) noexcept;

// Those that say the same of several inputs as one, at the first of these.
[[nodiscard]] std::vector<Note> merge_equal_notes(const std::vector<Note>& notes);

// Copies cut short, with as many bytes as find most of them; recommended or not.
[[nodiscard]] Count copies_cut_short(const Report& report) noexcept;

// Whether there is anything to say of key_bytes.
[[nodiscard]] bool any_key_bytes(const Report& report) noexcept;

// x of base as a share of 0 to 1; 0 where base is 0.
[[nodiscard]] constexpr double share(std::uint64_t x, std::uint64_t base) noexcept {
    return base == 0 ? 0 : static_cast<double>(x) / static_cast<double>(base);
}

}  // namespace unecho::analyze
