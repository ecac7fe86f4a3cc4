// SPDX-License-Identifier: BSD-3-Clause
// The contract of filter.h and judging.h for lines of fingerprints, against exact oracles, and what
// they promise beyond it: that what is lost is told.
#include "peers/fingerprint_lines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/ageing.h"
#include "filter/kept_window.h"
#include "property/streams.h"
#include "support/bounds.h"
#include "support/filter_memory.h"
#include "support/kernels.h"
#include "support/window_oracle.h"

namespace unecho::bench {
namespace {

using filter::EchoPolicy;
using test::Random;

struct Table {
    explicit Table(const FingerprintParams& p)
        : params(p), memory(FingerprintLines::bytes(p)), filter(p, memory.span()) {}

    FingerprintParams params;
    test::FilterMemory memory;
    FingerprintLines filter;
};

// Every layout, policy and kernel, with tables of these lines in each half.
template <typename Function>
void for_each_table(const std::vector<std::uint64_t>& halves, Function function) {
    std::uint64_t index = 0;
    for (unsigned layout = 0; layout < kFingerprintLayouts; ++layout) {
        for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
            for (const std::uint64_t half : halves) {
                for (const filter::Isa isa : test::available_isas()) {
                    Random random(++index);
                    const FingerprintParams params{
                        .layout = layout, .half = half, .policy = policy, .isa = isa};
                    SCOPED_TRACE(test::seed_note() + " case " + std::to_string(index));
                    function(params, random);
                    if (testing::Test::HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

filter::Moment at(std::uint64_t generation) {
    return {.now = generation, .generation = generation};
}

std::vector<Digest> burst_of(test::Digests& digests, std::size_t size) {
    std::vector<Digest> burst(size);
    std::generate(burst.begin(), burst.end(), [&] { return digests.next(); });
    return burst;
}

// (a): in tables that overflow all the time, nothing inserted since lost_before() is missed as long
// as it is in the window; and whatever may be lost was counted.
TEST(fingerprint_lines, nothing_is_missed_but_what_the_filter_says_it_lost) {
    std::uint64_t lost = 0;
    std::uint64_t promised = 0;
    for_each_table({1, 2, 7, 40}, [&](const FingerprintParams& params, Random& random) {
        Table table(params);
        test::Digests digests(random);
        test::References inserted;
        const unsigned l = params.shape().l;
        std::uint64_t now = random.below(2) == 0 ? 0 : (std::uint64_t{1} << 63) + random.below(600);
        for (unsigned step = 0; step < 1500; ++step) {
            now += test::random_step(random, 1, l);
            table.filter.advance(at(now));
            if (random.one_in(3)) {
                table.filter.maintain();
            }
            const auto burst = burst_of(digests, random.one_in(4) ? 1 : random.below(65));
            const std::uint64_t echoes = table.filter.test_and_insert_burst(burst);
            for (std::size_t i = 0; i < burst.size(); ++i) {
                const bool echo = (echoes >> i & 1) != 0;
                const auto age = inserted.age(burst[i], now);
                if (age && *age <= l && now - *age >= table.filter.lost_before()) {
                    ++promised;
                    ASSERT_TRUE(echo) << "age " << *age << " of " << l;
                }
                if (!echo || params.policy == EchoPolicy::kRefresh) {
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
}

// (a), (b), (e): alone, a digest is kept for l generations and no longer, whenever it was inserted
// and however time goes on; stamps come round unseen, with visits and without.
TEST(fingerprint_lines, digest_of_every_generation_is_kept_and_then_forgotten_for_ever) {
    for_each_table({1, 1000}, [](const FingerprintParams& params, Random& random) {
        Table table(params);
        const unsigned l = params.shape().l;
        std::uint64_t now = 0;
        const auto ask = [&](Digest digest) {
            // On a copy: asking inserts.
            Table copy(params);
            const auto bits = table.memory.span();
            std::copy(bits.begin(), bits.end(), copy.memory.span().begin());
            FingerprintLines asked = table.filter;
            asked.move_to(copy.memory.span());
            return asked.test_and_insert(digest);
        };
        const std::uint64_t most = params.half == 1 ? 600 : 30;
        for (std::uint64_t base = 0; base < most; base += 1 + random.below(5)) {
            const Digest digest = random.bits();
            now += base;
            table.filter.advance(at(now));
            ASSERT_FALSE(table.filter.test_and_insert(digest));
            const std::uint64_t kept = now + random.below(l + 1);
            table.filter.advance(at(kept));
            ASSERT_TRUE(ask(digest)) << "base " << base << " age " << kept - now;
            table.filter.advance(at(now + l));
            ASSERT_TRUE(ask(digest)) << "base " << base;
            table.filter.advance(at(now + l + 1));
            ASSERT_FALSE(ask(digest)) << "base " << base;
            now += l + 1;
            const std::uint64_t step = random.one_in(2) ? 1 : 1 + random.below(300);
            for (unsigned turns = 0; turns < 300; turns += 7) {
                table.filter.advance(at(now += step));
                if (random.one_in(2)) {
                    table.filter.maintain();
                }
                ASSERT_FALSE(ask(digest)) << "base " << base << " " << turns;
            }
            const Digest skipped = random.bits();
            ASSERT_FALSE(table.filter.test_and_insert(skipped));
            table.filter.advance(at(now += l + 1 + random.below(3)));
            ASSERT_FALSE(ask(skipped)) << "base " << base;
            const Digest cleared = random.bits();
            ASSERT_FALSE(table.filter.test_and_insert(cleared));
            table.filter.clear();
            ASSERT_FALSE(ask(cleared)) << "base " << base;
        }
    });
}

// (f): a burst is its digests one by one, to the last bit, and every kernel is the scalar one.
TEST(fingerprint_lines, bursts_and_kernels_give_the_bits_of_single_digests_and_scalar_code) {
    for_each_table({1, 3, 200}, [](const FingerprintParams& params, Random& random) {
        FingerprintParams scalar = params;
        scalar.isa = filter::Isa::kScalar;
        Table bursts(params);
        Table singles(scalar);
        test::Digests digests(random);
        std::uint64_t now = random.below(300);
        for (unsigned step = 0; step < 1500; ++step) {
            now += test::random_step(random, 1, params.shape().l);
            bursts.filter.advance(at(now));
            singles.filter.advance(at(now));
            const auto burst = burst_of(digests, random.below(65));
            std::vector<float> limits(burst.size());
            std::generate(limits.begin(), limits.end(), [&] {
                return static_cast<float>(params.shape().most_chance() *
                                          static_cast<double>(random.below(5)) / 4);
            });
            filter::Answers expected;
            const Digest any = random.bits();
            ASSERT_EQ(bursts.filter.chance(any), singles.filter.chance(any));
            for (std::size_t i = 0; i < burst.size(); ++i) {
                const auto one = singles.filter.test_and_insert_burst(
                    {&burst[i], 1}, filter::ChanceLimits(limits[i]));
                expected.echoes |= one.echoes << i;
                expected.doubts |= one.doubts << i;
            }
            const auto found =
                bursts.filter.test_and_insert_burst(burst, filter::ChanceLimits(limits.data()));
            ASSERT_EQ(found.echoes, expected.echoes);
            ASSERT_EQ(found.doubts, expected.doubts);
            const auto bits = bursts.memory.span();
            ASSERT_TRUE(std::equal(bits.begin(), bits.end(), singles.memory.span().begin()));
            ASSERT_EQ(bursts.filter.load(), singles.filter.load());
            ASSERT_EQ(bursts.filter.lost_before(), singles.filter.lost_before());
            for (const auto& row : filter::kFilterCounters) {
                ASSERT_EQ(bursts.filter.counters().*row.value, singles.filter.counters().*row.value)
                    << row.name;
            }
        }
    });
}

// A match is a doubt iff its chance is above the limit; and a doubt is inserted, so that its copies
// match for as long as if it had been new.
TEST(fingerprint_lines, match_above_its_limit_is_a_doubt_and_is_kept_as_if_it_were_new) {
    for_each_table({50}, [](const FingerprintParams& params, Random& random) {
        Table table(params);
        for (unsigned i = 0; i < 500; ++i) {
            table.filter.test_and_insert(random.bits());
        }
        const unsigned l = params.shape().l;
        for (unsigned i = 0; i < 100; ++i) {
            const std::uint64_t now = std::uint64_t{i} * (l + 1);
            table.filter.advance(at(now));
            const Digest digest = random.bits();
            const auto judged = [&](float limit) {
                return table.filter.test_and_insert_burst({&digest, 1},
                                                          filter::ChanceLimits(limit));
            };
            ASSERT_EQ(judged(0).echoes, 0U);
            const float chance = table.filter.chance(digest);
            ASSERT_GT(chance, 0);
            ASSERT_EQ(judged(chance).echoes, 1U);
            table.filter.advance(at(now + l));
            ASSERT_EQ(judged(std::nextafter(table.filter.chance(digest), 0.0F)).doubts, 1U);
            table.filter.advance(at(now + 2 * l));
            ASSERT_EQ(judged(1).echoes, 1U);
        }
    });
}

// Digests that were never inserted match as often as the chances say that were stated before; of 26
// bits, 12 are drawn, which is as if the fingerprint had so many.
TEST(fingerprint_lines, stated_chances_are_the_rate_of_accidents) {
    for_each_table({100}, [](const FingerprintParams& params, Random& random) {
        Table table(params);
        const unsigned l = params.shape().l;
        const double keys = params.shape().keys_of_line * 2 * 100 / l;
        const std::uint64_t drawn = params.shape().bits == 26 ? 12 : 16;
        const std::uint64_t low = (std::uint64_t{1} << drawn) - 1;
        double stated = 0;
        double accidents = 0;
        for (std::uint64_t n = 0; n < 300'000; ++n) {
            table.filter.advance(at(static_cast<std::uint64_t>(static_cast<double>(n) / keys)));
            const Digest digest =
                (random.bits() & ~std::uint64_t{0xFFFFFFFF}) | (random.bits() & low);
            const auto chance =
                static_cast<double>(table.filter.chance(digest)) *
                static_cast<double>(std::uint64_t{1} << (params.shape().bits - drawn));
            ASSERT_LE(chance, 1);
            stated += chance;
            accidents += table.filter.test_and_insert(digest) ? 1 : 0;
        }
        // Under the refresh policy an accident keeps one fingerprint longer, and a few are the
        // same.
        EXPECT_LE(accidents, stated + test::kDeviations * std::sqrt(stated));
        EXPECT_GE(accidents, 0.98 * stated - test::kDeviations * std::sqrt(stated));
        EXPECT_EQ(table.filter.counters().evicted_early, 0U);
    });
}

// A filter in its window, as a worker has one: generations end by time or by their load, and what
// was lost shortens the window that was achieved.
class Lane {
  public:
    Lane(const FingerprintParams& params, Nanoseconds window, std::uint64_t load)
        : table_(params),
          l_(params.shape().l),
          ageing_({.window = window, .length = window / l_, .through = l_, .load = load}),
          lost_(window) {}

    std::uint64_t see(std::span<const Digest> burst, Nanoseconds now) {
        FingerprintLines& filter = table_.filter;
        move_to(ageing_.reach(ageing_.published_at(now), filter.load()), now);
        std::uint64_t echoes = 0;
        for (std::size_t done = 0; done < burst.size();) {
            const std::uint64_t room = ageing_.room(filter.load());
            if (room == 0) {
                move_to(ageing_.turn_early(filter.load()), now);
                continue;
            }
            const auto part = burst.subspan(done, std::min<std::size_t>(room, burst.size() - done));
            echoes |= filter.test_and_insert_burst(part) << done;
            done += part.size();
            last_ = now;
            if (filter.lost_before() != 0) {
                const std::uint64_t newest = filter.lost_before() - 1;
                lost_.forget(newest < generation_ ? ends_[newest] : now, now);
            }
        }
        return echoes;
    }
    // Every copy younger than this is found.
    [[nodiscard]] Nanoseconds achieved(Nanoseconds now) const {
        return std::min(ageing_.state(now).achieved, lost_.at(now));
    }
    [[nodiscard]] Nanoseconds shortest() const {
        return std::min(ageing_.state(last_).shortest, lost_.shortest());
    }
    [[nodiscard]] const FingerprintLines& filter() const { return table_.filter; }

  private:
    void move_to(filter::Moment moment, Nanoseconds now) {
        for (; generation_ < moment.generation; ++generation_) {
            ends_[generation_] = last_;
        }
        table_.filter.advance(moment);
        last_ = now;
    }

    Table table_;
    unsigned l_;
    filter::Ageing ageing_;
    filter::KeptWindow lost_;
    std::uint64_t generation_ = 0;
    Nanoseconds last_ = 0;
    std::map<std::uint64_t, Nanoseconds> ends_;
};

constexpr Nanoseconds kWindow = 70'000;

// What came of a stream in which keys come evenly and half of the packets are copies, nearly as old
// as the window at most.
struct Seen {
    std::uint64_t promised = 0;
    std::uint64_t missed = 0;  // younger than the achieved window
    std::uint64_t lost = 0;
    Nanoseconds shortest = 0;
};

Seen stream(const FingerprintParams& params, double keys_of_window, double planned,
            Random& random) {
    const unsigned l = params.shape().l;
    // A key more may come between two turns than on average.
    Lane lane(params, kWindow, static_cast<std::uint64_t>(planned / l) + 2);
    std::map<Digest, Nanoseconds> inserted;
    std::vector<Digest> past;
    Seen seen;
    const double step = kWindow / keys_of_window;
    const auto reach = static_cast<std::uint64_t>(0.95 * keys_of_window);
    double time = 0;
    for (unsigned n = 0; n < 40'000; ++n) {
        const auto now = static_cast<Nanoseconds>(time);
        const bool copy = random.one_in(2) && !past.empty();
        const std::uint64_t back = random.below(reach);
        Digest digest = random.bits();
        if (copy && back < past.size()) {
            digest = past[past.size() - 1 - back];
        } else {
            past.push_back(digest);
            time += step;
        }
        const bool echo = lane.see({&digest, 1}, now) != 0;
        const auto found = inserted.find(digest);
        if (found != inserted.end() && now - found->second < lane.achieved(now)) {
            ++seen.promised;
            seen.missed += echo ? 0 : 1;
        }
        if (!echo) {
            inserted[digest] = now;
        }
    }
    seen.lost = lane.filter().counters().evicted_early;
    seen.shortest = lane.shortest();
    return seen;
}

// P1 in time: nothing younger than the achieved window is missed, with lines that are far too full,
// above the planned rate, and at it; there nothing is lost and the window is the configured one.
TEST(fingerprint_lines, no_copy_younger_than_the_achieved_window_is_missed) {
    for_each_table({20}, [](const FingerprintParams& params, Random& random) {
        if (params.policy == EchoPolicy::kRefresh) {
            return;
        }
        const double planned = params.shape().keys_of_line * 2 * static_cast<double>(params.half);
        const Seen at_plan = stream(params, planned, planned, random);
        ASSERT_EQ(at_plan.missed, 0U);
        ASSERT_EQ(at_plan.lost, 0U);
        ASSERT_EQ(at_plan.shortest, kWindow);
        ASSERT_GT(at_plan.promised, 5'000U);
        // Three times the rate: generations end by their load, nothing is lost.
        const Seen above = stream(params, 3 * planned, planned, random);
        ASSERT_EQ(above.missed, 0U);
        ASSERT_EQ(above.lost, 0U);
        ASSERT_LT(above.shortest, kWindow / 2);
        ASSERT_GT(above.promised, 1'000U);
        // Lines that are all but full before each turn: some keys are lost, of the oldest
        // generation, or where two lines have none of it of the next one.
        const FingerprintShape& shape = params.shape();
        const double all_but_full =
            (shape.slots - 0.7) * shape.l / (shape.l + 1) * 2 * static_cast<double>(params.half);
        const Seen tight = stream(params, all_but_full, 1.05 * all_but_full, random);
        ASSERT_EQ(tight.missed, 0U);
        ASSERT_GT(tight.lost, 0U);
        ASSERT_LT(tight.shortest, kWindow);
        ASSERT_GE(tight.shortest, kWindow - 2 * kWindow / shape.l - kWindow / 50);
        // Sized for a third of what there is.
        const Seen full = stream(params, 3 * planned, 4 * planned, random);
        ASSERT_EQ(full.missed, 0U);
        ASSERT_GT(full.lost, 1'000U);
        ASSERT_LT(full.shortest, kWindow / 2);
    });
}

}  // namespace
}  // namespace unecho::bench
