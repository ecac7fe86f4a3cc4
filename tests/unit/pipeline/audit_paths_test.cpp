// SPDX-License-Identifier: BSD-3-Clause
// Stage audit with a path table: real frames as two points see them.
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/audit.h"
#include "support/filter_memory.h"
#include "support/link_frames.h"
#include "support/packet_builder.h"
#include "support/path_traffic.h"
#include "support/seed.h"
#include "unit/pipeline/made_burst.h"

namespace unecho::pipeline {
namespace {

using packet::Change;
using test::operator+;

constexpr Nanoseconds kPathWindow = 50 * kMillisecond;
constexpr PortIndex kFirstPort = 3;
constexpr PortIndex kSecondPort = 5;

struct PathSetup {
    packet::KeySpec key{};
    unsigned audit_bits = 0;
    unsigned path_bits = 0;
    bool stated = true;
    bool measured = true;  // else without a path table
};

// A stage with a path from the first port to the second.
class AuditedPath {
  public:
    explicit AuditedPath(const PathSetup& setup = {})
        : key_(setup.key),
          params_(*filter::AuditParams::make(audit_spec(setup))),
          memory_(filter::Audit::bytes(params_)),
          audit_(params_, memory_.span()),
          paths_(paths_spec(setup, secret_)),
          stage_(audit_, key_, secret_, crossings_, setup.measured ? &paths_.table() : nullptr) {}

    // Show frames that a port received at a time. Return the sampled ones.
    std::uint64_t see(PortIndex port, Nanoseconds time, std::vector<test::Bytes> frames,
                      std::uint64_t echoes = 0) {
        test::MadeBurst made(std::move(frames), key_);
        made.burst.echoes = echoes;
        std::array<PortIndex, kMaxBurst> ports{};
        ports.fill(port);
        filter::AuditState state;
        state.first = state.last = time;
        state.window.achieved = kPathWindow;
        const std::uint64_t sampled = stage_.sampled(made.burst);
        stage_.inspect(made.burst, sampled, ports, state, false, {time, time});
        return sampled;
    }
    // Let the first window pass, in which nothing is judged. Packets are seen from kBegin on.
    void settle() {
        see(kFirstPort, kBegin - kPathWindow, {test::build({.id = 0xFFFF})});
        finish(kBegin - 1);
    }
    void finish(Nanoseconds now) { paths_.expire(now); }

    AuditStage& stage() { return stage_; }
    [[nodiscard]] const test::MeasuredPaths& paths() const { return paths_; }
    [[nodiscard]] PathCount count() const { return paths_.at(0, 1); }
    [[nodiscard]] const PortPairMatrix& crossings() const { return crossings_; }

    static constexpr Nanoseconds kBegin = 1000 * kSecond;
    static constexpr Nanoseconds kEnd = kBegin + kSecond;

  private:
    static filter::AuditSpec audit_spec(const PathSetup& setup) {
        filter::AuditSpec spec;
        spec.memory = 1 << 18;
        spec.window = kPathWindow;
        spec.bits = setup.audit_bits;
        spec.secret = audit_secret_from(5).sample;
        spec.begins_whole = true;
        return spec;
    }
    static PathSpec paths_spec(const PathSetup& setup, const AuditSecret& secret) {
        PathSpec spec = test::path_spec(2, kPathWindow);
        spec.point_of.fill(PathSpec::kNoPoint);
        spec.point_of[kFirstPort] = 0;
        spec.point_of[kSecondPort] = 1;
        spec.bits = setup.path_bits;
        spec.stated = setup.stated;
        spec.secret = secret.sample;
        return spec;
    }

    const packet::KeySpec key_;
    const AuditSecret secret_ = audit_secret_from(5);
    const filter::AuditParams params_;
    const test::FilterMemory memory_;
    filter::Audit audit_;
    PortPairMatrix crossings_{};
    test::MeasuredPaths paths_;
    AuditStage stage_;
};

// Return the counts of one packet that passes both points.
PathCount count_between(const test::Bytes& first, const test::Bytes& second,
                        const packet::KeySpec& key = {}) {
    AuditedPath path({.key = key});
    path.settle();
    path.see(kFirstPort, AuditedPath::kBegin, {first});
    path.see(kSecondPort, AuditedPath::kBegin + kMillisecond, {second});
    path.finish(AuditedPath::kEnd);
    return path.count();
}

std::vector<Change> changes_of(const PathCount& count) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < count.changes.size(); ++i) {
        if (count.changes[i] != 0) {
            changes.push_back(static_cast<Change>(i));
        }
    }
    return changes;
}

