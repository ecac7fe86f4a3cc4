// SPDX-License-Identifier: BSD-3-Clause
// The baseline filters' rates against their formulas (filters/sizing/baseline.h).
//
// Tables differ in fill, so queries of one table are not independent trials. Each check uses many
// independent tables. The mean of their rates must be within Student's t times its standard error.
#include "filters/sizing/baseline.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/papers/a2_buffering.h"
#include "filters/papers/blocked_bloom.h"
#include "filters/papers/bloom.h"
#include "filters/papers/count_min.h"
#include "filters/papers/counting_bloom.h"
#include "filters/papers/double_buffering.h"
#include "filters/papers/forgetful_bloom.h"
#include "filters/papers/one_mem_bloom.h"
#include "filters/papers/partitioned_bloom.h"
#include "filters/papers/rotating_blocked.h"
#include "filters/papers/stable_bloom.h"
#include "filters/papers/swamp.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test::baseline_test {
namespace {

using namespace filter::baseline;

// Return Student's t for 1 - kAlpha / 2 (Cornish-Fisher expansion, within 1 % from 40 degrees on).
double student(double freedom) {
    const double z = kDeviations;
    const double z3 = z * z * z;
    const double z5 = z3 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

// Expect the mean of shares from independent tables to be `expected`.
void expect_mean(const std::vector<double>& shares, double expected, const std::string& what) {
    const auto tables = static_cast<double>(shares.size());
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / tables;
    double squares = 0;
    for (const double share : shares) {
        squares += (share - mean) * (share - mean);
    }
    const double deviation = std::sqrt(squares / (tables - 1) / tables);
    ASSERT_GT(mean, 6 * deviation) << what << ": too few to say";
    EXPECT_NEAR(mean, expected, student(tables - 1) * deviation) << what;
}

template <typename Filter, typename Params>
struct Table {
    explicit Table(const Params& given)
        : params(given), memory(Filter::bytes(params)), filter(params, memory.span()) {}
    Params params;
    FilterMemory memory;
    Filter filter;
};

// How much is measured. Small tables differ more, so there are more of them.
struct Effort {
    unsigned tables = 64;
    unsigned queries = 60'000;
};
constexpr Effort kSmallTables{4000, 1500};

class Rates {
  public:
    explicit Rates(Effort effort = {}) : effort_(effort), random_(seed()) {}

    std::mt19937_64& random() { return random_; }
    template <typename Filter>
    void insert(Filter& filter, std::uint64_t digests) {
        for (std::uint64_t i = 0; i < digests; ++i) {
            filter.insert(random_());
        }
    }
    // Return the share of random digests for which ask(digest) is true.
    template <typename Ask>
    double share(Ask ask) {
        unsigned matches = 0;
        for (unsigned i = 0; i < effort_.queries; ++i) {
            matches += ask(random_()) ? 1 : 0;
        }
        return static_cast<double>(matches) / effort_.queries;
    }
    template <typename Filter>
    double matches(const Filter& filter) {
        return share([&](Digest digest) { return filter.query(digest); });
    }
    // Return one measurement for each table.
    template <typename Measure>
    std::vector<double> over_tables(Measure measure) {
        std::vector<double> shares(effort_.tables);
        for (double& share : shares) {
            share = measure();
        }
        return shares;
    }

  private:
    Effort effort_;
    std::mt19937_64 random_;
};

// --- Sets ---

// load: digests, relative to the load that fills half of the bits.
struct SetCase {
    std::uint64_t m;
    unsigned k;
    double load;

    [[nodiscard]] std::uint64_t digests() const {
        return static_cast<std::uint64_t>(load * static_cast<double>(m) * std::numbers::ln2 / k);
    }
    [[nodiscard]] std::string text() const {
        return "m " + std::to_string(m) + " k " + std::to_string(k) + " load " +
               std::to_string(load);
    }
};

template <typename Filter, typename Params, typename Predict>
void check_set(const SetCase& c, Predict predict, Effort effort = {}) {
    SCOPED_TRACE(seed_note());
    Rates rates(effort);
    const auto params = *Params::make({.m = c.m, .k = c.k});
    const auto shares = rates.over_tables([&] {
        Table<Filter, Params> table(params);
        rates.insert(table.filter, c.digests());
        return rates.matches(table.filter);
    });
    expect_mean(shares, predict(c), c.text());
}

double predicted_bloom(const SetCase& c) {
    return sizing::bloom_rate(static_cast<double>(c.m), static_cast<double>(c.digests()), c.k);
}

TEST(bloom, rate_is_as_predicted) {
    for (const SetCase& c :
         {SetCase{20'000, 2, 1}, SetCase{30'011, 5, 0.6}, SetCase{20'000, 8, 1.5}}) {
        check_set<Bloom, BloomParams>(c, predicted_bloom);
    }
}

TEST(bloom, rate_of_small_filters_is_the_exact_one) {
    const auto exact = [](const SetCase& c) {
        return sizing::bloom_rate_exact(static_cast<unsigned>(c.m), c.digests(), c.k);
    };
    for (const SetCase& c : {SetCase{64, 6, 1}, SetCase{100, 4, 1}, SetCase{128, 10, 1.5}}) {
        check_set<Bloom, BloomParams>(c, exact, kSmallTables);
    }
}

TEST(partitioned_bloom, rate_is_as_predicted) {
    const auto predict = [](const SetCase& c) {
        return sizing::partitioned_rate(static_cast<double>(c.m), static_cast<double>(c.digests()),
                                        c.k);
    };
    for (const SetCase& c :
         {SetCase{20'000, 2, 1}, SetCase{30'010, 5, 0.6}, SetCase{20'000, 8, 1.5}}) {
        check_set<PartitionedBloom, PartitionedBloomParams>(c, predict);
    }
    check_set<PartitionedBloom, PartitionedBloomParams>({70, 7, 1}, predict, kSmallTables);
}

// The load of a block is binomial; from 400 blocks on, Poisson is as good.
TEST(blocked_bloom, rate_is_as_predicted) {
    const auto predict = [](const SetCase& c) {
        return sizing::blocked_rate(
            512.0 * static_cast<double>(c.digests()) / static_cast<double>(c.m), 512, c.k);
    };
    for (const SetCase& c :
         {SetCase{512 * 401, 4, 1}, SetCase{512 * 500, 8, 1.4}, SetCase{512 * 400, 3, 0.5}}) {
        check_set<BlockedBloom, BlockedBloomParams>(c, predict);
    }
}

double predicted_one_mem(const SetCase& c) {
    return sizing::blocked_rate(64.0 * static_cast<double>(c.digests()) / static_cast<double>(c.m),
                                64, c.k);
}

TEST(one_mem_bloom, rate_is_as_predicted) {
    for (const SetCase& c :
         {SetCase{64 * 3001, 4, 1}, SetCase{64 * 3000, 8, 0.5}, SetCase{64 * 3000, 16, 1.5}}) {
        check_set<OneMemBloom, OneMemBloomParams>(c, predicted_one_mem);
    }
}

// Half of the digests are erased again; the rate is then that of the rest.
TEST(counting_bloom, rate_is_that_of_what_is_left) {
    for (const SetCase& c : {SetCase{20'000, 2, 1}, SetCase{10'007, 6, 0.7}}) {
        SCOPED_TRACE(seed_note());
        Rates rates;
        const auto params = *CountingBloomParams::make({.m = c.m, .k = c.k});
        const auto shares = rates.over_tables([&] {
            Table<CountingBloom, CountingBloomParams> table(params);
            std::vector<Digest> erased(c.digests());
            for (Digest& digest : erased) {
                digest = rates.random()();
                table.filter.insert(digest);
            }
            rates.insert(table.filter, c.digests());
            for (const Digest digest : erased) {
                EXPECT_TRUE(table.filter.erase(digest));
            }
            return rates.matches(table.filter);
        });
        expect_mean(shares, predicted_bloom(c), c.text());
    }
}

// --- Windows ---

// load: digests a generation, relative to the load that fills half of one array.
template <typename Filter, typename Params, typename Predict>
void check_window(const SetCase& c, Predict predict, unsigned generations) {
    SCOPED_TRACE(seed_note());
    Rates rates({.tables = 50, .queries = 20'000});
    const auto params = *Params::make({.m = c.m, .k = c.k});
    const std::uint64_t half = c.digests() / 2;
    std::array<std::vector<double>, 3> shares;  // of the same tables, at three phases
    rates.over_tables([&] {
        Table<Filter, Params> table(params);
        for (unsigned generation = 0; generation < generations; ++generation) {
            table.filter.advance({.generation = generation});
            rates.insert(table.filter, 2 * half);
        }
        table.filter.advance({.generation = generations});
        for (unsigned halves = 0; halves < shares.size(); ++halves) {
            rates.insert(table.filter, halves == 0 ? 0 : half);
            shares.at(halves).push_back(rates.matches(table.filter));
        }
        return shares.front().back();
    });
    for (unsigned halves = 0; halves < shares.size(); ++halves) {
        expect_mean(shares.at(halves), predict(c, static_cast<double>(2 * half), halves / 2.0),
                    c.text() + " phase " + std::to_string(halves) + "/2 after " +
                        std::to_string(generations));
    }
}

const std::vector<SetCase> kWindowCases{{20'000, 2, 0.5}, {30'011, 6, 0.5}};

TEST(double_buffering, rate_is_as_predicted) {
    for (const SetCase& c : kWindowCases) {
        for (const unsigned generations : {1U, 4U}) {
            check_window<DoubleBuffering, BloomParams>(
                c,
                [](const SetCase& s, double g, double phase) {
                    return sizing::double_buffering_rate(static_cast<double>(s.m), g, s.k, phase);
                },
                generations);
        }
    }
}

TEST(a2_buffering, rate_is_as_predicted) {
    for (const SetCase& c : kWindowCases) {
        for (const unsigned generations : {1U, 4U}) {
            check_window<A2Buffering, BloomParams>(
                c,
                [](const SetCase& s, double g, double phase) {
                    return sizing::a2_rate(static_cast<double>(s.m), g, s.k, phase);
                },
                generations);
        }
    }
}

TEST(rotating_blocked, rate_is_as_predicted) {
    for (const SetCase& c : {SetCase{512 * 150, 2, 0.5}, SetCase{512 * 180, 8, 1}}) {
        for (const unsigned generations : {1U, 4U}) {
            check_window<RotatingBlocked, BlockedBloomParams>(
                c,
                [](const SetCase& s, double g, double phase) {
                    return sizing::rotating_blocked_rate(s.m / 512, g, s.k, phase);
                },
                generations);
        }
    }
}

// Each of the three filters is the future one once.
TEST(forgetful_bloom, rate_is_as_predicted) {
    for (const SetCase& c :
         {SetCase{20'000, 1, 0.5}, SetCase{30'011, 3, 1}, SetCase{20'000, 8, 1}}) {
        for (const unsigned generations : {2U, 3U, 4U}) {
            check_window<ForgetfulBloom, BloomParams>(
                c,
                [](const SetCase& s, double g, double phase) {
                    return sizing::forgetful_rate(static_cast<double>(s.m), g, s.k, phase);
                },
                generations);
        }
    }
}

struct StableCase {
    std::uint64_t m;
    unsigned k;
    unsigned max;
    std::uint64_t P;
};

// The table is stable once cells were decremented many times max; then the stable rate holds.
TEST(stable_bloom, rate_settles_as_predicted) {
    for (const StableCase& c : {StableCase{20'000, 1, 1, 5}, StableCase{10'007, 2, 1, 2},
                                StableCase{4'000, 6, 3, 40}, StableCase{2'000, 2, 15, 40}}) {
        SCOPED_TRACE(seed_note());
        Rates rates({.tables = 100, .queries = 20'000});
        std::uint64_t table_number = 0;
        const auto shares = rates.over_tables([&] {
            const auto params = *StableParams::make(
                {.m = c.m, .k = c.k, .max = c.max, .P = c.P, .seed = ++table_number});
            Table<StableBloom, StableParams> table(params);
            rates.insert(table.filter, 3 * (c.max + 4) * c.m / c.P);
            return rates.matches(table.filter);
        });
        expect_mean(
            shares,
            sizing::stable_rate(static_cast<double>(c.m), c.k, c.max, static_cast<double>(c.P)),
            "m " + std::to_string(c.m) + " k " + std::to_string(c.k) + " max " +
                std::to_string(c.max) + " P " + std::to_string(c.P));
    }
}

TEST(swamp, rate_is_as_predicted) {
    struct Case {
        std::uint64_t W;
        unsigned f;
    };
    for (const Case& c : {Case{1, 4}, Case{1000, 12}, Case{20'000, 20}}) {
        SCOPED_TRACE(seed_note());
        Rates rates({.tables = 64, .queries = 40'000});
        const auto params = *SwampParams::make({.W = c.W, .f = c.f});
        const auto shares = rates.over_tables([&] {
            Table<Swamp, SwampParams> table(params);
            rates.insert(table.filter, c.W + c.W / 2 + 1);
            return rates.matches(table.filter);
        });
        expect_mean(shares, sizing::swamp_rate(static_cast<double>(c.W), c.f),
                    "W " + std::to_string(c.W) + " f " + std::to_string(c.f));
    }
}

// --- Counts ---

TEST(count_min, estimates_exceed_as_predicted) {
    struct Case {
        std::uint64_t w;
        unsigned d;
        std::uint64_t n;
    };
    for (const Case& c : {Case{2000, 1, 1000}, Case{2000, 3, 3000}, Case{500, 4, 1500},
                          Case{3001, 2, 9000}, Case{1000, 6, 2000}}) {
        SCOPED_TRACE(seed_note());
        const auto params = *CountMinParams::make({.w = c.w, .d = c.d});
        Rates rates;
        std::array<std::vector<double>, 3> shares;  // same tables: above 0, 1, 2
        rates.over_tables([&] {
            Table<CountMin, CountMinParams> table(params);
            rates.insert(table.filter, c.n);
            for (std::uint64_t j = 0; j < shares.size(); ++j) {
                shares.at(j).push_back(
                    rates.share([&](Digest digest) { return table.filter.estimate(digest) > j; }));
            }
            return shares.front().back();
        });
        for (std::uint64_t j = 0; j < shares.size(); ++j) {
            expect_mean(shares.at(j), sizing::count_min_exceeds(c.w, c.d, c.n, j),
                        "w " + std::to_string(c.w) + " d " + std::to_string(c.d) + " n " +
                            std::to_string(c.n) + " j " + std::to_string(j));
        }
    }
}

}  // namespace
}  // namespace unecho::test::baseline_test
