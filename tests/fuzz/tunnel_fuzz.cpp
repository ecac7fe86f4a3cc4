// SPDX-License-Identifier: BSD-3-Clause
// The first byte of the input chooses the link type, the next two the encapsulations to open, the
// rest is one frame. It is parsed and decapsulated in a burst with cuts of itself and copies with
// one bit changed, each in an allocation of exactly its size. Checks:
// - Masks are disjoint and name every frame; those of tunnels name only frames that they may.
// - The innermost packet lies inside the frame and inside the outermost packet.
// - A frame is decapsulated alone as in a burst; with no encapsulation listed it is not.
// - The reported levels lead to the innermost packet.
// - The innermost packet without its tunnels has the same keys and owner. If decapsulation was
//   complete, nothing in it is opened.
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
#include "packets/tunnels/tunnels.h"

namespace {

using namespace unecho::packet;
using unecho::Digest;
using unecho::kMaxBurst;
using Bytes = std::span<const std::uint8_t>;

const unecho::hash::Secret kSecret = unecho::hash::secret_from_seed(1);

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

class Burst {
  public:
    void add(Bytes bytes) {
        blocks_.push_back(std::make_unique<std::uint8_t[]>(bytes.size()));
        std::copy(bytes.begin(), bytes.end(), blocks_.back().get());
        frames_.push_back({blocks_.back().get(), static_cast<std::uint32_t>(bytes.size())});
    }
    [[nodiscard]] std::span<const Frame> frames() const { return frames_; }

  private:
    std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
    std::vector<Frame> frames_;
};

bool same(const Parsed& a, const Parsed& b) {
    return a.found == b.found && a.ip.data == b.ip.data && a.ip.length == b.ip.length;
}

struct Looked {
    Looked(const Tunnels& tunnels, LinkType link, std::span<const Frame> frames) {
        parse_innermost(tunnels, link, frames, parsed, opened);
        ParsedBurst later;
        DecapsulatedBurst opened_later;
        parse_burst(link, frames, later);
        decapsulate_burst(tunnels, link, frames, later, opened_later);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            require(same(parsed.at(i), later.at(i)), "tunnels are opened alike at once and later");
        }
        require(opened.opened == opened_later.opened && opened.other == opened_later.other &&
                    opened.malformed == opened_later.malformed,
                "what was opened is told alike at once and later");
    }
    ParsedBurst parsed;
    DecapsulatedBurst opened;
};

constexpr std::uint64_t first_bits(std::size_t n) {
    return ~std::uint64_t{0} >> (kMaxBurst - n);
}

void check_masks(const Looked& looked, std::size_t frames) {
    const ParsedBurst& parsed = looked.parsed;
    require(
        (parsed.ipv4 ^ parsed.ipv6 ^ parsed.non_ip ^ parsed.malformed) == first_bits(frames) &&
            (parsed.ipv4 | parsed.ipv6 | parsed.non_ip | parsed.malformed) == first_bits(frames),
        "masks of packets are disjoint and name every frame");
    const DecapsulatedBurst& opened = looked.opened;
    const std::uint64_t ended =
        opened.fragments | opened.malformed | opened.other | opened.too_deep;
    require((opened.fragments ^ opened.malformed ^ opened.other ^ opened.too_deep) == ended,
            "a walk ends for one reason");
    require((opened.opened & ~(parsed.ipv4 | parsed.ipv6)) == 0, "what was opened is a packet");
    require((ended & parsed.malformed) == 0, "what is malformed outside is not looked into");
}

// The digests of a packet in every mode, and its owner.
using Identity = std::array<std::uint64_t, 2 * kKeyModes + 1>;

Identity identity_of(LinkType link, const Frame& frame, const ParsedBurst& parsed) {
    Identity out{};
    for (const KeyMode mode : {KeyMode::kPacket, KeyMode::kFlow, KeyMode::kFlowBidir}) {
        Digest digest = 0;
        const KeyMasks masks = digest_burst(mode, {&frame, 1}, parsed, kSecret, &digest);
        const auto at = static_cast<std::size_t>(mode) * 2;
        out[at] = masks.keyed;
        out[at + 1] = masks.keyed != 0 ? digest : 0;
    }
    owner_digests(link, {&frame, 1}, parsed, kSecret, &out.back());
    return out;
}

