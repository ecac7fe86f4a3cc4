// SPDX-License-Identifier: BSD-3-Clause
// What became of every packet. One block a worker, written by that worker alone; others read the
// snapshots of shared.h. Each packet that a worker takes ends in exactly one reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"

namespace unecho::dataplane {

enum class Reason : std::uint8_t {
    kNew,           // not seen within the window
    kDoubt,         // a match that is more likely an accident than the filter's rule allows
    kNonIp,         // no IP packet to make a key of
    kMalformed,     // a header that the key needs is cut short or contradicts itself
    kTooLong,       // longer than the space for frames of several mbuf segments
    kOverload,      // its owner's ring was nearly full: filtering is shed before packets
    kEchoPassed,    // an echo, and on_echo = "pass"
    kEchoDiverted,  // an echo, and on_echo names a port
    kEcho,          // an echo, and on_echo = "drop"
    kTxLost,        // the tx queue stayed full for the whole bounded retry
    kStopped,       // still between two workers when the drain timed out
};
inline constexpr unsigned kReasons = 11;

enum class Fate : std::uint8_t { kForwarded, kDiverted, kDropped };

struct ReasonInfo {
    std::string_view name;
    Fate fate;
    std::string_view help;
};

// Indexed by Reason.
inline constexpr std::array<ReasonInfo, kReasons> kReasonTable{{
    {"new", Fate::kForwarded, "not seen within the window"},
    {"doubt", Fate::kForwarded, "a match that may be an accident: above max_false_drop"},
    {"non_ip", Fate::kForwarded, "no IP packet to make a key of"},
    {"malformed", Fate::kForwarded, "a header that the key needs is cut short or inconsistent"},
    {"too_long", Fate::kForwarded, "frame longer than can be looked at"},
    {"overload", Fate::kForwarded, "passed unfiltered: its worker was behind"},
    {"echo_passed", Fate::kForwarded, "echo, forwarded because on_echo = \"pass\""},
    {"echo_diverted", Fate::kDiverted, "echo, sent to the port that on_echo names"},
    {"echo", Fate::kDropped, "echo, dropped"},
    {"tx_lost", Fate::kDropped, "the transmit queue stayed full"},
    {"stopped", Fate::kDropped, "between two workers when the drain timed out"},
}};

[[nodiscard]] constexpr const ReasonInfo& info_of(Reason reason) noexcept {
    return kReasonTable[static_cast<unsigned>(reason)];
}

struct PacketBytes {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    constexpr void add(std::uint64_t n, std::uint64_t size) noexcept {
        packets += n;
        bytes += size;
    }
};

// Invariant after every poll: sum of rx + handed_in = sum of all reasons + handed_out.
struct alignas(64) Counters {
    std::array<PacketBytes, kMaxPorts> rx{};  // taken from the port, by PortIndex
    std::array<PacketBytes, kMaxPorts> tx{};  // accepted by the port
    std::array<std::array<PacketBytes, kReasons>, kMaxRoutes> routes{};
    std::uint64_t handed_in = 0;   // from other workers: to decide, or to transmit
    std::uint64_t handed_out = 0;  // to other workers
    std::uint64_t tx_retries = 0;  // tx bursts that had to be tried again
    std::uint64_t bursts = 0;
    std::uint64_t polls = 0;
    std::uint64_t empty_polls = 0;
    Nanoseconds longest_gap = 0;    // between two looks at the clock, while away or in a long poll
    std::uint64_t gaps = 0;         // longer than the shortest window
    std::uint64_t late_echoes = 0;  // may be older than window and slack, by such a gap: presence.h
    std::uint64_t epochs = 0;  // of captures, by steps back in their time
    struct Epoch {
        std::uint64_t packet = 0;  // from 1, of all that were received
        Nanoseconds step = 0;
        PortIndex port = 0;
    } first_epoch;
};

}  // namespace unecho::dataplane
