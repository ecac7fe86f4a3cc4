// SPDX-License-Identifier: BSD-3-Clause
// The windows of the baseline filters against exact oracles: only what each header promises.
#include <cstring>
#include <deque>
#include <limits>
#include <map>

#include "filters/papers/a2_buffering.h"
#include "filters/papers/double_buffering.h"
#include "filters/papers/forgetful_bloom.h"
#include "filters/papers/rotating_blocked.h"
#include "filters/papers/stable_bloom.h"
#include "filters/papers/swamp.h"
#include "streams.h"
#include "support/filter_memory.h"
#include "support/window_oracle.h"

namespace unecho::test::baseline_test {
namespace {

using namespace filter::baseline;
using filter::EchoPolicy;

// kStays: a digest of generation j is an echo through generation j + kStays, and new after that.
template <typename FilterType, typename ParamsType, unsigned kWindow, std::uint64_t kGranule>
struct BaselineKind {
    using Filter = FilterType;
    using Params = ParamsType;
    static constexpr unsigned kStays = kWindow;

    static Params params(Size size, EchoPolicy policy, Random& random) {
        const std::uint64_t least = size == Size::kSmall ? 64 + random.below(150) : 3'000'000;
        const std::uint64_t m = (least + kGranule - 1) / kGranule * kGranule;
        const unsigned k = size == Size::kSmall ? 1 + static_cast<unsigned>(random.below(6)) : 12;
        return *Params::make({.m = m, .k = k, .policy = policy});
    }
};

template <typename Kind>
struct BaselineUnderTest {
    explicit BaselineUnderTest(const typename Kind::Params& given)
        : params(given), memory(Kind::Filter::bytes(params)), filter(params, memory.span()) {}
    typename Kind::Params params;
    FilterMemory memory;
    typename Kind::Filter filter;
};

template <typename Kind>
class baseline_window : public testing::Test {};
using Kinds = testing::Types<BaselineKind<DoubleBuffering, BloomParams, 1, 1>,
                             BaselineKind<A2Buffering, BloomParams, 1, 1>,
                             BaselineKind<RotatingBlocked, BlockedBloomParams, 1, 512>,
                             BaselineKind<ForgetfulBloom, BloomParams, 2, 1>>;
TYPED_TEST_SUITE(baseline_window, Kinds);

constexpr unsigned kCases = 12;

template <typename Function>
void for_each_case(Function function) {
    for (std::uint64_t index = 1; index <= kCases; ++index) {
        const EchoPolicy policy = index % 2 == 0 ? EchoPolicy::kFixed : EchoPolicy::kRefresh;
        SCOPED_TRACE(seed_note() + " case " + std::to_string(index));
        function(policy, index);
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

// First generations: 0, shortly before 2^63, and 2^62.
std::uint64_t first_generation(std::uint64_t index) {
    const std::uint64_t starts[] = {0, (std::uint64_t{1} << 63) - 30, std::uint64_t{1} << 62};
    return starts[index % 3];
}

TYPED_TEST(baseline_window, every_base_position_up_to_the_last_generation_there_is) {
    constexpr unsigned kStays = TypeParam::kStays;
    for_each_case([](EchoPolicy policy, std::uint64_t index) {
        Random random(index);
        BaselineUnderTest<TypeParam> i(TypeParam::params(Size::kRoomy, policy, random));
        std::uint64_t generation = std::numeric_limits<std::uint64_t>::max() - 12 * (kStays + 2);
        for (unsigned base = 0; base < 12; ++base) {
            const Digest digest = random.bits();
            i.filter.advance({.generation = generation});
            ASSERT_FALSE(i.filter.test_and_insert(digest));
            for (unsigned age = 0; age <= kStays; ++age) {
                i.filter.advance({.generation = generation + age});
                ASSERT_TRUE(i.filter.query(digest)) << "base " << base << " age " << age;
            }
            i.filter.advance({.generation = generation + kStays + 1});
            ASSERT_FALSE(i.filter.query(digest)) << "base " << base;
            generation += kStays + 1 + base % 2;
        }
    });
}

// Saturated tables, where accidental matches are everywhere; skips and repeats at random.
TYPED_TEST(baseline_window, nothing_inside_the_window_is_missed_when_saturated) {
    for_each_case([](EchoPolicy policy, std::uint64_t index) {
        Random random(index);
        BaselineUnderTest<TypeParam> i(TypeParam::params(Size::kSmall, policy, random));
        Digests digests(random);
        References inserted;
        std::uint64_t generation = first_generation(index);
        unsigned checked = 0;
        for (unsigned step = 0; step < 3000; ++step) {
            generation += random_step(random, 1, TypeParam::kStays);
            i.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const auto age = inserted.age(digest, generation);
            if (age && *age <= TypeParam::kStays) {
                ++checked;
                ASSERT_TRUE(i.filter.query(digest)) << "step " << step << " age " << *age;
            }
            if (random.one_in(3)) {
                i.filter.insert(digest);
                inserted.insert(digest, generation);
            } else if (!i.filter.test_and_insert(digest) || policy == EchoPolicy::kRefresh) {
                inserted.insert(digest, generation);
            }
        }
        ASSERT_GT(checked, 100U);
    });
}

// Roomy tables against an oracle: echo through generation j + kStays, then new; only insertions
// move j.
TYPED_TEST(baseline_window, verdicts_follow_the_window_when_roomy) {
    for_each_case([](EchoPolicy policy, std::uint64_t index) {
        Random random(index);
        BaselineUnderTest<TypeParam> i(TypeParam::params(Size::kRoomy, policy, random));
        Digests digests(random);
        WindowOracle oracle(TypeParam::kStays + 1, policy == EchoPolicy::kFixed
                                                       ? WindowOracle::Policy::kFixed
                                                       : WindowOracle::Policy::kRefresh);
        std::uint64_t generation = first_generation(index);
        unsigned echoes = 0;
        for (unsigned step = 0; step < 2000; ++step) {
            generation += random_step(random, 1, TypeParam::kStays);
            i.filter.advance({.generation = generation});
            const Digest digest = digests.next();
            const bool echo = oracle.observe(digest, generation);
            ASSERT_EQ(i.filter.test_and_insert(digest), echo) << "step " << step;
            echoes += echo ? 1 : 0;
        }
        ASSERT_GT(echoes, 100U);
        ASSERT_LT(echoes, 1900U);
    });
}

TYPED_TEST(baseline_window, burst_equals_sequence_equals_query_and_insert) {
    for_each_case([](EchoPolicy policy, std::uint64_t index) {
        Random random(index);
        const auto params = TypeParam::params(Size::kSmall, policy, random);
        BaselineUnderTest<TypeParam> burst(params);
        BaselineUnderTest<TypeParam> single(params);
        BaselineUnderTest<TypeParam> halves(params);
        Digests digests(random);
        std::uint64_t generation = first_generation(index);
        for (unsigned step = 0; step < 100; ++step) {
            generation += random_step(random, 1, TypeParam::kStays);
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
                if (!echo || policy == EchoPolicy::kRefresh) {
                    halves.filter.insert(packets[p]);
                }
            }
            ASSERT_EQ(burst.filter.test_and_insert_burst(packets), expected) << "step " << step;
        }
        const auto bits = single.memory.span();
        ASSERT_EQ(std::memcmp(burst.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(std::memcmp(halves.memory.span().data(), bits.data(), bits.size()), 0);
        ASSERT_EQ(burst.filter.counters().insertions, single.filter.counters().insertions);
    });
}

// --- SWAMP ---

using SwampKind = BaselineKind<Swamp, SwampParams, 0, 1>;
using SwampUnderTest = BaselineUnderTest<SwampKind>;

// The last W insertions, and how often each digest is among them.
class LastInsertions {
  public:
    explicit LastInsertions(std::uint64_t W) : W_(W) {}

    void insert(Digest digest) {
        if (last_.size() == W_) {
            const auto oldest = counts_.find(last_.front());
            if (--oldest->second == 0) {
                counts_.erase(oldest);
            }
            last_.pop_front();
        }
        last_.push_back(digest);
        ++counts_[digest];
    }
    [[nodiscard]] unsigned count(Digest digest) const {
        const auto found = counts_.find(digest);
        return found == counts_.end() ? 0 : found->second;
    }
    [[nodiscard]] std::uint64_t distinct() const { return counts_.size(); }
    void clear() {
        last_.clear();
        counts_.clear();
    }

  private:
    std::uint64_t W_;
    std::deque<Digest> last_;
    std::map<Digest, unsigned> counts_;
};

constexpr std::uint64_t kWindows[] = {1, 2, 3, 4, 5, 7, 16, 50, 331};

// 32-bit fingerprints: the last W insertions, their multiplicities and distinct count are exact.
TEST(baseline_swamp, is_exact_with_long_fingerprints) {
    for (const std::uint64_t W : kWindows) {
        for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
            SCOPED_TRACE(seed_note() + " W " + std::to_string(W));
            Random random(W);
            SwampUnderTest i(*SwampParams::make({.W = W, .f = 32, .policy = policy}));
            Digests digests(random);
            LastInsertions oracle(W);
            for (unsigned step = 0; step < 4000; ++step) {
                const Digest digest = digests.next();
                ASSERT_EQ(i.filter.frequency(digest), oracle.count(digest)) << "step " << step;
                const bool echo = i.filter.test_and_insert(digest);
                ASSERT_EQ(echo, oracle.count(digest) > 0) << "step " << step;
                if (!echo || policy == EchoPolicy::kRefresh) {
                    oracle.insert(digest);
                }
                ASSERT_EQ(i.filter.distinct(), oracle.distinct()) << "step " << step;
                if (random.one_in(1500)) {
                    i.filter.clear();
                    oracle.clear();
                }
            }
        }
    }
}

// Short fingerprints: nothing of the window is missed, and counts are never too low.
TEST(baseline_swamp, misses_nothing_with_short_fingerprints) {
    for (const std::uint64_t W : kWindows) {
        for (const unsigned f : {1U, 3U, 6U, 10U}) {
            SCOPED_TRACE(seed_note() + " W " + std::to_string(W) + " f " + std::to_string(f));
            Random random(W * 100 + f);
            SwampUnderTest i(*SwampParams::make({.W = W, .f = f}));
            Digests digests(random);
            LastInsertions oracle(W);
            for (unsigned step = 0; step < 2000; ++step) {
                const Digest digest = digests.next();
                ASSERT_GE(i.filter.frequency(digest), oracle.count(digest)) << "step " << step;
                ASSERT_LE(i.filter.frequency(digest), W) << "step " << step;
                i.filter.insert(digest);
                oracle.insert(digest);
                ASSERT_LE(i.filter.distinct(), oracle.distinct()) << "step " << step;
            }
            // Replace the whole window by insertions of one digest.
            for (std::uint64_t n = 0; n < W; ++n) {
                i.filter.insert(42);
            }
            ASSERT_EQ(i.filter.frequency(42), W);
            ASSERT_EQ(i.filter.distinct(), 1U);
        }
    }
}

// --- Stable Bloom filter: no window, but the last insertion always matches ---

TEST(baseline_stable, last_insertion_matches) {
    for (const unsigned max : {1U, 2U, 7U, 255U}) {
        for (const std::uint64_t P : {1U, 10U, 64U}) {
            SCOPED_TRACE(seed_note() + " max " + std::to_string(max));
            Random random(max * 100 + P);
            BaselineUnderTest<BaselineKind<StableBloom, StableParams, 0, 1>> i(*StableParams::make(
                {.m = 64 + random.below(40), .k = 5, .max = max, .P = P, .seed = random.bits()}));
            Digests digests(random);
            for (unsigned step = 0; step < 2000; ++step) {
                const Digest digest = digests.next();
                i.filter.test_and_insert(digest);
                ASSERT_TRUE(i.filter.query(digest)) << "step " << step;
            }
        }
    }
}

}  // namespace
}  // namespace unecho::test::baseline_test
