// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/spsc_queue.h"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace unecho::dataplane {
namespace {

TEST(SpscQueue, when_empty_gives_nothing) {
    SpscQueue<int, 4> queue;
    int value = 17;
    EXPECT_FALSE(queue.pop(value));
    EXPECT_EQ(value, 17);
}

TEST(SpscQueue, takes_exactly_its_capacity) {
    SpscQueue<int, 8> queue;
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(queue.push(i));
    }
    EXPECT_FALSE(queue.push(99));
    int value = -1;
    ASSERT_TRUE(queue.pop(value));
    EXPECT_EQ(value, 0);
    EXPECT_TRUE(queue.push(8));
    EXPECT_FALSE(queue.push(99));
    for (int i = 1; i <= 8; ++i) {
        ASSERT_TRUE(queue.pop(value));
        EXPECT_EQ(value, i);
    }
    EXPECT_FALSE(queue.pop(value));
}

TEST(SpscQueue, of_one_place_alternates) {
    SpscQueue<int, 1> queue;
    int value = 0;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(queue.push(i));
        EXPECT_FALSE(queue.push(99));
        ASSERT_TRUE(queue.pop(value));
        EXPECT_EQ(value, i);
        EXPECT_FALSE(queue.pop(value));
    }
}

// At every fill level, many times around the ring.
TEST(SpscQueue, keeps_order_around_its_end) {
    SpscQueue<std::uint32_t, 4> queue;
    std::uint32_t in = 0;
    std::uint32_t out = 0;
    std::uint32_t value = 0;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i <= round % 4; ++i) {
            ASSERT_TRUE(queue.push(in++));
        }
        while (queue.pop(value)) {
            ASSERT_EQ(value, out++);
        }
        ASSERT_EQ(in, out);
    }
}

// A pair arrives complete only if the queue publishes elements after they are written.
TEST(SpscQueue, between_two_threads_loses_nothing_and_keeps_order) {
    struct Pair {
        std::uint32_t a;
        std::uint32_t b;
    };
    constexpr std::uint32_t kCount = 20'000;
    SpscQueue<Pair, 16> queue;
    std::thread producer([&] {
        for (std::uint32_t i = 0; i < kCount;) {
            if (queue.push({i, ~i})) {
                ++i;
            } else {
                std::this_thread::yield();
            }
        }
    });
    std::uint32_t expected = 0;
    std::uint32_t wrong = 0;
    while (expected < kCount) {
        Pair pair{};
        if (!queue.pop(pair)) {
            std::this_thread::yield();
            continue;
        }
        wrong += pair.a != expected || pair.b != ~expected ? 1 : 0;
        ++expected;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    Pair left{};
    EXPECT_FALSE(queue.pop(left));
}

}  // namespace
}  // namespace unecho::dataplane
