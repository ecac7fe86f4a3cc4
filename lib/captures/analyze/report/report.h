// SPDX-License-Identifier: BSD-3-Clause
// The result of `unecho analyze` as plain data: filled by collect/, shown as text, JSON, TOML or a
// page. It does not depend on how figures were obtained. docs/captures-report.md explains every
// figure by its name in the JSON (report_json.cpp).
//
// Here an echo is a packet with the key of an earlier one, however long ago, as far as memory goes
// (blind_after). Unless stated otherwise the key is that of mode packet; frames without an IP
// packet have one as with non_ip "frame". The age of an echo is the time since the last packet with
// its key, echo or not. An echo is a copy or was sent again (a repeat): copy_classifier.h decides
// which.
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

// Larger steps back in time begin an epoch. All windows use the limit of the shortest ones, so that
// one clock serves them.
inline constexpr Nanoseconds kEpochJump = epoch_jump(0);

struct Count {
    static constexpr bool kSparse = true;  // zeros are left out (state_json.h)
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  // of frames as they were on the wire

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
// Return the smaller number of packets and the smaller number of bytes.
[[nodiscard]] constexpr Count least(const Count& a, const Count& b) noexcept {
    return {a.packets < b.packets ? a.packets : b.packets, a.bytes < b.bytes ? a.bytes : b.bytes};
}

using packet::Cause;
using packet::Difference;

struct CauseInfo {
    Cause cause;
    std::string_view name;
    std::string_view meaning;      // next to the name
    std::string_view origin = {};  // what else stands behind it; in the whole report only
};

// Indexed by Cause.
inline constexpr auto kCauseTable = std::to_array<CauseInfo>({
    {Cause::kLoop, name_of(Cause::kLoop), "TTL falls with each round: a routing loop"},
    {Cause::kTunnelled, name_of(Cause::kTunnelled), "plain or tunnelled, or tunnelled otherwise"},
    {Cause::kTunnels, name_of(Cause::kTunnels), "in tunnels with other ends or of another tenant",
     "several mirrors, or a broadcast to all ends"},
    {Cause::kRouted, name_of(Cause::kRouted),
     "TTL or hop limit and MAC addresses differ: a router in between"},
    {Cause::kHopLimit, name_of(Cause::kHopLimit), "TTL or hop limit differs",
     "a hop that hides MAC addresses, or the first round of a loop"},
    {Cause::kRetagged, name_of(Cause::kRetagged), "VLAN tags, MPLS labels or the like differ",
     "both sides of a trunk"},
    {Cause::kRelayed, name_of(Cause::kRelayed),
     "MAC addresses or cooked header differ: other port or mirror"},
    {Cause::kResent, name_of(Cause::kResent),
     "802.11 retry bit or number differs: sent again on the air, no copy"},
    {Cause::kRemarked, name_of(Cause::kRemarked), "TOS or traffic class differs",
     "marked on the way"},
    {Cause::kPadded, name_of(Cause::kPadded), "bytes behind the IP packet differ",
     "padding, a trailer, or captured length"},
    {Cause::kChecksum, name_of(Cause::kChecksum), "a checksum differs: offload"},
    {Cause::kOuter, name_of(Cause::kOuter), "only headers of the tunnel differ"},
    {Cause::kIdentical, name_of(Cause::kIdentical), "the same frame", "a mirror port or two taps"},
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
    std::string_view name;   // in the JSON
    std::string_view words;  // elsewhere
};

// Indexed by Difference.
inline constexpr auto kDifferenceTable = std::to_array<DifferenceInfo>({
    {Difference::kHopLimit, "hop_limit", "TTL or hop limit"},
    {Difference::kMacs, "macs", "MAC addresses"},
    {Difference::kTags, "tags", "VLAN tags, MPLS labels"},
    {Difference::kTos, "tos", "TOS or traffic class"},
    {Difference::kPadding, "padding", "Bytes behind the IP packet"},
    {Difference::kChecksum, "checksum", "Checksum, of the header or filled in later"},
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
    Count copied;  // copies among the echoes, here and below
    // Regular and not compressed: others can read it. For report_toml.h, not in the JSON.
    bool plain = false;
};

struct InterfaceInfo {
    std::string name;  // if_name of pcapng, else the file's name; unique
    std::uint32_t file = 0;
    std::uint16_t link_type = 0;
    std::string link_name;  // "Ethernet"
    Count total;
    Count echoes;
    Count copied;
};

// Echoes with ages in [low, high). Bins are logarithmic, ten per power of ten, and their ends are
// multiples of the resolution. They reach from the youngest age to the oldest, without holes. The
// first may begin at 0.
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
    Nanoseconds resolution = 1;  // all ages are multiples of it
    Nanoseconds p50 = 0;         // quantiles: the largest age of their bin, at most `oldest`
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

// Echoes by the interface of the first packet and that of the echo, as indices into interfaces;
// only pairs with echoes.
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
    std::uint16_t number = 0;  // as in dissect.h
};

// A part of the capture's time. All have the width Report::time_bin.
struct TimeBin {
    Nanoseconds start = 0;  // since the first packet
    Count total;
    Count echoes;
};

// Packets of one kind that have the key of an earlier one and are no copies.
struct SentAgain {
    std::string protocol;  // "IPv4 VRRP", "IPv6 UDP (mDNS)", "ARP"
    Count echoes;
    Nanoseconds period = 0;  // about the median age
    Nanoseconds youngest = 0;
    Nanoseconds oldest = 0;
    bool regular = false;  // three in four ages are within a fifth of the period
};

// Two taps whose clocks differ: many packets of one interface had been at another, all about the
// same time before.
struct ClockShift {
    std::uint32_t original = 0;  // indices into interfaces
    std::uint32_t echo = 0;
    std::uint64_t packets = 0;
    Nanoseconds age = 0;  // about the median
};

// Packets that are reported as sent again for want of evidence, but may be copies.
struct UncertainRepeats {
    std::uint64_t doubled = 0;    // echoes, if nearly every packet has one; else 0
    Nanoseconds within = 0;       // age of the oldest of these
    std::uint64_t in_storms = 0;  // packets that came many times in a row
};

// Values of key_bytes for which new echoes are counted.
inline constexpr std::array<std::uint32_t, 5> kKeyBytesAsked{44, 64, 96, 128, 256};

struct KeyBytes {
    std::uint32_t bytes = 0;
    Count cut;     // copies of packets that were captured longer or shorter
    Count others;  // other packets that are equal up to there
};

// Packets in a routing loop, as they were seen on one link (loops.h).
struct Loop {
    std::string one;  // MAC addresses of the link's ends; empty: none
    std::string other;
    Count copies;               // from the third round on
    std::uint64_t packets = 0;  // that were first found to loop here
    std::uint32_t step = 0;     // by which the TTL falls with each round: routers in the loop
    Nanoseconds round = 0;      // duration of the latest one
};

// How a copy inside a tunnel relates to the first packet with its key.
enum class TunnelRelation : std::uint8_t {
    kWithPlain,    // one is in no tunnel
    kOtherKind,    // in tunnels of another kind, or nested otherwise
    kOtherTunnel,  // in tunnels of the same kind, with other ends or of another tenant
    kSameTunnel,   // in the same tunnel, with another outer packet
    kWhole,        // with equal outer packets: found without opening tunnels
};

struct TunnelRelationInfo {
    TunnelRelation meeting;
    std::string_view name;   // in the JSON
    std::string_view words;  // elsewhere
};

// Indexed by TunnelRelation.
inline constexpr auto kMeetingTable = std::to_array<TunnelRelationInfo>({
    {TunnelRelation::kWithPlain, "plain", "one plain, one inside a tunnel"},
    {TunnelRelation::kOtherKind, "encapsulation", "in tunnels of different kinds"},
    {TunnelRelation::kOtherTunnel, "tunnel", "in tunnels with other ends or of another tenant"},
    {TunnelRelation::kSameTunnel, "outer", "in the same tunnel, with other headers outside"},
    {TunnelRelation::kWhole, "whole", "with the whole tunnel around it: equal outside, too"},
});
inline constexpr std::size_t kTunnelRelations = kMeetingTable.size();

[[nodiscard]] constexpr const TunnelRelationInfo& info_of(TunnelRelation meeting) noexcept {
    return kMeetingTable[static_cast<std::size_t>(meeting)];
}

struct TunnelRelationCount {
    TunnelRelation meeting = TunnelRelation::kWhole;
    Count copied;
};

struct EncapsulationCount {
    std::string name;
    Count total;  // of packets that have it anywhere around them
};

// Packets inside the same encapsulations, nested in the same way.
struct TunnelStack {
    std::vector<std::string> names;  // outermost first; none: all others
    Count total;
};

// Packets with this innermost identifier; at most `excess` of them belong to others.
struct TunnelTenant {
    std::string kind;  // "VNI", "TEID"
    std::uint32_t number = 0;
    std::uint64_t packets = 0;
    std::uint64_t excess = 0;
    std::uint64_t bytes = 0;  // since the tenant was first stored
};

// Packets by tunnel, and how they are copied, whatever is recommended.
struct TunnelReport {
    Count opened;                 // packets inside a tunnel
    std::uint64_t fragments = 0;  // this and the next three are as in packets/tunnels/tunnels.h
    std::uint64_t malformed = 0;
    std::uint64_t other = 0;
    std::uint64_t too_deep = 0;
    std::vector<EncapsulationCount> encapsulations;  // most packets first, as all below
    std::vector<TunnelStack> stacks;                 // at most 20
    Count other_stacks;
    std::vector<TunnelTenant> tenants;  // at most 20
    std::array<TunnelRelationCount, kTunnelRelations> meetings;
    Count needing;         // copies that are found only inside tunnels
    Count across_tenants;  // of all copies inside tunnels, those of another tenant, or of none
    // The encapsulations to open to find `needing`. Not in the JSON, but recommended.
    packet::EncapsulationSet needed;
    packet::EncapsulationSet needed_cut;  // in addition with key_bytes, for copies cut short
    Count across_tenants_cut;             // as across_tenants, of copies cut short
};

// Source and destination of packets with many copies. At most `excess` of these echoes belong to
// others (space-saving counting). bytes: since the pair was first stored.
struct Talker {
    std::string source;
    std::string destination;
    std::uint64_t echoes = 0;
    std::uint64_t excess = 0;
    std::uint64_t bytes = 0;
};

// Packets that key packet drops with a window, by policy.
struct WindowRow {
    std::optional<Nanoseconds> window;  // absent: without end
    Count fixed;
    Count refresh;
    Count fixed_copied;
    Count refresh_copied;
};

// Packets of a WindowRow that repeats = "keep" forwards: unidentified, and at a point that had seen
// all equal ones before.
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

// Parts of a point of observation, besides port and link.
struct PointParts {
    bool ttl = false;
    bool tags = false;
    bool again = false;  // points besides the first show packets twice
};

// Looks at unidentified packets, at points that saw them before, of one bin of ages
// (age_histogram.h).
struct SamePointRow {
    unsigned bin = 0;
    Count copies;
    Count again;                // sent again
    std::vector<KeptRow> kept;  // of both, without second looks, by window
};

// Second looks in populations that one point shows more than once.
struct DoubledLooks {
    Nanoseconds within = 0;  // largest time since the look before
    Count all;               // second looks for which repeats = "keep" needs evidence
    double first = 0;        // looks that are no second looks, identified or not
    double second = 0;       // second looks
    double by_views = 0;     // sum over these of how often their population shows a packet
    double unshown = 0;      // part of `first` expected to lack a second look

    void add(const DoubledLooks& more) {
        all += more.all;
        first += more.first;
        second += more.second;
        by_views += more.by_views;
        unshown += more.unshown;
    }
};

// Looks at unidentified packets, or at unidentified frames without an IP packet.
struct RepeatsBasis {
    std::vector<KeptRow> elsewhere;  // kept at another point than the first, by window
    std::vector<SamePointRow> here;
    // By packet::SecondLooks; ages rising.
    std::array<std::vector<DoubledLooks>, packet::kSecondLooksNames.size()> seen_twice;
};

// Packets that a key mode would drop with policy fixed and a window.
struct ModeRow {
    std::optional<Nanoseconds> window;
    Count dropped;
    Count lost;    // of these, those that key packet forwards with this window: no copies
    Count missed;  // copies that key packet drops with this window and the mode forwards
};

struct Mode {
    packet::KeyMode key = packet::KeyMode::kPacket;
    ModeRow recommended;        // with the recommended window
    std::vector<ModeRow> rows;  // one for each window of Report::windows
};

// TCP segments with the addresses, ports, sequence number and payload of an earlier one that differ
// otherwise (ID, flags, acknowledgement, options). They are no echoes, but look like ones.
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
    bool needed = true;         // false: nothing is worth removing
    double covered = 0;         // share of the copies that it removes, 0 to 1
    Count removed;              // packets of this capture, with this window and policy
    Count removed_copies;       // of these, copies
    Count removed_cut;          // in addition: copies cut short, with key_bytes
    std::uint64_t memory = 0;   // bytes of the chosen engine; 0: unknown
    std::string engine_chosen;  // engine that "auto" selects with these figures
    // Reasons are a sentence or two each.
    std::string key_reason;
    std::string window_reason;
    std::string rate_reason;
    std::string policy_reason;
    std::vector<std::string> tunnels;  // to open; empty: none
    packet::Tenant tenant = packet::Tenant::kIgnore;
    std::optional<std::uint32_t> key_bytes;  // absent: the whole packet is compared
    std::string tunnels_reason;              // empty: there are no tunnels
    std::string tenant_reason;               // empty: no tunnel is opened, or there are no tenants
    std::string key_bytes_reason;            // empty: not counted
    std::string non_ip_reason;               // empty: no frame without an IP packet is a copy
    packet::Repeats repeats = packet::Repeats::kKeep;
    packet::Point point = packet::Point::kLink;
    packet::Tags tags = packet::Tags::kIgnore;
    std::optional<Nanoseconds> same_port;  // absent: depends on the number of taps
    unsigned views = 2;
    packet::SecondLooks second_looks = packet::SecondLooks::kDoubled;
    std::string repeats_reason;  // empty: no unidentified packet came twice
    std::string taps_reason;     // empty with one interface
    std::string sure_reason;     // what separates copies from repeats, and by how much
    std::string pcap_options;    // the same for `unecho pcap`
    std::string toml;            // a complete configuration, with reasons as comments
};

struct Removal {
    Count removed;  // sum of copies, sent_again and others
    Count copies;
    Count left;        // copies that are not removed
    Count sent_again;  // removed all the same
    Count others;      // without an equal packet before: of the same flow, or malformed
};

// A configuration that the user asked about.
struct WhatIfQuestion {
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    std::vector<std::string> tunnels;  // to open
    packet::Tenant tenant = packet::Tenant::kIgnore;
    packet::Tags tags = packet::Tags::kIgnore;
    std::optional<std::uint32_t> key_bytes;  // absent: all bytes are compared
    std::optional<Nanoseconds> window;       // absent: without end
    engines::Policy policy = engines::Policy::kFixed;
    packet::Repeats repeats = packet::Repeats::kKeep;
    std::uint64_t first = 1;
    // Packets forgotten inside the window, as memory was full: a sum over shards, which all have
    // the same configuration.
    std::uint64_t forgotten = 0;

