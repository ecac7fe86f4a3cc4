// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/plan/devices.h"

#include <gtest/gtest.h>

#include "unit/appliance/plans.h"

namespace unecho::appliance {
namespace {

Device spec_of(const char* device) {
    config::Port port;
    port.device = device;
    return device_of(port);
}

eal::DeviceInfo facts_of(const char* device) {
    return eal::assumed_device_info(spec_of(device));
}

TEST(DeviceOf, a_virtual_device_is_its_name_and_arguments) {
    const Device spec = spec_of("net_pcap3,rx_pcap=a.pcap,infinite_rx=1");
    EXPECT_FALSE(spec.is_pci());
    EXPECT_EQ(spec.name, "net_pcap3");
    EXPECT_EQ(spec.driver(), "net_pcap");
    EXPECT_EQ(spec.args_text(), "rx_pcap=a.pcap,infinite_rx=1");
    EXPECT_EQ(spec_of("net_null0").args_text(), "");
}

TEST(DeviceOf, a_pci_device_is_its_address) {
    const Device spec = spec_of("0000:3b:00.1");
    EXPECT_TRUE(spec.is_pci());
    EXPECT_EQ(spec.name, "0000:3b:00.1");
    EXPECT_EQ(spec.driver(), "pci");
}

TEST(AssumedFacts, of_a_pci_device_are_rss_and_queues_enough) {
    const eal::DeviceInfo facts = facts_of("0000:3b:00.1");
    EXPECT_FALSE(facts.probed);
    EXPECT_TRUE(facts.rss());
    EXPECT_EQ(facts.max_rx_queues, kMaxQueues);
    EXPECT_EQ(facts.max_tx_queues, kMaxQueues);
}

TEST(AssumedFacts, of_a_capture_are_a_queue_for_each_file) {
    EXPECT_EQ(facts_of("net_pcap0,rx_pcap=a.pcap").max_rx_queues, 1U);
    EXPECT_EQ(facts_of("net_pcap0,rx_pcap=a.pcap").max_tx_queues, 1U);
    const eal::DeviceInfo two = facts_of("net_pcap0,rx_pcap=a.pcap,rx_pcap=b.pcap,tx_pcap=c.pcap");
    EXPECT_EQ(two.max_rx_queues, 2U);
    EXPECT_EQ(two.max_tx_queues, 1U);
    EXPECT_EQ(facts_of("net_pcap_in,rx_pcap=a.pcap,rx_pcap=b.pcap").max_rx_queues, 2U)
        << "DPDK takes the driver by the start of the name";
}

TEST(AssumedFacts, of_an_af_packet_socket_are_its_queue_pairs) {
    EXPECT_EQ(facts_of("net_af_packet0,iface=eth0").max_rx_queues, 1U);
    EXPECT_EQ(facts_of("net_af_packet0,iface=eth0,qpairs=4").max_tx_queues, 4U);
}

TEST(AssumedFacts, of_no_virtual_device_is_rss) {
    for (const char* device : {"net_pcap0", "net_null0", "net_ring0", "net_memif0", "net_af_xdp0",
                               "net_af_packet0", "net_tap0", "net_vhost0", "net_unheard_of0"}) {
        const eal::DeviceInfo facts = facts_of(device);
        EXPECT_FALSE(facts.rss()) << device;
        EXPECT_GE(facts.max_rx_queues, 1U) << device;
        EXPECT_GE(facts.max_tx_queues, 1U) << device;
    }
}

TEST(AssumedFacts, of_a_configuration_stand_in_its_order) {
    config::Config config = taps_to_tool();
    config.ports[1].device = "net_tap0,iface=t0";
    const Facts facts = assumed_device_info(config);
    ASSERT_EQ(facts.size(), 3U);
    EXPECT_EQ(facts[0].driver, "net_null");
    EXPECT_EQ(facts[1].driver, "net_tap");
    EXPECT_EQ(facts[2].driver, "net_null");
}

}  // namespace
}  // namespace unecho::appliance
