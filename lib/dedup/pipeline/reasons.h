// SPDX-License-Identifier: BSD-3-Clause
// The disposition of a packet and its reason: each packet ends in exactly one. A new reason is a
// row here and the code that gives it. If settle() gives it, the compiler demands its mask.
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
    kUnparsed,
    kMalformed,
    kTooLong,
    kOverload,
    kEchoPassed,
    kEchoDiverted,
    kEcho,
    kTxLost,
    kStopped,
};

enum class Disposition : std::uint8_t { kForwarded, kDiverted, kDropped };

// The place in the code that gives a packet its reason.
enum class GivenBy : std::uint8_t {
    kSettle,    // dedup/pipeline/stages.h
    kSteer,     // marked by the receiver, counted by the owner
    kTransmit,  // replaces the reason that it had
    kStop,      // for packets left when the workers return
};

struct ReasonInfo {
    Reason reason;
    Disposition fate;
    GivenBy given_by;
    std::string_view name;
    std::string_view help;
};

// Indexed by Reason.
inline constexpr auto kReasonTable = std::to_array<ReasonInfo>({
    {Reason::kNew, Disposition::kForwarded, GivenBy::kSettle, "new", "not seen within the window"},
    {Reason::kDoubt, Disposition::kForwarded, GivenBy::kSettle, "doubt",
     "a match that may be an accident: above max_false_drop"},
    {Reason::kNonIp, Disposition::kForwarded, GivenBy::kSettle, "non_ip",
     "no IP packet to make a key of"},
    {Reason::kUnparsed, Disposition::kForwarded, GivenBy::kSettle, "unparsed",
     "a link type that is not parsed, so that nobody looked for an IP packet"},
    {Reason::kMalformed, Disposition::kForwarded, GivenBy::kSettle, "malformed",
     "a header that the key needs is cut short or inconsistent"},
    {Reason::kTooLong, Disposition::kForwarded, GivenBy::kSettle, "too_long",
     "longer than the space for frames of several mbuf segments"},
    {Reason::kOverload, Disposition::kForwarded, GivenBy::kSteer, "overload",
     "passed unfiltered: its worker's ring was nearly full"},
    {Reason::kEchoPassed, Disposition::kForwarded, GivenBy::kSettle, "echo_passed",
     "echo, forwarded because on_echo = \"pass\""},
    {Reason::kEchoDiverted, Disposition::kDiverted, GivenBy::kSettle, "echo_diverted",
     "echo, sent to the port that on_echo names"},
    {Reason::kEcho, Disposition::kDropped, GivenBy::kSettle, "echo", "echo, dropped"},
    {Reason::kTxLost, Disposition::kDropped, GivenBy::kTransmit, "tx_lost",
     "the transmit queue stayed full for the whole bounded retry"},
    {Reason::kStopped, Disposition::kDropped, GivenBy::kStop, "stopped",
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
    {&PacketBytes::packets, "packets", CounterUnit::kPackets, CounterMerge::kSum, "packets"},
    {&PacketBytes::bytes, "bytes", CounterUnit::kBytes, CounterMerge::kSum,
     "their bytes, without FCS"},
}};
static_assert(describes_every_counter(kPacketBytes));

}  // namespace unecho::pipeline
