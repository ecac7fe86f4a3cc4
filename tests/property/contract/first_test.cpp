// SPDX-License-Identifier: BSD-3-Clause
// "The first n packets of a flow in each window", for every engine: by n digests of a flow
// (filters/first_packets.h), or by the engine's own counts. Guarantee (a) then means: a packet with
// n live ones before it is an echo.
#include <deque>
#include <map>

#include "filters/first_packets.h"
#include "property/contract/contract.h"

namespace unecho::test {
namespace {

template <typename Filter>
class contract_first : public testing::Test {};
TYPED_TEST_SUITE(contract_first, Engines::Types, EngineNames);

template <typename Filter>
bool observe(Filter& filter, Digest flow, unsigned n) {
    if constexpr (Counts<Filter>) {
        return filter.test_and_insert_first(flow, n);
    } else {
        return filter::test_and_insert_first(filter, flow, n);
    }
}
template <typename Filter>
std::uint64_t see_burst(Filter& filter, std::span<const Digest> flows, unsigned n) {
    if constexpr (Counts<Filter>) {
        return filter.test_and_insert_first_burst(flows, n);
    } else {
        return filter::test_and_insert_first_burst(filter, flows, n);
    }
}

// Draw n, up to the maximum that the engine counts. There is no maximum for digests of a flow.
template <typename Filter>
unsigned first_of(const Draw& draw) {
    constexpr unsigned kMost = Counts<Filter> ? filter::kMaxMultiplicity : 40;
    constexpr std::array<unsigned, 8> kFirst{1, 2, 3, 4, 5, 7, 13, kMost};
    return kFirst.at((draw.index + draw.index / 8 + (refreshes(draw) ? 3 : 0)) % kFirst.size());
}

// The certain facts about a flow, derived from the packets that the filter itself let pass.
class Flow {
  public:
    Flow(const Draw& draw, const Promise& promise) : refresh_(refreshes(draw)), promise_(promise) {}

    // The number of earlier packets that the filter must remember, and that it may remember.
    [[nodiscard]] unsigned certain(std::uint64_t now) const {
        return refresh_ ? (close(now) ? steady_ : 0) : count(now, promise_.kept);
    }
    [[nodiscard]] unsigned possible(std::uint64_t now) const {
        return refresh_ ? (gone(now) ? 0 : episode_) : count(now, promise_.forgotten - 1);
    }

    // Under kRefresh a packet takes the first free slot and renews those before it.
    void observe(std::uint64_t now, bool echo) {
        steady_ = close(now) ? steady_ + 1 : 1;
        episode_ = gone(now) ? 1 : episode_ + 1;
        last_ = now;
        seen_ = true;
        if (!echo) {
            passed_.push_back(now);
        }
    }

  private:
    [[nodiscard]] bool close(std::uint64_t now) const {
        return seen_ && now - last_ <= promise_.kept;
    }
    [[nodiscard]] bool gone(std::uint64_t now) const {
        return !seen_ || now - last_ >= promise_.forgotten;
    }
    [[nodiscard]] unsigned count(std::uint64_t now, std::uint64_t age) const {
        return static_cast<unsigned>(std::count_if(
            passed_.begin(), passed_.end(), [&](std::uint64_t time) { return now - time <= age; }));
    }

