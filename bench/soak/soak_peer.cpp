// SPDX-License-Identifier: BSD-3-Clause
// Both ends of an appliance for hours. Sends as many packets as a memif takes, some of them copies
// of others, receives from another memif, and records what became of each packet.
//
//     soak_peer IN-SOCKET OUT-SOCKET SEED -- EAL arguments
//
// Prints "sending" first. Standard input has one command a line; its end ends the program:
//     silence MS   send nothing for so long
//     deaf MS      receive nothing for so long, so that the appliance's tx ring fills
//     echoes PCT   from now on this percentage of packets are copies
//     hold         stop sending, and print all sums since the start as one line of JSON
//     rest         after a hold: wait until nothing arrives, and print them again;
//                  packets that have not arrived by then are lost
//     go           continue after a rest
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include "common/memif_pair.h"

namespace unecho::bench {
namespace {

constexpr const char* kProgram = "soak_peer";
constexpr unsigned kBurst = 32;
constexpr std::uint64_t kMillisecond = 1'000'000;
// Packets whose outcome is still open: far more than rings and buffers hold together.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 23;
// Only the last so many packets are copied, and none that is older.
constexpr std::uint64_t kReach = 32768;
constexpr std::uint64_t kOldest = 10 * kMillisecond;
constexpr std::uint64_t kStep = 10 * kMillisecond;
constexpr std::uint64_t kFlows = 4096;
constexpr std::uint64_t kQuiet = 500 * kMillisecond;  // then nothing arrives any more
constexpr unsigned kHeaders = 42;                     // Ethernet, IPv4, UDP
constexpr std::array<unsigned, 8> kLengths{60, 60, 60, 60, 60, 200, 572, 1514};

std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93ULL;
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93ULL;
    return x ^ x >> 32;
}

struct Tally {
    std::uint64_t offered = 0;  // including those that the ring had no room for
    std::uint64_t sent = 0;
    std::uint64_t copies = 0;  // among those sent
    std::uint64_t received = 0;
    std::uint64_t closed = 0;  // packets whose outcome is known
    std::uint64_t leaked = 0;  // packets that arrived although their number had arrived before
    // These by delay: index i counts those that arrived i to i + 1 times kStep after the first
    // packet of their number was sent, an upper bound on the time between both in the appliance.
    // The last index counts all longer delays.
    std::array<std::uint64_t, 32> leaked_by_age{};
    std::uint64_t vanished = 0;   // numbers of which no packet arrived
    std::uint64_t invented = 0;   // arrived more often than sent, or never sent
    std::uint64_t changed = 0;    // arrived with different bytes
    std::uint64_t overtaken = 0;  // originals that arrived after a later one of their flow
};

class Peer {
  public:
    Peer(rte_mempool* pool, std::uint64_t seed)
        : pool_(pool), seed_(seed), draw_(seed | 1), fates_(2 * kOpen), sent_at_(2 * kOpen) {}

    void run() {
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        for (std::uint64_t round = 0;; ++round) {
            now_ = monotonic_now();
            if ((round & 0x3FF) == 0 && !obey()) {
                return;
            }
            if (!holding_ && now_ >= silent_until_) {
                send();
            }
            if (now_ >= deaf_until_) {
                receive();
            }
            if (resting_ && now_ - last_came_ > kQuiet && now_ >= deaf_until_) {
                close_before(next_);
                tell();
                resting_ = false;
            }
        }
    }

  private:
    struct Disposition {
        std::uint8_t sent = 0;
        std::uint8_t came = 0;
    };

    bool obey() {
        std::array<char, 256> bytes;
        const ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
        if (n == 0) {
            return false;
        }
        text_.append(bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
        for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            obey(std::string_view(text_).substr(0, end));
            text_.erase(0, end + 1);
        }
        return true;
    }

    void obey(std::string_view line) {
        const std::size_t space = line.find(' ');
        const std::string_view word = line.substr(0, space);
        std::uint64_t number = 0;
        if (space != std::string_view::npos) {
            const auto [end, error] =
                std::from_chars(line.data() + space + 1, line.data() + line.size(), number);
            if (error != std::errc{} || end != line.data() + line.size()) {
                fail(kProgram, "a command has a number that is none");
            }
        }
        if (word == "silence") {
            silent_until_ = now_ + number * kMillisecond;
        } else if (word == "deaf") {
            deaf_until_ = now_ + number * kMillisecond;
        } else if (word == "echoes" && number <= 100) {
            echo_percent_ = number;
        } else if (word == "hold") {
            holding_ = true;
            tell();
        } else if (word == "rest" && holding_) {
            resting_ = true;
            last_came_ = now_;
        } else if (word == "go") {
            holding_ = false;
        } else {
            fail(kProgram, "a command is not known");
        }
    }

