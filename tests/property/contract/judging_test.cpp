// SPDX-License-Identifier: BSD-3-Clause
// The contract of filters/confidence_filter.h, for every engine that estimates chances, against the
// definition: query, chance and insertion one by one.
#include <bit>

#include "filters/confidence_filter.h"
#include "property/contract/contract.h"

namespace unecho::test {
namespace {

using filter::Answers;
using filter::ChanceLimits;

template <typename Filter>
class contract_judging : public testing::Test {};
TYPED_TEST_SUITE(contract_judging, JudgingEngines::Types, EngineNames);

template <typename List>
inline constexpr bool kJudge = false;
template <typename... Filters>
inline constexpr bool kJudge<FilterList<Filters...>> = (filter::ConfidenceFilter<Filters> && ...) &&
                                                       (Asks<Filters> && ...);
static_assert(kJudge<JudgingEngines>);

// An upper limit for every chance. That of a line is a sum and may exceed 1
// (filters/kernels/line_body-inl.h).
constexpr float kAll = 8;

// Expect a chance in the range that a filter may state.
template <typename Filter>
void expect_chance(float chance) {
    ASSERT_GE(chance, HasSegments<Filter> ? filter::kMinChance : 0.0F);
    ASSERT_LE(chance, HasSegments<Filter> ? 1.0F : kAll);
}

// Draw a limit at or near a chance that occurs.
float random_limit(Random& random, float chance) {
    const float limits[] = {0, chance / 2, std::nextafter(chance, 0.0F), chance, chance * 2, 1};
    return limits[random.below(std::size(limits))];
}

// Return the answer of the definition to one digest, and insert the digest accordingly.
template <typename Filter>
Answers one_by_one(Filter& filter, Digest digest, float limit, bool refresh) {
    const bool match = filter.query(digest);
    const bool echo = match && filter.chance(digest) <= limit;
    if (!echo || refresh) {
        filter.insert(digest);
    }
    return {std::uint64_t{echo}, std::uint64_t{match && !echo}};
}

// A match up to its limit is an echo and one above it a doubt. Doubts are inserted as new digests
// are. Limits are one for all or one for each.
TYPED_TEST(contract_judging, burst_equals_sequence_of_query_chance_and_insert) {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    for_each_case_of_two_fills<TypeParam>([&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table burst(c.params);
        typename Case<TypeParam>::Table halves(c.params);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned step = 0; step < 60; ++step) {
            const std::uint64_t now = clock.next();
            for (auto* table : {&burst, &halves}) {
                table->filter.advance(moment_at(now));
                if (step % 50 == 49) {
                    table->filter.clear();
                }
            }
            const std::vector<Digest> packets = random_burst(c.random, digests);
            std::vector<float> each(packets.size());
            const bool same = c.random.one_in(2);
            const float all = random_limit(c.random, halves.filter.chance(digests.fresh()));
            Answers expected;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                each[p] = same ? all : random_limit(c.random, halves.filter.chance(packets[p]));
                const Answers one =
                    one_by_one(halves.filter, packets[p], each[p], refreshes(c.draw));
                expected.echoes |= one.echoes << p;
                expected.doubts |= one.doubts << p;
            }
            const Answers answers = burst.filter.test_and_insert_burst(
                packets, same ? ChanceLimits(all) : ChanceLimits(each.data()));
            ASSERT_EQ(answers.echoes, expected.echoes) << "step " << step;
            ASSERT_EQ(answers.doubts, expected.doubts) << "step " << step;
            ASSERT_EQ(burst.filter.chance(0), halves.filter.chance(0));
            echoes += static_cast<unsigned>(std::popcount(answers.echoes));
            doubts += static_cast<unsigned>(std::popcount(answers.doubts));
        }
        if constexpr (!kTestsTidy<TypeParam>) {
            expect_same(halves, burst);
        }
        expect_same_counters(halves.filter.counters(), burst.filter.counters());
        expect_same_load(halves.filter, burst.filter);
    });
    EXPECT_GT(echoes, 100 * Row<TypeParam>::kShapes);
    EXPECT_GT(doubts, 100 * Row<TypeParam>::kShapes);
}

