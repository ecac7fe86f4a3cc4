// SPDX-License-Identifier: BSD-3-Clause
// Packets of interfaces arrive at different moments, and are ordered as far as waiting allows.
#include "captures/live/reorder_buffer.h"

#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace unecho::capture {
namespace {

using TimePoint = ReorderBuffer::TimePoint;
using Times = std::vector<Nanoseconds>;

class Merged : public testing::Test {
  protected:
    void add(std::uint32_t interface, Nanoseconds time, std::uint32_t length = 4) {
        const std::vector<std::uint8_t> data(length, static_cast<std::uint8_t>(time));
        merge_.add({.time = time,
                    .data = data.data(),
                    .length = length,
                    .wire_length = length,
                    .interface = interface},
                   now_);
    }

    Times released(bool all = false, std::uint64_t most = kMaxBatch) {
        Batch batch;
        const std::uint64_t count = merge_.release(batch, now_, all, most);
        EXPECT_EQ(count, batch.records.size());
        Times times;
        for (const Record& record : batch.records) {
            times.push_back(record.time);
            for (std::uint32_t i = 0; i < record.length; ++i) {
                EXPECT_EQ(record.data[i], static_cast<std::uint8_t>(record.time));
            }
        }
        return times;
    }

    void pass(Nanoseconds time) { now_ += std::chrono::nanoseconds(time); }

    ReorderBuffer merge_{3};
    TimePoint now_{std::chrono::seconds(1000)};
};

TEST_F(Merged, packets_of_one_interface_wait_for_the_others) {
    add(0, 10);
    add(0, 30);
    EXPECT_EQ(released(), Times());
    add(1, 20);
    EXPECT_EQ(released(), Times()) << "the third interface may have an earlier one";
    add(2, 25);
    EXPECT_EQ(released(), Times({10, 20})) << "25 waits for the second interface";
    add(1, 25);
    EXPECT_EQ(released(), Times({25, 25})) << "one as late will do";
    EXPECT_FALSE(merge_.empty());
    EXPECT_EQ(released(true), Times({30}));
    EXPECT_TRUE(merge_.empty());
    EXPECT_EQ(merge_.late(), 0U);
}

TEST_F(Merged, any_order_of_arrival_within_the_wait_is_put_right) {
    constexpr Nanoseconds kPackets = 3000;
    Times out;
    for (Nanoseconds block = 0; block < kPackets; block += 300) {
        for (const std::uint32_t interface : {2U, 0U, 1U}) {
            for (Nanoseconds i = 0; i < 300; ++i) {
                if (i % 3 == interface) {
                    add(interface, block + i);
                }
            }
            const Times some = released();
            out.insert(out.end(), some.begin(), some.end());
        }
        pass(kMillisecond);
    }
    const Times rest = released(true);
    out.insert(out.end(), rest.begin(), rest.end());
    Times wanted(kPackets);
    std::iota(wanted.begin(), wanted.end(), Nanoseconds{0});
    EXPECT_EQ(out, wanted);
    EXPECT_EQ(merge_.late(), 0U);
}

TEST_F(Merged, nothing_waits_longer_than_it_may) {
    add(0, 10);
    pass(kMaxReorderDelay - 1);
    add(0, 11);
    EXPECT_EQ(released(), Times());
    pass(1);
    EXPECT_EQ(released(), Times({10})) << "the other was read later";
    pass(kMaxReorderDelay);
    EXPECT_EQ(released(), Times({11}));
}

TEST_F(Merged, nobody_waits_for_an_interface_that_ended) {
    add(0, 10);
    add(1, 12);
    EXPECT_EQ(released(), Times());
    merge_.end(2);
    EXPECT_EQ(released(), Times({10}));
    merge_.end(0);
    EXPECT_EQ(released(), Times({12}));
}

TEST_F(Merged, what_comes_behind_a_later_one_of_another_is_counted) {
    add(0, 20);
    pass(kMaxReorderDelay);
    EXPECT_EQ(released(), Times({20}));
    add(1, 15);
    add(1, 16);
    pass(kMaxReorderDelay);
    EXPECT_EQ(released(), Times({15, 16}));
    EXPECT_EQ(merge_.late(), 1U) << "16 is behind 15 only, of its own interface";
}

TEST_F(Merged, too_much_does_not_wait) {
    constexpr std::uint32_t kLength = 1 << 16;
    constexpr Nanoseconds kPackets = kMaxReorderBytes / (kLength + sizeof(Record)) + 1;
    for (Nanoseconds time = 1; time <= kPackets; ++time) {
        EXPECT_FALSE(merge_.is_full());
        EXPECT_EQ(released(), Times());
        add(0, time, kLength);
    }
    EXPECT_TRUE(merge_.is_full());
    EXPECT_EQ(released(), Times({1})) << "until it is less again";
    EXPECT_FALSE(merge_.is_full());
    EXPECT_EQ(released(), Times());
}

TEST_F(Merged, no_more_are_given_than_are_wanted_or_fit_into_a_batch) {
    for (Nanoseconds i = 0; i < kMaxBatch + 10; ++i) {
        add(0, i, 0);
    }
    EXPECT_EQ(released(true, 3), Times({0, 1, 2}));
    EXPECT_EQ(released(true).size(), kMaxBatch);
    EXPECT_EQ(released(true).size(), 7U);
    EXPECT_TRUE(merge_.empty());
}

TEST_F(Merged, batches_keep_the_memory_of_their_packets) {
    Batch batch;
    add(0, 7, 100);
    merge_.release(batch, now_, true, kMaxBatch);
    for (unsigned i = 0; i < 100; ++i) {
        add(0, 8, 1 << 16);
        (void)released(true);
    }
    ASSERT_EQ(batch.records.size(), 1U);
    EXPECT_EQ(batch.memory.size(), 1U);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(batch.records[0].data[i], 7);
    }
    EXPECT_EQ(batch.records[0].number, 1U);
}

}  // namespace
}  // namespace unecho::capture
