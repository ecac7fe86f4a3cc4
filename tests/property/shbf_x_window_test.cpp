// SPDX-License-Identifier: BSD-3-Clause
// The first n packets of a flow in each window by multiplicities, against the oracle; n from 1 to
// the maximum that the filter is made for. Its contract: property/contract.
#include "filters/window/segmented/shbf_x_window.h"

#include <array>
#include <string>

#include "streams.h"
#include "support/instance.h"
#include "support/window_oracle.h"

namespace unecho::test::shbf_x_window_test {
namespace {

using filter::EchoPolicy;
using filter::ShbfXWindow;

struct Shape {
    unsigned k = 1;  // bits a packet
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

// Call for every number of generations up to 9 and both policies; n is small, odd or the highest.
template <typename Function>
void for_each_case(Function function) {
    constexpr std::array<unsigned, 8> kFirst{1, 2, 3, 4, 7, 13, 40, 57};
    std::uint64_t index = 0;
    for (unsigned l = 1; l <= 9; ++l) {
        for (const unsigned n : kFirst) {
            for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
                ++index;
                const auto k = static_cast<unsigned>(6 + index % 5);
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

std::uint64_t start(const Case& c) {
    return c.index % 3 == 0 ? 0 : (std::uint64_t{1} << 62) + c.index;
}

// An exact window of 1 + l generations: a packet that passed in generation j counts through j + l.
TEST(shbf_x_window, equals_the_oracle_when_nothing_matches_by_chance) {
    for_each_case([](const Case& c) {
        Random random(c.index);
        FilterInstance<ShbfXWindow> i({.k = c.shape.k,
                                       .l = c.shape.l,
                                       .m = 300'007,
                                       .c = c.n,
                                       .spares = c.shape.spares,
                                       .policy = c.shape.policy});
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
            const bool echo = oracle.observe(flow, generation);
            ASSERT_EQ(i.filter.test_and_insert_first(flow, c.n), echo) << "step " << step;
            ++(echo ? echoes : passed);
        }
        ASSERT_GT(passed, 50u);
        ASSERT_GT(echoes, 50u);
    });
}

}  // namespace
}  // namespace unecho::test::shbf_x_window_test
