// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/sets/slicing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace unecho::sizing::slicing {
namespace {

// Return 1 - (1 - 1/m)^throws: the probability that a given one of m bits is set.
double set_share(double m, double throws) {
    if (throws <= 0) {
        return 0;
    }
    return m <= 1 ? 1.0 : -std::expm1(throws * std::log1p(-1 / m));
}

double power(double base, unsigned exponent) {
    return std::pow(base, static_cast<double>(exponent));
}

double choose(unsigned n, unsigned r) {
    double result = 1;
    for (unsigned i = 1; i <= r; ++i) {
        result *= static_cast<double>(n - r + i) / i;
    }
    return result;
}

// Return the mean of value(i) for binomial i (n trials of probability q). Weights are relative to
// the most likely i, summed outwards until they vanish, then normalised. Nothing underflows.
template <typename Value>
double binomial_mean(double n, double q, Value value) {
    constexpr double kNegligible = 1e-18;
    if (q >= 1) {
        return value(n);
    }
    const double odds = q / (1 - q);
    const double mode = std::floor((n + 1) * q);
    double weights = 0;
    double sum = 0;
    const auto add = [&](double i, double weight) {
        weights += weight;
        sum += weight * value(i);
    };
    for (double i = mode, weight = 1; i <= n && weight > kNegligible; i += 1) {
        add(i, weight);
        weight *= (n - i) / (i + 1) * odds;
    }
    for (double i = mode - 1, weight = mode / ((n - mode + 1) * odds);
         i >= 0 && weight > kNegligible; i -= 1) {
        add(i, weight);
        weight *= i / ((n - i + 1) * odds);
    }
    return sum / weights;
}

// Return the probability of i hits, first <= i < end, in k trials; p: of a hit, q: of none.
double binomial_terms(unsigned first, unsigned end, unsigned k, double p, double q) {
    double sum = 0;
    for (unsigned i = first; i < end; ++i) {
        sum += choose(k, i) * power(p, i) * power(q, k - i);
    }
    return sum;
}

double printed_terms(unsigned first, unsigned k, double q) {
    double sum = 0;
    for (unsigned i = first; i <= k; ++i) {
        sum += power(q, i) * power(1 - q, k - i);
    }
    return sum;
}

// Ways to give ages to timers, by their number, as exponential generating functions up to degree k.
// In `below` no age occurs x times or more; in `reached` one does.
struct AgeSeries {
    explicit AgeSeries(unsigned k) : below(k + 1), reached(k + 1) { below[0] = 1; }

    // Add an age that a timer has with probability p: multiply both series by e^(p z). Its terms
    // from x on lead from `below` to `reached`.
    void add(double p, unsigned x) {
        for (std::size_t degree = below.size(); degree-- > 0;) {
            double stay = 0;
            double reach = 0;
            double term = 1;
            for (std::size_t j = 0; j <= degree; ++j) {
                (j < x ? stay : reach) += below[degree - j] * term;
                reach += reached[degree - j] * term;
                term *= p / static_cast<double>(j + 1);
            }
            below[degree] = stay;
            reached[degree] = reach;
        }
    }

    std::vector<double> below;
    std::vector<double> reached;
};

}  // namespace

double fpr(double m, unsigned k, double n) {
    return power(set_share(m, k * n), k);
}

double fill_limit(double m, unsigned k, double n) {
    return -std::expm1(-(k * n) / m);
}

double fpr_limit(double m, unsigned k, double n) {
    return power(fill_limit(m, k, n), k);
}

double fpr_horizontal(double m, unsigned k, unsigned S, double n) {
    return fpr(m / S, k, n / S);
}

double fpr_horizontal_loads(double m, unsigned k, unsigned S, std::uint64_t n) {
    return binomial_mean(static_cast<double>(n), 1.0 / S,
                         [=](double load) { return fpr(m / S, k, load); });
}

double fpr_diced(double m, unsigned k, unsigned S, unsigned S2, double n) {
    const double slices = static_cast<double>(S) * S2;
    return fpr(m / slices, k, n / slices);
}

double fpr_diced_hv_loads(double m, unsigned k, unsigned S, std::uint64_t n) {
    return fpr_horizontal_loads(m, k, S, n);
}

double fpr_diced_vh_loads(double m, unsigned k, unsigned S2, std::uint64_t n) {
    return fpr_horizontal_loads(m, k, S2, n);
}

double fpr_failed_horizontal(double f, double S, double rate) {
    return f / S + (1 - f / S) * rate;
}

