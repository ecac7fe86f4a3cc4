// SPDX-License-Identifier: BSD-3-Clause
// Contract (a) to (f) of filter.h for the filters that age by segments.
#include <cmath>
#include <limits>

#include "filter/generation.h"
#include "streams.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using filter::EchoPolicy;

template <typename Kind>
class segmented : public testing::Test {};
using Kinds = testing::Types<ApbfKind, ApbbfKind, ApshbfKind, ShbfXWindowKind>;
TYPED_TEST_SUITE(segmented, Kinds);

constexpr unsigned kMaxK = 6;
constexpr unsigned kMaxL = 9;

// Calls with every k, l and policy of the range; spares go round 0..3. The index numbers the cases.
template <typename Function>
void for_each_shape(Function function) {
    std::uint64_t index = 0;
    for (unsigned k = 1; k <= kMaxK; ++k) {
        for (unsigned l = 1; l <= kMaxL; ++l) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                ++index;
                const Shape shape{k, l, static_cast<unsigned>((index / 2 + index) % 4), policy};
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + shape.text());
                function(shape, index);
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

// First generations: 0, around 2^63, and so that the stream ends at the last generation there is.
std::uint64_t first_generation(std::uint64_t index) {
    const std::uint64_t starts[] = {0, (std::uint64_t{1} << 63) - 30, std::uint64_t{1} << 62};
    return starts[index % 3];
}

// (a) A digest inserted in generation j, with any k, l and base position, is an echo in each of
// the generations j + 1 .. j + l; (b) it is new in j + l + k.
TYPED_TEST(segmented, digest_of_every_base_position_is_kept_through_l) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        const unsigned slots = shape.k + shape.l;
        std::uint64_t generation =
            std::numeric_limits<std::uint64_t>::max() - std::uint64_t{3} * slots * (slots + 1);
        for (unsigned base = 0; base < 3 * slots; ++base) {
            const Digest digest = random.bits();
            i.filter.advance({.generation = generation});
            ASSERT_FALSE(i.filter.test_and_insert(digest));
            for (unsigned age = 0; age <= shape.l; ++age) {
                i.filter.advance({.generation = generation + age});
                ASSERT_TRUE(i.filter.query(digest)) << "base " << base << " age " << age;
            }
            // One of its k segments is gone, and nothing else is there: that is no run.
            i.filter.advance({.generation = generation + shape.l + 1});
            ASSERT_FALSE(i.filter.query(digest)) << "base " << base << " behind l";
            i.filter.advance({.generation = generation + slots});
            ASSERT_FALSE(i.filter.query(digest)) << "base " << base;
            generation += slots + 1;
        }
    });
}

// The same for every age reached in one skip, over every base position.
TYPED_TEST(segmented, digest_survives_every_skip_up_to_l) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        const unsigned slots = shape.k + shape.l;
        std::uint64_t generation = 0;
        for (unsigned skip = 0; skip <= slots + 1; ++skip) {
            for (unsigned base = 0; base < slots; ++base) {
                const Digest digest = random.bits();
                i.filter.insert(digest);
                generation += skip;
                i.filter.advance({.generation = generation});
                if (skip <= shape.l) {
                    ASSERT_TRUE(i.filter.query(digest)) << "skip " << skip << " base " << base;
                } else if (skip >= slots) {
                    ASSERT_FALSE(i.filter.query(digest)) << "skip " << skip << " base " << base;
                }
                ++generation;
                i.filter.advance({.generation = generation});
            }
        }
    });
}

// (a) and (e) when accidental matches are everywhere: whatever was inserted is an echo through j +
// l, with random skips and a helper that returns segments when it likes.
TYPED_TEST(segmented, nothing_inside_the_window_is_missed_when_saturated) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kSmall, random));
        Helper helper(i.filter.segments());
        Digests digests(random);
        References inserted;
        std::uint64_t generation = first_generation(index);
        for (unsigned step = 0; step < 1500; ++step) {
            if (index % 2 == 0) {
                helper.work(random);
            }
            generation += random_step(random, shape.k, shape.l);
            i.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, generation);
            if (age && *age <= shape.l) {
                ASSERT_TRUE(i.filter.query(digest)) << "step " << step << " age " << *age;
            }
            if (random.one_in(3)) {
                i.filter.insert(digest);
                inserted.insert(digest, generation);
            } else if (!i.filter.test_and_insert(digest) || shape.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, generation);
            }
        }
    });
}

