// SPDX-License-Identifier: BSD-3-Clause
// What a timing Bloom filter's timers say about a key, by Bayes' rule: the chance that it was
// inserted in the window, how long ago, and the answer that costs least. One formula a function,
// each with its equation in [ITD], "Inferential Time-Decaying Bloom Filters". Closed forms; what
// the paper leaves open (the posterior over ages, its mode and mean) is derived at its function.
//
// The model: key x comes with probability p at every insertion; I_x counts the insertions since its
// last, so that P(I_x = i) = p (1-p)^i. Blocks have B insertions, b of them have come in the
// present one, and a timer's age is in blocks. m timers, k hashes; D(j) distinct keys among j
// insertions. May not: learn anything by itself (filters/inferential_prior.h measures D and the
// echo share).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace unecho::sizing {

// --- Prior ---

// P(a <= I_x < b) (equation 5).
double prior_between(double p, double a, double b);
// The p of a key that is in a window of w insertions with the given chance (equation 5 solved):
// what turns a measured share of echoes into a prior.
double insertion_probability(double echo_share, double w);

// --- Distinct keys among j insertions ---

using Distinct = std::function<double(double)>;

double harmonic(std::uint64_t n);
// Keys of equal probability (equation 16).
double distinct_uniform(double j, double universe);
// Keys of probability proportional to 1/rank: exact sum (15), and an approximation that is usable
// for j well below universe * H * exp(-gamma), where it peaks (17).
double distinct_power_law(double j, std::uint64_t universe);
double distinct_power_law_approximate(double j, double universe, double harmonic);
// Between two known points, straight in logarithms (equation 18).
double interpolate_distinct(double j, double j1, double d1, double j3, double d3);

// A measured curve: D(1), D(2), D(4), ... with (18) in between, and beyond the last straight on.
class DistinctSamples {
  public:
    // At least two samples, positive and not decreasing.
    static Result<DistinctSamples> make(std::vector<double> at_powers_of_two);
    [[nodiscard]] double operator()(double j) const;

  private:
    explicit DistinctSamples(std::vector<double> samples) : samples_(std::move(samples)) {}
    std::vector<double> samples_;
};

// --- Classical Bloom filter ---

// m bits, n keys, k hashes, r distinct bits asked for (equation 1).
double bloom_false_positive(double m, unsigned k, double n, unsigned r);
// Theorem 1 (equation 13): the key is among the n insertions, c of its r bits being set.
double posterior_bloom(double p, double n, double false_positive, unsigned c, unsigned r);
// ... at fill 1/2, by bits per key (equation 14).
double posterior_bloom_half_full(double p, double n, double bits_per_key);

// --- Block Timing Bloom Filter ---

struct BlockModel {
    std::uint64_t w = 0;  // window, in insertions
    double p = 0;         // chance that an insertion is of the key
    std::uint64_t B = 1;  // insertions of a block
    std::uint64_t m = 0;  // timers
    unsigned k = 0;       // timers written by an insertion
    Distinct distinct;    // D(j)
};

// R_x at position b.
struct TimerState {
    std::optional<std::uint64_t> age;  // lambda_x, of the oldest timer; absent: expired
    unsigned c = 1;                    // c_x: timers of that age
    unsigned r = 1;                    // r_x: timers of the key
    std::uint64_t b = 0;               // insertions in the present block; above 0 if the age is 0
};

// Errc::kInvalidArgument unless 0 < p < 1, 1 <= B <= w, m and k at least 1, and D is there.
Status check(const BlockModel& model);

// The chance that one timer was written by any of the last j insertions.
double touched(const BlockModel& model, double j);
// F(r, c, j): of r timers, c given ones were not written by the last j insertions and the other
// r - c were (equation 21).
double agreement(const BlockModel& model, unsigned r, unsigned c, double j);
// The greatest age that a key of the window can show: ceil((w - b) / B).
std::uint64_t oldest_in_window(std::uint64_t w, std::uint64_t B, std::uint64_t b);
// P(R_x | I_x = i) (equations 22 and 24), up to a factor that is the same for all i.
double likelihood(const BlockModel& model, const TimerState& state, double i);

// P(I_x < w | R_x): Theorems 2 to 5.
double posterior(const BlockModel& model, const TimerState& state);

// P(I_x = i | R_x) (equation 10 with 22, 24).
double age_posterior(const BlockModel& model, const TimerState& state, double i);
// The same for any prior: element i of it is P(I_x = i), the last one the chance of that age or
// more. Empty if no age of the prior explains the state.
std::vector<double> age_posterior(const BlockModel& model, const TimerState& state,
                                  std::span<const double> prior);
// The age i with the greatest P(I_x = i | R_x).
double most_likely_age(const BlockModel& model, const TimerState& state);
// E[I_x | R_x].
double expected_age(const BlockModel& model, const TimerState& state);

// --- Decision (section 2.6) ---

// What the two mistakes cost.
struct Penalties {
    double false_positive = 1;  // "in the window" for a key that is not
    double false_negative = 1;
};

// True: "in the window" is expected to cost no more.
bool decide(double posterior, const Penalties& penalties);

// The posterior of one model for every state, ready to be looked up: F(c, 0, B) is computed once,
// and limits() gives decisions as tables of numbers.
class PosteriorTable {
  public:
    // Beyond these make() answers Errc::kInvalidArgument.
    static constexpr std::uint64_t kMaxAge = std::uint64_t{1} << 16;
    static constexpr std::uint64_t kMaxBlock = std::uint64_t{1} << 31;
    static constexpr unsigned kMaxHashes = 32;

    static Result<PosteriorTable> make(const BlockModel& model);

    [[nodiscard]] double posterior(const TimerState& state) const;

    // Rows of filter::DecisionTable: two limits for each age and c, row age * k + c - 1: "echo" at
    // positions below the first or from the second on. From age 1 on the posterior falls with b
    // (the block that the age names moves away), so that one limit is exact. At age 0 it may fall
    // and rise again; positions in between are "new", and in blocks of more than kScanned
    // positions up to B / kScanned at either end, too.
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
    std::uint64_t B = 0;  // smallest block whose numbers fit the timers
    std::uint64_t P = 0;  // smallest padding that lets k timers be visited an insertion
    std::uint64_t T = 0;  // T_max: greatest age of a timer, ceil(w / B) + 1 + P
};

// Timers for total_bits: bpt is max(3, k) unless given. Empty if not even B = w fits.
std::optional<BlockSizes> btbf_parameters(std::uint64_t w, std::uint64_t total_bits, unsigned k,
                                          std::optional<unsigned> bpt = std::nullopt);

}  // namespace unecho::sizing
