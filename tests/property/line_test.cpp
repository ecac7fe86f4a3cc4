// SPDX-License-Identifier: BSD-3-Clause
// Contract (a) to (g) of filter.h and judge.h for the line filter: every M, k, number of phases,
// policy and kernel; ages in ticks.
#include "filter/window/line.h"

#include <bit>

#include "filter/generation.h"
#include "streams.h"
#include "support/instance.h"
#include "support/kernels.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using filter::Answers;
using filter::ChanceLimits;
using filter::EchoPolicy;
using filter::Isa;
using filter::LineFilter;
using filter::LineSpec;
using Line = FilterInstance<LineFilter>;

std::vector<Isa> isas() {
    std::vector<Isa> found;
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
        if (filter::available(isa)) {
            found.push_back(isa);
        }
    }
    return found;
}

std::string text(const LineSpec& s) {
    return "M " + std::to_string(s.M) + " k " + std::to_string(s.k) + " b " + std::to_string(s.b) +
           " phases " + std::to_string(s.phases) + " lines " + std::to_string(s.lines) +
           (s.policy == EchoPolicy::kFixed ? " fixed" : " refresh");
}

// Small tables are nearly always saturated; in roomy ones no digest of a few thousand matches by
// accident (chance below 1e-9).
LineSpec spec_of(Size size, unsigned M, unsigned k, unsigned phases, EchoPolicy policy,
                 Random& random) {
    LineSpec spec{.M = M, .k = k, .phases = phases, .policy = policy};
    if (size == Size::kSmall) {
        spec.b = 1 + static_cast<unsigned>(random.below(16));
        spec.lines = phases * (1 + random.below(5));
    } else {
        spec.b = 12 + static_cast<unsigned>(random.below(5));
        spec.lines = phases * (4099 / phases);
    }
    return spec;
}

template <typename Function>
void for_each_shape(Size size, Function function) {
    std::uint64_t index = 0;
    for (unsigned M = 1; M <= 4; ++M) {
        for (unsigned k = 1; k <= 2; ++k) {
            for (unsigned phases = 1; phases <= 16; phases *= 2) {
                for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                    Random random(++index);
                    LineSpec spec = spec_of(size, M, k, phases, policy, random);
                    spec.isa = isas()[index % isas().size()];
                    SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + text(spec));
                    function(spec, random);
                    if (testing::Test::HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

unsigned window_ticks(const LineSpec& spec) {
    return (filter::kLineWords - spec.k) * spec.phases;
}
unsigned forgotten_ticks(const LineSpec& spec) {
    return filter::kLineWords * spec.phases;
}

// Mostly none or one, now and then what is at an edge.
std::uint64_t step_of(Random& random, const LineSpec& spec) {
    if (!random.one_in(50)) {
        return random.one_in(8) ? 1 : 0;
    }
    const std::uint64_t S = spec.phases;
    const std::uint64_t steps[] = {2,         S,         S + 1,      7 * S - 1, 7 * S,
                                   8 * S - 1, 8 * S,     8 * S + 1,  16 * S,    24 * S,
                                   32 * S,    1'000'003, 32 * S + 1, 1ull << 40};
    return steps[random.below(std::size(steps))];
}

// Some background visits, or none for long.
void visit(LineFilter& filter, Random& random, unsigned lazy) {
    if (random.one_in(lazy)) {
        for (std::uint64_t n = random.below(40); n != 0; --n) {
            filter.maintain();
        }
    }
}

// (a), (b): of every tick in five rotations (so all tags), kept for l generations, gone after k +
// l.
TEST(line, digest_of_every_tick_is_kept_through_l) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        const unsigned rotation = filter::kLineWords * spec.phases;
        std::uint64_t tick = 0;
        for (unsigned base = 0; base < 5 * rotation; ++base) {
            const Digest digest = random.bits();
            i.filter.advance({.generation = tick});
            ASSERT_FALSE(i.filter.test_and_insert(digest)) << "base " << base;
            for (unsigned age = 0; age <= window_ticks(spec); age += 1 + age % 3) {
                i.filter.advance({.generation = tick + age});
                ASSERT_TRUE(i.filter.query(digest)) << "base " << base << " age " << age;
            }
            i.filter.advance({.generation = tick + window_ticks(spec)});
            ASSERT_TRUE(i.filter.query(digest)) << "base " << base;
            i.filter.advance({.generation = tick + forgotten_ticks(spec)});
            ASSERT_FALSE(i.filter.query(digest)) << "base " << base;
            visit(i.filter, random, 3);
            tick += forgotten_ticks(spec) + 1;
        }
    });
}

// (b), (e): a line that nobody touches for any number of generations, one at a time or in skips,
// with background visits or without, is empty for ever after: its tags wrap unseen.
TEST(line, what_was_forgotten_never_comes_back) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        const unsigned rotation = filter::kLineWords * spec.phases;
        const unsigned lazy = random.one_in(2) ? 2 : 1'000'000;
        std::vector<Digest> digests(40);
        std::uint64_t tick = random.below(4 * rotation);
        i.filter.advance({.generation = tick});
        for (Digest& digest : digests) {
            digest = random.bits();
            i.filter.insert(digest);
            tick += random.below(2);
            i.filter.advance({.generation = tick});
        }
        const std::uint64_t last = tick;
        const unsigned steps[] = {1, spec.phases, 3, rotation - 1, rotation, rotation + 1};
        const unsigned step = steps[random.below(std::size(steps))];
        while (tick - last < 10 * rotation) {
            tick += step;
            i.filter.advance({.generation = tick});
            visit(i.filter, random, lazy);
            if (tick - last >= forgotten_ticks(spec)) {
                for (const Digest digest : digests) {
                    ASSERT_FALSE(i.filter.query(digest)) << "after " << tick - last;
                }
            }
        }
    });
}

