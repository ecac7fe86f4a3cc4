// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/fpr.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/vectors.h"

namespace unecho::sizing::fpr_test {
namespace {

using test::Row;
using test::vectors;

// The vectors have 12 significant digits.
constexpr double kDigits = 2e-11;

void expect_close(double actual, double expected) {
    EXPECT_NEAR(actual, expected, kDigits * std::abs(expected));
}

// Check a cell of a table, and the paper's printed value if that can be reproduced.
void expect_cell(const Row& row, double actual) {
    expect_close(actual, row.real("computed"));
    if (row.has("agree_tol")) {
        EXPECT_NEAR(actual, row.real("printed"), row.real("agree_tol") * (1 + 1e-9));
    }
}

std::string place(const Row& row, const std::vector<std::string>& columns) {
    std::string out;
    for (const std::string& column : columns) {
        out.append(column).append(" ").append(row.text(column)).append(" ");
    }
    return out;
}

TEST(fpr, bloom_filter_gives_table_1) {
    const std::vector<Row> rows = vectors("apbf_table1");
    ASSERT_GE(rows.size(), 25U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"aimed_fp", "quantity"}));
        const std::string& quantity = row.text("quantity");
        const unsigned k = bloom_slices(row.real("aimed_fp"));
        if (quantity == "k" || quantity == "accesses_true") {
            expect_cell(row, k);
        } else if (quantity == "bits_per_item") {
            expect_cell(row, bloom_bits_per_key(k));
        } else if (quantity == "actual_fp") {
            expect_cell(
                row, std::pow(fill_ratio(1e15, generation_capacity(1'000'000'000'000'000, 1)), k));
        } else {
            ASSERT_EQ(quantity, "accesses_false");
            expect_cell(row, bloom_accesses_absent(k));
        }
    }
}

TEST(fpr, apbf_with_the_papers_fills_gives_table_2) {
    const std::vector<Row> rows = vectors("apbf_table2");
    ASSERT_GE(rows.size(), 150U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"k", "l", "quantity"}));
        const unsigned k = row.whole("k");
        const unsigned l = row.whole("l");
        const Profile r = fills_linear(k, l);
        const std::string& quantity = row.text("quantity");
        if (quantity == "actual_fp") {
            expect_cell(row, false_positive_rate(k, l, r));
        } else if (quantity == "eff") {
            expect_cell(row, space_efficiency(k, l, false_positive_rate(k, l, r)));
        } else if (quantity == "accesses_window") {
            expect_cell(row, accesses_window(k, l, r));
        } else if (quantity == "accesses_fp") {
            expect_cell(row, accesses_false_positive(k, l, r));
        } else if (quantity == "accesses_false") {
            expect_cell(row, accesses_absent(k, l, r));
        } else {
            ASSERT_EQ(quantity, "peak_npws");
            expect_cell(row, npws_half(k, l));
        }
    }
}

TEST(fpr, apbf_agrees_with_the_grid) {
    const std::vector<Row> rows = vectors("apbf_grid");
    ASSERT_GE(rows.size(), 100U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"k", "l"}));
        const unsigned k = row.whole("k");
        const unsigned l = row.whole("l");
        const Profile linear = fills_linear(k, l);
        const auto at = [&](Progress progress) {
            return false_positive_rate(k, l, fills_half(k, l, progress));
        };
        expect_close(false_positive_rate(k, l, linear), row.real("fpr_paper_linear_fill"));
        expect_close(at(kBeforeShift), row.real("fpr_exact_fill_before_shift"));
        expect_close(at(0.5), row.real("fpr_exact_fill_mid_generation"));
        expect_close(at(1e-9), row.real("fpr_exact_fill_after_shift"));
        expect_close(accesses_window(k, l, linear), row.real("accesses_window"));
        expect_close(accesses_false_positive(k, l, linear), row.real("accesses_fp"));
        expect_close(accesses_absent(k, l, linear), row.real("accesses_false"));
        expect_close(npws_half(k, l), row.real("peak_npws"));
        const double general = npws(k, l, fills_half(k, l, kBeforeShift));
        if (l + 1 >= k) {
            expect_close(general, row.real("peak_npws"));
        } else {  // a generation that leaves the window passes slices that are still being filled
            EXPECT_LT(general, row.real("peak_npws"));
        }
        expect_close(bits_per_window_key(k, l), row.real("bits_per_window_element"));
    }
}

