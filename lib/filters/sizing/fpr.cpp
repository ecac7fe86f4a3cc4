// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sizing/fpr.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.h"

namespace unecho::sizing {
namespace {

using std::numbers::ln2;

// Return the keys in segment i: i whole generations and the current one, but k once it is full.
double keys_in_segment(unsigned i, unsigned k, double g, Progress progress) {
    return i < k ? (i + progress) * g : k * g;
}

double integer_power(double base, unsigned exponent) {
    double result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
    }
    return result;
}

// The parts of a block. `larger` parts have one bit more than the other `smaller` ones.
struct Parts {
    Parts(unsigned B, unsigned b) : bits(B / b), larger(B % b), smaller(b - B % b) {
        UNECHO_ASSERT(b >= 1 && bits >= 2);
    }
    unsigned bits;
    unsigned larger;
    unsigned smaller;
};

// The match probability of a block, for loads that change by one key at a time.
class BlockMatch {
  public:
    BlockMatch(const Parts& parts, double load)
        : parts_(parts),
          clear_small_(1.0 - 1.0 / parts.bits),
          clear_large_(1.0 - 1.0 / (parts.bits + 1)),
          small_(std::pow(clear_small_, load)),
          large_(std::pow(clear_large_, load)) {}

    void add_key() {
        small_ *= clear_small_;
        large_ *= clear_large_;
    }
    void remove_key() {
        small_ /= clear_small_;
        large_ /= clear_large_;
    }
    [[nodiscard]] double value() const {
        return integer_power(1.0 - small_, parts_.smaller) *
               integer_power(1.0 - large_, parts_.larger);
    }

  private:
    Parts parts_;
    double clear_small_;  // probability that a bit stays clear when a key is added
    double clear_large_;
    double small_;  // probability that a bit is clear now
    double large_;
};

// Return the mean of block_match() over a distribution of loads. The distribution is given by its
// mode and the ratios up(n) = p(n + 1) / p(n) and down(n) = p(n - 1) / p(n). The sum goes outwards
// from the mode until the weights vanish, and is divided by them: no factorials, no lost digits.
template <typename Up, typename Down>
double mean_block_match(double mode, unsigned B, unsigned b, Up up, Down down) {
    constexpr double kNegligible = 1e-20;  // of the weight of the mode
    const BlockMatch at_mode({B, b}, mode);
    double weights = 1;
    double sum = at_mode.value();
    double weight = 1;
    BlockMatch match = at_mode;
    for (double n = mode; (weight *= up(n)) > kNegligible; n += 1) {
        match.add_key();
        weights += weight;
        sum += weight * match.value();
    }
    weight = 1;
    match = at_mode;
    for (double n = mode; n >= 1 && (weight *= down(n)) > kNegligible; n -= 1) {
        match.remove_key();
        weights += weight;
        sum += weight * match.value();
    }
    return sum / weights;
}

struct Outcome {
    double probability = 0;
    double accesses = 0;  // expected number of accesses, times the probability

    void add(const Outcome& other, double share) {
        probability += share * other.probability;
        accesses += share * other.accesses;
    }
    [[nodiscard]] double mean() const { return accesses / probability; }
};

struct Outcomes {
    Outcome echo;
    Outcome absent;
};

// Algorithm 1. From segment l on, count consecutive matches: k in a row mean that the key is
// present. On a mismatch at segment i after c matches, continue at segment i - k, where k - c
// matches would complete a run with the c known ones. Below segment 0 the key is absent. No segment
// is read twice. start[j][p] is the walk that begins a run at j with p matches known to follow it,
// so starts are processed from the oldest down. Accesses count from first_counted on.
Outcomes algorithm_1(unsigned k, unsigned l, const Profile& r, unsigned first_counted = 0) {
    std::vector<Outcome> start(std::size_t{l + 1} * k);
    const auto at = [&](unsigned j, unsigned p) -> Outcome& {
        return start[std::size_t{j} * k + p];
    };
    Outcomes result;
    at(l, 0).probability = 1;
    for (unsigned j = l + 1; j-- > 0;) {
        for (unsigned p = 0; p < k; ++p) {
            Outcome here = at(j, p);
            for (unsigned c = 0; c < k - p; ++c) {
                const unsigned i = j + c;
                here.accesses += i >= first_counted ? here.probability : 0;
                Outcome& miss = i < k ? result.absent : at(i - k, c);
                miss.add(here, 1 - r[i]);
                here = {here.probability * r[i], here.accesses * r[i]};
            }
            result.echo.add(here, 1);
        }
    }
    return result;
}

}  // namespace

double fill_ratio(double m, double n) {
    return m <= 1 ? (n > 0 ? 1.0 : 0.0) : -std::expm1(n * std::log1p(-1.0 / m));
}

unsigned bloom_slices(double false_positive_rate) {
    constexpr double kRounding = 1e-12;  // 2^-k itself needs k slices, not k + 1
    return static_cast<unsigned>(std::ceil(-std::log2(false_positive_rate) - kRounding));
}

double bloom_bits_per_key(unsigned k) {
    return k / ln2;
}

double bloom_accesses_absent(unsigned k) {
    double sum = 0;
    for (unsigned i = 1; i <= k; ++i) {
        sum += i * std::exp2(-static_cast<double>(i));
    }
    return sum / -std::expm1(-ln2 * k);
}

std::uint64_t generation_capacity(std::uint64_t m, unsigned k) {
    return static_cast<std::uint64_t>(static_cast<double>(m) * ln2 / k);
}

double bits_per_window_key(unsigned k, unsigned l) {
    return static_cast<double>(k + l) * k / (l * ln2);
}