test::Bytes carried_in_vxlan(const test::PacketSpec& inner) {
    test::PacketSpec outer{.source = 0x0A0A0A01,
                           .destination = 0x0A0A0A02,
                           .source_port = 50'000,
                           .destination_port = 4789};
    outer.payload = test::Bytes{8, 0, 0, 0, 0, 0, 9, 0} + test::build(inner);
    return test::build(outer);
}

TEST(AuditedPaths, count_packets_that_came_with_their_changes_and_hops) {
    for (const unsigned version : {4U, 6U}) {
        SCOPED_TRACE(version);
        test::PacketSpec spec{.version = version};
        const test::Bytes first = test::build(spec);
        PathCount count = count_between(first, first);
        EXPECT_EQ(count.counters.came, 1U);
        EXPECT_EQ(count.counters.arrived, 1U);
        EXPECT_EQ(count.hops, 0);
        EXPECT_EQ(changes_of(count), std::vector<Change>{});
        EXPECT_EQ(count.delays.least, kMillisecond);
        spec.ttl -= 3;
        count = count_between(first, test::build(spec));
        EXPECT_EQ(count.counters.arrived, 1U);
        EXPECT_EQ(count.hops, 3);
        EXPECT_EQ(changes_of(count), std::vector{Change::kTtl});
        spec.ttl += 3;
        spec.tags = {{0x8100, 7}};
        EXPECT_EQ(changes_of(count_between(first, test::build(spec))),
                  std::vector{Change::kTagsAdded});
        EXPECT_EQ(changes_of(count_between(test::build(spec), first)),
                  std::vector{Change::kTagsRemoved});
        spec.tags.clear();
        spec.source_mac = {2, 9, 9, 9, 9, 9};
        spec.tos = 8;
        EXPECT_EQ(changes_of(count_between(first, test::build(spec))),
                  (std::vector{Change::kStations, Change::kDscp}));
    }
}

TEST(AuditedPaths, see_packets_inside_tunnels_at_one_point) {
    const packet::KeySpec key = [] {
        packet::KeySpec all = test::with_all_tunnels({});
        all.tenant = packet::Tenant::kIgnore;
        return all;
    }();
    for (const unsigned version : {4U, 6U}) {
        test::PacketSpec spec{.version = version};
        const test::Bytes plain = test::build(spec);
        const test::Bytes carried = carried_in_vxlan(spec);
        PathCount count = count_between(plain, carried, key);
        EXPECT_EQ(count.counters.arrived, 1U);
        EXPECT_EQ(changes_of(count), std::vector{Change::kTunnelAdded});
        EXPECT_EQ(changes_of(count_between(carried, plain, key)),
                  std::vector{Change::kTunnelRemoved});
        EXPECT_EQ(changes_of(count_between(carried, carried, key)), std::vector<Change>{});
        spec.ttl -= 1;
        count = count_between(plain, carried_in_vxlan(spec), key);
        EXPECT_EQ(changes_of(count), (std::vector{Change::kTunnelAdded, Change::kTtl}));
        EXPECT_EQ(count.hops, 1);
    }
    // Without tunnels it is another packet.
    EXPECT_EQ(count_between(test::build({}), carried_in_vxlan({})).counters.missing, 1U);
}

TEST(AuditedPaths, count_lost_packets_of_which_the_filter_says_nothing) {
    AuditedPath path;
    path.settle();
    std::vector<test::Bytes> sent;
    std::vector<test::Bytes> received;
    for (std::uint16_t id = 100; id < 140; ++id) {
        sent.push_back(test::build({.id = id}));
        if (id % 4 != 0) {
            received.push_back(sent.back());
        }
    }
    path.see(kFirstPort, AuditedPath::kBegin, sent);
    path.see(kSecondPort, AuditedPath::kBegin + kMillisecond, received, ~std::uint64_t{0});
    path.see(9, AuditedPath::kBegin + kMillisecond, sent);  // no point of the path
    path.finish(AuditedPath::kEnd);
    EXPECT_EQ(path.count().counters.arrived, 30U);
    EXPECT_EQ(path.count().counters.missing, 10U);
    EXPECT_EQ(path.count().counters.unannounced, 0U);
}

