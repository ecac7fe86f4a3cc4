// SPDX-License-Identifier: BSD-3-Clause
// The clock of a capture's packets (base/packet_clock.h), with a warning for each epoch. Use it
// where records are in their final order.
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

    // file: the input that the record's interface belongs to.
    Nanoseconds at(const Record& record, std::uint32_t file) {
        const Nanoseconds now = clock_.at(record.time);
        if (clock_.epochs() != noted_) [[unlikely]] {
            note(record, file);
        }
        return now;
    }

    [[nodiscard]] Nanoseconds elapsed() const noexcept { return clock_.elapsed(); }

    // The first eight steps back, each with its packet and size, and one warning for all others.
    [[nodiscard]] const std::vector<Warning>& warnings() const noexcept { return warnings_; }

  private:
    void note(const Record& record, std::uint32_t file);

    PacketClock clock_;
    std::uint64_t noted_ = 0;
    std::vector<Warning> warnings_;
};

}  // namespace unecho::capture
