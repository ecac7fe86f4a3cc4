// SPDX-License-Identifier: BSD-3-Clause
// Sends frames of 64 bytes (60 without the checksum) out of an interface of the kernel at a steady
// rate: what live_bench measures with.
//
//     veth_sender INTERFACE PACKETS-PER-SECOND PACKETS ECHOES-PERCENT
//
// UDP over IPv4, each with a number of its own in IP ID and payload; an echo repeats the packet
// before it. Prints packets sent, and the seconds that it took.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr unsigned kBurst = 64;
constexpr std::size_t kLength = 60;
constexpr std::uint64_t kSecond = 1'000'000'000;
using Frame = std::array<std::uint8_t, kLength>;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "veth_sender: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

std::uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

void put16(Frame& frame, std::size_t at, std::uint32_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

Frame frame_of(std::uint64_t number) {
    Frame out{};
    out[0] = out[6] = 2;
    out[5] = 1;
    out[11] = 2;
    put16(out, 12, ETHERTYPE_IP);
    out[14] = 0x45;
    put16(out, 16, kLength - 14);
    put16(out, 18, static_cast<std::uint32_t>(number));
    out[22] = 64;
    out[23] = 17;
    out[26] = 10;
    put16(out, 28, static_cast<std::uint32_t>(number % 1000));
    out[30] = 10;
    out[33] = 1;
    std::uint32_t sum = 0;
    for (std::size_t at = 14; at < 34; at += 2) {
        sum += static_cast<std::uint32_t>(out[at] << 8 | out[at + 1]);
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    put16(out, 24, ~(sum + (sum >> 16)));
    put16(out, 34, 7);
    put16(out, 36, 9);
    put16(out, 38, kLength - 34);
    std::memcpy(&out[42], &number, sizeof(number));
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("veth_sender INTERFACE PACKETS-PER-SECOND PACKETS ECHOES-PERCENT\n", stderr);
        return 2;
    }
    const double rate = std::atof(argv[2]);
    const std::uint64_t packets = std::strtoull(argv[3], nullptr, 10);
    const std::uint64_t echoes = std::strtoull(argv[4], nullptr, 10);
    const int out = socket(AF_PACKET, SOCK_RAW, 0);
    const int bypass = 1;
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex(argv[1]));
    if (out < 0 || to.sll_ifindex == 0 || rate < 1 || echoes > 100) {
        fail(argv[1]);
    }
    setsockopt(out, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof(bypass));
    if (bind(out, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
        fail(argv[1]);
    }
    std::array<Frame, kBurst> frames;
    std::array<iovec, kBurst> pieces{};
    std::array<mmsghdr, kBurst> messages{};
    for (unsigned i = 0; i < kBurst; ++i) {
        pieces.at(i) = {frames.at(i).data(), kLength};
        messages.at(i).msg_hdr.msg_iov = &pieces.at(i);
        messages.at(i).msg_hdr.msg_iovlen = 1;
    }
    const std::uint64_t begun = now();
    std::uint64_t number = 0;
    for (std::uint64_t sent = 0; sent < packets;) {
        const auto due =
            static_cast<std::uint64_t>(static_cast<double>(now() - begun) * rate / 1e9);
        const auto n = static_cast<unsigned>(
            std::min<std::uint64_t>({kBurst, packets - sent, due > sent ? due - sent : 0}));
        for (unsigned i = 0; i < n; ++i) {
            const bool echo = (sent + i) % 100 < echoes && number != 0;
            frames.at(i) = frame_of(echo ? number : ++number);
        }
        for (unsigned gone = 0; gone < n;) {
            const int taken = sendmmsg(out, &messages.at(gone), n - gone, 0);
            if (taken < 0 && errno != ENOBUFS && errno != EAGAIN) {
                fail("sendmmsg");
            }
            gone += static_cast<unsigned>(std::max(taken, 0));
        }
        sent += n;
    }
    std::printf("%llu %.3f\n", static_cast<unsigned long long>(packets),
                static_cast<double>(now() - begun) / 1e9);
    return close(out);
}
