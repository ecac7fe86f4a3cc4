// SPDX-License-Identifier: BSD-3-Clause
// Packets inside tunnels: how they are counted, which view the report has, what is recommended.
#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "captures/analyze/recommend/choose_view.h"
#include "captures/analyze/recommend/recommend.h"
#include "captures/analyze/report/report_text.h"
#include "captures/analyze/report/report_toml.h"
#include "stream.h"

namespace unecho::analyze {
namespace {

using test::Bytes;
using test::Draw;
using test::PacketSpec;
using test::Wrapped;

PacketSpec plain_packet(unsigned number) {
    PacketSpec spec;
    spec.id = static_cast<std::uint16_t>(number + 2);
    spec.source = 0x0A000000 | number >> 16;
    spec.payload = test::counting(60);
    return spec;
}

Report analysed(const Stream& stream, std::uint64_t memory = std::uint64_t{64} << 20,
                std::uint16_t link_type = 1) {
    Collector collector(memory, hash::secret_from_seed(1));
    const std::vector<capture::Interface> interfaces(4, [&] {
        capture::Interface one;
        one.link_type = link_type;
        return one;
    }());
    collector.add(stream.records(), interfaces);
    Views views = collector.views();
    auto [chosen, report] = choose_view(views);
    report.files.resize(1);
    recommend(report, {chosen->accepted(), chosen->all()});
    report.recommendation.toml = to_toml(report);
    return report;
}

std::uint64_t copied(const Report& report, Cause cause) {
    return report.causes[static_cast<std::size_t>(cause)].copied.packets;
}

std::uint64_t copied(const Report& report, TunnelRelation meeting) {
    return report.tunnels->meetings[static_cast<std::size_t>(meeting)].copied.packets;
}

using Names = std::vector<std::string>;

TEST(Tunnels, capture_without_any_says_nothing_of_them) {
    Stream stream;
    stream.add(0, plain_packet(1));
    stream.add(1, plain_packet(1));
    const Report report = analysed(stream);
    EXPECT_FALSE(report.tunnels);
    EXPECT_TRUE(report.recommendation.tunnels_reason.empty());
    EXPECT_EQ(report.recommendation.toml.find("tunnels"), std::string::npos);
}

TEST(Tunnels, plain_packet_and_its_tunnelled_copy_meet_whichever_comes_first) {
    Stream stream;
    Nanoseconds now = kSecond;
    for (unsigned i = 0; i < 40; ++i) {
        const Bytes inside = tunnelled(plain_packet(i), "vxlan", 7, i);
        const Bytes plain = test::build(plain_packet(i));
        stream.add(now, i % 2 == 0 ? plain : inside);
        stream.add(now + 100 * kMicrosecond, i % 2 == 0 ? inside : plain);
        now += kMillisecond;
    }
    const Report report = analysed(stream);
    ASSERT_TRUE(report.tunnels);
    EXPECT_EQ(report.total.packets, 80U);
    EXPECT_EQ(report.copied.packets, 40U);
    EXPECT_EQ(copied(report, Cause::kTunnelled), 40U);
    EXPECT_EQ(copied(report, TunnelRelation::kWithPlain), 40U);
    EXPECT_EQ(report.tunnels->needing.packets, 40U);
    EXPECT_EQ(report.tunnels->opened.packets, 40U);
    EXPECT_EQ(report.recommendation.tunnels, Names{"vxlan"});
    EXPECT_EQ(report.recommendation.tenant, packet::Tenant::kIgnore);
    EXPECT_EQ(report.recommendation.removed.packets, 40U);
    EXPECT_EQ(report.recommendation.window, kMillisecond);
    EXPECT_NE(report.recommendation.toml.find("tunnels = [\"vxlan\"]"), std::string::npos);
}

TEST(Tunnels, copies_in_several_tunnels_have_a_cause_of_their_own) {
    Stream stream;
    for (unsigned i = 0; i < 20; ++i) {
        stream.add(i * kMicrosecond, tunnelled(plain_packet(1), "nvgre", 100 + i, i));
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 19U);
    EXPECT_EQ(copied(report, Cause::kTunnels), 19U);
    EXPECT_EQ(report.tunnels->across_tenants.packets, 19U);
    EXPECT_EQ(report.tunnels->tenants.size(), 20U);
    EXPECT_EQ(report.recommendation.tunnels, Names{"gre"});
    EXPECT_EQ(report.recommendation.tenant, packet::Tenant::kIgnore);
    EXPECT_NE(report.recommendation.tunnels_reason.find("allow_tunnel_drop_on_link"),
              std::string::npos);
}

// Tunnels inside one outer tunnel have ends of their own.
TEST(Tunnels, inside_tunnels_are_others_where_their_ends_are) {
    const auto nested = [](unsigned number, std::uint32_t end) {
        PacketSpec vxlan;
        vxlan.source = end;
        vxlan.destination_port = 4789;
        vxlan.payload = {8, 0, 0, 0, 0, 0, 7, 0};
        const Bytes inner = test::build(plain_packet(number));
        vxlan.payload.insert(vxlan.payload.end(), inner.begin(), inner.end());
        PacketSpec outer;
        outer.protocol = 4;
        outer.payload = test::build_ip(vxlan);
        return test::build(outer);
    };
    Stream stream;
    for (unsigned i = 0; i < 20; ++i) {
        stream.add(2 * i * kMillisecond, nested(i, 1));
        stream.add((2 * i + 1) * kMillisecond, nested(i, 2));
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 20U);
    EXPECT_EQ(copied(report, Cause::kTunnels), 20U);
    // All have one tenant, so comparing tenants separates nothing.
    EXPECT_EQ(report.tunnels->tenants.size(), 1U);
    EXPECT_EQ(report.recommendation.tenant, packet::Tenant::kIgnore);
}

TEST(Tunnels, copies_of_one_tenant_each_may_be_kept_apart_by_it) {
    Stream stream;
    for (unsigned i = 0; i < 20; ++i) {
        for (unsigned copy = 0; copy < 2; ++copy) {
            stream.add(
                i * kMillisecond + copy * 10,
                tunnelled(plain_packet(i), "geneve with Ethernet", 1 + i % 2, 100 * i + copy));
        }
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 20U);
    EXPECT_EQ(report.tunnels->across_tenants.packets, 0U);
    EXPECT_EQ(report.recommendation.tenant, packet::Tenant::kMatch);
    EXPECT_NE(report.recommendation.toml.find("tenant = \"match\""), std::string::npos);
}

// A router that lowers the outer TTL changes neither the outer key nor anything inside.
TEST(Tunnels, copies_with_their_tunnels_need_none_opened) {
    Stream stream;
    for (unsigned i = 0; i < 20; ++i) {
        const Bytes frame = tunnelled(plain_packet(i), "gtp-u", 9, i);
        stream.add(i * kMillisecond, frame, 0);
        stream.add(i * kMillisecond + 50, frame, 1);
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 20U);
    EXPECT_EQ(copied(report, TunnelRelation::kWhole), 20U);
    EXPECT_EQ(report.tunnels->needing.packets, 0U);
    EXPECT_TRUE(report.recommendation.tunnels.empty());
    EXPECT_NE(report.recommendation.toml.find("tunnels = \"none\""), std::string::npos);
}

TEST(Tunnels, list_has_no_more_than_it_needs) {
    Stream stream;
    for (unsigned i = 0; i < 20; ++i) {
        stream.add(i * kMillisecond, plain_packet(i));
        stream.add(i * kMillisecond + 50, tunnelled(plain_packet(i), "erspan II", 0, i));
        stream.add(i * kMillisecond + 90, tunnelled(plain_packet(1000 + i), "gtp-u", 5, i));
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.recommendation.tunnels, Names{"erspan"});
    EXPECT_EQ(report.tunnels->encapsulations.size(), 2U);
}

TEST(Tunnels, nested_ones_are_told_apart_by_how_they_are_nested) {
    Stream stream;
    Draw draw(1);
    const Wrapped inner{test::build(plain_packet(1)), true};
    const Wrapped once = test::wrap(wrapping("vxlan"), inner, 3, draw);
    const Wrapped twice = test::wrap(wrapping("gre with a key"), once, 4, draw);
    stream.add(0, test::on_ethernet(once, draw));
    stream.add(1, test::on_ethernet(twice, draw));
    stream.add(2, test::on_ethernet(twice, draw));
    const TunnelReport tunnels = *analysed(stream).tunnels;
    ASSERT_EQ(tunnels.stacks.size(), 2U);
    EXPECT_EQ(tunnels.stacks[0].names, (Names{"gre", "vxlan"}));
    EXPECT_EQ(tunnels.stacks[0].total.packets, 2U);
    EXPECT_EQ(tunnels.stacks[1].names, Names{"vxlan"});
    EXPECT_EQ(tunnels.encapsulations[0].name, "vxlan");
    EXPECT_EQ(tunnels.encapsulations[0].total.packets, 3U);
    ASSERT_EQ(tunnels.tenants.size(), 1U);  // the innermost one
    EXPECT_EQ(tunnels.tenants[0].kind, "VNI");
    EXPECT_EQ(tunnels.tenants[0].number, 3U);
    EXPECT_EQ(tunnels.meetings[static_cast<std::size_t>(TunnelRelation::kOtherKind)].copied.packets,
              2U);
}

// A router repeats its hellos in another tunnel: they are repeats all the same.
TEST(Tunnels, what_is_sent_again_inside_is_no_reason_to_open) {
    Stream stream;
    PacketSpec hello = plain_packet(0);
    hello.id = 0;
    for (unsigned i = 0; i < 10; ++i) {
        stream.add(i * kSecond, tunnelled(hello, "vxlan", 1, i));
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 0U);
    EXPECT_TRUE(report.recommendation.tunnels.empty());
    EXPECT_FALSE(report.recommendation.needed);
}

// Both views know the packets before the first tunnel, with all windows and bucket times.
TEST(Tunnels, nothing_before_the_first_tunnel_is_lost) {
    std::mt19937_64 random(4);
    Stream stream;
    Nanoseconds now = 0;
    std::vector<unsigned> seen;
    for (unsigned i = 0; i < 3000; ++i) {
        now += random() % (2 * kMillisecond);
        const bool again = !seen.empty() && random() % 2 == 0;
        const unsigned number = again ? seen[random() % seen.size()] : i;
        seen.push_back(number);
        stream.add(now, plain_packet(number % 300));
    }
    const Report before = stream.report();
    PacketSpec other = plain_packet(5000);
    other.source_port = 7;
    stream.add(now, tunnelled(other, "vxlan", 1, 1));
    Collector collector(std::uint64_t{64} << 20, hash::secret_from_seed(1));
    collector.add(stream.records(), stream.interfaces());
    ASSERT_NE(collector.inside(), nullptr);
    for (Collector* view : {&collector, collector.inside()}) {
        const Report after = view->report();
        EXPECT_EQ(after.total.packets, before.total.packets + 1);
        EXPECT_EQ(after.echoes, before.echoes);
        for (unsigned i = 0; i < kWindows; ++i) {
            EXPECT_EQ(after.windows[i].fixed, before.windows[i].fixed) << i;
            EXPECT_EQ(after.windows[i].refresh, before.windows[i].refresh) << i;
            EXPECT_EQ(after.modes[1].rows[i].lost, before.modes[1].rows[i].lost) << i;
        }
    }
}

// Replace the Ethernet header by that of a Linux cooked capture.
Bytes cooked(const Bytes& frame) {
    Bytes out{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0};
    out.insert(out.end(), frame.begin() + 12, frame.end());
    return out;
}

TEST(Tunnels, are_named_behind_every_link_type) {
    constexpr std::uint16_t kCooked = 113;
    constexpr std::uint16_t kRawIp = 101;
    for (const char* name : {"pbb", "mpls-pw", "vxlan"}) {
        const bool below_link = wrapping(name).gives_ethernet;
        for (const std::uint16_t link_type : {kCooked, kRawIp}) {
            if (below_link && link_type == kRawIp) {
                continue;  // this link type carries IP packets only
            }
            SCOPED_TRACE(std::string(name) + ", link type " + std::to_string(link_type));
            Stream stream;
            for (unsigned i = 0; i < 20; ++i) {
                Draw draw(i);
                const Wrapped wrapped =
                    test::wrap(wrapping(name), {test::build(plain_packet(i)), true}, 7, draw);
                stream.add(i * kMillisecond, below_link ? cooked(wrapped.bytes)
                                             : link_type == kCooked
                                                 ? cooked(test::on_ethernet(wrapped, draw))
                                                 : wrapped.bytes);
                const Bytes plain = test::build(plain_packet(i));
                stream.add(i * kMillisecond + 50, link_type == kCooked
                                                      ? cooked(plain)
                                                      : Bytes(plain.begin() + 14, plain.end()));
            }
            const Report report = analysed(stream, std::uint64_t{64} << 20, link_type);
            EXPECT_EQ(report.copied.packets, 20U);
            ASSERT_TRUE(report.tunnels);
            EXPECT_EQ(report.tunnels->opened.packets, 20U);
            ASSERT_EQ(report.tunnels->stacks.size(), 1U);
            EXPECT_EQ(report.tunnels->stacks[0].names, Names{name});
            EXPECT_EQ(copied(report, Cause::kTunnelled), 20U);
            EXPECT_EQ(copied(report, TunnelRelation::kWithPlain), 20U);
            EXPECT_EQ(report.recommendation.tunnels, Names{name});
        }
    }
}

// When two collectors share the memory, evicted keys still count as often as they occurred.
TEST(Tunnels, times_that_keys_were_met_come_to_all_keys_when_memory_is_full) {
    Stream stream;
    for (unsigned i = 0; i < 40'000; ++i) {
        stream.add(i * kMicrosecond, plain_packet(i));
        if (i % 3 == 0) {
            stream.add(i * kMicrosecond, plain_packet(i));
        }
    }
    stream.add(kSecond, tunnelled(plain_packet(50'000), "vxlan", 1, 1));
    Collector collector(std::uint64_t{4} << 20, hash::secret_from_seed(1));
    collector.add(stream.records(), stream.interfaces());
    for (Collector* view : {&collector, collector.inside()}) {
        const Report report = view->report();
        EXPECT_TRUE(report.blind_after);
        std::uint64_t sum = 0;
        for (const std::uint64_t keys : report.key_times) {
            sum += keys;
        }
        EXPECT_EQ(sum, report.keys);
        EXPECT_EQ(report.key_times[1], 13'334U);
    }
}

TEST(Tunnels, views_together_stay_within_the_memory) {
    constexpr std::uint64_t kMemory = std::uint64_t{4} << 20;
    Stream stream;
    for (unsigned i = 0; i < 60'000; ++i) {
        stream.add(i * kMicrosecond, plain_packet(i));
        if (i % 100 == 0 && i > 30'000) {
            stream.add(i * kMicrosecond, tunnelled(plain_packet(i), "vxlan", 1, i));
        }
    }
    const Report report = analysed(stream, kMemory);
    EXPECT_TRUE(report.blind_after);
    EXPECT_LE(report.memory_bytes, kMemory + kMemory / 4);
    EXPECT_GT(copied(report, TunnelRelation::kWithPlain), 250U);
}

// A tap, and a mirror in a tunnel that is 5 s late: the report must mention the clocks.
TEST(Tunnels, clocks_that_differ_are_told_though_only_looking_inside_tells_them) {
    Stream stream;
    for (unsigned i = 0; i < 200; ++i) {
        const Nanoseconds now = kSecond + i * 50 * kMillisecond;
        stream.add(now, plain_packet(i), 0);
        if (i >= 100) {
            stream.add(now, tunnelled(plain_packet(i - 100), "vxlan", 7, i), 1);
        }
    }
    const Report report = analysed(stream);
    ASSERT_EQ(report.clock_shifts.size(), 1U);
    EXPECT_EQ(report.clock_shifts[0].age, 5 * kSecond);
    EXPECT_EQ(report.copied.packets, 100U);
    EXPECT_EQ(report.recommendation.tunnels, Names{"vxlan"});
}

// ---- key_bytes ----------------------------------------------------------------------------------

// Add a frame as a snap length cuts it.
void add_cut(Stream& stream, Nanoseconds now, const PacketSpec& spec, std::size_t bytes) {
    Bytes frame = test::build(spec);
    frame.resize(std::min(frame.size(), bytes));
    stream.add(now, std::move(frame), 1);
}

PacketSpec long_packet(unsigned number) {
    PacketSpec spec = plain_packet(number);
    spec.payload = test::counting(600);
    return spec;
}

TEST(KeyBytes, copies_cut_short_ask_for_as_many_bytes_as_all_have) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        stream.add(i * kMillisecond, long_packet(i));
        add_cut(stream, i * kMillisecond + 100, long_packet(i), 14 + 150);
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.cut.packets, 50U);
    ASSERT_EQ(report.key_bytes.size(), kKeyBytesAsked.size());
    for (std::size_t i = 0; i < kKeyBytesAsked.size(); ++i) {
        EXPECT_EQ(report.key_bytes[i].cut.packets, kKeyBytesAsked[i] <= 150 ? 50U : 0U) << i;
        EXPECT_EQ(report.key_bytes[i].others.packets, 0U) << i;
    }
    EXPECT_EQ(report.recommendation.key_bytes, 128U);
    EXPECT_TRUE(report.recommendation.needed);
    EXPECT_NE(report.recommendation.toml.find("key_bytes = 128"), std::string::npos);
}

// All packets are long: complete at one interface, and cut in tunnels of two tenants at the other.
TEST(KeyBytes, tenants_are_ignored_where_only_copies_cut_short_are_of_another) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        stream.add(i * kMillisecond, long_packet(i));
        Draw draw(i);
        Bytes cut = test::build(long_packet(i));
        cut.resize(150);
        const Wrapped mirrored = test::wrap(wrapping("vxlan"), {cut, true}, 1 + i % 2, draw);
        stream.add(i * kMillisecond + 100, test::on_ethernet(mirrored, draw));
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.recommendation.key_bytes, 128U);
    EXPECT_EQ(report.recommendation.removed_cut.packets, 50U);
    EXPECT_EQ(report.recommendation.tunnels, Names{"vxlan"});
    EXPECT_EQ(report.recommendation.tenant, packet::Tenant::kIgnore);
}

TEST(KeyBytes, copies_cut_short_are_said_wherever_copies_are) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        stream.add(i * kMillisecond, long_packet(i));
        add_cut(stream, i * kMillisecond + 100, long_packet(i), 14 + 150);
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 0U);
    const std::string text = to_text(report);
    EXPECT_NE(text.find("50.0 % of the packets are copies, cut at another length: 50."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("Each is of a packet that was captured longer or shorter."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("Drops 0 packets, and 50 cut short."), std::string::npos) << text;
    const std::string& toml = report.recommendation.toml;
    EXPECT_NE(toml.find("of which 50 are copies cut"), std::string::npos) << toml;
    EXPECT_NE(toml.find("50, 50.0 % of all packets."), std::string::npos) << toml;
    EXPECT_EQ(to_html(report).find("No copies."), std::string::npos);

    stream.add(50 * kMillisecond, long_packet(50));
    stream.add(50 * kMillisecond + 100, long_packet(50));
    const std::string both = to_text(analysed(stream));
    EXPECT_NE(both.find(" of the packets are copies: 1."), std::string::npos) << both;
    EXPECT_NE(both.find("50 packets more are copies of"), std::string::npos) << both;
}

TEST(KeyBytes, packets_that_differ_only_behind_them_forbid_it) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        PacketSpec spec = long_packet(0);
        spec.id = 0;
        spec.protocol = 253;  // no checksum in front of the difference
        spec.payload[500] = static_cast<std::uint8_t>(i);
        stream.add(i * 300 * kMicrosecond, spec);
        add_cut(stream, i * 300 * kMicrosecond + 100, spec, 14 + 150);
    }
    const Report report = analysed(stream);
    ASSERT_EQ(report.key_bytes.size(), kKeyBytesAsked.size());
    EXPECT_GT(report.key_bytes[2].others.packets, 0U);
    EXPECT_FALSE(report.recommendation.key_bytes);
    EXPECT_NE(report.recommendation.key_bytes_reason.find("no cop"), std::string::npos);
}

