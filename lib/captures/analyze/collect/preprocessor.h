// SPDX-License-Identifier: BSD-3-Clause
// The first stage of analyze: parse, dissect and digest bursts for all key modes, without what
// depends on other packets. From the first packet inside a tunnel on, do so for innermost packets
// too. It has no table of packets, so it can run ahead of the collector on another thread.
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

// A burst in one of the two views. Packets that are digested lie side by side, at index i.
struct DecodedView {
    std::size_t count = 0;
    std::uint64_t counted = 0;                 // bit i: counted in this view
    std::array<std::uint8_t, kMaxBurst> at{};  // position among the records of the burst
    std::uint64_t cut = 0;                     // bit i of all records: captured short
    std::array<Dissected, kMaxBurst> packets;
    packet::KeyMasks keys;
    std::uint64_t frames_keyed = 0;  // bit i: has no IP packet, but a key
    std::uint64_t flows = 0;         // bit i: has a key in the flow modes
    std::uint64_t segments = 0;      // bit i: is a TCP segment with payload
    std::array<Digest, kMaxBurst> packet{};
    std::array<Digest, kMaxBurst> frame{};
    std::array<Digest, kMaxBurst> flow{};  // the same for both directions
    std::uint64_t turned = 0;              // bit i: direction
    std::array<Digest, kMaxBurst> segment{};
    bool with_prefixes = false;
    std::array<PrefixTable::Digests, kMaxBurst> prefixes;
    std::array<TunnelTraits, kMaxBurst> outside;  // set in the inner view only

    // Places in the tables of the collector.
    std::array<KeyTable<PacketEntry>::Place, kMaxBurst> places;
    std::array<FlowTable::Place, kMaxBurst> flow_places;
    // Results of counting by key packet, which counting flows needs.
    std::array<Nanoseconds, kMaxBurst> now;
    std::array<WindowMask, kMaxBurst> by_packet;  // windows with which key packet drops it
    std::uint64_t echoes = 0;                     // bit i: an echo by key packet

    [[nodiscard]] bool is(std::uint64_t mask, std::size_t i) const noexcept {
        return (mask >> i & 1) != 0;
    }
};

// Detects captures that cut some packets shorter than others. Lengths are those of IP packets,
// since longer link headers leave less of them.
class CutLengths {
  public:
    void note(std::uint32_t length, bool cut) noexcept {
        longest_ = std::max(longest_, length);
        shortest_cut_ = cut ? std::min(shortest_cut_, length) : shortest_cut_;
    }
    [[nodiscard]] bool differ() const noexcept { return shortest_cut_ < longest_; }

  private:
    std::uint32_t longest_ = 0;
    std::uint32_t shortest_cut_ = UINT32_MAX;  // captured bytes of packets that are cut short
};

// Up to kMaxBurst records with one link type. The object is reused.
struct DecodedBurst {
    std::span<const capture::Record> records;
    packet::LinkType link = packet::LinkType::kUnknown;
    std::uint64_t removed = 0;  // bit i: the configuration in question removes record i
    DecodedView plain;
    std::unique_ptr<DecodedView> within;  // null: nothing was inside a tunnel so far
    bool begins_inside = false;           // this is the first burst with a packet inside a tunnel
    CutLengths lengths;                   // so far
};

class Preprocessor {
  public:
    Preprocessor(const hash::Secret& secret, std::span<const std::uint16_t> vxlan_ports,
                 const Shard& shard)
        : secret_(secret), tunnels_(packet::EncapsulationSet::all(), vxlan_ports), shard_(shard) {}

    void ask_for_prefixes() noexcept { prefixes_asked_ = true; }

    // Process a burst with its records, link and removed set. Call it for all bursts in order.
    void look(DecodedBurst& burst);

    [[nodiscard]] TunnelFindings tunnels() const { return in_tunnels_.findings(); }
    // Counted by the first shard, over all packets: those of a flow, and of both sides of a NAT,
    // may belong to different shards.
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

    // The first packets get prefix digests in any case, so that earlier copies are known once these
    // are needed.
    static constexpr std::uint64_t kProbation = 4096;

    hash::Secret secret_;
    packet::Tunnels tunnels_;
    Shard shard_;
    TunnelTally in_tunnels_;
    HiddenCopyTally hidden_copies_;
    bool inside_ = false;
    bool prefixes_asked_ = false;
    bool prefixes_ = true;
    std::uint64_t seen_ = 0;
    CutLengths lengths_;
};

}  // namespace unecho::analyze
