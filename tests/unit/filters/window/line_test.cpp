// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/line.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/instance.h"
#include "support/kernels.h"

namespace unecho::filter::line_test {
namespace {

using Instance = test::FilterInstance<LineFilter>;

std::string message(const LineSpec& spec) {
    return test::message<LineParams>(spec);
}

TEST(line_params, limits_are_named) {
    EXPECT_EQ(message({.M = 4, .k = 1, .b = 16, .phases = 16, .lines = 16}), "valid");
    EXPECT_EQ(message({.M = 1, .k = 2, .b = 1, .lines = LineParams::kMostLines}), "valid");
    EXPECT_EQ(message({.M = 0, .b = 4, .lines = 8}), "line: M = 0; allowed: 1 to 4");
    EXPECT_EQ(message({.M = 5, .b = 4, .lines = 8}), "line: M = 5; allowed: 1 to 4");
    EXPECT_EQ(message({.k = 0, .b = 4, .lines = 8}), "line: k = 0; allowed: 1 or 2");
    EXPECT_EQ(message({.k = 3, .b = 4, .lines = 8}), "line: k = 3; allowed: 1 or 2");
    EXPECT_EQ(message({.b = 0, .lines = 8}), "line: b = 0; allowed: 1 to 16");
    EXPECT_EQ(message({.b = 17, .lines = 8}), "line: b = 17; allowed: 1 to 16");
    for (const unsigned phases : {0u, 3u, 32u}) {
        EXPECT_EQ(message({.b = 4, .phases = phases, .lines = 96}),
                  "line: phases = " + std::to_string(phases) + "; allowed: 1, 2, 4, 8, 16");
    }
    for (const std::uint64_t lines : {0u, 12u, 1u << 28}) {
        EXPECT_EQ(message({.b = 4, .phases = 8, .lines = lines}),
                  "line: lines = " + std::to_string(lines) +
                      "; allowed: multiples of phases = 8 up to 268435455");
    }
}

TEST(line_params, l_completes_the_line) {
    EXPECT_EQ(LineParams::make({.k = 1, .b = 4, .lines = 8})->l(), 7u);
    EXPECT_EQ(LineParams::make({.k = 2, .b = 4, .lines = 8})->l(), 6u);
}

TEST(line_params, every_missing_isa_is_refused) {
    for (const Isa isa : kEveryIsa) {
        const std::string answer = message({.b = 4, .lines = 8, .isa = isa});
        if (available(isa)) {
            EXPECT_EQ(answer, "valid");
        } else {
            EXPECT_EQ(answer.find("line: isa = " + std::string(name_of(isa))), 0u) << answer;
        }
    }
}

TEST(isa, best_is_the_widest_that_fits) {
    EXPECT_EQ(best_isa(128), Isa::kScalar);
    EXPECT_EQ(best_isa(256), available(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar);
    EXPECT_TRUE(available(best_isa()));
    EXPECT_EQ(best_isa() == Isa::kAvx512, available(Isa::kAvx512));
}

// Kernel tests run on all available kernels. This one reports which are missing.
class EveryIsa : public test::OnEveryKernel {};
INSTANTIATE_TEST_SUITE_P(isa, EveryIsa, test::kEveryKernel, test::name_of_kernel);

TEST_P(EveryIsa, has_its_own_kernels) {
    const Isa isa = GetParam();
#ifdef __x86_64__
    const LineKernels* lines[] = {&kLineScalar, &kLineAvx2, &kLineAvx512};
    const ApbbfKernels* blocks[] = {&kApbbfScalar, &kApbbfAvx2, &kApbbfAvx512};
    static_assert(std::size(lines) == kIsas.size() && std::size(blocks) == kIsas.size());
#else
    const LineKernels* lines[] = {&kLineScalar};
    const ApbbfKernels* blocks[] = {&kApbbfScalar};
    ASSERT_EQ(isa, Isa::kScalar);
#endif
    EXPECT_EQ(&kernels_for<LineKernels>(isa), lines[static_cast<unsigned>(isa)]);
    EXPECT_EQ(&kernels_for<ApbbfKernels>(isa), blocks[static_cast<unsigned>(isa)]);
}

TEST(line, bytes_are_lines_and_tables) {
    const auto bytes = [](std::uint64_t lines) {
        return LineFilter::bytes(*LineParams::make({.b = 4, .lines = lines}));
    };
    EXPECT_EQ(bytes(1001) - bytes(1), 64u * 1000);
    EXPECT_LE(bytes(1), 16u * 1024);
    EXPECT_EQ(bytes(1) % 64, 0u);
}

class line_on : public test::OnEveryKernel {};
INSTANTIATE_TEST_SUITE_P(, line_on, test::kEveryKernel, test::name_of_kernel);

// A digest has b bits in each word of the k youngest ages of each of its M lines.
TEST_P(line_on, an_insertion_sets_b_distinct_bits_in_k_words_of_M_lines) {
    for (unsigned M = 1; M <= 4; ++M) {
        for (unsigned k = 1; k <= 2; ++k) {
            for (unsigned b = 1; b <= LineParams::kMaxBitsOfKey; ++b) {
                Instance i(on_kernel(LineSpec{.M = M, .k = k, .b = b, .lines = 1 << 16}));
                const auto lines = i.memory.span().last(std::size_t{64} << 16);
                const auto ones = [&] {
                    unsigned n = 0;
                    for (std::size_t w = 0; w < lines.size(); w += 8) {
                        std::uint64_t word = 0;
                        std::memcpy(&word, &lines[w], 8);
                        n += static_cast<unsigned>(std::popcount(word << 2));
                    }
                    return n;
                };
                i.filter.insert(remix(b, 77));
                ASSERT_EQ(ones(), M * k * b) << "M " << M << " k " << k << " b " << b;
            }
        }
    }
}

TEST_P(line_on, a_step_of_maintenance_visits_few_lines) {
    Instance i(on_kernel(LineSpec{.b = 8, .phases = 1, .lines = 1400}));
    EXPECT_EQ(i.filter.visits_due(), 0u);
    i.filter.maintain();
    i.filter.advance({.generation = 1});
    EXPECT_EQ(i.filter.visits_due(), 100u);  // 1400 lines in 14 generations
    i.filter.maintain();
    EXPECT_EQ(i.filter.visits_due(), 100u - LineFilter::kVisits);
    for (unsigned step = 0; step < 12; ++step) {
        i.filter.maintain();
    }
    EXPECT_EQ(i.filter.visits_due(), 0u);
    i.filter.advance({.generation = 2});
    EXPECT_EQ(i.filter.counters().late_visits, 0u);
}

// The chance of an equal pattern, and of the same three of 62 bits.
constexpr double kSamePattern = 68.0 / (64 * 64 * 1024);
constexpr double kSameBits = 6.0 / (62.0 * 61 * 60);
constexpr double kCoveredByOne = kSameBits + (1 - kSameBits) * kSamePattern;

// One digest in a table of one line: a random pattern of b bits is covered by the same b of 62
// bits. With k = 1, one age counts.
TEST_P(line_on, chance_is_that_of_the_bits_that_are_set) {
    Instance one(on_kernel(LineSpec{.k = 1, .b = 3, .lines = 1}));
    one.filter.insert(42);
    const double same = kCoveredByOne;
    EXPECT_NEAR(one.filter.chance(7) / same, 1, 1e-6);
    // The next generation has its own bits.
    one.filter.advance({.generation = 1});
    one.filter.insert(42);
    EXPECT_NEAR(one.filter.chance(7) / (2 * same), 1, 1e-6);
    // With k = 2, two words with one pattern each.
    Instance two(on_kernel(LineSpec{.k = 2, .b = 3, .lines = 1}));
    two.filter.insert(42);
    EXPECT_NEAR(two.filter.chance(7) / (same * same), 1, 1e-6);
    // Two rows in one line: both patterns in one word.
    Instance rows(on_kernel(LineSpec{.M = 2, .k = 1, .b = 1, .lines = 1}));
    rows.filter.insert(42);
    const double bits = rows.filter.chance(7) * 62 * 62;
    EXPECT_TRUE(std::abs(bits - 4) < 0.02 || std::abs(bits - 1) < 0.02) << bits;
}

// Bits count as the number of keys that sets so many. Each key may have the same pattern.
TEST_P(line_on, chance_is_that_of_as_many_keys_as_set_the_bits) {
    constexpr double b = 8;
    Instance i(on_kernel(LineSpec{.k = 1, .b = 8, .lines = 1}));
    for (Digest d = 0; d < 12; ++d) {
        i.filter.insert(remix(d, 1));
        std::array<std::uint64_t, 8> words;
        std::memcpy(words.data(), i.memory.span().last(64).data(), 64);
        unsigned c = 0;
        for (const std::uint64_t word : words) {
            c += static_cast<unsigned>(std::popcount(word << 2));  // without the tag
        }
        double among = 1;
        for (unsigned bit = 0; bit < b; ++bit) {
            among *= (c - bit) / (62.0 - bit);
        }
        const double keys = std::ceil(std::log(1 - (c - 0.5) / 62) / std::log(1 - b / 62));
        const double expected = among + (1 - among) * keys * kSamePattern;
        EXPECT_NEAR(i.filter.chance(7) / expected, 1, 1e-6) << c << " bits";
    }
}

// With k = 2, the oldest and youngest age are adjacent in the ring, but form no run.
TEST_P(line_on, youngest_and_oldest_age_are_no_run) {
    for (std::uint64_t base = 0; base < 8; ++base) {
        Instance i(on_kernel(LineSpec{.k = 2, .b = 8, .lines = 1}));
        const Digest digest = base;
        const Digest same_odd_pattern = digest ^ 0x2A5;
        const Digest same_even_pattern = digest ^ 0x2A50000;
        i.filter.advance({.generation = base});
        i.filter.insert(digest);
        i.filter.advance({.generation = base + 7});
        EXPECT_FALSE(i.filter.query(digest));
        const Digest other = base % 2 == 0 ? same_odd_pattern : same_even_pattern;
        i.filter.insert(other);
        EXPECT_FALSE(i.filter.query(digest)) << "base " << base;
        // One pattern each in the two youngest words and in the oldest.
        Instance two(on_kernel(LineSpec{.k = 2, .b = 8, .lines = 1}));
        two.filter.insert(other);
        EXPECT_EQ(i.filter.chance(7), two.filter.chance(7));
    }
}

// Each tick shifts one phase, and each phase shifts once a generation.
TEST_P(line_on, shifts_are_spread_over_the_ticks_of_a_generation) {
    constexpr unsigned kPhases = 8;
    constexpr unsigned kDigests = 4000;
    Instance i(on_kernel(LineSpec{.k = 1, .b = 16, .phases = kPhases, .lines = 1 << 16}));
    for (Digest d = 0; d < kDigests; ++d) {
        i.filter.insert(remix(d, 1));
    }
    unsigned left = kDigests;
    for (std::uint64_t tick = 7 * kPhases; tick <= 8 * kPhases; ++tick) {
        i.filter.advance({.generation = tick});
        unsigned echoes = 0;
        for (Digest d = 0; d < kDigests; ++d) {
            echoes += i.filter.query(remix(d, 1)) ? 1 : 0;
        }
        const unsigned gone = left - echoes;
        left = echoes;
        if (tick == 7 * kPhases) {
            EXPECT_EQ(gone, 0u);
        } else {
            EXPECT_NEAR(gone, kDigests / kPhases, 110) << "tick " << tick;  // 5 sigma
        }
    }
    EXPECT_EQ(left, 0u);
}

// --- prepared bursts ---------------------------------------------------------------------------

// Two filters of equal spec get the same bursts. One prepares each burst before the preceding one
// is tested and time advances, and prefetches its lines in any steps. Answers, counters and bits
// must be equal.
TEST_P(line_on, a_prepared_burst_is_tested_as_any_other) {
    std::mt19937_64 random(12);
    const std::array<float, kMaxBurst> each = [] {
        std::array<float, kMaxBurst> out;
        for (unsigned i = 0; i < kMaxBurst; ++i) {
            out[i] = static_cast<float>(i % 7) * 0.02F;
        }
        return out;
    }();
    for (const unsigned M : {1U, 2U, 3U, 4U}) {
        for (const unsigned k : {1U, 2U}) {
            const LineSpec spec =
                on_kernel(LineSpec{.M = M, .k = k, .b = 2, .phases = 4, .lines = 64});
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
                const Moment moment{.generation = 1 + n / 9};
                plain.filter.advance(moment);
                ahead.filter.advance(moment);
                PreparedBurst* const seen = random() % 3 == 0 ? nullptr : &behind;
                if (random() % 2 == 0) {
                    ASSERT_EQ(ahead.filter.test_and_insert_burst(burst, seen),
                              plain.filter.test_and_insert_burst(told));
                } else {
                    const ChanceLimits limits =
                        random() % 2 == 0 ? ChanceLimits(each.data()) : ChanceLimits(0.05F);
                    const Answers one = ahead.filter.test_and_insert_burst(burst, limits, seen);
                    const Answers other = plain.filter.test_and_insert_burst(told, limits);
                    ASSERT_EQ(one.echoes, other.echoes);
                    ASSERT_EQ(one.doubts, other.doubts);
                }
                ASSERT_LE(behind.requested, behind.count);
            }
            EXPECT_EQ(ahead.filter.counters().insertions, plain.filter.counters().insertions);
            EXPECT_EQ(ahead.filter.load(), plain.filter.load());
            EXPECT_TRUE(std::ranges::equal(ahead.memory.span(), plain.memory.span()));
        }
    }
}

// Each digest's lines are prefetched once: by the preceding burst's test, and by prefetch_lines().
TEST_P(line_on, lines_are_requested_once_and_to_the_last) {
    Instance i(on_kernel(LineSpec{.M = 2, .k = 2, .b = 2, .lines = 64}));
    std::array<Digest, 32> digests;
    for (Digest& digest : digests) {
        digest = remix(static_cast<std::uint64_t>(&digest - digests.data()), 3);
    }
    PreparedBurst first;
    PreparedBurst second;
    i.filter.prepare(std::span(digests).first(16), first);
    i.filter.prepare(digests, second);
    EXPECT_EQ(first.requested, 0U);
    i.filter.prefetch_lines(first, 20);
    EXPECT_EQ(first.requested, 16U);
    i.filter.test_and_insert_burst(first, &second);
    EXPECT_EQ(second.requested, 16U) << "those of one for each digest of the first";
    i.filter.prefetch_lines(second, 10);
    EXPECT_EQ(second.requested, 26U);
    i.filter.prefetch_lines(second, 10);
    EXPECT_EQ(second.requested, 32U);
}

}  // namespace
}  // namespace unecho::filter::line_test
