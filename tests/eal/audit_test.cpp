// SPDX-License-Identifier: BSD-3-Clause
// The workers' audit, which here samples every packet of captures, on one or several workers.
#include <random>

#include <gtest/gtest.h>

#include "packets.h"
#include "rig.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

using Audits = EalTest;

Layout audited(unsigned workers, bool capture) {
    Layout layout;
    layout.workers = workers;
    layout.capture = capture;
    layout.audit = true;
    return layout;
}

filter::AuditCounters counted(Rig& rig, unsigned workers) {
    filter::AuditCounters sum;
    for (WorkerIndex w = 0; w < workers; ++w) {
        fold(filter::kAuditCounters, rig.audit(w).counters, sum);
    }
    return sum;
}

TEST_F(Audits, of_captures_judge_every_packet_and_know_both_taps) {
    for (const unsigned workers : {1U, 3U}) {
        Rig rig(audited(workers, true));
        for (unsigned i = 0; i < 200; ++i) {
            rig.offer_at(0, packet(i), 1000 + i);
            rig.offer_at(1, copy_of(i), 1500 + i);
        }
        rig.settle();
        const filter::AuditCounters sum = counted(rig, workers);
        EXPECT_EQ(sum.fresh, 200U);
        EXPECT_EQ(sum.echoes, 200U);
        EXPECT_EQ(sum.sampled, 400U);
        std::uint64_t crossed = 0;
        for (WorkerIndex w = 0; w < workers; ++w) {
            crossed += rig.crossings(w)[0][1];
            EXPECT_EQ(rig.crossings(w)[1][0] + rig.crossings(w)[0][0], 0U);
        }
        EXPECT_EQ(crossed, 200U);
        rig.sent(2);
    }
}

// Live traffic is already running at the start, so nothing is known of what came before.
TEST_F(Audits, of_live_traffic_begin_unsettled) {
    Rig rig(audited(1, false));
    for (unsigned i = 0; i < 100; ++i) {
        rig.offer(0, packet(i));
        rig.offer(1, copy_of(i));
    }
    rig.settle();
    const filter::AuditCounters sum = counted(rig, 1);
    EXPECT_GT(sum.sampled, 0U);
    EXPECT_EQ(sum.unsettled, sum.sampled);
    rig.sent(2);
}

TEST_F(Audits, are_in_snapshots) {
    Rig rig(audited(1, true));
    rig.offer_at(0, packet(1), 1000);
    rig.offer_at(1, copy_of(1), 1500);
    rig.settle();
    rig.shared().snapshot_wanted.store(1);
    rig.poll();
    ASSERT_EQ(rig.shared().snapshot_taken.load(), 1U);
    EXPECT_EQ(rig.shared().audits[0].counters.echoes, 1U);
    EXPECT_EQ(rig.shared().audits[0].entries, 1U);
    EXPECT_EQ(rig.shared().crossings[0][1], 1U);
    rig.sent(2);
}

}  // namespace
}  // namespace unecho::test
