// SPDX-License-Identifier: BSD-3-Clause
#include "common/memif_pair.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <poll.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

namespace unecho::bench {
namespace {

constexpr std::uint16_t kDescriptors = 16384;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPatience = 60 * kSecond;

bool start(std::uint16_t port, rte_mempool* pool) {
    const rte_eth_conf conf{};
    return rte_eth_dev_configure(port, 1, 1, &conf) == 0 &&
           rte_eth_rx_queue_setup(port, 0, kDescriptors, 0, nullptr, pool) == 0 &&
           rte_eth_tx_queue_setup(port, 0, kDescriptors, 0, nullptr) == 0 &&
           rte_eth_dev_start(port) == 0;
}

bool linked(std::uint16_t port) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// Connect the client's port. A server listens before it starts its port and until then rejects
// clients; a rejected client does not try again (DPDK 22.11). So restart the port every second.
bool connect(std::uint16_t port) {
    for (const std::uint64_t until = monotonic_now() + kPatience; monotonic_now() < until;) {
        for (const std::uint64_t again = monotonic_now() + kSecond; monotonic_now() < again;) {
            if (linked(port)) {
                return true;
            }
            usleep(1000);
        }
        if (rte_eth_dev_stop(port) != 0 || rte_eth_dev_start(port) != 0) {
            return false;
        }
    }
    return false;
}

}  // namespace

std::uint64_t monotonic_now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

bool input_speaks() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

void fail(const char* program, const char* what) {
    std::fprintf(stderr, "%s: %s\n", program, what);
    std::exit(1);
}

rte_mempool* connect_memif_pair(const char* in_socket, const char* out_socket, int first, int argc,
                                char** argv) {
    const std::string memif = ",role=client,id=0,rsize=14,socket-abstract=no,socket=";
    std::string in = "--vdev=net_memif0" + memif + in_socket;
    std::string out = "--vdev=net_memif1" + memif + out_socket;
    std::vector<char*> eal{argv[0], in.data(), out.data()};
    eal.insert(eal.end(), argv + first, argv + argc);
    if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0 ||
        rte_eth_dev_count_avail() != 2) {
        fail(argv[0], "DPDK does not start");
    }
    rte_mempool* pool =
        rte_mempool_create("packets", 131071, RTE_MBUF_DEFAULT_BUF_SIZE + sizeof(rte_mbuf), 256,
                           sizeof(rte_pktmbuf_pool_private), rte_pktmbuf_pool_init, nullptr,
                           rte_pktmbuf_init, nullptr, SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (pool == nullptr) {
        fail(argv[0], "no memory for packets");
    }
    if (!start(kMemifIn, pool) || !start(kMemifOut, pool)) {
        fail(argv[0], "a port does not start");
    }
    if (!connect(kMemifIn) || !connect(kMemifOut)) {
        fail(argv[0], "a port is not connected, nor at any try for a minute");
    }
    return pool;
}

}  // namespace unecho::bench