// (a) to (e) with test_and_insert alone and room enough: echo through j + l, new from j + l + k on,
// where only a refresh moves j. Accidental matches stay below their bound.
TYPED_TEST(segmented, verdicts_follow_the_window_when_roomy) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        Helper helper(i.filter.segments());
        Digests digests(random);
        References inserted;
        std::uint64_t generation = first_generation(index);
        unsigned accidents = 0;
        unsigned asked = 0;
        for (unsigned step = 0; step < 1500; ++step) {
            if (index % 2 == 0) {
                helper.work(random);
            }
            generation += random_step(random, shape.k, shape.l);
            i.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, generation);
            const bool echo = i.filter.test_and_insert(digest);
            if (age && *age <= shape.l) {
                ASSERT_TRUE(echo) << "step " << step << " age " << *age;
            } else if (!age || *age >= shape.l + shape.k) {
                ++asked;
                accidents += echo ? 1 : 0;
            }
            if (!echo || shape.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, generation);
            }
        }
        // A segment takes k generations of some 8 insertions each; the chance of an accident is at
        // most (l + 1) match^k. Poisson: mean + 6 sigma + 4.
        const double match = TypeParam::match(i.params, 200);
        const double mean = asked * (shape.l + 1) * std::pow(match, shape.k);
        ASSERT_GT(asked, 300u);
        ASSERT_LE(accidents, mean + 6 * std::sqrt(mean) + 4);
    });
}

// A digest asked for again and again under kFixed is still forgotten at j + l + k, under kRefresh
// never.
TYPED_TEST(segmented, policy_decides_whether_repeats_refresh) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        const Digest digest = random.bits();
        ASSERT_FALSE(i.filter.test_and_insert(digest));
        std::uint64_t last_new = 0;
        for (std::uint64_t generation = 1; generation < 60; ++generation) {
            i.filter.advance({.generation = generation});
            if (!i.filter.test_and_insert(digest)) {
                ASSERT_EQ(shape.policy, EchoPolicy::kFixed);
                ASSERT_GT(generation - last_new, shape.l);
                ASSERT_LE(generation - last_new, shape.l + shape.k);
                last_new = generation;
            }
        }
        const std::uint64_t turns = 59 / (shape.k + shape.l);
        ASSERT_EQ(last_new >= turns * (shape.l + 1) && last_new > 0,
                  shape.policy == EchoPolicy::kFixed);
    });
}

// Verdicts depend on digests and generations alone: not on the number of spares, not on a helper.
TYPED_TEST(segmented, spares_and_helper_do_not_change_verdicts) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Shape other = shape;
        other.spares = 1 + (shape.spares + 1) % 3;
        Random random(index);
        Random same(index);
        Instance<TypeParam> plain(TypeParam::params(shape, Size::kSmall, random));
        Instance<TypeParam> helped(TypeParam::params(other, Size::kSmall, same));
        Helper helper(helped.filter.segments());
        Random times(index + 1000000);
        Digests digests(random);
        std::uint64_t generation = first_generation(index);
        unsigned echoes = 0;
        for (unsigned step = 0; step < 1500; ++step) {
            helper.work(times);
            generation += random_step(random, shape.k, shape.l);
            plain.filter.advance({.generation = generation});
            helped.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const bool echo = plain.filter.test_and_insert(digest);
            echoes += echo ? 1 : 0;
            ASSERT_EQ(helped.filter.test_and_insert(digest), echo) << "step " << step;
            const Digest fresh = digests.fresh();
            ASSERT_EQ(helped.filter.query(fresh), plain.filter.query(fresh)) << "step " << step;
        }
        ASSERT_GT(echoes, 50u);
    });
}

