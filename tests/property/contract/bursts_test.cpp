// SPDX-License-Identifier: BSD-3-Clause
// Contract (f) and (g) of filter.h: a burst of any size, with times or without, on any kernel,
// equals its digests one by one, and so do the counters.
#include <bit>

#include "dedup/pipeline/engine_ops.h"
#include "property/contract/contract.h"

namespace unecho::test {
namespace {

template <typename Filter>
class contract_bursts : public testing::Test {};
TYPED_TEST_SUITE(contract_bursts, Engines::Types, EngineNames);

constexpr std::array kFills{Fill::kSmall, Fill::kRoomy};

// Some digests of each burst are copies of others in it; later the whole burst is repeated.
TYPED_TEST(contract_bursts, of_every_size_find_echoes_within_themselves) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        ASSERT_EQ(table.filter.test_and_insert_burst({}), 0U);
        Accidents accidents;
        for (std::size_t size = 1; size <= kMaxBurst; size += size < 4 || size > 60 ? 1 : 7) {
            std::vector<Digest> burst(size);
            std::uint64_t expected = 0;
            for (std::size_t i = 0; i < size; ++i) {
                const bool copy = i % 3 != 0;
                burst[i] = copy ? burst[c.random.below(i)] : c.random.bits();
                expected |= std::uint64_t{copy} << i;
            }
            const std::uint64_t all = ~std::uint64_t{0} >> (kMaxBurst - size);
            const std::uint64_t echoes = table.filter.test_and_insert_burst(burst);
            ASSERT_EQ(echoes & expected, expected) << "size " << size;
            ASSERT_EQ(echoes & ~all, 0U) << "size " << size;
            for (std::size_t i = 0; i < size; i += 3) {
                accidents.asked(burst[i], (echoes >> i & 1) != 0,
                                Row<TypeParam>::accident(c.params, 400));
            }
            ASSERT_EQ(table.filter.test_and_insert_burst(burst), all) << "size " << size;
        }
        ASSERT_FALSE(accidents.too_many()) << accidents.text();
    });
}

// Bursts, single calls and, if it exists, query() with insert() give equal answers, memory,
// counters.
TYPED_TEST(contract_bursts, equal_single_calls_equal_query_and_insert) {
    std::uint64_t echoes = 0;
    for_each_case_of_two_fills<TypeParam>([&](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table burst(c.params);
        typename Case<TypeParam>::Table single(c.params);
        typename Case<TypeParam>::Table halves(c.params);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned step = 0; step < 50; ++step) {
            const std::uint64_t now = clock.next();
            const bool clear = c.random.one_in(50);
            for (auto* table : {&burst, &single, &halves}) {
                table->filter.advance(moment_at(now));
                if (clear) {
                    table->filter.clear();
                }
            }
            const std::vector<Digest> packets = random_burst(c.random, digests);
            std::uint64_t expected = 0;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                single.filter.prefetch(packets[p]);
                bool asked = false;
                if constexpr (Asks<TypeParam>) {
                    asked = single.filter.query(packets[p]);
                }
                const bool echo = single.filter.test_and_insert(packets[p]);
                expected |= std::uint64_t{echo} << p;
                if constexpr (Asks<TypeParam>) {
                    ASSERT_EQ(asked, echo) << "step " << step;
                }
                if constexpr (HasHalves<TypeParam>) {
                    ASSERT_EQ(halves.filter.query(packets[p]), echo) << "step " << step;
                    if (!echo || refreshes(c.draw)) {
                        halves.filter.insert(packets[p]);
                    }
                }
            }
            ASSERT_EQ(burst.filter.test_and_insert_burst(packets), expected) << "step " << step;
            echoes += static_cast<unsigned>(std::popcount(expected));
        }
        expect_same(single, burst);
        if constexpr (HasHalves<TypeParam>) {
            if constexpr (!kTestsTidy<TypeParam>) {
                expect_same(single, halves);
            }
            expect_same_counters(single.filter.counters(), halves.filter.counters());
            expect_same_load(single.filter, halves.filter);
        }
    });
    EXPECT_GT(echoes, 200 * Row<TypeParam>::kShapes);
}