// A forwarded digest, new or doubt, matches at any limit as long as it is kept.
TYPED_TEST(contract_judging, copy_of_what_was_forwarded_is_never_missed) {
    std::uint64_t doubts = 0;
    for_each_case<TypeParam>(Fill::kSmall, [&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        References forwarded;
        for (unsigned step = 0; step < 1200; ++step) {
            const std::uint64_t now = clock.next();
            table.filter.advance(moment_at(now));
            const Digest digest = digests.next();
            const float limit = random_limit(c.random, table.filter.chance(digest));
            const auto age = forwarded.age(digest, now);
            const bool kept = age && *age <= c.promise.kept && keeps(table.filter, now - *age);
            const Answers answers =
                table.filter.test_and_insert_burst({&digest, 1}, ChanceLimits(limit));
            if (kept) {
                ASSERT_EQ(answers.echoes | answers.doubts, 1U) << "step " << step;
            }
            if (answers.echoes == 0) {
                forwarded.insert(digest, now);
            }
            doubts += answers.doubts;
        }
    });
    EXPECT_GT(doubts, 50 * Row<TypeParam>::kShapes);
}

TYPED_TEST(contract_judging, limit_above_all_answers_as_without_and_one_below_doubts_every_match) {
    for_each_case<TypeParam>(Fill::kSmall, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table surest(c.params);
        typename Case<TypeParam>::Table plain(c.params);
        typename Case<TypeParam>::Table none(c.params);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned step = 0; step < 30; ++step) {
            const std::uint64_t now = clock.next();
            for (auto* table : {&surest, &plain, &none}) {
                table->filter.advance(moment_at(now));
            }
            const std::vector<Digest> packets = random_burst(c.random, digests);
            const Answers all = surest.filter.test_and_insert_burst(packets, ChanceLimits(kAll));
            ASSERT_EQ(all.echoes, plain.filter.test_and_insert_burst(packets));
            ASSERT_EQ(all.doubts, 0U);
            ASSERT_EQ(none.filter.test_and_insert_burst(packets, ChanceLimits(-1.0F)).echoes, 0U);
        }
        expect_same(plain, surest);
    });
}

// chance() lies between 0 and certainty, and is an upper bound on the rate of accidental matches,
// as close as the fill allows. Its accuracy: tests/statistical/chance_test.cpp.
TYPED_TEST(contract_judging, chance_is_an_upper_bound) {
    for_each_case<TypeParam>(Fill::kHalf, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        const std::uint64_t generations = std::min<std::uint64_t>(c.promise.forgotten, 12);
        double stated = 0;
        unsigned matches = 0;
        for (std::uint64_t now = 0; now < generations; ++now) {
            table.filter.advance(moment_at(now));
            for (unsigned i = 0; i < 100; ++i) {
                table.filter.insert(c.random.bits());
            }
            for (unsigned i = 0; i < 60; ++i) {
                const Digest fresh = c.random.bits();
                const float chance = table.filter.chance(fresh);
                expect_chance<TypeParam>(chance);
                stated += static_cast<double>(chance);
                matches += table.filter.query(fresh) ? 1 : 0;
            }
        }
        // Few blocks deviate from the mean of all tables, and queries of one table are not
        // independent.
        ASSERT_LE(matches, 1.3 * stated + 8 * std::sqrt(stated) + 4);
    });
}

// In the full filter every segment is full.
TYPED_TEST(contract_judging, chance_of_an_empty_filter_is_next_to_none_and_of_a_full_one_great) {
    for_each_case<TypeParam>(Fill::kSmall, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        ASSERT_LE(table.filter.chance(c.random.bits()), filter::kMinChance);
        float greatest = 0;
        for (unsigned step = 0; step < 4000; ++step) {
            table.filter.insert(c.random.bits());
            if (step % 8 == 0) {
                const float chance = table.filter.chance(c.random.bits());
                expect_chance<TypeParam>(chance);
                greatest = std::max(greatest, chance);
            }
        }
        if constexpr (requires { Row<TypeParam>::most_chance(c.params); }) {
            ASSERT_EQ(greatest, Row<TypeParam>::most_chance(c.params));
        } else {
            // A table of one block may have reached this fill by fewer changes than the mean table.
            ASSERT_TRUE(greatest > 0.2F || c.draw.index >= kFewSlots) << greatest;
        }
        table.filter.clear();
        ASSERT_LE(table.filter.chance(c.random.bits()), filter::kMinChance);
    });
}

}  // namespace
}  // namespace unecho::test
