// SPDX-License-Identifier: BSD-3-Clause
// What a host lacks for a plan. All hosts are invented.
#include "appliance/plan/host.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "appliance/eal/memory_args.h"
#include "appliance/plan/devices.h"
#include "unit/appliance/plans.h"

namespace unecho::appliance {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
using Words = std::vector<std::string>;

config::Config taps_on(const Words& devices) {
    config::Config config = taps_to_tool();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        config.ports[i].device = devices[i];
    }
    return config;
}

// A host with hugepages and the interfaces eth0 and eth1, which nobody uses.
Host roomy_host() {
    Host host;
    host.interfaces = {{"eth0", {}}, {"eth1", {}}};
    host.names = {"lo", "eth0", "eth1"};
    host.memory = {16 * kGiB, 8 * kGiB, kGiB, kGiB};
    return host;
}

std::vector<HostProblem> found(const config::Config& config, const Host& host,
                               const Words& eal_args = {}) {
    const Plan plan = plan_of(config, machine_with({0, 1}), assumed_device_info(config));
    return host_problems(config, plan, host, eal_args);
}

TEST(Host, that_has_everything_has_no_problem) {
    EXPECT_TRUE(
        found(taps_on({"net_af_packet0,iface=eth0", "net_af_xdp0,iface=eth1"}), roomy_host())
            .empty());
    EXPECT_TRUE(found(taps_to_tool(), roomy_host()).empty());
}

TEST(Host, without_an_interface_is_told_with_the_nearest_one) {
    const auto problems =
        found(taps_on({"net_af_packet0,iface=eht0", "net_pcap0,iface=usbmon1"}), roomy_host());
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].problem.line, 10);
    EXPECT_EQ(problems[0].problem.key, "port[0].device");
    EXPECT_EQ(
        problems[0].problem.message,
        "this host has no interface \"eht0\" for port \"tap-a\"; did you mean \"eth0\"? It has "
        "\"lo\", \"eth0\", \"eth1\"");
    EXPECT_TRUE(problems[0].prevents_start);
    EXPECT_EQ(problems[1].problem.key, "port[1].device");
    EXPECT_FALSE(problems[1].prevents_start) << "libpcap opens more than interfaces";
}

TEST(Host, needs_no_interface_that_a_driver_creates) {
    EXPECT_TRUE(
        found(taps_on({"net_tap0,iface=new0", "net_tap1,iface=new%d"}), roomy_host()).empty());
    EXPECT_EQ(found(taps_on({"net_tap0,iface=new0,remote=gone0"}), roomy_host()).size(), 1U);
}

TEST(Host, whose_interface_another_unecho_uses_is_told) {
    Host host = roomy_host();
    host.interfaces["eth0"].use = eal::InterfaceUse::kShared;
    host.interfaces["eth1"].use = eal::InterfaceUse::kAlone;
    const auto problems =
        found(taps_on({"net_af_packet0,iface=eth0", "net_af_packet1,iface=eth1"}), host);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].problem.message,
              "interface \"eth0\" is in use by another unecho; both get every packet, and forward "
              "it (unecho status)");
    EXPECT_NE(problems[1].problem.message.find("over AF_XDP"), std::string::npos);
    EXPECT_FALSE(problems[0].prevents_start);
    host.runs = true;
    EXPECT_TRUE(
        found(taps_on({"net_af_packet0,iface=eth0", "net_af_packet1,iface=eth1"}), host).empty());
}

TEST(Host, whose_interface_is_down_or_merges_packets_is_told) {
    Host host = roomy_host();
    host.interfaces["eth0"].state = {.up = false, .merges_packets = false};
    host.interfaces["eth1"].state = {.up = true, .merges_packets = true};
    config::Config config = taps_on({"net_af_packet0,iface=eth0", "net_af_packet1,iface=eth1"});
    const auto problems = found(config, host);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].problem.message,
              "interface \"eth0\" is down, so no packet comes or goes (ip link set eth0 up)");
    EXPECT_EQ(problems[1].problem.message,
              "interface \"eth1\" merges packets that it receives (ethtool -K eth1 gro off lro "
              "off)");
    EXPECT_FALSE(problems[0].prevents_start);
    config.ports[2].device = "net_af_packet2,iface=eth1";  // sends only
    config.ports[1].device = "net_null1";
    EXPECT_EQ(found(config, host).size(), 1U);
}