double fpr_failed_vertical(double f, double S, double fill, unsigned k) {
    return power(f / S + (1 - f / S) * fill, k);
}

double fpr_unset_horizontal(double f, double S, double rate) {
    return (1 - f / S) * rate;
}

double fpr_unset_vertical(double f, double S, double fill, unsigned k) {
    return power((1 - f / S) * fill, k);
}

// (5) solved for S.
double fault_parameter_horizontal(double f, double rate, double allowed) {
    return f * (1 - rate) / (allowed - rate);
}

// (6) solved for S, with fill = rate^(1/k).
double fault_parameter_vertical(double f, double rate, double allowed, unsigned k) {
    const double fill = std::pow(rate, 1.0 / k);
    return f * (1 - fill) / (std::pow(allowed, 1.0 / k) - fill);
}

double fnr_unset_horizontal(double f, double S) {
    return f / S;
}

double fnr_unset_vertical(double f, double S, unsigned k) {
    return 1 - power(1 - f / S, k);
}

double fnr_unset_vertical_printed(double f, double S, unsigned k) {
    return printed_terms(1, k, f / S);
}

double fnr_hybrid(double f, double S, unsigned k, unsigned x) {
    const double q = f / S;
    return binomial_terms(k - x + 1, k + 1, k, q, 1 - q);
}

double fnr_hybrid_printed(double f, double S, unsigned k, unsigned x) {
    return printed_terms(k - x + 1, k, f / S);
}

double fpr_hybrid_strict(double f, double S, double fill, unsigned k, unsigned x) {
    const double q = f / S;
    return binomial_terms(x, k + 1, k, (1 - q) * fill, q);
}

double fpr_hybrid_literal(double f, double S, double fill, unsigned k, unsigned x) {
    const double q = (1 - f / S) * fill;
    return binomial_terms(x, k + 1, k, q, 1 - q);
}

double fpr_hybrid_printed(double f, double S, double fill, unsigned x) {
    return power((1 - f / S) * fill, x);
}

double contacted(unsigned S, unsigned k) {
    return S * set_share(S, k);
}

// Both slices of a pair are missed with probability (1 - 2/S)^k.
double contacted_variance(unsigned S, unsigned k) {
    const double missed = 1 - set_share(S, k);
    const double both = S > 1 ? power(1 - 2.0 / S, k) : 0;
    return std::max(0.0, S * (S - 1.0) * both + S * missed - S * S * missed * missed);
}

double fairness(std::span<const double> loads) {
    double sum = 0;
    double squares = 0;
    for (const double load : loads) {
        sum += load;
        squares += load * load;
    }
    return sum * sum / (static_cast<double>(loads.size()) * squares);
}

double largest_share(std::span<const double> loads) {
    return *std::max_element(loads.begin(), loads.end()) /
           std::accumulate(loads.begin(), loads.end(), 0.0);
}

double fairness_expected(unsigned S, double sum_of_squared_shares, unsigned k) {
    return 1 / (1 + (S - 1.0) * sum_of_squared_shares / k);
}

double fpr_all_timers_equal(double m, unsigned k) {
    return fpr_limit(m, k, 1);
}

// A timer has age a with probability p (1 - p)^a; p: that an insertion writes it.
double fpr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x) {
    const double p = set_share(m, k);
    AgeSeries ages(k);
    double age = p;
    for (std::uint64_t a = 0; a < w; ++a) {
        ages.add(age, x);
        age *= 1 - p;
    }
    double ways = ages.reached[k];
    for (unsigned i = 2; i <= k; ++i) {
        ways *= i;
    }
    return ways;
}

double fnr_equal_timers(double m, unsigned k, std::uint64_t w, unsigned x) {
    if (x <= 1) {
        return 0;
    }
    const double survives = 1 - set_share(m, k);
    double own = 1;
    double sum = 0;
    for (std::uint64_t a = 0; a < w; ++a) {
        sum += binomial_terms(0, x, k, own, 1 - own);
        own *= survives;
    }
    return sum / static_cast<double>(w);
}

double capacity(double m, unsigned k, double rate) {
    return -m / k * std::log1p(-std::pow(rate, 1.0 / k));
}

double bits(double n, unsigned k, double rate) {
    return -(k * n) / std::log1p(-std::pow(rate, 1.0 / k));
}

double density_limit(double m, unsigned k, double rate) {
    return m * std::pow(rate, 1.0 / k);
}

double fpr_chain(double rate, unsigned filters) {
    return -std::expm1(filters * std::log1p(-rate));
}

}  // namespace unecho::sizing::slicing
