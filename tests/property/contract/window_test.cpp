// SPDX-License-Identifier: BSD-3-Clause
// Contract (a) to (e) of filter.h: what is kept, what is forgotten, and the effects of skips,
// policies, clear() and background work.
#include "property/contract/contract.h"

namespace unecho::test {
namespace {

template <typename Filter>
class contract_window : public testing::Test {};
TYPED_TEST_SUITE(contract_window, Engines::Types, EngineNames);

// Return all ages up to the highest that is kept, or a selection with the edges if they are many.
std::vector<std::uint64_t> ages_of(const Promise& promise) {
    std::vector<std::uint64_t> ages;
    const std::uint64_t stride = promise.kept / 12 + 1;
    for (std::uint64_t age = 0; age < promise.kept; age += stride) {
        ages.push_back(age);
    }
    if (promise.kept > 1) {
        ages.push_back(promise.kept - 1);
    }
    ages.push_back(promise.kept);
    return ages;
}

// (a), (b): a digest inserted at any position of the inner cycle is an echo at each age that is
// kept, reached step by step. Alone in the filter it is new as soon as it may be.
TYPED_TEST(contract_window, digest_of_every_base_position_is_kept_and_then_forgotten) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        const std::vector<std::uint64_t> ages = ages_of(c.promise);
        const std::uint64_t bases = c.promise.cycle + 1;
        const std::uint64_t longest =
            bases * (c.promise.kept + c.promise.alone + c.promise.step + 1);
        std::uint64_t time =
            c.draw.index % 2 == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() - longest;
        for (std::uint64_t base = 0; base < bases; ++base) {
            const Digest digest = c.random.bits();
            table.filter.advance(moment_at(time));
            ASSERT_FALSE(table.filter.test_and_insert(digest)) << "base " << base;
            for (const std::uint64_t age : ages) {
                table.filter.advance(moment_at(time + age));
                if constexpr (kAsks<TypeParam>) {
                    ASSERT_TRUE(ask(table.filter, digest)) << "base " << base << " age " << age;
                } else if (!refreshes(c.draw) || age == c.promise.kept) {
                    ASSERT_TRUE(table.filter.test_and_insert(digest))
                        << "base " << base << " age " << age;
                }
            }
            const std::uint64_t renewed =
                !kAsks<TypeParam> && refreshes(c.draw) ? c.promise.kept : 0;
            table.filter.advance(moment_at(time + renewed + c.promise.alone));
            ASSERT_FALSE(table.filter.test_and_insert(digest)) << "base " << base;
            time += renewed + c.promise.alone;
            table.filter.clear();
            time += 1 + c.random.below(c.promise.step);
        }
    });
}

// (e): any number of generations at once, from every position of the cycle.
TYPED_TEST(contract_window, digest_survives_every_skip_that_is_kept_and_none_that_is_forgotten) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        std::vector<std::uint64_t> skips = ages_of(c.promise);
        for (const std::uint64_t beyond : {0, 1, 2}) {
            skips.push_back(c.promise.alone + beyond);
            skips.push_back(c.promise.forgotten + beyond);
        }
        skips.insert(skips.end(), {1'000'003, std::uint64_t{1} << 40});
        // Every position with every skip if there are few, otherwise a selection.
        const std::uint64_t stride = 1 + c.promise.cycle / 24;
        std::uint64_t time = 0;
        for (const std::uint64_t skip : skips) {
            for (std::uint64_t base = 0; base < c.promise.cycle; base += stride) {
                const Digest digest = c.random.bits();
                ASSERT_FALSE(table.filter.test_and_insert(digest));
                time += skip;
                table.filter.advance(moment_at(time));
                if (skip <= c.promise.kept) {
                    ASSERT_TRUE(table.filter.test_and_insert(digest))
                        << "skip " << skip << " base " << base;
                } else if (skip >= c.promise.forgotten) {
                    ASSERT_FALSE(table.filter.test_and_insert(digest))
                        << "skip " << skip << " base " << base;
                }
                time += c.random.below(stride) + 1;
                table.filter.advance(moment_at(time));
            }
        }
    });
}

// (a), (d), (e) in saturated tables: random streams with random skips and background work.
TYPED_TEST(contract_window, nothing_that_is_kept_is_missed_when_saturated) {
    std::uint64_t certain = 0;
    for_each_case<TypeParam>(Fill::kSmall, [&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        Background background(table.filter, c.draw.index);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        References inserted;
        for (unsigned step = 0; step < 1500; ++step) {
            const std::uint64_t now = clock.next();
            table.filter.advance(moment_at(now));
            background.work(c.random, now);
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, now);
            const bool kept = age && *age <= c.promise.kept && keeps(table.filter, now - *age);
            const bool echo = table.filter.test_and_insert(digest);
            ASSERT_TRUE(echo || !kept) << "step " << step << " age " << *age;
            certain += kept ? 1 : 0;
            if (!echo || refreshes(c.draw)) {
                inserted.insert(digest, now);
            }
            if (c.random.one_in(700)) {
                table.filter.clear();
                inserted.clear();
            }
        }
    });
    EXPECT_GT(certain, 50 * Row<TypeParam>::kShapes);
}