TEST(Host, with_too_little_memory_for_the_filters_cannot_start) {
    Host host = roomy_host();
    config::Config config = taps_to_tool();
    const std::uint64_t needed = plan_of(config, machine_with({0, 1}), assumed_device_info(config))
                                     .filters[0]
                                     .instance_bytes;
    host.memory = {needed, needed, kGiB, 0};
    EXPECT_TRUE(found(config, host).empty());
    host.memory.available = needed - 1;
    const auto problems = found(config, host);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].problem.key, "filter[0]");
    EXPECT_EQ(problems[0].problem.line, 50);
    EXPECT_TRUE(problems[0].prevents_start);
    // Filters are in hugepages, too, and a predecessor's are in the files of [state].
    host.memory.free_hugepages = 1;
    EXPECT_TRUE(found(config, host).empty());
    host.memory.free_hugepages = 0;
    config.state.dir = "/run/state";
    EXPECT_TRUE(found(config, host).empty());
    host.memory = {};  // nothing is known
    host.memory.hugepages = kGiB;
    config.state.dir.reset();
    EXPECT_TRUE(found(config, host).empty());
}

TEST(Host, without_hugepages_is_told_unless_the_arguments_want_none) {
    Host host = roomy_host();
    host.memory.hugepages = 0;
    const auto with = [&](const Words& args) { return found(taps_to_tool(), host, args); };
    ASSERT_EQ(with({}).size(), 1U);
    EXPECT_EQ(with({})[0].problem.key, "eal.args");
    EXPECT_FALSE(with({})[0].prevents_start);
    EXPECT_TRUE(with({})[0].is_note);
    EXPECT_TRUE(with({"--no-huge"}).empty());
    for (const char* arg :
         {"--in-memory", "--huge-dir=/mnt", "--socket-mem=512", "--single-file"}) {
        ASSERT_EQ(with({arg}).size(), 1U) << arg;
        EXPECT_TRUE(with({arg})[0].prevents_start) << arg;
    }
}

TEST(OrdinaryMemory, is_chosen_where_there_are_no_hugepages) {
    Plan plan;
    plan.mbufs = 16383;
    plan.data_room = 2176;
    HostMemory memory;
    const Words chosen = ordinary_memory_args(plan, memory, {});
    ASSERT_EQ(chosen.size(), 3U);
    EXPECT_EQ(chosen[0], "--no-huge");
    EXPECT_EQ(chosen[1], "-m");
    EXPECT_GT(std::stoul(chosen[2]), 16383UL * 2176 / 1024 / 1024);
    EXPECT_EQ(ordinary_memory_args(plan, memory, {"-m", "99"}), (Words{"--no-huge"}));
    for (const Words& args :
         std::vector<Words>{{"--no-huge"}, {"--in-memory"}, {"--huge-dir", "/x"}}) {
        EXPECT_TRUE(ordinary_memory_args(plan, memory, args).empty()) << args[0];
    }
    memory.hugepages = kGiB;
    EXPECT_TRUE(ordinary_memory_args(plan, memory, {}).empty());
}

TEST(MemoryArgs, are_read_as_getopt_reads_them) {
    EXPECT_TRUE(eal::memory_args({"--no-hug"}).ordinary);
    EXPECT_FALSE(eal::memory_args({"--no-hpet", "--no-h"}).ordinary);
    EXPECT_TRUE(eal::memory_args({"-m512"}).amount);
    EXPECT_TRUE(eal::memory_args({"--socket-mem", "1,1"}).amount);
    EXPECT_FALSE(eal::memory_args({"--main-lcore=1"}).amount);
    EXPECT_FALSE(eal::memory_args({"--no-pci", "-n", "4"}).hugepages);
}

TEST(Meminfo, is_read_in_bytes) {
    const HostMemory memory =
        parse_meminfo("MemTotal:       24000 kB\nMemFree:        1 kB\nMemAvailable:   20000 kB\n");
    EXPECT_EQ(memory.total, 24000U * 1024);
    EXPECT_EQ(memory.available, 20000U * 1024);
    EXPECT_EQ(parse_meminfo("").total, 0U);
    EXPECT_EQ(parse_meminfo("MemTotal:").total, 0U);
}

TEST(Host, of_this_machine_is_found) {
    config::Config config = taps_on({"net_af_packet0,iface=lo", "net_af_packet1,iface=no-such0"});
    const Host host = Host::detect(config);
    EXPECT_EQ(host.interfaces.count("lo"), 1U);
    EXPECT_EQ(host.interfaces.count("no-such0"), 0U);
    EXPECT_GT(host.memory.total, host.memory.available);
    EXPECT_GE(host.memory.hugepages, host.memory.free_hugepages);
}

}  // namespace
}  // namespace unecho::appliance
