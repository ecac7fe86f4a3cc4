// SPDX-License-Identifier: BSD-3-Clause
// Tests lib/appliance/eal against DPDK itself: devices, packet buffers, filter memory, rings.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "appliance/eal/huge_memory.h"
#include "appliance/eal/ports/interface_claim.h"
#include "appliance/eal/ports/mbuf_fields.h"
#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/ports/port.h"
#include "mbufs.h"
#include "own_namespaces.h"
#include "packets.h"
#include "ring_port.h"

namespace unecho::test {
namespace {

using Ports = EalTest;
using Memory = EalTest;

Device null_device(const char* name) {
    Device spec;
    spec.name = name;
    spec.args = {{"size", "64"}};
    return spec;
}

TEST_F(Ports, of_a_virtual_device_open_start_and_close) {
    const std::uint16_t before = rte_eth_dev_count_avail();
    {
        auto port = eal::Port::open("made", null_device("net_null7"));
        ASSERT_TRUE(port) << port.error().context;
        EXPECT_EQ(rte_eth_dev_count_avail(), before + 1);
        const auto facts = port->facts();
        ASSERT_TRUE(facts) << facts.error().context;
        EXPECT_TRUE(facts->probed);
        EXPECT_EQ(facts->driver, "net_null");
        EXPECT_FALSE(facts->rss()) << "it claims to, but hashes nothing";
        EXPECT_GE(facts->max_rx_queues, 2U);
        eal::PortSetup setup;
        setup.rx_queues = 2;
        setup.tx_queues = 2;
        const Status started = port->start(setup, packet_pool());
        ASSERT_TRUE(started) << started.error().context;
        EXPECT_TRUE(port->link_up());
        rte_mbuf* mbufs[4];
        EXPECT_EQ(rte_eth_rx_burst(port->id(), 1, mbufs, 4), 4);
        EXPECT_EQ(mbufs[0]->pkt_len, 64U);
        EXPECT_EQ(rte_eth_tx_burst(port->id(), 1, mbufs, 4), 4);
        EXPECT_EQ(port->device_counters().rx_missed, 0U);
    }
    EXPECT_EQ(rte_eth_dev_count_avail(), before);
}

TEST_F(Ports, take_every_frame_or_their_own_as_asked) {
    for (const bool promiscuous : {true, false}) {
        Device spec;
        spec.name = "net_ring78";
        auto port = eal::Port::open("loop", spec);
        ASSERT_TRUE(port) << port.error().context;
        eal::PortSetup setup;
        setup.promiscuous = promiscuous;
        ASSERT_TRUE(port->start(setup, packet_pool()));
        EXPECT_EQ(rte_eth_promiscuous_get(port->id()), promiscuous ? 1 : 0);
    }
}

TEST_F(Ports, that_cannot_be_opened_are_errors_that_name_port_and_device) {
    const auto unknown = eal::Port::open("tap-a", null_device("net_unheard_of0"));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Errc::kNotFound);
    EXPECT_NE(unknown.error().context.find("port \"tap-a\" (net_unheard_of0)"), std::string::npos)
        << unknown.error().context;
    EXPECT_EQ(unknown.error().context.find('\n'), std::string::npos);

    Device capture;
    capture.name = "net_pcap9";
    capture.args = {{"rx_pcap", "/nowhere/at/all.pcap"}};
    const auto missing = eal::Port::open("tap-b", capture);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().context.find("/nowhere/at/all.pcap"), std::string::npos)
        << missing.error().context;

    Device pci;
    pci.bus = Bus::kPci;
    pci.name = "0000:ff:1f.7";
    const auto absent = eal::Port::open("nic", pci);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, Errc::kNotFound);
}

