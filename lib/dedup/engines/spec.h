// SPDX-License-Identifier: BSD-3-Clause
// A filter as the user requests it: by targets or by a geometry. Configurations, commands, advice
// and tests all fill this structure; planning/plan.h turns it into a plan.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "dedup/engines/engine.h"
#include "filters/kernels/select.h"
#include "packets/keys/key_spec.h"

namespace unecho::engines {

enum class Policy : std::uint8_t { kFixed, kRefresh };
inline constexpr std::array<std::string_view, 2> kPolicyNames{"fixed", "refresh"};

enum class Rule : std::uint8_t {
    kMatch,    // all
    kBound,    // those whose chance of an accident is at most max_false_drop
    kPenalty,  // those that cost less dropped than forwarded
};
inline constexpr std::array<std::string_view, 3> kRuleNames{"match", "bound", "penalty"};

// Limits of `views`: how often a port that mirrors both directions shows a transmission.
inline constexpr Nanoseconds kMaxSamePort = 4 * kSecond;
inline constexpr unsigned kMinViews = 2;
inline constexpr unsigned kMaxViews = 14;

inline constexpr double kDefaultFalseDrop = 1e-6;
inline constexpr std::string_view kDefaultFalseDropText = "1e-6";  // for messages
inline constexpr double kMostFalseDrop = 0.5;                      // the range is (0, 0.5]

// The instruction set of the kernels: "auto" (see isa.h), or one of filter::kIsas, counted from 1.
enum class IsaWish : std::uint8_t { kAuto };
[[nodiscard]] constexpr IsaWish wish_for(filter::Isa isa) noexcept {
    return static_cast<IsaWish>(1 + static_cast<unsigned>(isa));
}
inline constexpr std::array<std::string_view, 1 + filter::kIsas.size()> kIsaWishNames = [] {
    std::array<std::string_view, 1 + filter::kIsas.size()> names{"auto"};
    for (const filter::IsaRow& row : filter::kIsas) {
        names[static_cast<unsigned>(wish_for(row.isa))] = row.name;
    }
    return names;
}();

// Costs of mistakes for the packets of some DSCPs; absent: those of all other packets.
struct TrafficClass {
    std::vector<unsigned> dscp;
    std::optional<double> false_drop_cost;
    std::optional<double> leak_cost;

    bool operator==(const TrafficClass&) const = default;
};

// A geometry instead of targets. Segments: k are written by each insertion, k + l in all.
struct GivenGeometry {
    unsigned k = 0;                  // not for fingerprint
    unsigned l = 0;                  // not for line (k + l is 8) and fingerprint
    std::uint64_t segment_bits = 0;  // m: bits of one segment on one worker
    unsigned block_bits = 512;       // B, apbbf only
    unsigned bits_per_key = 0;       // b, apbbf and line only
    std::uint64_t lines = 0;         // on one worker; line and fingerprint only
    unsigned lines_per_key = 0;      // M, line only
    unsigned fingerprint_bits = 0;   // fingerprint only

    bool operator==(const GivenGeometry&) const = default;
};

struct FilterSpec {
    std::string name;
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;  // not with kFrame, which compares all
    packet::EncapsulationSet tunnels;             // to open; not with kFrame
    std::vector<std::uint16_t> vxlan_ports;       // beside 4789, 8472 and 48879
    std::optional<packet::Tenant> tenant;         // absent: default_tenant(key)
    std::optional<packet::Tags> tags;             // absent: kIgnore; not with kFrame
    std::optional<std::uint32_t> key_bytes;       // of a packet that are compared; absent: all
    Nanoseconds window = 0;
    Engine engine = Engine::kAuto;
    std::optional<double> rate;             // packets per second, all workers together
    std::optional<double> max_false_drop;   // probability
    std::optional<std::uint64_t> memory;    // bytes, all workers together
    std::optional<GivenGeometry> geometry;  // either this or rate
    Policy policy = Policy::kFixed;
    unsigned first = 1;        // packets of a flow that pass per window; flow keys only
    std::optional<Rule> rule;  // absent: every match is an echo
    // Absent: a geometry without a bound, or an engine that forgets its oldest packet.
    std::optional<OnFull> on_full;
    double false_drop_cost = 1000;      // kPenalty
    double leak_cost = 1;               // kPenalty; of a forwarded echo
    std::vector<TrafficClass> classes;  // kPenalty

    // Repeats: later transmissions with equal bytes, if packets do not identify their transmission
    // (filters/repeats/union_rule.h). Absent: dropped as echoes.
    std::optional<packet::Repeats> repeats;
    std::optional<packet::Point> point;    // absent: link
    std::optional<Nanoseconds> same_port;  // time for second looks at one point; absent: none
    std::optional<unsigned> views;         // of one transmission at one point; absent: 2
    std::optional<packet::SecondLooks> second_looks;  // absent: in doubled populations
    std::optional<double> unidentified;               // share of unidentified packets; absent: all

    [[nodiscard]] bool keeps_repeats() const { return repeats == packet::Repeats::kKeep; }
    // Return true if second looks count only in populations that are known to be doubled.
    [[nodiscard]] bool needs_evidence() const {
        return keeps_repeats() && same_port.value_or(0) != 0 &&
               second_looks != packet::SecondLooks::kAll;
    }

    bool operator==(const FilterSpec&) const = default;
};

}  // namespace unecho::engines
