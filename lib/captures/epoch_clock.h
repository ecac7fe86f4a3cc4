// SPDX-License-Identifier: BSD-3-Clause
// Time of a capture's packets (base/packet_clock.h), with a warning for each epoch. Used where
// records come in their final order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/packet_clock.h"
#include "captures/record.h"

namespace unecho::capture {

class EpochClock {
  public:
    EpochClock() = default;
    explicit EpochClock(const PacketClock& clock) : clock_(clock) {}

    // file: of the record's interface.
    Nanoseconds at(const Record& record, std::uint32_t file) {
        const Nanoseconds now = clock_.at(record.time);
        if (clock_.epochs() != noted_) [[unlikely]] {
            note(record, file);
        }
        return now;
    }

    [[nodiscard]] Nanoseconds elapsed() const noexcept { return clock_.elapsed(); }

    // The first few, each with its packet and step, and one for all others.
    [[nodiscard]] const std::vector<Warning>& warnings() const noexcept { return warnings_; }

  private:
    void note(const Record& record, std::uint32_t file);

    PacketClock clock_;
    std::uint64_t noted_ = 0;
    std::vector<Warning> warnings_;
};

}  // namespace unecho::capture
