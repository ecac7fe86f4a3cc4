// SPDX-License-Identifier: BSD-3-Clause
// The first byte of the input chooses the link type, the rest is one frame. It goes through
// stage parse and digest_burst in every mode, in a burst with variants of itself (cut, one byte
// changed, masked fields changed), each in a block of exactly its size. Checked:
//   the masks are disjoint and name every frame, and each frame's outcome is the defined one
//   two frames have equal digests exactly if the definition gives them equal keys
//   frames with equal keys in any mode have one owner
//   TOS, TTL and checksum do not change the digest of packet mode
//   frames without an IP packet have equal digests of their own exactly if the definition says so,
//   and then one owner
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "packet/digests.h"
#include "support/reference_key.h"

namespace {

using namespace unecho::packet;
using unecho::Digest;
using unecho::kMaxBurst;
using unecho::test::KeyOutcome;
using unecho::test::reference_key;
using unecho::test::reference_non_ip_key;
using unecho::test::ReferenceKey;
using Bytes = std::vector<std::uint8_t>;

const unecho::hash::Secret kSecret = unecho::hash::secret_from_seed(1);

void require(bool holds, const char* what, KeyMode mode) {
    if (!holds) {
        std::fprintf(stderr, "broken in mode %s: %s\n", name_of(mode).data(), what);
        std::abort();
    }
}

// Frames in blocks of exactly their size.
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

// Offsets, from the IP header, of bytes that packet mode masks as a whole.
std::span<const std::uint8_t> masked_bytes(Found found) {
    static constexpr std::array<std::uint8_t, 4> kIpv4{1, 8, 10, 11};
    static constexpr std::array<std::uint8_t, 1> kIpv6{7};
    if (found == Found::kIpv4) {
        return kIpv4;
    }
    return found == Found::kIpv6 ? std::span<const std::uint8_t>(kIpv6)
                                 : std::span<const std::uint8_t>();
}

KeyMasks parse_and_digest(KeyMode mode, Link link, std::span<const Frame> frames, Digest* digests) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    return digest_burst(mode, frames, parsed, kSecret, digests);
}

Digest packet_digest(Link link, const Bytes& bytes) {
    Burst burst;
    burst.add(bytes);
    Digest digest = 0;
    const KeyMasks masks = parse_and_digest(KeyMode::kPacket, link, burst.frames(), &digest);
    require(masks.keyed == 1, "an IP packet has a key", KeyMode::kPacket);
    return digest;
}

void check_masked_fields(Link link, const Bytes& bytes) {
    const auto [found, ip] =
        parse_frame(link, {bytes.data(), static_cast<std::uint32_t>(bytes.size())});
    for (const std::uint8_t offset : masked_bytes(found)) {
        Bytes changed = bytes;
        changed[static_cast<std::size_t>(ip.data - bytes.data()) + offset] ^= 0xFF;
        require(packet_digest(link, changed) == packet_digest(link, bytes), "a masked byte counts",
                KeyMode::kPacket);
    }
}

// The input first, then cuts of it and copies with one bit changed, anywhere and in the first
// headers.
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
    // Where depends on the input alone, so that a crash can be run again.
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

KeyOutcome outcome_at(const KeyMasks& masks, std::size_t i) {
    if ((masks.keyed >> i & 1) != 0) {
        return KeyOutcome::kKeyed;
    }
    return (masks.non_ip >> i & 1) != 0 ? KeyOutcome::kNonIp : KeyOutcome::kMalformed;
}

void check_mode(KeyMode mode, Link link, std::span<const Frame> frames,
                std::span<const Digest> owners) {
    std::array<Digest, kMaxBurst> digests{};
    const KeyMasks masks = parse_and_digest(mode, link, frames, digests.data());
    const std::uint64_t all = ~std::uint64_t{0} >> (kMaxBurst - frames.size());
    require((masks.keyed | masks.non_ip | masks.malformed) == all &&
                (masks.keyed ^ masks.non_ip ^ masks.malformed) == all &&
                (masks.keyed & masks.non_ip & masks.malformed) == 0,
            "masks are disjoint and name every frame", mode);

    const ReferenceKey first = reference_key(mode, {frames[0].data, frames[0].length}, link);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const ReferenceKey key = reference_key(mode, {frames[i].data, frames[i].length}, link);
        require(outcome_at(masks, i) == key.outcome, "outcome", mode);
        if (key.outcome != KeyOutcome::kKeyed || first.outcome != KeyOutcome::kKeyed) {
            continue;
        }
        require((digests[i] == digests[0]) == (key.bytes == first.bytes),
                "digests are equal exactly if keys are", mode);
        require(key.bytes != first.bytes || owners[i] == owners[0], "equal keys have one owner",
                mode);
    }
}

void check_non_ip(Link link, std::span<const Frame> frames, std::span<const Digest> owners) {
    constexpr KeyMode kMode = KeyMode::kPacket;
    std::array<Digest, kMaxBurst> digests{};
    KeyMasks masks = parse_and_digest(kMode, link, frames, digests.data());
    const std::uint64_t asked = masks.non_ip;
    const std::uint64_t before = masks.keyed;
    digest_non_ip(link, frames, kSecret, digests.data(), masks);
    const std::uint64_t got = masks.keyed & ~before;
    require((got | masks.non_ip) == asked && (got & masks.non_ip) == 0,
            "frames without IP have a digest or none", kMode);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const ReferenceKey key = reference_non_ip_key({frames[i].data, frames[i].length}, link);
        require((key.outcome == KeyOutcome::kKeyed && !key.bytes.empty()) == ((got >> i & 1) != 0),
                "which frames without IP have one", kMode);
        for (std::size_t j = 0; j < i; ++j) {
            if ((got >> i & got >> j & 1) == 0) {
                continue;
            }
            const bool same = key == reference_non_ip_key({frames[j].data, frames[j].length}, link);
            require((digests[i] == digests[j]) == same, "digests of frames without IP", kMode);
            require(!same || owners[i] == owners[j], "equal frames have one owner", kMode);
        }
    }
}

// By the whole burst's parsing, of which each frame must be as it is alone.
std::array<Digest, kMaxBurst> owners_of(Link link, std::span<const Frame> frames) {
    ParsedBurst parsed;
    parse_burst(link, frames, parsed);
    std::array<Digest, kMaxBurst> owners{};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const Parsed of_burst = parsed.at(i);
        const Parsed alone = parse_frame(link, frames[i]);
        require(of_burst.found == alone.found && of_burst.ip.data == alone.ip.data &&
                    of_burst.ip.length == alone.ip.length,
                "a frame is parsed alone as in a burst", KeyMode::kPacket);
        const bool is_ip = alone.found == Found::kIpv4 || alone.found == Found::kIpv6;
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
    const auto link = static_cast<Link>(data[0] % kLinks);
    const Bytes input(data + 1, data + size);
    const Burst burst = variants(input);
    const std::array<Digest, kMaxBurst> owners = owners_of(link, burst.frames());
    for (unsigned mode = 0; mode < kKeyModes; ++mode) {
        check_mode(static_cast<KeyMode>(mode), link, burst.frames(), owners);
    }
    check_non_ip(link, burst.frames(), owners);
    check_masked_fields(link, input);
    return 0;
}
