// SPDX-License-Identifier: BSD-3-Clause
// Contract of judge.h for the filters that age by segments, against the definition: query, chance
// and insertion one by one.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "filter/judging.h"
#include "streams.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using filter::Answers;
using filter::ChanceLimits;
using filter::EchoPolicy;

template <typename Kind>
class judged : public testing::Test {};
using Kinds = testing::Types<ApbfKind, ApbbfKind, ApshbfKind>;
TYPED_TEST_SUITE(judged, Kinds);

template <typename Function>
void for_each_shape(Function function) {
    std::uint64_t index = 0;
    for (unsigned k = 1; k <= 5; ++k) {
        for (const unsigned l : {1U, 2U, 3U, 7U}) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                ++index;
                const Shape shape{k, l, static_cast<unsigned>(index % 4), policy};
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + shape.text());
                function(shape, index);
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

// Limits around the chances that there are.
float random_limit(Random& random, float chance) {
    const float limits[] = {0, chance / 2, chance, chance * 2, 1};
    return limits[random.below(std::size(limits))];
}

// The answer of the definition to one digest, which is inserted as it says.
template <typename Filter>
Answers one_by_one(Filter& filter, Digest digest, float limit, EchoPolicy policy) {
    const bool match = filter.query(digest);
    const bool echo = match && filter.chance(digest) <= limit;
    if (!echo || policy == EchoPolicy::kRefresh) {
        filter.insert(digest);
    }
    return {std::uint64_t{echo}, std::uint64_t{match && !echo}};
}

// Slots so many that a burst is looked up in several parts, too.
template <typename Function>
void for_each_shape_and_many_slots(Function function) {
    for_each_shape(function);
    function(Shape{40, 3, 1, EchoPolicy::kFixed}, 1'000);
}

TYPED_TEST(judged, burst_equals_sequence_of_query_chance_and_insert) {
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    for_each_shape_and_many_slots([&](const Shape& shape, std::uint64_t index) {
        Random random(index);
        const Size size = index % 2 == 0 ? Size::kSmall : Size::kRoomy;
        const auto params = TypeParam::params(shape, size, random);
        Instance<TypeParam> burst(params);
        Instance<TypeParam> halves(params);
        Digests digests(random);
        std::uint64_t generation = 0;
        for (unsigned step = 0; step < 150; ++step) {
            generation += random_step(random, shape.k, shape.l);
            for (auto* i : {&burst, &halves}) {
                i->filter.advance({.generation = generation});
                if (step % 50 == 49) {
                    i->filter.clear();
                }
            }
            std::vector<Digest> packets(random.below(kMaxBurst + 1));
            std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
            std::vector<float> each(packets.size());
            const bool same = random.one_in(2);
            const float all = random_limit(random, halves.filter.chance(0));
            Answers expected;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                each[p] = same ? all : random_limit(random, halves.filter.chance(0));
                const Answers one = one_by_one(halves.filter, packets[p], each[p], shape.policy);
                expected.echoes |= one.echoes << p;
                expected.doubts |= one.doubts << p;
            }
            const Answers answers = burst.filter.test_and_insert_burst(
                packets, same ? ChanceLimits(all) : ChanceLimits(each.data()));
            ASSERT_EQ(answers.echoes, expected.echoes) << "step " << step;
            ASSERT_EQ(answers.doubts, expected.doubts) << "step " << step;
            ASSERT_EQ(answers.echoes & answers.doubts, 0U);
            ASSERT_EQ(burst.filter.chance(0), halves.filter.chance(0));
            echoes += static_cast<unsigned>(std::popcount(answers.echoes));
            doubts += static_cast<unsigned>(std::popcount(answers.doubts));
        }
        const auto bits = halves.memory.span();
        ASSERT_EQ(std::memcmp(burst.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(burst.filter.counters().insertions, halves.filter.counters().insertions);
    });
    EXPECT_GT(echoes, 1000U);
    EXPECT_GT(doubts, 1000U);
}

// Whatever went on - new, or a doubt - is matched through l generations, at any limit.
TYPED_TEST(judged, copy_of_what_was_forwarded_is_never_missed) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kSmall, random));
        Digests digests(random);
        References forwarded;
        std::uint64_t generation = 0;
        for (unsigned step = 0; step < 2000; ++step) {
            generation += random_step(random, shape.k, shape.l);
            i.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const float limit = random_limit(random, i.filter.chance(digest));
            const Answers answers =
                i.filter.test_and_insert_burst(std::vector<Digest>{digest}, ChanceLimits(limit));
            const auto age = forwarded.age(digest, generation);
            if (age && *age <= shape.l) {
                ASSERT_EQ(answers.echoes | answers.doubts, 1U) << "step " << step;
            }
            if (answers.echoes == 0) {
                forwarded.insert(digest, generation);
            }
        }
    });
}

TYPED_TEST(judged, limit_1_answers_as_without_and_limit_0_doubts_every_match) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        const auto params = TypeParam::params(shape, Size::kSmall, random);
        Instance<TypeParam> surest(params);
        Instance<TypeParam> plain(params);
        Instance<TypeParam> none(params);
        Digests digests(random);
        std::uint64_t generation = 0;
        for (unsigned step = 0; step < 100; ++step) {
            generation += random_step(random, shape.k, shape.l);
            for (auto* i : {&surest, &plain, &none}) {
                i->filter.advance({.generation = generation});
            }
            std::vector<Digest> packets(random.below(kMaxBurst + 1));
            std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
            const Answers all = surest.filter.test_and_insert_burst(packets, ChanceLimits(1.0F));
            ASSERT_EQ(all.echoes, plain.filter.test_and_insert_burst(packets));
            ASSERT_EQ(all.doubts, 0U);
            ASSERT_EQ(none.filter.test_and_insert_burst(packets, ChanceLimits(0.0F)).echoes, 0U);
        }
        const auto bits = plain.memory.span();
        ASSERT_EQ(std::memcmp(surest.memory.span().data(), bits.data(), bits.size()), 0);
    });
}

// Where every segment is full, too: a table of one block may have come there by fewer changes than
// the mean table, and states less than 1.
TYPED_TEST(judged, chance_lies_between_a_shared_digest_and_certainty) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kSmall, random));
        float greatest = 0;
        for (unsigned step = 0; step < 4000; ++step) {
            i.filter.insert(random.bits());
            const float chance = i.filter.chance(random.bits());
            ASSERT_GE(chance, filter::kLeastChance);
            ASSERT_LE(chance, 1.0F);
            greatest = std::max(greatest, chance);
        }
        ASSERT_GT(greatest, 0.2F);
    });
}

}  // namespace
}  // namespace unecho::test
