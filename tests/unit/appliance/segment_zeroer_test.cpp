// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/timers/segment_zeroer.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace unecho::appliance {
namespace {

constexpr std::byte kDirt{0xAB};

// The segments of a filter, all dirty.
struct Segments {
    Segments(std::size_t count, std::size_t bytes) : segment_bytes(bytes), memory(count * bytes) {
        std::fill(memory.begin(), memory.end(), kDirt);
    }
    [[nodiscard]] std::size_t dirty_in(std::size_t segment) const {
        const auto first = memory.begin() + static_cast<std::ptrdiff_t>(segment * segment_bytes);
        return static_cast<std::size_t>(
            std::count(first, first + static_cast<std::ptrdiff_t>(segment_bytes), kDirt));
    }
    [[nodiscard]] std::size_t dirty() const {
        return static_cast<std::size_t>(std::count(memory.begin(), memory.end(), kDirt));
    }
    // Return the segments that came back zeroed, in order.
    std::vector<std::uint16_t> returned() {
        std::vector<std::uint16_t> out;
        std::uint16_t id = 0;
        while (shared.zeroed.pop(id)) {
            out.push_back(id);
        }
        return out;
    }

    std::size_t segment_bytes;
    std::vector<std::byte> memory;
    dataplane::WorkerFilterShared shared;
};

using Ids = std::vector<std::uint16_t>;

TEST(SegmentZeroer, with_nothing_retired_has_nothing_to_do) {
    Segments segments(3, 64);
    SegmentZeroer zeroer;
    EXPECT_FALSE(zeroer.step());
    zeroer.add(segments.shared, segments.memory, segments.segment_bytes);
    EXPECT_FALSE(zeroer.step());
    EXPECT_EQ(zeroer.zeroed(), 0U);
    EXPECT_EQ(segments.dirty(), segments.memory.size());
}

TEST(SegmentZeroer, hands_back_the_retired_segments_zeroed_and_touches_no_other) {
    Segments segments(5, 4096);
    SegmentZeroer zeroer;
    zeroer.add(segments.shared, segments.memory, segments.segment_bytes);
    segments.shared.retired.push(4);
    segments.shared.retired.push(1);
    while (zeroer.step()) {
    }
    EXPECT_EQ(segments.returned(), (Ids{4, 1}));
    EXPECT_EQ(zeroer.zeroed(), 2U);
    for (const std::size_t clean : {1U, 4U}) {
        EXPECT_EQ(segments.dirty_in(clean), 0U);
    }
    for (const std::size_t other : {0U, 2U, 3U}) {
        EXPECT_EQ(segments.dirty_in(other), segments.segment_bytes);
    }
}

TEST(SegmentZeroer, of_a_large_segment_works_in_pieces_and_hands_it_back_after_the_last) {
    constexpr std::size_t kBytes = 3 * 1024 * 1024 + 64;
    Segments segments(2, kBytes);
    SegmentZeroer zeroer;
    zeroer.add(segments.shared, segments.memory, segments.segment_bytes);
    segments.shared.retired.push(1);
    unsigned steps = 0;
    std::size_t dirty = segments.dirty_in(1);
    while (dirty != 0) {
        EXPECT_TRUE(segments.returned().empty()) << "handed back while dirty";
        ASSERT_TRUE(zeroer.step());
        const std::size_t left = segments.dirty_in(1);
        EXPECT_LT(left, dirty);
        EXPECT_LE(dirty - left, 1024U * 1024U) << "a step that holds up the rotation timer";
        dirty = left;
        ++steps;
    }
    EXPECT_GT(steps, 3U);
    EXPECT_EQ(segments.returned(), Ids{1});
    EXPECT_EQ(segments.dirty_in(0), kBytes);
    EXPECT_FALSE(zeroer.step());
}

}  // namespace
}  // namespace unecho::appliance