TEST(fpr, apbf_sizes_agree) {
    const std::vector<Row> rows = vectors("apbf_sizes");
    ASSERT_GE(rows.size(), 100U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"k", "l", "m"}));
        EXPECT_EQ(generation_capacity(row.whole("m"), row.whole("k")), row.whole("g"));
    }
}

TEST(fpr, apbbf_agrees_with_the_grid) {
    const std::vector<Row> rows = vectors("apbbf_grid");
    ASSERT_GE(rows.size(), 100U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"k", "l", "B", "b"}));
        const unsigned k = row.whole("k");
        const unsigned l = row.whole("l");
        const unsigned B = row.whole("B");
        const unsigned b = row.whole("b");
        const double capacity = block_capacity(B, b);
        const Profile r = block_profile_poisson(k, l, B, b, capacity);
        expect_close(capacity, row.real("capacity_per_block"));
        expect_close(capacity / k, row.real("generation_per_block"));
        expect_close(relative_capacity(B, b), row.real("relative_capacity"));
        expect_close(bits_per_window_key(k, l, B, b), row.real("bits_per_window_element"));
        expect_close(false_positive_rate(k, l, r), row.real("fpr_before_shift"));
        expect_close(false_positive_rate(k * b, l * b, fills_linear(k * b, l * b)),
                     row.real("fpr_apbf_kb_lb_linear_fill"));
        expect_close(false_positive_rate(k * b, l * b, fills_half(k * b, l * b, kBeforeShift)),
                     row.real("fpr_apbf_kb_lb_exact_fill"));
        expect_close(accesses_window(k, l, r), row.real("accesses_window"));
        expect_close(accesses_false_positive(k, l, r), row.real("accesses_fp"));
        expect_close(accesses_absent(k, l, r), row.real("accesses_false"));
        expect_close(npws(k, l, r), row.real("peak_npws"));
    }
}

TEST(fpr, blocks_of_finite_number_agree) {
    const std::vector<Row> rows = vectors("apbbf_binomial");
    ASSERT_GE(rows.size(), 25U);
    for (const Row& row : rows) {
        SCOPED_TRACE(place(row, {"k", "l", "B", "b", "blocks"}));
        const unsigned k = row.whole("k");
        const unsigned l = row.whole("l");
        const unsigned B = row.whole("B");
        const unsigned b = row.whole("b");
        const unsigned g = row.whole("g");
        const unsigned blocks = row.whole("blocks");
        const Profile binomial = block_profile(k, l, B, b, blocks, g, kBeforeShift);
        const double load = static_cast<double>(g) * k / blocks;
        const Profile poisson = block_profile_poisson(k, l, B, b, load);
        expect_close(false_positive_rate(k, l, binomial), row.real("fpr_binomial_load"));
        expect_close(false_positive_rate(k, l, poisson), row.real("fpr_poisson_load"));
        expect_close(binomial.back(), row.real("full_segment_match_binomial"));
        expect_close(poisson.back(), row.real("full_segment_match_poisson"));
    }
}

// --- Independent definitions ---

// Probabilities are unequal, so that a wrong index shows.
Profile uneven_profile(unsigned n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Profile r(n);
    for (double& value : r) {
        value = 0.1 + 0.8 * std::ldexp(static_cast<double>(random() >> 11), -53);
    }
    return r;
}

