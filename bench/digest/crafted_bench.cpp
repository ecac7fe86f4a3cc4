// SPDX-License-Identifier: BSD-3-Clause
// The cost of a packet from its bytes to its digest and owner if an attacker made it expensive,
// compared with plain packets (docs/reliability.md). All tunnels are opened. Rows alternate in
// short windows. Prints medians in ns a packet and the ratio to the shortest plain packet. It also
// prints that ratio for equal bytes on the wire: 1 is as expensive as a wire full of shortest
// packets.
//
//     crafted_bench [WINDOWS]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/samples.h"
#include "filters/hash/secret.h"
#include "packets/headers.h"
#include "packets/keys/digests.h"
#include "packets/parse.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::bench {
namespace {

using Bytes = std::vector<std::uint8_t>;
using packet::Frame;
using packet::KeyMode;

constexpr std::size_t kShortest = 60;
constexpr std::size_t kLongest = 1514;
constexpr std::size_t kWire = 24;  // in addition to a frame: check sequence, preamble, gap
constexpr unsigned kBursts = 16;   // used in turns

void put16(Bytes& out, std::size_t at, std::size_t value) {
    out[at] = static_cast<std::uint8_t>(value >> 8);
    out[at + 1] = static_cast<std::uint8_t>(value);
}

Bytes joined(Bytes first, const Bytes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Bytes in_ipv4(std::uint8_t protocol, const Bytes& inner, std::size_t options = 0) {
    Bytes out(20 + options, 1);  // options: no operation
    out[0] = static_cast<std::uint8_t>(0x40 | out.size() / 4);
    put16(out, 2, out.size() + inner.size());
    put16(out, 6, 0);
    out[8] = 64;
    out[9] = protocol;
    return joined(std::move(out), inner);
}

// Return an IPv6 packet with so many extension headers of 8 bytes.
Bytes in_ipv6(std::uint8_t protocol, std::size_t extensions, const Bytes& inner) {
    constexpr std::uint8_t kDestinationOptions = 60;
    Bytes out(40 + 8 * extensions, 0);
    out[0] = 0x60;
    put16(out, 4, out.size() - 40 + inner.size());
    out[6] = extensions == 0 ? protocol : kDestinationOptions;
    out[7] = 64;
    for (std::size_t i = 0; i < extensions; ++i) {
        out[40 + 8 * i] = i + 1 == extensions ? protocol : kDestinationOptions;
    }
    return joined(std::move(out), inner);
}

Bytes udp(std::uint16_t port, const Bytes& inner) {
    Bytes out(8, 0);
    put16(out, 0, 4000);
    put16(out, 2, port);
    put16(out, 4, out.size() + inner.size());
    return joined(std::move(out), inner);
}

Bytes ethernet(std::uint16_t type, const Bytes& inner) {
    Bytes out(14, 2);
    put16(out, 12, type);
    return joined(std::move(out), inner);
}

Bytes datagram(std::size_t payload) {
    return udp(2000, Bytes(payload, 0x5A));
}

Bytes plain(std::size_t bytes) {
    return ethernet(0x0800, in_ipv4(17, datagram(bytes - 42)));
}

Bytes labelled(std::size_t bytes) {
    const std::size_t labels = (bytes - 42) / 4;
    Bytes stack(4 * labels, 0);
    stack[4 * labels - 2] = 1;  // bottom of the stack
    return ethernet(0x8847, joined(std::move(stack), in_ipv4(17, datagram(0))));
}

Bytes tagged(std::size_t bytes) {
    const std::size_t tags = (bytes - 42) / 4;
    Bytes stack;
    for (std::size_t i = 0; i < tags; ++i) {
        const bool last = i + 1 == tags;
        stack = joined(std::move(stack), {0, 7, static_cast<std::uint8_t>(last ? 0x08 : 0x81), 0});
    }
    return ethernet(0x8100, joined(std::move(stack), in_ipv4(17, datagram(0))));
}

Bytes chained(std::size_t bytes) {
    return ethernet(0x86DD, in_ipv6(17, (bytes - 62) / 8, datagram(0)));
}

Bytes nested_ip() {
    Bytes out = in_ipv4(17, datagram(0));
    for (unsigned i = 0; i < packet::kMaxLevels; ++i) {
        out = in_ipv4(4, out);
    }
    return ethernet(0x0800, out);
}

Bytes nested_chains(std::size_t bytes) {
    const std::size_t each = ((bytes - 22) / (packet::kMaxLevels + 1) - 40) / 8;
    Bytes out = in_ipv6(17, each, datagram(0));
    for (unsigned i = 0; i < packet::kMaxLevels; ++i) {
        out = in_ipv6(41, each, out);
    }
    return ethernet(0x86DD, out);
}

Bytes nested_vxlan() {
    Bytes out = plain(kShortest);
    for (unsigned i = 0; i < packet::kMaxLevels; ++i) {
        out = ethernet(0x0800, in_ipv4(17, udp(4789, joined({8, 0, 0, 0, 0, 0, 7, 0}, out))));
    }
    return out;
}

struct Shape {
    std::string name;
    std::vector<Bytes> frames;  // each packet is one of these at random
};

std::vector<Shape> shapes() {
    std::vector<Shape> out;
    out.push_back({"plain", {plain(kShortest)}});
    out.push_back({"plain, long", {plain(kLongest)}});
    out.push_back({"IPv4 options", {ethernet(0x0800, in_ipv4(17, datagram(0), 40))}});
    out.push_back({"labels", {labelled(126)}});
    out.push_back({"labels, long", {labelled(kLongest)}});
    out.push_back({"tags, long", {tagged(kLongest)}});
    out.push_back({"extensions", {chained(126)}});
    out.push_back({"extensions, long", {chained(kLongest)}});
    out.push_back({"IP in IP, 8", {nested_ip()}});
    out.push_back({"VXLAN, 8", {nested_vxlan()}});
    out.push_back({"IPv6, 8, extensions", {nested_chains(kLongest)}});
    Shape mixed{"short ones mixed", {}};
    Shape all{"all mixed", {}};
    for (const Shape& shape : out) {
        const Bytes& frame = shape.frames.front();
        all.frames.push_back(frame);
        if (frame.size() < 256) {
            mixed.frames.push_back(frame);
        }
    }
    out.push_back(std::move(mixed));
    out.push_back(std::move(all));
    return out;
}

class Row {
  public:
    Row(const Shape& shape, KeyMode mode) : name_(shape.name), mode_(mode) {
        std::mt19937_64 random(1);
        for (unsigned i = 0; i < kBursts * kMaxBurst; ++i) {
            packets_.push_back(shape.frames[random() % shape.frames.size()]);
            bytes_ += static_cast<double>(std::max(packets_.back().size(), kShortest) + kWire);
        }
        for (const Bytes& one : packets_) {
            frames_.push_back({one.data(), static_cast<std::uint32_t>(one.size())});
        }
    }

    void measure(const packet::Tunnels& tunnels, const hash::Secret& secret) {
        const auto begin = std::chrono::steady_clock::now();
        Digest all = 0;
        for (unsigned i = 0; i < kBursts; ++i) {
            const std::span<const Frame> burst{frames_.data() + i * kMaxBurst, kMaxBurst};
            packet::parse_burst(packet::LinkType::kEthernet, burst, parsed_);
            packet::owner_digests(packet::LinkType::kEthernet, burst, parsed_, secret,
                                  digests_.data());
            all ^= digests_[i];
            packet::decapsulate_burst(tunnels, packet::LinkType::kEthernet, burst, parsed_,
                                      opened_);
            const auto masks = packet::digest_burst(mode_, burst, parsed_, secret, digests_.data());
            all ^= digests_[i] ^ masks.keyed;
        }
        const auto end = std::chrono::steady_clock::now();
        asm volatile("" : : "r"(all));
        samples_.add(std::chrono::duration<double, std::nano>(end - begin).count() /
                     static_cast<double>(frames_.size()));
    }

    [[nodiscard]] double median() const { return samples_.median(); }
    // Return the bytes on the wire a packet.
    [[nodiscard]] double wire() const { return bytes_ / static_cast<double>(frames_.size()); }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    std::string name_;
    KeyMode mode_;
    std::vector<Bytes> packets_;
    std::vector<Frame> frames_;
    double bytes_ = 0;
    packet::ParsedBurst parsed_;
    packet::DecapsulatedBurst opened_;
    std::array<Digest, kMaxBurst> digests_{};
    Samples samples_;
};

void print(const char* mode, const std::vector<Row>& rows) {
    const Row& plain = rows.front();
    for (const Row& row : rows) {
        const double ratio = row.median() / plain.median();
        std::printf("%-7s %-20s %7.0f %9.1f %7.1f %9.2f\n", mode, row.name().c_str(),
                    row.wire() - kWire, row.median(), ratio, ratio * plain.wire() / row.wire());
    }
}

}  // namespace
}  // namespace unecho::bench

int main(int argc, char** argv) {
    using namespace unecho;
    const auto windows =
        static_cast<unsigned>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000);
    if (windows == 0) {
        std::fputs("crafted_bench [WINDOWS]: at least 1\n", stderr);
        return 2;
    }
    const hash::Secret secret = hash::secret_from_seed(1);
    const packet::Tunnels tunnels(packet::EncapsulationSet::all());
    std::vector<bench::Row> by_packet;
    std::vector<bench::Row> by_flow;
    for (const bench::Shape& shape : bench::shapes()) {
        by_packet.emplace_back(shape, packet::KeyMode::kPacket);
        by_flow.emplace_back(shape, packet::KeyMode::kFlow);
    }
    for (unsigned i = 0; i < windows; ++i) {
        for (auto* rows : {&by_packet, &by_flow}) {
            for (bench::Row& row : *rows) {
                row.measure(tunnels, secret);
            }
        }
    }
    std::printf("%-7s %-20s %7s %9s %7s %9s\n", "key", "packets", "bytes", "ns", "ratio",
                "of wire");
    bench::print("packet", by_packet);
    bench::print("flow", by_flow);
}