// Packets without an ID that are sent again are packets of their own, whether the filter keeps such
// repeats or drops them: one that was lost is not taken for one that came late.
TEST(AuditedPaths, align_packets_that_do_not_identify_their_transmission) {
    for (const packet::Repeats repeats : {packet::Repeats::kKeep, packet::Repeats::kDrop}) {
        for (const unsigned version : {4U, 6U}) {
            AuditedPath path({.key = {.repeats = repeats}});
            path.settle();
            const test::Bytes frame = test::build({.version = version, .id = 0});
            Nanoseconds now = AuditedPath::kBegin;
            for (unsigned i = 0; i < 4; ++i, now += 10 * kMillisecond) {
                path.see(kFirstPort, now, {frame});
                if (i != 0) {
                    path.see(kSecondPort, now + kMillisecond, {frame});
                }
            }
            path.finish(AuditedPath::kEnd);
            const PathCount count = path.count();
            EXPECT_EQ(count.counters.arrived, 3U);
            EXPECT_EQ(count.counters.missing, 1U);
            EXPECT_EQ(count.delays.most, kMillisecond);
            EXPECT_EQ(path.paths().totals().sample().doubled, 0U);
        }
    }
    // With an ID they are duplicates of one packet.
    AuditedPath path;
    path.settle();
    for (unsigned i = 0; i < 4; ++i) {
        path.see(kFirstPort, AuditedPath::kBegin + i * kMillisecond, {test::build({.id = 9})});
    }
    path.finish(AuditedPath::kEnd);
    EXPECT_EQ(path.count().counters.missing, 1U);
    EXPECT_EQ(path.paths().totals().sample().doubled, 3U);
}

TEST(AuditedPaths, count_frames_without_ip_where_these_are_compared) {
    const test::Bytes arp = test::build_ethernet(0x0806, test::counting(46, 1));
    EXPECT_EQ(count_between(arp, arp).counters.came, 0U);
    const PathCount count = count_between(arp, arp, {.non_ip = packet::NonIp::kFrame});
    EXPECT_EQ(count.counters.arrived, 1U);
    EXPECT_EQ(count.hops, 0);
    EXPECT_EQ(changes_of(count), std::vector<Change>{});
}

// Directions are found by the hosts of the innermost packet, and without IP by MAC addresses. The
// way back is another direction.
TEST(AuditedPaths, find_directions_by_hosts) {
    packet::KeySpec key = test::with_all_tunnels({});
    key.tenant = packet::Tenant::kIgnore;
    key.non_ip = packet::NonIp::kFrame;
    const test::Mac other_mac{2, 7, 7, 7, 7, 7};
    struct Flow {
        const char* name;
        std::vector<test::Bytes> there;  // three packets from one host to another
        test::Bytes back;
        test::Bytes elsewhere;  // to another host
    };
    const auto ip = [](unsigned version, std::uint16_t id, std::uint32_t from, std::uint32_t to) {
        return test::build(
            {.version = version, .source = from, .destination = to, .id = id, .source_port = id});
    };
    const auto carried = [](std::uint16_t id, std::uint32_t from, std::uint32_t to) {
        return carried_in_vxlan({.source = from, .destination = to, .id = id});
    };
    const auto frame = [](std::uint8_t n, test::Mac from, test::Mac to) {
        return test::build_ethernet(0x88B5, test::counting(50, n),
                                    {.destination_mac = to, .source_mac = from});
    };
    const test::Mac a{2, 1, 1, 1, 1, 1};
    const test::Mac b{2, 2, 2, 2, 2, 2};
    const std::vector<Flow> flows{
        {"IPv4",
         {ip(4, 50, 1, 2), ip(4, 51, 1, 2), ip(4, 52, 1, 2)},
         ip(4, 53, 2, 1),
         ip(4, 54, 1, 3)},
        {"IPv6",
         {ip(6, 50, 1, 2), ip(6, 51, 1, 2), ip(6, 52, 1, 2)},
         ip(6, 53, 2, 1),
         ip(6, 54, 1, 3)},
        {"VXLAN",
         {carried(50, 1, 2), carried(51, 1, 2), carried(52, 1, 2)},
         carried(53, 2, 1),
         carried(54, 1, 3)},
        {"no IP",
         {frame(1, a, b), frame(2, a, b), frame(3, a, b)},
         frame(4, b, a),
         frame(5, a, other_mac)},
    };
    for (const Flow& flow : flows) {
        SCOPED_TRACE(flow.name);
        AuditedPath path({.key = key, .stated = false});
        path.settle();
        Nanoseconds now = AuditedPath::kBegin;
        const auto pass = [&](const test::Bytes& bytes, std::vector<PortIndex> ports) {
            for (const PortIndex port : ports) {
                path.see(port, now += kMillisecond, {bytes});
            }
            path.finish(now += 2 * kPathWindow);
        };
        pass(flow.there[0], {kFirstPort, kSecondPort});
        EXPECT_EQ(path.count().counters.came, 1U);
        EXPECT_EQ(path.count().counters.arrived, 0U);
        pass(flow.there[1], {kFirstPort, kSecondPort});
        EXPECT_EQ(path.count().counters.arrived, 1U);
        pass(flow.there[2], {kFirstPort});
        EXPECT_EQ(path.count().counters.missing, 1U);
        pass(flow.back, {kSecondPort});
        EXPECT_EQ(path.paths().counters(1, 0).missing, 1U);
        pass(flow.elsewhere, {kFirstPort});
        EXPECT_EQ(path.count().counters.missing, 1U);
        EXPECT_EQ(path.count().counters.alone, 1U);
    }
}

