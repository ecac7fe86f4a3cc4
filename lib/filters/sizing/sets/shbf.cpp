// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/sets/shbf.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/log_gamma.h"

namespace unecho::sizing {

namespace {

constexpr double kLn2 = std::numbers::ln2;

// Return the argument at which a function has its only minimum, by golden section.
template <typename Function>
long double least(long double low, long double high, Function function) {
    const long double inner = 2 - std::numbers::phi_v<long double>;
    for (unsigned step = 0; step < 120; ++step) {
        const long double left = low + (high - low) * inner;
        const long double right = high - (high - low) * inner;
        if (function(left) < function(right)) {
            high = right;
        } else {
            low = left;
        }
    }
    return (low + high) / 2;
}

// Return the optimum of a rate whose logarithm is exponent(load) * m / n.
template <typename Function>
BloomOptimum optimum_of(Function exponent) {
    const long double load = least(0.3L, 1.5L, exponent);
    return {static_cast<double>(load), static_cast<double>(std::exp(exponent(load)))};
}

}  // namespace

unsigned shbf_max_w_bar(unsigned word_bits, unsigned counter_bits) {
    return (word_bits - 7) / counter_bits;
}

double shbf_zero_exact(double m, double n, double k) {
    return std::pow(1 - 2 / m, k * n / 2);
}

double shbf_zero(double m, double n, double k) {
    return std::exp(-n * k / m);
}

double shbf_m_fpr_printed(double m, double n, double k, unsigned w_bar) {
    const double p = shbf_zero(m, n, k);
    return std::pow((1 - p) * (1 - p + p * p / (w_bar - 1)), k / 2);
}

double shbf_m_fpr_pair(double m, double n, double k, unsigned w_bar) {
    const double p = shbf_zero(m, n, k);
    const double both_zero = std::exp(-n * k / 2 * (4 / m - 1 / (m * (w_bar - 1))));
    return std::pow(1 - 2 * p + both_zero, k / 2);
}

double shbf_m_fpr_shared(double m, std::uint64_t n, double k, unsigned w_bar) {
    const auto elements = static_cast<double>(n);
    const double p = shbf_zero(m, elements, k);
    const double pairs = k / 2;
    // Return the rate if `same` elements have the query's offset.
    const auto rate = [&](double same) {
        return std::pow(1 - 2 * p + std::exp(-pairs * (4 * elements - same) / m), pairs);
    };
    if (w_bar == 2) {
        return rate(elements);
    }
    const double share = 1.0 / (w_bar - 1);
    const double mean = elements * share;
    const double reach = 12 * std::sqrt(mean) + 60;
    double sum = 0;
    for (double same = std::max(0.0, std::floor(mean - reach));
         same <= std::min(elements, mean + reach); same += 1) {
        const double weight = log_gamma(elements + 1) - log_gamma(same + 1) -
                              log_gamma(elements - same + 1) + same * std::log(share) +
                              (elements - same) * std::log1p(-share);
        sum += std::exp(weight) * rate(same);
    }
    return sum;
}

double bloom_fpr(double m, double n, double k) {
    return std::pow(1 - shbf_zero(m, n, k), k);
}

BloomOptimum shbf_m_optimum(unsigned w_bar) {
    return optimum_of([w_bar](long double load) {
        const long double p = std::exp(-load);
        return load / 2 * (std::log(1 - p) + std::log(1 - p + p * p / (w_bar - 1)));
    });
}

BloomOptimum bloom_optimum() {
    return optimum_of([](long double load) { return load * std::log(1 - std::exp(-load)); });
}

double shbf_zero_group(double m, double n, double k, unsigned t) {
    return std::pow(1 - (t + 1.0) / m, k * n / (t + 1));
}

// The printed quotient of differences of powers as a sum, which also holds for p = 0.
double shbf_group_match(double p, unsigned w_bar, unsigned t) {
    const double offsets = w_bar - 1.0;
    const double a = 1 - p;
    const double b = 1 - (offsets - t) / offsets * p;
    double sum = 0;
    for (unsigned i = 0; i < t; ++i) {
        sum += std::pow(a, i) * std::pow(b, t - 1 - i);
    }
    return a * a * sum / t + p * std::pow(b, t);
}

double shbf_fpr_printed(double m, double n, double k, unsigned w_bar, unsigned t) {
    const double p = shbf_zero(m, n, k);
    return std::pow((1 - p) * shbf_group_match(p, w_bar, t), k / (t + 1));
}

ShbfGroupModel::ShbfGroupModel(unsigned w_bar, unsigned t)
    : shifts_(static_cast<int>(t)), range_(static_cast<int>((w_bar - 1) / t)) {
    const double all = std::pow(range_, shifts_);
    const auto samples = static_cast<unsigned>(std::min<double>(all, kSamples));
    for (unsigned number = 0; number < samples; ++number) {
        const Offsets bits = sample(number, all <= kSamples ? 0 : samples);
        std::vector<double>& reach = reach_.emplace_back();
        for (unsigned subset = 0; subset < 2U << t; ++subset) {
            reach.push_back(reaching_positions(bits, subset));
        }
    }
}

// Return the offsets of one sample. If there are few combinations, the number's digits enumerate
// them. Else it is a point of a Kronecker sequence, even in every dimension: multiples of the
// powers of the root of x^(t + 1) = x + 1.
ShbfGroupModel::Offsets ShbfGroupModel::sample(unsigned number, unsigned samples) const {
    double root = 2;
    for (unsigned step = 0; step < 60; ++step) {
        root = std::pow(1 + root, 1.0 / (shifts_ + 1));
    }
    Offsets bits{0};
    double step = 1;
    for (int shift = 0; shift < shifts_; ++shift) {
        step /= root;
        int digit = static_cast<int>(number) % range_;
        if (samples != 0) {
            const double at = (number + 0.5) * step;
            digit = static_cast<int>((at - std::floor(at)) * range_);
        }
        number /= samples == 0 ? static_cast<unsigned>(range_) : 1;
        bits.push_back(shift * range_ + 1 + digit);
    }
    return bits;
}

// Return the mean number of positions from which a bit of an inserted group reaches the subset.
// From a position relative to the query's, its share is the part of its range taken by the subset.
double ShbfGroupModel::reaching_positions(const Offsets& bits, unsigned subset) const {
    double sum = 0;
    std::vector<int> in_range;
    for (int position = -shifts_ * range_; position <= shifts_ * range_; ++position) {
        in_range.assign(bits.size(), 0);
        for (std::size_t bit = 0; bit < bits.size(); ++bit) {
            const int distance = bits[bit] - position;
            if ((subset >> bit & 1) != 0 && distance >= 0 && distance <= shifts_ * range_) {
                ++in_range[static_cast<std::size_t>((distance + range_ - 1) / range_)];
            }
        }
        double misses = 1.0 - in_range[0];
        for (std::size_t shift = 1; shift < in_range.size(); ++shift) {
            misses *= 1 - static_cast<double>(in_range[shift]) / range_;
        }
        sum += 1 - misses;
    }
    return sum;
}

double ShbfGroupModel::fpr(double m, double n, double k) const {
    const double groups = k / (shifts_ + 1);
    double sum = 0;
    for (const std::vector<double>& reach : reach_) {
        double match = 0;
        for (std::size_t subset = 0; subset < reach.size(); ++subset) {
            const double all_zero = std::exp(-n * groups / m * reach[subset]);
            match += __builtin_popcountll(subset) % 2 == 0 ? all_zero : -all_zero;
        }
        sum += std::pow(std::max(match, 0.0), groups);
    }
    return sum / static_cast<double>(reach_.size());
}

AssociationOutcomes shbf_a_outcomes(unsigned k, double fill) {
    const double chance = std::pow(fill, k);
    return {(1 - chance) * (1 - chance), chance * (1 - chance), chance * chance};
}

double shbf_a_bits(double n1, double n2, double both, double k) {
    return (n1 + n2 - both) * k / kLn2;
}

double two_bloom_bits(double n1, double n2, double k) {
    return (n1 + n2) * k / kLn2;
}

double two_bloom_clear(unsigned k) {
    return 2.0 / 3 * (1 - std::pow(0.5, k));
}

double shbf_x_chance(double m, double n, double k) {
    return bloom_fpr(m, n, k);
}

double shbf_x_correct_absent(double m, double n, double k, unsigned c) {
    return std::pow(1 - shbf_x_chance(m, n, k), c);
}

double shbf_x_correct_smallest(double m, double n, double k, unsigned j) {
    return std::pow(1 - shbf_x_chance(m, n, k), j - 1.0);
}

double shbf_x_correct_largest(double m, double n, double k, unsigned c, unsigned j) {
    return std::pow(1 - shbf_x_chance(m, n, k), static_cast<double>(c) - j);
}

namespace {

// Limits of the filters.
constexpr unsigned kSetsMaxK = 64;
constexpr unsigned kMaxT = 8;
constexpr std::uint64_t kMaxM = std::uint64_t{1} << 45;
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 38;
constexpr double kMinRate = 1e-12;

Status check(bool allowed, const std::string& what, const std::string& range) {
    if (!allowed) {
        return fail(Errc::kInvalidArgument, "shbf: " + what + "; allowed: " + range);
    }
    return {};
}

Status check_elements(std::uint64_t n) {
    return check(n >= 1 && n <= kMaxElements, "n = " + std::to_string(n), "1 to 2^38");
}

// Written so that NaN is refused. The limit 1 - 1e-12 leaves a probability of kMinRate.
Status check_probability(const std::string& name, double value) {
    return check(value > 0 && value <= 1 - kMinRate, name + " = " + std::to_string(value),
                 "above 0, at most 1 - 1e-12");
}

// Return the fewest bits for the rate with k bits an element; kMaxM + 1 if none suffice.
std::uint64_t bits_for(const ShbfGroupModel& model, const ShbfMTargets& targets, unsigned k) {
    std::uint64_t low = 1;
    std::uint64_t high = kMaxM + 1;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const double fpr =
            model.fpr(static_cast<double>(middle), static_cast<double>(targets.n), k);
        if (fpr <= targets.max_fpr) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// Return the bits for fill x^(1 / k), at which another element matches with probability x.
double bits_for_chance(double elements, unsigned k, double chance) {
    return -static_cast<double>(k) * elements / std::log1p(-std::pow(chance, 1.0 / k));
}

Status check(const ShbfMTargets& targets) {
    UNECHO_TRY(check_elements(targets.n));
    if (const Status status = check(targets.max_fpr >= kMinRate && targets.max_fpr <= 0.5,
                                    "max_fpr = " + std::to_string(targets.max_fpr), "1e-12 to 0.5");
        !status) {
        return status;
    }
    if (const Status status = check(targets.t >= 1 && targets.t <= kMaxT,
                                    "t = " + std::to_string(targets.t), "1 to 8");
        !status) {
        return status;
    }
    return check(targets.w_bar > targets.t && targets.w_bar <= kMaxWBar,
                 "w_bar = " + std::to_string(targets.w_bar),
                 "t + 1 to " + std::to_string(kMaxWBar));
}

}  // namespace

Result<ShbfMGeometry> size_shbf_m(const ShbfMTargets& targets) {
    UNECHO_TRY(check(targets));
    const ShbfGroupModel model(targets.w_bar, targets.t);
    ShbfMGeometry best{.m = kMaxM + 1};
    for (unsigned k = targets.t + 1; k <= kSetsMaxK; k += targets.t + 1) {
        const std::uint64_t m = bits_for(model, targets, k);
        const bool fewer = static_cast<double>(m) * 1.01 < static_cast<double>(best.m);
        if (m <= kMaxM && (best.k == 0 || fewer)) {
            best = {m, k, model.fpr(static_cast<double>(m), static_cast<double>(targets.n), k)};
        }
    }
    if (best.k == 0) {
        return fail(Errc::kInvalidArgument, "shbf: more than 2^45 bits are needed");
    }
    return best;
}

Result<ShbfGeometry> size_shbf_a(std::uint64_t elements, double min_clear) {
    UNECHO_TRY(check_elements(elements));
    UNECHO_TRY(check_probability("min_clear", min_clear));
    unsigned k = 1;
    while (shbf_a_outcomes(k).clear < min_clear) {
        ++k;
    }
    return ShbfGeometry{
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(elements) * k / kLn2)), k};
}

Result<ShbfGeometry> size_shbf_x(std::uint64_t elements, unsigned c, double min_correct) {
    UNECHO_TRY(check_elements(elements));
    if (const Status status = check(c >= 1 && c <= kMaxWBar, "c = " + std::to_string(c),
                                    "1 to " + std::to_string(kMaxWBar));
        !status) {
        return tl::unexpected(status.error());
    }
    UNECHO_TRY(check_probability("min_correct", min_correct));
    // The probability for one of c multiplicities. Fill 1/2 is best: try the next k on either side.
    const double chance = -std::expm1(std::log(min_correct) / c);
    const auto n = static_cast<double>(elements);
    const auto below = static_cast<unsigned>(std::max(1.0, std::floor(-std::log2(chance))));
    const unsigned k = bits_for_chance(n, below, chance) <= bits_for_chance(n, below + 1, chance)
                           ? below
                           : below + 1;
    return ShbfGeometry{static_cast<std::uint64_t>(std::ceil(bits_for_chance(n, k, chance))), k};
}

}  // namespace unecho::sizing
