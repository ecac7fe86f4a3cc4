// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/segment_ring.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "support/filter_memory.h"

namespace unecho::filter::segment_ring_test {
namespace {

constexpr std::uint64_t kBytes = 64;

struct Ring {
    explicit Ring(unsigned k, unsigned l, unsigned spares)
        : geometry{k, l, spares, kBytes}, memory(geometry.bytes()), ring(geometry, memory.span()) {}

    // Write a mark into slots 0..k-1, as an insertion does.
    void mark(unsigned char value) {
        for (unsigned slot = 0; slot < geometry.k; ++slot) {
            std::memset(ring.segment(slot), value, kBytes);
        }
    }
    [[nodiscard]] bool is_zero(unsigned slot) const {
        const std::byte* segment = ring.segment(slot);
        return std::all_of(segment, segment + kBytes,
                           [](std::byte b) { return b == std::byte{0}; });
    }
    [[nodiscard]] std::vector<bool> backed() const {
        std::vector<bool> result;
        for (unsigned slot = 0; slot < ring.slots(); ++slot) {
            result.push_back(ring.segment(slot) != nullptr);
        }
        return result;
    }

    RingGeometry geometry;
    test::FilterMemory memory;
    FilterCounters counters;
    SegmentRing ring;
};

TEST(segment_ring, start_backs_the_written_slots_only) {
    const Ring r(2, 3, 1);
    EXPECT_EQ(r.backed(), (std::vector<bool>{true, true, false, false, false}));
    EXPECT_EQ(r.ring.generation(), 0u);
}

// The chance of an accidental match follows from these counts, so a dropped segment's must go.
TEST(segment_ring, changes_go_with_their_segment) {
    Ring r(2, 3, 1);
    const auto changes = [&] {
        std::vector<std::uint64_t> out;
        for (unsigned slot = 0; slot < r.ring.slots(); ++slot) {
            out.push_back(r.ring.changes(slot));
        }
        return out;
    };
    r.ring.count_changes(0, 7);
    r.ring.count_changes(1, 5);
    r.ring.advance(1, r.counters);
    EXPECT_EQ(changes(), (std::vector<std::uint64_t>{0, 7, 5, 0, 0}));
    r.ring.count_change(0, true);
    r.ring.advance(3, r.counters);
    EXPECT_EQ(changes(), (std::vector<std::uint64_t>{0, 0, 1, 7, 5}));
    r.ring.advance(4, r.counters);
    EXPECT_EQ(changes(), (std::vector<std::uint64_t>{0, 0, 0, 1, 7}));
    r.ring.clear(r.counters);
    EXPECT_EQ(changes(), (std::vector<std::uint64_t>(5, 0)));
}

TEST(segment_ring, identity_travels_with_the_segment) {
    Ring r(3, 4, 1);
    for (std::uint64_t generation = 1; generation <= 40; ++generation) {
        std::vector<unsigned> before;
        for (unsigned slot = 0; slot < 7; ++slot) {
            before.push_back(r.ring.identity(slot));
        }
        EXPECT_EQ(std::set<unsigned>(before.begin(), before.end()).size(), 7u);
        EXPECT_EQ(*std::max_element(before.begin(), before.end()), 6u);
        const std::uint64_t step = generation % 3 == 0 ? 2 : 1;
        r.ring.advance(r.ring.generation() + step, r.counters);
        for (unsigned slot = 0; slot + step < 7; ++slot) {
            EXPECT_EQ(r.ring.identity(slot + static_cast<unsigned>(step)), before[slot]);
        }
    }
}

TEST(segment_ring, helper_gets_at_most_the_spares) {
    Ring r(1, 3, 2);
    r.ring.advance(4, r.counters);
    r.ring.advance(8, r.counters);
    r.ring.advance(12, r.counters);
    ASSERT_EQ(r.counters.inline_clears, 0u);
    const auto first = r.ring.take_retired();
    const auto second = r.ring.take_retired();
    ASSERT_TRUE(first && second);
    EXPECT_NE(*first, *second);
    EXPECT_FALSE(r.ring.take_retired());
    r.ring.supply_zeroed(*first);
    EXPECT_TRUE(r.ring.take_retired());
}

TEST(segment_ring, no_spares_no_lending) {
    Ring r(1, 3, 0);
    r.ring.advance(4, r.counters);
    EXPECT_FALSE(r.ring.take_retired());
}

TEST(segment_ring, helper_that_never_returns_costs_inline_clears_only) {
    Ring r(2, 3, 2);
    unsigned taken = 0;
    for (std::uint64_t generation = 1; generation <= 60; generation += 1 + generation % 7) {
        r.mark(0xFF);
        r.ring.advance(generation, r.counters);
        while (r.ring.take_retired()) {
            ++taken;
        }
        EXPECT_TRUE(r.is_zero(0));
    }
    EXPECT_EQ(taken, 2u);
    EXPECT_GT(r.counters.inline_clears, 0u);
}

TEST(segment_ring, prompt_helper_spares_every_inline_clear) {
    Ring r(3, 5, 1);
    for (std::uint64_t generation = 1; generation <= 100; ++generation) {
        r.mark(0xFF);
        r.ring.advance(generation, r.counters);
        EXPECT_TRUE(r.is_zero(0));
        while (const auto id = r.ring.take_retired()) {
            const auto memory = r.ring.segment_memory(*id);
            EXPECT_EQ(memory.size(), kBytes);
            std::memset(memory.data(), 0, memory.size());
            r.ring.supply_zeroed(*id);
        }
    }
    EXPECT_EQ(r.counters.inline_clears, 0u);
}

// Algorithm 1 against its meaning, for every pattern of matches in up to 12 slots.
TEST(run_of_matches, equals_search_for_k_consecutive) {
    for (unsigned k = 1; k <= 6; ++k) {
        for (unsigned l = 1; k + l <= 12; ++l) {
            for (unsigned pattern = 0; pattern < 1u << (k + l); ++pattern) {
                bool expected = false;
                for (unsigned start = 0; start <= l; ++start) {
                    const unsigned run = ((1u << k) - 1) << start;
                    expected = expected || (pattern & run) == run;
                }
                unsigned asked = 0;
                const bool answer = run_of_matches(k, l, [&](unsigned slot) {
                    EXPECT_LT(slot, k + l);
                    EXPECT_EQ(asked >> slot & 1, 0u) << "slot " << slot << " asked twice";
                    asked |= 1u << slot;
                    return (pattern >> slot & 1) != 0;
                });
                ASSERT_EQ(answer, expected) << "k " << k << " l " << l << " pattern " << pattern;
            }
        }
    }
}

}  // namespace
}  // namespace unecho::filter::segment_ring_test
