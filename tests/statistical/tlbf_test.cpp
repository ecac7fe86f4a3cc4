// SPDX-License-Identifier: BSD-3-Clause
// The Time-limited Bloom Filter's false-positive rate against F(k, n - k) at the fills of its
// slices: from the start, in the steady state at several phases, and while the rate jumps.
#include "filters/window/segmented/tlbf.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "statistical/model.h"
#include "support/seed.h"

namespace unecho::test::tlbf_test {
namespace {

constexpr Nanoseconds kWindow = kSecond;

struct TlbfShape {
    unsigned k;
    unsigned l;
    std::uint64_t capacity;  // digests a window at the planned rate
};

void PrintTo(const TlbfShape& shape, std::ostream* out) {
    *out << "k" << shape.k << "_l" << shape.l << "_" << shape.capacity;
}

class TlbfRate : public ::testing::TestWithParam<TlbfShape> {
  protected:
    TlbfRate()
        : params_(*filter::TlbfParams::make({.k = GetParam().k,
                                             .l = GetParam().l,
                                             .window = kWindow,
                                             .capacity = GetParam().capacity,
                                             .arena_bytes = 8 << 20})),
          memory_(filter::Tlbf::bytes(params_)),
          filter_(params_, memory_.span()) {}

    // Run so many windows at a multiple of the planned rate, and measure now and then.
    void run(double windows, double rate, const std::string& when) {
        const auto keys =
            static_cast<std::uint64_t>(windows * rate * static_cast<double>(GetParam().capacity));
        const double gap =
            static_cast<double>(kWindow) / (rate * static_cast<double>(GetParam().capacity));
        const Nanoseconds begin = now_;
        constexpr std::uint64_t kLooks = 9;  // coprime to the generations: all phases occur
        for (std::uint64_t i = 1; i <= keys; ++i) {
            now_ = begin + static_cast<Nanoseconds>(static_cast<double>(i) * gap);
            filter_.advance({.now = now_});
            filter_.insert(random_());
            if (i * kLooks / keys != (i - 1) * kLooks / keys) {
                look(when + " " + std::to_string(i * kLooks / keys));
            }
        }
        EXPECT_EQ(filter_.counters().evicted_early, 0u) << when;
    }

    // Measure the rate of this one table. The expected fills vary as those of one table.
    void look(const std::string& when) {
        constexpr std::uint64_t kQueries = 60'000;
        std::vector<Fill> fills;
        double least_bits = 1e18;
        for (unsigned i = 0; i < filter_.slices(); ++i) {
            const auto [bits, keys, words] = filter_.slice(i);
            fills.push_back(fill_of_bits(static_cast<double>(bits), static_cast<double>(keys)));
            least_bits = std::min(least_bits, static_cast<double>(bits));
        }
        std::uint64_t matches = 0;
        for (std::uint64_t i = 0; i < kQueries; ++i) {
            matches += filter_.query(random_()) ? 1 : 0;
        }
        Rate rate = rate_of(fills, 1, [&](const sizing::Profile& r) {
            return sizing::false_positive_rate(GetParam().k, filter_.slices() - GetParam().k, r);
        });
        // With k = 1 all slices share one hash function. A key then queries the same place of each,
        // and the number of places that are clear in all slices varies more than single slices do.
        if (GetParam().k == 1) {
            rate.deviation =
                std::hypot(rate.deviation, std::sqrt(rate.mean * (1 - rate.mean) / least_bits));
        }
        expect_count(matches, counts_of(rate, kQueries), when);
        // The bound of the header: slices full to 1/2, open ones as after whole generations.
        const double bound = sizing::false_positive_rate(
            GetParam().k, filter_.slices() - GetParam().k,
            sizing::fills_half(GetParam().k, filter_.slices() - GetParam().k,
                               sizing::kBeforeShift));
        EXPECT_LE(rate.mean, bound * 1.02) << when;
    }

    filter::TlbfParams params_;
    FilterMemory memory_;
    filter::Tlbf filter_;
    std::mt19937_64 random_{seed()};
    Nanoseconds now_ = 0;
};

TEST_P(TlbfRate, is_that_of_the_fills_at_every_rate) {
    SCOPED_TRACE(seed_note());
    run(1, 1, "start");
    run(3, 1, "steady");
    run(2, 5, "five times");
    run(2, 0.2, "a fifth of planned");
    run(2, 1, "planned again");
}

INSTANTIATE_TEST_SUITE_P(, TlbfRate,
                         ::testing::Values(TlbfShape{1, 1, 4'000}, TlbfShape{1, 6, 4'000},
                                           TlbfShape{2, 5, 4'000}, TlbfShape{4, 3, 4'000},
                                           TlbfShape{5, 7, 4'000}, TlbfShape{7, 5, 4'000},
                                           TlbfShape{6, 14, 4'000}, TlbfShape{3, 9, 2'000},
                                           TlbfShape{8, 8, 2'000}, TlbfShape{7, 28, 2'000},
                                           TlbfShape{4, 6, 300}, TlbfShape{2, 2, 100}));

}  // namespace
}  // namespace unecho::test::tlbf_test
