// SPDX-License-Identifier: BSD-3-Clause
// The Time-limited Bloom Filter at rates that jump and in arenas that are too small: what remains
// is found, and what was evicted is counted. Its contract: property/contract.
#include "filters/window/segmented/tlbf.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "filters/sizing/fpr.h"
#include "streams.h"
#include "support/instance.h"
#include "support/window_oracle.h"

namespace unecho::test::tlbf_test {
namespace {

using filter::EchoPolicy;
using filter::Tlbf;
using filter::TlbfParams;
using filter::TlbfSpec;

using TlbfTable = FilterInstance<Tlbf>;

std::uint64_t set_bits(std::span<const std::uint64_t> words) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words) {
        count += static_cast<unsigned>(std::popcount(word));
    }
    return count;
}

constexpr Nanoseconds kEndOfTime = std::numeric_limits<Nanoseconds>::max();

// Call for k, l, policies and windows down to one nanosecond a generation.
template <typename Function>
void for_each_case(Function function) {
    std::uint64_t index = 0;
    for (const unsigned k : {1u, 2u, 3u, 5u, 8u}) {
        for (const unsigned l : {1u, 2u, 4u, 7u}) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                for (const Nanoseconds window : {Nanoseconds{l}, Nanoseconds{1000 + l}}) {
                    ++index;
                    SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " k " +
                                 std::to_string(k) + " l " + std::to_string(l) + " window " +
                                 std::to_string(window));
                    const TlbfSpec spec{.k = k,
                                        .l = l,
                                        .window = window,
                                        .capacity = 20,
                                        .arena_bytes = 1 << 19,
                                        .policy = policy};
                    Random random(index);
                    function(spec, random, index);
                    if (testing::Test::HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

// Times whose density jumps: many packets at once, a few a window, silence, the end of time.
class Times {
  public:
    Times(Random& random, Nanoseconds window, std::uint64_t index)
        : random_(random), window_(window) {
        const Nanoseconds starts[] = {0, Nanoseconds{1} << 63, kEndOfTime - 40 * window};
        now_ = starts[index % 3];
    }

    Nanoseconds next() {
        if (random_.one_in(100)) {
            dense_ = 1 + random_.below(40);
        }
        const Nanoseconds gap = random_.one_in(150)      ? random_.below(3 * window_ + 2)
                                : random_.one_in(dense_) ? random_.below(window_ / (1 + dense_) + 2)
                                                         : 0;
        now_ += std::min(gap, kEndOfTime - now_);
        return now_;
    }

  private:
    Random& random_;
    Nanoseconds window_;
    Nanoseconds now_;
    std::uint64_t dense_ = 5;
};

// A table with the exact times of its digests and with the slices that hold each: the k youngest at
// its insertion, counted by shifts. While the oldest of them is alive a digest is an echo, whatever
// else was evicted early.
class Audited {
  public:
    explicit Audited(const TlbfSpec& spec) : table_(spec) {}

    Tlbf& filter() { return table_.filter; }
    [[nodiscard]] const TlbfParams& params() const { return table_.params; }

    struct Answer {
        std::optional<Nanoseconds> age;  // since the last insertion
        bool echo;
    };

    // Set `missed` if a digest inside the window was new although its slices are alive.
    Answer test_and_insert(Digest digest, Nanoseconds now) {
        const auto age = inserted_.age(digest, now);
        const bool young = age && *age < params().spec().window;
        const bool held = young && holds(digest);
        const bool echo = filter().test_and_insert(digest);
        missed |= held && !echo;
        kept += held ? 1 : 0;
        lost += young && !held ? 1 : 0;
        if (!echo || params().policy() == EchoPolicy::kRefresh) {
            inserted_.insert(digest, now);
            shifts_[digest] = filter().counters().shifts;
        }
        return {age, echo};
    }

    bool missed = false;
    std::uint64_t kept = 0;
    std::uint64_t lost = 0;  // inside the window, but their oldest slice was evicted

  private:
    // Not for digests older than a window, because all slices may have been replaced since.
    [[nodiscard]] bool holds(Digest digest) {
        const std::uint64_t newer = filter().counters().shifts - shifts_.at(digest);
        return newer + params().k() <= filter().slices();
    }

    TlbfTable table_;
    References inserted_;
    std::map<Digest, std::uint64_t> shifts_;
};

// Return the fills of the slices; check that none has more bits than its stated digests set.
sizing::Profile fills_of(const Tlbf& filter) {
    sizing::Profile fills;
    for (unsigned i = 0; i < filter.slices(); ++i) {
        const auto [bits, keys, words] = filter.slice(i);
        EXPECT_LE(set_bits(words), keys) << "slice " << i;
        fills.push_back(sizing::fill_ratio(static_cast<double>(bits), static_cast<double>(keys)));
    }
    return fills;
}

// (a), (b), (d): a digest younger than the window is an echo; one older by k generations is new,
// except at the rate that the fills give. Only a refresh moves the reference. Many packets at one
// moment may need more slices than exist. Then those whose slices remain are found, and no more are
// missed than were counted.
TEST(tlbf, verdicts_follow_the_window_at_every_rate) {
    std::uint64_t old_ones = 0;
    std::uint64_t kept = 0;
    std::uint64_t evicted = 0;
    for_each_case([&](const TlbfSpec& spec, Random& random, std::uint64_t index) {
        Audited table(spec);
        Digests digests(random);
        Times times(random, spec.window, index);
        const Nanoseconds forgotten = spec.window + spec.k * table.params().period();
        std::set<Digest> accidental;
        double expected = 0;
        unsigned accidents = 0;
        for (unsigned step = 0; step < 3000; ++step) {
            const Nanoseconds now = times.next();
            table.filter().advance({.now = now});
            const Digest digest = digests.next();
            const sizing::Profile fills = fills_of(table.filter());
            const auto [age, echo] = table.test_and_insert(digest, now);
            ASSERT_FALSE(table.missed) << "step " << step << " age " << *age;
            if ((!age || *age > forgotten) && !accidental.contains(digest)) {
                old_ones += age ? 1 : 0;
                expected += sizing::false_positive_rate(
                    spec.k, static_cast<unsigned>(fills.size()) - spec.k, fills);
                accidents += echo ? 1 : 0;
                if (echo) {
                    accidental.insert(digest);  // a second query would match again
                }
            }
            if (!echo || spec.policy == EchoPolicy::kRefresh) {
                accidental.erase(digest);
            }
        }
        // Queries of one table depend on each other, the more the smaller its slices. So this only
        // checks that forgotten digests are not kept otherwise; the statistical tests check the
        // rate.
        if (spec.k > 1) {
            ASSERT_LE(accidents, 2 * expected + 8 * std::sqrt(expected) + 10);
        }
        if (table.filter().counters().evicted_early == 0) {
            ASSERT_EQ(table.lost, 0u);
        }
        kept += table.kept;
        evicted += table.filter().counters().evicted_early;
    });
    EXPECT_GT(old_ones, 40'000u);
    EXPECT_GT(kept, 50'000u);
    EXPECT_GT(evicted, 1'000u);
}

// (a) as in the paper: shifts and retirement on insertions only.
TEST(tlbf, nothing_inside_the_window_is_missed_without_timed_shifts) {
    std::uint64_t kept = 0;
    for_each_case([&](TlbfSpec spec, Random& random, std::uint64_t index) {
        spec.shift_on_time = false;
        Audited table(spec);
        Digests digests(random);
        Times times(random, spec.window, index);
        for (unsigned step = 0; step < 3000; ++step) {
            const Nanoseconds now = times.next();
            table.filter().advance({.now = now});
            table.test_and_insert(digests.next(), now);
            ASSERT_FALSE(table.missed) << "step " << step;
        }
        if (table.filter().counters().evicted_early == 0) {
            ASSERT_EQ(table.lost, 0u);
        }
        kept += table.kept;
    });
    EXPECT_GT(kept, 50'000u);
}

// An arena that is far too small: everything in it is found, the counter covers every miss inside
// the window, and nothing is written beyond its end (a sanitizer checks).
TEST(tlbf, misses_never_exceed_what_was_evicted_early) {
    std::uint64_t kept = 0;
    std::uint64_t evicted = 0;
    for_each_case([&](TlbfSpec spec, Random& random, std::uint64_t index) {
        const std::uint64_t slice =
            filter::bytes_for_bits(TlbfParams::make(spec)->first_slice_bits());
        spec.arena_bytes = (spec.k + 2 + random.below(4)) * slice + 64 * random.below(3);
        Audited table(spec);
        Digests digests(random);
        Times times(random, spec.window, index);
        std::uint64_t misses = 0;
        for (unsigned step = 0; step < 3000; ++step) {
            const Nanoseconds now = times.next();
            table.filter().advance({.now = now});
            const auto [age, echo] = table.test_and_insert(digests.next(), now);
            ASSERT_FALSE(table.missed) << "step " << step;
            misses += age && *age < spec.window && !echo ? 1 : 0;
        }
        ASSERT_LE(misses, table.filter().counters().evicted_early);
        kept += table.kept;
        evicted += table.filter().counters().evicted_early;
    });
    EXPECT_GT(kept, 40'000u);
    EXPECT_GT(evicted, 1'000u);
}

}  // namespace
}  // namespace unecho::test::tlbf_test
