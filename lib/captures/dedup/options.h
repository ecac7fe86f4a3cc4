// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of `unecho pcap`, and which of it goes together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/packet_clock.h"
#include "base/result.h"
#include "base/units.h"
#include "captures/dedup/shard.h"
#include "config/schema.h"
#include "dedup/engines/planning/spec_problems.h"
#include "filters/filter.h"
#include "filters/window/reference_table.h"
#include "packets/keys/key.h"
#include "packets/keys/observation.h"

namespace unecho::offline {

inline constexpr Nanoseconds kDefaultWindow = 50 * kMillisecond;
// Of one tap, of which a mirror of both directions shows each packet twice.
inline constexpr Nanoseconds kDefaultSamePort = 250 * kMicrosecond;
inline constexpr unsigned kDefaultViews = 2;
inline constexpr std::uint64_t kDefaultMemory = std::uint64_t{256} << 20;
// Of it, or on top of it, what the program is without what it reads, remembers and writes.
inline constexpr std::uint64_t kProgramBytes = std::uint64_t{16} << 20;

struct Options {
    std::optional<packet::KeyMode> key;   // absent: packet, or frame with editcap
    std::optional<packet::NonIp> non_ip;  // absent: pass
    packet::EncapsulationSet tunnels;     // to look into
    std::vector<std::uint16_t> vxlan_ports;
    std::optional<packet::Tenant> tenant;    // absent: as the key wants it
    std::optional<packet::Tags> tags;        // absent: ignore
    std::optional<std::uint32_t> key_bytes;  // absent: all
    std::optional<Nanoseconds> window;       // filter::kInfiniteWindow; absent: kDefaultWindow, or
                                             // infinite where there is a count
    std::optional<std::uint64_t> count;
    std::optional<config::Policy> policy;  // absent: fixed
    std::optional<unsigned> first;         // absent: 1
    config::Engine engine = config::Engine::kAuto;
    std::optional<double> max_false_drop;  // absent: config::kDefaultFalseDrop
    std::uint64_t memory = kDefaultMemory;
    bool editcap = false;
    bool audit = false;
    std::uint32_t ignored_bytes = 0;  // at the beginning of longer frames; with frames as keys
    std::optional<packet::Repeats> repeats;           // absent: kept, where that can be
    std::optional<packet::Point> point;               // absent: link
    std::optional<Nanoseconds> same_port;             // absent: kDefaultSamePort of one tap, else 0
    std::optional<unsigned> views;                    // absent: kDefaultViews
    std::optional<packet::SecondLooks> second_looks;  // absent: of doubled populations
    std::optional<unsigned> passes;  // absent: 2 where evidence is wanted of regular files
    // Taps, numbered from 1 in the order of the inputs and of their interfaces, that stand side by
    // side: a packet passes one of them.
    std::vector<std::vector<std::uint32_t>> groups;
    std::optional<std::uint64_t> seed;
    std::optional<Shard> shard;  // whose packets are decided, exactly; with a seed

    [[nodiscard]] packet::KeyMode key_mode() const {
        return key.value_or(editcap ? packet::KeyMode::kFrame : packet::KeyMode::kPacket);
    }
    [[nodiscard]] packet::NonIp non_ip_or_pass() const {
        return non_ip.value_or(packet::NonIp::kPass);
    }
    [[nodiscard]] Nanoseconds window_time() const {
        return window.value_or(count ? filter::kInfiniteWindow : kDefaultWindow);
    }
    [[nodiscard]] std::uint64_t window_count() const { return count.value_or(filter::kAnyCount); }
    [[nodiscard]] config::Policy policy_or_fixed() const {
        return policy.value_or(config::Policy::kFixed);
    }
    [[nodiscard]] filter::EchoPolicy echo_policy() const {
        return policy_or_fixed() == config::Policy::kRefresh ? filter::EchoPolicy::kRefresh
                                                             : filter::EchoPolicy::kFixed;
    }
    [[nodiscard]] double false_drop() const {
        return max_false_drop.value_or(config::kDefaultFalseDrop);
    }
    // Keys of flows name no packet; a count, and editcap, ask for something else by name.
    [[nodiscard]] bool may_keep_repeats() const {
        return !packet::is_flow(key_mode()) && !count && !editcap;
    }
    [[nodiscard]] bool keeps_repeats() const {
        return may_keep_repeats() &&
               repeats.value_or(packet::Repeats::kKeep) == packet::Repeats::kKeep;
    }
    [[nodiscard]] Nanoseconds same_port_of(std::size_t taps) const {
        return same_port.value_or(taps == 1 ? kDefaultSamePort : 0);
    }
    // Whether second looks count in populations alone that are known to be doubled.
    [[nodiscard]] bool needs_evidence(std::size_t taps) const {
        return keeps_repeats() && same_port_of(taps) != 0 &&
               second_looks.value_or(packet::SecondLooks::kDoubled) ==
                   packet::SecondLooks::kDoubled;
    }
    // Steps back in time that are longer begin an epoch. editcap knows none.
    [[nodiscard]] Nanoseconds jump() const {
        return editcap || window_time() == filter::kInfiniteWindow ? kNoEpochs
                                                                   : epoch_jump(window_time());
    }
    [[nodiscard]] PacketClock clock() const {
        return jump() == kNoEpochs ? PacketClock() : PacketClock::for_window(window_time());
    }
    // A filter with a window of time alone can do it.
    [[nodiscard]] bool fits_filters() const {
        return !count && !editcap && config::kWindow.contains(window_time());
    }
};

// A filter as it is asked for here; what it judges by is left open.
engines::FilterSpec spec_of(const Options& options);

// taps: of the inputs.
packet::KeySpec key_of(const Options& options, std::size_t taps);

// The first of engines::problems_of(), in the words of the command line: a field's option is named
// as the field. Errc::kConfig.
Status check(const engines::FilterSpec& spec, const engines::FieldNames& written);

// Values that are not allowed, or not together: Errc::kConfig, in the words of the command line.
Status check(const Options& options);

}  // namespace unecho::offline
