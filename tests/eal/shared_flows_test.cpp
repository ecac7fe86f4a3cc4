// SPDX-License-Identifier: BSD-3-Clause
// A worker's end of the shared flow store: flows that it asks for, and flows that others have seen.
// Each test is the store.
#include <set>
#include <vector>

#include "packets.h"
#include "rig.h"

namespace unecho::test {
namespace {

using dataplane::SharedFlowsLink;
using dataplane::SharedFlowsQuery;
using SharedFlows = EalTest;

// Only the first two packets of each flow are forwarded.
Layout sharing(bool audit = false) {
    Layout layout;
    layout.filters[0].key = packet::KeyMode::kFlow;
    layout.filters[0].first = 2;
    layout.filters[0].shared_flows = true;
    layout.audit = audit;
    return layout;
}

void offer_and_settle(Rig& rig, unsigned flow, unsigned packets) {
    for (unsigned number = 0; number < packets; ++number) {
        rig.offer(0, packet(flow, number));
    }
    rig.settle();
    rig.sent(2);  // makes room at the tool
}

std::vector<SharedFlowsQuery> queries(Rig& rig) {
    std::vector<SharedFlowsQuery> out;
    for (SharedFlowsQuery one; rig.shared_flows().asks.pop(one);) {
        out.push_back(one);
    }
    return out;
}

const dataplane::SharedFlowsCounters& shared_counts(Rig& rig) {
    return rig.worker().counters().roots[0];
}

TEST_F(SharedFlows, each_flow_not_yet_seen_is_asked_for_once) {
    Rig rig(sharing());
    for (const unsigned flow : {1, 2, 1, 1, 3, 2}) {
        rig.offer(0, packet(flow));
    }
    rig.offer(0, arp());
    rig.settle();
    const std::vector<SharedFlowsQuery> first = queries(rig);
    ASSERT_EQ(first.size(), 3U);
    std::set<Digest> flows;
    for (const SharedFlowsQuery& one : first) {
        flows.insert(one.flow);
        flows.insert(one.shared);  // under the secret of all sites
    }
    EXPECT_EQ(flows.size(), 6U);
    offer_and_settle(rig, 2, 1);
    EXPECT_TRUE(queries(rig).empty());
    EXPECT_EQ(shared_counts(rig).asked, 3U);
    EXPECT_EQ(shared_counts(rig).not_asked, 0U);
}

TEST_F(SharedFlows, a_flow_that_another_site_has_seen_passes_no_packet_more) {
    for (const bool audit : {false, true}) {
        Rig rig(sharing(audit));
        offer_and_settle(rig, 1, 1);
        EXPECT_EQ(rig.count(Reason::kNew), 1U);
        ASSERT_TRUE(rig.shared_flows().known.push(queries(rig).at(0).flow));
        rig.settle();
        offer_and_settle(rig, 1, 3);
        EXPECT_EQ(rig.count(Reason::kNew), 1U);
        EXPECT_EQ(rig.count(Reason::kEcho), 3U);
        EXPECT_EQ(shared_counts(rig).learned, 1U);
        EXPECT_EQ(shared_counts(rig).late, 1U);  // one packet had passed before the answer
        offer_and_settle(rig, 2, 3);
        EXPECT_EQ(rig.count(Reason::kNew), 3U);  // other flows pass
        if (audit) {
            EXPECT_EQ(rig.audit().counters.false_drops, 0U);
        }
    }
}

// The worker never waits for the store: it forwards as if it were alone.
TEST_F(SharedFlows, a_store_that_is_slow_leaves_flows_unasked_and_counted) {
    Rig rig(sharing());
    constexpr unsigned kFlows = SharedFlowsLink::kAsks + 100;
    for (unsigned flow = 0; flow < kFlows; ++flow) {
        offer_and_settle(rig, flow, 1);
    }
    EXPECT_EQ(rig.count(Reason::kNew), kFlows);
    EXPECT_EQ(shared_counts(rig).asked + shared_counts(rig).not_asked, kFlows);
    EXPECT_EQ(shared_counts(rig).asked, queries(rig).size());
    EXPECT_LE(shared_counts(rig).asked, SharedFlowsLink::kAsks);
    EXPECT_GE(shared_counts(rig).asked, SharedFlowsLink::kAsks - 1);
}

}  // namespace
}  // namespace unecho::test
