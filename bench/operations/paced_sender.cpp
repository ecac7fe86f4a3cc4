// SPDX-License-Identifier: BSD-3-Clause
// Sends packets at a steady rate into one memif and takes them back from another: what reload_bench
// measures with. Each packet carries its time; by the millisecond in which it was sent it is
// counted whether it came back, and how long the slowest took.
//
//     paced_sender IN-SOCKET OUT-SOCKET PACKETS-PER-SECOND FILE -- EAL arguments
//
// Until standard input ends. FILE: a line a millisecond with the time of its begin
// (CLOCK_MONOTONIC, ns), sent, received, the longest delay in ns, and the longest time between two
// looks of this program itself, which makes a delay seem longer than it was.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <poll.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

namespace {

constexpr unsigned kBurst = 32;
constexpr unsigned kLength = 64;
constexpr unsigned kPayload = 42;  // behind Ethernet, IPv4, UDP
constexpr std::uint64_t kMillisecond = 1'000'000;
// What a pause of this program leaves behind is not made up for: it would be a burst.
constexpr std::uint64_t kMostBehind = 256;

struct Slot {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    std::uint64_t delay = 0;
    std::uint64_t away = 0;
};

std::uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

bool ends() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    std::array<char, 64> bytes;
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, bytes.data(), bytes.size()) <= 0;
}

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "paced_sender: %s\n", what);
    std::exit(1);
}

void start(std::uint16_t port, rte_mempool* pool) {
    const rte_eth_conf conf{};
    if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
        rte_eth_rx_queue_setup(port, 0, 16384, 0, nullptr, pool) != 0 ||
        rte_eth_tx_queue_setup(port, 0, 16384, 0, nullptr) != 0 || rte_eth_dev_start(port) != 0) {
        fail("a port does not start");
    }
}

bool linked(std::uint16_t port) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

class Sender {
  public:
    Sender(rte_mempool* pool, std::uint64_t rate) : pool_(pool), rate_(rate) {
        const std::array<std::uint8_t, kPayload> headers{
            2,    0, 0,    0,  0, 2,  2,    0, 0,  0,  0, 1, 8,  0,                     // Ethernet
            0x45, 0, 0,    50, 0, 0,  0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,  // IPv4
            0x40, 0, 0x50, 0,  0, 30, 0,    0};                                         // UDP
        std::copy(headers.begin(), headers.end(), frame_.begin());
    }

    void run() {
        begin_ = last_ = now();
        std::uint64_t done = 0;
        for (std::uint64_t round = 0; (round & 0xFFFF) != 0 || !ends(); ++round) {
            const std::uint64_t time = look();
            std::uint64_t due = (time - begin_) * rate_ / 1'000'000'000 - done;
            if (due > kMostBehind) {
                done += due - kMostBehind;
                due = kMostBehind;
            }
            done += send(static_cast<unsigned>(std::min<std::uint64_t>(due, kBurst)), time);
            receive();
        }
        for (const std::uint64_t until = now() + 500 * kMillisecond; look() < until;) {
            receive();
        }
    }

    void write(const char* path) const {
        std::FILE* file = std::fopen(path, "w");
        if (file == nullptr) {
            fail("the file cannot be written");
        }
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const Slot& slot = slots_[i];
            std::fprintf(file, "%llu %u %u %llu %llu\n",
                         static_cast<unsigned long long>(begin_ + i * kMillisecond), slot.sent,
                         slot.received, static_cast<unsigned long long>(slot.delay),
                         static_cast<unsigned long long>(slot.away));
        }
        std::fclose(file);
    }

  private:
    Slot& slot_of(std::uint64_t time) {
        const std::size_t index = (time - begin_) / kMillisecond;
        if (index >= slots_.size()) {
            slots_.resize(index + 1);
        }
        return slots_[index];
    }

    std::uint64_t look() {
        const std::uint64_t time = now();
        for (std::uint64_t at = last_; time - last_ > kMillisecond / 20 && at <= time;
             at += kMillisecond) {
            Slot& slot = slot_of(at);
            slot.away = std::max(slot.away, time - last_);
        }
        last_ = time;
        return time;
    }

    // A full ring is no packet lost: it was never offered.
    unsigned send(unsigned n, std::uint64_t time) {
        std::array<rte_mbuf*, kBurst> mbufs;
        if (n == 0 || rte_pktmbuf_alloc_bulk(pool_, mbufs.data(), n) != 0) {
            return 0;
        }
        for (unsigned i = 0; i < n; ++i) {
            const std::uint64_t number = number_ + i;
            std::memcpy(frame_.data() + kPayload, &time, sizeof(time));
            std::memcpy(frame_.data() + kPayload + sizeof(time), &number, sizeof(number));
            std::memcpy(rte_pktmbuf_append(mbufs[i], kLength), frame_.data(), kLength);
        }
        const unsigned sent = rte_eth_tx_burst(0, 0, mbufs.data(), static_cast<std::uint16_t>(n));
        rte_pktmbuf_free_bulk(mbufs.data() + sent, n - sent);
        number_ += sent;
        slot_of(time).sent += sent;
        return sent;
    }

    void receive() {
        std::array<rte_mbuf*, kBurst> mbufs;
        const unsigned n = rte_eth_rx_burst(1, 0, mbufs.data(), kBurst);
        if (n == 0) {
            return;
        }
        const std::uint64_t time = now();
        for (unsigned i = 0; i < n; ++i) {
            std::uint64_t sent = 0;
            std::memcpy(&sent, rte_pktmbuf_mtod_offset(mbufs[i], const char*, kPayload),
                        sizeof(sent));
            Slot& slot = slot_of(sent);
            slot.received++;
            slot.delay = std::max(slot.delay, time - sent);
        }
        rte_pktmbuf_free_bulk(mbufs.data(), n);
    }

    rte_mempool* pool_;
    std::uint64_t rate_;
    std::array<std::uint8_t, kLength> frame_{};
    std::vector<Slot> slots_ = std::vector<Slot>(1);
    std::uint64_t begin_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6 || std::string(argv[5]) != "--") {
        fail("usage: paced_sender IN-SOCKET OUT-SOCKET PACKETS-PER-SECOND FILE -- EAL arguments");
    }
    const std::string memif = ",role=client,id=0,rsize=14,socket-abstract=no,socket=";
    std::string in = "--vdev=net_memif0" + memif + argv[1];
    std::string out = "--vdev=net_memif1" + memif + argv[2];
    std::vector<char*> eal{argv[0], in.data(), out.data()};
    eal.insert(eal.end(), argv + 6, argv + argc);
    if (rte_eal_init(static_cast<int>(eal.size()), eal.data()) < 0 ||
        rte_eth_dev_count_avail() != 2) {
        fail("DPDK does not start");
    }
    rte_mempool* pool =
        rte_mempool_create("packets", 131071, RTE_MBUF_DEFAULT_BUF_SIZE + sizeof(rte_mbuf), 256,
                           sizeof(rte_pktmbuf_pool_private), rte_pktmbuf_pool_init, nullptr,
                           rte_pktmbuf_init, nullptr, SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (pool == nullptr) {
        fail("no memory for packets");
    }
    start(0, pool);
    start(1, pool);
    while (!linked(0) || !linked(1)) {
        usleep(1000);
    }
    std::puts("sending");
    std::fflush(stdout);
    Sender sender(pool, std::strtoull(argv[3], nullptr, 10));
    sender.run();
    sender.write(argv[4]);
    return 0;
}
