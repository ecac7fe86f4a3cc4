// SPDX-License-Identifier: BSD-3-Clause
// The first byte of the input chooses the link type, the rest is one frame. The frame is parsed and
// digested in every mode, in a burst with variants of itself: cut, one bit changed, masked fields
// changed. Each lies in an allocation of exactly its size. Checks:
// - The masks are disjoint and name every frame.
// - In packet mode, digests are equal exactly if the IP packets are equal without TOS, TTL and
//   checksum; in frame mode, exactly if all bytes are.
// - Packets with different addresses have different flows. Frames with equal digests in a mode have
//   equal ones in each mode that compares less, and one owner.
// - Frames without an IP packet have equal digests if their bytes are equal, and one owner if the
//   digests are.
// - Tags, unfinished checksums, identification and point of observation give the same result alone
//   and in a burst. Tags separate digests and never join any; equal frames have equal ones.
// tests/unit/packets/key_vs_oracle_test.py checks with the same corpora which bytes are the key.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "packets/keys/digests.h"
#include "packets/keys/key_spec.h"
#include "packets/keys/observation.h"

namespace {

using namespace unecho::packet;
using unecho::Digest;
using unecho::kMaxBurst;
using Bytes = std::vector<std::uint8_t>;

const unecho::hash::Secret kSecret = unecho::hash::secret_from_seed(1);

void require(bool holds, const char* what, KeyMode mode) {
    if (!holds) {
        std::fprintf(stderr, "broken in mode %s: %s\n", name_of(mode).data(), what);
        std::abort();
    }
}

// Frames in allocations of exactly their size.
class Burst {
  public:
    void add(std::span<const std::uint8_t> bytes) {
        blocks_.push_back(std::make_unique<std::uint8_t[]>(bytes.size()));
        std::copy(bytes.begin(), bytes.end(), blocks_.back().get());
        frames_.push_back({blocks_.back().get(), static_cast<std::uint32_t>(bytes.size())});
    }
    [[nodiscard]] std::span<const Frame> frames() const { return frames_; }

