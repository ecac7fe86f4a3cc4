// SPDX-License-Identifier: BSD-3-Clause
#include "filters/repeats/union_rule.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/filter_memory.h"
#include "support/seed.h"
#include "support/union_oracle.h"

namespace unecho::filter::union_rule_test {
namespace {

constexpr Nanoseconds kUs = kMicrosecond;
constexpr Nanoseconds kMs = kMillisecond;

struct Instance {
    explicit Instance(const UnionSpec& spec)
        : params(*UnionParams::make(spec)),
          memory(UnionRule::bytes(params)),
          rule(params, memory.span()) {}
    UnionParams params;
    test::FilterMemory memory;
    UnionRule rule;
};

struct Step {
    Nanoseconds at;
    std::uint32_t point;
    Digest key = 1;
    bool identified = false;
    std::uint32_t tags = 0;
};

// Return 'k' for a kept packet and 'c' for a copy. The oracle decides identified packets.
std::string run(const UnionSpec& spec, const std::vector<Step>& steps) {
    Instance i(spec);
    test::UnionOracle oracle(spec.window, spec.same_port, spec.views, spec.needs_evidence);
    std::string out;
    for (const Step& step : steps) {
        const Observation seen{step.key, step.point, step.point, step.tags, 64};
        const bool right = oracle.observe(step.at, seen, step.identified);
        bool copy = right;
        if (!step.identified) {
            copy = i.rule.observe(step.at, seen);
        } else if (i.rule.has_evidence()) {
            i.rule.observe_identified(step.at, seen, copy);
        }
        EXPECT_EQ(copy, right) << "step " << out.size();
        out += copy ? 'c' : 'k';
    }
    return out;
}

UnionSpec spec(Nanoseconds same_port = 0, bool needs_evidence = true) {
    return {.looks = 1024,
            .window = 50 * kMs,
            .same_port = same_port,
            .needs_evidence = needs_evidence,
            .identified = 1024};
}

// Three taps: each copy is of the first one's transmission, and a second look is of its own port.
TEST(union_rule, a_copy_names_the_port_of_the_transmission) {
    Instance i(spec(10 * kUs, false));
    const auto observe = [&](Nanoseconds at, std::uint8_t port) {
        const Observation seen{.digest = 1, .point = port, .port = port};
        return i.rule.observe(at, seen) ? int{i.rule.original_port()} : -1;
    };
    EXPECT_EQ(observe(0, 7), -1);
    EXPECT_EQ(observe(1, 3), 7);
    EXPECT_EQ(observe(2, 31), 7);
    EXPECT_EQ(observe(3, 3), 7);          // a second look of port 3
    EXPECT_EQ(observe(20 * kUs, 3), -1);  // sent again, and seen here first
    EXPECT_EQ(observe(21 * kUs, 7), 3);
}

// Without second looks the first answer to a transmission lies in the opening look. Point 3 answers
// the first transmission in a node of its own, which is newer than its answer to the second.
TEST(union_rule, answers_in_the_opening_look_and_in_nodes_are_in_order) {
    EXPECT_EQ(run(spec(), {{0, 1}, {1, 1}, {2, 2}, {3, 3}, {4, 3}, {5, 3}, {6, 2}, {7, 2}}),
              "kkccckcc");
}

// The hop limit of an answer in the opening look is that of the answer.
TEST(union_rule, a_loop_is_suspected_behind_an_answer_in_the_opening_look) {
    Instance i(spec());
    EXPECT_FALSE(i.rule.observe(0, {.digest = 1, .point = 1, .ttl = 64}));
    EXPECT_TRUE(i.rule.observe(1, {.digest = 1, .point = 2, .ttl = 60}));
    EXPECT_FALSE(i.rule.observe(2, {.digest = 1, .point = 2, .ttl = 62}));
    EXPECT_EQ(i.rule.counters().loop_suspects, 0U);
    EXPECT_FALSE(i.rule.observe(3, {.digest = 2, .point = 1, .ttl = 60}));
    EXPECT_TRUE(i.rule.observe(4, {.digest = 2, .point = 2, .ttl = 64}));
    EXPECT_FALSE(i.rule.observe(5, {.digest = 2, .point = 2, .ttl = 62}));
    EXPECT_EQ(i.rule.counters().loop_suspects, 1U);
}

// A killed process may have left any byte as the port of a look.
TEST(union_rule, a_port_in_memory_that_was_kept_is_one_that_may_be) {
    const UnionParams params = *UnionParams::make(spec());
    const test::FilterMemory memory(UnionRule::bytes(params));
    {
        UnionRule before(params, memory.span());
        EXPECT_FALSE(before.observe(0, {.digest = 1, .point = 1, .port = 255}));
    }
    UnionRule rule(params, memory.span(), Contents::kRestored);
    EXPECT_TRUE(rule.observe(1, {.digest = 1, .point = 2, .port = 3}));
    EXPECT_LT(rule.original_port(), kMaxPorts);
}

TEST(union_params, limits_are_named) {
    const auto message = [](UnionSpec one) {
        const auto made = UnionParams::make(one);
        return made ? "valid" : made.error().context;
    };
    EXPECT_EQ(message(spec()), "valid");
    UnionSpec one = spec();
    one.looks = 0;
    EXPECT_EQ(message(one), "union rule: looks = 0; allowed: 1 to 1073741824");
    one = spec();
    one.window = 0;
    EXPECT_EQ(message(one), "union rule: window = 0; allowed: 1 to 18446744073709551615");
    one = spec(5 * kSecond);
    EXPECT_EQ(message(one), "union rule: same_port = 5000000000; allowed: 0 to 4000000000");
    one = spec();
    one.views = 1;
    EXPECT_EQ(message(one), "union rule: views = 1; allowed: 2 to 14");
    one = spec();
    one.populations = 3;
    EXPECT_EQ(message(one), "union rule: populations = 3; allowed: 4 to 16777216");
    one = spec();
    one.identified = ~std::uint64_t{0};
    EXPECT_EQ(message(one),
              "union rule: identified = 18446744073709551615; allowed: 0 to 1073741823");
    one = spec();
    one.most_steps = 0;
    EXPECT_EQ(message(one), "union rule: most_steps = 0; allowed: 1 to 4294967295");
}

// The most looks, a power of two, of which a rule has room in so much memory.
TEST(union_params, fill_a_memory_with_looks) {
    for (const bool sighted : {false, true}) {
        const auto bytes_with = [sighted](std::uint64_t looks) {
            UnionSpec one = spec();
            one.looks = looks;
            const UnionParams params = *UnionParams::make(one);
            return sighted ? CaptureUnionRule::bytes(params) : UnionRule::bytes(params);
        };
        const std::uint64_t bytes = bytes_with(1024);
        EXPECT_EQ(UnionParams::looks_in(bytes, sighted, spec()), 1024U);
        EXPECT_EQ(UnionParams::looks_in(bytes - 1, sighted, spec()), 512U);
        EXPECT_EQ(UnionParams::looks_in(2 * bytes, sighted, spec()),
                  bytes_with(2048) <= 2 * bytes ? 2048U : 1024U);
        EXPECT_EQ(UnionParams::looks_in(bytes_with(1) - 1, sighted, spec()), 0U);
    }
}

TEST(union_rule, a_repeat_at_two_points_is_kept_once) {
    EXPECT_EQ(run(spec(), {{0, 1}, {5, 2}, {9 * kMs, 1}, {9 * kMs + 5, 2}}), "kckc");
}

TEST(union_rule, a_point_that_is_late_answers_the_oldest_first) {
    EXPECT_EQ(run(spec(), {{0, 1},
                           {10 * kUs, 1},
                           {20 * kUs, 1},
                           {2 * kMs, 2},
                           {2 * kMs + 1, 2},
                           {2 * kMs + 2, 2},
                           {2 * kMs + 3, 2}}),
              "kkkccck");
}

TEST(union_rule, a_transmission_that_one_point_missed) {
    EXPECT_EQ(run(spec(), {{0, 2}, {9 * kMs, 1}, {9 * kMs + 5, 2}}), "kck");
}

TEST(union_rule, the_window_ends) {
    EXPECT_EQ(run(spec(), {{0, 1}, {50 * kMs, 2}, {50 * kMs + 1, 1}}), "kkc");
}

// There are few keys, points and distances, so that all combinations occur.
struct Traffic {
    UnionSpec spec;
    unsigned keys;
    unsigned points;
    unsigned percent_identified;
    Nanoseconds step;
};

Traffic any_traffic(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Traffic out{};
    out.spec.looks = 1U << 14;
    out.spec.window = below(8) == 0 ? kInfiniteWindow : kMs * (1 + below(100));
    out.spec.same_port = below(2) == 0 ? 0 : kUs * (1 + below(2000));
    out.spec.views = static_cast<unsigned>(2 + below(3));
    out.spec.needs_evidence = below(4) != 0;
    out.spec.identified = 1U << 12;
    out.spec.most_steps = ~0U;
    out.spec.grows = below(2) == 0;
    out.keys = static_cast<unsigned>(1 + below(200));
    out.points = static_cast<unsigned>(1 + below(6));
    out.percent_identified = static_cast<unsigned>(below(3) * 30);
    out.step = kUs * (1 + below(300));
    return out;
}

TEST(union_rule, equals_the_oracle_packet_by_packet) {
    std::mt19937_64 random(test::seed());
    for (unsigned round = 0; round < 80; ++round) {
        const Traffic traffic = any_traffic(random);
        const UnionSpec& s = traffic.spec;
        Instance i(s);
        test::UnionOracle oracle(s.window, s.same_port, s.views, s.needs_evidence);
        Nanoseconds now = kSecond;
        Observation last;
        for (unsigned packet = 0; packet < 12'000; ++packet) {  // rings begin with 4096 nodes
            now += random() % traffic.step;
            Observation seen;
            if (random() % 3 == 0 && packet != 0) {
                seen = last;  // twice at one point
            } else {
                seen.digest = remix(random() % traffic.keys, 7);
                seen.point = static_cast<std::uint32_t>(random() % traffic.points);
                seen.population = 1 + seen.point / 2;
                seen.tags = random() % 4 == 0 ? static_cast<std::uint32_t>(random() % 3) : 0;
            }
            last = seen;
            const bool identified = seen.digest % 100 < traffic.percent_identified;
            Nanoseconds original = 0;
            const bool right = oracle.observe(now, seen, identified, &original);
            if (!identified) {
                ASSERT_EQ(i.rule.observe(now, seen), right) << "round " << round << ", " << packet;
            } else if (i.rule.has_evidence()) {
                i.rule.observe_identified(now, seen, right);
            }
        }
        EXPECT_EQ(i.rule.counters().forgotten, 0u);
    }
}

TEST(union_rule, tells_which_packet_a_copy_is_of) {
    const auto params = *UnionParams::make(spec());
    test::FilterMemory memory(CaptureUnionRule::bytes(params));
    CaptureUnionRule rule(params, memory.span());
    EXPECT_FALSE(rule.observe(10, {.digest = 5, .point = 1}, {10, 77, 2}));
    EXPECT_FALSE(rule.observe(11, {.digest = 5, .point = 1}, {11, 78, 2}));
    EXPECT_TRUE(rule.observe(20, {.digest = 5, .point = 2}, {20, 90, 4}));
    EXPECT_EQ(rule.original().number, 77u);
    EXPECT_EQ(rule.original().file, 2u);
    EXPECT_EQ(rule.original().time, 10u);
    EXPECT_TRUE(rule.observe(21, {.digest = 5, .point = 2}, {21, 91, 4}));
    EXPECT_EQ(rule.original().number, 78u);
}

TEST(union_rule, a_full_table_forgets_the_oldest_and_keeps_its_copies) {
    UnionSpec one = spec();
    one.looks = 4;
    Instance i(one);
    for (Digest key = 1; key <= 5; ++key) {
        EXPECT_FALSE(i.rule.observe(key, {.digest = key, .point = 1}));
    }
    EXPECT_EQ(i.rule.counters().forgotten, 1u);
    EXPECT_EQ(i.rule.kept().at(10), 9u);
    EXPECT_TRUE(i.rule.observe(10, {.digest = 3, .point = 2}));
    EXPECT_FALSE(i.rule.observe(11, {.digest = 1, .point = 2}));
    EXPECT_EQ(i.rule.counters().forgotten, 2u);  // the copy of key 3 took no room
}

TEST(union_rule, goes_on_with_what_was_kept) {
    const auto params = *UnionParams::make(spec(250 * kUs));
    test::FilterMemory memory(UnionRule::bytes(params));
    {
        UnionRule rule(params, memory.span());
        EXPECT_FALSE(rule.observe(10, {.digest = 5, .point = 1}));
        EXPECT_FALSE(rule.observe(2 * kMs, {.digest = 5, .point = 1}));
        EXPECT_TRUE(rule.observe(2 * kMs, {.digest = 5, .point = 2}));
    }
    ASSERT_TRUE(UnionRule::is_consistent(params, memory.span()));
    UnionRule rule(params, memory.span(), Contents::kRestored);
    EXPECT_TRUE(rule.observe(3 * kMs, {.digest = 5, .point = 2}));
    EXPECT_FALSE(rule.observe(4 * kMs, {.digest = 5, .point = 2}));
    EXPECT_TRUE(rule.observe(5 * kMs, {.digest = 5, .point = 1}));
    memory.span()[8] = std::byte{3};  // the ring's size must be a power of two
    EXPECT_FALSE(UnionRule::is_consistent(params, memory.span()));
}

// One mirror doubles all packets of population 7: the rule learns to drop second looks.
void show_doubled(UnionRule& rule, Digest from) {
    for (Digest key = from; key < from + 64; ++key) {
        const Observation seen{.digest = key, .population = 7, .point = 1};
        rule.observe(key * kMs, seen);
        rule.observe(key * kMs + 1, seen);
    }
}

bool drops_second_look(UnionRule& rule, Digest key) {
    const Observation seen{.digest = key, .population = 7, .point = 1};
    EXPECT_FALSE(rule.observe(key * kMs, seen));
    return rule.observe(key * kMs + 1, seen);
}

TEST(union_rule, evidence_outlives_the_rule) {
    const auto params = *UnionParams::make(spec(250 * kUs));
    test::FilterMemory memory(UnionRule::bytes(params));
    UnionRule before(params, memory.span());
    EXPECT_FALSE(drops_second_look(before, 1));
    show_doubled(before, 2);
    EXPECT_TRUE(drops_second_look(before, 100));

    Instance successor(spec(250 * kUs));
    successor.rule.learn(before.populations());
    EXPECT_TRUE(drops_second_look(successor.rule, 1));

    ASSERT_TRUE(UnionRule::is_consistent(params, memory.span()));
    UnionRule restored(params, memory.span(), Contents::kRestored);
    EXPECT_TRUE(drops_second_look(restored, 200));
}

// Counts that cannot be are of a killed process: they are learned again.
TEST(MirrorEvidence, restores_no_population_with_impossible_counts) {
    using Population = MirrorEvidence::Population;
    const double kNan = std::numeric_limits<double>::quiet_NaN();
    for (const Population& damaged :
         {Population{5, -1, 0, 0}, Population{5, 0, 4096, 0}, Population{5, 0, 0, kNan}}) {
        test::FilterMemory memory(MirrorEvidence::bytes(8));
        MirrorEvidence(8, memory.span(), Contents::kZero).of(5) = damaged;
        MirrorEvidence restored(8, memory.span(), Contents::kRestored);
        EXPECT_EQ(restored.of(5).first, 0);
        EXPECT_EQ(restored.of(5).doubled, 0);
        EXPECT_EQ(restored.of(5).even, 0);
    }
    test::FilterMemory memory(MirrorEvidence::bytes(8));
    MirrorEvidence(8, memory.span(), Contents::kZero).of(5) = {5, 40, 39, 1};
    EXPECT_EQ(MirrorEvidence(8, memory.span(), Contents::kRestored).of(5).doubled, 39);
}

// Four share a set, and the one seen least makes room. Key 0 is a key like others.
TEST(MirrorEvidence, forgets_the_population_that_was_seen_least) {
    test::FilterMemory memory(MirrorEvidence::bytes(MirrorEvidence::kWays));
    MirrorEvidence evidence(MirrorEvidence::kWays, memory.span(), Contents::kZero);
    const std::uint64_t looks[] = {3, 2, 5, 4};
    for (std::uint64_t key : {0, 2, 3, 4}) {
        for (std::uint64_t i = 0; i < looks[key == 0 ? 0 : key - 1]; ++i) {
            evidence.of(key).look();
        }
    }
    EXPECT_EQ(evidence.of(9).first, 0);
    EXPECT_EQ(evidence.of(0).first, 3);
    EXPECT_EQ(evidence.of(3).first, 5);
    EXPECT_EQ(evidence.of(4).first, 4);
    EXPECT_EQ(evidence.of(2).first, 0);
}

// Old evidence counts for half, so that a population whose mirror is mended is seen as such.
TEST(MirrorEvidence, halves_its_counts_beyond_1024_looks) {
    MirrorEvidence::Population one{5, 1000, 900, 24};
    one.look();
    EXPECT_EQ(one.first, 500.5);
    EXPECT_EQ(one.doubled, 450);
    EXPECT_EQ(one.even, 12);
}

TEST(union_rule, counts_what_it_cannot_tell) {
    UnionSpec one = spec(250 * kUs, false);
    Instance i(one);
    EXPECT_FALSE(i.rule.observe(1, {.digest = 5, .point = 1, .ttl = 64}));
    EXPECT_TRUE(i.rule.observe(2, {.digest = 5, .point = 1, .ttl = 64}));
    EXPECT_FALSE(i.rule.observe(3, {.digest = 5, .point = 1, .ttl = 60}));
    EXPECT_EQ(i.rule.counters().second_looks, 1u);
    EXPECT_EQ(i.rule.counters().third_looks, 1u);
    EXPECT_EQ(i.rule.counters().kept_repeats, 1u);
    EXPECT_EQ(i.rule.counters().loop_suspects, 1u);
    EXPECT_FALSE(i.rule.observe(kMs, {.digest = 5, .point = 1, .ttl = 60}));
    EXPECT_EQ(i.rule.counters().kept_repeats, 2u);
    EXPECT_EQ(i.rule.counters().loop_suspects, 1u);
    Instance learning(spec(250 * kUs));
    EXPECT_FALSE(learning.rule.observe(1, {.digest = 5, .point = 1}));
    EXPECT_FALSE(learning.rule.observe(2, {.digest = 5, .point = 1}));
    EXPECT_EQ(learning.rule.counters().untrusted_looks, 1u);
}

}  // namespace
}  // namespace unecho::filter::union_rule_test
