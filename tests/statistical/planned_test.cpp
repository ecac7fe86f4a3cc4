// SPDX-License-Identifier: BSD-3-Clause
// A geometry found for a planned rate reaches its targets: packets at that rate, in time, in a
// filter of that geometry.
#include <cstdint>
#include <cstdio>
#include <deque>
#include <random>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "filters/generation.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/apbf.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/window/exact.h"
#include "filters/window/line.h"
#include "filters/window/segmented/shbf_window.h"
#include "statistical/model.h"
#include "support/seed.h"

namespace unecho::test::planned_test {
namespace {

ApbfShape shape_for(const sizing::ApbfGeometry& geometry) {
    return {geometry.k, geometry.l, geometry.m};
}
ApbbfShape shape_for(const sizing::ApbbfGeometry& geometry) {
    return {geometry.k, geometry.l, geometry.B, geometry.b, geometry.blocks};
}

struct ShbfWindowShape {
    using Filter = filter::ShbfWindow;
    unsigned k;
    unsigned l;
    std::uint64_t m;
    unsigned b;

    [[nodiscard]] filter::ShbfWindowParams params(
        filter::EchoPolicy policy = filter::EchoPolicy::kFixed) const {
        return *filter::ShbfWindowParams::make({.k = k, .l = l, .m = m, .b = b, .policy = policy});
    }
};
ShbfWindowShape shape_for(const sizing::ShbfWindowGeometry& geometry) {
    return {geometry.k, geometry.l, geometry.m, geometry.b};
}

// k and l in ticks, the unit of the clock.
struct LineShape {
    using Filter = filter::LineFilter;

    explicit LineShape(const sizing::LineGeometry& g)
        : geometry(g), k(g.k * g.phases), l(g.l * g.phases) {}

    [[nodiscard]] filter::LineParams params(
        filter::EchoPolicy policy = filter::EchoPolicy::kFixed) const {
        return *filter::LineParams::make({.M = geometry.M,
                                          .k = geometry.k,
                                          .b = geometry.b,
                                          .phases = geometry.phases,
                                          .lines = geometry.lines,
                                          .policy = policy,
                                          .isa = filter::best_isa()});
    }
    // Return the rate just before a tick, with so many keys in each generation.
    [[nodiscard]] double rate(double keys) const {
        const auto& g = geometry;
        return sizing::line_fpr({.M = g.M, .k = g.k, .l = g.l, .b = g.b, .phases = g.phases},
                                keys * g.M / static_cast<double>(g.lines));
    }

