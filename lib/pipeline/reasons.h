// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a packet, and why: each ends in exactly one reason. A new reason is a row here
// and the stage that counts it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counters.h"

namespace unecho::pipeline {

enum class Reason : std::uint8_t {
    kNew,
    kDoubt,
    kNonIp,
    kMalformed,
    kTooLong,
    kOverload,
    kEchoPassed,
    kEchoDiverted,
    kEcho,
    kTxLost,
    kStopped,
};

enum class Fate : std::uint8_t { kForwarded, kDiverted, kDropped };

struct ReasonInfo {
    Reason reason;
    Fate fate;
    std::string_view name;
    std::string_view where;  // the stage that counts it
    std::string_view help;
};

// Indexed by Reason.
inline constexpr auto kReasonTable = std::to_array<ReasonInfo>({
    {Reason::kNew, Fate::kForwarded, "new", "settle", "not seen within the window"},
    {Reason::kDoubt, Fate::kForwarded, "doubt", "settle",
     "a match that may be an accident: above max_false_drop"},
    {Reason::kNonIp, Fate::kForwarded, "non_ip", "settle", "no IP packet to make a key of"},
    {Reason::kMalformed, Fate::kForwarded, "malformed", "settle",
     "a header that the key needs is cut short or inconsistent"},
    {Reason::kTooLong, Fate::kForwarded, "too_long", "settle",
     "longer than the space for frames of several mbuf segments"},
    {Reason::kOverload, Fate::kForwarded, "overload", "hand over",
     "passed unfiltered: its worker's ring was nearly full"},
    {Reason::kEchoPassed, Fate::kForwarded, "echo_passed", "settle",
     "echo, forwarded because on_echo = \"pass\""},
    {Reason::kEchoDiverted, Fate::kDiverted, "echo_diverted", "settle",
     "echo, sent to the port that on_echo names"},
    {Reason::kEcho, Fate::kDropped, "echo", "settle", "echo, dropped"},
    {Reason::kTxLost, Fate::kDropped, "tx_lost", "transmit",
     "the transmit queue stayed full for the whole bounded retry"},
    {Reason::kStopped, Fate::kDropped, "stopped", "drain",
     "still between two workers when the drain timed out"},
});
inline constexpr unsigned kReasons = kReasonTable.size();

static_assert(
    [] {
        for (unsigned i = 0; i < kReasons; ++i) {
            if (kReasonTable[i].reason != static_cast<Reason>(i)) {
                return false;
            }
        }
        return kReasonTable.back().reason == Reason::kStopped;
    }(),
    "each reason has its row, in the order of the reasons");

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
inline constexpr CounterRows<PacketBytes, 2> kPacketBytes{{
    {&PacketBytes::packets, "packets", CounterUnit::kPackets, CounterFold::kSum, "packets"},
    {&PacketBytes::bytes, "bytes", CounterUnit::kBytes, CounterFold::kSum,
     "their bytes, without FCS"},
}};
static_assert(describe_each(kPacketBytes));

}  // namespace unecho::pipeline
