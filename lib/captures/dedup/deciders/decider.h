// SPDX-License-Identifier: BSD-3-Clause
// The interface of deciders, which find the echoes of a capture. ExactDecider and EditcapDecider
// (exact_decider.h) also know the packet that each echo repeats. FilterDecider (filter_decider.h)
// is a filter as on live traffic.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "captures/record.h"
#include "dedup/pipeline/burst.h"
#include "filters/achieved_window.h"
#include "filters/audit/audit.h"

namespace unecho::dedup {

// The position of a burst in its capture.
struct BurstPosition {
    std::uint64_t first_number = 1;  // of its first packet among those processed, from 1
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input, or in the merged inputs
    const capture::Record* records = nullptr;
    std::array<std::uint32_t, kMaxBurst> files;  // of each packet
};

// The packet that each echo of a burst repeats.
struct Originals {
    bool known = false;                            // for identified packets; always for others
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input
    std::array<std::uint32_t, kMaxBurst> files;
    std::array<std::int64_t, kMaxBurst> ages;  // in ns; negative only with editcap -D
};

// Facts about a decider, or about several that took turns.
struct DeciderFacts {
    std::string engine;             // name as in the configuration
    std::string text;               // for users: the engine, and what bounds it
    Nanoseconds slack = 0;          // after the window, in which a packet may be taken for an echo
    std::uint64_t handed_over = 0;  // first packet that a filter decided after taking over; 0: none
    std::uint64_t forgotten = 0;    // packets forgotten inside their window, for lack of memory
    // The part of the window that was kept; absent: always all of it.
    std::optional<filter::WindowState> window = std::nullopt;
    // New packets in a window that a filter is sized for. With more, the window shrinks.
    std::optional<std::uint64_t> planned = std::nullopt;
};

class Decider {
  public:
    virtual ~Decider() = default;
    Decider(const Decider&) = delete;
    Decider& operator=(const Decider&) = delete;

    // Set the echoes and doubts of a digested burst.
    virtual void decide(pipeline::Burst& burst, const BurstPosition& place,
                        Originals& originals) = 0;

    // now: time of the last packet.
    [[nodiscard]] virtual DeciderFacts facts(Nanoseconds now) const = 0;

    // The state that an audit needs after each burst. now: time of its last packet.
    [[nodiscard]] virtual filter::AuditState audit_state(Nanoseconds now) const = 0;

  protected:
    Decider() = default;
};

}  // namespace unecho::dedup
