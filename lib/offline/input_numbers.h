// SPDX-License-Identifier: BSD-3-Clause
// From numbers of the packets that are looked at, one behind the other, to those that the packets
// have in the input: the two part where some are left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <span>

namespace unecho::offline {

class InputNumbers {
  public:
    // reach: packets before any that will still be asked for; memory is for no more.
    explicit InputNumbers(std::uint64_t reach) : reach_(reach) {}

    // Those of packets first, first + 1, ...
    void add(std::uint64_t first, std::span<const std::uint64_t> numbers) {
        while (runs_.size() > 1 && first > reach_ && runs_[1].first <= first - reach_) {
            runs_.pop_front();
        }
        for (const std::uint64_t number : numbers) {
            if (runs_.empty() || number - first != runs_.back().shift) {
                runs_.push_back({first, number - first});
            }
            ++first;
        }
    }

    [[nodiscard]] std::uint64_t of(std::uint64_t packet) const {
        const auto next =
            std::upper_bound(runs_.begin(), runs_.end(), packet,
                             [](std::uint64_t one, const Run& run) { return one < run.first; });
        return packet + std::prev(next)->shift;
    }

    [[nodiscard]] std::size_t size() const { return runs_.size(); }

  private:
    // From this packet on the numbers are so much higher.
    struct Run {
        std::uint64_t first;
        std::uint64_t shift;
    };

    std::uint64_t reach_;
    std::deque<Run> runs_;
};

}  // namespace unecho::offline