  private:
    std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
    std::vector<Frame> frames_;
};

// The input, then cuts of it and copies with one bit changed, anywhere and in the first headers.
constexpr std::size_t kCuts = 5;
constexpr std::size_t kChanges = 5;
constexpr std::size_t kHeaders = 64;

Burst variants(const Bytes& input) {
    Burst burst;
    burst.add(input);
    if (input.empty()) {
        return burst;
    }
    for (std::size_t i = 0; i < kCuts; ++i) {
        burst.add({input.data(), (input.size() - 1) * i / (kCuts - 1)});
    }
    // The place depends on the input alone, so that a crash can be reproduced.
    std::uint64_t place = unecho::remix(input.size(), input.back());
    Bytes changed = input;
    for (std::size_t i = 0; i < kChanges * 2; ++i) {
        place = unecho::remix(place, input[place % input.size()]);
        const std::size_t range = i < kChanges ? input.size() : std::min(input.size(), kHeaders);
        const auto bit = static_cast<std::uint8_t>(1U << (place >> 61));
        changed[place % range] ^= bit;
        burst.add(changed);
        changed[place % range] ^= bit;
    }
    return burst;
}

Bytes bytes_of(const std::uint8_t* data, std::size_t size) {
    return {data, data + size};
}

// Return the IP packet as packet mode compares it.
Bytes masked(const IpPacket& ip) {
    Bytes out = bytes_of(ip.data, ip.length);
    if (out[0] >> 4 == 4) {
        out[1] = out[8] = out[10] = out[11] = 0;
    } else {
        out[0] = 0x60;
        out[1] &= 0x0F;
        out[7] = 0;
    }
    return out;
}

// Return source and destination, the lower one first.
std::array<Bytes, 2> addresses(const IpPacket& ip) {
    const bool v4 = ip.data[0] >> 4 == 4;
    const std::size_t size = v4 ? 4 : 16;
    const std::uint8_t* const at = ip.data + (v4 ? 12 : 8);
    std::array<Bytes, 2> out{bytes_of(at, size), bytes_of(at + size, size)};
    std::sort(out.begin(), out.end());
    return out;
}

struct Keyed {
    KeyMasks masks;
    std::array<Digest, kMaxBurst> digests{};
};

Keyed keyed(KeyMode mode, std::span<const Frame> frames, const ParsedBurst& parsed) {
    Keyed out;
    out.masks = digest_burst(mode, frames, parsed, kSecret, out.digests.data());
    const KeyMasks& masks = out.masks;
    const std::uint64_t all = ~std::uint64_t{0} >> (kMaxBurst - frames.size());
    require((masks.keyed | masks.non_ip | masks.malformed) == all &&
                (masks.keyed ^ masks.non_ip ^ masks.malformed) == all &&
                (masks.keyed & masks.non_ip & masks.malformed) == 0,
            "masks are disjoint and name every frame", mode);
    if (mode != KeyMode::kFrame) {
        const std::uint64_t ip = parsed.ipv4 | parsed.ipv6;
        require(mode == KeyMode::kPacket ? masks.keyed == ip : (masks.keyed & ~ip) == 0,
                "frames with an IP packet have keys, and no others", mode);
        require(masks.non_ip == parsed.non_ip, "frames without an IP packet are said to be", mode);
    }
    return out;
}

// Return true if both have a key in this mode and the digests are equal.
bool same(const Keyed& all, std::size_t i, std::size_t j) {
    return (all.masks.keyed >> i & all.masks.keyed >> j & 1) != 0 &&
           all.digests[i] == all.digests[j];
}

void check_modes(LinkType link, std::span<const Frame> frames, std::span<const Digest> owners) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    const Keyed packet = keyed(KeyMode::kPacket, frames, parsed);
    const Keyed flow = keyed(KeyMode::kFlow, frames, parsed);
    const Keyed bidir = keyed(KeyMode::kFlowBidir, frames, parsed);
    const Keyed frame = keyed(KeyMode::kFrame, frames, parsed);
    require(flow.masks.keyed == bidir.masks.keyed, "a flow has a key both ways", KeyMode::kFlow);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const bool equal = std::equal(frames[i].data, frames[i].data + frames[i].length,
                                          frames[j].data, frames[j].data + frames[j].length);
            require(same(frame, i, j) == equal, "a frame is its bytes", KeyMode::kFrame);
            require(!equal || owners[i] == owners[j], "equal frames have one owner",
                    KeyMode::kFrame);
            if ((packet.masks.keyed >> i & packet.masks.keyed >> j & 1) == 0) {
                continue;
            }
            const IpPacket& one = parsed.ip[i];
            const IpPacket& other = parsed.ip[j];
            require(same(packet, i, j) == (masked(one) == masked(other)),
                    "a packet is its bytes but for the masked ones", KeyMode::kPacket);
            const bool has_flow = (flow.masks.keyed >> i & 1) != 0;
            require(!same(packet, i, j) || !has_flow || same(flow, i, j), "a packet has one flow",
                    KeyMode::kFlow);
            require(!same(flow, i, j) || same(bidir, i, j), "a flow is one both ways",
                    KeyMode::kFlowBidir);
            require(!same(bidir, i, j) || addresses(one) == addresses(other),
                    "a flow is between two addresses", KeyMode::kFlowBidir);
            require(!(same(packet, i, j) || same(bidir, i, j)) || owners[i] == owners[j],
                    "equal keys have one owner", KeyMode::kFlowBidir);
        }
    }
}

void check_non_ip(LinkType link, std::span<const Frame> frames, std::span<const Digest> owners) {
    constexpr KeyMode kMode = KeyMode::kPacket;
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    Keyed all = keyed(kMode, frames, parsed);
    const std::uint64_t asked = all.masks.non_ip;
    const std::uint64_t before = all.masks.keyed;
    digest_non_ip(link, frames, kSecret, all.digests.data(), all.masks);
    const std::uint64_t got = all.masks.keyed & ~before;
    require((got | all.masks.non_ip) == asked && (got & all.masks.non_ip) == 0,
            "frames without IP have a digest or none", kMode);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if ((asked >> i & asked >> j & 1) == 0) {
                continue;
            }
            const bool equal = std::equal(frames[i].data, frames[i].data + frames[i].length,
                                          frames[j].data, frames[j].data + frames[j].length);
            require(!equal || (got >> i & 1) == (got >> j & 1),
                    "equal frames have a digest or none", kMode);
            require(!equal || (got >> i & 1) == 0 || same(all, i, j), "equal frames without IP",
                    kMode);
            require((got >> i & got >> j & 1) == 0 || !same(all, i, j) || owners[i] == owners[j],
                    "equal frames without IP have one owner", kMode);
        }
    }
}

