// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/filter_decider.h"

#include <random>

#include <gtest/gtest.h>

#include "support/seed.h"

namespace unecho::dedup {
namespace {

using config::Engine;

constexpr Nanoseconds kWindow = 8 * kMillisecond;

std::unique_ptr<FilterDecider> decider_of(Engine engine, std::uint64_t memory,
                                          double max_false_drop = 1e-6) {
    Options options;
    options.max_false_drop = max_false_drop;
    options.key = packet::KeyMode::kFrame;
    options.window = kWindow;
    return std::move(*FilterDecider::make(options, {&engine, 1}, memory));
}

// Return how many of these digests match at this time, as echoes or as doubts.
unsigned matches(FilterDecider& decider, std::span<const Digest> digests, Nanoseconds time) {
    unsigned n = 0;
    for (const Digest digest : digests) {
        pipeline::Burst burst;
        burst.count = 1;
        burst.keys.keyed = 1;
        burst.digests[0] = digest;
        burst.times[0] = time;
        Originals originals;
        decider.decide(burst, {}, originals);
        EXPECT_FALSE(originals.known);
        n += (burst.echoes | burst.doubts) != 0 ? 1 : 0;
    }
    return n;
}

// Many digests match by accident, but each must be remembered: the youngest must still match when
// those that they may have matched are gone.
TEST(filter_decider, memories_are_kept_whatever_they_match) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 random(test::seed());
    for (const Engine engine : {Engine::kLine, Engine::kApbbf}) {
        const auto decider = decider_of(engine, 65536, 0.5);
        std::vector<Digest> digests;
        const std::uint64_t planned = decider->facts(0).planned.value_or(0);
        ASSERT_GT(planned, 5000u);
        for (std::uint64_t i = 0; i < planned; ++i) {
            digests.push_back(random());
            decider->remember(digests.back(), kSecond + i * kWindow / planned);
        }
        decider->flush_remembered();
        EXPECT_EQ(decider->facts(kSecond + kWindow).window->shortest, kWindow);
        const std::span<const Digest> youngest = std::span(digests).last(200);
        EXPECT_EQ(matches(*decider, youngest, kSecond + 2 * kWindow - 500 * kMicrosecond), 200u)
            << decider->facts(0).engine;
    }
}

TEST(filter_decider, memories_age_from_their_own_time) {
    const auto decider = decider_of(Engine::kLine, 1 << 20);
    std::vector<Digest> digests;
    for (unsigned i = 0; i < 100; ++i) {
        digests.push_back(remix(i, 1));
        decider->remember(digests.back(), kSecond);
    }
    decider->flush_remembered();
    EXPECT_EQ(matches(*decider, std::span(digests).first(50), kSecond + kWindow - 1), 50u);
    EXPECT_EQ(matches(*decider, std::span(digests).last(50), kSecond + 2 * kWindow), 0u);
}

TEST(filter_decider, fits_its_memory_or_says_what_it_needs) {
    Options options;
    const Engine engine = Engine::kLine;
    const auto made = FilterDecider::make(options, {&engine, 1}, 100);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().context.find("needs at least"), std::string::npos);
}

}  // namespace
}  // namespace unecho::dedup
