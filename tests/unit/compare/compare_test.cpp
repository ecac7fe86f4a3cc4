// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "captures/compare/report/comparison_json.h"
#include "captures/compare/report/comparison_view.h"
#include "captures/open_captures.h"
#include "support/capture_builder.h"
#include "support/wrappings.h"
#include "unit/compare/path_scene.h"

namespace unecho::compare {
namespace {

using test::operator+=;

using capture::Folder;
using test::Bytes;
using test::PacketSpec;

Options options_for(const Folder& folder) {
    Options options;
    options.inputs = {folder.file("a.pcap"), folder.file("b.pcap")};
    options.seed = 1;
    return options;
}

Result<Comparison> compare_all(const Options& options) {
    return compare_captures(options, [](const capture::Source::Progress&) {});
}
Comparison compared(const Options& options) {
    auto result = compare_all(options);
    EXPECT_TRUE(result) << (result ? "" : result.error().context);
    return result ? std::move(*result) : Comparison();
}
Comparison compared(const Folder& folder) {
    return compared(options_for(folder));
}

// Check what is counted, and the delays up to the error of the clocks.
void expect_path(const Path& path, const TruePath& truth, std::int64_t error = 0) {
    EXPECT_EQ(path.missing, truth.lost);
    EXPECT_EQ(path.sent + path.unjudged, truth.sent);
    EXPECT_LE(path.unjudged, truth.sent / 20);
    EXPECT_EQ(path.unannounced, truth.overlooked);
    EXPECT_EQ(path.all_arrived, truth.delays.size());
    ASSERT_TRUE(path.timed);
    std::vector<std::int64_t> delays = truth.delays;
    std::sort(delays.begin(), delays.end());
    // Packets at the ends are not judged, so ranks shift by as many.
    const auto rank = [&](double share, double shift) {
        const auto at = share * static_cast<double>(delays.size()) + shift;
        return delays[static_cast<std::size_t>(
            std::clamp(at, 0.0, static_cast<double>(delays.size() - 1)))];
    };
    const auto shift = static_cast<double>(path.unjudged) + 1;
    for (const auto& [share, seen] :
         {std::pair{0.5, path.delays.median}, std::pair{0.99, path.delays.p99}}) {
        EXPECT_GE(seen, rank(share, -shift) - error) << share;
        EXPECT_LE(seen, rank(share, shift) + error) << share;
    }
    EXPECT_GE(path.delays.least, delays.front() - error);
    EXPECT_LE(path.delays.most, delays.back() + error);
    const double mean = static_cast<double>(std::accumulate(delays.begin(), delays.end(), 0LL)) /
                        static_cast<double>(delays.size());
    EXPECT_NEAR(path.delays.mean, mean, static_cast<double>(error) + 0.02 * mean);
}

double offset_of(const PointPair& pair) {
    return static_cast<double>(pair.clock.line.at(pair.clock.line.begin));
}

class ComparedScene : public testing::Test {
  protected:
    void check(const SceneSpec& spec, ClockRelation relation, std::int64_t error = 0) {
        const Scene truth = make_scene(spec, folder_);
        const Comparison result = compared(folder_);
        ASSERT_EQ(result.pairs.size(), 1U);
        const PointPair& pair = result.pairs.front();
        EXPECT_EQ(kClockRelationNames.at(static_cast<std::size_t>(pair.clock.relation)),
                  kClockRelationNames.at(static_cast<std::size_t>(relation)));
        expect_path(pair.there, truth.there, error);
        if (spec.back_share > 0) {
            expect_path(pair.back, truth.back, error);
        }
        EXPECT_EQ(result.points[1].duplicates, truth.duplicates);
        EXPECT_EQ(pair.only_a + pair.only_b, 0U);
        last_ = result;
    }