    bool operator==(const WhatIfQuestion&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(key, non_ip, tunnels, tenant, tags, key_bytes, window, policy, repeats, first,
           forgotten);
    }
};

// The same, compared with the recommended configuration.
struct WhatIf : WhatIfQuestion {
    Removal asked;
    Removal recommended;
    std::string verdict;  // a sentence or two
};

struct Note {
    std::string file;          // path; empty: all
    std::uint64_t number = 0;  // of the packet; 0: none
    std::uint64_t times = 1;
    std::string text;
    // The NotCompared that says the same; empty: none does. A state that is read back lacks it.
    std::string_view what{};

    template <typename Io>
    void state(Io& io) {
        io(file, number, times, text);
    }
};

// Effect on the result of packets that could not be compared; stated before all numbers.
enum class NotComparedEffect : std::uint8_t {
    kUnknown,  // it is unknown whether equal packets are copies
    kHidden,   // copies among these packets are not found
    kStays,    // copies in a sense, but different packets, so they stay
};
inline constexpr std::array<std::string_view, 3> kNotComparedEffects{"unknown", "hidden", "stays"};

struct NotCompared {
    std::string what;  // "no_times", "few_packets", ...: not_compared.h
    NotComparedEffect effect = NotComparedEffect::kHidden;
    std::uint64_t packets = 0;
    std::string text;  // sentences
};

// Inputs of the recommendation, and of sentences in text and TOML, besides the figures of the
// report. Not in the JSON, which has those sentences.
struct Basis {
    std::optional<Nanoseconds> youngest_keyed;  // youngest repeat of an IP packet
    std::optional<Nanoseconds> youngest_frame;  // and of a frame without one
    Nanoseconds oldest_keyed = 0;               // oldest copy of an IP packet
    UncertainRepeats doubtful;
    std::vector<std::vector<KeyBytes>> key_bytes;  // by window; empty: not counted
    bool inside = false;                           // keys are those of innermost packets
    std::vector<std::uint16_t> vxlan_ports;        // given by the user
    std::vector<WindowRow> frame_windows;  // frames without an IP packet, with non_ip "frame"
    RepeatsBasis repeats;
    RepeatsBasis frame_repeats;
    PointParts point;                 // parts that are the only evidence for some copies
    std::uint32_t longest_frame = 0;  // captured bytes
    std::uint64_t short_echoes = 0;   // echoes of frames that are too short for addresses
};

struct AnalysisState;

struct Report {
    std::vector<FileInfo> files;
    std::vector<InterfaceInfo> interfaces;
    std::uint64_t other_interfaces = 0;     // further ones, counted as the last interface
    std::vector<NotCompared> not_compared;  // most important first
    std::vector<Note> warnings;
    bool incomplete = false;  // packets of the inputs are missing or damaged

