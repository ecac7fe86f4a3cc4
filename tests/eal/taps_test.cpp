// SPDX-License-Identifier: BSD-3-Clause
// The flows that two taps saw, as workers report them, against exact sets.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "appliance/stats/stats_fold.h"
#include "packets.h"
#include "rig.h"
#include "support/seed.h"

namespace unecho::test {
namespace {

using Taps = EalTest;
using appliance::TapTotals;
using filter::TapCounts;
using List = std::vector<std::uint64_t>;

constexpr Nanoseconds kTapsWindow = 500 * kMicrosecond;

List as_list(const TapCounts& counts) {
    return {counts.only_a, counts.only_b, counts.both};
}

// Captures of two taps (ports 0 and 1), forwarded to port 2.
Layout two_taps(unsigned workers = 1) {
    Layout layout;
    layout.workers = workers;
    layout.capture = true;
    layout.filters[0].window = kTapsWindow;
    layout.routes[0].report_flows = 10'000;
    return layout;
}

// Return the totals that the appliance would report.
TapTotals report_of(Rig& rig, RouteIndex route = 0) {
    std::vector<filter::TapSummary> all;
    for (WorkerIndex w = 0; w < rig.shareds().size(); ++w) {
        rig.shared(w).snapshot_wanted++;
        rig.poll(w);
        all.push_back(rig.shared(w).taps[route]);
    }
    return appliance::sum_of(all);
}

// Return a packet of the opposite direction of packet(flow, number).
Bytes answer(unsigned flow, unsigned number) {
    PacketSpec spec = spec_of(flow, number);
    std::swap(spec.source, spec.destination);
    std::swap(spec.source_port, spec.destination_port);
    return build(spec);
}

// The flows of both taps, by window.
class Exact {
  public:
    void add(std::uint64_t microseconds, unsigned flow, unsigned tap) {
        windows_[microseconds * kMicrosecond / kTapsWindow][tap].insert(flow);
    }
    [[nodiscard]] TapCounts of(std::uint64_t window) const {
        TapCounts out;
        if (const auto found = windows_.find(window); found != windows_.end()) {
            const auto& [a, b] = found->second;
            for (const unsigned flow : a) {
                (b.contains(flow) ? out.both : out.only_a)++;
            }
            out.only_b = b.size() - out.both;
        }
        return out;
    }
    [[nodiscard]] TapCounts total() const {
        TapCounts out;
        for (const auto& entry : windows_) {
            out += of(entry.first);
        }
        return out;
    }
    [[nodiscard]] std::uint64_t present() const { return windows_.rbegin()->first; }

  private:
    std::map<std::uint64_t, std::array<std::set<unsigned>, 2>> windows_;
};

TEST_F(Taps, count_no_packet_without_a_flow) {
    Rig rig(two_taps());
    rig.offer_at(0, arp(), 1000);
    rig.offer_at(1, malformed(), 1000);
    rig.offer_at(0, Bytes(dataplane::kScratchBytes + 1, 0x45), 1001);
    rig.settle();
    EXPECT_EQ(report_of(rig).total.flows(), 0U);
    EXPECT_EQ(rig.sent(2).size(), 3U);
}

// Frames without IP are compared, but they are still no flows.
TEST_F(Taps, count_no_frame_without_ip_where_these_are_compared) {
    Layout layout = two_taps();
    layout.filters[0].key = packet::KeyMode::kFlowBidir;
    layout.filters[0].non_ip = packet::NonIp::kFrame;
    Rig rig(layout);
    rig.offer_at(0, short_arp(), 1);
    rig.offer_at(1, arp_copy(), 2);
    rig.offer_at(0, packet(1), 3);
    rig.settle();
    EXPECT_EQ(as_list(report_of(rig).total), (List{1, 0, 0}));
    EXPECT_EQ(rig.count(Reason::kNew), 2U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    rig.sent(2);
}

TEST_F(Taps, without_a_report_have_none) {
    Layout layout = two_taps();
    layout.routes[0].report_flows = 0;
    Rig rig(layout);
    rig.offer_at(0, packet(1), 1000);
    rig.settle();
    EXPECT_EQ(report_of(rig).total.flows(), 0U);
    EXPECT_FALSE(rig.shared().taps[0].begun);
    rig.sent(2);
}

// Streams of a few hundred flows over a few windows, some of which have no packets.
TEST_F(Taps, of_random_captures_are_those_of_exact_sets) {
    SCOPED_TRACE(seed_note());
    for (const unsigned workers : {1U, 2U, 3U}) {
        for (unsigned number = 0; number < 6; ++number) {
            SCOPED_TRACE(std::to_string(workers) + " workers, case " + std::to_string(number));
            std::mt19937_64 random(seed() + 100 * workers + number);
            Rig rig(two_taps(workers));
            Exact exact;
            std::uint64_t time = 1'000'000 + random() % 5000;
            for (unsigned i = 0; i < 900; ++i) {
                time += random() % 100 == 0 ? random() % 1500 : random() % 4;
                const auto flow = static_cast<unsigned>(random() % 200);
                const auto tap = static_cast<unsigned>(random() % 7 < 2 + flow % 3 ? 0 : 1);
                rig.offer_at(static_cast<PortIndex>(tap),
                             random() % 2 == 0 ? packet(flow, i) : answer(flow, i), time);
                exact.add(time, flow, tap);
                if (random() % 50 == 0) {
                    rig.settle();
                }
            }
            rig.settle();
            const TapTotals report = report_of(rig);
            EXPECT_EQ(as_list(report.total), as_list(exact.total()));
            ASSERT_TRUE(report.ended);
            // A worker without packets in the last window has none; that of the others counts.
            EXPECT_EQ(report.last.number, exact.present() - 1);
            EXPECT_EQ(as_list(report.last.counts), as_list(exact.of(exact.present() - 1)));
            rig.sent(2);
        }
    }
}

// With the live clock a window ends whether or not packets arrive. The test controls the clock. If
// a worker did not run, its window ends late and has the number of the last one it reached into.
TEST_F(Taps, of_a_live_window_are_final_when_the_worker_s_clock_ends_it) {
    constexpr Nanoseconds kLive = 20 * kMillisecond;
    constexpr std::uint64_t kBegun = 5;
    for (const unsigned workers : {1U, 2U}) {
        std::uint64_t now = kBegun * kLive;
        Layout layout = two_taps(workers);
        layout.capture = false;
        layout.filters[0].window = kLive;
        layout.clock = {0, std::uint64_t{1} << 32, &now};
        Rig rig(layout);
        rig.offer(0, packet(1));
        rig.settle();
        // There are enough polls in each window to clear the memory of the previous one.
        for (; now < (kBegun + 3) * kLive; now += kLive / 64) {
            const TapTotals report = report_of(rig);
            const std::uint64_t number = now / kLive;
            ASSERT_EQ(as_list(report.total), (List{1, 0, 0}));
            ASSERT_EQ(report.ended, number != kBegun) << now;
            if (report.ended) {
                ASSERT_EQ(report.last.number, number - 1) << now;
                ASSERT_EQ(as_list(report.last.counts), (List{number == kBegun + 1, 0, 0})) << now;
            }
        }
        // The first tap's flow was known before; it is new again.
        rig.offer(1, packet(1, 1));
        rig.settle();
        EXPECT_EQ(as_list(report_of(rig).total), (List{1, 1, 0}));
        rig.sent(2);
    }
}

}  // namespace
}  // namespace unecho::test