double space_efficiency(unsigned k, unsigned l, double false_positive_rate) {
    return -std::log2(false_positive_rate) / k * l / (k + l);
}

Profile fills_linear(unsigned k, unsigned l) {
    Profile r(k + l);
    for (unsigned i = 0; i < k + l; ++i) {
        r[i] = std::min(i + 1, k) / (2.0 * k);
    }
    return r;
}

Profile fills_half(unsigned k, unsigned l, Progress progress) {
    Profile r(k + l);
    for (unsigned i = 0; i < k + l; ++i) {
        r[i] = -std::expm1(-ln2 * keys_in_segment(i, k, 1.0, progress) / k);
    }
    return r;
}

Profile fills(unsigned k, unsigned l, std::uint64_t m, std::uint64_t g, Progress progress) {
    Profile r(k + l);
    for (unsigned i = 0; i <= k; ++i) {
        r[i] = fill_ratio(static_cast<double>(m),
                          keys_in_segment(i, k, static_cast<double>(g), progress));
    }
    std::fill(r.begin() + k, r.end(), r[k]);
    return r;
}

double false_positive_rate(unsigned k, unsigned l, const Profile& r) {
    UNECHO_ASSERT(k >= 1 && r.size() == k + l);
    // f[a] = F(k, l, a, i): a matches end just before segment i. From the last segment down.
    std::vector<double> f(k + 1, 0.0);
    f[k] = 1;
    for (unsigned i = k + l; i-- > 0;) {
        const double broken = (1 - r[i]) * f[0];
        for (unsigned a = 0; a < k; ++a) {
            f[a] = r[i] * f[a + 1] + broken;
        }
    }
    return f[0];
}

double accesses_absent(unsigned k, unsigned l, const Profile& r) {
    return algorithm_1(k, l, r).absent.mean();
}

double accesses_false_positive(unsigned k, unsigned l, const Profile& r) {
    return algorithm_1(k, l, r).echo.mean();
}

double accesses_window(unsigned k, unsigned l, const Profile& r) {
    double sum = 0;
    for (unsigned j = 0; j < l; ++j) {
        Profile inserted = r;
        std::fill_n(inserted.begin() + j, k, 1.0);
        sum += algorithm_1(k, l, inserted).echo.mean();
    }
    return sum / l;
}

double segments_of_new_key(unsigned k, unsigned l, const Profile& r) {
    return k + algorithm_1(k, l, r, k).absent.mean();
}

double npws_half(unsigned k, unsigned l) {
    return 2 * -std::expm1(-ln2 * k) / l;
}

double npws(unsigned k, unsigned l, const Profile& r) {
    double sum = 0;
    double by_chance = 1;
    for (unsigned i = 0; i < k; ++i) {
        sum += by_chance;
        by_chance *= r[l + i];
    }
    return sum / l;
}

double slack_match(unsigned k, unsigned l, const Profile& r, unsigned i) {
    Profile inserted = r;
    std::fill(inserted.begin() + l + std::min(i, k), inserted.end(), 1.0);
    return false_positive_rate(k, l, inserted);
}

double block_capacity(unsigned B, unsigned b) {
    return ln2 / -std::log1p(-static_cast<double>(b) / B);
}

double relative_capacity(unsigned B, unsigned b) {
    return block_capacity(B, b) / (static_cast<double>(B) / b * ln2);
}

double block_match(double n, unsigned B, unsigned b) {
    const Parts parts(B, b);
    return integer_power(fill_ratio(parts.bits, n), parts.smaller) *
           integer_power(fill_ratio(parts.bits + 1, n), parts.larger);
}

double segment_match_poisson(double mean_load, unsigned B, unsigned b) {
    return mean_block_match(
        std::floor(mean_load), B, b, [=](double n) { return mean_load / (n + 1); },
        [=](double n) { return n / mean_load; });
}

double segment_match(std::uint64_t keys, std::uint64_t blocks, unsigned B, unsigned b) {
    const auto n = static_cast<double>(keys);
    if (blocks == 1) {
        return block_match(n, B, b);
    }
    const auto odds = 1.0 / static_cast<double>(blocks - 1);  // of falling into the block
    const double mode = std::floor((n + 1) / static_cast<double>(blocks));
    return mean_block_match(
        mode, B, b, [=](double i) { return (n - i) / (i + 1) * odds; },
        [=](double i) { return i / ((n - i + 1) * odds); });
}

Profile block_profile_poisson(unsigned k, unsigned l, unsigned B, unsigned b, double load) {
    Profile r(k + l);
    for (unsigned i = 0; i < k; ++i) {
        r[i] = segment_match_poisson(load * (i + 1) / k, B, b);
    }
    std::fill(r.begin() + k, r.end(), r[k - 1]);
    return r;
}

Profile block_profile(unsigned k, unsigned l, unsigned B, unsigned b, std::uint64_t blocks,
                      std::uint64_t g, Progress progress) {
    Profile r(k + l);
    std::uint64_t previous = 0;
    for (unsigned i = 0; i <= k; ++i) {
        const double mean = keys_in_segment(i, k, static_cast<double>(g), progress);
        const auto keys = static_cast<std::uint64_t>(std::round(mean));
        r[i] = i > 0 && keys == previous ? r[i - 1] : segment_match(keys, blocks, B, b);
        previous = keys;
    }
    std::fill(r.begin() + k, r.end(), r[k]);
    return r;
}

double bits_per_window_key(unsigned k, unsigned l, unsigned B, unsigned b) {
    return static_cast<double>(k + l) * B * k / (l * block_capacity(B, b));
}

double digest_collision(double n) {
    return std::ldexp(n, -64);
}

}  // namespace unecho::sizing
