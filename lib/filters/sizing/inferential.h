// SPDX-License-Identifier: BSD-3-Clause
// Inference from a timing Bloom filter's timers by Bayes' rule: the probability that a key was
// inserted in the window, how long ago, and the answer that costs least. One formula a function,
// each with its equation in [ITD], "Inferential Time-Decaying Bloom Filters". All are closed forms;
// the posterior over ages, its mode and mean, which the paper leaves open, are derived here.
//
// The model: an insertion is of key x with probability p. I_x counts the insertions since the last
// of x, so P(I_x = i) = p (1-p)^i. Blocks have B insertions, b of which have come in the present
// one, and a timer's age is in blocks. There are m timers and k hashes; j insertions have D(j)
// distinct keys. filters/inferential_prior.h measures D and the share of echoes; nothing here does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace unecho::sizing {

// --- Prior ---

// Return P(a <= I_x < b) (equation 5).
double prior_between(double p, double a, double b);
// Return the p of a key that is in a window of w insertions with the given probability (equation 5,
// solved). It turns a measured share of echoes into a prior.
double insertion_probability(double echo_share, double w);

// --- Distinct keys among j insertions ---

using Distinct = std::function<double(double)>;

double harmonic(std::uint64_t n);
// For keys of equal probability (equation 16).
double distinct_uniform(double j, double universe);
// For keys with probability proportional to 1/rank: the exact sum (15), and an approximation (17).
// The latter is usable for j well below its peak at universe * H * exp(-gamma).
double distinct_power_law(double j, std::uint64_t universe);
double distinct_power_law_approximate(double j, double universe, double harmonic);
// Interpolate between two known points, linearly in logarithms (equation 18).
double interpolate_distinct(double j, double j1, double d1, double j3, double d3);

// A measured curve: D(1), D(2), D(4), ... interpolated by (18), and extrapolated likewise.
class DistinctSamples {
  public:
    // The samples must be at least two, positive, and not decreasing.
    static Result<DistinctSamples> make(std::vector<double> at_powers_of_two);
    [[nodiscard]] double operator()(double j) const;

  private:
    explicit DistinctSamples(std::vector<double> samples) : samples_(std::move(samples)) {}
    std::vector<double> samples_;
};

// --- Classical Bloom filter ---

// For m bits, n keys, k hashes and r distinct bits queried (equation 1).
double bloom_false_positive(double m, unsigned k, double n, unsigned r);
// Theorem 1 (equation 13): the key is among the n insertions, given that c of its r bits are set.
double posterior_bloom(double p, double n, double false_positive, unsigned c, unsigned r);
// The same at fill 1/2, by bits per key (equation 14).
double posterior_bloom_half_full(double p, double n, double bits_per_key);

// --- Block Timing Bloom Filter ---

struct BlockModel {
    std::uint64_t w = 0;  // window, in insertions
    double p = 0;         // probability that an insertion is of the key
    std::uint64_t B = 1;  // insertions of a block
    std::uint64_t m = 0;  // timers
    unsigned k = 0;       // timers written by an insertion
    Distinct distinct;    // D(j)
};

// R_x: the state of a key's timers, at position b.
struct TimerState {
    std::optional<std::uint64_t> age;  // lambda_x, age of the oldest timer; absent: expired
    unsigned c = 1;                    // c_x: timers of that age
    unsigned r = 1;                    // r_x: distinct timers of the key
    std::uint64_t b = 0;               // insertions in the present block; above 0 if the age is 0
};

// Return Errc::kInvalidArgument unless 0 < p < 1, 1 <= B <= w, m >= 1, k >= 1, and D is set.
Status check(const BlockModel& model);

