// SPDX-License-Identifier: BSD-3-Clause
// How digests spread over slices, blocks and parts: everything that the formulas assume to be
// uniform and independent.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/hash/digest.h"
#include "filters/window/block.h"
#include "support/bounds.h"
#include "support/seed.h"

namespace unecho::test::spread_test {
namespace {

void expect_uniform(const std::vector<std::uint64_t>& counts, const std::string& what) {
    const Counts allowed = chi_square_bounds(static_cast<double>(counts.size() - 1));
    const double sum = chi_square(counts);
    EXPECT_GT(sum, allowed.low) << what;
    EXPECT_LT(sum, allowed.high) << what;
}

// Check inputs that differ as little as possible, and random ones.
template <typename Check>
void for_each_stream(Check check) {
    std::mt19937_64 random(seed());
    check("counter", [i = std::uint64_t{0}]() mutable { return i++; });
    check("high counter", [i = std::uint64_t{0}]() mutable { return i++ << 44; });
    check("random", [&random] { return random(); });
}

TEST(remix, reduced_to_any_number_of_bins_is_uniform) {
    SCOPED_TRACE(seed_note());
    for (const std::uint64_t bins : {64U, 100U, 577U, 1'000U, 4'096U}) {
        for (const std::uint64_t salt : {0U, 1U, 2U, 7U, 127U}) {
            for_each_stream([&](const char* stream, auto next) {
                std::vector<std::uint64_t> counts(bins);
                for (std::uint64_t i = 0; i < 64 * bins; ++i) {
                    ++counts[reduce(remix(next(), salt), bins)];
                }
                expect_uniform(counts, std::string(stream) + " salt " + std::to_string(salt) +
                                           " bins " + std::to_string(bins));
            });
        }
    }
}

TEST(remix, salts_give_independent_positions) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kBins = 48;
    for (const auto& [first, second] :
         std::array<std::array<std::uint64_t, 2>, 5>{{{0, 1}, {1, 2}, {2, 3}, {1, 3}, {6, 70}}}) {
        for_each_stream([&, first = first, second = second](const char* stream, auto next) {
            std::vector<std::uint64_t> counts(kBins * kBins);
            for (std::uint64_t i = 0; i < 40 * counts.size(); ++i) {
                const Digest digest = next();
                ++counts[reduce(remix(digest, first), kBins) * kBins +
                         reduce(remix(digest, second), kBins)];
            }
            expect_uniform(counts, std::string(stream) + " salts " + std::to_string(first) + ", " +
                                       std::to_string(second));
        });
    }
}

TEST(remix, every_bit_flips_every_bit_half_the_time) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kTrials = 4'000;
    const Counts allowed = binomial_bounds(kTrials, 0.5);
    for (const std::uint64_t salt : {0U, 1U, 5U}) {
        std::mt19937_64 random(seed());
        for (unsigned in = 0; in < 64; ++in) {
            std::array<std::uint64_t, 64> flips{};
            for (std::uint64_t i = 0; i < kTrials; ++i) {
                const Digest digest = random();
                const Digest change =
                    remix(digest, salt) ^ remix(digest ^ (std::uint64_t{1} << in), salt);
                for (unsigned out = 0; out < 64; ++out) {
                    flips.at(out) += change >> out & 1;
                }
            }
            for (unsigned out = 0; out < 64; ++out) {
                const auto count = static_cast<double>(flips.at(out));
                EXPECT_TRUE(count >= allowed.low && count <= allowed.high)
                    << "salt " << salt << ": bit " << in << " flips bit " << out << " " << count
                    << " times of " << kTrials;
            }
        }
    }
}

// Digests with one block number, as the keys of one block have.
TEST(block_shape, positions_are_uniform_in_their_part_and_independent_of_the_next_one) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (const auto& [B, b] : std::array<std::array<unsigned, 2>, 6>{
             {{512, 4}, {512, 8}, {512, 16}, {256, 8}, {64, 4}, {64, 16}}}) {
        const filter::BlockShape shape(B, b);
        const unsigned size = B / b;
        for (unsigned part = 0; part + 1 < b; ++part) {
            for (const unsigned other : {part + 1, b - 1}) {
                std::vector<std::uint64_t> counts(size * size);
                for (std::uint64_t i = 0; other != part && i < 20 * counts.size(); ++i) {
                    const std::uint64_t hash = random() >> 12 | std::uint64_t{0xABC} << 52;
                    ++counts[(shape.bit_of(part, hash) - part * size) * size +
                             shape.bit_of(other, hash) - other * size];
                }
                expect_uniform(counts, "B " + std::to_string(B) + " b " + std::to_string(b) +
                                           " parts " + std::to_string(part) + ", " +
                                           std::to_string(other));
            }
        }
    }
}

TEST(block_shape, unequal_parts_are_uniform_each) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (const auto& [B, b] :
         std::array<std::array<unsigned, 2>, 4>{{{512, 3}, {512, 7}, {512, 13}, {64, 7}}}) {
        const filter::BlockShape shape(B, b);
        std::vector<std::uint64_t> counts(B);
        constexpr std::uint64_t kHashes = 200'000;
        for (std::uint64_t i = 0; i < kHashes; ++i) {
            const std::uint64_t hash = random();
            for (unsigned part = 0; part < b; ++part) {
                ++counts.at(shape.bit_of(part, hash));
            }
        }
        unsigned first = 0;
        for (unsigned part = 0; part < b; ++part) {
            const unsigned size = B / b + (part < B % b ? 1 : 0);
            const Counts allowed = binomial_bounds(kHashes, 1.0 / size);
            for (unsigned bit = first; bit < first + size; ++bit) {
                const auto count = static_cast<double>(counts.at(bit));
                EXPECT_TRUE(count >= allowed.low && count <= allowed.high)
                    << "B " << B << " b " << b << " bit " << bit << ": " << count;
            }
            first += size;
        }
        EXPECT_EQ(first, B);
    }
}

}  // namespace
}  // namespace unecho::test::spread_test
