// SPDX-License-Identifier: BSD-3-Clause
#include "control/lane_memory.h"

#include <gtest/gtest.h>

#include "support/every_engine.h"
#include "unit/engines/planned.h"

namespace unecho::control {
namespace {

class LaneMemories : public testing::TestWithParam<engines::Engine> {};

TEST_P(LaneMemories, hold_the_filter_and_an_exchange_for_all_of_its_segments) {
    engines::FilterSpec spec = engines::echo_spec();
    spec.engine = GetParam();
    spec.rate = 1e4;
    const engines::FilterPlan plan = engines::planned(spec);
    auto lane = LaneMemory::make(plan, 0, false);
    ASSERT_TRUE(lane) << lane.error().context;
    EXPECT_FALSE((*lane)->on_hugepages());
    EXPECT_EQ((*lane)->filter().memory().size(), plan.instance_bytes);
    if (const filter::SegmentRing* segments = (*lane)->filter().segments()) {
        EXPECT_LE(segments->geometry().segments(), dataplane::LaneShared::kSegments);
    }
}

INSTANTIATE_TEST_SUITE_P(All, LaneMemories, testing::ValuesIn(test::every_engine()),
                         test::case_name);

TEST(LaneMemory, has_room_for_the_exchange_of_the_largest_ring) {
    EXPECT_LE(filter::kMaxSegments, dataplane::LaneShared::kSegments);
}

}  // namespace
}  // namespace unecho::control