    sizing::LineGeometry geometry;
    unsigned k;
    unsigned l;
};
LineShape shape_for(const sizing::LineGeometry& geometry) {
    return LineShape(geometry);
}

// Evenly spaced packets, each new or, with the given chance, a copy of one younger than the window.
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
    // Record a new packet that was not dropped.
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
    std::uint64_t misses = 0;         // echoes that were forwarded
    std::uint64_t worst_queries = 0;  // foreign keys, queried just before each shift
    std::uint64_t worst_matches = 0;
    std::uint64_t insertions = 0;
    Rates worst_rates;  // one rate for each table, that is for all shifts until nothing is left
};

template <typename Shape>
Outcome run(const Shape& shape, const sizing::Targets& targets, double echoes,
            std::uint64_t instances, std::uint64_t queries) {
    Instance<Shape> table(shape);
    Feed feed(targets, echoes);
    const auto clock = filter::GenerationClock::covering(targets.window, shape.l);
    const std::uint64_t cycle = shape.k + shape.l;
    Outcome out;
    std::uint64_t generation = 0;
    std::uint64_t warm_up = 0;  // insertions before the steady state
    std::uint64_t queries_before = 0;
    std::uint64_t matches_before = 0;
    while (generation < cycle * (1 + instances)) {
        const Feed::Packet packet = feed.next();
        if (clock.generation_of(packet.time) > generation) {
            warm_up = generation < cycle ? table.filter.counters().insertions : warm_up;
            for (std::uint64_t i = 0; generation >= cycle && i < queries; ++i) {
                out.worst_matches += table.filter.query(feed.foreign()) ? 1 : 0;
                ++out.worst_queries;
            }
            if (generation >= cycle && (generation + 1) % cycle == 0) {
                const auto asked = static_cast<double>(out.worst_queries - queries_before);
                const auto matched = static_cast<double>(out.worst_matches - matches_before);
                out.worst_rates.add(matched / asked);
                queries_before = out.worst_queries;
                matches_before = out.worst_matches;
            }
            out.insertions = table.filter.counters().insertions - warm_up;
            generation = clock.generation_of(packet.time);
        }
        table.filter.advance({.now = packet.time, .generation = generation});
        const bool dropped = table.filter.test_and_insert(packet.digest);
        if constexpr (requires { table.filter.maintain(); }) {
            table.filter.maintain();
        }
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
    constexpr std::uint64_t kQueries = 6'000;
    const auto shape = shape_for(geometry);
    const auto rate_with = [&](std::uint64_t keys) {
        return rate_of(fills_of(shape, kSteady, keys, keys), kInstances,
                       [&](const sizing::Profile& r) {
                           return sizing::false_positive_rate(shape.k, shape.l, r);
                       });
    };

    // All packets new: the worst case at the planned rate. Between shifts the filter inserted keys
    // that did not match by chance, which set more bits than as many random keys would.
    const Outcome all_new = run(shape, targets, 0, kInstances, kQueries);
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
    // Over all phases and from the start, the rate is below that of the worst phase, but not far.
    const auto fresh = static_cast<double>(all_new.fresh);
    EXPECT_LE(static_cast<double>(all_new.false_drops), counts_of(target, fresh).high);
    EXPECT_GE(static_cast<double>(all_new.false_drops), 0.5 * targets.max_false_drop * fresh);

    // With echoes: none is missed, and fewer insertions mean fewer false drops.
    const Outcome mixed = run(shape, targets, 0.5, kInstances, kQueries / 6);
    EXPECT_EQ(mixed.misses, 0U);
    EXPECT_LT(mixed.worst_rates.mean(), all_new.worst_rates.mean());
    EXPECT_LT(static_cast<double>(mixed.false_drops) / static_cast<double>(mixed.fresh),
              targets.max_false_drop);
}

// The spread of the line filter's tables is that of their lines' loads, measured with the rate.
void check_planned(const sizing::LineGeometry& geometry, const sizing::Targets& targets) {
    SCOPED_TRACE(seed_note());
    constexpr std::uint64_t kInstances = 60;
    // For keys with a stored pattern in common: tests/statistical/line_test.cpp.
    constexpr double kEqualPatterns = 0.05;
    const LineShape shape = shape_for(geometry);
    const unsigned cycle = shape.k + shape.l;
    const std::uint64_t a_shift = 36'000 / cycle;

    const Outcome all_new = run(shape, targets, 0, kInstances, a_shift);
    const double keys = static_cast<double>(all_new.insertions) / (kInstances * filter::kLineWords);
    const auto most =
        static_cast<double>(predict(geometry, targets.window, targets.keys_per_second).shift_keys);
    EXPECT_LT(keys, most);
    const double error = all_new.worst_rates.error(targets.max_false_drop / (a_shift * cycle));
    const double worst = all_new.worst_rates.mean();
    EXPECT_GE(worst, shape.rate(keys) - error);
    EXPECT_LE(worst, shape.rate(most) * (1 + kEqualPatterns) + error);
    EXPECT_LE(worst, targets.max_false_drop * (1 + kEqualPatterns) + error);
    EXPECT_LT(error, 0.15 * targets.max_false_drop);
    const auto fresh = static_cast<double>(all_new.fresh);
    const double dropped = static_cast<double>(all_new.false_drops) / fresh;
    EXPECT_LE(dropped, targets.max_false_drop + error);
    EXPECT_GE(dropped, 0.5 * targets.max_false_drop);
    std::printf("line: predicted %.3e to %.3e, measured %.3e, error %.1e; dropped %.3e\n",
                shape.rate(keys), shape.rate(most), worst, error, dropped);

    const Outcome mixed = run(shape, targets, 0.5, kInstances / 5, a_shift);
    EXPECT_EQ(mixed.misses, 0U);
    EXPECT_LT(mixed.worst_rates.mean(), worst);
    EXPECT_LT(static_cast<double>(mixed.false_drops) / static_cast<double>(mixed.fresh),
              targets.max_false_drop);
}

class Planned : public ::testing::TestWithParam<sizing::Targets> {};

TEST_P(Planned, line_keeps_its_targets) {
    const Result<sizing::LineGeometry> found = sizing::size_line(GetParam());
    ASSERT_TRUE(found.has_value());
    check_planned(*found, GetParam());
}

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

// No digest is taken for another, no echo of the window is missed, no live entry is evicted.
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

// --- limits, from below the planned rate to far above it ----------------------------------------

// Results for new keys only, so that every echo is a false drop.
struct Dropped {
    double packets = 0;
    double stated = 0;  // sum of the chances within the limit: expected false drops
    double judged = 0;  // number of those chances
    double echoes = 0;
};

template <typename Filter>
void drop_some(Filter& filter, std::uint64_t generation_keys, unsigned generations, float limit,
               std::mt19937_64& random, Dropped& out) {
    const std::uint64_t begin = 1;
    for (std::uint64_t generation = begin; generation < begin + generations; ++generation) {
        filter.advance({.generation = generation});
        for (std::uint64_t key = 0; key < generation_keys; ++key) {
            const Digest digest = random();
            const float chance = filter.chance(digest);
            out.stated += chance <= limit ? chance : 0;
            out.judged += chance <= limit ? 1 : 0;
            const auto answers =
                filter.test_and_insert_burst({&digest, 1}, filter::ChanceLimits(limit));
            out.echoes += static_cast<double>(answers.echoes);
        }
        out.packets += static_cast<double>(generation_keys);
    }
}

// A filter may drop any match whose stated chance is within the limit. So the sum of those chances
// is the expected number of false drops: an upper bound, and not a tenth too high. Tables begin
// empty, because a filter far above its planned rate drops only at the start.
struct Limited {
    double load;  // factor of the planned rate
    float limit;  // high enough for sufficient false drops
};

template <typename Geometry>
void check_limits(Result<Geometry> (*size)(const sizing::Targets&)) {
    SCOPED_TRACE(seed_note());
    constexpr double kEnough = 700;  // so that a chance that is a fifth too low shows
    const sizing::Targets targets{20 * kMillisecond, 2.5e5, 1e-2};
    const Result<Geometry> found = size(targets);
    ASSERT_TRUE(found.has_value());
    const auto shape = shape_for(*found);
    const auto planned = static_cast<double>(
        predict(*found, targets.window, targets.keys_per_second).generation_keys);
    std::mt19937_64 random(seed());
    for (const auto& [load, limit] :
         {Limited{0.9, 0.01F}, Limited{1.1, 0.01F}, Limited{2, 0.1F}, Limited{10, 0.4F}}) {
        Dropped all;
        while (all.stated < kEnough && all.packets < 2e6) {
            Instance<std::remove_const_t<decltype(shape)>> table(shape);
            drop_some(table.filter, static_cast<std::uint64_t>(load * planned) + 1,
                      2 * (shape.k + shape.l), limit, random, all);
        }
        std::printf("load %4.1f limit %.2f: %8.0f packets, %6.0f expected, %6.0f dropped\n", load,
                    limit, all.packets, all.stated, all.echoes);
        EXPECT_GE(all.stated, kEnough) << load;
        EXPECT_LE(all.echoes, binomial_bounds(all.judged, all.stated / all.judged).high) << load;
        EXPECT_GE(all.echoes, binomial_bounds(all.judged, all.stated / 1.1 / all.judged).low)
            << load;
        EXPECT_LE(all.echoes, binomial_bounds(all.packets, limit).high) << load;
    }
}

TEST(limit, false_drops_of_line_are_what_it_states) {
    check_limits<sizing::LineGeometry>(&sizing::size_line);
}
TEST(limit, false_drops_of_apbf_are_what_it_states) {
    check_limits<sizing::ApbfGeometry>(&sizing::size_apbf);
}
TEST(limit, false_drops_of_apbbf_are_what_it_states) {
    check_limits<sizing::ApbbfGeometry>(&sizing::size_apbbf);
}
TEST(limit, false_drops_of_shbf_are_what_it_states) {
    check_limits<sizing::ShbfWindowGeometry>(&sizing::size_shbf_window);
}

}  // namespace
}  // namespace unecho::test::planned_test