// Packets that no filter saw are judged by neither.
TEST(AuditedPaths, judge_nothing_while_packets_pass_by) {
    AuditedPath path;
    path.settle();
    path.see(kFirstPort, AuditedPath::kBegin, {test::build({.id = 9})});
    path.stage().pass_by(7, AuditedPath::kBegin + 1);
    for (unsigned i = 0; i < 8; ++i) {
        path.stage().maintain(AuditedPath::kEnd);
    }
    EXPECT_EQ(path.count().counters.missing, 0U);
    EXPECT_EQ(path.paths().totals().sample().entries, 0U);
    EXPECT_EQ(path.stage().totals().counters.overload, 7U);
}

struct AuditFigures {
    AuditTotals totals;
    PortPairMatrix crossings{};
    std::uint64_t looks = 0;  // of the path table
    PathCounters path;
};

// Audit 4000 packets, of which every tenth is lost and every twentieth answered wrongly.
AuditFigures figures_of(const PathSetup& setup) {
    std::mt19937_64 draw(test::seed());
    AuditedPath path(setup);
    path.settle();
    Nanoseconds now = AuditedPath::kBegin;
    for (unsigned i = 0; i < 4000; ++i, now += kMillisecond) {
        const test::Bytes frame = test::build({.source = static_cast<std::uint32_t>(draw()),
                                               .id = static_cast<std::uint16_t>(draw() | 2)});
        path.see(kFirstPort, now, {frame}, i % 20 == 7 ? 1 : 0);
        if (i % 10 != 3) {
            path.see(kSecondPort, now + kMicrosecond, {frame}, i % 20 == 9 ? 0 : 1);
        }
    }
    path.finish(now + kSecond);
    return {path.stage().totals(), path.crossings(), path.paths().totals().sample().packets,
            path.count().counters};
}

// The audit finds the same without paths, and with any sample of theirs.
TEST(AuditedPaths, leave_the_audit_s_figures_as_they_are) {
    SCOPED_TRACE(test::seed_note());
    for (const unsigned audit_bits : {0U, 2U, 4U}) {
        const AuditFigures without = figures_of({.audit_bits = audit_bits, .measured = false});
        EXPECT_GT(without.totals.counters.fresh, 100U);
        EXPECT_GT(without.totals.counters.false_drops, 2U);
        EXPECT_GT(without.totals.counters.misses, 2U);
        EXPECT_EQ(without.looks, 0U);
        for (const unsigned path_bits : {0U, 2U, 4U}) {
            SCOPED_TRACE(testing::Message() << audit_bits << ", " << path_bits);
            const AuditFigures with =
                figures_of({.audit_bits = audit_bits, .path_bits = path_bits});
            for (const auto& row : filter::kAuditCounters) {
                EXPECT_EQ(with.totals.counters.*row.value, without.totals.counters.*row.value)
                    << row.name;
            }
            EXPECT_EQ(with.totals.causes, without.totals.causes);
            EXPECT_EQ(with.totals.entries, without.totals.entries);
            EXPECT_EQ(with.crossings, without.crossings);
            // And paths find what is in their own sample: 7600 looks, of which a share.
            const double share = 1.0 / (1U << path_bits);
            EXPECT_GT(static_cast<double>(with.looks), 7600 * share * 0.7);
            EXPECT_LT(static_cast<double>(with.looks), 7600 * share * 1.4);
            EXPECT_NEAR(static_cast<double>(with.path.missing), 400 * share, 160 * share + 8);
            EXPECT_EQ(with.path.unannounced, 0U);
            // Nothing is judged of the window after the first packet in the sample.
            EXPECT_LE(with.path.arrived, with.path.came);
            EXPECT_GE(with.path.arrived + 50, with.path.came);
        }
    }
}

}  // namespace
}  // namespace unecho::pipeline