    Count total;
    std::uint64_t captured = 0;               // bytes; fewer if packets were cut short
    Count echoes;                             // copies, and packets that were sent again
    Count copied;                             // of the echoes
    Count sent_again;                         // the others
    Count non_ip_copied;                      // of the copies: frames without an IP packet
    std::vector<SentAgain> kinds_sent_again;  // most frequent first
    std::optional<Nanoseconds> youngest_sent_again;
    // Expected share of verdicts on echoes that are right; absent: there are no echoes.
    std::optional<double> confidence;
    Count appended;                        // copies, because the capture was appended to itself
    std::vector<ClockShift> clock_shifts;  // their packets are copies
    Count keyed;                           // packets that have a key
    Count non_ip;                          // ARP, LLDP and the like
    std::vector<engines::NonIpTypeCount> non_ip_types;  // their types, most frequent first
    Count malformed;
    Count cut;  // captured shorter than their IP length
    // With the recommended window. Empty: not counted, as no packet was cut short or in a tunnel.
    std::vector<KeyBytes> key_bytes;
    Nanoseconds first_time = 0;  // since 1970
    Nanoseconds last_time = 0;   // latest time, not that of the last packet
    Nanoseconds duration = 0;    // sum of all steps forward; a large step back begins an epoch
    std::uint64_t keys = 0;      // different ones: packets with a key that are no echoes
    // key_times[i]: number of keys seen i + 1 times; the last includes those seen more often.
    // Counted while they are remembered.
    std::array<std::uint64_t, 10> key_times{};