// (a) to (e), both sides: certainly an echo while kept, certainly new once forgotten, except for
// accidental matches, whose number the fill must explain.
TYPED_TEST(contract_window, verdicts_follow_the_window_when_roomy) {
    std::uint64_t certain = 0;
    std::uint64_t asked = 0;
    for_each_case<TypeParam>(Fill::kRoomy, [&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        Background background(table.filter, c.draw.index);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index + 1);
        References inserted;
        const double chance = Row<TypeParam>::accident(c.params, 200);
        Accidents accidents;
        for (unsigned step = 0; step < 1500; ++step) {
            const std::uint64_t now = clock.next();
            table.filter.advance(moment_at(now));
            background.work(c.random, now);
            if (c.random.one_in(700)) {
                table.filter.clear();
                inserted.clear();
            }
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, now);
            const bool echo = table.filter.test_and_insert(digest);
            if (age && *age <= c.promise.kept) {
                ++certain;
                ASSERT_TRUE(echo) << "step " << step << " age " << *age;
            } else if (!age || *age >= c.promise.forgotten) {
                accidents.asked(digest, echo, chance);
            }
            if (!echo || refreshes(c.draw)) {
                inserted.insert(digest, now);
                accidents.inserted(digest);
            }
        }
        ASSERT_EQ(table.filter.counters().evicted_early, 0U);
        ASSERT_EQ(table.filter.counters().arena_full, 0U);
        ASSERT_FALSE(accidents.too_many()) << accidents.text();
        asked += accidents.asked();
    });
    EXPECT_GT(certain, 200 * Row<TypeParam>::kShapes);
    EXPECT_GT(asked, 500 * Row<TypeParam>::kShapes);
}

// (d): a recurring digest is new once a window under kFixed, and never again under kRefresh.
TYPED_TEST(contract_window, policy_decides_whether_repeats_refresh) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        const Digest digest = c.random.bits();
        const std::uint64_t pace = 1 + c.promise.kept / 40;
        ASSERT_FALSE(table.filter.test_and_insert(digest));
        std::uint64_t last_new = 0;
        unsigned news = 0;
        const bool keeps_any = c.promise.kept > 0;  // not in a window of 1 ns
        for (std::uint64_t time = pace; time < 6 * c.promise.forgotten + 6 * pace; time += pace) {
            table.filter.advance(moment_at(time));
            if (!table.filter.test_and_insert(digest)) {
                ASSERT_TRUE(!refreshes(c.draw) || !keeps_any) << time;
                ASSERT_GT(time - last_new, c.promise.kept);
                last_new = time;
                ++news;
            } else {
                ASSERT_TRUE(refreshes(c.draw) || time - last_new < c.promise.forgotten) << time;
            }
        }
        if (!refreshes(c.draw)) {
            ASSERT_GE(news, 4U);
        }
    });
}

// A time before the present one changes nothing, not even the time.
TYPED_TEST(contract_window, time_that_goes_back_changes_nothing) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        const std::uint64_t time = 10 * c.promise.forgotten;
        const Digest digest = c.random.bits();
        table.filter.advance(moment_at(time));
        ASSERT_FALSE(table.filter.test_and_insert(digest));
        const filter::FilterCounters before = table.filter.counters();
        for (const std::uint64_t earlier : {time - 1, time / 2, std::uint64_t{0}}) {
            table.filter.advance(moment_at(earlier));
            expect_same_counters(before, table.filter.counters());
            if constexpr (kAsks<TypeParam>) {
                ASSERT_TRUE(ask(table.filter, digest)) << "back at " << earlier;
            } else if (!refreshes(c.draw)) {
                ASSERT_TRUE(table.filter.test_and_insert(digest)) << "back at " << earlier;
            }
        }
        const Digest late = c.random.bits();
        ASSERT_FALSE(table.filter.test_and_insert(late));
        table.filter.advance(moment_at(time + c.promise.kept));
        ASSERT_TRUE(table.filter.test_and_insert(late));
        ASSERT_TRUE(table.filter.test_and_insert(digest));
        const std::uint64_t renewed = refreshes(c.draw) ? c.promise.kept : 0;
        table.filter.advance(moment_at(time + renewed + c.promise.forgotten));
        ASSERT_FALSE(table.filter.test_and_insert(digest));
    });
}