// Bursts with a time for each digest: several at one moment, generations that end by load, the
// first n packets of flows, and chance limits if the engine estimates chances.
TYPED_TEST(contract_bursts, of_several_times_equal_one_by_one) {
    for_each_case<TypeParam>(Fill::kSmall, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table burst(c.params);
        typename Case<TypeParam>::Table single(c.params);
        const pipeline::EngineOps& ops = ops_for<TypeParam>();
        const auto retained_generations =
            static_cast<unsigned>(std::min<std::uint64_t>(c.promise.kept, 100));
        const filter::AgeingSpec spec{
            .window = std::max<Nanoseconds>(10 * retained_generations, 1),
            .length = 10,
            .retained_generations = retained_generations,
            .load = c.random.one_in(2) ? 1 + c.random.below(60) : filter::kNoLoad,
            .may_clear = c.random.one_in(2)};
        filter::Ageing burst_ageing(spec);
        filter::Ageing single_ageing(spec);
        Digests digests(c.random);
        Nanoseconds now = 0;
        for (unsigned step = 0; step < 60; ++step) {
            const std::vector<Digest> packets = random_burst(c.random, digests);
            const unsigned first =
                c.random.one_in(3) ? 1 + static_cast<unsigned>(c.random.below(4)) : 1;
            std::vector<Nanoseconds> times(packets.size());
            std::vector<float> each(packets.size());
            for (std::size_t p = 0; p < packets.size(); ++p) {
                now += c.random.one_in(3) ? c.random.below(7) : 0;
                now += c.random.one_in(300) ? c.random.below(1000) : 0;
                times[p] = now;
                each[p] = std::ldexp(1.0F, -static_cast<int>(c.random.below(20)));
            }
            const filter::ChanceLimits limits(each.data());
            const bool judged = info_of<TypeParam>().estimates_chance && c.random.one_in(2);
            const filter::Answers answers =
                ops.test_timed(&burst.filter, burst_ageing, packets, times.data(), first,
                               judged ? &limits : nullptr);
            filter::Answers expected;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                const filter::ChanceLimits limit = limits.from(p);
                const filter::Answers one = ops.test(
                    &single.filter, single_ageing, {&packets[p], 1},
                    single_ageing.published_at(times[p]), first, judged ? &limit : nullptr);
                expected.echoes |= one.echoes << p;
                expected.doubts |= one.doubts << p;
            }
            ASSERT_EQ(answers.echoes, expected.echoes) << "step " << step;
            ASSERT_EQ(answers.doubts, expected.doubts) << "step " << step;
            const filter::WindowState one = ops.window(&burst.filter, burst_ageing, now);
            const filter::WindowState other = ops.window(&single.filter, single_ageing, now);
            for (const auto& row : filter::kWindowCounters) {
                ASSERT_EQ(one.*row.value, other.*row.value) << row.name << " step " << step;
            }
        }
        if constexpr (!kPollsTidy<TypeParam>) {
            expect_same(single, burst);
        }
        expect_same_counters(single.filter.counters(), burst.filter.counters());
        expect_same_load(single.filter, burst.filter);
    });
}

// Insertions are new digests, and echoes under refresh. The rest follows from time alone and is
// counted by the row's reference, without background work.
TYPED_TEST(contract_bursts, are_counted_as_the_reference_says) {
    for_each_case<TypeParam>(Fill::kRoomy, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table table(c.params);
        typename Row<TypeParam>::Reference reference(c.params);
        constexpr bool kTimeCounts =
            !std::is_same_v<typename Row<TypeParam>::Reference, NoReference>;
        filter::FilterCounters expected;
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        std::uint64_t last = 0;
        for (unsigned step = 0; step < 150; ++step) {
            const std::uint64_t now = clock.next();
            table.filter.advance(moment_at(now));
            if (now > last) {
                reference.turn(last, now, expected);
                last = now;
            }
            if (c.random.one_in(40)) {
                table.filter.clear();
                reference.clear(expected);
            }
            const std::vector<Digest> packets = random_burst(c.random, digests);
            const std::uint64_t echoes = table.filter.test_and_insert_burst(packets);
            expected.insertions +=
                packets.size() -
                (refreshes(c.draw) ? 0 : static_cast<unsigned>(std::popcount(echoes)));
            const filter::FilterCounters& counters = table.filter.counters();
            ASSERT_EQ(counters.insertions, expected.insertions) << "step " << step;
            if constexpr (kTimeCounts) {
                expect_same_counters(counters, expected);
                ASSERT_FALSE(testing::Test::HasFatalFailure()) << "step " << step;
            }
        }
    });
}

