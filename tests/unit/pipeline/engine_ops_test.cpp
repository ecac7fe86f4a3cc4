// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/engine_ops.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filters/hash/digest.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "support/any_filter.h"
#include "support/instance.h"

namespace unecho::pipeline {
namespace {

using Table = test::FilterInstance<filter::Apbf>;

// Digests with times of their own are queried in parts, and the answers are joined again.
TEST(EngineOps, timed_doubts_are_those_of_their_digests) {
    Table table({.k = 1, .l = 3, .m = 4096});
    filter::Ageing ageing({.window = 300, .length = 100, .retained_generations = 3});
    const std::array<Digest, 4> digests{1, 2, 1, 2};
    const std::array<Nanoseconds, 4> times{10, 20, 30, 40};
    const filter::ChanceLimits never(0.0F);
    const filter::Answers answers = test::ops_for<filter::Apbf>().test_timed(
        &table.filter, ageing, digests, times.data(), 1, &never);
    EXPECT_EQ(answers.echoes, 0u);
    EXPECT_EQ(answers.doubts, 0b1100u);
}

// Through the last nanosecond of generation l, in a filter with k = 1 and no other digest.
TEST(EngineOps, timed_generations_are_those_of_the_clock) {
    for (const auto& [age, echo] : {std::pair<Nanoseconds, bool>{399, true}, {400, false}}) {
        Table table({.k = 1, .l = 3, .m = 4096});
        filter::Ageing ageing({.window = 300, .length = 100, .retained_generations = 3});
        const std::array<Digest, 2> digests{1, 1};
        const std::array<Nanoseconds, 2> times{1'000, 1'000 + age};
        const filter::Answers answers = test::ops_for<filter::Apbf>().test_timed(
            &table.filter, ageing, digests, times.data(), 1, nullptr);
        EXPECT_EQ(answers.echoes, echo ? 0b10u : 0u) << age;
    }
}

// A live worker's filter. It is full again and again within one published generation, and no zeroer
// returns its retired segments.
template <typename F>
class Held {
  public:
    static constexpr unsigned kGenerations = 6;
    static constexpr unsigned kZeroed = kGenerations + filter::kDefaultSpares;  // at the start
    static constexpr Nanoseconds kLength = 1'000'000;

    Held(const EngineOps& ops, const test::SpecOf<test::ParamsOf<F>>& spec)
        : ops_(ops), filter_(spec) {}

    // Insert this many bursts of new digests.
    void insert(unsigned bursts) {
        for (unsigned i = 0; i < bursts; ++i) {
            std::array<Digest, 64> burst{};
            for (Digest& digest : burst) {
                digest = remix(++serial_, 0);
                seen_.push_back({digest, now_ + 1});
            }
            test(burst, now_ + 1);
        }
    }
    // Check that everything younger than the achieved window matches, as echo or as doubt.
    void expect_young_ones_match(bool doubts) {
        const Nanoseconds achieved = state().achieved;
        unsigned young = 0;
        unsigned doubted = 0;
        const auto seen = seen_;
        for (const auto& [digest, time] : seen) {
            if (now_ - time >= achieved) {
                continue;
            }
            const filter::Answers answer = test({&digest, 1}, now_);
            ++young;
            doubted += static_cast<unsigned>(answer.doubts);
            ASSERT_EQ(answer.echoes | answer.doubts, 1U) << "of age " << now_ - time;
        }
        EXPECT_GT(young, 500U);
        EXPECT_EQ(doubted, doubts ? young : 0U);
    }

    filter::Answers test(std::span<const Digest> digests, Nanoseconds now) {
        const filter::ChanceLimits limit(1e-3F);
        now_ = now;
        return ops_.test(&filter_.filter, ageing_, digests, {now, now / kLength}, 1, &limit);
    }
    void next_published_generation() { now_ += kLength; }
    void zero_one() {
        filter::SegmentRing& ring = *ops_.segments(&filter_.filter);
        const auto id = ring.take_retired();
        ASSERT_TRUE(id);
        const std::span<std::byte> memory = ring.segment_memory(*id);
        std::memset(memory.data(), 0, memory.size());
        ring.supply_zeroed(*id);
    }
    [[nodiscard]] filter::WindowState state() const {
        return ops_.window(&filter_.filter, ageing_, now_);
    }
    [[nodiscard]] std::uint64_t inline_clears() const {
        return ops_.counters(&filter_.filter).inline_clears;
    }

  private:
    struct Seen {
        Digest digest;
        Nanoseconds time;
    };

    const EngineOps& ops_;
    test::FilterInstance<F> filter_;
    filter::Ageing ageing_{{.window = kGenerations * kLength,
                            .length = kLength,
                            .retained_generations = kGenerations,
                            .load = 100}};
    Nanoseconds now_ = 0;
    std::uint64_t serial_ = 0;
    std::vector<Seen> seen_;
};

template <typename F>
void expect_generations_held(Held<F> held) {
    constexpr unsigned kZeroed = Held<F>::kZeroed;
    // A full generation ends while zeroed segments remain.
    held.insert(kZeroed * 100 / 64 + 1);
    EXPECT_EQ(held.state().early_turns, kZeroed);
    EXPECT_EQ(held.state().held_turns, 0U);
    held.expect_young_ones_match(false);
    // Then the turn is held: counted once, nothing cleared or forgotten, and finally all in doubt.
    held.insert(200);
    EXPECT_EQ(held.state().early_turns, kZeroed);
    EXPECT_EQ(held.state().held_turns, 1U);
    EXPECT_EQ(held.inline_clears(), 0U);
    held.expect_young_ones_match(true);
    // A published turn may clear a segment as usual. The next generation is held again.
    held.next_published_generation();
    held.insert(20);
    EXPECT_EQ(held.state().early_turns, kZeroed);
    EXPECT_EQ(held.state().held_turns, 2U);
    EXPECT_EQ(held.inline_clears(), 1U);
    // A segment zeroed elsewhere allows an early turn.
    held.zero_one();
    held.insert(1);
    EXPECT_EQ(held.state().early_turns, kZeroed + 1);
    EXPECT_EQ(held.inline_clears(), 1U);
}

TEST(EngineOps, full_generations_go_on_where_nobody_zeroes_segments) {
    {
        SCOPED_TRACE("apbbf");
        expect_generations_held(Held<filter::Apbbf>(
            test::ops_for<filter::Apbbf>(),
            {.k = 4, .l = Held<filter::Apbbf>::kGenerations, .b = 8, .blocks = 32}));
    }
    {
        SCOPED_TRACE("apbf");
        expect_generations_held(
            Held<filter::Apbf>(test::ops_for<filter::Apbf>(),
                               {.k = 10, .l = Held<filter::Apbf>::kGenerations, .m = 4096}));
    }
}

}  // namespace
}  // namespace unecho::pipeline
