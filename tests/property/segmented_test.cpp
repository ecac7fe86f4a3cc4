// SPDX-License-Identifier: BSD-3-Clause
// What only filters of segments have: spare segments, and a helper that zeroes retired ones. Their
// contract: property/contract.
#include "streams.h"

namespace unecho::test {
namespace {

using filter::EchoPolicy;

template <typename Kind>
class segmented : public testing::Test {};
using Kinds = testing::Types<ApbfKind, ApbbfKind, ShbfWindowKind, ShbfXWindowKind>;
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

}  // namespace
}  // namespace unecho::test