// Call visit(matches, probability) for each of the 2^n ways in which segments may match.
template <typename Visit>
void for_each_outcome(const Profile& r, Visit visit) {
    for (std::uint32_t matches = 0; matches < (1U << r.size()); ++matches) {
        double probability = 1;
        for (unsigned i = 0; i < r.size(); ++i) {
            probability *= (matches >> i & 1U) != 0 ? r[i] : 1 - r[i];
        }
        visit(matches, probability);
    }
}

bool has_run(std::uint32_t matches, unsigned k, unsigned n) {
    const std::uint32_t run = (1U << k) - 1;
    for (unsigned i = 0; i + k <= n; ++i) {
        if ((matches >> i & run) == run) {
            return true;
        }
    }
    return false;
}

struct Walk {
    bool echo;
    std::uint32_t read;  // segments read
};

// Algorithm 1 of the paper, literally.
Walk algorithm_1(std::uint32_t matches, unsigned k, unsigned l) {
    int i = static_cast<int>(l);
    unsigned p = 0;
    unsigned c = 0;
    std::uint32_t read = 0;
    while (i >= 0) {
        read |= 1U << i;
        if ((matches >> i & 1U) != 0) {
            ++c;
            ++i;
            if (p + c == k) {
                return {true, read};
            }
        } else {
            i -= static_cast<int>(k);
            p = c;
            c = 0;
        }
    }
    return {false, read};
}

constexpr std::array<std::pair<unsigned, unsigned>, 9> kShapes{
    {{1, 1}, {1, 6}, {2, 3}, {2, 9}, {3, 4}, {4, 3}, {5, 2}, {5, 8}, {6, 1}}};

TEST(fpr, false_positive_rate_equals_enumeration) {
    for (const auto& [k, l] : kShapes) {
        const Profile r = uneven_profile(k + l, 7 * k + l);
        double sum = 0;
        for_each_outcome(r, [&, k = k, l = l](std::uint32_t matches, double probability) {
            sum += has_run(matches, k, k + l) ? probability : 0;
        });
        EXPECT_NEAR(false_positive_rate(k, l, r), sum, 1e-13) << k << " " << l;
    }
}

TEST(fpr, accesses_equal_enumeration_of_algorithm_1) {
    for (const auto& [k, l] : kShapes) {
        const Profile r = uneven_profile(k + l, 11 * k + l);
        std::array<double, 2> total{};
        std::array<double, 2> accesses{};
        double touched = 0;
        for_each_outcome(r, [&, k = k, l = l](std::uint32_t matches, double probability) {
            const Walk walk = algorithm_1(matches, k, l);
            ASSERT_EQ(walk.echo, has_run(matches, k, k + l));
            const unsigned kind = walk.echo ? 1 : 0;
            total.at(kind) += probability;
            accesses.at(kind) += probability * __builtin_popcount(walk.read);
            touched +=
                walk.echo ? 0 : probability * __builtin_popcount(walk.read | ((1U << k) - 1));
        });
        EXPECT_NEAR(accesses_absent(k, l, r), accesses[0] / total[0], 1e-11) << k << " " << l;
        EXPECT_NEAR(accesses_false_positive(k, l, r), accesses[1] / total[1], 1e-11);
        EXPECT_NEAR(segments_of_new_key(k, l, r), touched / total[0], 1e-11);
    }
}

TEST(fpr, slack_match_equals_enumeration) {
    for (const auto& [k, l] : kShapes) {
        const Profile r = uneven_profile(k + l, 13 * k + l);
        for (unsigned i = 0; i <= k; ++i) {
            const std::uint32_t inserted = ((1U << (k - i)) - 1) << (l + i);
            double sum = 0;
            for_each_outcome(r, [&, k = k, l = l](std::uint32_t matches, double probability) {
                sum += has_run(matches | inserted, k, k + l) ? probability : 0;
            });
            EXPECT_NEAR(slack_match(k, l, r, i), sum, 1e-13) << k << " " << l << " " << i;
        }
    }
}