    Folder folder_;
    Comparison last_;
};

TEST_F(ComparedScene, equal_clocks_give_exact_delays) {
    check({}, ClockRelation::kAgree);
}

TEST_F(ComparedScene, ipv6_says_not_which_transmission_it_is) {
    check({.version = 6}, ClockRelation::kAgree);
}

TEST_F(ComparedScene, routers_on_the_way_lower_the_ttl) {
    check({.hops = 3}, ClockRelation::kAgree);
    EXPECT_EQ(last_.pairs[0].there.changes[static_cast<std::size_t>(Change::kTtl)],
              last_.pairs[0].there.all_arrived);
    ASSERT_EQ(last_.pairs[0].there.ttl_steps.size(), 1U);
    EXPECT_EQ(last_.pairs[0].there.ttl_steps[0].first, 3);
}

TEST_F(ComparedScene, duplicates_of_the_network_are_no_packets_of_their_own) {
    check({.duplicates = 0.05}, ClockRelation::kAgree);
}

TEST_F(ComparedScene, what_the_first_tap_did_not_show_is_told_from_loss) {
    check({.overlooked = 0.02}, ClockRelation::kAgree);
}

TEST_F(ComparedScene, a_clock_that_is_ahead_is_estimated_from_both_directions) {
    // Half the difference of the fastest delays, and what jitter adds to them.
    check({.offset = 7'000'000'000}, ClockRelation::kEstimated, 510'000);
    EXPECT_NEAR(offset_of(last_.pairs[0]), 7e9, 510'000);
    EXPECT_EQ(last_.pairs[0].clock.line.drift, 0);
}

TEST_F(ComparedScene, a_clock_may_be_a_day_behind_and_drift) {
    check({.seconds = 60, .offset = -86'400'000'000'000, .drift = 5e-5, .hops = 1},
          ClockRelation::kEstimated, 520'000);
    EXPECT_NEAR(last_.pairs[0].clock.line.drift, 5e-5, 2e-7);
}

TEST_F(ComparedScene, one_direction_alone_gives_differences_of_delays) {
    const SceneSpec spec{.back_share = 0, .offset = -40'000'000'000, .hops = 1};
    const Scene truth = make_scene(spec, folder_);
    const Comparison result = compared(folder_);
    const PointPair& pair = result.pairs.front();
    EXPECT_EQ(pair.clock.relation, ClockRelation::kOneWay);
    EXPECT_EQ(pair.there.missing, truth.there.lost);
    EXPECT_NEAR(static_cast<double>(pair.there.delays.least), 0, 2000);
    const auto [least, most] =
        std::minmax_element(truth.there.delays.begin(), truth.there.delays.end());
    EXPECT_NEAR(static_cast<double>(pair.there.delays.most), static_cast<double>(*most - *least),
                5000);
    EXPECT_NE(to_summary_text(result).find("delays count from the fastest packet"),
              std::string::npos);
}

TEST_F(ComparedScene, clocks_stated_as_equal_are_not_estimated) {
    make_scene({.offset = 1000}, folder_);
    Options options = options_for(folder_);
    options.clocks = Clocks::kSame;
    EXPECT_EQ(compared(options).pairs[0].clock.relation, ClockRelation::kStated);
    make_scene({.offset = 10'000'000'000}, folder_);  // stated wrongly
    EXPECT_EQ(compared(options).pairs[0].matched, 0U);
    EXPECT_NE(to_summary_text(compared(options)).find("were seen at both points, but further"),
              std::string::npos);
    make_scene({.offset = 1000}, folder_);
    options.clocks = Clocks::kApart;
    const ClockModel clock = compared(options).pairs[0].clock;
    EXPECT_EQ(clock.relation, ClockRelation::kEstimated);
    EXPECT_NEAR(static_cast<double>(clock.line.at(clock.line.begin)), 1000 - 500'000,
                10'000);  // as if both directions took equally long
}

TEST_F(ComparedScene, repeats_are_counted_as_transmissions) {
    const Scene truth = make_scene({.packets = 20'000, .version = 6, .repeats = 0.2}, folder_);
    const Comparison result = compared(folder_);
    // A repeat may be matched with its neighbour, but none is invented or forgotten.
    EXPECT_EQ(result.pairs[0].there.missing, truth.there.lost);
    EXPECT_EQ(result.pairs[0].back.missing, truth.back.lost);
}

TEST_F(ComparedScene, a_tunnel_at_one_point_is_looked_into) {
    std::mt19937_64 draw(3);
    for (const test::Wrapping& wrapping : test::wrappings()) {
        SCOPED_TRACE(wrapping.name);
        SceneSpec spec{.packets = 300};
        spec.version = std::string_view(wrapping.name) == "teredo" ? 6 : 4;  // takes no other
        spec.at_b = [&](const PacketSpec& packet) {
            test::Wrapped inner{
                wrapping.takes_ethernet ? test::build(packet) : test::build_ip(packet),
                wrapping.takes_ethernet};
            const test::Wrapped outside = test::wrap(wrapping, inner, 7, draw);
            const bool v6 = (outside.bytes[0] >> 4) == 6;
            return outside.ethernet ? outside.bytes
                                    : test::build_ethernet(v6 ? 0x86DD : 0x0800, outside.bytes);
        };
        const Scene truth = make_scene(spec, folder_);
        const Comparison result = compared(folder_);
        const Path& path = result.pairs[0].there;
        EXPECT_EQ(path.missing, truth.there.lost);
        EXPECT_EQ(path.all_arrived, truth.there.delays.size());
        EXPECT_EQ(path.changes[static_cast<std::size_t>(Change::kTunnelAdded)], path.all_arrived);
        EXPECT_EQ(result.pairs[0].back.changes[static_cast<std::size_t>(Change::kTunnelRemoved)],
                  result.pairs[0].back.all_arrived);
    }
}

Bytes translated(const PacketSpec& packet) {
    PacketSpec out = packet;
    const bool forward = (packet.source >> 16) == 0x0A00;
    (forward ? out.source : out.destination) = 0xC6336401;  // 198.51.100.1
    (forward ? out.source_port : out.destination_port) =
        static_cast<std::uint16_t>(40'000 + (forward ? packet.source : packet.destination) % 100);
    return test::build(out);
}

TEST_F(ComparedScene, a_nat_is_seen_through_on_request_only) {
    SceneSpec spec;
    spec.at_b = translated;
    const Scene truth = make_scene(spec, folder_);
    EXPECT_EQ(compared(folder_).pairs[0].matched, 0U);
    EXPECT_NE(to_summary_text(compared(folder_)).find("--nat"), std::string::npos);
    Options options = options_for(folder_);
    options.nat = true;
    const Comparison result = compared(options);
    const Path& path = result.pairs[0].there;
    EXPECT_EQ(path.missing, truth.there.lost);
    EXPECT_EQ(path.changes[static_cast<std::size_t>(Change::kAddresses)], path.all_arrived);
    EXPECT_EQ(result.pairs[0].back.missing, truth.back.lost);
}

TEST_F(ComparedScene, changes_are_named) {
    const auto changed_by = [&](const std::function<void(PacketSpec&)>& change) {
        SceneSpec spec{.packets = 200, .loss = 0, .back_share = 0};
        spec.at_b = [&](const PacketSpec& packet) {
            PacketSpec out = packet;
            change(out);
            return test::build(out);
        };
        make_scene(spec, folder_);
        const Path path = compared(folder_).pairs[0].there;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < path.changes.size(); ++i) {
            if (path.changes.at(i) != 0) {
                EXPECT_EQ(path.changes.at(i), 200U);
                names.emplace_back(kChangeNames.at(i));
            }
        }
        return names;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(changed_by([](PacketSpec&) {}), Names{});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.tags = {{0x8100, 7}}; }), Names{"tags_added"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.source_mac = {2, 0, 0, 0, 0, 9}; }), Names{"macs"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.tos = 46 << 2; }), Names{"dscp"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.tos = 3; }), Names{"ecn_congested"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.tos = 1; }), Names{"ecn_changed"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.trailer = {1, 2}; }), Names{"padding"});
    EXPECT_EQ(changed_by([](PacketSpec& p) { p.ttl = 60; }), Names{"ttl"});
}

TEST_F(ComparedScene, packets_of_hosts_that_never_came_are_not_judged) {
    const Scene truth = make_scene({.loss = 0}, folder_);
    // A host on side a that talks to one that nobody answers.
    std::string a = folder_.get("a.pcap");
    const test::PcapSpec pcap{.nanoseconds = true};
    for (unsigned i = 0; i < 7; ++i) {
        PacketSpec packet;
        packet.destination = 0xCB007101;
        packet.id = static_cast<std::uint16_t>(100 + i);
        packet.payload = {1, 2, 3};
        const Bytes frame = test::build(packet);
        const test::CaptureBytes record = test::pcap_record(
            pcap, 1'700'000'002, i, frame, static_cast<std::uint32_t>(frame.size()));
        a.append(reinterpret_cast<const char*>(record.data()), record.size());
    }
    folder_.put("a.pcap", a);
    Options options = options_for(folder_);
    const Comparison result = compared(options);
    EXPECT_EQ(result.pairs[0].there.missing, 0U);
    EXPECT_EQ(result.pairs[0].only_a, 7U);
    EXPECT_EQ(result.pairs[0].only_a_flows, 1U);
    options.every_packet = true;
    EXPECT_EQ(compared(options).pairs[0].there.missing, 7U);
}

TEST_F(ComparedScene, too_little_memory_compares_a_part_and_keeps_the_shares) {
    const Scene truth = make_scene({.packets = 100'000, .loss = 0.05}, folder_);
    Options options = options_for(folder_);
    options.memory = least_memory(2);
    const Comparison part = compared(options);
    ASSERT_GE(part.sample_bits, 1U);
    const double share = std::pow(0.5, part.sample_bits);
    const auto all = static_cast<double>(truth.there.sent);
    EXPECT_NEAR(static_cast<double>(part.pairs[0].there.sent), all * share,
                6 * std::sqrt(all * share));
    // The missing packets are a random part of the lost ones, so their number is binomial.
    const double lost = static_cast<double>(truth.there.lost) * share;
    EXPECT_NEAR(static_cast<double>(part.pairs[0].there.missing), lost, 6 * std::sqrt(lost));
    EXPECT_EQ(part.points[0].counts.packets, truth.there.sent + truth.back.delays.size());
    for (const unsigned threads : {2U, 4U}) {
        options.threads = threads;
        EXPECT_EQ(to_json(compared(options)), to_json(part)) << threads;
    }
}

TEST_F(ComparedScene, missing_packets_are_written) {
    const Scene truth = make_scene({}, folder_);
    Options options = options_for(folder_);
    options.missing = folder_.file("lost.pcapng");
    const Comparison result = compared(options);
    auto source = capture::open_capture(*options.missing);
    ASSERT_TRUE(source);
    EXPECT_EQ(test::read_all(**source).packets.size(), truth.there.lost + truth.back.lost);
    EXPECT_NE(folder_.get("lost.pcapng").find("missing at b.pcap"), std::string::npos);
}

TEST_F(ComparedScene, three_points_tell_a_tap_from_the_network) {
    const Scene truth = make_scene({.loss = 0.02}, folder_);
    // The middle point sees what a sees, but its tap loses every 50th packet.
    std::string middle = folder_.get("a.pcap");
    std::string kept = middle.substr(0, 24);
    std::uint64_t dropped = 0;
    std::uint64_t number = 0;
    for (std::size_t at = 24; at < middle.size(); ++number) {
        std::uint32_t length = 0;
        std::memcpy(&length, middle.data() + at + 8, sizeof length);
        if (number % 50 != 25) {
            kept += middle.substr(at, 16 + length);
        } else {
            ++dropped;
        }
        at += 16 + length;
    }
    folder_.put("m.pcap", kept);
    Options options = options_for(folder_);
    options.inputs.insert(options.inputs.begin() + 1, folder_.file("m.pcap"));
    const Comparison result = compared(options);
    ASSERT_EQ(result.pairs.size(), 3U);
    EXPECT_EQ(result.points[1].passed, result.pairs[2].matched);
    EXPECT_GT(result.points[1].overlooked, dropped * 9 / 10);
    EXPECT_LE(result.points[1].overlooked, dropped);
    EXPECT_EQ(result.pairs[2].there.missing, truth.there.lost);
}

TEST_F(ComparedScene, interfaces_of_one_pcapng_are_points) {
    test::PcapngBuilder builder;
    builder.section().interface(1, 0, {{2, {'e', 't', 'h', '1'}}}).interface(1, 0);
    for (unsigned i = 0; i < 100; ++i) {
        PacketSpec packet;
        packet.id = static_cast<std::uint16_t>(10 + i);
        const Bytes frame = test::build(packet);
        const auto size = static_cast<std::uint32_t>(frame.size());
        builder.enhanced(0, 1'000'000 + i * 1000, frame, size);
        if (i != 50) {
            builder.enhanced(1, 1'000'000 + i * 1000 + 30, frame, size);
        }
    }
    const test::CaptureBytes& bytes = builder.done();
    folder_.put("both.pcapng", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    Options options;
    options.inputs = {folder_.file("both.pcapng")};
    const Comparison result = compared(options);
    ASSERT_EQ(result.points.size(), 2U);
    EXPECT_EQ(result.points[0].name, "eth1");
    EXPECT_EQ(result.points[1].name, "interface 2");
    EXPECT_EQ(result.pairs[0].there.missing, 1U);
    EXPECT_EQ(result.pairs[0].there.delays.median, 30'000);
    EXPECT_EQ(result.pairs[0].clock.relation, ClockRelation::kAssumed);
}

TEST_F(ComparedScene, interfaces_are_points_by_their_order_whatever_their_number) {
    test::PcapngBuilder builder;
    builder.section();
    for (unsigned i = 0; i < 300; ++i) {
        builder.interface(1, 0);
    }
    for (unsigned i = 0; i < 100; ++i) {
        PacketSpec packet;
        packet.id = static_cast<std::uint16_t>(10 + i);
        const Bytes frame = test::build(packet);
        const auto size = static_cast<std::uint32_t>(frame.size());
        builder.enhanced(290, 1'000'000 + i * 1000, frame, size);
        if (i != 50) {
            builder.enhanced(256, 1'000'000 + i * 1000 + 30, frame, size);
        }
        if (i % 10 != 5) {
            builder.enhanced(255, 1'000'000 + i * 1000 + 70, frame, size);
        }
    }
    const test::CaptureBytes& bytes = builder.done();
    folder_.put("many.pcapng", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    Options options;
    options.inputs = {folder_.file("many.pcapng")};
    const Comparison result = compared(options);
    ASSERT_EQ(result.points.size(), 3U);
    EXPECT_EQ(result.points[0].name, "interface 256");
    EXPECT_EQ(result.points[1].name, "interface 257");
    EXPECT_EQ(result.points[2].name, "interface 291");
    EXPECT_EQ(result.points[0].counts.packets, 90U);
    EXPECT_EQ(result.points[1].counts.packets, 99U);
    EXPECT_EQ(result.points[2].counts.packets, 100U);
    ASSERT_EQ(result.pairs.size(), 3U);
    EXPECT_EQ(result.pairs[0].matched, 89U);
    EXPECT_EQ(result.pairs[0].back.delays.median, 40'000);
    EXPECT_EQ(result.pairs[1].back.missing, 1U);
    EXPECT_EQ(result.pairs[1].back.delays.median, 30'000);
}

TEST_F(ComparedScene, captures_of_different_traffic_have_nothing_in_common) {
    make_scene({.packets = 100, .seed = 1}, folder_);
    const std::string other = folder_.get("a.pcap");
    make_scene({.packets = 100, .seed = 99}, folder_);
    folder_.put("a.pcap", other);
    const Comparison result = compared(folder_);
    EXPECT_EQ(result.pairs[0].matched, 0U);
    EXPECT_NE(to_summary_text(result).find("No packet was seen at two points"), std::string::npos);
}

TEST_F(ComparedScene, empty_captures_are_compared) {
    const test::CaptureBytes header = test::pcap_header({});
    folder_.put("a.pcap", {reinterpret_cast<const char*>(header.data()), header.size()});
    folder_.put("b.pcap", {reinterpret_cast<const char*>(header.data()), header.size()});
    const Comparison result = compared(folder_);
    EXPECT_EQ(result.pairs[0].matched, 0U);
    EXPECT_FALSE(to_text(result).empty());
    EXPECT_FALSE(to_html(result).empty());
}

TEST_F(ComparedScene, too_many_interfaces_with_packets_are_refused) {
    test::PcapngBuilder builder;
    builder.section();
    const Bytes frame = test::build({});
    for (unsigned i = 0; i < 300; ++i) {
        builder.interface(1, 0);
        builder.enhanced(i, 1'000'000, frame, static_cast<std::uint32_t>(frame.size()));
    }
    const test::CaptureBytes& bytes = builder.done();
    folder_.put("many.pcapng", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    Options options;
    options.inputs = {folder_.file("many.pcapng")};
    const auto result = compare_all(options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().context, "300 points of observation; allowed: 2 to 32");
}

TEST_F(ComparedScene, one_point_is_too_few) {
    make_scene({.packets = 10}, folder_);
    Options options;
    options.inputs = {folder_.file("a.pcap")};
    const auto result = compare_all(options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kConfig);
    EXPECT_NE(result.error().context.find("two captures or more"), std::string::npos);
}

TEST_F(ComparedScene, reordering_is_counted_within_flows) {
    // Two packets of a flow swap places on the way.
    const test::PcapSpec pcap{.nanoseconds = true};
    const auto capture_of = [&](const std::vector<std::pair<unsigned, unsigned>>& packets) {
        test::CaptureBytes bytes = test::pcap_header(pcap);
        for (const auto& [id, time] : packets) {
            PacketSpec packet;
            packet.id = static_cast<std::uint16_t>(id);
            const Bytes frame = test::build(packet);
            bytes +=
                test::pcap_record(pcap, 1, time, frame, static_cast<std::uint32_t>(frame.size()));
        }
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    folder_.put(
        "a.pcap",
        capture_of({{9, 0}, {10, 10'000}, {11, 10'100}, {12, 10'200}, {13, 10'300}, {14, 20'000}}));
    folder_.put(
        "b.pcap",
        capture_of(
            {{9, 500}, {10, 10'500}, {12, 10'600}, {13, 10'650}, {11, 10'700}, {14, 20'500}}));
    const Path path = compared(folder_).pairs[0].there;
    EXPECT_EQ(path.reordered, 1U);
    EXPECT_EQ(path.reordered_of_all, 1U);
    EXPECT_EQ(path.farthest, 2U);
}

TEST_F(ComparedScene, a_drift_beyond_the_window_is_followed) {
    const Scene truth =
        make_scene({.packets = 20'000, .seconds = 8 * 3600, .drift = 5e-5}, folder_);
    const Comparison result = compared(options_for(folder_));
    EXPECT_EQ(result.pairs[0].there.missing, truth.there.lost);
    EXPECT_EQ(result.pairs[0].back.missing, truth.back.lost);
    EXPECT_NEAR(result.pairs[0].clock.line.drift, 5e-5, 1e-7);
}

TEST_F(ComparedScene, one_direction_with_a_clock_beyond_the_window_is_matched) {
    for (const std::int64_t offset : {10'000'000'000, -10'000'000'000}) {
        const Scene truth = make_scene({.back_share = 0, .offset = offset}, folder_);
        const Comparison result = compared(options_for(folder_));
        EXPECT_EQ(result.pairs[0].matched, truth.there.delays.size()) << offset;
        EXPECT_EQ(result.pairs[0].clock.relation, ClockRelation::kOneWay);
    }
}

TEST_F(ComparedScene, a_nat_between_clocks_far_apart_is_seen_through) {
    SceneSpec spec{.offset = 2'500'000'000};
    spec.at_b = translated;
    const Scene truth = make_scene(spec, folder_);
    Options options = options_for(folder_);
    options.nat = true;
    const Comparison result = compared(options);
    EXPECT_EQ(result.pairs[0].there.missing, truth.there.lost);
    EXPECT_EQ(result.pairs[0].back.missing, truth.back.lost);
    options.memory = least_memory(2);
    const Scene large = make_scene(
        {.packets = 60'000, .loss = 0.05, .offset = 2'500'000'000, .at_b = translated}, folder_);
    const Comparison part = compared(options);
    ASSERT_GE(part.sample_bits, 1U);
    const Path& path = part.pairs[0].there;
    const double share = std::pow(0.5, part.sample_bits);
    const double sent = static_cast<double>(large.there.sent) * share;
    EXPECT_NEAR(static_cast<double>(path.sent), sent, 6 * std::sqrt(sent));
    const double lost = static_cast<double>(large.there.lost) * share;
    EXPECT_NEAR(static_cast<double>(path.missing), lost, 6 * std::sqrt(lost));
}

TEST_F(ComparedScene, a_device_that_sets_the_ttl_anew_does_not_turn_directions) {
    SceneSpec spec;
    spec.at_b = [](const PacketSpec& packet) {
        PacketSpec out = packet;
        const bool forward = (packet.source >> 16) == 0x0A00;
        out.ttl = forward ? 255 : 60;
        return test::build(out);
    };
    const Scene truth = make_scene(spec, folder_);
    const Comparison result = compared(options_for(folder_));
    EXPECT_EQ(result.pairs[0].there.missing, truth.there.lost);
    EXPECT_EQ(result.pairs[0].back.missing, truth.back.lost);
    EXPECT_GE(result.pairs[0].there.delays.least, 1'000'000);
}

TEST_F(ComparedScene, a_mirror_shows_both_directions_later) {
    // The tap sees all packets of both directions, the mirror 20 us later and without every 40th.
    const test::PcapSpec pcap{.nanoseconds = true};
    test::CaptureBytes tap = test::pcap_header(pcap);
    test::CaptureBytes mirror = tap;
    for (unsigned i = 0; i < 2000; ++i) {
        PacketSpec packet;
        packet.id = static_cast<std::uint16_t>(10 + i);
        if (i % 2 == 1) {
            std::swap(packet.source, packet.destination);
        }
        const Bytes frame = test::build(packet);
        const auto size = static_cast<std::uint32_t>(frame.size());
        tap += test::pcap_record(pcap, 1, i * 10'000, frame, size);
        if (i % 40 != 20) {
            mirror += test::pcap_record(pcap, 1, i * 10'000 + 20'000, frame, size);
        }
    }
    folder_.put("a.pcap", {reinterpret_cast<const char*>(tap.data()), tap.size()});
    folder_.put("b.pcap", {reinterpret_cast<const char*>(mirror.data()), mirror.size()});
    Options options = options_for(folder_);
    EXPECT_NE(to_summary_text(compared(options)).find("use --mirror"), std::string::npos);
    options.mirror = true;
    const PointPair pair = compared(options).pairs[0];
    EXPECT_EQ(pair.there.missing, 50U);
    EXPECT_EQ(pair.there.sent + pair.there.unjudged, 2000U);
    EXPECT_EQ(pair.there.delays.median, 20'000);
    EXPECT_EQ(pair.back.sent, 0U);
}

TEST_F(ComparedScene, packets_that_are_cut_at_different_places_are_told) {
    SceneSpec spec{.packets = 500};
    spec.at_b = [](const PacketSpec& packet) {
        PacketSpec out = packet;
        out.tags = {{0x8100, 7}};
        return test::build(out);
    };
    make_scene(spec, folder_);
    for (const char* const name : {"a.pcap", "b.pcap"}) {  // as with a snapshot length of 60
        const std::string whole = folder_.get(name);
        std::string cut = whole.substr(0, 24);
        for (std::size_t at = 24; at < whole.size();) {
            std::uint32_t length = 0;
            std::memcpy(&length, whole.data() + at + 8, sizeof length);
            const std::uint32_t kept = std::min<std::uint32_t>(length, 60);
            cut += whole.substr(at, 8);
            cut.append(reinterpret_cast<const char*>(&kept), 4);
            cut += whole.substr(at + 12, 4 + kept);
            at += 16 + length;
        }
        folder_.put(name, cut);
    }
    Options options = options_for(folder_);
    EXPECT_NE(to_summary_text(compared(options)).find("--key-bytes"), std::string::npos);
    options.key_bytes = 40;
    const Comparison result = compared(options);
    EXPECT_GT(result.pairs[0].matched, 490U);
    EXPECT_EQ(to_summary_text(result).find("--key-bytes"), std::string::npos);
}

TEST_F(ComparedScene, a_clock_that_was_set_meanwhile_is_told) {
    make_scene({.packets = 2000}, folder_);
    const std::string whole = folder_.get("b.pcap");
    std::string set = whole;
    for (std::size_t at = 24; at < whole.size();) {
        std::uint32_t length = 0;
        std::memcpy(&length, whole.data() + at + 8, sizeof length);
        if (at > whole.size() / 2) {
            std::uint32_t seconds = 0;
            std::memcpy(&seconds, whole.data() + at, sizeof seconds);
            seconds += 5;
            std::memcpy(set.data() + at, &seconds, sizeof seconds);
        }
        at += 16 + length;
    }
    folder_.put("b.pcap", set);
    const Comparison result = compared(options_for(folder_));
    EXPECT_NE(to_summary_text(result).find("a clock was set meanwhile"), std::string::npos)
        << to_summary_text(result);
}

TEST_F(ComparedScene, one_packet_alone_cannot_be_judged) {
    make_scene({.packets = 1, .loss = 0, .back_share = 0}, folder_);
    const Comparison result = compared(options_for(folder_));
    EXPECT_EQ(result.pairs[0].matched, 1U);
    EXPECT_EQ(result.pairs[0].there.sent, 0U);
    EXPECT_NE(to_summary_text(result).find("No packet could be judged"), std::string::npos);
}

TEST_F(ComparedScene, one_key_that_fills_the_memory_is_left_out) {
    const test::PcapSpec pcap{.nanoseconds = true};
    test::CaptureBytes bytes = test::pcap_header(pcap);
    const Bytes frame = test::build({.version = 6});
    for (unsigned i = 0; i < 200'000; ++i) {
        bytes +=
            test::pcap_record(pcap, 1, i * 1000, frame, static_cast<std::uint32_t>(frame.size()));
    }
    const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    folder_.put("a.pcap", text);
    folder_.put("b.pcap", text);
    Options options = options_for(folder_);
    options.memory = least_memory(2);
    const Comparison one = compared(options);
    EXPECT_EQ(one.points[0].compared, one.points[1].compared);
    options.threads = 2;
    EXPECT_EQ(to_json(compared(options)), to_json(one));
}

TEST_F(ComparedScene, text_json_and_page_say_the_same) {
    const Scene truth = make_scene({.hops = 1}, folder_);
    const Comparison result = compared(folder_);
    const nlohmann::ordered_json json = to_json(result);
    EXPECT_EQ(json["pairs"][0]["paths"][0]["missing"], truth.there.lost);
    EXPECT_EQ(json["pairs"][0]["paths"][1]["missing"], truth.back.lost);
    const std::string text = to_text(result);
    const std::string page = to_html(result);
    const std::string lost = format_count(truth.there.lost) + " of " +
                             format_count(result.pairs[0].there.sent) + " packets missing";
    EXPECT_NE(text.find(lost), std::string::npos) << text;
    EXPECT_NE(page.find(lost), std::string::npos);
    EXPECT_NE(page.find("<figure>"), std::string::npos);
}

}  // namespace
}  // namespace unecho::compare
