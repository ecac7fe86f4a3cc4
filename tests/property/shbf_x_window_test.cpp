// SPDX-License-Identifier: BSD-3-Clause
// The first n packets of a flow in each window, by multiplicities, against the oracle.
#include "filter/window/shbf_x_window.h"

#include <array>
#include <map>
#include <string>

#include "filter/generation.h"
#include "streams.h"
#include "support/filter_memory.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using filter::EchoPolicy;
using filter::ShbfXWindow;
using filter::ShbfXWindowParams;

struct Shape {
    unsigned k = 1;  // bits of a packet
    unsigned l = 1;
    unsigned spares = 0;
    EchoPolicy policy = EchoPolicy::kFixed;

    [[nodiscard]] std::string text() const {
        return "k " + std::to_string(k) + " l " + std::to_string(l) + " spares " +
               std::to_string(spares) + (policy == EchoPolicy::kFixed ? " fixed" : " refresh");
    }
};

struct Case {
    Shape shape;
    unsigned n = 1;
    std::uint64_t index = 0;
};

// Calls with every number of generations up to 9 and both policies, for small, odd and the largest
// n.
template <typename Function>
void for_each_case(Function function) {
    constexpr std::array<unsigned, 8> kFirst{1, 2, 3, 4, 7, 13, 40, 57};
    std::uint64_t index = 0;
    for (unsigned l = 1; l <= 9; ++l) {
        for (const unsigned n : kFirst) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                ++index;
                const auto k = static_cast<unsigned>(1 + index % 5);
                const Shape shape{k, l, static_cast<unsigned>(index / 2 % 4), policy};
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " " + shape.text() +
                             " n " + std::to_string(n));
                function(Case{shape, n, index});
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

struct Window {
    Window(const Case& c, Size size, Random& random)
        : params(*ShbfXWindowParams::make(
              {.k = size == Size::kRoomy ? c.shape.k + 5 : c.shape.k,
               .l = c.shape.l,
               .m = size == Size::kRoomy ? 300'007 : 20 + random.below(500),
               .c = c.n,
               .spares = c.shape.spares,
               .policy = c.shape.policy})),
          memory(ShbfXWindow::bytes(params)),
          filter(params, memory.span()) {}
    ShbfXWindowParams params;
    FilterMemory memory;
    ShbfXWindow filter;
};

// Few flows, so that many get beyond their first n packets.
Digest random_flow(Random& random, unsigned n) {
    return remix(random.below(2 + 60 / n), 99);
}

std::uint64_t start(const Case& c) {
    return c.index % 3 == 0 ? 0 : (std::uint64_t{1} << 62) + c.index;
}

// A window of 1 + l generations, exactly: what passed in generation j counts through j + l.
TEST(shbf_x_window, equals_the_oracle_when_nothing_matches_by_chance) {
    for_each_case([](const Case& c) {
        Random random(c.index);
        Window i(c, Size::kRoomy, random);
        Helper helper(i.filter.segments());
        WindowOracle oracle(c.shape.l + 1,
                            c.shape.policy == EchoPolicy::kFixed ? WindowOracle::Policy::kFixed
                                                                 : WindowOracle::Policy::kRefresh,
                            c.n);
        std::uint64_t generation = start(c);
        i.filter.advance({.generation = generation});
        unsigned echoes = 0;
        unsigned passed = 0;
        for (unsigned step = 0; step < 2500; ++step) {
            if (c.index % 2 == 0) {
                helper.work(random);
            }
            if (random.one_in(700)) {
                i.filter.clear();
                oracle.clear();
            }
            if (random.one_in(4 + c.n)) {
                generation += random_step(random, 1, c.shape.l);
                i.filter.advance({.generation = generation});
            }
            const Digest flow = random_flow(random, c.n);
            const bool echo = oracle.see(flow, generation);
            ASSERT_EQ(i.filter.test_and_insert_first(flow, c.n), echo) << "step " << step;
            ++(echo ? echoes : passed);
        }
        ASSERT_GT(passed, 50u);
        ASSERT_GT(echoes, 50u);
    });
}

// What a flow has, by what the filter itself let pass.
class Passed {
  public:
    Passed(EchoPolicy policy, unsigned l) : policy_(policy), l_(l) {}

    // That must count, before this packet.
    unsigned live(std::uint64_t generation) {
        if (policy_ == EchoPolicy::kRefresh) {
            return generation - last_seen_ <= l_ ? episode_ : 0;
        }
        while (!times_.empty() && generation - times_.front() > l_) {
            times_.pop_front();
        }
        return static_cast<unsigned>(times_.size());
    }
    void see(std::uint64_t generation, bool echo) {
        episode_ = live(generation) + (echo ? 0 : 1);
        last_seen_ = generation;
        if (!echo) {
            times_.push_back(generation);
        }
    }

  private:
    EchoPolicy policy_;
    unsigned l_;
    std::deque<std::uint64_t> times_;
    unsigned episode_ = 0;
    std::uint64_t last_seen_ = 0;
};

// With accidental matches everywhere only one side is certain: no flow gets more than n.
TEST(shbf_x_window, never_lets_more_than_n_pass_when_saturated) {
    for_each_case([](const Case& c) {
        Random random(c.index);
        Window i(c, Size::kSmall, random);
        Helper helper(i.filter.segments());
        std::map<Digest, Passed> flows;
        std::uint64_t generation = start(c);
        i.filter.advance({.generation = generation});
        unsigned full = 0;
        for (unsigned step = 0; step < 2500; ++step) {
            if (c.index % 2 == 0) {
                helper.work(random);
            }
            if (random.one_in(4 + c.n)) {
                generation += random_step(random, 1, c.shape.l);
                i.filter.advance({.generation = generation});
            }
            const Digest flow = random_flow(random, c.n);
            Passed& passed = flows.try_emplace(flow, c.shape.policy, c.shape.l).first->second;
            const unsigned live = passed.live(generation);
            ASSERT_LE(live, c.n) << "step " << step;
            ASSERT_GE(i.filter.count(flow, c.n), live) << "step " << step;
            const bool echo = i.filter.test_and_insert_first(flow, c.n);
            if (live >= c.n) {
                ASSERT_TRUE(echo) << "step " << step;
                ++full;
            }
            passed.see(generation, echo);
        }
        if (c.n <= 3) {
            ASSERT_GT(full, 20u);
        }
    });
}

// Bursts, single calls, and count followed by insert leave the same verdicts and the same bits.
TEST(shbf_x_window, burst_equals_sequence_equals_count_and_insert) {
    for_each_case([](const Case& c) {
        Random random(c.index);
        Random same(c.index);
        Random again(c.index);
        Window burst(c, Size::kSmall, random);
        Window single(c, Size::kSmall, same);
        Window halves(c, Size::kSmall, again);
        std::uint64_t generation = start(c);
        for (unsigned round = 0; round < 40; ++round) {
            generation += random_step(random, 1, c.shape.l);
            for (Window* i : {&burst, &single, &halves}) {
                i->filter.advance({.generation = generation});
            }
            std::vector<Digest> flows(random.below(kMaxBurst + 1));
            std::generate(flows.begin(), flows.end(), [&] { return random_flow(random, c.n); });
            std::uint64_t expected = 0;
            for (std::size_t p = 0; p < flows.size(); ++p) {
                const bool echo = single.filter.test_and_insert_first(flows[p], c.n);
                expected |= std::uint64_t{echo} << p;
                ASSERT_EQ(halves.filter.count(flows[p], c.n) >= c.n, echo);
                if (!echo || c.shape.policy == EchoPolicy::kRefresh) {
                    halves.filter.insert(flows[p], c.n);
                }
            }
            ASSERT_EQ(burst.filter.test_and_insert_first_burst(flows, c.n), expected);
        }
        const auto bits = single.memory.span();
        ASSERT_EQ(std::memcmp(burst.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(std::memcmp(halves.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(burst.filter.counters().insertions, single.filter.counters().insertions);
        ASSERT_EQ(halves.filter.counters().insertions, single.filter.counters().insertions);
    });
}

// In nanoseconds, near 2^63: with n packets passed less than a window ago a packet is an echo; with
// less than n in the window and a generation before it, it passes.
TEST(shbf_x_window, window_in_time_holds_with_one_generation_of_slack) {
    for_each_case([](const Case& c) {
        if (c.shape.policy == EchoPolicy::kRefresh) {
            return;
        }
        Random random(c.index);
        Window i(c, Size::kRoomy, random);
        const Nanoseconds window = 50 + random.below(1000);
        const auto clock = filter::GenerationClock::covering(window, c.shape.l);
        std::map<Digest, std::deque<Nanoseconds>> passed;
        Nanoseconds now = (std::uint64_t{1} << 63) - random.below(10'000);
        for (unsigned step = 0; step < 2000; ++step) {
            now += random.one_in(200) ? random.below(3 * window)
                                      : random.below(2 + window / (10 * c.n));
            i.filter.advance({.now = now, .generation = clock.generation_of(now)});
            const Digest flow = random_flow(random, c.n);
            std::deque<Nanoseconds>& times = passed[flow];
            const auto younger_than = [&](Nanoseconds age) {
                return std::count_if(times.begin(), times.end(),
                                     [&](Nanoseconds time) { return now - time < age; });
            };
            const bool echo = i.filter.test_and_insert_first(flow, c.n);
            if (younger_than(window) >= c.n) {
                ASSERT_TRUE(echo) << "step " << step;
            } else if (younger_than((c.shape.l + 1) * clock.length) < c.n) {
                ASSERT_FALSE(echo) << "step " << step;
            }
            if (!echo) {
                times.push_back(now);
            }
        }
    });
}

}  // namespace
}  // namespace unecho::test
