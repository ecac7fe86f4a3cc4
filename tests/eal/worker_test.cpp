// SPDX-License-Identifier: BSD-3-Clause
// One worker: the verdict on each packet, and that each is counted once.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "appliance/timers/segment_zeroer.h"
#include "packets.h"
#include "rig.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using Worker = EalTest;

constexpr std::size_t kTooLong = dataplane::kScratchBytes + 1;

// For few enough packets that no two are mistaken for one another.
constexpr sizing::LineGeometry kLines{.M = 2, .k = 2, .l = 6, .b = 4, .phases = 1, .lines = 4096};

std::uint64_t sum_of_reasons(const Rig& rig, RouteIndex route = 0) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < pipeline::kReasons; ++i) {
        sum += rig.count(static_cast<Reason>(i), route);
    }
    return sum;
}

TEST_F(Worker, of_each_kind_of_packet_counts_one_reason_and_forwards_the_bytes) {
    Rig rig({});
    const std::vector<Bytes> frames{packet(1), arp(), malformed(), Bytes(kTooLong, 0x45)};
    for (const Bytes& frame : frames) {
        rig.offer(0, frame);
    }
    rig.offer(1, copy_of(1));
    rig.settle();
    EXPECT_EQ(rig.sent(2), frames);
    for (const Reason reason :
         {Reason::kNew, Reason::kNonIp, Reason::kMalformed, Reason::kTooLong, Reason::kEcho}) {
        EXPECT_EQ(rig.count(reason), 1U) << info_of(reason).name;
    }
    EXPECT_EQ(sum_of_reasons(rig), 5U);
    EXPECT_EQ(rig.total(Reason::kNew).bytes, frames[0].size());
    EXPECT_EQ(rig.total(Reason::kNonIp).bytes, frames[1].size());
    EXPECT_EQ(rig.total(Reason::kMalformed).bytes, frames[2].size());
    EXPECT_EQ(rig.total(Reason::kTooLong).bytes, kTooLong);
    EXPECT_EQ(rig.total(Reason::kEcho).bytes, copy_of(1).size());
}

// A source is polled again while it returns whole bursts, up to eight in all, because others wait.
TEST_F(Worker, takes_some_bursts_of_each_source_at_a_poll) {
    Layout layout;
    layout.burst = 8;
    Rig rig(layout);
    for (unsigned i = 0; i < 100; ++i) {
        rig.offer(0, packet(i));
    }
    for (unsigned i = 0; i < 20; ++i) {
        rig.offer(1, packet(1000 + i));
    }
    EXPECT_EQ(rig.poll(), 32U + 20U);
    EXPECT_EQ(rig.poll(), 32U);
    EXPECT_EQ(rig.poll(), 32U);
    EXPECT_EQ(rig.poll(), 4U);
    EXPECT_EQ(rig.poll(), 0U);
    EXPECT_EQ(rig.worker().counters().bursts, 13U + 3U);
    EXPECT_EQ(rig.worker().counters().full_bursts, 12U + 2U);
}

// Packets with and without keys, new ones and echoes at every position of bursts of every size. One
// filter decides at once; the other decides a burst after the next one is prefetched.
class WorkerBursts : public EalTest, public testing::WithParamInterface<bool> {
  protected:
    static Layout layout_of_bursts(unsigned burst) {
        Layout layout;
        layout.burst = burst;
        if (GetParam()) {
            layout.filters[0].geometry = kLines;
        }
        return layout;
    }
};
INSTANTIATE_TEST_SUITE_P(filter, WorkerBursts, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) {
                             return info.param ? "line" : "exact";
                         });

