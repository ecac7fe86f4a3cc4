// SPDX-License-Identifier: BSD-3-Clause
// What a lane's judge learns from a burst, with a filter that answers what it is told to.
#include "pipeline/stages.h"

#include <gtest/gtest.h>

namespace unecho::pipeline {
namespace {

filter::Answers answer(void* filter, filter::Ageing& /*ageing*/,
                       std::span<const Digest> /*digests*/, filter::Moment /*moment*/,
                       unsigned /*first*/, const filter::ChanceLimits* /*limits*/) noexcept {
    return *static_cast<filter::Answers*>(filter);
}

filter::Answers answer_timed(void* filter, filter::Ageing& /*ageing*/,
                             std::span<const Digest> /*digests*/, const Nanoseconds* /*times*/,
                             unsigned /*first*/, const filter::ChanceLimits* /*limits*/) noexcept {
    return *static_cast<filter::Answers*>(filter);
}

float never(const void* /*filter*/, Digest /*digest*/) noexcept {
    return 0;
}

class JudgedStages : public testing::Test {
  protected:
    static constexpr EngineOps kOps{.test = answer,
                                    .test_timed = answer_timed,
                                    .chance = never,
                                    .advance = nullptr,
                                    .counters = nullptr,
                                    .window = nullptr,
                                    .maintain = nullptr,
                                    .segments = nullptr};

    // Bursts of so many packets with keys, of which those of the answers match, until the even odds
    // of the beginning are forgotten: the share of echoes that was learned.
    double learned(std::uint64_t keyed, unsigned count, filter::Answers answers, bool timed) {
        CostRatios ratios;
        ratios.fill(1);
        Judge judge = Judge::penalty(ratios);
        filter::Ageing ageing({.window = 1});
        const Lane lane{.ops = &kOps, .filter = &answers, .ageing = &ageing, .judge = &judge};
        Burst burst;
        burst.count = count;
        burst.keys.keyed = keyed;
        for (unsigned i = 0; i < 100'000; ++i) {
            timed ? decide_timed(burst, lane) : decide(burst, lane, {});
        }
        return judge.echo_share();
    }
};

// One answer more or less would be a share of 1/3 or 1/5.
TEST_F(JudgedStages, every_answer_is_learned_from_those_in_doubt_too) {
    for (const bool timed : {false, true}) {
        EXPECT_NEAR(learned(0b1111, 4, {0b0010, 0}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1111, 4, {0, 0b1000}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1111, 4, {0b0010, 0b1000}, timed), 0.5, 1e-3);
    }
}

// Packets without a key have no answer.
TEST_F(JudgedStages, only_packets_with_keys_are_learned_from) {
    for (const bool timed : {false, true}) {
        EXPECT_NEAR(learned(0b101101, 7, {0b0001, 0}, timed), 0.25, 1e-3);
        EXPECT_NEAR(learned(0b1, 64, {0b1, 0}, timed), 1.0, 1e-3);
    }
}

}  // namespace
}  // namespace unecho::pipeline
