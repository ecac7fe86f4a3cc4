// SPDX-License-Identifier: BSD-3-Clause
// A poll that took so long that packets may have been lost meanwhile, as its worker saw it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace unecho::dataplane {

// The stage of a poll that a worker is in.
enum class Stage : std::uint8_t {
    kMaintain,  // upkeep of filters
    kReceive,
    kParse,  // with the view before it
    kSteer,  // to and from other workers
    kDigest,
    kDecide,
    kTransmit,
    kReport,   // counter snapshots, and all that happens between two polls
    kUnknown,  // not timed: the worker was too busy
};
inline constexpr std::size_t kStages = 8;  // without the last
inline constexpr std::array<std::string_view, kStages + 1> kStageNames{
    "maintain", "receive", "parse", "steer", "digest", "decide", "transmit", "report", "unknown"};

struct Stall {
    static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

    Nanoseconds begin = 0;  // of the poll, by the worker's clock
    Nanoseconds took = 0;
    std::uint32_t packets = 0;               // taken in the poll
    std::uint32_t queued_before = kUnknown;  // packets in the worker's rx queues as the poll began
    std::uint32_t queued_after = kUnknown;   // and as it ended
    Stage stage = Stage::kUnknown;           // that took the longest
};

}  // namespace unecho::dataplane
