// SPDX-License-Identifier: BSD-3-Clause
// The timing filters against exact oracles: windows by count of insertions, and the effects of
// timer bits, sweep and padding on windows by generations. Their contract: property/contract.
#include "filters/window/segmented/btbf.h"

#include <cmath>
#include <limits>

#include "streams.h"
#include "support/filter_memory.h"
#include "support/window_oracle.h"

namespace unecho::test::btbf_test {
namespace {

using filter::Btbf;
using filter::BtbfParams;
using filter::BtbfSpec;
using filter::EchoPolicy;
using filter::TimedBtbf;
using filter::TimedBtbfParams;
using filter::TimedBtbfSpec;
using filter::TimerReading;

template <typename Filter, typename Params>
struct Owner {
    explicit Owner(const Params& p)
        : params(p), memory(Filter::bytes(p)), filter(p, memory.span()) {}
    Params params;
    FilterMemory memory;
    Filter filter;
};
using Counted = Owner<Btbf, BtbfParams>;
using Timed = Owner<TimedBtbf, TimedBtbfParams>;

// Small tables are saturated; roomy ones nearly never match by accident.
constexpr std::uint64_t kRoomyTimers = 4099;
constexpr unsigned kRoomyHashes = 6;

unsigned least_bits(std::uint64_t blocks) {
    unsigned bits = filter::kMinTimerBits;
    while ((std::uint64_t{1} << bits) < blocks + 3) {
        ++bits;
    }
    return bits;
}

// Draw a spec. The padding is often the maximum that the timer bits allow, so that timers come as
// close to wrapping as they may; the bits are often the minimum.
BtbfParams random_counted(Size size, Random& random, EchoPolicy policy) {
    BtbfSpec spec;
    spec.w = 1 + random.below(40);
    spec.B = 1 + random.below(spec.w);
    spec.bpt = least_bits((spec.w + spec.B - 1) / spec.B) + static_cast<unsigned>(random.below(2));
    spec.k = size == Size::kSmall ? 1 + static_cast<unsigned>(random.below(5)) : kRoomyHashes;
    spec.m = size == Size::kSmall ? 1 + random.below(200) : kRoomyTimers;
    spec.policy = policy;
    if (random.one_in(2)) {
        spec.P = static_cast<unsigned>(random.below(BtbfParams::make(spec)->P() + 1));
    }
    return *BtbfParams::make(spec);
}

TimedBtbfParams random_timed(unsigned l, Size size, Random& random, EchoPolicy policy) {
    TimedBtbfSpec spec;
    spec.l = l;
    spec.bpt = least_bits(l) + static_cast<unsigned>(random.below(2));
    spec.k = size == Size::kSmall ? 1 + static_cast<unsigned>(random.below(5)) : kRoomyHashes;
    spec.m = size == Size::kSmall ? 1 + random.below(200) : kRoomyTimers;
    spec.policy = policy;
    if (random.one_in(2)) {
        spec.P = static_cast<unsigned>(random.below(TimedBtbfParams::make(spec)->P() + 1));
    }
    return *TimedBtbfParams::make(spec);
}

EchoPolicy policy_of(std::uint64_t index) {
    return index % 2 == 0 ? EchoPolicy::kFixed : EchoPolicy::kRefresh;
}

std::string text(const BtbfParams& p) {
    return "w " + std::to_string(p.w()) + " B " + std::to_string(p.B()) + " k " +
           std::to_string(p.k()) + " m " + std::to_string(p.m()) + " bpt " +
           std::to_string(p.bpt()) + " P " + std::to_string(p.P());
}

std::string text(const TimedBtbfParams& p) {
    return "l " + std::to_string(p.l()) + " k " + std::to_string(p.k()) + " m " +
           std::to_string(p.m()) + " bpt " + std::to_string(p.bpt()) + " P " +
           std::to_string(p.P());
}

template <typename Function>
void for_each_counted(Size size, unsigned cases, Function function) {
    for (std::uint64_t index = 0; index < cases; ++index) {
        Random random(index);
        Counted table(random_counted(size, random, policy_of(index)));
        SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + text(table.params));
        function(table, random);
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

constexpr unsigned kMaxL = 14;

template <typename Function>
void for_each_timed(Size size, unsigned rounds, Function function) {
    for (std::uint64_t index = 0; index < std::uint64_t{rounds} * kMaxL; ++index) {
        Random random(index);
        Timed table(random_timed(1 + static_cast<unsigned>(index % kMaxL), size, random,
                                 policy_of(index / kMaxL + index)));
        SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + text(table.params));
        function(table, random);
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

// Upper bound on accidental matches of so many queries with at most n live digests: mean + 6 sigma
// + 4.
double most_accidents(double asked, double n) {
    const double mean =
        asked * std::pow(kRoomyHashes * n / static_cast<double>(kRoomyTimers), kRoomyHashes);
    return mean + 6 * std::sqrt(mean) + 4;
}

// --- By count of insertions ---

// The same without accidents: the only other digest uses other timers. No timer ever becomes so old
// that it looks young again.
TEST(counted_btbf, timer_that_nobody_writes_stays_expired) {
    for_each_counted(Size::kSmall, 300, [](Counted& shape, Random& random) {
        const BtbfParams& p = shape.params;
        Counted table(*BtbfParams::make(
            {.w = p.w(), .B = p.B(), .k = 1, .m = 2 + p.m(), .bpt = p.bpt(), .P = p.P()}));
        const Digest digest = random.bits();
        table.filter.insert(digest);
        Digest other = random.bits();
        while (table.filter.read(other).age != filter::kExpiredAge) {
            other = random.bits();
        }
        const std::uint64_t cycle = p.B() * p.timers().numbers();
        for (unsigned turn = 0; turn < 4; ++turn) {
            for (std::uint64_t waited = random.below(cycle); waited > 0; --waited) {
                table.filter.insert(other);
            }
            table.filter.insert(digest);
            for (std::uint64_t age = 0; age < p.w() + 3 * cycle; ++age) {
                if (age < p.w() || age + 1 >= p.w() + p.B()) {
                    ASSERT_EQ(table.filter.query(digest), age < p.w()) << "age " << age;
                }
                table.filter.insert(other);
            }
        }
    });
}

// Saturated tables, with digests queried and inserted at random.
TEST(counted_btbf, nothing_inside_the_window_is_missed_when_saturated) {
    for_each_counted(Size::kSmall, 200, [](Counted& table, Random& random) {
        const BtbfParams& p = table.params;
        Digests digests(random);
        References inserted;
        std::uint64_t insertions = 0;
        for (unsigned step = 0; step < 1500; ++step) {
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, insertions);
            if (age && *age <= p.w()) {
                ASSERT_TRUE(table.filter.query(digest)) << "step " << step << " age " << *age;
                ASSERT_LE(table.filter.read(digest).age, table.filter.oldest_echo());
            }
            const bool always = random.one_in(3);
            const bool echo = always ? (table.filter.insert(digest), false)
                                     : table.filter.test_and_insert(digest);
            if (!echo || p.policy() == EchoPolicy::kRefresh) {
                inserted.insert(digest, insertions++);
            }
            if (random.one_in(400)) {
                table.filter.clear();
                inserted.clear();
                ASSERT_FALSE(table.filter.query(digest));
            }
        }
    });
}

TEST(counted_btbf, verdicts_follow_the_window_when_roomy) {
    for_each_counted(Size::kRoomy, 100, [](Counted& table, Random& random) {
        const BtbfParams& p = table.params;
        Digests digests(random);
        References inserted;
        std::uint64_t insertions = 0;
        unsigned accidents = 0;
        unsigned asked = 0;
        for (unsigned step = 0; step < 1500; ++step) {
            const Digest digest = digests.next();
            // This age counts the digest's own insertion too.
            const auto age = inserted.age(digest, insertions);
            const bool echo = table.filter.test_and_insert(digest);
            if (age && *age <= p.w()) {
                ASSERT_TRUE(echo) << "step " << step << " age " << *age;
            } else if (!age || *age >= p.w() + p.B()) {
                ++asked;
                accidents += echo ? 1 : 0;
            }
            if (!echo || p.policy() == EchoPolicy::kRefresh) {
                inserted.insert(digest, insertions++);
            }
        }
        ASSERT_GT(asked, 300u);
        ASSERT_LE(accidents, most_accidents(asked, static_cast<double>(p.w() + p.B())));
    });
}

// --- By generations ---

// First generations: 0, shortly before 2^63, and one with which the stream ends near the last one.
std::uint64_t first_generation(std::uint64_t index) {
    const std::uint64_t starts[] = {
        0, (std::uint64_t{1} << 63) - 30,
        std::numeric_limits<std::uint64_t>::max() - (std::uint64_t{1} << 48)};
    return starts[index % 3];
}

// Draw how many generations pass at once: mostly 0 or 1, sometimes the edges of window and padding.
std::uint64_t random_turns(Random& random, const TimedBtbfParams& p) {
    if (!random.one_in(50)) {
        return random.one_in(8) ? 1 : 0;
    }
    const std::uint64_t steps[] = {p.P(),
                                   p.P() + 1,
                                   p.P() + 2,
                                   p.l(),
                                   p.l() + 1,
                                   p.l() + p.P() + 1,
                                   p.l() + p.P() + 2,
                                   p.timers().numbers(),
                                   p.timers().numbers() + 1,
                                   1'000'003,
                                   1ULL << 40};
    return steps[random.below(std::size(steps))];
}

// The same without accidents, as nothing else arrives. No timer ever becomes so old that it looks
// young again, whatever is skipped.
TEST(timed_btbf, timer_that_nobody_writes_stays_expired) {
    for_each_timed(Size::kSmall, 20, [](Timed& table, Random& random) {
        const TimedBtbfParams& p = table.params;
        const bool one_by_one = random.one_in(2);
        std::uint64_t generation = first_generation(random.below(3));
        for (unsigned turn = 0; turn < 20; ++turn) {
            const Digest digest = random.bits();
            generation += random.below(p.timers().numbers());
            table.filter.advance({.generation = generation});
            table.filter.clear();
            table.filter.insert(digest);
            const std::uint64_t first = generation;
            while (generation < first + p.l() + 3 * p.timers().numbers()) {
                generation += one_by_one ? 1 : random.below(p.l() + 1);
                table.filter.advance({.generation = generation});
                ASSERT_EQ(table.filter.query(digest), generation - first <= p.l())
                    << "turn " << turn << " age " << generation - first;
            }
        }
    });
}

// Idle polls make expiry earlier or later, but change no verdict.
TEST(timed_btbf, idle_polls_do_not_change_verdicts) {
    for_each_timed(Size::kSmall, 8, [](Timed& plain, Random& random) {
        Timed polled(plain.params);
        Digests digests(random);
        std::uint64_t generation = first_generation(random.below(3));
        for (unsigned step = 0; step < 1500; ++step) {
            generation += random_turns(random, plain.params);
            if (plain.filter.generation() < generation) {
                plain.filter.advance({.generation = generation});
            }
            for (std::uint64_t polls = random.below(20); polls > 0; --polls) {
                polled.filter.advance({.generation = generation});
            }
            polled.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const bool echo = plain.filter.test_and_insert(digest);
            ASSERT_EQ(polled.filter.test_and_insert(digest), echo) << "step " << step;
            const Digest fresh = digests.fresh();
            ASSERT_EQ(polled.filter.query(fresh), plain.filter.query(fresh)) << "step " << step;
        }
    });
}

// Generations that end every B insertions are blocks of B. So with w = l B both filters give the
// same ages and answers.
TEST(timed_btbf, generations_of_B_insertions_are_blocks) {
    for_each_timed(Size::kSmall, 4, [](Timed& timed, Random& random) {
        const TimedBtbfParams& p = timed.params;
        const std::uint64_t B = 1 + random.below(20);
        Counted counted(*BtbfParams::make({.w = p.l() * B,
                                           .B = B,
                                           .k = p.k(),
                                           .m = p.m(),
                                           .bpt = p.bpt(),
                                           .policy = p.policy()}));
        Digests digests(random);
        for (unsigned step = 0; step < 2000; ++step) {
            timed.filter.advance({.generation = timed.filter.counters().insertions / B});
            ASSERT_EQ(timed.filter.position(), counted.filter.position());
            ASSERT_EQ(counted.filter.oldest_echo(), p.l());
            const Digest digest = digests.next();
            const TimerReading by_time = timed.filter.read(digest);
            const TimerReading by_count = counted.filter.read(digest);
            if (by_time.age <= p.l() || by_count.age <= p.l()) {
                ASSERT_EQ(by_time.age, by_count.age) << "step " << step;
                ASSERT_EQ(by_time.c, by_count.c) << "step " << step;
            }
            ASSERT_EQ(by_time.r, by_count.r);
            ASSERT_EQ(timed.filter.test_and_insert(digest), counted.filter.test_and_insert(digest))
                << "step " << step;
        }
    });
}

}  // namespace
}  // namespace unecho::test::btbf_test
