// SPDX-License-Identifier: BSD-3-Clause
#include "config/starter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"

namespace unecho::config {
namespace {

Starter taps(std::vector<std::string> from, std::string to) {
    Starter starter;
    starter.taps = std::move(from);
    starter.tool = std::move(to);
    return starter;
}

Starter link(std::vector<std::string> ends) {
    Starter starter;
    starter.link = std::move(ends);
    return starter;
}

Config loaded(const Starter& starter) {
    EXPECT_TRUE(check_starter(starter)) << check_starter(starter).error().context;
    const std::string text = starter_toml(starter, "first.toml");
    auto config = load_text(text, "first.toml");
    if (!config) {
        ADD_FAILURE() << to_text(config.error(), "first.toml") << text;
        return {};
    }
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
        EXPECT_LE(text.find('\n', begin) - begin, 100U) << text.substr(begin, 120);
    }
    return std::move(*config);
}

TEST(Starter, of_taps_has_a_route_from_all_of_them) {
    const Config config = loaded(taps({"eth1", "0000:3b:00.0", "eth2"}, "eth3"));
    ASSERT_EQ(config.ports.size(), 4U);
    EXPECT_EQ(config.ports[0].device, "net_af_packet0,iface=eth1");
    EXPECT_EQ(config.ports[1].device, "0000:3b:00.0");
    EXPECT_EQ(config.ports[3].name, "tool");
    ASSERT_EQ(config.routes.size(), 1U);
    EXPECT_EQ(config.routes[0].from, (std::vector<PortIndex>{0, 1, 2}));
    EXPECT_EQ(config.routes[0].to, 3U);
    EXPECT_EQ(config.filters[0].window, 50 * kMillisecond);
}

TEST(Starter, of_a_link_has_a_filter_for_each_direction) {
    Starter starter = link({"eth1", "eth2"});
    starter.window = 5 * kMillisecond;
    starter.rate = 2e6;
    const Config config = loaded(starter);
    ASSERT_EQ(config.routes.size(), 2U);
    EXPECT_EQ(config.routes[0].to, 1U);
    EXPECT_EQ(config.routes[1].to, 0U);
    EXPECT_NE(config.routes[0].filter, config.routes[1].filter);
    EXPECT_EQ(config.filters[1].window, 5 * kMillisecond);
    EXPECT_EQ(config.filters[1].rate, 2e6);
}

TEST(Starter, over_af_xdp_has_buffers_for_every_port) {
    Starter starter = link({"eth1", "eth2"});
    starter.af_xdp = true;
    starter.telemetry_group = "unecho";
    const Config config = loaded(starter);
    EXPECT_EQ(config.ports[1].device, "net_af_xdp1,iface=eth2");
    EXPECT_EQ(config.ports[1].rx_queues, 1U);
    EXPECT_EQ(config.run.mbufs, 32768U);
    EXPECT_EQ(config.run.telemetry_group, "unecho");
}

TEST(Starter, takes_no_name_that_would_be_more_than_a_name) {
    const auto refused = [](const Starter& starter) {
        const Status status = check_starter(starter);
        return status ? std::string() : status.error().context;
    };
    EXPECT_EQ(refused(taps({"eth1"}, "")), "it is not said which interface leads to the tool");
    EXPECT_EQ(refused(taps({}, "eth1")), "it is not said which interfaces are taps");
    EXPECT_EQ(refused(taps({"eth1", "eth1"}, "eth2")), "interface \"eth1\" is there twice");
    EXPECT_EQ(refused(link({"eth1"})), "a link has 2 interfaces, not 1");
    EXPECT_NE(refused(taps(std::vector<std::string>(32, "eth1"), "eth2")), "");
    for (const char* name : {"", "eth1,queue_count=2", "eth1\"", "-i", "a b", "sixteen-letters-"}) {
        EXPECT_NE(refused(link({"eth2", name})), "") << name;
    }
    Starter both = link({"eth1", "eth2"});
    both.taps = {"eth3"};
    EXPECT_NE(refused(both), "");
}

}  // namespace
}  // namespace unecho::config
