// SPDX-License-Identifier: BSD-3-Clause
// The most frequent of many keys, in bounded memory: space-saving counting (Metwally et al. 2005)
// in sets of eight. A stored key came at most `count` times, and at least count - excess times. Any
// other key came at most as often as the rarest key of its set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "filters/hash/digest.h"

namespace unecho::analyze {

template <typename Key>
struct TopSlot {
    Key key{};
    std::uint64_t count = 0;
    std::uint64_t excess = 0;
    std::uint64_t bytes = 0;  // since the key was stored

    template <typename Io>
    void state(Io& io) {
        io(key, count, excess, bytes);
    }
};

// Mergeable result. Sets are merged pairwise, and all keys are kept. A key that one side did not
// store may have come there as often as the rarest key of its set; this number is added to its
// count and excess. So the bounds hold, and the order of merging does not matter.
template <typename Key>
class TopSummary {
  public:
    using Slot = TopSlot<Key>;
    struct Set {
        std::vector<Slot> slots;    // ordered by key
        std::uint64_t unknown = 0;  // how often a key that is not in the set may have come

        template <typename Io>
        void state(Io& io) {
            io(slots, unknown);
        }
    };

    void put(std::uint32_t set, std::vector<Slot> slots, std::uint64_t least) {
        std::sort(slots.begin(), slots.end(),
                  [](const Slot& a, const Slot& b) { return a.key < b.key; });
        sets_[set] = {std::move(slots), least};
    }

    void add(const TopSummary& others) {
        for (const auto& [at, set] : others.sets_) {
            add(sets_[at], set);
        }
    }

    // Return at most n slots, most frequent first, equal ones ordered by key.
    [[nodiscard]] std::vector<Slot> most(std::size_t n) const {
        std::vector<Slot> slots;
        for (const auto& [at, set] : sets_) {
            slots.insert(slots.end(), set.slots.begin(), set.slots.end());
        }
        std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
            return a.count != b.count ? a.count > b.count : a.key < b.key;
        });
        slots.resize(std::min(n, slots.size()));
        return slots;
    }

    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [at, set] : sets_) {
            std::for_each(set.slots.begin(), set.slots.end(), visit);
        }
    }

    template <typename Io>
    void state(Io& io) {
        io(sets_);
    }

  private:
    static void add(Set& into, const Set& more) {
        std::vector<Slot> slots;
        auto a = into.slots.begin();
        auto b = more.slots.begin();
        while (a != into.slots.end() || b != more.slots.end()) {
            const bool first = b == more.slots.end() || (a != into.slots.end() && a->key < b->key);
            const bool second = a == into.slots.end() || (b != more.slots.end() && b->key < a->key);
            Slot one = second ? *b : *a;
            const Slot other = first    ? Slot{{}, more.unknown, more.unknown, 0}
                               : second ? Slot{{}, into.unknown, into.unknown, 0}
                                        : *b;
            one.count += other.count;
            one.excess += other.excess;
            one.bytes += other.bytes;
            slots.push_back(one);
            a += second ? 0 : 1;
            b += first ? 0 : 1;
        }
        into.slots = std::move(slots);
        into.unknown += more.unknown;
    }

    std::map<std::uint32_t, Set> sets_;
};

// Key: a regular type with an order.
template <typename Key>
class TopCounts {
  public:
    using Slot = TopSlot<Key>;

    // sets: of eight keys each; allocated when the first key comes.
    explicit TopCounts(std::size_t sets) : count_of_sets_(sets) {}

    // hash: of the key, evenly distributed.
    void add(const Key& key, std::uint64_t hash, std::uint64_t length) {
        sets_.resize(count_of_sets_);
        Set& set = sets_[reduce(hash, count_of_sets_)];
        const auto tag = static_cast<std::uint16_t>(hash);
        const std::size_t place = place_of(set, key, tag);
        ++set.counts[place];
        set.kept[place].bytes += length;
    }

    [[nodiscard]] TopSummary<Key> summary() const {
        TopSummary<Key> out;
        for (std::size_t i = 0; i < sets_.size(); ++i) {
            std::vector<Slot> slots;
            std::uint64_t least = UINT64_MAX;  // 0 while a slot is free
            for (std::size_t way = 0; way < kWays; ++way) {
                const std::uint64_t count = sets_[i].counts[way];
                const Kept& kept = sets_[i].kept[way];
                least = std::min(least, count);
                if (count != 0) {
                    slots.push_back({kept.key, count, kept.excess, kept.bytes});
                }
            }
            if (!slots.empty()) {
                out.put(static_cast<std::uint32_t>(i), std::move(slots), least);
            }
        }
        return out;
    }

    [[nodiscard]] std::vector<Slot> most(std::size_t n) const { return summary().most(n); }

  private:
    static constexpr std::size_t kWays = 8;
    struct Kept {
        Key key{};
        std::uint64_t excess = 0;
        std::uint64_t bytes = 0;
    };
    // Tags are parts of the hashes, so that most other keys need not be read. Counts lie side by
    // side, because mostly the rarest key is looked for.
    struct alignas(64) Set {
        std::array<std::uint64_t, kWays> counts{};
        std::array<std::uint16_t, kWays> tags{};
        std::array<Kept, kWays> kept{};
    };

    // Return the slot of the key. A new key replaces the rarest.
    static std::size_t place_of(Set& set, const Key& key, std::uint16_t tag) {
        for (std::size_t i = 0; i < kWays; ++i) {
            if (set.tags[i] == tag && set.counts[i] != 0 && set.kept[i].key == key) {
                return i;
            }
        }
        const auto rarest = std::min_element(set.counts.begin(), set.counts.end());
        const auto i = static_cast<std::size_t>(rarest - set.counts.begin());
        set.kept[i] = {key, *rarest, 0};
        set.tags[i] = tag;
        return i;
    }

    std::size_t count_of_sets_;
    std::vector<Set> sets_;
};

}  // namespace unecho::analyze