// (a) and (e) when accidental matches are everywhere.
TEST(line, nothing_inside_the_window_is_missed_when_saturated) {
    for_each_shape(Size::kSmall, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        Digests digests(random);
        References inserted;
        std::uint64_t tick = random.bits() >> 1;
        for (unsigned step = 0; step < 1500; ++step) {
            tick += step_of(random, spec);
            i.filter.advance({.generation = tick});
            visit(i.filter, random, 5);
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, tick);
            if (age && *age <= window_ticks(spec)) {
                ASSERT_TRUE(i.filter.query(digest)) << "step " << step << " age " << *age;
            }
            if (random.one_in(3)) {
                i.filter.insert(digest);
                inserted.insert(digest, tick);
            } else if (!i.filter.test_and_insert(digest) || spec.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, tick);
            }
        }
    });
}

// (a) to (e) with test_and_insert alone and room enough.
TEST(line, verdicts_follow_the_window_when_roomy) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        Digests digests(random);
        References inserted;
        std::uint64_t tick = random.bits() >> 1;
        unsigned kept = 0;
        unsigned gone = 0;
        for (unsigned step = 0; step < 2000; ++step) {
            tick += step_of(random, spec);
            i.filter.advance({.generation = tick});
            visit(i.filter, random, 5);
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, tick);
            const bool echo = i.filter.test_and_insert(digest);
            if (age && *age <= window_ticks(spec)) {
                ++kept;
                ASSERT_TRUE(echo) << "step " << step << " age " << *age;
            } else if (!age || *age >= forgotten_ticks(spec)) {
                ++gone;
                ASSERT_FALSE(echo) << "step " << step;
            }
            if (!echo || spec.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, tick);
            }
        }
        ASSERT_GT(kept, 200u);
        ASSERT_GT(gone, 200u);
    });
}

// (d)
TEST(line, policy_decides_whether_repeats_refresh) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        const Digest digest = random.bits();
        ASSERT_FALSE(i.filter.test_and_insert(digest));
        std::uint64_t last_new = 0;
        for (std::uint64_t tick = 1; tick < 5 * forgotten_ticks(spec); ++tick) {
            i.filter.advance({.generation = tick});
            if (!i.filter.test_and_insert(digest)) {
                ASSERT_EQ(spec.policy, EchoPolicy::kFixed);
                ASSERT_GT(tick - last_new, window_ticks(spec));
                ASSERT_LE(tick - last_new, forgotten_ticks(spec));
                last_new = tick;
            }
        }
        ASSERT_EQ(last_new > 0, spec.policy == EchoPolicy::kFixed);
    });
}

// A stream and what a filter answers to it: with or without judgement, by bursts.
struct Outcome {
    std::vector<Answers> answers;
    std::vector<float> chances;
    std::vector<std::byte> memory;
    std::uint64_t insertions = 0;
};

