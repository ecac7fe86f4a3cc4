// SPDX-License-Identifier: BSD-3-Clause
// Cases that only the fingerprint filter has: full lines, stamps that wrap, fingerprints that are
// renewed again and again. Its contract: property/contract.
#include "filters/window/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "filters/achieved_window.h"
#include "filters/ageing.h"
#include "filters/sizing/window/fingerprint.h"
#include "property/streams.h"
#include "support/instance.h"
#include "support/kernels.h"
#include "support/killed_child.h"
#include "support/window_oracle.h"

namespace unecho::test::fingerprint_test {
namespace {

using filter::EchoPolicy;
using filter::FingerprintFilter;
using filter::FingerprintParams;
using FingerprintTable = FilterInstance<FingerprintFilter>;

// Call for every number of bits, policy and kernel, with tables of so many lines.
template <typename Function>
void for_each_fingerprint_table(const std::vector<std::uint64_t>& lines, Function function) {
    std::uint64_t index = 0;
    for (const filter::FingerprintShape& shape : filter::kFingerprintShapes) {
        for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
            for (const std::uint64_t n : lines) {
                for (const filter::Isa isa : available_isas()) {
                    Random random(++index);
                    const auto params = *FingerprintParams::make(
                        {.bits = shape.bits, .lines = n, .policy = policy, .isa = isa});
                    SCOPED_TRACE(seed_note() + " case " + std::to_string(index));
                    function(params, random);
                    if (testing::Test::HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

filter::Moment generation_moment(std::uint64_t generation) {
    return {.now = generation, .generation = generation};
}

// (a), (b): in tables that overflow all the time, nothing inserted since lost_before() is missed
// inside the window, every possible loss was counted, and what is older than the window matches by
// accident alone, also if its fingerprint was moved.
TEST(fingerprint, nothing_is_missed_but_what_the_filter_says_it_lost) {
    std::uint64_t lost = 0;
    std::uint64_t promised = 0;
    std::uint64_t matched = 0;
    double accidents = 0;
    for_each_fingerprint_table({2, 4, 14, 80}, [&](const FingerprintParams& params,
                                                   Random& random) {
        FingerprintTable table(params);
        Digests digests(random);
        References inserted;
        const unsigned l = params.l();
        const double most_chance =
            std::ldexp(2.0 * params.shape().slots, -static_cast<int>(params.bits()));
        std::uint64_t now = random.below(2) == 0 ? 0 : (std::uint64_t{1} << 63) + random.below(600);
        for (unsigned step = 0; step < 1500; ++step) {
            now += random_step(random, 1, l);
            table.filter.advance(generation_moment(now));
            if (random.one_in(3)) {
                table.filter.maintain();
            }
            std::vector<Digest> burst(random.one_in(4) ? 1 : random.below(65));
            std::generate(burst.begin(), burst.end(), [&] { return digests.next(); });
            const std::uint64_t echoes = table.filter.test_and_insert_burst(burst);
            for (std::size_t i = 0; i < burst.size(); ++i) {
                const bool echo = (echoes >> i & 1) != 0;
                const auto age = inserted.age(burst[i], now);
                if (age && *age <= l && now - *age >= table.filter.lost_before()) {
                    ++promised;
                    ASSERT_TRUE(echo) << "age " << *age << " of " << l;
                }
                if (params.bits() >= 19 && (!age || *age > l)) {
                    matched += echo ? 1 : 0;
                    accidents += most_chance;
                }
                if (!echo || params.policy() == EchoPolicy::kRefresh) {
                    inserted.insert(burst[i], now);
                }
            }
            ASSERT_LE(table.filter.lost_before(), now + 1);
        }
        ASSERT_EQ(table.filter.counters().evicted_early == 0, table.filter.lost_before() == 0);
        lost += table.filter.counters().evicted_early;
    });
    EXPECT_GT(lost, 10'000U);
    EXPECT_GT(promised, 10'000U);
    EXPECT_LT(static_cast<double>(matched), 1.5 * accidents + 10);
}

// (b), (e): a digest that is not touched for any number of generations, in single steps or skips,
// with visits or without, stays forgotten although its stamp wraps.
TEST(fingerprint, what_was_forgotten_never_comes_back) {
    for_each_fingerprint_table({2, 2000}, [](const FingerprintParams& params, Random& random) {
        FingerprintTable table(params);
        const unsigned l = params.l();
        std::uint64_t now = random.below(300);
        for (unsigned round = 0; round < (params.lines() == 2 ? 40U : 4U); ++round) {
            const Digest digest = random.bits();
            table.filter.advance(generation_moment(now));
            ASSERT_FALSE(table.filter.test_and_insert(digest));
            table.filter.advance(generation_moment(now += l));
            ASSERT_TRUE(table.filter.query(digest));
            ++now;
            const std::uint64_t step = random.one_in(2) ? 1 : 1 + random.below(300);
            for (unsigned turns = 0; turns < 600; ++turns, now += step) {
                table.filter.advance(generation_moment(now));
                if (random.one_in(2)) {
                    table.filter.maintain();
                }
                ASSERT_FALSE(table.filter.query(digest)) << "round " << round << " " << turns;
            }
        }
    });
}

// A key that is renewed in every generation has one fingerprint and evicts no other.
TEST(fingerprint, keys_that_are_renewed_have_one_fingerprint_each) {
    for_each_fingerprint_table({64}, [](const FingerprintParams& params, Random& random) {
        FingerprintTable table(params);
        const unsigned slots = params.shape().slots;
        std::vector<Digest> digests(32 * slots);
        std::generate(digests.begin(), digests.end(), [&] { return random.bits(); });
        const bool refreshes = params.policy() == EchoPolicy::kRefresh;
        float greatest = 0;
        for (unsigned generation = 0; generation < 4 * (params.l() + 1); ++generation) {
            table.filter.advance(generation_moment(generation));
            for (const Digest digest : digests) {
                // Renewed as echoes that refresh, or as doubts.
                const auto answers = table.filter.test_and_insert_burst(
                    {&digest, 1}, filter::ChanceLimits(refreshes ? 1.0F : -1.0F));
                // In the first generation it may match by accident.
                ASSERT_TRUE(generation == 0 || (answers.echoes | answers.doubts) != 0);
                greatest = std::max(greatest, table.filter.chance(digest));
            }
            ASSERT_GE(table.filter.load(), digests.size() * 9 / 10);
        }
        EXPECT_EQ(table.filter.counters().evicted_early, 0U);
        const auto full = 2.0 * slots / static_cast<double>(std::uint64_t{1} << params.bits());
        EXPECT_LT(static_cast<double>(greatest), 0.8 * full);  // half full
    });
}

// Keys inserted one after the other, some in each generation of a window, until the next one finds
// both of its lines full.
struct FullPair {
    std::vector<Digest> kept;
    Digest next = 0;

    FullPair(const FingerprintParams& params, Random& random) {
        FingerprintTable table(params);
        const auto full = static_cast<float>(
            std::ldexp(2.0 * params.shape().slots, -static_cast<int>(params.bits())));
        for (next = random.bits(); table.filter.chance(next) < full; next = random.bits()) {
            table.filter.advance(generation_moment(generation_of(kept.size(), params)));
            if (!table.filter.test_and_insert(next)) {
                kept.push_back(next);
            }
        }
    }
    static std::uint64_t generation_of(std::size_t key, const FingerprintParams& params) {
        return 1 + key * (params.l() - 1) / (params.lines() * params.shape().slots);
    }
};

// After an interruption at any instruction of a burst, another filter over the same memory knows
// everything that was there before, or says that it lost it. A line being written is restored from
// the journal if its update takes several instructions. The first key of the burst has two full
// lines. With 20 lines a fingerprint of theirs moves; with two one is lost.
TEST(fingerprint, lines_are_whole_wherever_the_process_was_cut_off) {
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    std::uint64_t lost = 0;
    for_each_fingerprint_table({2, 20}, [&](const FingerprintParams& params, Random& random) {
        if (params.lines() > 2 && params.policy() == EchoPolicy::kRefresh) {
            return;
        }
        const SharedMemory shared(FingerprintFilter::bytes(params));
        const FilterMemory seen(FingerprintFilter::bytes(params));
        const FilterMemory copy(FingerprintFilter::bytes(params));
        const FullPair keys(params, random);
        const std::vector<Digest>& kept = keys.kept;
        const Digest burst[] = {keys.next, kept[3], random.bits()};
        const auto prepare = [&] {
            FingerprintFilter filter(params, shared.span());
            for (std::size_t i = 0; i < kept.size(); ++i) {
                filter.advance(generation_moment(FullPair::generation_of(i, params)));
                filter.test_and_insert(kept[i]);
            }
            filter.advance(generation_moment(params.l()));
            return filter;
        };
        const auto act = [&](FingerprintFilter& filter) { filter.test_and_insert_burst(burst); };
        std::uint64_t lost_before = 0;
        const auto look = [&] {
            const std::size_t size = copy.span().size();
            if (std::memcmp(seen.span().data(), shared.span().data(), size) == 0) {
                return true;  // most instructions write elsewhere
            }
            std::memcpy(seen.span().data(), shared.span().data(), size);
            std::memcpy(copy.span().data(), shared.span().data(), size);
            ++states;
            EXPECT_TRUE(FingerprintFilter::is_consistent(params, copy.span()));
            const FingerprintFilter filter(params, copy.span(), filter::Contents::kRestored);
            lost_before = filter.lost_before();
            for (std::size_t i = 0; i < kept.size(); ++i) {
                EXPECT_TRUE(filter.query(kept[i]) ||
                            FullPair::generation_of(i, params) < filter.lost_before());
            }
            return !testing::Test::HasFailure();
        };
        steps += step_through(50'000, prepare, act, look);
        lost += lost_before != 0 ? 1 : 0;
        EXPECT_TRUE(params.lines() == 2 || lost_before == 0);
    });
    if (steps == 0) {
        GTEST_SKIP() << "no process may be traced here";
    }
    EXPECT_GT(states, 80U);
    EXPECT_GT(lost, 20U);
}

// A filter with its ageing, as a worker has it. Generations end by time or by load, and losses
// shorten the achieved window.
class LossyLane {
  public:
    LossyLane(const FingerprintParams& params, Nanoseconds window, std::uint64_t load)
        : table_(params),
          ageing_({.window = window,
                   .length = window / params.l(),
                   .retained_generations = params.l(),
                   .load = load}) {}

    bool observe(Digest digest, Nanoseconds now) {
        FingerprintFilter& filter = table_.filter;
        filter.advance(ageing_.advance_to(ageing_.published_at(now), filter.load()));
        if (ageing_.room(filter.load()) == 0) {
            filter.advance(ageing_.turn_early(filter.load()));
        }
        const bool echo = filter.test_and_insert(digest);
        if (filter.lost_before() != 0) {
            ageing_.record_loss(filter.lost_before());
        }
        return echo;
    }
    [[nodiscard]] filter::WindowState state(Nanoseconds now) const { return ageing_.state(now); }
    [[nodiscard]] const FingerprintFilter& filter() const { return table_.filter; }

  private:
    FingerprintTable table_;
    filter::Ageing ageing_;
};

constexpr Nanoseconds kLossyWindow = 70'000;

// Result of a stream of evenly spaced keys and as many copies of any age up to 0.95 windows.
struct SeenOfStream {
    std::uint64_t promised = 0;
    std::uint64_t missed = 0;  // younger than the achieved window
    std::uint64_t lost = 0;
    Nanoseconds shortest = 0;
};

SeenOfStream stream(const FingerprintParams& params, double keys_of_window, double planned,
                    Random& random) {
    // There may be one key more between two turns than on average.
    LossyLane context(params, kLossyWindow, static_cast<std::uint64_t>(planned / params.l()) + 2);
    std::map<Digest, Nanoseconds> inserted;
    std::vector<Digest> past;
    SeenOfStream seen;
    const double step = kLossyWindow / keys_of_window;
    const auto advance_to = static_cast<std::uint64_t>(0.95 * keys_of_window);
    double time = 0;
    Nanoseconds now = 0;
    for (unsigned n = 0; n < 30'000; ++n) {
        now = static_cast<Nanoseconds>(time);
        const bool copy = random.one_in(2) && !past.empty();
        const std::uint64_t back = random.below(advance_to);
        Digest digest = random.bits();
        if (copy && back < past.size()) {
            digest = past[past.size() - 1 - back];
        } else {
            past.push_back(digest);
            time += step;
        }
        const bool echo = context.observe(digest, now);
        const auto found = inserted.find(digest);
        if (found != inserted.end() && now - found->second < context.state(now).achieved) {
            ++seen.promised;
            seen.missed += echo ? 0 : 1;
        }
        if (!echo) {
            inserted[digest] = now;
        }
    }
    seen.lost = context.filter().counters().evicted_early;
    seen.shortest = context.state(now).shortest;
    return seen;
}

// P1 in time: nothing younger than the achieved window is missed, at the planned rate, above it,
// and with overfull lines. At the planned rate nothing is lost and the window is the configured
// one.
TEST(fingerprint, no_copy_younger_than_the_achieved_window_is_missed) {
    for_each_fingerprint_table({64}, [](const FingerprintParams& params, Random& random) {
        if (params.policy() == EchoPolicy::kRefresh) {
            return;
        }
        const sizing::FingerprintGeometry geometry{params.bits(), params.l(), params.lines()};
        const double planned =
            params.l() * static_cast<double>(sizing::fingerprint_capacity(geometry));
        const SeenOfStream at_plan = stream(params, planned, planned, random);
        ASSERT_EQ(at_plan.missed, 0U);
        ASSERT_EQ(at_plan.lost, 0U);
        ASSERT_EQ(at_plan.shortest, kLossyWindow);
        ASSERT_GT(at_plan.promised, 5'000U);
        // Three times the rate: generations end by load, so nothing is lost.
        const SeenOfStream above = stream(params, 3 * planned, planned, random);
        ASSERT_EQ(above.missed, 0U);
        ASSERT_EQ(above.lost, 0U);
        ASSERT_LT(above.shortest, kLossyWindow / 2);
        ASSERT_GT(above.promised, 1'000U);
        // Slightly more keys than slots before each turn. Some are lost: those of the oldest
        // generation, or of the next one where both lines of a key have none of the oldest.
        const double l = params.l();
        const double over_full =
            (params.shape().slots + 0.5) * l / (l + 1) * static_cast<double>(params.lines());
        const SeenOfStream tight = stream(params, over_full, 1.05 * over_full, random);
        ASSERT_EQ(tight.missed, 0U);
        ASSERT_GT(tight.lost, 0U);
        ASSERT_LT(tight.shortest, kLossyWindow);
        ASSERT_GT(tight.shortest, kLossyWindow / 2);
        // The lines are sized for a third of the keys.
        const SeenOfStream full = stream(params, 3 * planned, 4 * planned, random);
        ASSERT_EQ(full.missed, 0U);
        ASSERT_GT(full.lost, 1'000U);
        ASSERT_LT(full.shortest, kLossyWindow / 2);
    });
}

}  // namespace
}  // namespace unecho::test::fingerprint_test
