// SPDX-License-Identifier: BSD-3-Clause
// What decides which packets of a capture are echoes: exactly, with what each repeats
// (exact_decider.h), as editcap does, or a filter as on the wire (filter_decider.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "capture/record.h"
#include "filter/kept_window.h"
#include "pipeline/burst.h"

namespace unecho::offline {

// Where a burst stands in its capture.
struct CapturePlace {
    std::uint64_t first_number = 1;  // of its first packet among those looked at, from 1
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input, or in the merged inputs
    const capture::Record* records = nullptr;
    std::array<std::uint32_t, kMaxBurst> files;  // of each packet
};

// Of each echo of a burst, the packet that it repeats.
struct Originals {
    bool known = false;
    std::array<std::uint64_t, kMaxBurst> numbers;  // in the input
    std::array<std::uint32_t, kMaxBurst> files;
    std::array<std::int64_t, kMaxBurst>
        ages;  // in ns; negative only where editcap looks at no time
};

class Decider {
  public:
    virtual ~Decider() = default;
    Decider(const Decider&) = delete;
    Decider& operator=(const Decider&) = delete;

    // echoes and doubts of a burst whose digests are there.
    virtual void decide(pipeline::Burst& burst, const CapturePlace& place,
                        Originals& originals) = 0;

    // For people: which engine, and what bounds it.
    [[nodiscard]] virtual std::string text() const = 0;
    // As in the configuration.
    [[nodiscard]] virtual std::string engine() const = 0;

    // How long after the window a packet may still be taken for an echo.
    [[nodiscard]] virtual Nanoseconds slack() const { return 0; }

    // Packets forgotten inside their window for want of memory.
    [[nodiscard]] virtual std::uint64_t forgotten() const { return 0; }

    // How much of the window it has kept; absent: the window is always whole. now: of the last
    // packet.
    [[nodiscard]] virtual std::optional<filter::WindowState> window(Nanoseconds /*now*/) const {
        return std::nullopt;
    }

    // New packets in a window that a filter is sized for; with more, the window shrinks.
    [[nodiscard]] virtual std::optional<std::uint64_t> planned() const { return std::nullopt; }

  protected:
    Decider() = default;
};

}  // namespace unecho::offline
