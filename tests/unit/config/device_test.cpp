// SPDX-License-Identifier: BSD-3-Clause
#include "config/devices/device.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/devices/device_claims.h"

namespace unecho::config {
namespace {

TEST(ParseDevice, vdev_is_taken_apart) {
    const Result<Device> device = parse_device("net_pcap0,rx_pcap=a.pcap,rx_pcap=b=c,infinite_rx");
    ASSERT_TRUE(device.has_value());
    EXPECT_EQ(device->bus, Bus::kVdev);
    EXPECT_EQ(device->name, "net_pcap0");
    EXPECT_EQ(device->values_of("rx_pcap"), (std::vector<std::string>{"a.pcap", "b=c"}));
    EXPECT_EQ(device->values_of("infinite_rx"), (std::vector<std::string>{""}));
    EXPECT_TRUE(device->values_of("tx_pcap").empty());
}

TEST(ParseDevice, pci_address_is_written_in_one_way) {
    for (const char* text : {"3b:00.1", "0000:3b:00.1", "0000:3B:00.1", "3B:00.1,a=b",
                             "00000:3b:00.1", "00000000:3B:00.1"}) {
        const Result<Device> device = parse_device(text);
        ASSERT_TRUE(device.has_value()) << text;
        EXPECT_EQ(device->bus, Bus::kPci);
        EXPECT_EQ(device->name, "0000:3b:00.1");
    }
    EXPECT_EQ(parse_device("10000:01:00.7")->name, "10000:01:00.7");
    EXPECT_EQ(parse_device("00010000:01:00.7")->name, "10000:01:00.7");
    EXPECT_EQ(parse_device("0abc:01:00.7")->name, "0abc:01:00.7");
    EXPECT_EQ(parse_device("00:00.0")->name, "0000:00:00.0");
}

TEST(ParseDevice, commas_inside_brackets_stay) {
    const Result<Device> device = parse_device("0000:3b:00.0,representor=[0,2-3],x=1");
    ASSERT_TRUE(device.has_value());
    EXPECT_EQ(device->args, (std::vector<std::pair<std::string, std::string>>{
                                {"representor", "[0,2-3]"}, {"x", "1"}}));
}

// Text after a comma that is no argument of net_pcap belongs to the file's name.
TEST(ParseDevice, names_of_files_hold_commas_and_equals_signs) {
    const Result<Device> device = parse_device(
        "net_pcap0,rx_pcap=a,b=c,d[1,2.pcap,rx_pcap=x,(y,infinite_rx,tx_pcap=,z,infinite_rx=1");
    ASSERT_TRUE(device.has_value()) << device.error().context;
    EXPECT_EQ(device->args,
              (std::vector<std::pair<std::string, std::string>>{{"rx_pcap", "a,b=c,d[1,2.pcap"},
                                                                {"rx_pcap", "x,(y"},
                                                                {"infinite_rx", ""},
                                                                {"tx_pcap", ",z"},
                                                                {"infinite_rx", "1"}}));
}

TEST(ParseDevice, a_misspelt_argument_does_not_become_a_part_of_a_file) {
    const Result<Device> device = parse_device("net_pcap0,rx_pcap=a.pcap,infinte_rx=1");
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().context,
              "\"infinte_rx\" is no argument of net_pcap; did you mean \"infinite_rx\"?");
}

TEST(ParseDevice, values_that_dpdk_would_take_apart_are_refused) {
    for (const char* text :
         {"net_memif0,socket=/run/a=b.sock", "net_vhost0,iface=/run/a=b", "0000:3b:00.0,x=1=2"}) {
        const Result<Device> device = parse_device(text);
        ASSERT_FALSE(device) << text;
        EXPECT_NE(device.error().context.find("has a second \"=\""), std::string::npos);
    }
}

std::set<std::string> identities(const char* text) {
    std::set<std::string> out;
    for (const DeviceClaim& claim : claims_of(*parse_device(text))) {
        out.insert(claim.identity);
    }
    return out;
}

TEST(DeviceClaims, of_things_that_several_ports_may_have_are_none) {
    for (const char* text :
         {"net_null0", "net_pcap0,rx_pcap=a,tx_pcap=b", "net_tap0", "net_tap0,iface=t%d",
          "net_virtio_user0,path=/dev/vhost-net", "0000:3b:00.0,iface=eth0"}) {
        EXPECT_TRUE(identities(text).empty()) << text;
    }
}

TEST(DeviceClaims, of_different_things_differ) {
    const char* const devices[] = {"net_af_packet0,iface=eth7",
                                   "net_af_xdp0,iface=eth8",
                                   "net_vhost0,iface=eth7",
                                   "net_memif0",
                                   "net_memif0,role=server",
                                   "net_memif0,id=1",
                                   "net_memif0,socket=/run/other.sock",
                                   "net_memif0,socket-abstract=no",
                                   "net_virtio_user0,path=/run/memif.sock",
                                   "net_virtio_user0,path=/dev/shm/v.sock"};
    std::set<std::string> all;
    for (const char* text : devices) {
        const std::set<std::string> one = identities(text);
        EXPECT_EQ(one.size(), 1U) << text;
        all.insert(one.begin(), one.end());
    }
    EXPECT_EQ(all.size(), std::size(devices));
}

TEST(DeviceClaims, of_an_interface_used_both_ways_are_one) {
    EXPECT_EQ(identities("net_pcap0,rx_iface=eth7,tx_iface=eth7").size(), 1U);
    EXPECT_EQ(identities("net_pcap0,rx_iface=eth7,tx_iface=eth8").size(), 2U);
    EXPECT_EQ(identities("net_virtio_user0,path=/run/v.sock,iface=eth7").size(), 2U);
}

TEST(ParseDevice, anything_else_is_refused) {
    for (const char* text : {"",
                             ",",
                             "eth0",
                             "net_",
                             "net_a b",
                             "netpcap0",
                             "crypto_null0",
                             "3b:00",
                             "3b:00.8",
                             "3b:0.0",
                             "3b00.0",
                             "00000003b:00:00.0",
                             "000:3b:00.0",
                             "0:0:3b:00.0",
                             "3g:00.0",
                             "gggg:3b:00.0",
                             "000000000:3b:00.0",
                             "net_null0,",
                             "net_null0,=1",
                             "net_null0, a=b",
                             "net_null0,a b=c"}) {
        EXPECT_FALSE(parse_device(text).has_value()) << text;
    }
    EXPECT_TRUE(parse_device("net_" + std::string(59, 'x')).has_value());
    EXPECT_FALSE(parse_device("net_" + std::string(60, 'x')).has_value());
}

}  // namespace
}  // namespace unecho::config
