// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/baseline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "base/log_gamma.h"

namespace unecho::sizing {

namespace {

constexpr double kNegligible = 1e-18;

// Distribution of the number of set bits among `bits`, after random bits were set one by one.
class Occupancy {
  public:
    explicit Occupancy(unsigned bits) : bits_(bits), of_(bits + 1, 0.0) { of_[0] = 1; }

    void set_one() {
        for (unsigned set = bits_; set > 0; --set) {
            of_[set] = of_[set] * set / bits_ + of_[set - 1] * (bits_ - set + 1) / bits_;
        }
        of_[0] = 0;
    }

    // Return the mean of (share of set bits)^k.
    [[nodiscard]] double moment(unsigned k) const {
        double sum = 0;
        for (unsigned set = 1; set <= bits_; ++set) {
            sum += of_[set] * std::pow(static_cast<double>(set) / bits_, k);
        }
        return sum;
    }

  private:
    unsigned bits_;
    std::vector<double> of_;
};

// Return the mean of rate(load) over a Poisson load. Calls rate() with 0, 1, 2, ... in order.
template <typename Rate>
double poisson_mean(double mean_load, Rate rate) {
    double sum = 0;
    for (unsigned load = 0;; ++load) {
        const double weight =
            std::exp(load * std::log(mean_load) - mean_load - log_gamma(load + 1.0));
        sum += weight * rate(load);
        if (load > mean_load && weight < kNegligible) {
            return sum;
        }
    }
}

}  // namespace

double bloom_rate(double m, double n, unsigned k) {
    return std::pow(fill_ratio(m, n * k), k);
}

double bloom_rate_exact(unsigned m, std::uint64_t n, unsigned k) {
    Occupancy occupancy(m);
    for (std::uint64_t i = 0; i < n * k; ++i) {
        occupancy.set_one();
    }
    return occupancy.moment(k);
}

double partitioned_rate(double m, double n, unsigned k) {
    return std::pow(fill_ratio(m / k, n), k);
}

double blocked_rate(double mean_load, unsigned B, unsigned k) {
    if (mean_load <= 0) {
        return 0;
    }
    Occupancy occupancy(B);
    return poisson_mean(mean_load, [&](unsigned load) {
        for (unsigned i = 0; load > 0 && i < k; ++i) {
            occupancy.set_one();
        }
        return occupancy.moment(k);
    });
}

double blocked_rate_mean_fill(double mean_load, unsigned B, unsigned k) {
    if (mean_load <= 0) {
        return 0;
    }
    return poisson_mean(mean_load, [&](unsigned load) { return bloom_rate(B, load, k); });
}

double counting_overflow(double m, double n, unsigned k) {
    constexpr double kReach = 16;
    return std::min(1.0, m * std::pow(std::numbers::e * n * k / (kReach * m), kReach));
}

double double_buffering_rate(double m, double g, unsigned k, Progress progress) {
    return bloom_rate(m, g + progress * g, k);
}

double rotating_rate(double younger, double older) {
    return 1 - (1 - younger) * (1 - older);
}

double a2_rate(double m, double g, unsigned k, Progress progress) {
    return rotating_rate(bloom_rate(m, progress * g, k), bloom_rate(m, g, k));
}

double rotating_blocked_rate(std::uint64_t blocks, double g, unsigned k, Progress progress) {
    constexpr unsigned kBlockBits = 512;
    const double load = g / static_cast<double>(blocks);
    return rotating_rate(blocked_rate(progress * load, kBlockBits, k),
                         blocked_rate(load, kBlockBits, k));
}

double forgetful_rate(double m, double g, unsigned k, Progress progress) {
    const double past = bloom_rate(m, 2 * g, k);
    const double present = bloom_rate(m, g + progress * g, k);
    const double future = bloom_rate(m, progress * g, k);
    return past + (1 - past) * present * future;
}

double stable_zeroes(double m, unsigned k, unsigned max, double P) {
    return std::pow(1 / (1 + 1 / (P * (1.0 / k - 1 / m))), max);
}

double stable_rate(double m, unsigned k, unsigned max, double P) {
    return std::pow(1 - stable_zeroes(m, k, max, P), k);
}

double stable_decrements(double m, unsigned k, unsigned max, double rate) {
    const double zeroes = 1 - std::pow(rate, 1.0 / k);
    return 1 / ((1 / std::pow(zeroes, 1.0 / max) - 1) * (1.0 / k - 1 / m));
}

double swamp_rate(double W, unsigned f) {
    return -std::expm1(W * std::log1p(-std::exp2(-static_cast<double>(f))));
}

double swamp_bound(double W, unsigned f) {
    return W * std::exp2(-static_cast<double>(f));
}

double count_min_error(double w, double N) {
    return std::numbers::e / w * N;
}

double count_min_failure(unsigned d) {
    return std::exp(-static_cast<double>(d));
}

double count_min_exceeds(std::uint64_t w, unsigned d, std::uint64_t n, std::uint64_t j) {
    if (j >= n) {
        return 0;
    }
    if (w == 1) {
        return 1;
    }
    const auto trials = static_cast<double>(n);
    const double log_hit = -std::log(static_cast<double>(w));
    const double log_miss = std::log1p(-1 / static_cast<double>(w));
    double at_most = 0;  // at most j of the n others fall into the digest's counter
    for (std::uint64_t i = 0; i <= j; ++i) {
        const auto hits = static_cast<double>(i);
        at_most +=
            std::exp(log_gamma(trials + 1) - log_gamma(hits + 1) - log_gamma(trials - hits + 1) +
                     hits * log_hit + (trials - hits) * log_miss);
    }
    return std::pow(std::max(0.0, 1 - at_most), d);
}

double ibf_clear(double first_rate, double second_rate) {
    return (2 - first_rate - second_rate) / 3;
}

}  // namespace unecho::sizing