    Ages ages;                                 // of the copies
    std::vector<CauseCount> causes;            // all of them, in the order of the enum
    std::vector<DifferenceCount> differences;  // all of them, in the order of the enum
    PayloadRetransmissions look_alikes;
    std::vector<Loop> loops;  // most copies first; at most 64
    std::vector<Crossing> crossings;
    std::vector<ProtocolCount> protocols;  // most packets first
    Nanoseconds time_bin = 0;
    std::vector<TimeBin> time;    // from the first packet to the last, with empty ones; at most 256
    std::vector<Talker> talkers;  // most echoes first; at most 20
    std::vector<WindowRow> windows;             // 100 ns to 1000 s in steps 1-2-5, then without end
    std::array<Mode, packet::kKeyModes> modes;  // by KeyMode
    Basis basis;
    Recommendation recommendation;
    std::optional<WhatIf> what_if;        // absent: no question was asked
    std::optional<TunnelReport> tunnels;  // absent: there are none

    // The age from which on echoes may be missing, because memory was full and the oldest packets
    // were forgotten. Absent: everything was remembered.
    std::optional<Nanoseconds> blind_after;
    // The same for what other key modes drop, and for look_alikes.
    std::optional<Nanoseconds> others_blind_after;
    std::uint64_t memory_bytes = 0;  // most that was used for tables

