// SPDX-License-Identifier: BSD-3-Clause
// Measured rates, messages and loads of sliced filters, timers, growing filters and Bloom trees,
// against their formulas and the simulations among the reference vectors.
#include "filters/sizing/sets/slicing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sets/bloom_tree.h"
#include "filters/sets/growing.h"
#include "filters/sets/sliced.h"
#include "filters/sets/sliced_timers.h"
#include "model.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/seed.h"
#include "support/slices.h"
#include "support/tree.h"
#include "support/vectors.h"

namespace unecho::test::slicing_test {
namespace {

using namespace filter;
namespace formula = sizing::slicing;

using Sliced = SlicedInstance<SlicedFilter, SlicedParams>;
using Timers = SlicedInstance<SlicedTimers, SlicedTimersParams>;

double real(std::uint64_t n) {
    return static_cast<double>(n);
}

// --- Predictions for a sliced filter ---

// Return the number of groups of slices; the bits of one key lie in one group.
unsigned groups_of(const SliceGeometry& g) {
    const bool named_first = g.slicing == Slicing::kHorizontal || g.slicing == Slicing::kDicedHv;
    return named_first ? g.S : g.S2;
}

// Return the false-positive rate of one table, over tables of n keys. A group is a filter with a
// binomial load. Its fill varies around the mean, which to second order raises the mean of its k-th
// power. Loads of groups are negatively correlated, so the deviation is an upper bound. failed:
// share of each group's slices that failed; their bits count as set.
Rate rate_of_tables(const SliceGeometry& g, std::uint64_t n, double tables, double failed = 0) {
    const double groups = groups_of(g);
    const double bits = real(g.m) / groups;
    const double k = g.k;
    const auto moment = [&](double load, double power) {
        const Fill fill = fill_of_bits(bits, k * load);
        const double mean = failed + (1 - failed) * fill.mean;
        const double variance = (1 - failed) * (1 - failed) * fill.variance;
        if (mean == 0) {
            return 0.0;
        }
        return std::pow(mean, power) * (1 + power * (power - 1) / 2 * variance / (mean * mean));
    };
    double mean = 0;
    double square = 0;
    if (groups == 1) {
        mean = moment(real(n), k);
        square = moment(real(n), 2 * k);
    } else {
        const double q = 1 / groups;
        for (double load = 0; load <= real(n); load += 1) {
            const double weight = std::exp(std::lgamma(real(n) + 1) - std::lgamma(load + 1) -
                                           std::lgamma(real(n) - load + 1) + load * std::log(q) +
                                           (real(n) - load) * std::log1p(-q));
            mean += weight * moment(load, k);
            square += weight * moment(load, 2 * k);
        }
    }
    return {mean, std::sqrt(std::max(0.0, square - mean * mean) / groups / tables)};
}

SliceGeometry cut(Slicing slicing, unsigned k, std::uint64_t m, unsigned S, unsigned S2 = 1) {
    return {.slicing = slicing, .k = k, .m = m, .S = S, .S2 = S2};
}

std::string text(const SliceGeometry& g) {
    return "slicing " + std::to_string(static_cast<int>(g.slicing)) + " k " + std::to_string(g.k) +
           " m " + std::to_string(g.m) + " S " + std::to_string(g.S) + " S' " +
           std::to_string(g.S2);
}

// Return twelve geometries of each slicing; diced ones take S and S' from the plain ones in turn.
std::vector<SliceGeometry> geometries(Slicing slicing) {
    const bool diced = slicing == Slicing::kDicedHv || slicing == Slicing::kDicedVh;
    std::vector<SliceGeometry> result;
    for (const auto& [k, S, cells] : {std::tuple{4U, 1U, 12'000U},
                                      {4U, 2U, 6'000U},
                                      {4U, 10U, 1'200U},
                                      {4U, 40U, 300U},
                                      {1U, 3U, 4'001U},
                                      {2U, 7U, 2'003U},
                                      {3U, 16U, 900U},
                                      {5U, 5U, 3'001U},
                                      {7U, 100U, 131U},
                                      {8U, 12U, 1'500U},
                                      {10U, 6U, 2'500U},
                                      {16U, 30U, 777U}}) {
        const unsigned S2 = diced ? 2 + k % 3 : 1;
        const unsigned per_slice = std::max(1U, cells / S2);
        result.push_back(cut(slicing, k, std::uint64_t{per_slice} * S * S2, S, S2));
    }
    return result;
}

class SlicedRates : public testing::TestWithParam<Slicing> {};

// At 1/4, 1/2, 1 and 2 times the load that fills to 1/2; also the messages of a query.
TEST_P(SlicedRates, false_positives_and_messages_as_predicted) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kTables = 30;
    constexpr unsigned kQueries = 2'500;
    for (const SliceGeometry& g : geometries(GetParam())) {
        SCOPED_TRACE(text(g));
        std::mt19937_64 random(seed());
        const auto half = static_cast<std::uint64_t>(0.6931 * real(g.m) / g.k);
        const std::vector<std::uint64_t> loads = {half / 4, half / 2, half, 2 * half};
        std::vector<std::uint64_t> positives(loads.size());
        std::uint64_t messages = 0;
        for (unsigned table = 0; table < kTables; ++table) {
            Sliced i(*SlicedParams::make({.geometry = g}));
            std::uint64_t inserted = 0;
            for (std::size_t phase = 0; phase < loads.size(); ++phase) {
                for (; inserted < loads[phase]; ++inserted) {
                    i.filter.insert(random());
                }
                const std::uint64_t before = i.filter.counters().messages;
                for (unsigned q = 0; q < kQueries; ++q) {
                    positives[phase] += i.filter.query(random()) ? 1 : 0;
                }
                messages += i.filter.counters().messages - before;
            }
        }
        for (std::size_t phase = 0; phase < loads.size(); ++phase) {
            const Rate rate = rate_of_tables(g, loads[phase], kTables);
            expect_count(positives[phase], counts_of(rate, kTables * kQueries),
                         "false positives at " + std::to_string(loads[phase]));
            const double predicted =
                formula::fpr_horizontal_loads(real(g.m), g.k, groups_of(g), loads[phase]);
            EXPECT_NEAR(rate.mean, predicted, 0.15 * predicted);  // to second order
        }
        const unsigned spread = g.slices() / groups_of(g);
        const double trials = kTables * kQueries * real(loads.size());
        const double away =
            kDeviations * std::sqrt(trials * formula::contacted_variance(spread, g.k));
        EXPECT_NEAR(real(messages), trials * formula::contacted(spread, g.k), away + 0.5);
    }
}

INSTANTIATE_TEST_SUITE_P(all, SlicedRates,
                         testing::Values(Slicing::kHorizontal, Slicing::kVertical,
                                         Slicing::kDicedHv, Slicing::kDicedVh));

// --- Failures: slicing_faults ---

constexpr unsigned kFaultTables = 40;
constexpr unsigned kFaultQueries = 10'000;

// Counts of foreign digests answered "echo", and of inserted ones answered "new", over all tables.
struct FaultCounts {
    std::uint64_t vertical_set = 0;
    std::uint64_t vertical_unset = 0;
    std::uint64_t horizontal_set = 0;
    std::uint64_t horizontal_unset = 0;
    std::uint64_t vertical_lost = 0;
    std::uint64_t horizontal_lost = 0;
    std::vector<std::uint64_t> strict;  // index: x
    std::vector<std::uint64_t> literal;
    std::vector<std::uint64_t> lost;
};

// Several filters over the same slices, one for each policy.
class Faults {
  public:
    Faults(unsigned k, std::uint64_t m, unsigned S)
        : k_(k),
          vertical_(params(Slicing::kVertical, m, S)),
          horizontal_(params(Slicing::kHorizontal, m, S)) {
        for (unsigned x = 1; x <= k; ++x) {
            at_least_.emplace_back(
                *SlicedParams::make({.geometry = cut(Slicing::kVertical, k, m, S),
                                     .failed = FailedCells::kAtLeast,
                                     .x = x}),
                vertical_.sites.slices());
        }
        for (auto [slicing, sites] : {std::pair{Slicing::kVertical, &vertical_.sites},
                                      {Slicing::kHorizontal, &horizontal_.sites}}) {
            unset_.emplace_back(*SlicedParams::make({.geometry = cut(slicing, k, m, S),
                                                     .failed = FailedCells::kUnset}),
                                sites->slices());
        }
    }

    // Fill anew; no slice has failed.
    void fill(std::uint64_t n, std::mt19937_64& random) {
        fail(0);
        vertical_.filter.clear();
        horizontal_.filter.clear();
        inserted_.clear();
        for (; n > 0; --n) {
            inserted_.push_back(random());
            vertical_.filter.insert(inserted_.back());
            horizontal_.filter.insert(inserted_.back());
        }
    }
    void fail(unsigned f) {
        for (unsigned slice = 0; slice < vertical_.params.geometry().S; ++slice) {
            for (SlicedFilter* filter : {&vertical_.filter, &horizontal_.filter}) {
                slice < f ? filter->fail(slice) : filter->restore(slice);
            }
        }
    }
    void measure(FaultCounts& counts, std::mt19937_64& random) {
        counts.strict.resize(k_ + 1);
        counts.literal.resize(k_ + 1);
        counts.lost.resize(k_ + 1);
        for (unsigned q = 0; q < kFaultQueries; ++q) {
            const Digest digest = random();
            counts.vertical_set += vertical_.filter.query(digest) ? 1 : 0;
            counts.horizontal_set += horizontal_.filter.query(digest) ? 1 : 0;
            counts.vertical_unset += unset_[0].query(digest) ? 1 : 0;
            counts.horizontal_unset += unset_[1].query(digest) ? 1 : 0;
            const unsigned set = vertical_.filter.probe(digest).set;
            for (unsigned x = 1; x <= k_; ++x) {
                counts.strict[x] += at_least_[x - 1].query(digest) ? 1 : 0;
                counts.literal[x] += set >= x ? 1 : 0;
            }
        }
        for (const Digest digest : inserted_) {
            counts.vertical_lost += unset_[0].query(digest) ? 0 : 1;
            counts.horizontal_lost += unset_[1].query(digest) ? 0 : 1;
            for (unsigned x = 1; x <= k_; ++x) {
                counts.lost[x] += at_least_[x - 1].query(digest) ? 0 : 1;
            }
        }
    }

  private:
    [[nodiscard]] SlicedParams params(Slicing slicing, std::uint64_t m, unsigned S) const {
        return *SlicedParams::make({.geometry = cut(slicing, k_, m, S)});
    }

    unsigned k_;
    Sliced vertical_;
    Sliced horizontal_;
    std::vector<SlicedFilter> at_least_;
    std::vector<SlicedFilter> unset_;  // vertical, horizontal
    std::vector<Digest> inserted_;
};

// Return the mean and deviation of a rate of(fill) over tables whose fill varies.
template <typename Of>
Rate over_fills(const Fill& fill, double tables, Of of) {
    const double h = 1e-5;
    const double slope = (of(fill.mean + h) - of(fill.mean - h)) / (2 * h);
    return {of(fill.mean), std::abs(slope) * std::sqrt(fill.variance / tables)};
}

// Compares a run with a row of the vectors: the one count whose quantity the row names.
class FaultRow {
  public:
    FaultRow(const Row& row, const FaultCounts& found, const Rate& horizontal)
        : row_(row),
          found_(found),
          k_(row.whole("k")),
          x_(row.has("x") ? row.whole("x") : 0),
          f_(row.real("f")),
          S_(row.real("S")),
          inserted_(kFaultTables * row.real("n")),
          fill_(fill_of_bits(row.real("m"), k_ * row.real("n"))),
          horizontal_(horizontal) {}

    // Return true if the row names exactly one known quantity.
    bool check() {
        vertical();
        horizontal();
        if (x_ != 0) {
            heuristic();
        }
        return compared_ == 1;
    }

  private:
    // The vectors' run: 40 tables with so many queries each.
    static constexpr double kForeignOfVectors = 40 * 40'000;
    static constexpr double kInsertedOfVectors = 40 * 5'000;

    void vertical() {
        foreign("fp vertical, failed = set (eq 6)", found_.vertical_set,
                [&](double p) { return formula::fpr_failed_vertical(f_, S_, p, k_); });
        foreign("fp vertical, failed = distinct", found_.vertical_unset,
                [&](double p) { return formula::fpr_unset_vertical(f_, S_, p, k_); });
        inserted("fn vertical, failed = distinct", found_.vertical_lost,
                 formula::fnr_unset_vertical(f_, S_, k_));
    }
    void horizontal() {
        foreign(
            "fp horizontal, failed = duplicate (eq 5)", found_.horizontal_set,
            Rate{formula::fpr_failed_horizontal(f_, S_, horizontal_.mean), horizontal_.deviation});
        foreign(
            "fp horizontal, failed = distinct", found_.horizontal_unset,
            Rate{formula::fpr_unset_horizontal(f_, S_, horizontal_.mean), horizontal_.deviation});
        inserted("fn horizontal, failed = distinct", found_.horizontal_lost,
                 formula::fnr_unset_horizontal(f_, S_));
    }
    void heuristic() {
        inserted("fn of >= x alive", found_.lost[x_], formula::fnr_hybrid(f_, S_, k_, x_));
        foreign("fp of >= x alive and no alive 0", found_.strict[x_],
                [&](double p) { return formula::fpr_hybrid_strict(f_, S_, p, k_, x_); });
        foreign("fp of >= x alive and set, zeros ignored", found_.literal[x_],
                [&](double p) { return formula::fpr_hybrid_literal(f_, S_, p, k_, x_); });
    }

    template <typename OfFill>
    void foreign(const char* name, std::uint64_t count, OfFill of_fill) {
        foreign(name, count, over_fills(fill_, kFaultTables, of_fill));
    }
    void foreign(const char* name, std::uint64_t count, const Rate& rate) {
        compare(name, count, kFaultTables * kFaultQueries, rate, kForeignOfVectors);
    }
    void inserted(const char* name, std::uint64_t count, double rate) {
        compare(name, count, inserted_, {rate, 0}, kInsertedOfVectors);
    }

    void compare(const std::string& name, std::uint64_t count, double trials, const Rate& rate,
                 double trials_of_vectors) {
        if (row_.text("quantity ") != name) {
            return;
        }
        ++compared_;
        const std::string what = name + " f " + row_.text("f") + " x " + row_.text("x");
        expect_count(count, counts_of(rate, trials), what);
        // If the vectors' run found none or few, its own error is unreliable.
        const double least = std::sqrt(rate.mean * (1 - rate.mean) / trials_of_vectors);
        const double error = std::max(least, row_.real("simulated_stderr"));
        expect_count(count,
                     counts_of({row_.real("simulated"), std::hypot(rate.deviation, error)}, trials),
                     what + ", simulated");
    }

    const Row& row_;
    const FaultCounts& found_;
    unsigned k_;
    unsigned x_;
    double f_;
    double S_;
    double inserted_;
    Fill fill_;
    Rate horizontal_;
    unsigned compared_ = 0;
};

TEST(slicing_faults, rates_are_the_derived_ones_and_the_vectors) {
    SCOPED_TRACE(seed_note());
    const std::vector<Row> rows = vectors("slicing_faults");
    ASSERT_GE(rows.size(), 90u);
    const std::uint64_t n = rows[0].whole("n");
    const unsigned k = rows[0].whole("k");
    const std::uint64_t m = rows[0].whole("m");
    const unsigned S = rows[0].whole("S");
    std::mt19937_64 random(seed());
    Faults faults(k, m, S);
    std::map<unsigned, FaultCounts> counts = {{0, {}}, {4, {}}, {8, {}}};
    for (unsigned table = 0; table < kFaultTables; ++table) {
        faults.fill(n, random);
        for (auto& [f, count] : counts) {
            faults.fail(f);
            faults.measure(count, random);
        }
    }
    const Rate horizontal = rate_of_tables(cut(Slicing::kHorizontal, k, m, S), n, kFaultTables);
    for (const Row& row : rows) {
        ASSERT_EQ(std::tuple(row.whole("n"), row.whole("k"), row.whole("m"), row.whole("S")),
                  std::tuple(n, k, m, S));
        EXPECT_TRUE(FaultRow(row, counts.at(row.whole("f")), horizontal).check())
            << row.text("quantity ");
    }
}

// Return the false positives of diced filters, some of whose slices have failed.
std::uint64_t positives_with_failures(const SliceGeometry& g, std::uint64_t n,
                                      const std::vector<unsigned>& failed) {
    std::mt19937_64 random(seed());
    std::uint64_t positives = 0;
    for (unsigned table = 0; table < kFaultTables; ++table) {
        Sliced i(*SlicedParams::make({.geometry = g}));
        for (std::uint64_t key = 0; key < n; ++key) {
            i.filter.insert(random());
        }
        for (const unsigned slice : failed) {
            i.filter.fail(slice);
        }
        for (unsigned q = 0; q < kFaultQueries; ++q) {
            positives += i.filter.query(random()) ? 1 : 0;
        }
    }
    return positives;
}

// (7): every group loses one slice. For diced v-h this is one whole site of the outer cut.
TEST(slicing_faults, diced_groups_that_lose_a_slice_each) {
    SCOPED_TRACE(seed_note());
    for (const SliceGeometry& g :
         {cut(Slicing::kDicedHv, 4, 20'000, 10, 4), cut(Slicing::kDicedHv, 8, 30'000, 6, 5),
          cut(Slicing::kDicedHv, 3, 9'000, 3, 20), cut(Slicing::kDicedHv, 6, 24'000, 4, 2),
          cut(Slicing::kDicedHv, 5, 12'600, 9, 7), cut(Slicing::kDicedVh, 4, 20'000, 10, 4),
          cut(Slicing::kDicedVh, 8, 30'000, 6, 5), cut(Slicing::kDicedVh, 3, 9'000, 3, 20),
          cut(Slicing::kDicedVh, 6, 24'000, 4, 2), cut(Slicing::kDicedVh, 5, 12'600, 9, 7)}) {
        const bool hv = g.slicing == Slicing::kDicedHv;
        std::vector<unsigned> failed;
        for (unsigned group = 0; group < groups_of(g); ++group) {
            failed.push_back(hv ? group * g.S2 + group % g.S2 : group);
        }
        const auto n = static_cast<std::uint64_t>(0.5 * real(g.m) / g.k);
        const double share = real(failed.size()) / g.slices();
        const Rate rate = rate_of_tables(g, n, kFaultTables, share);
        expect_count(positives_with_failures(g, n, failed),
                     counts_of(rate, kFaultTables * kFaultQueries), text(g));
        const double seven = formula::fpr_failed_vertical(
            real(failed.size()), g.slices(), formula::fill_limit(real(g.m), g.k, real(n)), g.k);
        EXPECT_NEAR(rate.mean, seven, 0.1 * seven) << text(g);
    }
}

// For diced h-v a whole site of the outer cut is a horizontal slice: (5).
TEST(slicing_faults, a_diced_group_lost_as_a_whole) {
    SCOPED_TRACE(seed_note());
    for (const auto& [k, m, S, S2] :
         {std::tuple{4U, 20'000U, 10U, 4U}, {8U, 30'000U, 6U, 5U}, {3U, 9'000U, 3U, 20U}}) {
        const SliceGeometry g = cut(Slicing::kDicedHv, k, m, S, S2);
        std::vector<unsigned> failed(S2);
        std::iota(failed.begin(), failed.end(), S2);
        const auto n = static_cast<std::uint64_t>(0.5 * m / k);
        const Rate whole = rate_of_tables(g, n, kFaultTables);
        const Rate rate = {formula::fpr_failed_horizontal(1, S, whole.mean), whole.deviation};
        expect_count(positives_with_failures(g, n, failed),
                     counts_of(rate, kFaultTables * kFaultQueries), text(g));
    }
}

// --- Load: slicing_fairness_sim ---

// Mean and deviation of the mean.
struct Sample {
    void add(double value) { values.push_back(value); }
    [[nodiscard]] double mean() const {
        return std::accumulate(values.begin(), values.end(), 0.0) / real(values.size());
    }
    // Variance of one value.
    [[nodiscard]] double variance() const {
        double sum = 0;
        for (const double value : values) {
            sum += (value - mean()) * (value - mean());
        }
        return sum / (real(values.size()) - 1);
    }
    std::vector<double> values;
};

// Return how often each item occurs among the events.
std::vector<double> draw(const std::string& distribution, unsigned events, unsigned domain,
                         std::mt19937_64& random) {
    std::vector<double> weights;
    for (unsigned item = 1; item <= domain; ++item) {
        weights.push_back(distribution == "uniform" ? 1.0 : 1.0 / item);
    }
    std::discrete_distribution<unsigned> item(weights.begin(), weights.end());
    std::vector<double> counts(domain);
    for (unsigned event = 0; event < events; ++event) {
        counts[item(random)] += 1;
    }
    return counts;
}

// Loads over rounds, with other digests for the same items in each.
struct Loads {
    void add(const SliceMap& map, unsigned S, const std::vector<double>& counts,
             std::mt19937_64& random) {
        std::vector<double> loads(S);
        for (const double count : counts) {
            for (const CellPlace& place : map.places(random())) {
                loads[place.slice] += count;
            }
        }
        index.add(formula::fairness(loads));
        reciprocal.add(1 / index.values.back());
        largest.add(formula::largest_share(loads));
    }
    static constexpr unsigned kRounds = 60;
    Sample index;
    Sample reciprocal;
    Sample largest;
};

// Compare the loads measured for these item counts with a row of the vectors.
void expect_loads(const Row& row, unsigned k, const std::vector<double>& counts,
                  const Loads& loads) {
    constexpr double kRoundsOfVectors = 30;
    const std::string what =
        row.text("distribution") + " " + row.text("slicing") + " S " + row.text("S");
    const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
    double squares = 0;
    for (const double count : counts) {
        squares += count / n * (count / n);
    }
    const double expected = formula::fairness_expected(row.whole("S"), squares, k);
    EXPECT_NEAR(loads.reciprocal.mean(), 1 / expected,
                kDeviations * std::sqrt(loads.reciprocal.variance() / Loads::kRounds))
        << what;
    // Both are means over rounds of their own draws, so compare their distances from the formula.
    const double both = 1 / kRoundsOfVectors + 1.0 / Loads::kRounds;
    EXPECT_NEAR(loads.index.mean() - expected,
                row.real("fairness_simulated") - row.real("fairness_formula 1/(1+(S-1)*sum p^2/k)"),
                kDeviations * std::sqrt(loads.index.variance() * both))
        << what;
    // The largest share follows that of the most frequent item, which differs between two draws.
    const double top = *std::max_element(counts.begin(), counts.end()) / n;
    EXPECT_NEAR(loads.largest.mean(), row.real("largest_share_simulated"),
                kDeviations * std::sqrt(loads.largest.variance() * both + 2 * top * (1 - top) / n))
        << what;
}

TEST(slicing_fairness, loads_are_as_fair_as_derived_and_as_the_vectors) {
    SCOPED_TRACE(seed_note());
    const std::vector<Row> rows = vectors("slicing_fairness_sim");
    ASSERT_GE(rows.size(), 42u);
    std::mt19937_64 random(seed());
    std::map<std::string, std::vector<double>> events;
    std::map<std::tuple<std::string, std::string, unsigned>, Loads> loads;
    for (const Row& row : rows) {
        const std::string& distribution = row.text("distribution");
        const std::string& slicing = row.text("slicing");
        const unsigned S = row.whole("S");
        const bool vertical = slicing != "horizontal";
        const unsigned k = vertical ? slicing.back() - '0' : 1;
        std::vector<double>& counts = events[distribution];
        if (counts.empty()) {
            counts = draw(distribution, row.whole("events"), row.whole("domain"), random);
        }
        const SliceMap map(
            cut(vertical ? Slicing::kVertical : Slicing::kHorizontal, k, std::uint64_t{S} * 50, S));
        const auto [measured, fresh] = loads.try_emplace({distribution, slicing, S});
        for (unsigned round = 0; fresh && round < Loads::kRounds; ++round) {
            measured->second.add(map, S, counts, random);
        }
        expect_loads(row, k, counts, measured->second);
    }
}

// The filter's own counters agree with the map.
TEST(slicing_fairness, a_filter_books_its_accesses) {
    const SliceGeometry g = cut(Slicing::kVertical, 4, 4000, 10);
    Sliced i(*SlicedParams::make({.geometry = g}));
    std::vector<std::uint64_t> expected(10);
    for (Digest digest = 0; digest < 500; ++digest) {
        i.filter.query(digest);
        for (const CellPlace& place : SliceMap(g).places(digest)) {
            ++expected[place.slice];
        }
    }
    std::vector<double> loads;
    for (unsigned slice = 0; slice < 10; ++slice) {
        ASSERT_EQ(i.filter.slices()[slice].accesses, expected[slice]);
        loads.push_back(real(expected[slice]));
    }
    EXPECT_GT(formula::fairness(loads), 0.95);
}

// --- Timers ---

// Phases: a quarter of the first window, all of it, and three windows later.
TEST(slicing_timers, false_positives_as_predicted) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kTables = 30;
    constexpr unsigned kQueries = 2'500;
    for (const auto& [slicing, k, S, S2, cells, w] :
         {std::tuple{Slicing::kVertical, 8U, 1U, 1U, 8'000U, 700U},
          {Slicing::kVertical, 8U, 4U, 1U, 2'000U, 1'000U},
          {Slicing::kVertical, 4U, 5U, 1U, 1'000U, 600U},
          {Slicing::kVertical, 1U, 3U, 1U, 777U, 900U},
          {Slicing::kHorizontal, 4U, 5U, 1U, 1'000U, 900U},
          {Slicing::kHorizontal, 6U, 20U, 1U, 300U, 500U},
          {Slicing::kHorizontal, 3U, 2U, 1U, 3'001U, 1'200U},
          {Slicing::kDicedHv, 5U, 4U, 3U, 500U, 800U},
          {Slicing::kDicedHv, 7U, 8U, 4U, 300U, 950U},
          {Slicing::kDicedVh, 4U, 4U, 3U, 500U, 950U},
          {Slicing::kDicedVh, 10U, 10U, 2U, 700U, 1'000U}}) {
        const SliceGeometry g = cut(slicing, k, std::uint64_t{cells} * S * S2, S, S2);
        SCOPED_TRACE(text(g));
        std::mt19937_64 random(seed());
        const std::vector<std::uint64_t> phases = {w / 4, w, 4 * w};
        std::vector<std::uint64_t> positives(phases.size());
        for (unsigned table = 0; table < kTables; ++table) {
            Timers i(*SlicedTimersParams::make(
                {.geometry = g, .w = w, .clock = TimerClock::kInsertions}));
            for (std::size_t phase = 0; phase < phases.size(); ++phase) {
                while (i.filter.now() < phases[phase]) {
                    i.filter.insert(random());
                }
                for (unsigned q = 0; q < kQueries; ++q) {
                    positives[phase] += i.filter.query(random()) ? 1 : 0;
                }
            }
        }
        for (std::size_t phase = 0; phase < phases.size(); ++phase) {
            const std::uint64_t n = std::min<std::uint64_t>(phases[phase], w);
            expect_count(positives[phase],
                         counts_of(rate_of_tables(g, n, kTables), kTables * kQueries),
                         "after " + std::to_string(phases[phase]) + " insertions");
        }
    }
}

// Results of filters in steady state, by x: foreign digests taken for echoes, and digests of the
// window answered as new.
struct EqualTimers {
    EqualTimers(unsigned w, unsigned m, unsigned k) : fp(k + 1), fn(k + 1) {
        std::mt19937_64 random(seed());
        const SlicedTimersParams params =
            *SlicedTimersParams::make({.geometry = cut(Slicing::kVertical, k, m, 4),
                                       .w = w,
                                       .x = 2,
                                       .clock = TimerClock::kInsertions});
        for (unsigned table = 0; table < kTables; ++table) {
            Timers i(params);
            std::vector<Digest> inserted;
            while (inserted.size() < 3 * w) {
                inserted.push_back(random());
                i.filter.insert(inserted.back());
            }
            std::vector<double> echoes(k + 1);
            std::vector<double> kept(k + 1);
            const auto count = [&](Digest digest, std::vector<double>& into) {
                const SlicedTimers::Probe found = i.filter.probe(digest);
                for (unsigned x = 1; found.young == k && x <= std::max(1U, found.equal); ++x) {
                    into[x] += 1;
                }
            };
            for (unsigned q = 0; q < kQueries; ++q) {
                count(random(), echoes);
            }
            for (unsigned age = 0; age < w; ++age) {
                count(inserted[inserted.size() - 1 - age], kept);
            }
            for (unsigned x = 1; x <= k; ++x) {
                fp[x].add(echoes[x] / kQueries);
                fn[x].add(1 - kept[x] / w);
            }
        }
    }

    static constexpr unsigned kTables = 60;
    static constexpr unsigned kQueries = 10'000;
    std::vector<Sample> fp;
    std::vector<Sample> fn;
};

TEST(slicing_timers, equal_timers_as_the_vectors_and_near_the_estimates) {
    SCOPED_TRACE(seed_note());
    // The vectors' run has four consecutive windows, and so many foreign digests.
    constexpr double kWindowsOfVectors = 4;
    constexpr double kQueriesOfVectors = 798'000;
    const double both = 1 / kWindowsOfVectors + 1.0 / EqualTimers::kTables;
    const std::vector<Row> rows = vectors("slicing_equal_timers_sim");
    ASSERT_GE(rows.size(), 20u);
    std::map<std::tuple<unsigned, unsigned, unsigned>, EqualTimers> runs;
    for (const Row& row : rows) {
        const unsigned w = row.whole("w");
        const unsigned m = row.whole("m");
        const unsigned k = row.whole("k");
        const unsigned x = row.whole("k' timers that must be equal");
        const auto run = runs.try_emplace({w, m, k}, w, m, k).first;
        const Sample& fp = run->second.fp[x];
        const Sample& fn = run->second.fn[x];
        const std::string what = "w " + row.text("w") + " m " + row.text("m") + " k " +
                                 row.text("k") + " x " + std::to_string(x);
        const double p = formula::fpr_equal_timers(m, k, w, x);
        const double q = formula::fnr_equal_timers(m, k, w, x);
        EXPECT_NEAR(fp.mean(), row.real("fp_simulated"),
                    kDeviations * std::sqrt(fp.variance() * both + p / kQueriesOfVectors))
            << what;
        EXPECT_NEAR(fn.mean(), row.real("fn_simulated"),
                    kDeviations * std::sqrt(fn.variance() * both))
            << what;
        const double trials = EqualTimers::kTables * EqualTimers::kQueries;
        const double deviation = std::sqrt(fp.variance() / EqualTimers::kTables);
        const double slack = x == 1 ? 0 : 0.15;
        expect_count(static_cast<std::uint64_t>(std::llround(fp.mean() * trials)),
                     {counts_of({p * (1 - slack), deviation}, trials).low,
                      counts_of({p * (1 + slack), deviation}, trials).high},
                     what);
        EXPECT_NEAR(fn.mean(), q,
                    0.03 * q + kDeviations * std::sqrt(fn.variance() / EqualTimers::kTables))
            << what;
    }
}

// --- Growth ---

struct Chain {
    unsigned k;
    unsigned m;
    unsigned filters;
    double target;  // of each filter
};

constexpr unsigned kChainTables = 30;
constexpr unsigned kChainQueries = 5'000;

GrowingParams params_of(const Chain& chain, GrowBy by) {
    const double limit = by == GrowBy::kDensity
                             ? formula::density_limit(chain.m, chain.k, chain.target)
                             : formula::capacity(chain.m, chain.k, chain.target);
    return *GrowingParams::make({.k = chain.k,
                                 .m = chain.m,
                                 .filters = chain.filters,
                                 .by = by,
                                 .limit = static_cast<std::uint64_t>(limit)});
}

// Return true if the last filter that fits into the arena is full.
bool all_full(const GrowingFilter& filter) {
    const std::uint64_t limit = filter.params().limit();
    return filter.filters() == filter.params().filters() &&
           (filter.params().by() == GrowBy::kDensity ? filter.youngest_set_bits() > limit
                                                     : filter.youngest_insertions() == limit);
}

std::uint64_t false_positives_when_full(const GrowingParams& params) {
    std::mt19937_64 random(seed());
    std::uint64_t positives = 0;
    for (unsigned table = 0; table < kChainTables; ++table) {
        FilterMemory memory(GrowingFilter::bytes(params));
        GrowingFilter filter(params, memory.span());
        while (!all_full(filter)) {
            filter.insert(random());
        }
        EXPECT_EQ(filter.counters().overfull, 0U);
        for (unsigned q = 0; q < kChainQueries; ++q) {
            positives += filter.query(random()) ? 1 : 0;
        }
    }
    return positives;
}

// By cardinality, a full filter is a plain one at capacity. By density, it exceeds the limit by 1
// to k.
Counts allowed_when_full(const GrowingParams& params) {
    const double filters = params.filters();
    const double trials = kChainTables * kChainQueries;
    if (params.by() == GrowBy::kDensity) {
        const auto with = [&](double beyond) -> Rate {
            const double fill = (real(params.limit()) + beyond) / real(params.m());
            return {formula::fpr_chain(std::pow(fill, params.k()), params.filters()), 0};
        };
        return {counts_of(with(1), trials).low, counts_of(with(params.k()), trials).high};
    }
    const Rate one = rate_of_tables(cut(Slicing::kVertical, params.k(), params.m(), 1),
                                    params.limit(), kChainTables * filters);
    return counts_of({formula::fpr_chain(one.mean, params.filters()), filters * one.deviation},
                     trials);
}

TEST(slicing_growth, a_chain_has_the_rate_of_its_filters_together) {
    SCOPED_TRACE(seed_note());
    for (const Chain& chain : {Chain{4, 8'000, 1, 0.02},
                               {4, 8'000, 4, 0.02},
                               {7, 5'003, 2, 0.01},
                               {2, 3'001, 3, 0.05},
                               {1, 9'000, 5, 0.03},
                               {5, 2'500, 8, 0.01},
                               {10, 6'000, 3, 0.002},
                               {3, 12'345, 10, 0.02},
                               {6, 4'000, 6, 0.08},
                               {8, 7'001, 7, 0.005}}) {
        for (const GrowBy by : {GrowBy::kCardinality, GrowBy::kDensity}) {
            const std::string what = "k " + std::to_string(chain.k) + " m " +
                                     std::to_string(chain.m) + " filters " +
                                     std::to_string(chain.filters) +
                                     (by == GrowBy::kDensity ? " density" : " cardinality");
            const GrowingParams params = params_of(chain, by);
            const Counts allowed = allowed_when_full(params);
            expect_count(false_positives_when_full(params), allowed, what);
            // The limit fits the target.
            const double planned =
                formula::fpr_chain(chain.target, chain.filters) * kChainTables * kChainQueries;
            EXPECT_LT(allowed.low, planned) << what;
            EXPECT_GT(allowed.high, planned) << what;
        }
    }
}

// --- Trees ---

// Two levels; a bit of the root stands for a part of a bit of a leaf (c root bits to each). The
// chance that a root bit and the bits of some leaves are all clear is known exactly. It gives the
// chance that all are set, and so the rates of one leaf and of two at once, which bound the rate of
// any leaf.
struct TwoLevels {
    unsigned sites;
    unsigned k;
    double leaf_bits;
    double c;
    double keys;  // for each site

    // Return the chance that, for one hash, the root's bits and those of `leaves` leaves are all
    // set.
    [[nodiscard]] double all_set(unsigned leaves) const {
        const double leaf = std::pow(1 - 1 / leaf_bits, k * keys);
        const double root = std::pow(1 - 1 / (c * leaf_bits), k * keys);
        double sum = 0;
        for (unsigned clear = 0; clear <= leaves; ++clear) {
            const double sign = clear % 2 == 0 ? 1 : -1;
            const double ways = clear == 1 ? leaves : 1;
            sum += sign * ways * std::pow(leaf, clear) * (1 - std::pow(root, sites - clear));
        }
        return sum;
    }
    [[nodiscard]] double most() const { return sites * std::pow(all_set(1), k); }
    [[nodiscard]] double least() const {
        return most() - sites * (sites - 1.0) / 2 * std::pow(all_set(2), k);
    }
};

TEST(slicing_trees, false_positives_of_two_levels_as_predicted) {
    SCOPED_TRACE(seed_note());
    constexpr unsigned kTables = 30;
    constexpr unsigned kQueries = 10'000;
    for (const TwoLevels& shape : {TwoLevels{1, 4, 4000, 1, 500},
                                   {2, 4, 4000, 2, 600},
                                   {3, 4, 4000, 3, 400},
                                   {4, 5, 3000, 4, 300},
                                   {5, 3, 5000, 5, 500},
                                   {8, 6, 2000, 8, 200},
                                   {4, 4, 4000, 1, 150},
                                   {6, 2, 8000, 3, 300},
                                   {10, 5, 2500, 10, 250},
                                   {16, 7, 1500, 16, 150}}) {
        const auto leaf = static_cast<std::uint64_t>(shape.leaf_bits);
        const auto root = static_cast<std::uint64_t>(shape.c * shape.leaf_bits);
        std::mt19937_64 random(seed());
        std::uint64_t positives = 0;
        for (unsigned table = 0; table < kTables; ++table) {
            Tree t({.fanout = shape.sites, .levels = 2, .k = shape.k, .m = {root, leaf}});
            for (unsigned site = 0; site < shape.sites; ++site) {
                for (double key = 0; key < shape.keys; key += 1) {
                    t.tree.insert(site, random());
                }
            }
            for (unsigned q = 0; q < kQueries; ++q) {
                positives += t.tree.query(random()) ? 1 : 0;
            }
        }
        // A leaf's rate varies between tables as that of a plain filter.
        const Rate plain =
            rate_of_tables(cut(Slicing::kVertical, shape.k, leaf, 1),
                           static_cast<std::uint64_t>(shape.keys), kTables * shape.sites);
        const double relative = plain.deviation / plain.mean;
        const double trials = kTables * kQueries;
        const Counts allowed = {counts_of({shape.least(), relative * shape.least()}, trials).low,
                                counts_of({shape.most(), relative * shape.most()}, trials).high};
        const std::string what = "sites " + std::to_string(shape.sites) + " k " +
                                 std::to_string(shape.k) + " c " + std::to_string(shape.c);
        expect_count(positives, allowed, what);
        EXPECT_GT(shape.least(), 0.5 * shape.most()) << what;
        EXPECT_GT(allowed.low, 30) << what;
    }
}

}  // namespace
}  // namespace unecho::test::slicing_test