// Return the probability that one timer was written by any of the last j insertions.
double touched(const BlockModel& model, double j);
// Return F(r, c, j): the probability that, of r timers, c given ones were not written by the last j
// insertions and the other r - c were (equation 21).
double agreement(const BlockModel& model, unsigned r, unsigned c, double j);
// Return the greatest age that a key of the window can show: ceil((w - b) / B).
std::uint64_t oldest_in_window(std::uint64_t w, std::uint64_t B, std::uint64_t b);
// Return P(R_x | I_x = i) (equations 22 and 24), up to a factor that does not depend on i.
double likelihood(const BlockModel& model, const TimerState& state, double i);

// Return P(I_x < w | R_x): Theorems 2 to 5.
double posterior(const BlockModel& model, const TimerState& state);

// Return P(I_x = i | R_x) (equation 10 with 22, 24).
double age_posterior(const BlockModel& model, const TimerState& state, double i);
// The same for any prior. prior[i] is P(I_x = i), and its last element the probability of that age
// or more. Return an empty vector if no age of the prior explains the state.
std::vector<double> age_posterior(const BlockModel& model, const TimerState& state,
                                  std::span<const double> prior);
// Return the age i with the greatest P(I_x = i | R_x).
double most_likely_age(const BlockModel& model, const TimerState& state);
// Return E[I_x | R_x].
double expected_age(const BlockModel& model, const TimerState& state);

// --- Decision (section 2.6) ---

// Costs of the two mistakes.
struct Penalties {
    double false_positive = 1;  // "in the window" for a key that is not
    double false_negative = 1;
};

// Return true if "in the window" is expected to cost no more than the other answer.
bool decide(double posterior, const Penalties& penalties);

// Posteriors of one model for all states, with F(c, 0, B) computed once. limits() turns decisions
// into a table of numbers.
class PosteriorTable {
  public:
    // Limits: beyond these make() returns Errc::kInvalidArgument.
    static constexpr std::uint64_t kMaxAge = std::uint64_t{1} << 16;
    static constexpr std::uint64_t kMaxBlock = std::uint64_t{1} << 31;
    static constexpr unsigned kMaxHashes = 32;

    static Result<PosteriorTable> make(const BlockModel& model);

    [[nodiscard]] double posterior(const TimerState& state) const;

    // Return the rows of filter::DecisionTable: two limits for each age and c, row age * k + c - 1.
    // The answer is "echo" at positions below the first limit or from the second on. From age 1 on
    // the posterior falls with b, because the block that the age names moves away; so one limit is
    // exact. At age 0 it may fall and rise again. Positions in between are "new"; in blocks of more
    // than kScanned positions so are up to B / kScanned positions at either end.
    [[nodiscard]] std::vector<std::uint32_t> limits(const Penalties& penalties) const;
    static constexpr std::uint64_t kScanned = std::uint64_t{1} << 16;

  private:
    struct Limits {
        std::uint32_t below;
        std::uint32_t from;
    };

    explicit PosteriorTable(const BlockModel& model);
    [[nodiscard]] Limits limits_of_present_block(unsigned c, const Penalties& penalties) const;
    [[nodiscard]] Limits limits_of_age(std::uint64_t age, unsigned c,
                                       const Penalties& penalties) const;

    BlockModel model_;
    std::vector<double> rewritten_;  // F(c, 0, B) by c
};

// --- Sizes (section 5.1.2) ---

struct BlockSizes {
    std::uint64_t m = 0;  // timers
    unsigned bpt = 0;     // bits of a timer
    std::uint64_t B = 0;  // smallest block for which the timers have enough values
    std::uint64_t P = 0;  // smallest padding for which k visited timers an insertion suffice
    std::uint64_t T = 0;  // T_max: greatest age of a timer, ceil(w / B) + 1 + P
};

// Return the sizes for total_bits; bpt is max(3, k) unless given. Empty if not even B = w fits.
std::optional<BlockSizes> btbf_parameters(std::uint64_t w, std::uint64_t total_bits, unsigned k,
                                          std::optional<unsigned> bpt = std::nullopt);

}  // namespace unecho::sizing
