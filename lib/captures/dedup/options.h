// SPDX-License-Identifier: BSD-3-Clause
// The settings of `unecho pcap` and `unecho capture`, and which go together.
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

namespace unecho::dedup {

inline constexpr Nanoseconds kDefaultWindow = 50 * kMillisecond;
// For one tap: a mirror of both directions shows each packet twice.
inline constexpr Nanoseconds kDefaultSamePort = 250 * kMicrosecond;
inline constexpr unsigned kDefaultViews = 2;
inline constexpr std::uint64_t kDefaultMemory = std::uint64_t{256} << 20;
// Memory of the program without what it reads, remembers and writes: part of --memory, or on top.
inline constexpr std::uint64_t kProgramBytes = std::uint64_t{16} << 20;

struct Options {
    std::optional<packet::KeyMode> key;   // absent: packet, or frame with editcap
    std::optional<packet::NonIp> non_ip;  // absent: pass
    packet::EncapsulationSet tunnels;     // to open
    std::vector<std::uint16_t> vxlan_ports;
    std::optional<packet::Tenant> tenant;    // absent: the key's default
    std::optional<packet::Tags> tags;        // absent: ignore
    std::optional<std::uint32_t> key_bytes;  // absent: all
    std::optional<Nanoseconds> window;       // absent: kDefaultWindow; with a count, infinite
    std::optional<std::uint64_t> count;
    std::optional<config::Policy> policy;  // absent: fixed
    std::optional<unsigned> first;         // absent: 1
    config::Engine engine = config::Engine::kAuto;
    std::optional<double> max_false_drop;  // absent: config::kDefaultFalseDrop
    std::uint64_t memory = kDefaultMemory;
    bool editcap = false;
    bool audit = false;
    std::uint32_t ignored_bytes = 0;         // at the beginning of longer frames; for frame keys
    std::optional<packet::Repeats> repeats;  // absent: kept, if possible
    std::optional<packet::Point> point;      // absent: link
    std::optional<Nanoseconds> same_port;    // absent: kDefaultSamePort; with several taps, 0
    std::optional<unsigned> views;           // absent: kDefaultViews
    std::optional<packet::SecondLooks> second_looks;  // absent: in doubled populations only
    std::optional<unsigned> passes;  // absent: 2 if evidence is needed and files are regular
    // Taps that stand side by side, so that a packet passes one of them. They are numbered from 1
    // in the order of the inputs and of their interfaces.
    std::vector<std::vector<std::uint32_t>> groups;
    std::optional<std::uint64_t> seed;
    std::optional<Shard> shard;  // decide only its packets, exactly; needs a seed

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
    // Return true if repeats can be kept: flow keys, counts and editcap have rules of their own.
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
    // Return true if second looks are copies only in populations known to be doubled.
    [[nodiscard]] bool needs_evidence(std::size_t taps) const {
        return keeps_repeats() && same_port_of(taps) != 0 &&
               second_looks.value_or(packet::SecondLooks::kDoubled) ==
                   packet::SecondLooks::kDoubled;
    }
    // Steps back in time that are longer begin an epoch. editcap knows no epochs.
    [[nodiscard]] Nanoseconds jump() const {
        return editcap || window_time() == filter::kInfiniteWindow ? kNoEpochs
                                                                   : epoch_jump(window_time());
    }
    [[nodiscard]] PacketClock clock() const {
        return jump() == kNoEpochs ? PacketClock() : PacketClock::for_window(window_time());
    }
    // Return true if a filter can do it: filters have windows of time only.
    [[nodiscard]] bool fits_filters() const {
        return !count && !editcap && config::kWindow.contains(window_time());
    }
};

// Return the filter as requested here; its rule is left open.
engines::FilterSpec spec_of(const Options& options);

packet::KeySpec key_of(const Options& options, std::size_t taps);

// Report the first of engines::problems_of(), with the option of its field. Errc::kConfig.
Status check(const engines::FilterSpec& spec, const engines::FieldNames& written);

// Check values and combinations. Errc::kConfig, in terms of the command line.
Status check(const Options& options);

}  // namespace unecho::dedup
