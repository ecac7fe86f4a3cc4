// SPDX-License-Identifier: BSD-3-Clause
// The stated chance of an accidental match against the share of random digests that match. Beyond
// sampling error the chance is never below the share, and at most a tenth above it. A chance that
// is a tenth too low or a fifth too high fails. At the planned load and several times it, with
// copies and limits, under both policies.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/fpr.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "support/bounds.h"
#include "support/instance.h"
#include "support/seed.h"

namespace unecho::test::chance_test {
namespace {

using filter::EchoPolicy;

// A stream's properties besides its new keys.
struct Traffic {
    const char* name;
    double load;    // new keys a generation, relative to the number that fills segments to half
    double copies;  // for each new key, on average
    EchoPolicy policy;
    float limit;  // chance limit of the bursts
};

constexpr std::array kTraffic{
    Traffic{"planned", 1, 0, EchoPolicy::kFixed, 1},
    Traffic{"light", 0.8, 0, EchoPolicy::kFixed, 1},
    Traffic{"copies", 1, 1.5, EchoPolicy::kFixed, 1e-3F},
    Traffic{"refresh", 1, 1.5, EchoPolicy::kRefresh, 1},
    Traffic{"overloaded", 3, 0.5, EchoPolicy::kFixed, 1},
    Traffic{"overloaded_limited", 3, 0.5, EchoPolicy::kFixed, 1e-3F},
    Traffic{"overloaded_refresh", 3, 1, EchoPolicy::kRefresh, 1e-3F},
};

// Enough for bounds within a tenth of the expectation. Tables of the sizes below differ by less.
constexpr double kExpectedMatches = 2'500;

struct Seen {
    double trials = 0;
    double expected = 0;  // matches by the stated chances
    double matches = 0;
};

// A stream into a filter; each generation is queried in the middle and at the end.
template <typename Filter>
class Stream {
  public:
    Stream(Filter& filter, const Traffic& traffic, double half)
        : filter_(filter),
          traffic_(traffic),
          keys_(static_cast<std::uint64_t>(half * traffic.load)) {}

    void generation(std::uint64_t generation, std::uint64_t queries, Seen& seen) {
        filter_.advance({.generation = generation});
        for (unsigned part = 0; part < 2; ++part) {
            send(keys_ / 2);
            const float chance = filter_.chance(0);
            seen.trials += static_cast<double>(queries);
            seen.expected += static_cast<double>(queries) * chance;
            for (std::uint64_t i = 0; i < queries; ++i) {
                seen.matches += filter_.query(random_()) ? 1 : 0;
            }
        }
    }

  private:
    void send(std::uint64_t keys) {
        std::vector<Digest> burst;
        for (std::uint64_t i = 0; i < keys; ++i) {
            past_.push_back(random_());
            add(burst, past_.back());
            copies_ += traffic_.copies;
            for (; copies_ >= 1; copies_ -= 1) {
                const std::uint64_t recent = std::min<std::uint64_t>(past_.size(), 2 * keys_ + 1);
                add(burst, past_[past_.size() - 1 - random_() % recent]);
            }
        }
        flush(burst);
    }
    void add(std::vector<Digest>& burst, Digest digest) {
        burst.push_back(digest);
        if (burst.size() == kMaxBurst) {
            flush(burst);
        }
    }
    void flush(std::vector<Digest>& burst) {
        filter_.test_and_insert_burst(burst, filter::ChanceLimits(traffic_.limit));
        burst.clear();
    }

    Filter& filter_;
    Traffic traffic_;
    std::uint64_t keys_;
    std::mt19937_64 random_{seed()};
    std::vector<Digest> past_;
    double copies_ = 0;
};

// half: new keys a generation that fill segments to half.
template <typename Filter, typename Spec>
void check(Spec spec, double half) {
    for (const Traffic& traffic : kTraffic) {
        SCOPED_TRACE(std::string(traffic.name) + " " + seed_note());
        spec.policy = traffic.policy;
        if constexpr (requires { spec.isa; }) {
            spec.isa = filter::best_isa();
        }
        FilterInstance<Filter> i(spec);
        Stream<Filter> stream(i.filter, traffic, half);
        const std::uint64_t warm = spec.k + spec.l;
        Seen seen;
        for (std::uint64_t generation = 0; generation < warm; ++generation) {
            stream.generation(generation, 0, seen);
        }
        const double queries = kExpectedMatches / i.filter.chance(0) / (2.0 * 4);
        for (std::uint64_t generation = warm; generation < warm + 4; ++generation) {
            stream.generation(generation, static_cast<std::uint64_t>(std::min(queries, 2e5)), seen);
        }
        const double chance = seen.expected / seen.trials;
        EXPECT_LE(seen.matches, binomial_bounds(seen.trials, chance).high);
        EXPECT_GE(seen.matches, binomial_bounds(seen.trials, chance / 1.1).low);
        EXPECT_GE(seen.matches, 500);
    }
}

TEST(chance, of_apbf_is_the_share_of_random_digests_that_match) {
    check<filter::Apbf>(filter::ApbfSpec{.k = 4, .l = 7, .m = 25'000},
                        static_cast<double>(sizing::generation_capacity(25'000, 4)));
    check<filter::Apbf>(filter::ApbfSpec{.k = 7, .l = 8, .m = 12'503},
                        static_cast<double>(sizing::generation_capacity(12'503, 7)));
}

TEST(chance, of_apbbf_is_the_share_of_random_digests_that_match) {
    check<filter::Apbbf>(filter::ApbbfSpec{.k = 1, .l = 6, .b = 8, .blocks = 1'500},
                         1'500 * sizing::block_capacity(512, 8));
    check<filter::Apbbf>(filter::ApbbfSpec{.k = 2, .l = 5, .B = 64, .b = 4, .blocks = 7'500},
                         7'500 * sizing::block_capacity(64, 4) / 2);
}

TEST(chance, of_shbf_window_is_the_share_of_random_digests_that_match) {
    check<filter::ShbfWindow>(filter::ShbfWindowSpec{.k = 2, .l = 5, .m = 150'000, .b = 4},
                              150'000 * 0.6931 / 4 / 2);
    check<filter::ShbfWindow>(filter::ShbfWindowSpec{.k = 1, .l = 4, .m = 150'000, .b = 8},
                              150'000 * 0.6931 / 8);
    check<filter::ShbfWindow>(filter::ShbfWindowSpec{.k = 1, .l = 4, .m = 150'000, .b = 9, .t = 2},
                              150'000 * 0.6931 / 9);
}

}  // namespace
}  // namespace unecho::test::chance_test
