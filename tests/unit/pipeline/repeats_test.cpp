// SPDX-License-Identifier: BSD-3-Clause
// The union rule beside a filter: whichever function decides a burst, its copies are those of the
// exact oracle (support/union_oracle.h).
#include "dedup/pipeline/repeats.h"

#include <array>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/stages.h"
#include "support/filter_memory.h"
#include "support/seed.h"
#include "support/union_oracle.h"

namespace unecho::pipeline {
namespace {

constexpr Nanoseconds kWindow = 50 * kMillisecond;
constexpr Nanoseconds kSamePort = 2 * kMillisecond;

struct Ruled {
    explicit Ruled(bool evidence)
        : params(*filter::UnionParams::make({.looks = 1 << 14,
                                             .window = kWindow,
                                             .same_port = kSamePort,
                                             .needs_evidence = evidence,
                                             .identified = 1 << 14})),
          memory(filter::UnionRule::bytes(params)),
          rule(params, memory.span()) {}

    filter::UnionParams params;
    test::FilterMemory memory;
    filter::UnionRule rule;
};

// An engine whose filter is the answers that it gives.
template <typename... Rest>
filter::Answers told(void* filter, Rest... /*rest*/) noexcept {
    return *static_cast<filter::Answers*>(filter);
}

EngineOps told_engine() {
    EngineOps ops{};
    ops.test = told;
    ops.test_timed = told;
    ops.test_prepared = told;
    ops.prepare = [](const void*, std::span<const Digest> digests, auto& burst) noexcept {
        burst.count = static_cast<unsigned>(digests.size());
    };
    return ops;
}

enum class How { kAtOnce, kPrepared, kTimed };

void decide_how(How how, Burst& burst, const FilterContext& context, Nanoseconds now) {
    if (how == How::kTimed) {
        return decide_timed(burst, context);
    }
    if (how == How::kAtOnce) {
        return decide(burst, context, {.now = now});
    }
    PrefetchedBurst prefetched;
    prepare(burst, context, prefetched);
    decide_prepared(burst, context, {.now = now}, prefetched, nullptr);
}

// Add a packet of one of two stations, seen at a port that is a group of its own.
void add(Burst& burst, Digest digest, std::uint64_t pair, std::uint8_t port, Nanoseconds at,
         bool is_identified) {
    const unsigned i = burst.count++;
    burst.keys.keyed |= std::uint64_t{1} << i;
    burst.unidentified |= std::uint64_t{!is_identified} << i;
    burst.digests[i] = digest;
    burst.places[i] = {.link = remix(pair, 1), .pair = remix(pair, 1), .tags = 0, .ttl = 64};
    burst.ports[i] = port;
    burst.groups[i] = port;
    burst.times[i] = at;
}

std::uint64_t sum(const PortPairMatrix& matrix) {
    return std::accumulate(matrix.begin(), matrix.end(), std::uint64_t{0},
                           [](std::uint64_t all, const auto& row) {
                               return std::accumulate(row.begin(), row.end(), all);
                           });
}

// Packets of two pairs of stations at three ports, half of them identified. Of pair 0, port 0
// shows everything twice. The filter decides the identified ones, as the oracle does.
void expect_as_oracle(How how, bool evidence, bool counted) {
    SCOPED_TRACE(testing::Message() << "how " << static_cast<int>(how) << " evidence " << evidence
                                    << " counted " << counted << " " << test::seed_note());
    Ruled own(evidence);
    test::UnionOracle oracle(kWindow, kSamePort, 2, evidence);
    filter::Ageing ageing({.window = 1});
    filter::Answers answers;
    PortPairMatrix pairs{};
    const EngineOps ops = told_engine();
    const FilterContext context{.ops = &ops,
                                .filter = &answers,
                                .ageing = &ageing,
                                .repeats = &own.rule,
                                .answers = counted ? &pairs : nullptr};
    std::mt19937_64 random(test::seed());
    Nanoseconds now = 0;
    std::uint64_t serial = 0;
    std::uint64_t copies = 0;
    for (unsigned bursts = 0; bursts < 400; ++bursts) {
        Burst burst;
        std::uint64_t expected = 0;
        std::vector<bool> verdicts;
        now += random() % (kWindow / 100);
        while (burst.count + 1 < 2 + bursts % (kMaxBurst - 1)) {
            const bool identified = random() % 2 == 0;
            const Digest digest = remix(serial++ / 8 + random() % 4, identified ? 1 : 2);
            const std::uint64_t pair = random() % 2;
            const auto port = static_cast<std::uint8_t>(random() % 3);
            const std::uint64_t place = 1 + pair * kMaxPorts + port;
            for (unsigned looks = place == 1 ? 2 : 1; looks != 0; --looks) {
                now += how == How::kTimed ? random() % (kSamePort / 4) : 0;
                const filter::Observation seen{.digest = digest,
                                               .population = place,
                                               .point = static_cast<std::uint32_t>(place),
                                               .ttl = 64};
                const bool copy = oracle.observe(now, seen, identified);
                expected |= std::uint64_t{copy} << burst.count;
                copies += copy && !identified ? 1 : 0;
                if (identified) {
                    verdicts.push_back(copy);
                }
                add(burst, digest, pair, port, now, identified);
            }
        }
        answers.echoes = 0;
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            answers.echoes |= std::uint64_t{verdicts[i]} << i;
        }
        decide_how(how, burst, context, now);
        ASSERT_EQ(burst.echoes, expected) << bursts;
    }
    EXPECT_GT(own.rule.counters().second_looks, 500U);
    EXPECT_EQ(own.rule.counters().untrusted_looks != 0, evidence);
    EXPECT_EQ(sum(pairs), counted ? copies : 0U);  // those of the filter count elsewhere
}

TEST(UnionRuleStage, has_the_answers_of_the_oracle_whatever_decides_a_burst) {
    for (const How how : {How::kAtOnce, How::kPrepared, How::kTimed}) {
        for (const bool evidence : {false, true}) {
            for (const bool counted : {false, true}) {
                expect_as_oracle(how, evidence, counted);
            }
        }
    }
}

// While a filter is warmed, its predecessor's rule decides and its own learns. A predecessor that
// drops repeats has no rule, so the filter's own decides from the start.
TEST(UnionRuleStage, of_a_predecessor_decides_while_the_filters_own_learns) {
    for (const bool has_rule : {true, false}) {
        Ruled old_rule(false);
        Ruled own(false);
        filter::Answers none;
        filter::Ageing ageing({.window = 1});
        PortPairMatrix pairs{};
        const EngineOps ops = told_engine();
        FilterContext before{.ops = &ops, .filter = &none, .ageing = &ageing};
        before.repeats = has_rule ? &old_rule.rule : nullptr;
        FilterContext context = before;
        context.repeats = &own.rule;
        context.answers = &pairs;
        const auto is_copy = [&](const FilterContext& by, Digest digest, std::uint8_t port) {
            Burst burst;
            add(burst, digest, 0, port, 1, false);
            decide(burst, by, {.now = 1});
            return burst.echoes == 1;
        };
        EXPECT_FALSE(is_copy(has_rule ? before : context, 1, 0));
        EXPECT_FALSE(is_copy(context, 2, 0));
        context.before = &before;
        EXPECT_TRUE(is_copy(context, 1, 1));  // of packets that the deciding rule knows
        EXPECT_EQ(is_copy(context, 2, 1), !has_rule);
        EXPECT_EQ(pairs[0][1], has_rule ? 1U : 2U);
        EXPECT_FALSE(is_copy(context, 3, 0));
        EXPECT_TRUE(is_copy(context, 3, 2));
        EXPECT_EQ(pairs[0][2], 1U);  // counted once, although two rules know it
        context.before = nullptr;
        EXPECT_TRUE(is_copy(context, 3, 1));  // learned meanwhile
    }
}

}  // namespace
}  // namespace unecho::pipeline