    bool refresh_;
    Promise promise_;
    std::deque<std::uint64_t> passed_;
    std::uint64_t last_ = 0;
    bool seen_ = false;
    unsigned steady_ = 0;   // packets since the last silence after which some may be forgotten
    unsigned episode_ = 0;  // packets since the last silence after which all are forgotten
};

// Result of a random run over a few flows.
struct Seen {
    unsigned echoes = 0;  // answers that had to be echoes
    Accidents accidents;  // among packets that had to be new
};

template <typename Filter>
Seen watch(Case<Filter>& c, unsigned n) {
    typename Case<Filter>::Table table(c.params);
    Background background(table.filter, c.draw.index);
    Clock clock(c.random, c.promise, c.draw.index);
    std::map<Digest, Flow> flows;
    Seen seen;
    for (unsigned step = 0; step < 1200; ++step) {
        // Time passes more slowly than for single digests, because a flow has n packets.
        const std::uint64_t now = c.random.one_in(1 + n / 3) ? clock.next() : clock.now();
        table.filter.advance(moment_at(now));
        background.work(c.random, now);
        if (c.random.one_in(700)) {
            table.filter.clear();
            flows.clear();
        }
        const Digest digest = random_flow(c.random, n);
        Flow& flow = flows.try_emplace(digest, c.draw, c.promise).first->second;
        const bool sound = table.filter.counters().evicted_early == 0;
        const bool due = sound && flow.certain(now) >= n;
        // Each of the n digests may match by accident, so the chance is n times that of one.
        const bool fresh = flow.possible(now) < n;
        if constexpr (Counts<Filter>) {
            const unsigned known = sound ? std::min(flow.certain(now), n) : 0;
            EXPECT_GE(table.filter.count(digest, n), known) << "step " << step << " n " << n;
        }
        const bool echo = observe(table.filter, digest, n);
        EXPECT_TRUE(echo || !due) << "step " << step << " n " << n;
        if (testing::Test::HasFailure()) {
            break;
        }
        seen.echoes += due ? 1 : 0;
        if (fresh) {
            seen.accidents.asked(digest, echo, n * Row<Filter>::accident(c.params, 400));
        }
        if (!echo) {
            seen.accidents.inserted(digest);
        }
        flow.observe(now, echo);
    }
    return seen;
}

TYPED_TEST(contract_first, n_pass_in_each_window_when_roomy) {
    std::uint64_t echoes = 0;
    for_each_case<TypeParam>(Fill::kRoomy, [&](Case<TypeParam>& c) {
        const unsigned n = first_of<TypeParam>(c.draw);
        const Seen seen = watch(c, n);
        ASSERT_FALSE(testing::Test::HasFailure());
        ASSERT_FALSE(seen.accidents.too_many()) << seen.accidents.text() << " n " << n;
        ASSERT_GT(seen.accidents.asked(), 50U) << "n " << n;
        echoes += seen.echoes;
    });
    EXPECT_GT(echoes, 100 * Row<TypeParam>::kShapes);
}

// In saturated tables only one side is certain: no flow passes more than n.
TYPED_TEST(contract_first, never_more_than_n_pass_when_saturated) {
    std::uint64_t echoes = 0;
    for_each_case<TypeParam>(Fill::kSmall, [&](Case<TypeParam>& c) {
        const Seen seen = watch(c, first_of<TypeParam>(c.draw));
        ASSERT_FALSE(testing::Test::HasFailure());
        echoes += seen.echoes;
    });
    EXPECT_GT(echoes, 20 * Row<TypeParam>::kShapes);
}

// The same for count() and insertion, if an engine counts.
TYPED_TEST(contract_first, burst_equals_sequence) {
    for_each_case_of_two_fills<TypeParam>([](Case<TypeParam>& c) {
        const unsigned n = first_of<TypeParam>(c.draw);
        typename Case<TypeParam>::Table burst(c.params);
        typename Case<TypeParam>::Table single(c.params);
        typename Case<TypeParam>::Table halves(c.params);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned round = 0; round < 6 + 14 / n; ++round) {
            const std::uint64_t now = clock.next();
            for (auto* table : {&burst, &single, &halves}) {
                table->filter.advance(moment_at(now));
            }
            std::vector<Digest> flows(c.random.one_in(4) ? kMaxBurst
                                                         : c.random.below(kMaxBurst + 1));
            std::generate(flows.begin(), flows.end(), [&] { return random_flow(c.random, n); });
            std::uint64_t expected = 0;
            for (std::size_t p = 0; p < flows.size(); ++p) {
                const bool echo = observe(single.filter, flows[p], n);
                expected |= std::uint64_t{echo} << p;
                if constexpr (Counts<TypeParam>) {
                    ASSERT_EQ(halves.filter.count(flows[p], n) >= n, echo) << "round " << round;
                    if (!echo || refreshes(c.draw)) {
                        halves.filter.insert(flows[p], n);
                    }
                }
            }
            ASSERT_EQ(see_burst(burst.filter, flows, n), expected) << "round " << round;
        }
        expect_same(single, burst);
        if constexpr (Counts<TypeParam>) {
            expect_same(single, halves);
        }
    });
}

// The first one packet of a flow is the plain filter.
TYPED_TEST(contract_first, of_one_are_the_digests_themselves) {
    for_each_case<TypeParam>(Fill::kSmall, [](Case<TypeParam>& c) {
        typename Case<TypeParam>::Table first(c.params);
        typename Case<TypeParam>::Table plain(c.params);
        Digests digests(c.random);
        Clock clock(c.random, c.promise, c.draw.index);
        for (unsigned round = 0; round < 15; ++round) {
            const std::uint64_t now = clock.next();
            first.filter.advance(moment_at(now));
            plain.filter.advance(moment_at(now));
            const std::vector<Digest> burst = random_burst(c.random, digests);
            ASSERT_EQ(see_burst(first.filter, burst, 1), plain.filter.test_and_insert_burst(burst));
        }
        expect_same(first, plain);
    });
}

}  // namespace
}  // namespace unecho::test
