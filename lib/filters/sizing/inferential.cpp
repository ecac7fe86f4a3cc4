// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/inferential.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/assert.h"

namespace unecho::sizing {
namespace {

constexpr double kEulerGamma = 0.5772156649015329;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// (1-p)^n and its complement, both accurate for small p.
double kept_out(double p, double n) {
    return std::exp(n * std::log1p(-p));
}
double come(double p, double n) {
    return -std::expm1(n * std::log1p(-p));
}

double real(std::uint64_t n) {
    return static_cast<double>(n);
}

std::uint64_t ratio_up(std::uint64_t a, std::uint64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

// The likelihood as a function of the age i, in insertions. It is 0 below `from`, where all timers
// are older. It is 1 up to `until`, and then what other keys must have done to the timers. By
// equations 22 (age 0) and 24; the factor F(r, c, from) is left out, see (25).
struct Shape {
    double from;
    double until;
    double beyond;

    [[nodiscard]] double at(double i) const {
        if (i < from) {
            return 0;
        }
        return i < until ? 1 : beyond;
    }
};

Shape shape_of(const BlockModel& model, const TimerState& state) {
    const double B = real(model.B);
    const double b = real(state.b);
    if (!state.age) {
        // The sweep spares ages up to ceil(w / B). Beyond, all expired timers look alike.
        const double from = real(ratio_up(model.w, model.B)) * B + b;
        return {from, from, 1};
    }
    if (*state.age == 0) {
        return {0, b, agreement(model, state.r, 0, b)};
    }
    const double from = real(*state.age - 1) * B + b;
    return {from, from + B, agreement(model, state.c, 0, B)};
}

// P(I_x < w | R_x) for an age in the window (Theorems 3 to 5). f: F(c, 0, B), at age 0 F(r, 0, b).
double posterior_with(const BlockModel& model, const TimerState& state, double f) {
    const double B = real(model.B);
    const double b = real(state.b);
    const double w = real(model.w);
    if (*state.age == 0) {
        return 1 - kept_out(model.p, w) / (come(model.p, b) / f + kept_out(model.p, b));
    }
    const double newest = real(*state.age - 1) * B + b;
    if (*state.age < oldest_in_window(model.w, model.B, state.b)) {
        return 1 - kept_out(model.p, w - newest) / (come(model.p, B) / f + kept_out(model.p, B));
    }
    return come(model.p, w - newest) / (1 - kept_out(model.p, B) * (1 - f));
}

tl::unexpected<Error> refuse(const std::string& what, const std::string& allowed) {
    return fail(Errc::kInvalidArgument, "inferential: " + what + "; allowed: " + allowed);
}

}  // namespace

double prior_between(double p, double a, double b) {
    return kept_out(p, a) * come(p, b - a);
}

double insertion_probability(double echo_share, double w) {
    return -std::expm1(std::log1p(-echo_share) / w);
}

double harmonic(std::uint64_t n) {
    long double sum = 0;
    for (std::uint64_t i = n; i > 0; --i) {
        sum += 1.0L / static_cast<long double>(i);
    }
    return static_cast<double>(sum);
}

double distinct_uniform(double j, double universe) {
    return universe * come(1 / universe, j);
}

double distinct_power_law(double j, std::uint64_t universe) {
    const double h = harmonic(universe);
    long double sum = 0;
    for (std::uint64_t rank = universe; rank > 0; --rank) {
        sum += come(1 / (h * real(rank)), j);
    }
    return static_cast<double>(sum);
}

double distinct_power_law_approximate(double j, double universe, double harmonic) {
    return j / harmonic * (1 - kEulerGamma + std::log(universe * harmonic / j));
}

double interpolate_distinct(double j, double j1, double d1, double j3, double d3) {
    return d1 * std::exp(std::log(d3 / d1) * std::log(j / j1) / std::log(j3 / j1));
}

Result<DistinctSamples> DistinctSamples::make(std::vector<double> at_powers_of_two) {
    if (at_powers_of_two.size() < 2) {
        return refuse(std::to_string(at_powers_of_two.size()) + " samples of D", "at least 2");
    }
    double before = std::numeric_limits<double>::min();
    for (const double sample : at_powers_of_two) {
        if (!(sample >= before) || !std::isfinite(sample)) {
            return refuse("a sample of D of " + std::to_string(sample),
                          "positive, finite, not below the one before");
        }
        before = sample;
    }
    return DistinctSamples(std::move(at_powers_of_two));
}

double DistinctSamples::operator()(double j) const {
    if (j <= 1) {
        return std::max(j, 0.0) * samples_.front();
    }
    const double last = real(samples_.size()) - 2;
    const double octave = std::min(std::floor(std::log2(j)), last);
    const auto e = static_cast<std::size_t>(octave);
    return interpolate_distinct(j, std::exp2(octave), samples_[e], std::exp2(octave + 1),
                                samples_[e + 1]);
}

double bloom_false_positive(double m, unsigned k, double n, unsigned r) {
    return std::pow(come(1 / m, k * n), r);
}

double posterior_bloom(double p, double n, double false_positive, unsigned c, unsigned r) {
    if (c < r) {
        return 0;
    }
    return 1 / (1 + kept_out(p, n) * false_positive / come(p, n));
}

double posterior_bloom_half_full(double p, double n, double bits_per_key) {
    const double accident = std::exp2(-bits_per_key * std::log(2.0));
    return come(p, n) / (kept_out(p, n) * accident + come(p, n));
}

Status check(const BlockModel& model) {
    if (!(model.p > 0 && model.p < 1)) {
        return refuse("p = " + std::to_string(model.p), "above 0, below 1");
    }
    if (model.B < 1 || model.B > model.w) {
        return refuse("B = " + std::to_string(model.B) + " insertions",
                      "1 to w, that is " + std::to_string(model.w));
    }
    if (model.m < 1 || model.k < 1) {
        return refuse("m = " + std::to_string(model.m) + ", k = " + std::to_string(model.k),
                      "1 or more");
    }
    if (!model.distinct) {
        return refuse("no D(j)", "any curve");
    }
    return {};
}

double touched(const BlockModel& model, double j) {
    return j > 0 ? come(1 / real(model.m), model.k * model.distinct(j)) : 0;
}

double agreement(const BlockModel& model, unsigned r, unsigned c, double j) {
    UNECHO_ASSERT(c <= r);
    const double written = touched(model, j);
    return std::pow(1 - written, c) * std::pow(written, r - c);
}

std::uint64_t oldest_in_window(std::uint64_t w, std::uint64_t B, std::uint64_t b) {
    return w > b ? ratio_up(w - b, B) : 0;
}

double likelihood(const BlockModel& model, const TimerState& state, double i) {
    return shape_of(model, state).at(i);
}

double posterior(const BlockModel& model, const TimerState& state) {
    if (!state.age || *state.age > oldest_in_window(model.w, model.B, state.b)) {
        return 0;  // Theorem 2
    }
    return posterior_with(model, state, shape_of(model, state).beyond);
}

// From `from` on, the weights p (1-p)^i likelihood(i) add up to
// (1-p)^from (1 - (1 - beyond) (1-p)^(until - from)).
double age_posterior(const BlockModel& model, const TimerState& state, double i) {
    const Shape shape = shape_of(model, state);
    if (i < shape.from) {
        return 0;
    }
    const double past = kept_out(model.p, shape.until - shape.from);
    return model.p * kept_out(model.p, i - shape.from) * shape.at(i) /
           (1 - (1 - shape.beyond) * past);
}

std::vector<double> age_posterior(const BlockModel& model, const TimerState& state,
                                  std::span<const double> prior) {
    const Shape shape = shape_of(model, state);
    std::vector<double> weights;
    long double total = 0;
    for (std::size_t i = 0; i < prior.size(); ++i) {
        weights.push_back(prior[i] * shape.at(real(i)));
        total += weights.back();
    }
    if (!(total > 0)) {
        return {};
    }
    for (double& weight : weights) {
        weight = static_cast<double>(weight / total);
    }
    return weights;
}

// The prior falls with i, and so does the likelihood from its first age on, which is therefore the
// answer. At age 0 it is 0, whatever the position.
double most_likely_age(const BlockModel& model, const TimerState& state) {
    return shape_of(model, state).from;
}

// The sum of i p q^i from a on is q^a (a + q/p), where q = 1 - p. With s = (1 - beyond) q^n and n =
// until - from, the mean of the weights is
//   (from + q/p - s (from + n + q/p)) / (1 - s) = from + q/p - n s / (1 - s).
double expected_age(const BlockModel& model, const TimerState& state) {
    const Shape shape = shape_of(model, state);
    const double n = shape.until - shape.from;
    const double s = (1 - shape.beyond) * kept_out(model.p, n);
    return shape.from + (1 - model.p) / model.p - n * s / (1 - s);
}

bool decide(double posterior, const Penalties& penalties) {
    return penalties.false_positive * (1 - posterior) <= penalties.false_negative * posterior;
}

PosteriorTable::PosteriorTable(const BlockModel& model) : model_(model) {
    for (unsigned c = 0; c <= model_.k; ++c) {
        rewritten_.push_back(agreement(model_, c, 0, real(model_.B)));
    }
}

Result<PosteriorTable> PosteriorTable::make(const BlockModel& model) {
    UNECHO_TRY(check(model));
    if (model.k > kMaxHashes) {
        return refuse("k = " + std::to_string(model.k), "1 to " + std::to_string(kMaxHashes));
    }
    if (model.B > kMaxBlock) {
        return refuse("B = " + std::to_string(model.B), "1 to " + std::to_string(kMaxBlock));
    }
    if (ratio_up(model.w, model.B) > kMaxAge) {
        return refuse("a window of " + std::to_string(ratio_up(model.w, model.B)) + " blocks",
                      "1 to " + std::to_string(kMaxAge));
    }
    return PosteriorTable(model);
}

double PosteriorTable::posterior(const TimerState& state) const {
    UNECHO_ASSERT(state.c >= 1 && state.c <= state.r && state.r <= model_.k);
    if (!state.age || *state.age > oldest_in_window(model_.w, model_.B, state.b)) {
        return 0;
    }
    const double f =
        *state.age == 0 ? agreement(model_, state.r, 0, real(state.b)) : rewritten_[state.c];
    return posterior_with(model_, state, f);
}

PosteriorTable::Limits PosteriorTable::limits_of_present_block(unsigned c,
                                                               const Penalties& penalties) const {
    const std::uint64_t step = ratio_up(model_.B, kScanned);
    Limits limits{kNever, kNever};
    for (std::uint64_t b = 1; b < model_.B; b += step) {
        if (decide(posterior({.age = 0, .c = c, .r = c, .b = b}), penalties)) {
            continue;
        }
        if (limits.below == kNever) {
            limits.below = b >= step ? static_cast<std::uint32_t>(b - (step - 1)) : 0;
        }
        limits.from = b + step < model_.B ? static_cast<std::uint32_t>(b + step) : kNever;
    }
    return limits;
}

PosteriorTable::Limits PosteriorTable::limits_of_age(std::uint64_t age, unsigned c,
                                                     const Penalties& penalties) const {
    std::uint64_t low = 0;
    std::uint64_t high = model_.B;
    while (low < high) {
        const std::uint64_t b = low + (high - low) / 2;
        if (decide(posterior({.age = age, .c = c, .r = model_.k, .b = b}), penalties)) {
            low = b + 1;
        } else {
            high = b;
        }
    }
    return {low == model_.B ? kNever : static_cast<std::uint32_t>(low), kNever};
}

std::vector<std::uint32_t> PosteriorTable::limits(const Penalties& penalties) const {
    std::vector<std::uint32_t> rows;
    for (std::uint64_t age = 0; age <= ratio_up(model_.w, model_.B); ++age) {
        for (unsigned c = 1; c <= model_.k; ++c) {
            const Limits row =
                age == 0 ? limits_of_present_block(c, penalties) : limits_of_age(age, c, penalties);
            rows.push_back(row.below);
            rows.push_back(row.from);
        }
    }
    return rows;
}

std::optional<BlockSizes> btbf_parameters(std::uint64_t w, std::uint64_t total_bits, unsigned k,
                                          std::optional<unsigned> bpt) {
    const unsigned bits = bpt.value_or(std::max(3U, k));
    const std::uint64_t m = total_bits / bits;
    const auto with = [&](std::uint64_t B) {
        const std::uint64_t P = std::max(ratio_up(m, k * B), std::uint64_t{1}) - 1;
        return BlockSizes{m, bits, B, P, ratio_up(w, B) + 1 + P};
    };
    // There are T + 1 ages and the expired value.
    const auto fits = [&](std::uint64_t B) {
        return bits >= 63 || with(B).T + 2 <= std::uint64_t{1} << bits;
    };
    if (w < 1 || k < 1 || m < 1 || !fits(w)) {
        return std::nullopt;
    }
    std::uint64_t low = 1;
    std::uint64_t high = w;
    while (low < high) {
        const std::uint64_t B = low + (high - low) / 2;
        if (fits(B)) {
            high = B;
        } else {
            low = B + 1;
        }
    }
    return with(high);
}

}  // namespace unecho::sizing