// (f) Bursts, single calls, and query followed by insert leave the same verdicts and the same bits.
TYPED_TEST(segmented, burst_equals_sequence_equals_query_and_insert) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        const auto params = TypeParam::params(shape, Size::kSmall, random);
        Instance<TypeParam> burst(params);
        Instance<TypeParam> single(params);
        Instance<TypeParam> halves(params);
        Digests digests(random);
        std::uint64_t generation = first_generation(index);
        for (unsigned step = 0; step < 100; ++step) {
            generation += random_step(random, shape.k, shape.l);
            for (auto* i : {&burst, &single, &halves}) {
                i->filter.advance({.generation = generation});
            }
            std::vector<Digest> packets(random.below(kMaxBurst + 1));
            std::generate(packets.begin(), packets.end(), [&] { return digests.next(); });
            std::uint64_t expected = 0;
            for (std::size_t p = 0; p < packets.size(); ++p) {
                const bool echo = single.filter.test_and_insert(packets[p]);
                expected |= std::uint64_t{echo} << p;
                ASSERT_EQ(halves.filter.query(packets[p]), echo);
                if (!echo || shape.policy == EchoPolicy::kRefresh) {
                    halves.filter.insert(packets[p]);
                }
            }
            ASSERT_EQ(burst.filter.test_and_insert_burst(packets), expected) << "step " << step;
        }
        const auto bits = single.memory.span();
        ASSERT_EQ(std::memcmp(burst.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(std::memcmp(halves.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(burst.filter.counters().insertions, single.filter.counters().insertions);
        ASSERT_EQ(halves.filter.counters().insertions, single.filter.counters().insertions);
    });
}

// The window in nanoseconds, through the generation clock, at times near 2^63: an age below the
// window is an echo, an age of (l + k) generations or more is new.
TYPED_TEST(segmented, window_in_time_holds_at_every_phase) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        const Nanoseconds window = 50 + random.below(1000);
        const auto clock = filter::GenerationClock::covering(window, shape.l);
        const Nanoseconds forgotten = (shape.l + shape.k) * clock.length;
        Digests digests(random);
        References inserted;
        Nanoseconds now = (std::uint64_t{1} << 63) - random.below(10000);
        unsigned accidents = 0;
        for (unsigned step = 0; step < 1000; ++step) {
            now += random.one_in(100) ? random.below(3 * forgotten) : random.below(window / 8);
            i.filter.advance({.now = now, .generation = clock.generation_of(now)});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, now);
            const bool echo = i.filter.test_and_insert(digest);
            if (age && *age < window) {
                ASSERT_TRUE(echo) << "step " << step << " age " << *age << " of " << window;
            } else if (!age || *age >= forgotten) {
                accidents += echo ? 1 : 0;
            }
            if (!echo || shape.policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, now);
            }
        }
        const double mean =
            1000.0 * (shape.l + 1) * std::pow(TypeParam::match(i.params, 200), shape.k);
        ASSERT_LE(accidents, mean + 6 * std::sqrt(mean) + 4);
    });
}

// clear() in the middle of anything: nothing is an echo any more, and ageing goes on rightly.
TYPED_TEST(segmented, clear_forgets_at_every_base_position) {
    for_each_shape([](const Shape& shape, std::uint64_t index) {
        Random random(index);
        Instance<TypeParam> i(TypeParam::params(shape, Size::kRoomy, random));
        Helper helper(i.filter.segments());
        for (std::uint64_t generation = 0; generation < 2 * (shape.k + shape.l); ++generation) {
            const Digest before = random.bits();
            const Digest after = random.bits();
            i.filter.advance({.generation = generation * (shape.l + 1)});
            i.filter.insert(before);
            helper.work(random);
            i.filter.clear();
            ASSERT_FALSE(i.filter.query(before));
            i.filter.insert(after);
            i.filter.advance({.generation = generation * (shape.l + 1) + shape.l});
            ASSERT_TRUE(i.filter.query(after));
            ASSERT_FALSE(i.filter.query(before));
        }
    });
}

}  // namespace
}  // namespace unecho::test
