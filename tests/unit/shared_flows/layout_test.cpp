// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/layout.h"

#include <array>
#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace unecho::shared_flows {
namespace {

constexpr hash::ChachaKey kSecret{1, 2, 3, 4, 5, 6, 7, 8};

LayoutSpec spec_of(std::uint64_t flows, double bound) {
    return {.name = "flows",
            .window = 60 * kSecond,
            .flows = flows,
            .bound = bound,
            .refresh = false,
            .key = "flow"};
}

// The cluster specification, appendix A, and its keys with hash tags.
TEST(Slot, is_crc16_of_the_tag) {
    EXPECT_EQ(slot_of("123456789"), 0x31c3U % kSlots);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));  // the whole key
}

TEST(Layout, spreads_its_tags_evenly_over_the_slots) {
    for (const char* const name : {"flows", "a", "another.name-of-32-letters_______"}) {
        LayoutSpec spec = spec_of(1000000, 1e-6);
        spec.name = name;
        const Layout layout = *Layout::make(spec, kSecret);
        for (unsigned i = 0; i < kTags; ++i) {
            EXPECT_EQ(layout.slot(i), slot_of(layout.tag(i)));
            EXPECT_EQ(layout.slot(i) * kTags / kSlots, i);
        }
    }
}

TEST(Layout, has_pages_for_its_flows_and_bytes_for_its_bound) {
    for (const std::uint64_t flows : {1000ULL, 100'000ULL, 10'000'000ULL, 10'000'000'000ULL}) {
        for (const double bound : {1e-3, 1e-6, 1e-9, 1e-12}) {
            const Layout layout = *Layout::make(spec_of(flows, bound), kSecret);
            const double in_page = static_cast<double>(flows) / kGenerations * (kGenerations + 1) /
                                   static_cast<double>(layout.pages());
            EXPECT_LE(in_page, kPageFlows * (kGenerations + 1) * 1.01);
            EXPECT_EQ(layout.pages() % kTags, 0U);
            EXPECT_LE(layout.chance(static_cast<std::uint64_t>(std::ceil(in_page))), bound);
            // One byte less would not suffice.
            if (layout.width() > 3) {
                EXPECT_GT(layout.chance(kPageFlows * (kGenerations + 1)) * 256, bound);
            }
        }
    }
    EXPECT_EQ(Layout::make(spec_of(1000, 5e-7), kSecret)->width(), 4U);
}

TEST(Layout, of_another_secret_has_other_places_and_says_so) {
    const Layout one = *Layout::make(spec_of(10'000'000, 1e-6), kSecret);
    const Layout other = *Layout::make(spec_of(10'000'000, 1e-6), {1, 2, 3, 4, 5, 6, 7, 9});
    EXPECT_NE(one.text(), other.text());
    unsigned same = 0;
    for (Digest digest = 0; digest < 1000; ++digest) {
        same += one.place_of(digest).page == other.place_of(digest).page ? 1 : 0;
    }
    EXPECT_LT(same, 10U);
}

// Sites of different versions compare the text.
TEST(Layout, has_a_text_that_never_changes) {
    const std::string text = Layout::make(spec_of(10'000'000, 1e-6), kSecret)->text();
    EXPECT_EQ(text.substr(0, text.find(", width")), "version 1, window 60s, flows 10000000");
}

// Chi-square with pages - 1 degrees of freedom, within 5 standard deviations.
TEST(Layout, spreads_flows_evenly_however_alike_their_digests_are) {
    const Layout layout = *Layout::make(spec_of(100'000, 1e-6), kSecret);
    std::vector<double> pages(layout.pages());
    std::set<std::array<char, 8>> prints;
    constexpr unsigned kFlows = 100'000;
    for (Digest digest = 0; digest < kFlows; ++digest) {
        const PagePosition place = layout.place_of(digest << 20);
        ASSERT_EQ(place.tag, place.page % kTags);
        ++pages.at(place.page);
        prints.insert(place.print);
    }
    EXPECT_EQ(prints.size(), kFlows);
    const double expected = kFlows / static_cast<double>(pages.size());
    double chi = 0;
    for (const double page : pages) {
        chi += (page - expected) * (page - expected) / expected;
    }
    const auto freedom = static_cast<double>(pages.size() - 1);
    EXPECT_NEAR(chi, freedom, 5 * std::sqrt(2 * freedom));
}

TEST(Layout, that_cannot_be_is_refused) {
    LayoutSpec spec = spec_of(1000, 1e-6);
    spec.window = kSecond - 1;
    EXPECT_FALSE(Layout::make(spec, kSecret));
    EXPECT_FALSE(Layout::make(spec_of(0, 1e-6), kSecret));
    EXPECT_FALSE(Layout::make(spec_of(1000, 0), kSecret));
}

}  // namespace
}  // namespace unecho::shared_flows