    std::uint64_t draw() {
        draw_ ^= draw_ << 13;
        draw_ ^= draw_ >> 7;
        draw_ ^= draw_ << 17;
        return draw_;
    }

    Disposition& fate_of(std::uint64_t number) { return fates_[number & (2 * kOpen - 1)]; }
    std::uint64_t& sent_at(std::uint64_t number) { return sent_at_[number & (2 * kOpen - 1)]; }

    // Build the packet of a number. It is always the same except for the fields that hops change.
    unsigned build(std::uint64_t number, bool copy, std::uint8_t* out) const {
        const std::uint64_t random = mixed(number ^ seed_);
        const std::uint64_t flow = number % kFlows;
        const unsigned length = kLengths[random & 7];
        const auto ip = static_cast<std::uint16_t>(length - 14);
        const auto udp = static_cast<std::uint16_t>(ip - 20);
        const std::array<std::uint8_t, kHeaders> headers{
            2,
            0,
            0,
            0,
            0,
            static_cast<std::uint8_t>(copy ? 4 : 2),  //
            2,
            0,
            0,
            0,
            0,
            static_cast<std::uint8_t>(copy ? 3 : 1),  //
            8,
            0,
            0x45,
            0,
            static_cast<std::uint8_t>(ip >> 8),
            static_cast<std::uint8_t>(ip),
            static_cast<std::uint8_t>(number >> 8),
            static_cast<std::uint8_t>(number),
            0x40,
            0,
            static_cast<std::uint8_t>(copy ? 63 : 64),
            17,
            0,
            0,  //
            10,
            0,
            static_cast<std::uint8_t>(flow >> 8),
            static_cast<std::uint8_t>(flow),  //
            10,
            1,
            0,
            1,  //
            0x40,
            0,
            0x50,
            0,
            static_cast<std::uint8_t>(udp >> 8),
            static_cast<std::uint8_t>(udp),
            0,
            0};
        std::memcpy(out, headers.data(), kHeaders);
        std::memcpy(out + kHeaders, &number, sizeof(number));
        std::memset(out + kHeaders + sizeof(number), static_cast<int>(random >> 8 & 0xFF),
                    length - kHeaders - sizeof(number));
        return length;
    }

    void send() {
        std::array<rte_mbuf*, kBurst> mbufs;
        std::array<std::uint64_t, kBurst> numbers;
        std::array<bool, kBurst> copies;
        if (rte_pktmbuf_alloc_bulk(pool_, mbufs.data(), kBurst) != 0) {
            return;
        }
        std::uint64_t next = next_;
        for (unsigned i = 0; i < kBurst; ++i) {
            const std::uint64_t random = draw();
            const std::uint64_t back = 1 + (random >> 32) % kReach;
            copies[i] = random % 100 < echo_percent_ && back <= next_ &&
                        now_ - sent_at(next_ - back) < kOldest && fate_of(next_ - back).sent < 200;
            numbers[i] = copies[i] ? next_ - back : next++;
            auto* const data = rte_pktmbuf_mtod(mbufs[i], std::uint8_t*);
            const unsigned length = build(numbers[i], copies[i], data);
            mbufs[i]->pkt_len = length;
            mbufs[i]->data_len = static_cast<std::uint16_t>(length);
        }
        const unsigned sent = rte_eth_tx_burst(kMemifIn, 0, mbufs.data(), kBurst);
        rte_pktmbuf_free_bulk(mbufs.data() + sent, kBurst - sent);
        for (unsigned i = 0; i < sent; ++i) {
            if (!copies[i]) {
                close_before(next_ >= kOpen ? next_ - kOpen + 1 : 0);
                fate_of(next_) = {};
                sent_at(next_) = now_;
                ++next_;
            }
            ++fate_of(numbers[i]).sent;
            tally_.copies += copies[i] ? 1 : 0;
        }
        tally_.sent += sent;
        tally_.offered += kBurst;
    }