// After clear() at any position nothing is an echo, and ageing continues correctly.
TYPED_TEST(contract_window, clear_forgets_and_keeps_the_time_at_every_base_position) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        Background background(table.filter, c.draw.index);
        const std::uint64_t stride = 1 + c.promise.cycle / 60;
        std::uint64_t time = 0;
        for (std::uint64_t base = 0; base < c.promise.cycle; base += stride) {
            const Digest before = c.random.bits();
            const Digest after = c.random.bits();
            table.filter.advance(moment_at(time));
            ASSERT_FALSE(table.filter.test_and_insert(before));
            ASSERT_TRUE(table.filter.test_and_insert(before));
            background.work(c.random, time);
            const std::uint64_t insertions = table.filter.counters().insertions;
            table.filter.clear();
            ASSERT_EQ(table.filter.counters().insertions, insertions);
            if constexpr (requires { table.filter.load(); }) {
                ASSERT_EQ(table.filter.load(), 0U) << "base " << base;
            }
            ASSERT_FALSE(table.filter.test_and_insert(after)) << "base " << base;
            table.filter.advance(moment_at(time + c.promise.kept));
            ASSERT_TRUE(table.filter.test_and_insert(after)) << "base " << base;
            ASSERT_FALSE(table.filter.test_and_insert(before)) << "base " << base;
            time += c.promise.kept + c.promise.forgotten + stride;
        }
    });
}

// The window in nanoseconds, near 2^63. Engines that age by generations get it through the
// generation clock; the others take nanoseconds anyway.
TYPED_TEST(contract_window, window_in_time_holds_at_every_phase) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        const bool by_generation = info_of<TypeParam>().by_generation;
        const Nanoseconds window =
            by_generation ? 50 + c.promise.kept + c.random.below(1000) : c.promise.kept + 1;
        const filter::GenerationClock clock =
            by_generation
                ? filter::GenerationClock::covering(window, static_cast<unsigned>(c.promise.kept))
                : filter::GenerationClock{1};
        const Nanoseconds forgotten = c.promise.forgotten * clock.length;
        Digests digests(c.random);
        References inserted;
        Nanoseconds now = (std::uint64_t{1} << 63) - c.random.below(10'000);
        const double chance = Row<TypeParam>::accident(c.params, 200);
        Accidents accidents;
        for (unsigned step = 0; step < 700; ++step) {
            now += c.random.one_in(100) ? c.random.below(3 * forgotten)
                                        : c.random.below(window / 8 + 2);
            table.filter.advance({.now = now, .generation = clock.generation_of(now)});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, now);
            const bool echo = table.filter.test_and_insert(digest);
            if (age && *age < window) {
                ASSERT_TRUE(echo) << "step " << step << " age " << *age << " of " << window;
            } else if (!age || *age >= forgotten) {
                accidents.asked(digest, echo, chance);
            }
            if (!echo || refreshes(c.draw)) {
                inserted.insert(digest, now);
                accidents.inserted(digest);
            }
        }
        ASSERT_FALSE(accidents.too_many()) << accidents.text();
    });
}

template <typename Filter>
class contract_segments : public testing::Test {};
TYPED_TEST_SUITE(contract_segments, EnginesOfSegments::Types, EngineNames);

// Verdicts depend on digests and generations only: not on the number of spare segments, nor on
// which thread zeroes segments, nor when.
TYPED_TEST(contract_segments, spares_and_helper_do_not_change_verdicts) {
    std::uint64_t echoes = 0;
    for_each_case<TypeParam>(Fill::kSmall, [&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table plain(c.params);
        Draw other = c.draw;
        other.other_spares = true;
        typename Case<TypeParam>::Table helped(Case<TypeParam>(other).params);
        ASSERT_NE(helped.filter.params().ring().spares, c.params.ring().spares);
        Helper helper(helped.filter.segments());
        Random times(c.draw.index + 1'000'000);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned step = 0; step < 700; ++step) {
            helper.work(times);
            const std::uint64_t now = clock.next();
            plain.filter.advance(moment_at(now));
            helped.filter.advance(moment_at(now));
            const Digest digest = digests.next();
            const bool echo = plain.filter.test_and_insert(digest);
            echoes += echo ? 1 : 0;
            ASSERT_EQ(helped.filter.test_and_insert(digest), echo) << "step " << step;
            const Digest fresh = digests.fresh();
            ASSERT_EQ(ask(helped.filter, fresh), ask(plain.filter, fresh)) << "step " << step;
        }
    });
    EXPECT_GT(echoes, 50 * Row<TypeParam>::kShapes);
}

}  // namespace
}  // namespace unecho::test
