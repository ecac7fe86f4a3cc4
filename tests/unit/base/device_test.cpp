// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/device.h"

#include <gtest/gtest.h>

namespace unecho {
namespace {

using Args = std::vector<std::pair<std::string, std::string>>;

Device vdev(std::string name, Args args = {}) {
    return {Bus::kVdev, std::move(name), std::move(args)};
}

// DPDK takes the driver whose name begins the device's name.
TEST(Devices, are_of_the_driver_that_their_name_begins_with) {
    EXPECT_EQ(vdev("net_pcap3").driver(), "net_pcap");
    EXPECT_EQ(vdev("net_pcap_in").driver(), "net_pcap");
    EXPECT_EQ(vdev("net_af_xdp_left").driver(), "net_af_xdp");
    EXPECT_EQ(vdev("net_unheard_of12").driver(), "net_unheard_of");
    EXPECT_EQ((Device{Bus::kPci, "0000:3b:00.1", {}}.driver()), "pci");
    EXPECT_TRUE(vdev("net_memif_a").is("net_memif"));
    EXPECT_FALSE(vdev("net_memif_a").is("net_tap"));
    EXPECT_FALSE(vdev("net_unheard_of0").is("net_unheard_of")) << "nothing is known of it";
    EXPECT_FALSE((Device{Bus::kPci, "net_pcap0", {}}.has_files()));
}

TEST(Devices, of_a_driver_have_its_row) {
    for (const Driver& driver : known_drivers()) {
        const Device device = vdev(std::string(driver.name) + "0");
        ASSERT_NE(device.known_driver(), nullptr) << driver.name;
        EXPECT_EQ(device.known_driver(), &driver) << "no other name may be the beginning of it";
        EXPECT_TRUE(driver.name.starts_with("net_")) << "a configuration can name no other";
        EXPECT_EQ(device.has_files(), driver.name == "net_pcap");
    }
    EXPECT_EQ(vdev("net_unheard_of0").known_driver(), nullptr);
}

TEST(Devices, need_the_capabilities_of_their_driver) {
    EXPECT_TRUE(vdev("net_memif0").capabilities().empty());
    EXPECT_TRUE(vdev("net_pcap0", {{"rx_pcap", "a"}, {"tx_pcap", "b"}}).capabilities().empty());
    EXPECT_TRUE(vdev("net_unheard_of0", {{"iface", "a"}}).capabilities().empty());
    EXPECT_TRUE((Device{Bus::kPci, "0000:3b:00.1", {}}.capabilities().empty()));
    for (const char* arg : {"iface", "rx_iface", "rx_iface_in", "tx_iface"}) {
        ASSERT_EQ(vdev("net_pcap0", {{arg, "eth0"}}).capabilities().size(), 1U) << arg;
        EXPECT_EQ(vdev("net_pcap0", {{arg, "eth0"}}).capabilities()[0], "CAP_NET_RAW");
    }
    EXPECT_EQ(vdev("net_af_packet0").capabilities().size(), 2U);
    EXPECT_EQ(vdev("net_af_xdp0").capabilities().size(), 4U);
}

TEST(DeviceArguments, of_several_values_count_by_the_last) {
    const Device device = vdev("net_x0", {{"a", "1"}, {"b", ""}, {"a", "2"}});
    EXPECT_EQ(device.last("a", "0"), "2");
    EXPECT_EQ(device.last("b", "0"), "");
    EXPECT_EQ(device.last("c", "0"), "0");
    EXPECT_EQ(device.values_of("a"), (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(device.args_text(), "a=1,b=,a=2");
}

TEST(MemifEnds, are_clients_of_memifs_own_socket_unless_told) {
    const MemifEnd told_nothing = memif_end(vdev("net_memif0"));
    EXPECT_FALSE(told_nothing.server);
    EXPECT_EQ(told_nothing.id, 0U);
    EXPECT_EQ(told_nothing.socket, "/run/memif.sock");
    EXPECT_FALSE(told_nothing.socket_is_file);
    const MemifEnd told = memif_end(vdev("net_memif0", {{"role", "client"},
                                                        {"role", "master"},
                                                        {"id", "007"},
                                                        {"socket", "/a"},
                                                        {"socket", "/b"},
                                                        {"socket-abstract", "yes"},
                                                        {"socket-abstract", "no"}}));
    EXPECT_TRUE(told.server);
    EXPECT_EQ(told.id, 7U);
    EXPECT_EQ(told.socket, "/b");
    EXPECT_TRUE(told.socket_is_file);
    EXPECT_FALSE(memif_end(vdev("net_memif0", {{"role", "server"}, {"role", "client"}})).server);
}

}  // namespace
}  // namespace unecho
