// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/results/echo_age_sampler.h"

#include <gtest/gtest.h>

namespace unecho::dedup {
namespace {

constexpr std::uint64_t kMemory = 65536;

EchoAgeSampler ages_for(Nanoseconds window) {
    Options options;
    options.window = window;
    return std::move(*EchoAgeSampler::make(options, kMemory));
}

// Add one packet: an echo of this age, or a new one.
void add(EchoAgeSampler& ages, Digest digest, Nanoseconds time, std::uint64_t number,
         std::optional<Nanoseconds> age = std::nullopt) {
    pipeline::Burst burst;
    burst.count = 1;
    burst.keys.keyed = 1;
    burst.digests[0] = digest;
    burst.times[0] = time;
    burst.echoes = age ? 1 : 0;
    BurstPosition place;
    place.first_number = number;
    Originals originals;
    originals.ages[0] = static_cast<std::int64_t>(age.value_or(0));
    ages.add(burst, place, originals);
}

TEST(echo_ages, one_old_echo_in_a_thousand_is_few) {
    EchoAgeSampler ages = ages_for(kSecond);
    EXPECT_TRUE(ages.are_far_younger_than(1000));
    for (unsigned i = 1; i < 1000; ++i) {
        add(ages, 1, i, i, 100);
    }
    EXPECT_TRUE(ages.are_far_younger_than(1000));
    EXPECT_FALSE(ages.are_far_younger_than(150));
    EXPECT_TRUE(ages.are_far_younger_than(512));
    add(ages, 1, 1000, 1000, 100);
    add(ages, 1, 1001, 1001, 600);
    EXPECT_TRUE(ages.are_far_younger_than(1000));
    add(ages, 1, 1002, 1002, 600);
    EXPECT_FALSE(ages.are_far_younger_than(1000));
}

// No echo is reported to it, but its own sample finds them.
TEST(echo_ages, echoes_that_no_table_found_are_sampled) {
    EchoAgeSampler ages = ages_for(kSecond);
    add(ages, 0x1234'00, 5, 1);
    add(ages, 0x1234'01, 5, 2);
    add(ages, 0x1234'01, 800, 3);
    EXPECT_TRUE(ages.are_far_younger_than(1000));
    add(ages, 0x1234'00, 805, 4);
    EXPECT_FALSE(ages.are_far_younger_than(1000));
    EXPECT_TRUE(ages.are_far_younger_than(1'000'000));
}

TEST(echo_ages, the_sample_reaches_back_four_times_as_far_as_the_table) {
    const std::uint64_t table = filter::ReferenceParams::entries_in(64 * kMemory);
    const std::uint64_t sample =
        filter::ReferenceParams::entries_in(EchoAgeSampler::memory_share(64 * kMemory));
    EXPECT_NEAR(static_cast<double>(sample) * 256, static_cast<double>(table) * 4,
                static_cast<double>(table) / 4);
}

}  // namespace
}  // namespace unecho::dedup