Outcome run(LineSpec spec, Isa isa, bool judged, std::uint64_t stream) {
    spec.isa = isa;
    Line i(spec);
    Random random(stream);
    Digests digests(random);
    Outcome run;
    std::uint64_t tick = 0;
    for (unsigned step = 0; step < 120; ++step) {
        tick += step_of(random, spec);
        i.filter.advance({.generation = tick});
        visit(i.filter, random, 5);
        std::vector<Digest> packets(random.below(kMaxBurst + 1));
        std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
        std::vector<float> limits(packets.size());
        std::generate(limits.begin(), limits.end(),
                      [&] { return std::ldexp(1.0F, -static_cast<int>(random.below(30))); });
        for (const Digest digest : packets) {
            run.chances.push_back(i.filter.chance(digest));
        }
        run.answers.push_back(
            judged ? i.filter.test_and_insert_burst(packets, ChanceLimits(limits.data()))
                   : Answers{i.filter.test_and_insert_burst(packets), 0});
    }
    const auto bits = i.memory.span();
    run.memory.assign(bits.begin(), bits.end());
    run.insertions = i.filter.counters().insertions;
    return run;
}

class line_kernel : public OnEveryKernel {};
INSTANTIATE_TEST_SUITE_P(, line_kernel, kEveryKernel, name_of_kernel);

void expect_equal(const Outcome& one, const Outcome& other) {
    for (std::size_t step = 0; step < one.answers.size(); ++step) {
        ASSERT_EQ(other.answers[step].echoes, one.answers[step].echoes) << "step " << step;
        ASSERT_EQ(other.answers[step].doubts, one.answers[step].doubts) << "step " << step;
    }
    ASSERT_EQ(
        std::memcmp(other.chances.data(), one.chances.data(), one.chances.size() * sizeof(float)),
        0);
    ASSERT_TRUE(other.memory == one.memory);
    ASSERT_EQ(other.insertions, one.insertions);
}

// (g): answers, chances, and every bit of memory.
TEST_P(line_kernel, equals_the_scalar_one) {
    if (GetParam() == Isa::kScalar) {
        return;
    }
    for (const Size size : {Size::kSmall, Size::kRoomy}) {
        for_each_shape(size, [](const LineSpec& spec, Random& random) {
            const std::uint64_t stream = random.bits();
            for (const bool judged : {false, true}) {
                expect_equal(run(spec, Isa::kScalar, judged, stream),
                             run(spec, GetParam(), judged, stream));
            }
        });
    }
}

// (f), on every kernel: bursts, single calls, and query followed by insert leave the same answers
// and the same pattern bits.
TEST_P(line_kernel, burst_equals_sequence_equals_query_and_insert) {
    for (const Size size : {Size::kSmall, Size::kRoomy}) {
        for_each_shape(size, [](const LineSpec& shape, Random& random) {
            const LineSpec spec = on_kernel(shape);
            Line burst(spec);
            Line single(spec);
            Line halves(spec);
            Digests digests(random);
            std::uint64_t tick = random.bits() >> 1;
            for (unsigned step = 0; step < 60; ++step) {
                tick += step_of(random, spec);
                for (auto* i : {&burst, &single, &halves}) {
                    i->filter.advance({.generation = tick});
                }
                std::vector<Digest> packets(random.below(kMaxBurst + 1));
                std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
                std::uint64_t expected = 0;
                for (std::size_t p = 0; p < packets.size(); ++p) {
                    single.filter.prefetch(packets[p]);
                    const bool echo = single.filter.test_and_insert(packets[p]);
                    expected |= std::uint64_t{echo} << p;
                    ASSERT_EQ(halves.filter.query(packets[p]), echo);
                    if (!echo || spec.policy == EchoPolicy::kRefresh) {
                        halves.filter.insert(packets[p]);
                    }
                }
                ASSERT_EQ(burst.filter.test_and_insert_burst(packets), expected) << "step " << step;
            }
            const auto bits = single.memory.span();
            ASSERT_EQ(std::memcmp(burst.memory.span().data(), bits.data(), bits.size()), 0);
            ASSERT_EQ(burst.filter.counters().insertions, single.filter.counters().insertions);
            ASSERT_EQ(halves.filter.counters().insertions, single.filter.counters().insertions);
        });
    }
}

