// SPDX-License-Identifier: BSD-3-Clause
#include "captures/epoch_clock.h"

#include <string>
#include <utility>

namespace unecho::capture {

void EpochClock::note(const Record& record, std::uint32_t file) {
    constexpr std::size_t kListed = 8;
    noted_ = clock_.epochs();
    if (warnings_.size() > kListed) {
        ++warnings_.back().times;
        return;
    }
    std::string text = "time steps back by " + format_duration(clock_.last_step());
    text += warnings_.size() < kListed ? ": goes on from there, and ages leave the step out"
                                       : ", and at later packets too: goes on from there each time";
    warnings_.push_back({file, record.number, 1, std::move(text)});
}

}  // namespace unecho::capture
