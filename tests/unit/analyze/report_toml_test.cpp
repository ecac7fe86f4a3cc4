// SPDX-License-Identifier: BSD-3-Clause
// The recommendation is a valid configuration, and means the same there.
#include "captures/analyze/report/report_toml.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "config/load.h"
#include "sample_report.h"

namespace unecho::analyze {
namespace {

namespace fs = std::filesystem;

class Toml : public testing::Test {
  protected:
    Toml() : folder_(fs::path(testing::TempDir()) / "unecho toml \"test\"") {
        fs::create_directories(folder_);
    }
    ~Toml() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    std::string file(const std::string& name) {
        const fs::path path = folder_ / name;
        std::ofstream(path) << "x";
        return path.string();
    }

    static Report report_of(const std::vector<std::string>& paths, std::uint16_t link_type = 1) {
        Report report;
        for (const std::string& path : paths) {
            report.files.push_back({path, {10, 1000}, {}, {}, path != "-"});
            InterfaceInfo info;
            info.link_type = link_type;
            report.interfaces.push_back(info);
        }
        Recommendation& out = report.recommendation;
        out.window = 20 * kMillisecond;
        out.rate = 12'300;
        out.policy = engines::Policy::kRefresh;
        out.key_reason = "Because of the \"key\".";
        out.window_reason = "It is long enough.";
        out.rate_reason = "It is fast enough.";
        out.policy_reason = "It is right.";
        return report;
    }

    static config::Config loaded(const std::string& text) {
        const config::LoadResult result = config::load_text(text, "recommended.toml");
        if (!result) {
            ADD_FAILURE() << config::to_text(result.error(), "recommended.toml") << text;
            return {};
        }
        return *result;
    }

    fs::path folder_;
};

TEST_F(Toml, replays_captures_that_net_pcap_can_read) {
    const std::string a = file("a.pcap");
    const std::string b = file(R"(b \ b,c=d[.pcapng)");
    const config::Config config = loaded(to_toml(report_of({a, b})));
    ASSERT_EQ(config.ports.size(), 3U);
    EXPECT_EQ(config.ports[0].device, "net_pcap0,rx_pcap=" + a);
    EXPECT_EQ(config.ports[1].device, "net_pcap1,rx_pcap=" + b);
    ASSERT_EQ(config.filters.size(), 1U);
    EXPECT_EQ(config.filters[0].window, 20 * kMillisecond);
    EXPECT_EQ(config.filters[0].rate, 12'300);
    EXPECT_EQ(config.filters[0].policy, config::Policy::kRefresh);
    EXPECT_EQ(config.filters[0].max_false_drop, 1e-6);
    ASSERT_EQ(config.routes.size(), 1U);
    EXPECT_EQ(config.routes[0].from.size(), 2U);
    EXPECT_EQ(config.run.clock, config::Clock::kCapture);
}

TEST_F(Toml, pcap_options_name_what_is_not_the_default) {
    Report report = report_of({file("a.pcap")});
    Recommendation& wanted = report.recommendation;
    wanted.non_ip = packet::NonIp::kPass;
    EXPECT_EQ(pcap_options(report), "--key packet --window 20ms --policy refresh");
    wanted.policy = engines::Policy::kFixed;
    wanted.non_ip = packet::NonIp::kFrame;
    wanted.repeats = packet::Repeats::kDrop;
    EXPECT_EQ(pcap_options(report), "--key packet --window 20ms --non-ip frame --repeats drop");
    wanted.repeats = packet::Repeats::kKeep;
    wanted.same_port = 250 * kMicrosecond;
    wanted.views = 4;
    EXPECT_EQ(pcap_options(report),
              "--key packet --window 20ms --non-ip frame --same-port 250us --views 4");
    const std::string text = to_toml(report);
    EXPECT_NE(text.find("\nsame_port = \"250us\"\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nviews = 4\n"), std::string::npos) << text;
}

TEST_F(Toml, frames_that_the_replay_cuts_are_spoken_of_where_there_are_any) {
    Report report = report_of({file("a.pcap")});
    report.basis.longest_frame = 16128;
    EXPECT_EQ(to_toml(report).find("net_pcap cuts"), std::string::npos);
    report.basis.longest_frame = 16129;
    EXPECT_NE(to_toml(report).find("# net_pcap cuts frames above 16,128 bytes, and the longest "
                                   "here has 16,129"),
              std::string::npos)
        << to_toml(report);
    EXPECT_EQ(loaded(to_toml(report)).ports.size(), 2U);
    EXPECT_EQ(to_toml(report_of({"-"})).find("net_pcap cuts"), std::string::npos);
}

TEST_F(Toml, network_variant_in_the_comment_is_a_configuration_too) {
    const std::string text = to_toml(report_of({file("a.pcap"), file("b.pcap")}));
    std::string network;
    std::size_t at = 0;
    while ((at = text.find("\n#   ", at)) != std::string::npos) {
        const std::size_t end = text.find('\n', at + 1);
        network += text.substr(at + 5, end - at - 5) + "\n";
        at = end;
    }
    const std::size_t filter = text.find("[[filter]]");
    const config::Config config =
        loaded(network + text.substr(filter, text.rfind("[run]") - filter));
    ASSERT_EQ(config.ports.size(), 3U);
    EXPECT_EQ(config.ports[1].device, "net_af_packet1,iface=eth2");
}

TEST_F(Toml, what_cannot_be_replayed_is_for_the_network) {
    Report compressed = report_of({file("a.pcap")});
    compressed.files[0].plain = false;
    for (const Report& report :
         {compressed, report_of({"-"}), report_of({file("a,rx_pcap=b.pcap")}),
          report_of({file("a\nb.pcap")}), report_of({file("a.pcap")}, 113)}) {
        const std::string text = to_toml(report);
        const config::Config config = loaded(text);
        ASSERT_EQ(config.ports.size(), 2U);
        EXPECT_EQ(config.ports[0].device, "net_af_packet0,iface=eth1");
        EXPECT_EQ(config.run.clock, config::Clock::kTsc);
    }
}

TEST_F(Toml, as_many_taps_as_interfaces_and_no_more_than_ports) {
    Report report = report_of({"-"});
    InterfaceInfo one;
    one.total = {1, 60};
    report.interfaces.assign(3, one);
    EXPECT_EQ(loaded(to_toml(report)).ports.size(), 4U);
    report.interfaces.resize(30);  // 27 without packets
    EXPECT_EQ(loaded(to_toml(report)).ports.size(), 4U);
    report.interfaces.assign(300, one);
    EXPECT_EQ(loaded(to_toml(report)).ports.size(), kMaxPorts);
    std::vector<std::string> many(kMaxPorts + 3, file("a.pcap"));
    EXPECT_EQ(loaded(to_toml(report_of(many))).ports.size(), kMaxPorts);
}

TEST_F(Toml, hostile_names_change_nothing) {
    const config::Config config = loaded(to_toml(hostile_report()));
    EXPECT_EQ(config.filters.size(), 1U);
}

}  // namespace
}  // namespace unecho::analyze
