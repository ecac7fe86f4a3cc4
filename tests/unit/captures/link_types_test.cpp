// SPDX-License-Identifier: BSD-3-Clause
#include "captures/link_types.h"

#include <gtest/gtest.h>

namespace {

using namespace unecho;
using capture::Interface;
using capture::Record;

constexpr std::uint16_t kUser0 = 147;

TEST(LinkTypes, have_libpcaps_names) {
    EXPECT_EQ(capture::link_type_text(1), "link type 1 (EN10MB)");
    EXPECT_EQ(capture::link_type_text(kUser0), "link type 147 (USER0)");
    EXPECT_EQ(capture::link_type_text(162), "link type 162 (USER15)");
    EXPECT_EQ(capture::link_type_text(100), "link type 100 (ATM_RFC1483)");
    EXPECT_EQ(capture::link_type_text(60'000), "link type 60000");
}

TEST(UnparsedLinks, are_counted_by_interface) {
    const Interface first{.link_type = kUser0, .file = 3, .name = "usb1"};
    const Interface second{.link_type = 60'000, .file = 1};
    capture::UnparsedLinks links;
    links.note({.interface = 5, .number = 9}, first);
    links.note({.interface = 2, .number = 10}, second);
    links.note({.interface = 5, .number = 11}, first);
    ASSERT_EQ(links.warnings().size(), 2U);
    EXPECT_EQ(
        links.warnings()[0].text,
        "link type 147 (USER0) without a parser: packets pass without a key; --non-ip frame or "
        "--key frame compares their bytes (interface \"usb1\")");
    EXPECT_EQ(links.warnings()[0].file, 3U);
    EXPECT_EQ(links.warnings()[0].number, 9U);
    EXPECT_EQ(links.warnings()[0].times, 2U);
    EXPECT_EQ(
        links.warnings()[1].text,
        "link type 60000 without a parser: packets pass without a key; --non-ip frame or --key "
        "frame compares their bytes");
    EXPECT_EQ(links.warnings()[1].times, 1U);
    EXPECT_TRUE(capture::UnparsedLinks::is_note(links.warnings()[1].text));
    EXPECT_FALSE(capture::UnparsedLinks::is_note("link type 147 (USER0)"));
}

TEST(UnparsedLinks, of_a_million_interfaces_are_few_lines) {
    capture::UnparsedLinks links;
    for (std::uint32_t i = 0; i < 1'000'000; ++i) {
        links.note({.interface = i, .number = i + 1}, {.link_type = kUser0});
    }
    ASSERT_EQ(links.warnings().size(), 17U);
    EXPECT_EQ(links.warnings().back().times, 1'000'000U - 16);
    EXPECT_EQ(links.warnings().back().number, 17U);
}

}  // namespace