struct Seen {
    std::array<Digest, kMaxBurst> filled{};  // with finished checksums
    std::array<Digest, kMaxBurst> tagged{};
    std::uint64_t keyed = 0;
    std::uint64_t identified = 0;
    std::array<ObservationPoint, kMaxBurst> places{};
};

Seen seen_in(LinkType link, std::span<const Frame> frames) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    const Keyed packet = keyed(KeyMode::kPacket, frames, parsed);
    Seen out{packet.digests, packet.digests, packet.masks.keyed};
    fill_checksums(frames, parsed, out.keyed, kSecret, out.filled.data());
    KeySpec key;
    key.tags = Tags::kCompare;
    DecapsulatedBurst opened;
    opened.clear();
    add_tags(key, link, frames, parsed, opened, out.keyed, kSecret, out.tagged.data());
    out.identified = identified(parsed) & out.keyed;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        out.places[i] = observation_point_of(link, frames[i], parsed.at(i), kSecret);
        if (link == LinkType::kEthernet && frames[i].length >= kMacAddresses) {
            require(
                out.places[i] == observation_point_in_ethernet(frames[i], parsed.at(i), kSecret),
                "a place on Ethernet", KeyMode::kPacket);
        }
    }
    return out;
}

void check_seen(LinkType link, std::span<const Frame> frames) {
    constexpr KeyMode kMode = KeyMode::kPacket;
    const Seen all = seen_in(link, frames);
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    const Keyed packet = keyed(kMode, frames, parsed);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Seen alone = seen_in(link, frames.subspan(i, 1));
        const bool has_key = (all.keyed >> i & 1) != 0;
        require(alone.places[0] == all.places[i], "a place alone is that in a burst", kMode);
        require(alone.keyed == (all.keyed >> i & 1), "a key alone is that in a burst", kMode);
        require(alone.identified == (all.identified >> i & 1), "identified alone as in a burst",
                kMode);
        require(!has_key || alone.filled[0] == all.filled[i], "a checksum alone as in a burst",
                kMode);
        require(!has_key || alone.tagged[0] == all.tagged[i], "tags alone as in a burst", kMode);
        for (std::size_t j = 0; j < i; ++j) {
            if (!has_key || (all.keyed >> j & 1) == 0) {
                continue;
            }
            require(!same(packet, i, j) || all.filled[i] == all.filled[j],
                    "equal packets are equal with their checksums", kMode);
            require(all.tagged[i] != all.tagged[j] || same(packet, i, j), "tags join no packets",
                    kMode);
            const bool equal = std::equal(frames[i].data, frames[i].data + frames[i].length,
                                          frames[j].data, frames[j].data + frames[j].length);
            require(!equal || (all.tagged[i] == all.tagged[j] && all.places[i] == all.places[j]),
                    "equal frames have equal tags and places", kMode);
        }
    }
}

// Return owner digests from the parsed burst, in which each frame must parse as it does alone.
std::array<Digest, kMaxBurst> owners_of(LinkType link, std::span<const Frame> frames) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    std::array<Digest, kMaxBurst> owners{};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Parsed of_burst = parsed.at(i);
        const Parsed alone = parse_frame(link, frames[i]);
        require(of_burst.found == alone.found && of_burst.ip.data == alone.ip.data &&
                    of_burst.ip.length == alone.ip.length,
                "a frame is parsed alone as in a burst", KeyMode::kPacket);
        const bool is_ip = alone.found == L3Type::kIpv4 || alone.found == L3Type::kIpv6;
        require(!is_ip || (alone.ip.data >= frames[i].data &&
                           alone.ip.data + alone.ip.length <= frames[i].data + frames[i].length),
                "the IP packet lies inside the frame", KeyMode::kPacket);
    }
    owner_digests(link, frames, parsed, kSecret, owners.data());
    return owners;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto link = static_cast<LinkType>(data[0] % kLinks);
    const Bytes input(data + 1, data + size);
    const Burst burst = variants(input);
    const std::array<Digest, kMaxBurst> owners = owners_of(link, burst.frames());
    check_modes(link, burst.frames(), owners);
    check_non_ip(link, burst.frames(), owners);
    check_seen(link, burst.frames());
    return 0;
}