    // The counts that the report was made from, which merge with others; null: nothing was read.
    std::shared_ptr<const AnalysisState> whole;
};

// Return which interfaces to show, in this order: most copies first, then most echoes, then most
// packets. Interfaces without packets are left out.
[[nodiscard]] std::vector<std::size_t> order_by_echoes(
    const std::vector<InterfaceInfo>& interfaces);

// Return how many interfaces are hidden if the first `shown` of `order` are shown, including those
// that are counted as the last one. order: from order_by_echoes().
[[nodiscard]] std::size_t count_hidden_interfaces(const Report& report,
                                                  const std::vector<std::size_t>& order,
                                                  std::size_t shown);

// Return true if packets per second are meaningful. With 100 packets, chance changes the rate by a
// tenth. Within 1 ms it is a burst's rate, and below 1 packet/s a matter of hours.
[[nodiscard]] bool has_rate(const Report& report) noexcept;

// Merge notes that state the same of several inputs, at the first of these.
[[nodiscard]] std::vector<Note> merge_equal_notes(const std::vector<Note>& notes);

// Return the copies cut short, with as many bytes as find most of them, recommended or not.
[[nodiscard]] Count copies_cut_short(const Report& report) noexcept;

// Return true if key_bytes would change anything.
[[nodiscard]] bool any_key_bytes(const Report& report) noexcept;

// Return x as a share of base, 0 to 1; 0 if base is 0.
[[nodiscard]] constexpr double share(std::uint64_t x, std::uint64_t base) noexcept {
    return base == 0 ? 0 : static_cast<double>(x) / static_cast<double>(base);
}

}  // namespace unecho::analyze