TEST(fpr, slack_match_is_certain_in_the_window_and_chance_after_it) {
    const Profile r = fills_half(4, 3, kBeforeShift);
    EXPECT_EQ(slack_match(4, 3, r, 0), 1.0);
    EXPECT_EQ(slack_match(4, 3, r, 4), false_positive_rate(4, 3, r));
}

TEST(fpr, npws_is_the_sum_of_the_runs_of_chance_matches) {
    const Profile r{0, 0, 0.5, 0.25, 0.125};
    EXPECT_DOUBLE_EQ(npws(3, 2, r), (1 + 0.5 + 0.5 * 0.25) / 2);
    EXPECT_DOUBLE_EQ(npws(1, 4, r), 1.0 / 4);
}

TEST(fpr, fill_ratio_of_small_arrays_is_exact) {
    EXPECT_DOUBLE_EQ(fill_ratio(4, 0), 0.0);
    EXPECT_DOUBLE_EQ(fill_ratio(4, 1), 0.25);
    EXPECT_DOUBLE_EQ(fill_ratio(4, 2), 0.4375);
    EXPECT_DOUBLE_EQ(fill_ratio(1, 1), 1.0);
    EXPECT_DOUBLE_EQ(fill_ratio(1, 0), 0.0);
}

TEST(fpr, fills_follow_the_keys_of_each_slice) {
    const Profile r = fills(3, 2, 1000, 100, 0.25);
    ASSERT_EQ(r.size(), 5U);
    EXPECT_DOUBLE_EQ(r[0], fill_ratio(1000, 25));
    EXPECT_DOUBLE_EQ(r[1], fill_ratio(1000, 125));
    EXPECT_DOUBLE_EQ(r[2], fill_ratio(1000, 225));
    EXPECT_DOUBLE_EQ(r[3], fill_ratio(1000, 300));
    EXPECT_DOUBLE_EQ(r[4], fill_ratio(1000, 300));
}

TEST(fpr, block_match_of_one_key_is_a_hit_in_each_part) {
    EXPECT_DOUBLE_EQ(block_match(1, 512, 4), std::pow(1.0 / 128, 4));
    EXPECT_DOUBLE_EQ(block_match(0, 512, 4), 0.0);
    EXPECT_DOUBLE_EQ(block_match(1, 512, 3), 1.0 / 171 / 171 / 170);
}

TEST(fpr, segment_of_one_block_holds_all_keys) {
    EXPECT_DOUBLE_EQ(segment_match(37, 1, 512, 8), block_match(37, 512, 8));
}

TEST(fpr, unequal_parts_count_by_their_sizes) {
    // 512 bits in 7 parts: one of 74, six of 73.
    const double n = 50;
    EXPECT_NEAR(block_match(n, 512, 7), fill_ratio(74, n) * std::pow(fill_ratio(73, n), 6), 1e-14);
    const double lambda = 50;
    double sum = 0;
    double weight = std::exp(-lambda);
    for (int load = 0; load < 400; ++load) {
        sum += weight * block_match(load, 512, 7);
        weight *= lambda / (load + 1);
    }
    EXPECT_NEAR(segment_match_poisson(lambda, 512, 7), sum, 1e-12 * sum);
}

TEST(fpr, segment_match_is_stable_from_empty_to_full) {
    EXPECT_EQ(segment_match(0, 1000, 512, 8), 0.0);
    EXPECT_EQ(segment_match_poisson(0, 512, 8), 0.0);
    double previous = 0;
    for (std::uint64_t keys = 1; keys < 10'000'000'000'000; keys *= 3) {
        const double match = segment_match(keys, 1'000'000, 512, 8);
        EXPECT_GE(match, previous) << keys;
        EXPECT_LE(match, 1.0) << keys;
        previous = match;
    }
    EXPECT_NEAR(previous, 1.0, 1e-12);
}

TEST(fpr, digest_collision_is_one_in_2_to_the_64_a_key) {
    EXPECT_DOUBLE_EQ(digest_collision(0x1p32), 0x1p-32);
}

}  // namespace
}  // namespace unecho::sizing::fpr_test