// One lost packet costs as much as a thousand kept copies: 2,000 outweigh it, 900 do not.
TEST(KeyBytes, one_packet_that_is_no_copy_among_thousands_allows_it) {
    for (const unsigned copies : {900U, 2000U}) {
        Stream stream;
        for (unsigned i = 0; i < copies; ++i) {
            stream.add(i * kMillisecond, long_packet(i));
            add_cut(stream, i * kMillisecond + 100, long_packet(i), 14 + 150);
        }
        for (unsigned i = 0; i < 2; ++i) {
            PacketSpec spec = long_packet(copies);
            spec.protocol = 253;  // no checksum in front of the difference
            spec.payload[500] = static_cast<std::uint8_t>(i);
            stream.add(copies * kMillisecond + i * 100 * kMicrosecond, spec);
        }
        const Recommendation out = analysed(stream).recommendation;
        EXPECT_EQ(out.key_bytes.has_value(), copies == 2000);
        EXPECT_NE(out.key_bytes_reason.find("1 packet that is no copy"), std::string::npos)
            << out.key_bytes_reason;
    }
}

TEST(KeyBytes, capture_that_is_cut_everywhere_alike_asks_for_nothing) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        add_cut(stream, i * kMillisecond, long_packet(i), 110);
        add_cut(stream, i * kMillisecond + 100, long_packet(i), 110);
    }
    const Report report = analysed(stream);
    EXPECT_EQ(report.copied.packets, 50U);
    EXPECT_FALSE(report.recommendation.key_bytes);
}

TEST(KeyBytes, are_not_counted_where_nothing_asks_for_them) {
    Stream stream;
    for (unsigned i = 0; i < 50; ++i) {
        stream.add(i * kMillisecond, long_packet(i));
    }
    EXPECT_TRUE(analysed(stream).key_bytes.empty());
}

}  // namespace
}  // namespace unecho::analyze
