// SPDX-License-Identifier: BSD-3-Clause
// A map from consecutive numbers of packets to their numbers in a count that includes others:
// packets left out, or blocks that are not packets. The difference changes only where such others
// lie, and each change is a run. So only gaps take memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

namespace unecho::dedup {

// Bounds of what is remembered; default: none.
struct PacketNumberMapLimits {
    std::uint64_t reach = std::numeric_limits<std::uint64_t>::max();  // packets back
    std::size_t runs = std::numeric_limits<std::size_t>::max();
};

class PacketNumberMap {
  public:
    explicit PacketNumberMap(const PacketNumberMapLimits& bounds = {}) : bounds_(bounds) {}

    // Add the other numbers of packets first, first + 1, ...
    void add(std::uint64_t first, std::span<const std::uint64_t> numbers) {
        while (runs_.size() > 1 && first > bounds_.reach &&
               runs_[1].first <= first - bounds_.reach) {
            forget_oldest();
        }
        for (const std::uint64_t number : numbers) {
            begin_run(first, number - first);
            ++first;
        }
    }

    // Note that something is counted between this packet and the one before it.
    void add_gap_before(std::uint64_t packet) { begin_run(packet, shift() + 1); }

    // Return the packet's other number; absent: too far back.
    [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t packet) const {
        const auto next =
            std::upper_bound(runs_.begin(), runs_.end(), packet,
                             [](std::uint64_t one, const Run& run) { return one < run.first; });
        if (next == runs_.begin()) {
            return forgot_ ? std::nullopt : std::optional(packet);
        }
        return packet + std::prev(next)->shift;
    }

    // The number of runs, which take the memory.
    [[nodiscard]] std::size_t runs() const { return runs_.size(); }

  private:
    // From packet `first` on, other numbers are higher by `shift`; before the first run, equal.
    struct Run {
        std::uint64_t first;
        std::uint64_t shift;
    };

    [[nodiscard]] std::uint64_t shift() const { return runs_.empty() ? 0 : runs_.back().shift; }

    void begin_run(std::uint64_t first, std::uint64_t shift_from_here) {
        if (shift_from_here == shift()) {
            return;
        }
        if (!runs_.empty() && runs_.back().first == first) {
            runs_.back().shift = shift_from_here;
            return;
        }
        runs_.push_back({first, shift_from_here});
        if (runs_.size() > bounds_.runs) {
            forget_oldest();
        }
    }

    void forget_oldest() {
        runs_.pop_front();
        forgot_ = true;
    }

    PacketNumberMapLimits bounds_;
    std::deque<Run> runs_;
    bool forgot_ = false;
};

}  // namespace unecho::dedup
