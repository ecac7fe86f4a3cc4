// SPDX-License-Identifier: BSD-3-Clause
// The inferential answer of the Block Timing Bloom Filter ("Inferential Time-Decaying Bloom
// Filters"), end to end: the filter learns the prior from a stream, the decision table follows
// from it, and its answers cost what the posteriors say. tests/unit/sizing compares posteriors with
// sums.
#include "filters/sizing/inferential.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filters/inferential_prior.h"
#include "filters/window/segmented/btbf.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/seed.h"

namespace unecho::test::inferential_test {
namespace {

using sizing::TimerState;

struct Bill {
    double standard = 0;
    double inferential = 0;
    double expected = 0;  // cost of the inferential answer by the posterior
    double variance = 0;
};

class Learner {
  public:
    Learner()
        : params_(*filter::BtbfParams::make({.w = kWindow,
                                             .B = 64,
                                             .k = 3,
                                             .m = 3 * kWindow,
                                             .bpt = 8,
                                             .policy = filter::EchoPolicy::kRefresh})),
          memory_(filter::Btbf::bytes(params_)),
          table_(params_, memory_.span()) {}

    // Return the model of the stream, learnt from the filter's own answers alone.
    sizing::PosteriorTable learn(std::mt19937_64& random) {
        filter::DistinctCurve shown(kHorizon);
        filter::DistinctCurve probes(kHorizon);
        filter::EchoShare share(kHorizon);
        filter::EchoShare accidents(kHorizon);
        for (std::uint64_t i = 0; i < kAnswers; ++i) {
            if (i % 4 == 0) {
                const Digest probe = random();
                add_age(table_.read(probe), probes);
                accidents.add(table_.query(probe));
            }
            const Digest digest = next(random);
            add_age(table_.read(digest), shown);
            share.add(table_.test_and_insert(digest));
        }
        std::vector<double> samples;
        for (unsigned e = 0; (1U << e) <= kWindow; ++e) {
            samples.push_back(filter::distinct_at_power(shown, probes, e));
            const double truth = sizing::distinct_uniform(std::exp2(e), kUniverse);
            EXPECT_NEAR(samples.back() / truth, 1, 0.02) << e;
        }
        const double echoes = share.share(0.5, accidents.share(0, 0));
        EXPECT_NEAR(echoes, sizing::prior_between(1.0 / kUniverse, 0, kWindow), 0.01);
        return *sizing::PosteriorTable::make(
            {kWindow, sizing::insertion_probability(echoes, kWindow), params_.B(), params_.m(),
             params_.k(), *sizing::DistinctSamples::make(samples)});
    }

    Bill answer(const sizing::PosteriorTable& posteriors, const sizing::Penalties& penalties,
                std::mt19937_64& random) {
        const std::vector<std::uint32_t> limits = posteriors.limits(penalties);
        const filter::DecisionTable decisions(limits, params_.k());
        Bill bill;
        for (std::uint64_t i = 0; i < kAnswers; ++i) {
            const Digest digest = next(random);
            const filter::TimerReading reading = table_.read(digest);
            TimerState state{reading.age, reading.c, reading.r, table_.position()};
            if (reading.age == filter::kExpiredAge) {
                state.age.reset();
            }
            const double chance = posteriors.posterior(state);
            const bool echo = decisions.echo(reading, table_.position());
            const auto cost = [&](bool answer) {
                if (answer == inside_) {
                    return 0.0;
                }
                return answer ? penalties.false_positive : penalties.false_negative;
            };
            bill.standard += cost(table_.query(digest));
            bill.inferential += cost(echo);
            const double price = echo ? penalties.false_positive : penalties.false_negative;
            bill.expected += price * (echo ? 1 - chance : chance);
            bill.variance += price * price * chance * (1 - chance);
            table_.insert(digest);
        }
        return bill;
    }

  private:
    static constexpr std::uint64_t kAnswers = 400'000;
    static constexpr std::uint64_t kHorizon = kAnswers;
    static constexpr std::uint64_t kWindow = 4096;
    // Large compared with the window: the model assumes that timers are shared with ever new keys.
    static constexpr std::uint64_t kUniverse = 1 << 16;

    // A reading in blocks stands for B ages in insertions; take the middle one.
    void add_age(const filter::TimerReading& reading, filter::DistinctCurve& curve) const {
        if (reading.age == filter::kExpiredAge) {
            curve.add_new();
        } else {
            curve.add(table_.most_likely_age(reading) + params_.B() / 2);
        }
    }

    Digest next(std::mt19937_64& random) {
        const std::uint64_t item = random() % last_.size();
        inside_ = last_[item] != 0 && now_ - last_[item] < kWindow;
        last_[item] = ++now_;
        return remix(item, 77);
    }

    filter::BtbfParams params_;
    FilterMemory memory_;
    filter::Btbf table_;
    std::vector<std::uint64_t> last_ = std::vector<std::uint64_t>(kUniverse);
    std::uint64_t now_ = 0;
    bool inside_ = false;
};

TEST(inferential, prior_learnt_from_the_stream_lowers_the_bill_as_expected) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    Learner learner;
    const sizing::PosteriorTable posteriors = learner.learn(random);
    struct Case {
        sizing::Penalties penalties;
        double most;  // factor of the standard answer's cost
    };
    for (const auto& [penalties, most] :
         {Case{{9, 1}, 0.03}, Case{{1, 1}, 0.15}, Case{{1, 9}, 0.85}}) {
        const Bill bill = learner.answer(posteriors, penalties, random);
        EXPECT_LT(bill.inferential, most * bill.standard);
        // Learnt from a share of 6 %, the model is accurate to some percent.
        const double away = kDeviations * std::sqrt(bill.variance) + 0.06 * bill.expected;
        EXPECT_NEAR(bill.inferential, bill.expected, away);
    }
}

}  // namespace
}  // namespace unecho::test::inferential_test
