// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/exact.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::exact_test {
namespace {

std::string message(const ExactSpec& spec) {
    return test::message<ExactParams>(spec);
}

TEST(exact_params, limits_are_named) {
    EXPECT_EQ(message({.entries = 1, .window = 1}), "valid");
    EXPECT_EQ(message({.entries = kMaxExactEntries, .window = kInfiniteWindow}), "valid");
    EXPECT_EQ(message({.entries = 0, .window = 1}), "exact: entries = 0; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = kMaxExactEntries + 1, .window = 1}),
              "exact: entries = 2147483649; allowed: 1 to 2147483648");
    EXPECT_EQ(message({.entries = 1, .window = 0}), "exact: window = 0; allowed: 1 ns or more");
}

TEST(exact_params, bytes_hold_buckets_and_entries) {
    const auto bytes = [](std::uint64_t entries) {
        return Exact::bytes(*ExactParams::make({.entries = entries, .window = 1}));
    };
    EXPECT_EQ(bytes(1), 64u + 64);
    EXPECT_EQ(bytes(8), 64u + 9 * 32 + 32);
    EXPECT_EQ(bytes(9), 128u + 10 * 32);
}

}  // namespace
}  // namespace unecho::filter::exact_test
