// SPDX-License-Identifier: BSD-3-Clause
// Predictions for measurements: the formulas of sizing, and how far one table may deviate from
// them.
//
// A rate measured on one table is binomial around that table's own rate, which varies because its
// fills do. All rates are polynomials in the fills, linear in each, and the fills of different
// segments are independent. So the mean over tables is the formula at the mean fills. The variance
// is, to first order, the sum over segments of slope^2 * variance of fill.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "support/bounds.h"
#include "support/filter_memory.h"

namespace unecho::test {

// The probability that a segment matches a foreign key, over tables.
struct Fill {
    double mean = 0;
    double variance = 0;
};

// Return the share of set bits after n keys with one bit each in m bits.
inline Fill fill_of_bits(double m, double n) {
    const double clear = std::exp(n * std::log1p(-1 / m));
    const double two_clear = m > 2 ? std::exp(n * std::log1p(-2 / m)) : 0;
    return {1 - clear, (m - 1) / m * two_clear + clear / m - clear * clear};
}

struct ApbfShape {
    using Filter = filter::Apbf;
    unsigned k;
    unsigned l;
    std::uint64_t m;
    double load = 1;  // keys a generation, relative to the number that fills half of the bits

    [[nodiscard]] Fill fill(std::uint64_t keys) const {
        return fill_of_bits(static_cast<double>(m), static_cast<double>(keys));
    }
    [[nodiscard]] double capacity() const {
        return static_cast<double>(sizing::generation_capacity(m, k));
    }
    [[nodiscard]] filter::ApbfParams params(
        filter::EchoPolicy policy = filter::EchoPolicy::kFixed) const {
        return *filter::ApbfParams::make({.k = k, .l = l, .m = m, .policy = policy});
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k" << k << "_l" << l << "_m" << m << "_load" << std::lround(load * 100);
        return out.str();
    }
};

struct ApbbfShape {
    using Filter = filter::Apbbf;
    unsigned k;
    unsigned l;
    unsigned B;
    unsigned b;
    std::uint64_t blocks;
    double load = 1;  // keys a generation, relative to the number that fills blocks to 1/2

    // The match of a block is the product of its parts' fills; the number of its keys is binomial.
    [[nodiscard]] Fill fill(std::uint64_t keys) const {
        const double mean = sizing::segment_match(keys, blocks, B, b);
        const auto load_of_block = static_cast<double>(keys) / static_cast<double>(blocks);
        if (blocks == 1 || keys == 0) {
            return {mean, match_square(load_of_block) - mean * mean};
        }
        constexpr double kFar = 9;  // standard deviations
        const double reach = kFar * std::sqrt(load_of_block) + kFar;
        double weights = 0;
        double square = 0;
        for (double n = std::max(0.0, std::floor(load_of_block - reach));
             n <= load_of_block + reach; n += 1) {
            const double weight = poisson(n, load_of_block);
            weights += weight;
            square += weight * match_square(n);
        }
        return {mean, (square / weights - mean * mean) / static_cast<double>(blocks)};
    }
    [[nodiscard]] double capacity() const {
        return static_cast<double>(blocks) * sizing::block_capacity(B, b) / k;
    }
    [[nodiscard]] filter::ApbbfParams params(
        filter::EchoPolicy policy = filter::EchoPolicy::kFixed) const {
        return *filter::ApbbfParams::make(
            {.k = k, .l = l, .B = B, .b = b, .blocks = blocks, .policy = policy});
    }
    [[nodiscard]] std::string name() const {
        std::ostringstream out;
        out << "k" << k << "_l" << l << "_B" << B << "_b" << b << "_blocks" << blocks << "_load"
            << std::lround(load * 100);
        return out.str();
    }

  private:
    static double poisson(double n, double mean) {
        return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
    }
    // Return the mean square of the match of a block with n keys.
    [[nodiscard]] double match_square(double n) const {
        double product = 1;
        for (unsigned part = 0; part < b; ++part) {
            const Fill fill = fill_of_bits(B / b + (part < B % b ? 1 : 0), n);
            product *= fill.mean * fill.mean + fill.variance;
        }
        return product;
    }
};

// For GoogleTest.
inline void PrintTo(const ApbfShape& shape, std::ostream* out) {
    *out << shape.name();
}
inline void PrintTo(const ApbbfShape& shape, std::ostream* out) {
    *out << shape.name();
}

inline constexpr std::uint64_t kSteady = std::uint64_t{1} << 32;  // generations since the start

// Return the keys a generation; even, so that half of them is a whole number.
template <typename Shape>
std::uint64_t generation_keys(const Shape& shape) {
    return std::max<std::uint64_t>(
        2, static_cast<std::uint64_t>(shape.load * shape.capacity()) / 2 * 2);
}

// Return the fills of all segments after `generation` generations of g keys and `current` more
// keys.
template <typename Shape>
std::vector<Fill> fills_of(const Shape& shape, std::uint64_t generation, std::uint64_t g,
                           std::uint64_t current) {
    std::vector<Fill> fills;
    for (std::uint64_t i = 0; i < shape.k + shape.l; ++i) {
        // Segment i got the keys of up to k generations, beginning i generations ago.
        if (i < shape.k) {
            fills.push_back(shape.fill(std::min(i, generation) * g + current));
        } else {
            const std::uint64_t passed = generation + shape.k > i ? generation + shape.k - i : 0;
            fills.push_back(shape.fill(std::min<std::uint64_t>(shape.k, passed) * g));
        }
    }
    return fills;
}

struct Rate {
    double mean = 0;
    double deviation = 0;  // of the mean over instances
};

// Return the rate of statistic(profile), a polynomial linear in each fill.
template <typename Statistic>
Rate rate_of(const std::vector<Fill>& fills, double instances, Statistic statistic) {
    sizing::Profile r;
    for (const Fill& fill : fills) {
        r.push_back(fill.mean);
    }
    double variance = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
        sizing::Profile always = r;
        sizing::Profile never = r;
        always[i] = 1;
        never[i] = 0;
        const double slope = statistic(always) - statistic(never);
        variance += slope * slope * fills[i].variance;
    }
    return {statistic(r), std::sqrt(variance / instances)};
}

// Return the counts that do not contradict the rate in so many trials.
inline Counts counts_of(const Rate& rate, double trials) {
    const double away = kDeviations * rate.deviation;
    return {binomial_bounds(trials, std::max(0.0, rate.mean - away)).low,
            binomial_bounds(trials, std::min(1.0, rate.mean + away)).high};
}

inline void expect_count(std::uint64_t count, const Counts& allowed, const std::string& what) {
    EXPECT_TRUE(static_cast<double>(count) >= allowed.low &&
                static_cast<double>(count) <= allowed.high)
        << what << ": " << count << ", allowed " << allowed.low << " to " << allowed.high;
}

template <typename Shape>
struct Instance {
    explicit Instance(const Shape& shape, filter::EchoPolicy policy = filter::EchoPolicy::kFixed)
        : params(shape.params(policy)),
          memory(Shape::Filter::bytes(params)),
          filter(params, memory.span()) {}

    decltype(std::declval<Shape>().params()) params;
    FilterMemory memory;
    typename Shape::Filter filter;
};

}  // namespace unecho::test
