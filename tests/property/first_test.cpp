// SPDX-License-Identifier: BSD-3-Clause
// "The first n packets of a flow" against the oracle.
#include "filter/first.h"

#include <map>

#include "filter/window/exact.h"
#include "streams.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using filter::EchoPolicy;
using filter::Exact;
using filter::ExactParams;

constexpr Nanoseconds kWindow = 500;

struct Table {
    explicit Table(EchoPolicy policy)
        : params(*ExactParams::make({.entries = 20000, .window = kWindow, .policy = policy})),
          memory(Exact::bytes(params)),
          filter(params, memory.span()) {}
    ExactParams params;
    FilterMemory memory;
    Exact filter;
};

// Few flows, so that many get beyond their first n packets.
Digest random_flow(Random& random) {
    return remix(random.below(8), 99);
}

TEST(first, over_exact_equals_the_oracle) {
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        for (unsigned n = 1; n <= 9; ++n) {
            SCOPED_TRACE(seed_note() + " n " + std::to_string(n));
            Random random(n);
            Table table(policy);
            WindowOracle oracle(kWindow,
                                policy == EchoPolicy::kFixed ? WindowOracle::Policy::kFixed
                                                             : WindowOracle::Policy::kRefresh,
                                n);
            Nanoseconds now = 0;
            unsigned echoes = 0;
            for (unsigned i = 0; i < 4000; ++i) {
                now += random.one_in(300) ? kWindow : random.below(30);
                table.filter.advance({.now = now});
                const Digest flow = random_flow(random);
                const bool echo = oracle.see(flow, now);
                ASSERT_EQ(filter::test_and_insert_first(table.filter, flow, n), echo)
                    << "packet " << i;
                echoes += echo ? 1 : 0;
            }
            ASSERT_LT(echoes, 4000u);
            ASSERT_EQ(table.filter.counters().evicted_early, 0u);
        }
    }
}

// Over a Bloom filter only one side is certain: with n live packets the next is an echo.
template <typename Kind>
void expect_no_more_than_n_pass() {
    for (unsigned n = 1; n <= 5; ++n) {
        for (const Size size : {Size::kSmall, Size::kRoomy}) {
            SCOPED_TRACE(seed_note() + " n " + std::to_string(n));
            Random random(n);
            const Shape shape{3, 4, 2, EchoPolicy::kFixed};
            Instance<Kind> i(Kind::params(shape, size, random));
            std::map<Digest, std::vector<std::uint64_t>> passed;
            std::uint64_t generation = 0;
            unsigned echoes = 0;
            for (unsigned step = 0; step < 3000; ++step) {
                generation += random_step(random, shape.k, shape.l);
                i.filter.advance({.generation = generation});
                const Digest flow = random_flow(random);
                std::vector<std::uint64_t>& times = passed[flow];
                const auto live =
                    std::count_if(times.begin(), times.end(),
                                  [&](std::uint64_t time) { return generation - time <= shape.l; });
                const bool echo = filter::test_and_insert_first(i.filter, flow, n);
                if (live >= n) {
                    ASSERT_TRUE(echo) << "step " << step;
                }
                echoes += echo ? 1 : 0;
                if (!echo) {
                    times.push_back(generation);
                }
            }
            ASSERT_GT(echoes, 50u);
        }
    }
}

TEST(first, over_apbf_never_lets_more_than_n_pass) {
    expect_no_more_than_n_pass<ApbfKind>();
}

TEST(first, over_apbbf_never_lets_more_than_n_pass) {
    expect_no_more_than_n_pass<ApbbfKind>();
}

TEST(first, burst_equals_sequence) {
    for (unsigned n = 1; n <= 12; ++n) {
        SCOPED_TRACE(seed_note() + " n " + std::to_string(n));
        Random random(n);
        const auto params =
            ApbbfKind::params({2, 3, 1, EchoPolicy::kRefresh}, Size::kSmall, random);
        Instance<ApbbfKind> burst(params);
        Instance<ApbbfKind> single(params);
        std::uint64_t generation = 0;
        for (unsigned round = 0; round < 100; ++round) {
            generation += random_step(random, 2, 3);
            burst.filter.advance({.generation = generation});
            single.filter.advance({.generation = generation});
            std::vector<Digest> flows(random.below(kMaxBurst + 1));
            std::generate(flows.begin(), flows.end(), [&] { return random_flow(random); });
            std::uint64_t expected = 0;
            for (std::size_t p = 0; p < flows.size(); ++p) {
                expected |= std::uint64_t{filter::test_and_insert_first(single.filter, flows[p], n)}
                            << p;
            }
            ASSERT_EQ(filter::test_and_insert_first_burst(burst.filter, flows, n), expected);
        }
    }
}

}  // namespace
}  // namespace unecho::test
