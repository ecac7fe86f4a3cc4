// SPDX-License-Identifier: BSD-3-Clause
// The step from packets of a capture to bursts with digests. It needs no memory of other packets,
// so it can run ahead on a thread of its own. Workers use the same code (dedup/pipeline/stages.h).
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

namespace unecho::dedup {

// Up to kMaxBurst consecutive packets of a batch, of one link type.
struct DigestedBurst {
    pipeline::Burst burst;
    BurstPosition place;
    unsigned read = 0;       // packets that it was made from
    std::uint64_t mine = 0;  // mask of those it holds; not all for a shard
};

class Digester {
  public:
    // clock: maps the packets' times to the filter's time. ignored_bytes: leading bytes of longer
    // frames that do not count. merged: there are several inputs. shard: only its packets are
    // digested, but all advance the clock. groups: of taps that stand side by side (Options).
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

    // Make bursts with all that a decider needs, and reuse their memory. The records must outlive
    // them. source_numbers: as in capture::Batch.
    void digest(std::span<const capture::Record> records,
                std::span<const capture::Interface> interfaces, std::vector<DigestedBurst>& bursts,
                std::span<const std::uint64_t> source_numbers = {});

    // Link types whose packets have no key, and epochs.
    [[nodiscard]] std::vector<capture::Warning> warnings() const;

    // Packets of all bursts, with those of other shards.
    [[nodiscard]] std::uint64_t read() const { return next_number_ - 1; }

    // Time from the first packet to the latest.
    [[nodiscard]] Nanoseconds elapsed() const { return clock_.elapsed(); }

  private:
    struct InterfaceFacts {
        packet::LinkType link;
        std::uint32_t file;
        std::uint32_t group;  // of its tap
        bool keyless;         // no parser for its link type, so its packets have no key
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

}  // namespace unecho::dedup
