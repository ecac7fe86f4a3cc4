// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/worker_filter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/every_engine.h"
#include "unit/engines/planned.h"

namespace unecho::appliance {
namespace {

class WorkerFilters : public testing::TestWithParam<engines::Engine> {};

TEST_P(WorkerFilters, hold_the_filter_and_an_exchange_for_all_of_its_segments) {
    engines::FilterSpec spec = engines::echo_spec();
    spec.engine = GetParam();
    spec.rate = 1e4;
    const engines::FilterPlan plan = engines::planned(spec);
    auto memory = eal::HugeMemory::allocate(plan.instance_bytes, 0, false);
    ASSERT_TRUE(memory);
    auto made = WorkerFilter::make(plan, std::move(*memory));
    ASSERT_TRUE(made) << made.error().context;
    EXPECT_EQ((*made)->page_bytes(), static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ((*made)->instance().memory().size(), plan.instance_bytes);
    if (const filter::SegmentRing* segments = (*made)->instance().segments()) {
        EXPECT_LE(segments->geometry().segments(), dataplane::WorkerFilterShared::kSegments);
    }
}

INSTANTIATE_TEST_SUITE_P(All, WorkerFilters, testing::ValuesIn(test::every_engine()),
                         test::case_name);

TEST(WorkerFilter, has_room_for_the_exchange_of_the_largest_ring) {
    EXPECT_LE(filter::kMaxSegments, dataplane::WorkerFilterShared::kSegments);
}

}  // namespace
}  // namespace unecho::appliance
