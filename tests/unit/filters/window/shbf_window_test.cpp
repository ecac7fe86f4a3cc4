// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_window.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::shbf_window_test {
namespace {

std::string message(const ShbfWindowSpec& spec) {
    return test::message<ShbfWindowParams>(spec);
}

TEST(shbf_window_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 1, .b = 2}), "valid");
    EXPECT_EQ(message({.k = 0, .l = 3, .m = 64, .b = 2}), "shbf_window: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 3, .l = 0, .m = 64, .b = 2}), "shbf_window: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 64, .l = 65, .m = 64, .b = 2}),
              "shbf_window: k + l = 129; allowed: at most 128");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 0, .b = 2}),
              "shbf_window: m = 0 bits; allowed: 1 to 2^45");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 3}),
              "shbf_window: b = 3; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 0}),
              "shbf_window: b = 0; allowed: multiples of t + 1 = 2 up to 64");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 6, .t = 2}), "valid");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 6, .t = 9}),
              "shbf_window: t = 9; allowed: 1 to 8");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .b = 2, .spares = 33}),
              "shbf_window: spares = 33; allowed: 0 to 32");
}

}  // namespace
}  // namespace unecho::filter::shbf_window_test