TEST_P(WorkerBursts, of_each_size_decides_as_one_by_one) {
    std::mt19937_64 random(5);
    for (unsigned burst = 1; burst <= 64; ++burst) {
        const Layout layout = layout_of_bursts(burst);
        Rig rig(layout);
        WindowOracle oracle(kForEver);
        std::vector<std::uint32_t> expected;
        std::array<std::uint64_t, pipeline::kReasons> reasons{};
        for (std::uint32_t i = 0; i < 200; ++i) {
            const unsigned kind = random() % 8;
            Reason reason = Reason::kNew;
            Bytes frame;
            if (kind == 0) {
                frame = arp(i);
                reason = Reason::kNonIp;
            } else if (kind == 1) {
                frame = malformed(i);
                reason = Reason::kMalformed;
            } else {
                const auto flow = static_cast<unsigned>(random() % 60);
                frame = kind % 2 == 0 ? packet(flow) : copy_of(flow);
                reason = oracle.observe(flow, 0) ? Reason::kEcho : Reason::kNew;
            }
            rig.offer(0, marked(frame, i));
            ++reasons[static_cast<unsigned>(reason)];
            if (reason != Reason::kEcho) {
                expected.push_back(i);
            }
        }
        rig.settle();
        std::vector<std::uint32_t> marks;
        for (const Bytes& bytes : rig.sent(2)) {
            marks.push_back(mark_of(bytes));
        }
        ASSERT_EQ(marks, expected) << "burst " << burst;
        for (unsigned i = 0; i < pipeline::kReasons; ++i) {
            ASSERT_EQ(rig.count(static_cast<Reason>(i)), reasons[i])
                << "burst " << burst << ", " << pipeline::kReasonTable[i].name;
        }
    }
}

// --- frames of several mbuf segments -----------------------------------------------------------

TEST_F(Worker, of_a_packet_cut_at_any_byte_finds_the_echo_and_leaves_the_cut) {
    for (const unsigned version : {4U, 6U}) {
        PacketSpec spec = spec_of(3, 1);
        spec.version = version;
        spec.tags = {{0x8100, 5}};
        const Bytes whole = build(spec);
        for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
            Rig rig({});
            rig.offer(0, make_mbuf(whole, {cut}));
            rig.offer(0, make_mbuf(whole));
            rig.poll();
            ASSERT_EQ(rig.count(Reason::kNew), 1U) << "cut at " << cut;
            ASSERT_EQ(rig.count(Reason::kEcho), 1U) << "cut at " << cut;
            void* object = nullptr;
            ASSERT_EQ(rte_ring_dequeue(rig.port(2).tx(0), &object), 0);
            auto* mbuf = static_cast<rte_mbuf*>(object);
            EXPECT_EQ(mbuf->nb_segs, 2U);
            EXPECT_EQ(mbuf->data_len, cut);
            EXPECT_EQ(bytes_of(mbuf), whole);
            rte_pktmbuf_free(mbuf);
        }
    }
}

TEST_P(WorkerBursts, of_chains_among_whole_packets_keep_each_verdict_with_its_packet) {
    Rig rig(layout_of_bursts(64));
    std::mt19937_64 random(9);
    WindowOracle oracle(kForEver);
    std::vector<Bytes> expected;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const auto flow = static_cast<unsigned>(random() % 700);
        const Bytes frame = marked(packet(flow), i);
        std::vector<std::size_t> cuts;
        for (unsigned n = random() % 4; n > 0; --n) {
            cuts.push_back(random() % frame.size());
        }
        std::sort(cuts.begin(), cuts.end());
        rig.offer(0, make_mbuf(frame, cuts));
        if (!oracle.observe(flow, 0)) {
            expected.push_back(frame);
        }
    }
    rig.settle();
    EXPECT_EQ(rig.sent(2), expected);
}

// A chain of exactly the scratch space, and one of a byte more. The longer one is never parsed, so
// its copy is no echo.
TEST_F(Worker, of_chains_up_to_its_space_finds_echoes_and_passes_longer_ones) {
    Layout layout;
    layout.filters[0].key = packet::KeyMode::kFrame;
    Rig rig(layout);
    for (int copies = 0; copies < 2; ++copies) {
        for (const std::size_t size : {kTooLong - 1, kTooLong}) {
            rig.offer(0, Bytes(size, 0x42));
        }
    }
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 1U);
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    EXPECT_EQ(rig.count(Reason::kTooLong), 2U);
}

// --- keys and policies -------------------------------------------------------------------------

TEST_F(Worker, by_frame_finds_equal_frames_of_any_kind_only) {
    Layout layout;
    layout.filters[0].key = packet::KeyMode::kFrame;
    Rig rig(layout);
    for (const Bytes& frame : {packet(1), copy_of(1), arp(), malformed(), packet(1), arp(),
                               malformed(), marked(packet(1), 1)}) {
        rig.offer(0, frame);
    }
    rig.offer(1, make_mbuf(packet(1), {20}));
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kNew), 5U);
    EXPECT_EQ(rig.count(Reason::kEcho), 4U);
    EXPECT_EQ(rig.count(Reason::kNonIp), 0U);
    EXPECT_EQ(rig.count(Reason::kMalformed), 0U);
}

