// SPDX-License-Identifier: BSD-3-Clause
// From packets of a capture to bursts with digests: what needs no memory of other packets, so that
// it can run ahead on a thread of its own. The same stage as on the wire (dedup/pipeline/stages.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/packet_clock.h"
#include "captures/dedup/deciders/decider.h"
#include "captures/dedup/shard.h"
#include "captures/epoch_clock.h"
#include "captures/link_types.h"
#include "captures/record.h"
#include "dedup/pipeline/burst.h"
#include "filters/hash/secret.h"
#include "packets/keys/key_spec.h"
#include "packets/link.h"

namespace unecho::offline {

// Up to kMaxBurst packets of one link type, one behind the other in their batch.
struct DigestedBurst {
    pipeline::Burst burst;
    BurstPosition place;
    unsigned read = 0;       // packets that it was made of
    std::uint64_t mine = 0;  // which of them it holds: all, but for a shard
};

class Digester {
  public:
    // clock: of the packets' times, as the filter wants it.
    // ignored_bytes: at the beginning of frames that are longer, which do not count.
    // merged: of several inputs.
    // shard: whose packets alone are digested, while every packet goes on with the time.
    // groups: of taps that stand side by side (Options).
    Digester(const packet::KeySpec& key, const hash::Secret& secret, const PacketClock& clock,
             std::uint32_t ignored_bytes = 0, bool merged = false, const Shard& shard = {},
             const std::vector<std::vector<std::uint32_t>>& groups = {})
        : key_(key),
          ignored_bytes_(ignored_bytes),
          merged_(merged),
          shard_(shard),
          groups_(groups),
          secret_(secret),
          clock_(clock) {}

    // Everything that a decider needs. The records must outlive the bursts; bursts are used again.
    // places: as in capture::Batch.
    void digest(std::span<const capture::Record> records,
                std::span<const capture::Interface> interfaces, std::vector<DigestedBurst>& bursts,
                std::span<const std::uint64_t> source_numbers = {});

    // LinkType types whose packets have no key, and epochs.
    [[nodiscard]] std::vector<capture::Warning> warnings() const;

    // Packets of all bursts, of a shard those of the others too.
    [[nodiscard]] std::uint64_t read() const { return next_number_ - 1; }

    // From the first packet's time to the latest.
    [[nodiscard]] Nanoseconds elapsed() const { return clock_.elapsed(); }

  private:
    struct InterfaceFacts {
        packet::LinkType link;
        std::uint32_t file;
        std::uint32_t group;  // of its tap
        bool keyless;         // a link type without parser, and nothing else is compared
    };

    [[nodiscard]] std::uint32_t group_of(std::size_t tap) const;
    void add_interfaces(std::span<const capture::Interface> interfaces);
    std::size_t fill(std::span<const capture::Record> records,
                     std::span<const capture::Interface> interfaces, DigestedBurst& digested);
    void digest(DigestedBurst& digested) const;
    void ignore_bytes(DigestedBurst& digested) const;
    void separate_short_frames(DigestedBurst& digested) const;

    packet::KeySpec key_;
    std::uint32_t ignored_bytes_;
    bool merged_;
    Shard shard_;
    std::vector<std::vector<std::uint32_t>> groups_;
    hash::Secret secret_;
    std::vector<InterfaceFacts> facts_;  // by interface
    capture::UnparsedLinks unparsed_;
    capture::EpochClock clock_;
    std::uint64_t next_number_ = 1;
};

}  // namespace unecho::offline
