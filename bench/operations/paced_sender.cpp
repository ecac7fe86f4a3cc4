// SPDX-License-Identifier: BSD-3-Clause
// Sends packets at a steady rate into one memif and receives them from another, for reload_bench
// and latency_bench. Each packet carries its time. For each millisecond of sending it counts the
// packets that returned, and how long the slowest took.
//
//     paced_sender IN-SOCKET OUT-SOCKET PACKETS-PER-SECOND FILE [DELAYS] -- EAL arguments
//
// It runs until standard input has a line or ends. After a line it prints "written" when the files
// are complete, and no longer polls its ports, because polling may not survive the end of the peer.
// It exits when standard input ends. FILE has a line a millisecond: its begin (CLOCK_MONOTONIC,
// ns), sent, received, the longest delay in ns, and the longest time between two polls of this
// program, by which a delay may be overstated.
//
// DELAYS: one packet is sent at a time, whatever is due, and its delay in ns is written as a line.
// Packets that were underway while this program was away for more than 5 us are left out.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/memif_pair.h"

namespace unecho::bench {
namespace {

constexpr unsigned kBurst = 32;
constexpr unsigned kLength = 64;
constexpr unsigned kPayload = 42;  // after Ethernet, IPv4 and UDP headers
constexpr std::uint64_t kMillisecond = 1'000'000;
// The backlog of a longer pause is not caught up, because that would be a burst.
constexpr std::uint64_t kMaxBehind = 256;
constexpr std::uint64_t kAway = 5000;  // ns; the first packet after a rest takes 1 or 2 us

struct Slot {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    std::uint64_t delay = 0;
    std::uint64_t away = 0;
};

class Sender {
  public:
    Sender(rte_mempool* pool, std::uint64_t rate, bool singly)
        : pool_(pool), rate_(rate), most_behind_(singly ? 1 : kMaxBehind), singly_(singly) {
        const std::array<std::uint8_t, kPayload> headers{
            2,    0, 0,    0,  0, 2,  2,    0, 0,  0,  0, 1, 8,  0,                     // Ethernet
            0x45, 0, 0,    50, 0, 0,  0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,  // IPv4
            0x40, 0, 0x50, 0,  0, 30, 0,    0};                                         // UDP
        std::copy(headers.begin(), headers.end(), frame_.begin());
    }

    void run() {
        begin_ = last_ = monotonic_now();
        std::uint64_t done = 0;
        for (std::uint64_t round = 0; (round & 0xFFFF) != 0 || !input_speaks(); ++round) {
            const std::uint64_t time = look();
            std::uint64_t due = (time - begin_) * rate_ / 1'000'000'000 - done;
            if (due > most_behind_) {
                done += due - most_behind_;
                due = most_behind_;
            }
            done += send(static_cast<unsigned>(std::min<std::uint64_t>(due, kBurst)), time);
            receive();
        }
        for (const std::uint64_t until = monotonic_now() + 500 * kMillisecond; look() < until;) {
            receive();
        }
    }

    void write(const char* path) const {
        std::FILE* file = std::fopen(path, "w");
        if (file == nullptr) {
            fail("paced_sender", "the file cannot be written");
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

    void write_delays(const char* path) const {
        std::FILE* file = std::fopen(path, "w");
        if (file == nullptr) {
            fail("paced_sender", "the file of delays cannot be written");
        }
        for (const std::uint64_t delay : delays_) {
            std::fprintf(file, "%llu\n", static_cast<unsigned long long>(delay));
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
        const std::uint64_t time = monotonic_now();
        for (std::uint64_t at = last_; time - last_ > kMillisecond / 20 && at <= time;
             at += kMillisecond) {
            Slot& slot = slot_of(at);
            slot.away = std::max(slot.away, time - last_);
        }
        away_until_ = time - last_ > kAway ? time : away_until_;
        last_ = time;
        return time;
    }

    // Packets for which the ring has no room are not counted as lost: they were never offered.
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
        const unsigned sent =
            rte_eth_tx_burst(kMemifIn, 0, mbufs.data(), static_cast<std::uint16_t>(n));
        rte_pktmbuf_free_bulk(mbufs.data() + sent, n - sent);
        number_ += sent;
        slot_of(time).sent += sent;
        return sent;
    }

    void receive() {
        std::array<rte_mbuf*, kBurst> mbufs;
        const unsigned n = rte_eth_rx_burst(kMemifOut, 0, mbufs.data(), kBurst);
        if (n == 0) {
            return;
        }
        const std::uint64_t time = look();
        for (unsigned i = 0; i < n; ++i) {
            std::uint64_t sent = 0;
            std::memcpy(&sent, rte_pktmbuf_mtod_offset(mbufs[i], const char*, kPayload),
                        sizeof(sent));
            Slot& slot = slot_of(sent);
            slot.received++;
            slot.delay = std::max(slot.delay, time - sent);
            if (singly_ && sent >= away_until_) {
                delays_.push_back(time - sent);
            }
        }
        rte_pktmbuf_free_bulk(mbufs.data(), n);
    }

    rte_mempool* pool_;
    std::uint64_t rate_;
    std::uint64_t most_behind_;
    bool singly_;
    std::array<std::uint8_t, kLength> frame_{};
    std::vector<Slot> slots_ = std::vector<Slot>(1);
    std::uint64_t begin_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t away_until_ = 0;
    std::uint64_t number_ = 0;
    std::vector<std::uint64_t> delays_;
};

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho::bench;
    const int separator = argc > 5 && std::string(argv[5]) == "--" ? 5 : 6;
    if (argc <= separator || std::string(argv[separator]) != "--") {
        fail("usage",
             "paced_sender IN-SOCKET OUT-SOCKET PACKETS-PER-SECOND FILE [DELAYS] -- EAL arguments");
    }
    rte_mempool* pool = connect_memif_pair(argv[1], argv[2], separator + 1, argc, argv);
    std::puts("sending");
    std::fflush(stdout);
    const char* const delays = separator == 6 ? argv[5] : nullptr;
    Sender sender(pool, std::strtoull(argv[3], nullptr, 10), delays != nullptr);
    sender.run();
    sender.write(argv[4]);
    if (delays != nullptr) {
        sender.write_delays(delays);
    }
    std::puts("written");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}