// Every copy has its reason, and each frame is counted once. Malformed frames never have a key.
TEST_F(Worker, beside_packets_compares_frames_without_ip_where_it_is_asked_to) {
    for (const auto non_ip : {packet::NonIp::kPass, packet::NonIp::kFrame}) {
        const bool compared = non_ip == packet::NonIp::kFrame;
        Layout layout;
        layout.filters[0].non_ip = non_ip;
        Rig rig(layout);
        for (const Bytes& frame : {packet(1), short_arp(1), copy_of(1), arp_copy(1), short_arp(2),
                                   malformed(), malformed(), arp_copy(2)}) {
            rig.offer(0, frame);
        }
        rig.offer(1, make_mbuf(short_arp(1), {13, 20}));
        rig.settle();
        EXPECT_EQ(rig.count(Reason::kNew), compared ? 3U : 1U);
        EXPECT_EQ(rig.count(Reason::kEcho), compared ? 4U : 1U);
        EXPECT_EQ(rig.count(Reason::kNonIp), compared ? 0U : 5U);
        EXPECT_EQ(rig.count(Reason::kMalformed), 2U);
        rig.sent(2);
    }
}

// --- actions on echoes -------------------------------------------------------------------------

TEST_F(Worker, in_a_dry_run_forwards_echoes_in_their_place) {
    Layout layout;
    layout.routes[0].on_echo = EchoAction::kPass;
    Rig rig(layout);
    const std::vector<Bytes> frames{packet(1), copy_of(1),  arp(),
                                    packet(2), malformed(), packet(1)};
    for (const Bytes& frame : frames) {
        rig.offer(0, frame);
    }
    rig.settle();
    EXPECT_EQ(rig.sent(2), frames);
    EXPECT_EQ(rig.count(Reason::kNew), 2U);
    EXPECT_EQ(rig.count(Reason::kEchoPassed), 2U);
    EXPECT_EQ(rig.count(Reason::kEcho), 0U);
    EXPECT_EQ(rig.total(Reason::kEchoPassed).bytes, copy_of(1).size() + packet(1).size());
}

TEST_F(Worker, diverts_echoes_and_nothing_else) {
    Layout layout;
    layout.ports.resize(4);
    layout.routes[0].on_echo = EchoAction::kDivert;
    layout.routes[0].divert_to = 3;
    Rig rig(layout);
    for (const Bytes& frame : {packet(1), copy_of(1), arp(), packet(2), malformed(), packet(1)}) {
        rig.offer(1, frame);
    }
    rig.settle();
    EXPECT_EQ(rig.sent(2), (std::vector<Bytes>{packet(1), arp(), packet(2), malformed()}));
    EXPECT_EQ(rig.sent(3), (std::vector<Bytes>{copy_of(1), packet(1)}));
    EXPECT_EQ(rig.count(Reason::kEchoDiverted), 2U);
    EXPECT_EQ(rig.count(Reason::kEcho), 0U);
    EXPECT_EQ(rig.worker().counters().tx[3].packets, 2U);
}

// --- routes and filters ------------------------------------------------------------------------

// Two taps with a filter each, and a third source whose bursts never wait. All bring whole bursts,
// sometimes segmented. Each port must get its packets in order, and an echo must be of its own
// route, whichever filter has a pending burst.
TEST_F(Worker, of_bursts_that_wait_beside_others_keeps_filters_and_order_apart) {
    Layout layout;
    layout.burst = 8;
    layout.ports = std::vector<PortLayout>(4);
    layout.filters = {FilterLayout{}, FilterLayout{}, FilterLayout{}};
    layout.filters[0].geometry = layout.filters[1].geometry = kLines;
    layout.routes = {{{0}, 3, 0}, {{1}, 3, 1}, {{2}, 3, 2}};
    Rig rig(layout);
    std::mt19937_64 random(19);
    std::array<WindowOracle, 3> oracles{WindowOracle(kForEver), WindowOracle(kForEver),
                                        WindowOracle(kForEver)};
    std::array<std::vector<std::uint32_t>, 3> expected;
    std::array<std::vector<std::uint32_t>, 3> found;
    for (unsigned round = 0; round < 60; ++round) {
        for (PortIndex port = 0; port < 3; ++port) {
            for (auto left = random() % 40; left != 0; --left) {
                const auto flow = static_cast<unsigned>(random() % 500);
                const auto mark = static_cast<std::uint32_t>(random() % 1'000'000 * 3 + port);
                const Bytes frame = marked(random() % 2 == 0 ? packet(flow) : copy_of(flow), mark);
                rig.offer(port, random() % 16 == 0 ? make_mbuf(frame, {20}) : make_mbuf(frame));
                if (!oracles[port].observe(flow, 0)) {
                    expected[port].push_back(mark);
                }
            }
        }
        rig.settle();
        for (const Bytes& bytes : rig.sent(3)) {
            found[mark_of(bytes) % 3].push_back(mark_of(bytes));
        }
    }
    EXPECT_EQ(found, expected);
}

