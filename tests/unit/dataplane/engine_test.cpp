// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/engine.h"

#include <array>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "filter/apbf.h"
#include "support/instance.h"

namespace unecho::dataplane {
namespace {

using Table = test::FilterInstance<filter::Apbf>;

// Digests of times of their own are asked in parts, and their answers put together again.
TEST(EngineOps, timed_doubts_are_those_of_their_digests) {
    Table table({.k = 1, .l = 3, .m = 4096});
    filter::Ageing ageing({.window = 300, .length = 100, .through = 3});
    const std::array<Digest, 4> digests{1, 2, 1, 2};
    const std::array<Nanoseconds, 4> times{10, 20, 30, 40};
    const filter::ChanceLimits never(0.0F);
    const filter::Answers answers =
        kApbfOps.test_timed(&table.filter, ageing, digests, times.data(), 1, &never);
    EXPECT_EQ(answers.echoes, 0u);
    EXPECT_EQ(answers.doubts, 0b1100u);
}

// Through the last nanosecond of generation l, alone in a filter with k = 1.
TEST(EngineOps, timed_generations_are_those_of_the_clock) {
    for (const auto& [age, echo] : {std::pair<Nanoseconds, bool>{399, true}, {400, false}}) {
        Table table({.k = 1, .l = 3, .m = 4096});
        filter::Ageing ageing({.window = 300, .length = 100, .through = 3});
        const std::array<Digest, 2> digests{1, 1};
        const std::array<Nanoseconds, 2> times{1'000, 1'000 + age};
        const filter::Answers answers =
            kApbfOps.test_timed(&table.filter, ageing, digests, times.data(), 1, nullptr);
        EXPECT_EQ(answers.echoes, echo ? 0b10u : 0u) << age;
    }
}

}  // namespace
}  // namespace unecho::dataplane
