// SPDX-License-Identifier: BSD-3-Clause
// The first look at packets, in bursts: everything about them that depends on no other packet.
// Parsed, taken apart, digested for all keys; as they are, and from the first packet inside a
// tunnel on as the innermost ones are, too. It needs nothing of what is remembered of packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"
#include "base/shard.h"
#include "captures/analyze/classify/echo_cause.h"
#include "captures/analyze/collect/dissect.h"
#include "captures/analyze/collect/flow_tables.h"
#include "captures/analyze/tally/hidden_copies.h"
#include "captures/analyze/tally/prefixes.h"
#include "captures/analyze/tally/tunnel_tally.h"
#include "captures/record.h"
#include "filters/hash/secret.h"
#include "packets/keys/digests.h"
#include "packets/link.h"
#include "packets/tunnels/tunnels.h"

namespace unecho::analyze {

// A burst in one of the two ways. What is digested is side by side; i is a place there.
struct DecodedView {
    std::size_t count = 0;
    std::uint64_t format_quantity = 0;         // bit i: here; not for the other view alone
    std::array<std::uint8_t, kMaxBurst> at{};  // of each, among the records of the burst
    std::uint64_t cut = 0;                     // bit i: of all records, captured short
    std::array<Dissected, kMaxBurst> packets;
    packet::KeyMasks keys;
    std::uint64_t frames_keyed = 0;  // bit i: has no IP packet, and a key all the same
    std::uint64_t flows = 0;         // bit i: has a key in the flow modes
    std::uint64_t segments = 0;      // bit i: is a TCP segment with payload
    std::array<Digest, kMaxBurst> packet{};
    std::array<Digest, kMaxBurst> frame{};
    std::array<Digest, kMaxBurst> flow{};  // of both ways
    std::uint64_t turned = 0;              // bit i: which way it goes
    std::array<Digest, kMaxBurst> segment{};
    bool with_prefixes = false;
    std::array<PrefixTable::Digests, kMaxBurst> prefixes;
    std::array<TunnelTraits, kMaxBurst> outside;  // of what looks inside tunnels

    // Where the collector finds them in its tables.
    std::array<KeyTable<PacketEntry>::Place, kMaxBurst> places;
    std::array<FlowTable::Place, kMaxBurst> flow_places;
    // What it says of them where it counts by key packet, for flows.
    std::array<Nanoseconds, kMaxBurst> now;
    std::array<WindowMask, kMaxBurst> by_packet;  // with which windows key packet drops it
    std::uint64_t echoes = 0;                     // bit i: an echo by key packet

    [[nodiscard]] bool is(std::uint64_t mask, std::size_t i) const noexcept {
        return (mask >> i & 1) != 0;
    }
};

// Whether captures cut some of their packets shorter than others. Of IP packets: a header of the
// link that is longer leaves less of them.
class CutLengths {
  public:
    void note(std::uint32_t length, bool cut) noexcept {
        longest_ = std::max(longest_, length);
        shortest_cut_ = cut ? std::min(shortest_cut_, length) : shortest_cut_;
    }
    [[nodiscard]] bool differ() const noexcept { return shortest_cut_ < longest_; }

  private:
    std::uint32_t longest_ = 0;
    std::uint32_t shortest_cut_ = UINT32_MAX;  // captured bytes, of those cut short
};

// Up to kMaxBurst records with one link type. To be used again and again.
struct DecodedBurst {
    std::span<const capture::Record> records;
    packet::LinkType link = packet::LinkType::kUnknown;
    std::uint64_t removed = 0;  // bit i: of the records, by what is asked about
    DecodedView plain;
    std::unique_ptr<DecodedView> within;  // null: nothing was inside a tunnel up to here
    bool begins_inside = false;           // the first of those where something is
    CutLengths lengths;                   // up to here
};

class Preprocessor {
  public:
    Preprocessor(const hash::Secret& secret, std::span<const std::uint16_t> vxlan_ports,
                 const Shard& shard)
        : secret_(secret), tunnels_(packet::EncapsulationSet::all(), vxlan_ports), shard_(shard) {}

    // A configuration is asked about that has key bytes.
    void ask_for_prefixes() noexcept { prefixes_asked_ = true; }

    // Bursts one after the other, each with its records, link and removed ones set.
    void look(DecodedBurst& burst);

    // What is in which tunnel.
    [[nodiscard]] TunnelFindings tunnels() const { return in_tunnels_.findings(); }
    // Of all packets: those of a flow, and of both sides of a NAT, are different shards'. Counted
    // by the first shard.
    [[nodiscard]] const HiddenCopyCounts& hidden_copies() const noexcept {
        return hidden_copies_.counts();
    }

  private:
    struct Parse;

    [[nodiscard]] std::uint64_t mine(packet::LinkType link, std::span<const packet::Frame> frames,
                                     const packet::ParsedBurst& parsed) const;
    void count_tunnels(const packet::DecapsulatedBurst& opened, std::uint64_t mine);
    void choose_mine(const DecodedBurst& burst, Parse& parse, DecodedView& plain);
    void look_inside(DecodedBurst& burst, const Parse& parse);
    void dissect_inside(DecodedView& view, const Parse& parse, std::size_t i, packet::LinkType link,
                        std::uint64_t length);
    void digest(DecodedView& view, const Parse& parse, const packet::ParsedBurst& parsed,
                packet::LinkType link) const;
    void digest_prefixes(DecodedView& view, const Parse& parse,
                         const packet::ParsedBurst& parsed) const;
    [[nodiscard]] bool choose_prefixes() noexcept;

    // So many packets are looked at for prefixes until one asks for them, so that its copies before
    // it are known.
    static constexpr std::uint64_t kProbation = 4096;

    hash::Secret secret_;
    packet::Tunnels tunnels_;
    Shard shard_;
    TunnelTally in_tunnels_;
    HiddenCopyTally hidden_copies_;
    bool inside_ = false;  // something was inside a tunnel
    bool prefixes_asked_ = false;
    bool prefixes_ = true;
    std::uint64_t seen_ = 0;
    CutLengths lengths_;
};

}  // namespace unecho::analyze