// --- generations -------------------------------------------------------------------------------

constexpr unsigned kWorkerK = 3;
constexpr unsigned kWorkerL = 4;
constexpr Nanoseconds kWorkerLength = 10 * kMillisecond;  // of a generation

// The test controls the clock and the rotation timer.
class Generations : public Worker {
  protected:
    Layout segmented(config::Policy policy = config::Policy::kFixed) {
        Layout layout;
        layout.filters[0].policy = policy;
        layout.filters[0].window = kWorkerL * kWorkerLength;
        layout.filters[0].geometry = sizing::ApbbfGeometry{kWorkerK, kWorkerL, 512, 8, 64};
        layout.clock = {0, std::uint64_t{1} << 32, &now_};
        return layout;
    }

    // Advance to the start of a generation. The worker polls often enough not to be away.
    void pass_to(Rig& rig, std::uint64_t generation) {
        while (now_ < generation * kWorkerLength) {
            now_ += kWorkerLength / 4;
            rig.filter_shared().turns = now_ / kWorkerLength;
            rig.poll();
        }
    }

    void send_at(Rig& rig, std::uint64_t generation, unsigned flow) {
        pass_to(rig, generation);
        rig.offer(0, packet(flow));
        rig.settle();
        rig.sent(2);
    }

  private:
    std::uint64_t now_ = 0;
};

TEST_F(Generations, adopts_the_published_generation) {
    Rig rig(segmented());
    send_at(rig, 0, 1);
    send_at(rig, kWorkerL, 1);  // still remembered in generation j + l
    EXPECT_EQ(rig.count(Reason::kEcho), 1U);
    send_at(rig, kWorkerL + kWorkerK, 1);
    EXPECT_EQ(rig.count(Reason::kNew), 2U);
    EXPECT_EQ(rig.filter_counters().shifts, kWorkerL + kWorkerK);
}

// The zeroer keeps up, so the worker never has to clear a segment itself.
TEST_F(Generations, hands_retired_segments_over_and_takes_zeroed_ones_back) {
    Rig rig(segmented());
    engines::FilterInstance& instance = rig.instance();
    appliance::SegmentZeroer zeroer;
    zeroer.add(rig.filter_shared_of_worker(), instance.memory(),
               instance.segments()->geometry().segment_bytes);
    for (std::uint64_t generation = 1; generation <= 100; ++generation) {
        send_at(rig, generation, static_cast<unsigned>(generation));
        while (zeroer.step()) {
        }
    }
    EXPECT_EQ(rig.filter_counters().shifts, 100U);
    EXPECT_EQ(rig.filter_counters().inline_clears, 0U);
    EXPECT_GT(zeroer.zeroed(), 80U);
}

// --- stopping ----------------------------------------------------------------------------------

TEST_F(Worker, when_draining_receives_nothing_more) {
    Rig rig({});
    rig.offer(0, packet(1));
    rig.set_phase(dataplane::Phase::kDraining);
    EXPECT_EQ(rig.poll(), 0U);
    EXPECT_EQ(rig.received(), 0U);
    EXPECT_EQ(rte_ring_count(rig.port(0).rx(0)), 1U);
    rig.set_phase(dataplane::Phase::kRunning);
    EXPECT_EQ(rig.poll(), 1U);
    rig.sent(2);
    drain(rig.port(0).rx(0));
}

TEST_F(Worker, told_to_stop_returns_without_another_poll) {
    Rig rig({});
    rig.offer(0, packet(1));
    rig.set_phase(dataplane::Phase::kStopped);
    rig.worker().run();
    EXPECT_EQ(rig.worker().counters().polls, 0U);
    EXPECT_EQ(rig.received(), 0U);
}

}  // namespace
}  // namespace unecho::test
