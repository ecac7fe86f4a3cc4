// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/bloom_tree.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filters/bits.h"
#include "support/tree.h"

namespace unecho::filter::bloom_tree_test {
namespace {

using test::Tree;

constexpr std::uint64_t kRoomy = 1 << 16;

BloomTreeSpec roomy(unsigned fanout, unsigned levels, TreeInsertion insertion) {
    return {.fanout = fanout,
            .levels = levels,
            .k = 8,
            .m = {kRoomy, kRoomy, kRoomy, kRoomy, kRoomy, kRoomy, kRoomy, kRoomy},
            .insertion = insertion};
}

std::string message(const BloomTreeSpec& spec) {
    const auto params = BloomTreeParams::make(spec);
    return params ? "valid" : params.error().context;
}

TEST(bloom_tree_params, limits_are_named) {
    EXPECT_EQ(message({.fanout = 1, .levels = 1, .k = 1, .m = {1}}), "valid");
    EXPECT_EQ(message({.fanout = 1, .levels = 8, .k = 64, .m = {1, 1, 1, 1, 1, 1, 1, 1}}), "valid");
    EXPECT_EQ(message({.fanout = 65535, .levels = 2, .k = 1, .m = {9, 9}}), "valid");
    EXPECT_EQ(message({.fanout = 2, .levels = 2, .k = 0, .m = {9, 9}}),
              "bloom tree: k = 0; allowed: 1 to 64");
    EXPECT_EQ(message({.fanout = 2, .levels = 2, .k = 65, .m = {9, 9}}),
              "bloom tree: k = 65; allowed: 1 to 64");
    EXPECT_EQ(message({.fanout = 2, .levels = 0, .k = 1, .m = {9, 9}}),
              "bloom tree: levels = 0; allowed: 1 to 8");
    EXPECT_EQ(message({.fanout = 1, .levels = 9, .k = 1, .m = {1, 1, 1, 1, 1, 1, 1, 1}}),
              "bloom tree: levels = 9; allowed: 1 to 8");
    EXPECT_EQ(message({.fanout = 0, .levels = 2, .k = 1, .m = {9, 9}}),
              "bloom tree: fanout = 0; allowed: 1 or more");
    EXPECT_EQ(message({.fanout = 65536, .levels = 2, .k = 1, .m = {9, 9}}),
              "bloom tree: fanout = 65536 and levels = 2; allowed: 65536 nodes in all");
    EXPECT_EQ(message({.fanout = 0xFFFFFFFF, .levels = 8, .k = 1, .m = {9, 9, 9}}),
              "bloom tree: fanout = 4294967295 and levels = 8; allowed: 65536 nodes in all");
    EXPECT_EQ(message({.fanout = 2, .levels = 2, .k = 1, .m = {9}}),
              "bloom tree: m = 0 bits at level 1; allowed: 1 to 2^49 - 1");
    EXPECT_EQ(message({.fanout = 2, .levels = 1, .k = 1, .m = {std::uint64_t{1} << 49}}),
              "bloom tree: m = 562949953421312 bits at level 0; allowed: 1 to 2^49 - 1");
    EXPECT_EQ(message({.fanout = 2, .levels = 2, .k = 1, .m = {8, std::uint64_t{1} << 48}}),
              "bloom tree: 70368744177665 bytes; allowed: 2^46 in all");
}

TEST(bloom_tree_params, nodes_and_bytes) {
    const auto params =
        *BloomTreeParams::make({.fanout = 3, .levels = 3, .k = 1, .m = {90, 33, 8}});
    EXPECT_EQ(params.nodes(), 13u);
    EXPECT_EQ(params.sites(), 9u);
    EXPECT_EQ(params.first_node(2), 4u);
    EXPECT_EQ(BloomTree::node_bytes(params, 0), 12u);
    EXPECT_EQ(BloomTree::node_bytes(params, 1), 5u);
    EXPECT_EQ(BloomTree::node_bytes(params, 2), 1u);
}

TEST(bloom_tree, nodes_on_the_way_hold_the_bits_and_no_other) {
    Tree t({.fanout = 3, .levels = 3, .k = 4, .m = {900, 300, 100}});
    t.tree.insert(5, 42);
    const std::uint64_t m[] = {900, 300, 100};
    const unsigned way[] = {0, 2, 9};
    for (unsigned node = 0; node < 13; ++node) {
        const unsigned level = node == 0 ? 0 : (node < 4 ? 1 : 2);
        std::vector<std::byte> expected(t.node(node).size());
        if (way[level] == node) {
            for (unsigned salt = 1; salt <= 4; ++salt) {
                set_bit(expected.data(), reduce(remix(42, salt), m[level]));
            }
        }
        EXPECT_EQ(t.node(node), expected) << node;
    }
}

TEST(bloom_tree, locate_counts_sites_beyond_its_room) {
    Tree t(roomy(4, 2, TreeInsertion::kSparse));
    for (unsigned site = 0; site < 4; ++site) {
        t.tree.insert(site, 42);
    }
    std::array<unsigned, 3> sites{9, 9, 9};
    EXPECT_EQ(t.tree.locate(42, std::span(sites).first(2)), 4u);
    EXPECT_EQ(sites, (std::array<unsigned, 3>{0, 1, 9}));
    EXPECT_EQ(t.tree.locate(42, {}), 4u);
    EXPECT_EQ(t.tree.locate(43, {}), 0u);
}

TEST(bloom_tree, clear_forgets_at_all_nodes) {
    Tree t(roomy(3, 3, TreeInsertion::kDense));
    for (unsigned site = 0; site < 9; ++site) {
        t.tree.insert(site, site);
    }
    t.tree.clear();
    for (unsigned node = 0; node < 13; ++node) {
        EXPECT_EQ(t.node(node), std::vector<std::byte>(kRoomy / 8)) << node;
    }
    EXPECT_FALSE(t.tree.query(0));
}

}  // namespace
}  // namespace unecho::filter::bloom_tree_test
