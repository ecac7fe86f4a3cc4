// SPDX-License-Identifier: BSD-3-Clause
// The chance of an accidental match (filters/confidence_filter.h) over the lines of a line filter.
// Words are simulated, at the planned rate and above it. The tests show how a limit on the chance
// affects echoes, and how many false drops it leaves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/window/line.h"
#include "support/bounds.h"
#include "support/seed.h"

namespace unecho::sizing::line_doubts_test {
namespace {

constexpr Nanoseconds kWindow = kSecond;
constexpr double kRate = 10e6;

class Lines {
  public:
    Lines(const LineShape& shape, double gamma) : shape_(shape), gamma_(gamma) {}

    // Return the chance that a new key would match in random lines just before a tick. The lines
    // are those of a key of the window, or of none.
    double chance(bool of_echo) {
        const double complete = static_cast<double>(1 + rng_() % shape_.phases) / shape_.phases;
        // The shifts since the insertion of a key of the window.
        const double back = std::uniform_real_distribution<>(0, shape_.l)(rng_);
        const auto age = static_cast<unsigned>(std::ceil(std::max(0.0, back - complete)));
        std::vector<double> match(shape_.k + shape_.l, 1.0);
        for (unsigned line = 0; line < shape_.M; ++line) {
            unsigned last = 0;
            for (unsigned i = 0; i < match.size(); ++i) {
                const unsigned keys = load(i == 0 ? complete : 1);
                const bool own = of_echo && i >= age && i < age + shape_.k;
                match[i] *= covered(bits_set(keys + (shape_.k == 2 ? last : 0) + (own ? 1 : 0)));
                last = keys;
            }
        }
        return consecutive(match);
    }

  private:
    unsigned load(double complete) {
        return std::poisson_distribution<unsigned>(gamma_ * complete)(rng_);
    }

    // Return the number of bits set by this many patterns.
    unsigned bits_set(unsigned patterns) {
        constexpr std::uint64_t kAll = (std::uint64_t{1} << kLineWordBits) - 1;
        std::uint64_t word = 0;
        for (unsigned n = 0; n < patterns && word != kAll; ++n) {
            std::uint64_t pattern = 0;
            while (std::popcount(pattern) < static_cast<int>(shape_.b)) {
                pattern |= std::uint64_t{1} << (rng_() >> 32) * kLineWordBits / (1ULL << 32);
            }
            word |= pattern;
        }
        return static_cast<unsigned>(std::popcount(word));
    }

    [[nodiscard]] double covered(unsigned set) const {
        double match = 1;
        for (unsigned i = 0; i < shape_.b; ++i) {
            match *= set > i ? static_cast<double>(set - i) / (kLineWordBits - i) : 0;
        }
        return match;
    }

    [[nodiscard]] double consecutive(const std::vector<double>& match) const {
        double none = 1;
        double one = shape_.k == 1 ? 1 : 0;
        double echo = 0;
        for (const double m : match) {
            echo += one * m;
            const double matched = none * m;
            none = (shape_.k == 1 ? none : none + one) * (1 - m);
            one = shape_.k == 1 ? none : matched;
        }
        return echo;
    }

    LineShape shape_;
    double gamma_;
    std::mt19937_64 rng_{test::seed()};
};

struct Doubts {
    double false_drops = 0;  // without a limit
    double error = 0;        // standard error of it
    double left = 0;         // with a limit
    double of_echoes = 0;    // share of echoes that become doubts
    double of_new = 0;       // share of new keys that would become doubts if they matched
};

Doubts doubts(Lines& lines, double limit, unsigned n) {
    Doubts out;
    double squares = 0;
    for (unsigned i = 0; i < n; ++i) {
        const double chance = lines.chance(false);
        out.false_drops += chance / n;
        squares += chance * chance / n;
        out.left += chance <= limit ? chance / n : 0;
        out.of_new += chance > limit ? 1.0 / n : 0;
        out.of_echoes += lines.chance(true) > limit ? 1.0 / n : 0;
    }
    out.error = std::sqrt((squares - out.false_drops * out.false_drops) / n);
    return out;
}

struct Case {
    double rate;  // of false drops
    LineGeometry geometry;
};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const double rate : {1e-2, 1e-3, 1e-4, 1e-6}) {
        const auto found = size_line({kWindow, kRate, rate});
        EXPECT_TRUE(found.has_value());
        all.push_back({rate, found.value_or(LineGeometry{1, 1, 7, 1, 1, 1})});
    }
    for (const unsigned M : {2U, 4U}) {  // k = 1
        const auto found = size_line_of({kWindow, kRate, 1e-2}, M);
        EXPECT_TRUE(found && found->k == 1);
        all.push_back({1e-2, found.value_or(LineGeometry{1, 1, 7, 1, 1, 1})});
    }
    return all;
}

Lines lines_at(const Case& c, double times) {
    const LineGeometry& g = c.geometry;
    return {{g.M, g.k, g.l, g.b, g.phases},
            times * kRate / g.l * g.M / static_cast<double>(g.lines)};
}

// The planned rate is a mean. A limit equal to it turns 33 to 51 % of the echoes at that rate into
// doubts, and leaves a third of the false drops. A limit ten times as high doubts 0.1 to 2 %.
TEST(line_doubts, at_the_planned_rate) {
    constexpr unsigned kKeys = 6'000;
    for (const Case& c : cases()) {
        SCOPED_TRACE(std::to_string(c.rate) + " M " + std::to_string(c.geometry.M));
        Lines lines = lines_at(c, 1);
        const Doubts strict = doubts(lines, c.rate, kKeys);
        EXPECT_NEAR(strict.false_drops, c.rate, test::kDeviations * strict.error);
        EXPECT_GT(strict.of_echoes, 0.25);
        EXPECT_LT(strict.of_echoes, 0.6);
        EXPECT_LT(strict.of_new, strict.of_echoes);
        EXPECT_LT(strict.left, c.rate / 2);
        const Doubts wide = doubts(lines, 10 * c.rate, kKeys);
        EXPECT_LT(wide.of_echoes, 0.03);
        EXPECT_LT(wide.of_new, 0.03);
        EXPECT_GT(wide.left, 0.6 * c.rate);
    }
}

// At any higher rate, a limit of ten times the planned false drops leaves two to six times as many.
// Nearly all lines soon exceed it.
TEST(line_doubts, above_the_planned_rate) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(std::to_string(c.rate) + " M " + std::to_string(c.geometry.M));
        double before = 0;
        for (const double times : {1.5, 2.0, 3.0, 10.0}) {
            Lines lines = lines_at(c, times);
            const Doubts now = doubts(lines, 10 * c.rate, times > 3 ? 300 : 2'000);
            EXPECT_LT(now.left, 8 * c.rate) << times;
            EXPECT_GT(now.false_drops, 4 * c.rate) << times;
            EXPECT_GE(now.of_echoes, before - 1e-9) << times;
            before = now.of_echoes;
            if (times == 2) {
                EXPECT_GT(now.of_echoes, 0.75);
            }
        }
        EXPECT_GT(before, 0.999);
    }
}

// Half the planned rate leaves room: nothing is doubted.
TEST(line_doubts, below_the_planned_rate) {
    for (const Case& c : cases()) {
        Lines lines = lines_at(c, 0.5);
        EXPECT_LT(doubts(lines, c.rate, 3'000).of_echoes, 0.005) << c.rate;
    }
}

}  // namespace
}  // namespace unecho::sizing::line_doubts_test
