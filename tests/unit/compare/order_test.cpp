// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/order.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "support/seed.h"

namespace unecho::compare {
namespace {

// Count by comparing every two packets.
Reordering counted(const std::vector<Arrival>& arrivals) {
    Reordering out;
    for (const Arrival& one : arrivals) {
        std::uint64_t in_flow = 0;
        bool of_all = false;
        for (const Arrival& other : arrivals) {
            if (other.number > one.number && other < one) {
                of_all = true;
                in_flow += other.flow == one.flow ? 1 : 0;
            }
        }
        out.of_all += of_all ? 1 : 0;
        out.in_flow += in_flow != 0 ? 1 : 0;
        out.farthest = std::max(out.farthest, in_flow);
    }
    return out;
}

TEST(Reordering, is_that_of_all_pairs) {
    SCOPED_TRACE(test::seed_note());
    std::mt19937_64 draw(test::seed());
    for (unsigned round = 0; round < 300; ++round) {
        const std::uint64_t late = draw() % 200;
        std::vector<Arrival> arrivals(draw() % 60);
        for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
            arrivals[i] = {i * 10 + draw() % (late + 1), i, i,
                           static_cast<std::uint32_t>(draw() % 4)};
        }
        const Reordering expected = counted(arrivals);
        const Reordering found = reordering_of(arrivals, 4);
        EXPECT_EQ(found.of_all, expected.of_all);
        EXPECT_EQ(found.in_flow, expected.in_flow);
        EXPECT_EQ(found.farthest, expected.farthest);
    }
}

}  // namespace
}  // namespace unecho::compare
