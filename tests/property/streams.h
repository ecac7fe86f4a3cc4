// SPDX-License-Identifier: BSD-3-Clause
// Random streams for the property tests, and a helper that zeroes segments meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/window/segmented/segment_ring.h"
#include "support/seed.h"

namespace unecho::test {

class Random {
  public:
    // Streams are equal for the same test, case and UNECHO_SEED.
    explicit Random(std::uint64_t index) : engine_(remix(seed(), index)) {}

    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    std::uint64_t bits() { return engine_(); }

  private:
    std::mt19937_64 engine_;
};

// Digests, many of which occurred before, recently or long ago.
class Digests {
  public:
    explicit Digests(Random& random) : random_(random) {}

    Digest next() {
        if (past_.empty() || random_.one_in(3)) {
            past_.push_back(random_.bits());
            return past_.back();
        }
        const std::size_t recent =
            random_.one_in(2) ? past_.size() : std::min(past_.size(), kRecent);
        return past_[past_.size() - 1 - random_.below(recent)];
    }

    // Return a digest that never occurred and, except with chance 2^-64, never will.
    Digest fresh() { return random_.bits(); }

  private:
    static constexpr std::size_t kRecent = 40;
    Random& random_;
    std::vector<Digest> past_;
};

// Draw from few flows, so that many exceed their first n packets.
inline Digest random_flow(Random& random, unsigned n) {
    return remix(random.below(2 + 60 / n), 99);
}

// Draw how many generations pass at once: mostly 0 or 1, so a window fills; at times near k and l.
inline std::uint64_t random_step(Random& random, unsigned k, unsigned l) {
    if (!random.one_in(50)) {
        return random.one_in(8) ? 1 : 0;
    }
    const std::uint64_t steps[] = {0,         2,     k - 1,     k,         l,
                                   k + l - 1, k + l, k + l + 1, 1'000'003, 1ull << 40};
    return steps[random.below(std::size(steps))];
}

// Small filters are nearly always saturated, so accidental matches are everywhere; roomy ones
// nearly never match by accident.
enum class Size { kSmall, kRoomy };

// Zeroes retired segments at random times; to the filter this looks like another thread. Checks
// that the filter does not write to a segment that it has handed over.
class Helper {
  public:
    explicit Helper(filter::SegmentRing& ring) : ring_(ring) {}

    void work(Random& random) {
        if (random.one_in(2)) {
            if (const auto id = ring_.take_retired()) {
                const auto memory = ring_.segment_memory(*id);
                std::fill(memory.begin(), memory.end(), kAway);
                away_.push_back(*id);
            }
        }
        if (!away_.empty() && random.one_in(5)) {
            const auto memory = ring_.segment_memory(away_.front());
            // Not byte by byte, which is slow under a sanitizer.
            EXPECT_EQ(memory.front(), kAway);
            EXPECT_EQ(std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1), 0);
            std::fill(memory.begin(), memory.end(), std::byte{0});
            ring_.supply_zeroed(away_.front());
            away_.pop_front();
        }
    }

  private:
    static constexpr std::byte kAway{0xFF};
    filter::SegmentRing& ring_;
    std::deque<filter::SegmentId> away_;
};

}  // namespace unecho::test
