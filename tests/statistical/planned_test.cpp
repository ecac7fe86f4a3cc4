// SPDX-License-Identifier: BSD-3-Clause
// What sizing finds for a planned rate keeps what was asked for: packets at that rate, in time,
// into a filter of the geometry found.
#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "filter/exact.h"
#include "filter/generation.h"
#include "sizing/sizing.h"
#include "statistical/model.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

ApbfShape shape_for(const sizing::ApbfGeometry& geometry) {
    return {geometry.k, geometry.l, geometry.m};
}
ApbbfShape shape_for(const sizing::ApbbfGeometry& geometry) {
    return {geometry.k, geometry.l, geometry.B, geometry.b, geometry.blocks};
}

// Evenly spaced packets: each is new, or by the given chance a copy of one that is younger than the
// window.
class Feed {
  public:
    Feed(const sizing::Targets& targets, double echoes)
        : window_(targets.window), period_(kSecond / targets.keys_per_second), echoes_(echoes) {}

    struct Packet {
        Digest digest;
        Nanoseconds time;
        bool echo;
    };

    Packet next() {
        const auto now = static_cast<Nanoseconds>(period_ * static_cast<double>(count_++));
        while (!accepted_.empty() && now - accepted_.front().time >= window_) {
            accepted_.pop_front();
        }
        const bool echo =
            !accepted_.empty() && static_cast<double>(random_() >> 11) < echoes_ * 0x1p53;
        return {echo ? accepted_[random_() % accepted_.size()].digest : random_(), now, echo};
    }
    // Of a new packet that was not dropped.
    void accept(const Packet& packet) { accepted_.push_back(packet); }
    Digest foreign() { return random_(); }

  private:
    Nanoseconds window_;
    double period_;
    double echoes_;
    std::uint64_t count_ = 0;
    std::mt19937_64 random_{seed()};
    std::deque<Packet> accepted_;
};

struct Outcome {
    std::uint64_t fresh = 0;  // new packets
    std::uint64_t false_drops = 0;
    std::uint64_t misses = 0;         // echoes that passed
    std::uint64_t worst_queries = 0;  // foreign keys, asked for just before each shift
    std::uint64_t worst_matches = 0;
    std::uint64_t insertions = 0;
};

template <typename Shape>
Outcome run(const Shape& shape, const sizing::Targets& targets, double echoes,
            std::uint64_t instances) {
    constexpr std::uint64_t kQueries = 6'000;
    Instance<Shape> table(shape);
    Feed feed(targets, echoes);
    const auto clock = filter::GenerationClock::covering(targets.window, shape.l);
    const std::uint64_t cycle = shape.k + shape.l;
    Outcome out;
    std::uint64_t generation = 0;
    std::uint64_t warm_up = 0;  // insertions before the steady state
    while (generation < cycle * (1 + instances)) {
        const Feed::Packet packet = feed.next();
        if (clock.generation_of(packet.time) > generation) {
            warm_up = generation < cycle ? table.filter.counters().insertions : warm_up;
            for (std::uint64_t i = 0; generation >= cycle && i < kQueries; ++i) {
                out.worst_matches += table.filter.query(feed.foreign()) ? 1 : 0;
                ++out.worst_queries;
            }
            out.insertions = table.filter.counters().insertions - warm_up;
            generation = clock.generation_of(packet.time);
        }
        table.filter.advance({.now = packet.time, .generation = generation});
        const bool dropped = table.filter.test_and_insert(packet.digest);
        if (packet.echo) {
            out.misses += dropped ? 0 : 1;
        } else {
            out.fresh += 1;
            out.false_drops += dropped ? 1 : 0;
            if (!dropped) {
                feed.accept(packet);
            }
        }
    }
    return out;
}