// A judged burst is its digests one by one: a match is an echo iff its chance at that moment is at
// most its limit, a doubt otherwise, and doubts are inserted.
TEST_P(line_kernel, judged_burst_equals_chance_query_and_insert) {
    for_each_shape(Size::kSmall, [](const LineSpec& shape, Random& random) {
        const LineSpec spec = on_kernel(shape);
        Line burst(spec);
        Line halves(spec);
        Digests digests(random);
        std::uint64_t tick = 0;
        std::uint64_t echoes = 0;
        std::uint64_t doubts = 0;
        for (unsigned step = 0; step < 60; ++step) {
            tick += step_of(random, spec);
            burst.filter.advance({.generation = tick});
            halves.filter.advance({.generation = tick});
            std::vector<Digest> packets(random.below(kMaxBurst + 1));
            std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
            const float limit = std::ldexp(1.0F, -static_cast<int>(random.below(20)));
            Answers expected;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                const bool match = halves.filter.query(packets[p]);
                const bool echo = match && halves.filter.chance(packets[p]) <= limit;
                expected.echoes |= std::uint64_t{echo} << p;
                expected.doubts |= std::uint64_t{match && !echo} << p;
                if (!echo || spec.policy == EchoPolicy::kRefresh) {
                    halves.filter.insert(packets[p]);
                }
            }
            const Answers answers =
                burst.filter.test_and_insert_burst(packets, ChanceLimits(limit));
            ASSERT_EQ(answers.echoes, expected.echoes) << "step " << step;
            ASSERT_EQ(answers.doubts, expected.doubts) << "step " << step;
            echoes += static_cast<unsigned>(std::popcount(answers.echoes));
            doubts += static_cast<unsigned>(std::popcount(answers.doubts));
        }
        ASSERT_GT(echoes + doubts, 50u);
    });
}

// P1 under a limit: a copy of what was forwarded, new or in doubt, matches through the window.
TEST(line, doubts_are_remembered) {
    for_each_shape(Size::kSmall, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        Digests digests(random);
        References forwarded;
        std::uint64_t tick = 0;
        for (unsigned step = 0; step < 1000; ++step) {
            tick += step_of(random, spec);
            i.filter.advance({.generation = tick});
            const Digest digest = digests.next();
            const auto age = forwarded.age(digest, tick);
            const Answers answers =
                i.filter.test_and_insert_burst({&digest, 1}, ChanceLimits(0.01F));
            if (age && *age <= window_ticks(spec)) {
                ASSERT_NE(answers.echoes | answers.doubts, 0u) << "step " << step;
            }
            if (answers.echoes == 0) {
                forwarded.insert(digest, tick);
            }
        }
    });
}

// The window in nanoseconds, through the clock of ticks.
TEST(line, window_in_time_holds_at_every_phase) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        const Nanoseconds window = 500 + random.below(10000);
        const auto clock = filter::GenerationClock::covering(window, window_ticks(spec));
        const Nanoseconds forgotten = forgotten_ticks(spec) * clock.length;
        Digests digests(random);
        References inserted;
        Nanoseconds now = (std::uint64_t{1} << 63) - random.below(10000);
        for (unsigned step = 0; step < 1000; ++step) {
            now += random.one_in(100) ? random.below(5 * forgotten) : random.below(window / 8);
            i.filter.advance({.now = now, .generation = clock.generation_of(now)});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, now);
            const bool echo = i.filter.test_and_insert(digest);
            if (age && *age < window) {
                ASSERT_TRUE(echo) << "step " << step << " age " << *age << " of " << window;
            } else if (!age || *age >= forgotten + clock.length) {
                ASSERT_FALSE(echo) << "step " << step;
            }
            if (!echo || spec.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, now);
            }
        }
    });
}

TEST(line, clear_forgets_at_every_tick) {
    for_each_shape(Size::kRoomy, [](const LineSpec& spec, Random& random) {
        Line i(spec);
        std::uint64_t tick = 0;
        for (unsigned base = 0; base < 3 * filter::kLineWords * spec.phases; ++base) {
            const Digest before = random.bits();
            const Digest after = random.bits();
            i.filter.advance({.generation = tick});
            i.filter.insert(before);
            i.filter.clear();
            ASSERT_FALSE(i.filter.query(before));
            i.filter.insert(after);
            tick += window_ticks(spec);
            i.filter.advance({.generation = tick});
            ASSERT_TRUE(i.filter.query(after));
            ASSERT_FALSE(i.filter.query(before));
            tick += 1;
        }
    });
}

}  // namespace
}  // namespace unecho::test