void check_frame(const Tunnels& tunnels, LinkType link, const Frame& frame, const Looked& burst,
                 std::size_t i) {
    const Looked alone(tunnels, link, {&frame, 1});
    const Parsed innermost = alone.parsed.at(0);
    require(same(innermost, burst.parsed.at(i)) &&
                alone.opened.opened == (burst.opened.opened >> i & 1) &&
                alone.opened.other == (burst.opened.other >> i & 1) &&
                alone.opened.malformed == (burst.opened.malformed >> i & 1),
            "a frame is opened alone as in a burst");
    const Parsed outermost = parse_frame(link, frame);
    require(same(Looked(Tunnels(), link, {&frame, 1}).parsed.at(0), outermost),
            "nothing listed, nothing opened");
    if (alone.opened.opened == 0) {
        require(same(innermost, outermost), "not opened, not changed");
        return;
    }
    const std::uint8_t* const end = innermost.ip.data + innermost.ip.length;
    require(innermost.ip.data >= frame.data && end <= frame.data + frame.length,
            "the packet lies inside the frame");
    require(outermost.found == L3Type::kNonIp || (innermost.ip.data > outermost.ip.data &&
                                                  end <= outermost.ip.data + outermost.ip.length),
            "the packet lies inside the one before");
    const DecapsulatedLevels way = decapsulated_levels(tunnels, link, frame, outermost);
    require(way.count != 0 && same(way.levels[way.count - 1].packet, innermost),
            "the levels lead to the packet");
    Burst plain;
    plain.add({innermost.ip.data, innermost.ip.length});
    const Frame& copy = plain.frames().front();
    const LinkType bare = innermost.found == L3Type::kIpv4 ? LinkType::kIpv4 : LinkType::kIpv6;
    ParsedBurst as_it_is;
    parse_burst(bare, plain.frames(), as_it_is);
    require(identity_of(bare, copy, as_it_is) == identity_of(link, frame, alone.parsed),
            "a plain copy is the same packet");
    const DecapsulatedBurst& walk = alone.opened;
    if ((walk.fragments | walk.malformed | walk.other | walk.too_deep) == 0) {
        require(Looked(tunnels, bare, plain.frames()).opened.opened == 0,
                "nothing is left to open");
    }
}

// Return the input, cuts of it, and copies with one bit changed.
Burst variants(Bytes input) {
    constexpr std::size_t kCuts = 6;
    constexpr std::size_t kChanges = 8;
    Burst burst;
    burst.add(input);
    if (input.empty()) {
        return burst;
    }
    for (std::size_t i = 0; i < kCuts; ++i) {
        burst.add(input.first((input.size() - 1) * i / (kCuts - 1)));
    }
    std::uint64_t place = unecho::remix(input.size(), input.back());
    std::vector<std::uint8_t> changed(input.begin(), input.end());
    for (std::size_t i = 0; i < kChanges; ++i) {
        place = unecho::remix(place, input[place % input.size()]);
        const auto bit = static_cast<std::uint8_t>(1U << (place >> 61));
        changed[place % input.size()] ^= bit;
        burst.add(changed);
        changed[place % input.size()] ^= bit;
    }
    return burst;
}

EncapsulationSet listed_in(unsigned bits) {
    EncapsulationSet out;
    for (const EncapsulationInfo& info : kEncapsulations) {
        if ((bits >> static_cast<unsigned>(info.encapsulation) & 1) != 0) {
            out.add(info.encapsulation);
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kHead = 3;
    if (size < kHead) {
        return 0;
    }
    const auto link = static_cast<LinkType>(data[0] % kLinks);
    const Tunnels tunnels(listed_in(load_be16(data + 1)));
    const Burst burst = variants({data + kHead, size - kHead});
    const Looked looked(tunnels, link, burst.frames());
    check_masks(looked, burst.frames().size());
    for (std::size_t i = 0; i < burst.frames().size(); ++i) {
        check_frame(tunnels, link, burst.frames()[i], looked, i);
    }
    return 0;
}