template <typename Geometry>
void check_planned(const Geometry& geometry, const sizing::Targets& targets) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kInstances = 12;
    const auto shape = shape_for(geometry);
    const auto rate_with = [&](std::uint64_t keys) {
        return rate_of(fills_of(shape, kSteady, keys, keys), kInstances,
                       [&](const sizing::Profile& r) {
                           return sizing::false_positive_rate(shape.k, shape.l, r);
                       });
    };

    // All packets new: the worst there is at the planned rate. Between shifts the filter inserted
    // what did not match by chance; that sets more clear bits than as many keys at random would.
    const Outcome all_new = run(shape, targets, 0, kInstances);
    const auto queries = static_cast<double>(all_new.worst_queries);
    const std::uint64_t keys = all_new.insertions / (kInstances * (shape.k + shape.l));
    const std::uint64_t most =
        predict(geometry, targets.window, targets.keys_per_second).generation_keys;
    EXPECT_LT(keys, most);
    expect_count(
        all_new.worst_matches,
        {counts_of(rate_with(keys), queries).low, counts_of(rate_with(most), queries).high},
        "foreign keys that match just before a shift");
    const Rate target{targets.max_false_drop, rate_with(keys).deviation};
    EXPECT_LE(static_cast<double>(all_new.worst_matches), counts_of(target, queries).high);
    // Over all phases and from the start on, the rate is below that of the worst phase, not far.
    const auto fresh = static_cast<double>(all_new.fresh);
    EXPECT_LE(static_cast<double>(all_new.false_drops), counts_of(target, fresh).high);
    EXPECT_GE(static_cast<double>(all_new.false_drops), 0.5 * targets.max_false_drop * fresh);

    // With echoes: none is missed, and fewer insertions mean fewer false drops.
    const Outcome mixed = run(shape, targets, 0.5, kInstances);
    EXPECT_EQ(mixed.misses, 0U);
    EXPECT_LT(mixed.worst_matches, all_new.worst_matches);
    EXPECT_LT(static_cast<double>(mixed.false_drops) / static_cast<double>(mixed.fresh),
              targets.max_false_drop);
}

class Planned : public ::testing::TestWithParam<sizing::Targets> {};

TEST_P(Planned, apbf_keeps_its_targets) {
    const Result<sizing::ApbfGeometry> found = sizing::size_apbf(GetParam());
    ASSERT_TRUE(found.has_value());
    check_planned(*found, GetParam());
}

TEST_P(Planned, apbbf_keeps_its_targets) {
    const Result<sizing::ApbbfGeometry> found = sizing::size_apbbf(GetParam());
    ASSERT_TRUE(found.has_value());
    check_planned(*found, GetParam());
}

// No digest is taken for another, no echo of the window is missed, no live entry given up.
TEST_P(Planned, exact_makes_no_mistake) {
    SCOPED_TRACE(seed_note());
    const sizing::Targets targets = GetParam();
    const Result<sizing::ExactGeometry> found = sizing::size_exact(targets);
    ASSERT_TRUE(found.has_value());
    const auto params =
        filter::ExactParams::make({.entries = found->entries, .window = targets.window});
    ASSERT_TRUE(params.has_value());
    const FilterMemory memory(filter::Exact::bytes(*params));
    filter::Exact table(*params, memory.span());
    Feed feed(targets, 0.5);
    std::uint64_t mistakes = 0;
    for (int i = 0; i < 300'000; ++i) {
        const Feed::Packet packet = feed.next();
        table.advance({.now = packet.time});
        const bool dropped = table.test_and_insert(packet.digest);
        mistakes += dropped != packet.echo ? 1 : 0;
        if (!dropped) {
            feed.accept(packet);
        }
    }
    EXPECT_EQ(mistakes, 0U);
    EXPECT_EQ(table.counters().evicted_early, 0U);
}

INSTANTIATE_TEST_SUITE_P(, Planned,
                         ::testing::Values(sizing::Targets{20 * kMillisecond, 1e6, 1e-2},
                                           sizing::Targets{20 * kMillisecond, 1e6, 1e-3},
                                           sizing::Targets{5'000'001, 3.3e6, 3e-3},
                                           sizing::Targets{kSecond, 2'000, 1e-2}),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace unecho::test