TEST_F(Ports, opened_twice_are_refused_the_second_time) {
    const auto first = eal::Port::open("one", null_device("net_null9"));
    ASSERT_TRUE(first);
    const auto second = eal::Port::open("two", null_device("net_null9"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy) << second.error().context;
}

TEST(InterfaceClaims, need_privileges) {
    std::thread([] {
        // Call the kernel directly: glibc's function changes the user of all threads.
        constexpr uid_t kNobody = 65534;
        if (geteuid() == 0) {
            ASSERT_EQ(syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
        }
        const auto refused = eal::InterfaceClaim::take("lo");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::kPermission) << refused.error().context;
    }).join();
}

// When many threads start at once, each gives up what it did not get.
TEST(InterfaceClaims, are_one_at_a_time_among_many_at_once) {
    std::atomic<int> holders{0};
    std::atomic<bool> together{false};
    const auto take_three_times = [&] {
        for (int again = 0; again < 3; ++again) {
            if (const auto taken = eal::InterfaceClaim::take("lo")) {
                together = together || ++holders != 1;
                std::this_thread::yield();
                --holders;
            }
        }
    };
    if (!in_own_namespaces([&] {
            std::vector<std::thread> threads;  // inherit this thread's namespaces
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back(take_three_times);
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
            EXPECT_TRUE(eal::InterfaceClaim::take("lo"));
        })) {
        GTEST_SKIP() << kNoNamespaces;
    }
    EXPECT_FALSE(together);
}

TEST(InterfaceClaims, show_others_how_an_interface_is_used) {
    if (!in_own_namespaces([] {
            EXPECT_EQ(eal::interface_use("lo"), eal::InterfaceUse::kFree);
            {
                const eal::InterfaceClaim one = eal::InterfaceClaim::share("lo");
                const eal::InterfaceClaim two = eal::InterfaceClaim::share("lo");
                EXPECT_EQ(eal::interface_use("lo"), eal::InterfaceUse::kShared);
                const auto alone = eal::InterfaceClaim::take("lo");
                EXPECT_TRUE(alone) << alone.error().context;
                EXPECT_EQ(eal::interface_use("lo"), eal::InterfaceUse::kAlone);
            }
            EXPECT_EQ(eal::interface_use("lo"), eal::InterfaceUse::kFree);
            EXPECT_EQ(eal::interface_use("no-such0"), eal::InterfaceUse::kFree);
        })) {
        GTEST_SKIP() << kNoNamespaces;
    }
}

// A claim was once a name in the abstract namespace, where anyone can take a name.
TEST(InterfaceClaims, are_not_taken_by_sockets_without_privileges) {
    if (!in_own_namespaces([] {
            const int squatter = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            constexpr std::string_view kName{"\0unecho/lo", 10};
            kName.copy(address.sun_path, sizeof(address.sun_path));
            ASSERT_EQ(bind(squatter, reinterpret_cast<const sockaddr*>(&address),
                           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + kName.size())),
                      0);
            const auto taken = eal::InterfaceClaim::take("lo");
            EXPECT_TRUE(taken) << taken.error().context;
            close(squatter);
        })) {
        GTEST_SKIP() << kNoNamespaces;
    }
}

TEST_F(Ports, with_more_queues_than_the_device_has_do_not_start) {
    Device spec;
    spec.name = "net_ring77";
    auto port = eal::Port::open("loop", spec);
    ASSERT_TRUE(port) << port.error().context;
    const auto facts = port->facts();
    ASSERT_TRUE(facts);
    eal::PortSetup setup;
    setup.rx_queues = static_cast<std::uint16_t>(facts->max_rx_queues + 1);
    const Status started = port->start(setup, packet_pool());
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().context.find("port \"loop\""), std::string::npos);
}

// --- memory ------------------------------------------------------------------------------------

TEST_F(Memory, of_a_packed_pool_holds_as_many_packets_as_asked_for) {
    auto pool = eal::make_mempool({"packed", 1023, 2048 + 128, -1, true});
    ASSERT_TRUE(pool) << pool.error().context;
    std::vector<rte_mbuf*> taken;
    while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool->get())) {
        EXPECT_EQ(mbuf->buf_len, 2048 + 128);
        EXPECT_EQ(rte_pktmbuf_headroom(mbuf), RTE_PKTMBUF_HEADROOM);
        taken.push_back(mbuf);
    }
    EXPECT_EQ(taken.size(), 1023U);
    // No two buffers share a byte.
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 1; i < taken.size(); ++i) {
        const auto* end =
            reinterpret_cast<const std::uint8_t*>(taken[i - 1]->buf_addr) + taken[i - 1]->buf_len;
        ASSERT_LE(end, reinterpret_cast<const std::uint8_t*>(taken[i]));
    }
    rte_pktmbuf_free_bulk(taken.data(), static_cast<unsigned>(taken.size()));
}