// --- On every kernel -----------------------------------------------------------------------------

template <typename Filter>
class contract_kernels : public testing::Test {};
TYPED_TEST_SUITE(contract_kernels, EnginesWithKernels::Types, EngineNames);

struct Outcome {
    std::vector<std::uint64_t> echoes;
    std::vector<std::uint64_t> doubts;
    std::vector<float> chances;
    std::vector<std::byte> memory;
    filter::FilterCounters counters;
};

template <typename Filter>
Outcome run(const Case<Filter>& c, filter::Isa isa, bool judged) {
    Random stream(c.draw.index + 5000);
    Draw draw = c.draw;
    draw.isa = isa;
    Random same(c.draw.index);
    FilterInstance<Filter> table(Row<Filter>::params(draw, same));
    EXPECT_EQ(table.params.isa(), isa);
    Background background(table.filter, c.draw.index);
    Digests digests(stream);
    Clock clock(stream, c.promise, c.draw.index);
    Outcome outcome;
    for (unsigned step = 0; step < 40; ++step) {
        const std::uint64_t now = clock.next();
        table.filter.advance(moment_at(now));
        background.work(stream, now);
        const std::vector<Digest> packets = random_burst(stream, digests);
        std::vector<float> limits(packets.size());
        std::generate(limits.begin(), limits.end(),
                      [&] { return std::ldexp(1.0F, -static_cast<int>(stream.below(30))); });
        filter::Answers answers;
        if constexpr (filter::ConfidenceFilter<Filter>) {
            for (const Digest digest : packets) {
                outcome.chances.push_back(table.filter.chance(digest));
            }
            if (judged) {
                answers = table.filter.test_and_insert_burst(packets,
                                                             filter::ChanceLimits(limits.data()));
            }
        }
        if (!judged) {
            answers.echoes = table.filter.test_and_insert_burst(packets);
        }
        outcome.echoes.push_back(answers.echoes);
        outcome.doubts.push_back(answers.doubts);
    }
    const auto bits = table.memory.span();
    outcome.memory.assign(bits.begin(), bits.end());
    outcome.counters = table.filter.counters();
    return outcome;
}

// Answers, chances to the last bit, memory and counters are equal.
TYPED_TEST(contract_kernels, equal_the_scalar_one) {
    ASSERT_GE(available_isas().size(), 2U);  // AVX2 is the baseline of all code
    for (const Fill fill : kFills) {
        for (std::uint64_t index = 0; index < Row<TypeParam>::kShapes; ++index) {
            const auto policy =
                index % 2 == 0 ? filter::EchoPolicy::kFixed : filter::EchoPolicy::kRefresh;
            const Case<TypeParam> c(
                {.index = index, .fill = fill, .policy = policy, .kernel = true});
            SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + letters_of(c.params));
            for (const bool judged : {false, info_of<TypeParam>().estimates_chance}) {
                const Outcome scalar = run(c, filter::Isa::kScalar, judged);
                for (const filter::Isa isa : available_isas()) {
                    if (isa == filter::Isa::kScalar) {
                        continue;
                    }
                    const Outcome other = run(c, isa, judged);
                    ASSERT_EQ(other.echoes, scalar.echoes) << filter::name_of(isa);
                    ASSERT_EQ(other.doubts, scalar.doubts) << filter::name_of(isa);
                    ASSERT_EQ(other.chances, scalar.chances) << filter::name_of(isa);
                    ASSERT_TRUE(other.memory == scalar.memory) << filter::name_of(isa);
                    expect_same_counters(other.counters, scalar.counters);
                }
            }
        }
    }
}

}  // namespace
}  // namespace unecho::test
