// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/machines.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace unecho::engines {
namespace {

// Return in how many of the hashes some machine gets more than it is sized for.
unsigned overloads(const Machines& machines, double heaviest, unsigned hashes) {
    std::mt19937_64 random(1);
    const auto flows = static_cast<unsigned>(std::ceil(1 / heaviest));
    unsigned found = 0;
    for (unsigned hash = 0; hash < hashes; ++hash) {
        std::vector<unsigned> load(machines.count);
        for (unsigned flow = 0; flow < flows; ++flow) {
            ++load[random() % machines.count];
        }
        found += *std::max_element(load.begin(), load.end()) > machines.share(flows) ? 1 : 0;
    }
    return found;
}

TEST(Machines, margin_holds_up_to_the_heaviest_flow_and_not_far_above) {
    constexpr unsigned kHashes = 2000;
    for (const std::uint64_t count : {2U, 4U, 16U}) {
        const Machines machines{count};
        EXPECT_LE(overloads(machines, machines.heaviest_flow(), kHashes),
                  2 * kHashes * kImbalanceChance)
            << count;
        EXPECT_GT(overloads(machines, 20 * machines.heaviest_flow(), kHashes), kHashes / 50)
            << count;
    }
}

TEST(Machines, shares_and_wholes_are_of_each_other) {
    for (const std::uint64_t count : {1U, 2U, 7U, 1024U}) {
        const Machines machines{count};
        EXPECT_NEAR(machines.whole(machines.share(1e6)), 1e6, 1e-3);
    }
    EXPECT_DOUBLE_EQ(Machines{4}.share(40e6), 15e6);
    EXPECT_DOUBLE_EQ(Machines{1}.share(40e6), 40e6);
    EXPECT_EQ(Machines{1}.heaviest_flow(), 1);
    EXPECT_EQ(to_text(Machines{1}, 1e6), "");
}

TEST(Machines, heavier_flows_are_allowed_on_fewer) {
    double last = 1;
    for (const std::uint64_t count : {2U, 3U, 8U, 100U, 1024U}) {
        const double heaviest = Machines{count}.heaviest_flow();
        EXPECT_LT(heaviest, last);
        EXPECT_GT(heaviest, 0);
        last = heaviest;
    }
}

}  // namespace
}  // namespace unecho::engines
