// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/apbf.h"

#include <gtest/gtest.h>

#include "support/instance.h"

namespace unecho::filter::apbf_test {
namespace {

std::string message(const ApbfSpec& spec) {
    return test::message<ApbfParams>(spec);
}

TEST(apbf_params, limits_are_named) {
    EXPECT_EQ(message({.k = 1, .l = 1, .m = 64, .spares = 0}), "valid");
    EXPECT_EQ(message({.k = 100, .l = 28, .m = 65, .spares = 32}), "valid");
    EXPECT_EQ(message({.k = 0, .l = 3, .m = 64}), "apbf: k = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 128, .l = 1, .m = 64}), "apbf: k = 128; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 3, .l = 0, .m = 64}), "apbf: l = 0; allowed: 1 to 127");
    EXPECT_EQ(message({.k = 64, .l = 65, .m = 64}), "apbf: k + l = 129; allowed: at most 128");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 63}), "apbf: m = 63 bits; allowed: 64 to 2^49");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = ~std::uint64_t{0}}),
              "apbf: m = 18446744073709551615 bits; allowed: 64 to 2^49");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = 64, .spares = 33}),
              "apbf: spares = 33; allowed: 0 to 32");
    EXPECT_EQ(message({.k = 3, .l = 3, .m = std::uint64_t{1} << 49}),
              "apbf: 8 segments of 70368744177664 bytes; allowed: 2^46 bytes in all");
}

TEST(apbf_params, huge_k_and_l_do_not_wrap) {
    EXPECT_EQ(message({.k = 3, .l = 0xFFFFFFFF, .m = 64}),
              "apbf: l = 4294967295; allowed: 1 to 127");
}

TEST(apbf_params, bytes_are_whole_lines_for_all_segments) {
    const std::uint64_t kRing = RingGeometry{}.bytes();
    const auto bytes = [](const ApbfSpec& spec) { return Apbf::bytes(*ApbfParams::make(spec)); };
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 64, .spares = 0}), 7u * 64 + kRing);
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 512, .spares = 2}), 9u * 64 + kRing);
    EXPECT_EQ(bytes({.k = 3, .l = 4, .m = 513, .spares = 2}), 9u * 128 + kRing);
}

}  // namespace
}  // namespace unecho::filter::apbf_test
