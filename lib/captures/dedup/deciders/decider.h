// SPDX-License-Identifier: BSD-3-Clause
// What decides which packets of a capture are echoes: exactly, with what each repeats
// (exact_decider.h), as editcap does, or a filter as on the wire (filter_decider.h).
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

namespace unecho::offline {

// Where a burst stands in its capture.
struct BurstPosition {
    std::uint64_t first_number = 1;  // of its first packet among those looked at, from 1
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input, or in the merged inputs
    const capture::Record* records = nullptr;
    std::array<std::uint32_t, kMaxBurst> files;  // of each packet
};

// Of each echo of a burst, the packet that it repeats.
struct Originals {
    bool known = false;                            // of identified packets
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input
    std::array<std::uint32_t, kMaxBurst> files;
    std::array<std::int64_t, kMaxBurst>
        ages;  // in ns; negative only where editcap looks at no time
};

// What a decider has to say of itself, or several that took turns.
struct DeciderFacts {
    std::string engine;             // as in the configuration
    std::string text;               // for people: which engine, and what bounds it
    Nanoseconds slack = 0;          // after the window, in which a packet may be taken for an echo
    std::uint64_t handed_over = 0;  // packet from which a filter decides that did not before; or 0
    std::uint64_t forgotten = 0;    // packets inside their window, for want of memory
    // How much of the window was kept. Absent: all of it always.
    std::optional<filter::WindowState> window = std::nullopt;
    // New packets in a window that a filter is sized for; with more, the window shrinks.
    std::optional<std::uint64_t> planned = std::nullopt;
};

class Decider {
  public:
    virtual ~Decider() = default;
    Decider(const Decider&) = delete;
    Decider& operator=(const Decider&) = delete;

    // echoes and doubts of a burst whose digests are there.
    virtual void decide(pipeline::Burst& burst, const BurstPosition& place,
                        Originals& originals) = 0;

    // now: of the last packet.
    [[nodiscard]] virtual DeciderFacts facts(Nanoseconds now) const = 0;

    // What an audit asks after each burst; now: of its last packet.
    [[nodiscard]] virtual filter::AuditState audit_state(Nanoseconds now) const = 0;

  protected:
    Decider() = default;
};

}  // namespace unecho::offline