TEST_F(Memory, of_a_pool_beyond_what_there_is_is_an_error_that_says_how_much) {
    const auto pool = eal::make_mempool({"too_large", 4'000'000, 2048 + 128, -1, true});
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, Errc::kNoMemory);
    EXPECT_NE(pool.error().context.find("4000000 packet buffers"), std::string::npos);
    EXPECT_NE(pool.error().context.find("-m"), std::string::npos);
}

TEST_F(Memory, for_filters_is_zeroed_aligned_and_the_caller_s) {
    for (const std::size_t bytes : {64UL, 4096UL, 3UL << 20}) {
        auto memory = eal::HugeMemory::allocate(bytes, 0, false);
        ASSERT_TRUE(memory) << memory.error().context;
        EXPECT_FALSE(memory->on_hugepages());
        EXPECT_EQ(memory->page_bytes(), static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
        const std::span<std::byte> span = memory->bytes();
        EXPECT_EQ(span.size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span.data()) % 64, 0U);
        EXPECT_TRUE(
            std::all_of(span.begin(), span.end(), [](std::byte b) { return b == std::byte{0}; }));
        span.front() = span.back() = std::byte{1};
        eal::HugeMemory moved = std::move(*memory);
        EXPECT_EQ(moved.bytes().data(), span.data());
        EXPECT_EQ(moved.bytes().back(), std::byte{1});
    }
}

// If the process has DPDK memory, filters use that first.
TEST_F(Memory, for_filters_from_dpdk_is_zeroed_too) {
    auto memory = eal::HugeMemory::allocate(1 << 20, 0, true);
    ASSERT_TRUE(memory) << memory.error().context;
    EXPECT_TRUE(memory->on_hugepages());
    // DPDK's own pages: ordinary ones under --no-huge.
    EXPECT_EQ(memory->page_bytes(), rte_eal_has_hugepages() != 0
                                        ? std::uint64_t{1} << 21
                                        : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    const std::span<std::byte> span = memory->bytes();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span.data()) % 64, 0U);
    EXPECT_TRUE(
        std::all_of(span.begin(), span.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(Memory, beyond_what_dpdk_has_comes_in_plain_pages) {
    auto memory = eal::HugeMemory::allocate(std::size_t{257} << 20, 0, true);  // DPDK has 256
    ASSERT_TRUE(memory) << memory.error().context;
    EXPECT_FALSE(memory->on_hugepages());
}

TEST_F(Memory, that_no_machine_has_is_an_error_that_says_how_much) {
    const auto memory = eal::HugeMemory::allocate(std::size_t{1} << 60, 0, false);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code, Errc::kNoMemory);
    EXPECT_NE(memory.error().context.find("for a filter"), std::string::npos);
}

TEST_F(Memory, of_a_ring_is_exactly_its_size) {
    for (const unsigned size : {1U, 4U, 64U}) {
        const auto ring = eal::make_ring("sized", size);
        ASSERT_TRUE(ring) << ring.error().context;
        EXPECT_EQ(rte_ring_free_count(ring->get()), size);
        EXPECT_EQ(rte_ring_get_capacity(ring->get()), size);
    }
    const auto first = eal::make_ring("twice", 4);
    const auto second = eal::make_ring("twice", 4);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kNoMemory);
}

TEST_F(Memory, of_mbuf_fields_is_the_same_for_the_same_name_and_another_for_another) {
    const auto a = eal::register_mbuf_field("test_a", 4, 4);
    const auto again = eal::register_mbuf_field("test_a", 4, 4);
    const auto b = eal::register_mbuf_field("test_b", 8, 8);
    const auto time = eal::timestamp_field();
    ASSERT_TRUE(a && again && b && time);
    EXPECT_EQ(*a, *again);
    EXPECT_EQ((std::set<int>{*a, *b, *time}.size()), 3U);
    EXPECT_EQ(*b % 8, 0);
    const auto huge = eal::register_mbuf_field("test_huge", 256, 8);
    ASSERT_FALSE(huge);
    EXPECT_NE(huge.error().context.find("test_huge"), std::string::npos);
}

}  // namespace
}  // namespace unecho::test
