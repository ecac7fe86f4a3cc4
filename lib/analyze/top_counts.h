// SPDX-License-Identifier: BSD-3-Clause
// The most frequent of many keys, in bounded memory: space-saving counting (Metwally et al. 2005)
// in sets of eight. A key that is kept came at most `count` times and at least count - excess; one
// that is not kept at most as often as the least of its set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "hash/digest.h"

namespace unecho::analyze {

// Key is regular and has an order.
template <typename Key>
class TopCounts {
  public:
    struct Slot {
        Key key{};
        std::uint64_t count = 0;
        std::uint64_t excess = 0;
        std::uint64_t bytes = 0;  // since the key was taken in
    };

    // sets: of eight keys each; allocated when the first key comes.
    explicit TopCounts(std::size_t sets) : count_of_sets_(sets) {}

    // hash: the key's, evenly spread.
    void add(const Key& key, std::uint64_t hash, std::uint64_t length) {
        sets_.resize(count_of_sets_);
        auto& set = sets_[reduce(hash, count_of_sets_)];
        auto slot = std::find_if(set.begin(), set.end(), [&](const Slot& other) {
            return other.count != 0 && other.key == key;
        });
        if (slot == set.end()) {
            slot = std::min_element(set.begin(), set.end(),
                                    [](const Slot& a, const Slot& b) { return a.count < b.count; });
            *slot = {key, slot->count, slot->count, 0};
        }
        ++slot->count;
        slot->bytes += length;
    }

    // At most n, the most frequent first, equal ones in the order of their keys.
    [[nodiscard]] std::vector<Slot> most(std::size_t n) const {
        std::vector<Slot> slots;
        for (const auto& set : sets_) {
            std::copy_if(set.begin(), set.end(), std::back_inserter(slots),
                         [](const Slot& slot) { return slot.count != 0; });
        }
        std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
            return a.count != b.count ? a.count > b.count : a.key < b.key;
        });
        slots.resize(std::min(n, slots.size()));
        return slots;
    }

  private:
    static constexpr std::size_t kWays = 8;
    std::size_t count_of_sets_;
    std::vector<std::array<Slot, kWays>> sets_;
};

}  // namespace unecho::analyze