    void receive() {
        std::array<rte_mbuf*, kBurst> mbufs;
        const unsigned n = rte_eth_rx_burst(kMemifOut, 0, mbufs.data(), kBurst);
        if (n > 0) {
            last_came_ = now_;
            const std::uint64_t came_at = monotonic_now();
            for (unsigned i = 0; i < n; ++i) {
                judge(*mbufs[i], came_at);
            }
            tally_.received += n;
            rte_pktmbuf_free_bulk(mbufs.data(), n);
        }
    }

    void judge(const rte_mbuf& mbuf, std::uint64_t came_at) {
        const auto* const data = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
        std::uint64_t number = ~std::uint64_t{0};
        if (mbuf.nb_segs == 1 && mbuf.data_len >= kHeaders + sizeof(number)) {
            std::memcpy(&number, data + kHeaders, sizeof(number));
        }
        if (number >= next_ || number < closed_) {
            ++tally_.invented;
            return;
        }
        std::array<std::uint8_t, 2048> expected;
        const bool copy = data[5] == 4;
        const unsigned length = build(number, copy, expected.data());
        if (mbuf.data_len != length || std::memcmp(data, expected.data(), length) != 0) {
            ++tally_.changed;
        }
        Disposition& fate = fate_of(number);
        if (fate.came > 0) {
            const std::uint64_t steps = (came_at - sent_at(number)) / kStep;
            ++tally_.leaked_by_age[std::min(steps, tally_.leaked_by_age.size() - 1)];
            ++tally_.leaked;
        }
        if (++fate.came > fate.sent) {
            ++tally_.invented;
        }
        std::uint64_t& last = last_of_flow_[number % kFlows];
        if (!copy) {
            tally_.overtaken += number < last ? 1 : 0;
            last = std::max(last, number);
        }
    }

    void close_before(std::uint64_t number) {
        for (; closed_ < number; ++closed_) {
            tally_.vanished += fate_of(closed_).came == 0 ? 1 : 0;
            ++tally_.closed;
        }
    }

    void tell() const {
        const auto n = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
        std::printf(
            "{\"offered\": %llu, \"sent\": %llu, \"copies\": %llu, \"received\": "
            "%llu, "
            "\"closed\": %llu, \"leaked\": %llu, \"vanished\": %llu, \"invented\": %llu, "
            "\"changed\": %llu, \"overtaken\": %llu, \"leaked_by_age\": [",
            n(tally_.offered), n(tally_.sent), n(tally_.copies), n(tally_.received),
            n(tally_.closed), n(tally_.leaked), n(tally_.vanished), n(tally_.invented),
            n(tally_.changed), n(tally_.overtaken));
        for (std::size_t i = 0; i < tally_.leaked_by_age.size(); ++i) {
            std::printf("%s%llu", i == 0 ? "" : ", ", n(tally_.leaked_by_age[i]));
        }
        std::puts("]}");
        std::fflush(stdout);
    }

    rte_mempool* pool_;
    std::uint64_t seed_;
    std::uint64_t draw_;
    std::vector<Disposition> fates_;      // by number
    std::vector<std::uint64_t> sent_at_;  // by number
    std::array<std::uint64_t, kFlows> last_of_flow_{};
    Tally tally_;
    std::string text_;
    std::uint64_t next_ = 0;
    std::uint64_t closed_ = 0;  // all numbers below
    std::uint64_t echo_percent_ = 30;
    std::uint64_t now_ = 0;
    std::uint64_t silent_until_ = 0;
    std::uint64_t deaf_until_ = 0;
    std::uint64_t last_came_ = 0;
    bool holding_ = false;
    bool resting_ = false;
};

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho::bench;
    std::uint64_t seed = 0;
    const std::string_view text = argc > 3 ? argv[3] : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (argc < 5 || std::string_view(argv[4]) != "--" || error != std::errc{} ||
        end != text.data() + text.size()) {
        fail("usage", "soak_peer IN-SOCKET OUT-SOCKET SEED -- EAL arguments");
    }
    Peer peer(connect_memif_pair(argv[1], argv[2], 5, argc, argv), seed);
    std::puts("sending");
    std::fflush(stdout);
    peer.run();
    return 0;
}
