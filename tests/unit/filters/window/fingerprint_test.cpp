// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/fingerprint.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/kernels/nth_zero-inl.h"
#include "support/instance.h"
#include "support/kernels.h"

namespace unecho::filter::fingerprint_test {
namespace {

using Instance = test::FilterInstance<FingerprintFilter>;

Moment generation(std::uint64_t n) {
    return {.generation = n};
}

TEST(fingerprint_params, limits_are_named) {
    const auto message = [](const FingerprintSpec& spec) {
        return test::message<FingerprintParams>(spec);
    };
    EXPECT_EQ(message({.bits = 26, .lines = 2}), "valid");
    EXPECT_EQ(message({.bits = 20, .lines = 2}),
              "fingerprint: bits = 20; allowed: 13, 16, 19, 23, 24, 26 or 32");
    for (const std::uint64_t lines : {0, 1, 3, 536870914}) {
        EXPECT_EQ(message({.bits = 16, .lines = lines}),
                  "fingerprint: lines = " + std::to_string(lines) +
                      "; allowed: even numbers from 2 to 536870912");
    }
}

TEST(fingerprint, memory_is_lines_and_what_it_knows) {
    EXPECT_EQ(FingerprintFilter::bytes(*FingerprintParams::make({.bits = 16, .lines = 100})),
              320U + 6400);
}

// For a processor without a fast PDEP; AVX2 takes it nowhere else.
TEST(fingerprint, the_nth_zero_is_that_of_a_loop) {
    std::mt19937_64 random(5);
    for (unsigned n = 0; n < 20'000; ++n) {
        // Few, half or most bits are ones; the lowest may all be.
        std::uint64_t bits = random();
        bits = n % 3 == 0 ? bits & random() : n % 3 == 1 ? bits : bits | random();
        bits |= n % 5 == 0 ? (std::uint64_t{1} << n % 64) - 1 : 0;
        unsigned zeros = 0;
        for (unsigned place = 0; place < 64; ++place) {
            if ((bits >> place & 1) == 0) {
                ASSERT_EQ(nth_zero_by_bytes(bits, zeros), place) << bits << " " << zeros;
                ++zeros;
            }
        }
    }
    EXPECT_EQ(nth_zero_by_bytes(0, 63), 63U);
}

class fingerprint_on : public testing::TestWithParam<Isa> {
  protected:
    static FingerprintSpec on_kernel(FingerprintSpec spec) {
        spec.isa = GetParam();
        return spec;
    }
};
INSTANTIATE_TEST_SUITE_P(, fingerprint_on, testing::ValuesIn(test::available_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(fingerprint_on, background_visits_are_spread_over_a_lap) {
    Instance i(on_kernel({.bits = 16, .lines = 12'800}));
    i.filter.advance(generation(1));
    EXPECT_EQ(i.filter.visits_due(), 100U);
    i.filter.maintain();
    EXPECT_EQ(i.filter.visits_due(), 100U - FingerprintFilter::kVisits);
    for (unsigned n = 0; n < 12; ++n) {
        i.filter.maintain();
    }
    EXPECT_EQ(i.filter.visits_due(), 0U);
    EXPECT_EQ(i.filter.counters().late_visits, 0U);
    i.filter.advance(generation(3));
    EXPECT_EQ(i.filter.visits_due(), 200U);
    i.filter.advance(generation(4));
    EXPECT_EQ(i.filter.counters().late_visits, 200U);
}

// Prepared bursts, with turns in between and the next burst known or not, have the same answers and
// the same memory.
TEST_P(fingerprint_on, prepared_bursts_are_answered_as_others) {
    std::mt19937_64 random(12);
    for (const FingerprintShape& shape : kFingerprintShapes) {
        const FingerprintSpec spec = on_kernel({.bits = shape.bits, .lines = 16});
        Instance plain(spec);
        Instance ahead(spec);
        std::array<PreparedBurst, 2> prepared;
        std::array<std::vector<Digest>, 2> digests;
        for (unsigned n = 0; n < 400; ++n) {
            std::vector<Digest>& next = digests[n % 2];
            next.resize(random() % (kMaxBurst + 1));
            for (Digest& digest : next) {
                digest = remix(random() % 600, 1);
            }
            PreparedBurst& behind = prepared[n % 2];
            ahead.filter.prepare(next, behind);
            ahead.filter.prefetch_lines(behind, random() % 20);
            if (n == 0) {
                continue;
            }
            PreparedBurst& burst = prepared[1 - n % 2];
            const std::vector<Digest>& told = digests[1 - n % 2];
            ahead.filter.prefetch_lines(burst, random() % 20);
            plain.filter.advance(generation(1 + n / 9));
            ahead.filter.advance(generation(1 + n / 9));
            PreparedBurst* const seen = random() % 3 == 0 ? nullptr : &behind;
            if (random() % 2 == 0) {
                ASSERT_EQ(ahead.filter.test_and_insert_burst(burst, seen),
                          plain.filter.test_and_insert_burst(told));
            } else {
                const ChanceLimits limits(plain.filter.chance(random()));
                const Answers one = ahead.filter.test_and_insert_burst(burst, limits, seen);
                const Answers other = plain.filter.test_and_insert_burst(told, limits);
                ASSERT_EQ(one.echoes, other.echoes);
                ASSERT_EQ(one.doubts, other.doubts);
            }
            ASSERT_LE(behind.requested, behind.count);
        }
        EXPECT_EQ(ahead.filter.load(), plain.filter.load());
        EXPECT_TRUE(std::ranges::equal(ahead.memory.span(), plain.memory.span()));
    }
}

// Each digest's lines are prefetched once: by the preceding burst's test, and by prefetch_lines().
TEST_P(fingerprint_on, lines_are_requested_once_and_to_the_last) {
    Instance i(on_kernel({.bits = 16, .lines = 64}));
    std::array<Digest, 32> digests;
    for (std::size_t n = 0; n < digests.size(); ++n) {
        digests[n] = remix(n, 3);
    }
    PreparedBurst first;
    PreparedBurst second;
    i.filter.prepare(digests, first);
    i.filter.prepare(digests, second);
    EXPECT_EQ(first.requested, 0U);
    i.filter.prefetch_lines(first, 32);
    EXPECT_EQ(first.requested, 32U);
    i.filter.test_and_insert_burst(first, &second);
    EXPECT_EQ(second.requested, 16U) << "for every other digest of the first";
    i.filter.prefetch_lines(second, 10);
    EXPECT_EQ(second.requested, 26U);
    i.filter.prefetch_lines(second, 10);
    EXPECT_EQ(second.requested, 32U);
}

}  // namespace
}  // namespace unecho::filter::fingerprint_test
