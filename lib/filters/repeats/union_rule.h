// SPDX-License-Identifier: BSD-3-Clause
// The union rule separates copies of a packet from retransmissions and periodic repeats. It is for
// packets that do not say which transmission they are (IPv6, IPv4 without an ID, non-IP frames).
//
// A point of observation sees each transmission once. A second equal packet at the same point is
// therefore another transmission and is kept. At another point it is a copy of the oldest
// transmission of its key that this point has not shown yet. Of every key, as many packets are kept
// as the point that saw most of them saw: the union of multisets.
//
// A port that mirrors both directions shows each frame twice at one point (views = 2), within
// same_port. Such a second look is a copy only if its population is doubled (mirror_evidence.h).
//
// May not: allocate, read a clock, know packet bytes. It gets digests and hashed places. Next:
// dedup/pipeline/repeats.h (the caller), docs/same-packet.md (why this rule).
//
// Guarantee: exact for windows that fit. A packet is a copy iff the rule says so for all packets of
//   the last window, if at most `looks` looks are younger than the window. Beyond that the oldest
//   transmission is forgotten and counted (forgotten_looks), and its next copy is kept. Nothing is
//   dropped for it.
// Accuracy: keys are compared by 64-bit digests, points by 32-bit hashes. Two keys of one digest
//   count as one (at most 2^-62 for each pair). If two points share a hash, the second keeps its
//   copies.
// Cost: a packet reads its bucket's head and its key's live nodes, and writes a node of 40 bytes. A
//   copy at a second point writes 6 bytes of the node it answers instead, if same_port is 0.
// Weakness: 72 bytes a look, twenty times the memory of fingerprints. At most `most_steps` nodes of
//   a key are searched: if many points see a key within a window, older looks of it are forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/counters.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/hash/digest.h"
#include "filters/repeats/chained_ring.h"
#include "filters/repeats/mirror_evidence.h"
#include "filters/storage.h"
#include "filters/window/exact.h"

namespace unecho::filter {

struct UnionSpec {
    std::uint64_t looks = 0;     // remembered; rounded up to a power of two
    Nanoseconds window = 0;      // kInfiniteWindow: transmissions never expire
    Nanoseconds same_port = 0;   // limit for second looks at one point; 0: none
    unsigned views = 2;          // looks that a point may have at one transmission
    bool needs_evidence = true;  // second looks count only in doubled populations
    std::uint64_t populations = 4096;
    std::uint64_t identified = 0;  // identified packets remembered within same_port, as evidence
    unsigned most_steps = 256;     // nodes of one key that are searched
    bool grows = false;            // take memory into use as needed, for captures

    bool operator==(const UnionSpec&) const = default;
};

class UnionParams {
  public:
    static constexpr Nanoseconds kMaxSamePort = 4 * kSecond;
    static constexpr unsigned kMinViews = 2;
    static constexpr unsigned kMaxViews = 14;

    static Result<UnionParams> make(const UnionSpec& spec);
    // Return the most looks that fit into `bytes` for this spec; 0 if not even one does.
    static std::uint64_t looks_in(std::uint64_t bytes, bool sighted, UnionSpec spec) noexcept;

    [[nodiscard]] const UnionSpec& spec() const noexcept { return spec_; }
    [[nodiscard]] bool has_evidence() const noexcept {
        return spec_.needs_evidence && spec_.same_port > 0;
    }
    bool operator==(const UnionParams&) const = default;

  private:
    explicit UnionParams(const UnionSpec& spec) noexcept : spec_(spec) {}
    UnionSpec spec_;
};

// The place and form in which a packet was seen.
struct Observation {
    Digest digest = 0;
    std::uint64_t population = 0;  // port group and MAC addresses
    std::uint32_t point = 0;       // point of observation
    std::uint32_t tags = 0;        // VLAN tags and the like before the packet; 0: none
    std::uint8_t ttl = 0;          // or hop limit
    std::uint8_t port = 0;         // where it arrived; only for original_port()
};
static_assert(kMaxPorts <= 256);

struct RepeatCounters {
    std::uint64_t kept_repeats = 0;
    std::uint64_t second_looks = 0;
    std::uint64_t untrusted_looks = 0;
    std::uint64_t third_looks = 0;
    std::uint64_t loop_suspects = 0;
    std::uint64_t forgotten = 0;
};
inline constexpr CounterRows<RepeatCounters, 6> kRepeatCounters{{
    {&RepeatCounters::kept_repeats, "kept_repeats", CounterUnit::kPackets, CounterMerge::kSum,
     "equal packets without an ID that were kept: their point had seen all earlier ones"},
    {&RepeatCounters::second_looks, "second_looks", CounterUnit::kPackets, CounterMerge::kSum,
     "copies that one point saw twice within same_port"},
    {&RepeatCounters::untrusted_looks, "untrusted_looks", CounterUnit::kPackets, CounterMerge::kSum,
     "second looks that were kept: their population is not known to be doubled"},
    {&RepeatCounters::third_looks, "third_looks", CounterUnit::kPackets, CounterMerge::kSum,
     "kept packets that one point saw more often than `views` within same_port"},
    {&RepeatCounters::loop_suspects, "loop_suspects", CounterUnit::kPackets, CounterMerge::kSum,
     "kept repeats with a lower hop limit than the packet before them at the same point"},
    {&RepeatCounters::forgotten, "forgotten_looks", CounterUnit::kPackets, CounterMerge::kSum,
     "transmissions inside the window that were forgotten for want of room"},
}};
static_assert(describes_every_counter(kRepeatCounters));

// The looks of one point at one transmission. The first of all opens and represents it. Without
// second looks (same_port 0) the opening look also holds the look of the first point that answers
// it, so that the usual copy writes no node of its own.
struct Look {
    Digest digest;
    Nanoseconds time;  // of the point's first look
    std::uint32_t older;
    // Opening look: the key's next transmission, or its own number. Otherwise the transmission.
    std::uint32_t link;
    std::uint32_t point;
    std::uint32_t tags;
    // ns to the second look if that was judged; 0 if it was even. kAnswered: the answering point.
    std::uint32_t apart;
    std::uint8_t count;  // looks; kNever: no second look is accepted. kAnswered: the answer's ttl
    std::uint8_t flags;
    std::uint8_t ttl;
    std::uint8_t port;

    static constexpr std::uint8_t kOpens = 1;
    static constexpr std::uint8_t kJudged = 2;
    static constexpr std::uint8_t kTwin = 4;      // opened by a second look that was not trusted
    static constexpr std::uint8_t kAnswered = 8;  // only with same_port 0
    static constexpr std::uint8_t kNever = 15;
};
static_assert(sizeof(Look) == 40);

// A look of captures, with the place of its packet.
struct SightedLook : Look {
    std::uint64_t number;
    std::uint64_t file;
};

// The packet that opened a transmission, in a capture's terms.
struct OriginalPacket {
    Nanoseconds time = 0;
    std::uint64_t number = 0;
    std::uint32_t file = 0;
};

template <typename Node>
class BasicUnionRule {
  public:
    [[nodiscard]] static std::uint64_t bytes(const UnionParams& params) noexcept;

    BasicUnionRule(const UnionParams& params, std::span<std::byte> memory,
                   Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const UnionParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept { looks_.prefetch(digest); }
    // Call this later, when the line of prefetch() has arrived.
    void prefetch_node(Digest digest) const noexcept { looks_.prefetch_node(digest); }

    // Return true if an unidentified packet is a copy. now never decreases.
    bool observe(Nanoseconds now, const Observation& seen) noexcept {
        return observe(now, seen, {});
    }
    // The same for captures; original() then returns the packet that it copies.
    bool observe(Nanoseconds now, const Observation& seen, const OriginalPacket& packet) noexcept;
    [[nodiscard]] const OriginalPacket& original() const noexcept { return answered_; }

    // The port at which the transmission of the last copy first arrived; below kMaxPorts.
    [[nodiscard]] PortIndex original_port() const noexcept { return answered_port_; }

    // Report the verdict on an identified packet, as evidence. Needed only if has_evidence().
    void observe_identified(Nanoseconds now, const Observation& seen, bool copy) noexcept;

    // The evidence, which another rule with the same number of populations can take over.
    [[nodiscard]] std::span<const MirrorEvidence::Population> populations() const noexcept {
        return evidence_.all();
    }
    void learn(std::span<const MirrorEvidence::Population> populations) noexcept {
        evidence_.take(populations);
    }

    [[nodiscard]] bool has_evidence() const noexcept { return params_.has_evidence(); }
    [[nodiscard]] const AchievedWindow& kept() const noexcept { return kept_; }
    [[nodiscard]] const RepeatCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const UnionParams& params() const noexcept { return params_; }

  private:
    using Sequence = std::uint32_t;

    // An identified packet that was accepted as new.
    struct Accepted {
        Digest digest;
        Nanoseconds time;
        std::uint32_t older;
        std::uint32_t point;
        std::uint32_t doubled;
        std::uint32_t unused;
    };

    static constexpr unsigned kMaxRecent = 1024;
    struct Past;

    [[nodiscard]] bool is_young(Nanoseconds time, Nanoseconds now) const noexcept {
        // planted: rule-window-wrong-sign, rule-window-edge
        return params_.spec().window == kInfiniteWindow || now - time < params_.spec().window;
    }
    void expire(Nanoseconds now) noexcept;
    [[nodiscard]] Past past_of(Nanoseconds now, const Observation& seen) noexcept;
    [[nodiscard]] Sequence transmission_of(Sequence look) const noexcept {
        const Look& one = looks_[look];
        return (one.flags & Look::kOpens) != 0 ? look : one.link;
    }
    [[nodiscard]] static bool is_newer(Sequence one, Sequence other) noexcept {
        return static_cast<std::int32_t>(one - other) > 0;
    }
    void answer(Sequence transmission) noexcept;
    void note_look(Nanoseconds now, const Observation& seen, const OriginalPacket& packet,
                   Sequence transmission) noexcept;
    bool second_look(Nanoseconds now, const Observation& seen, Past& past,
                     MirrorEvidence::Population* population, bool& twin) noexcept;
    void first_look(Nanoseconds now, std::optional<Sequence> before,
                    MirrorEvidence::Population& population) noexcept;
    Sequence remember(Nanoseconds now, const Observation& seen, const OriginalPacket& packet,
                      Sequence transmission, std::uint8_t flags) noexcept;

    UnionParams params_;
    ChainedRing<Node> looks_;
    ChainedRing<Accepted> accepted_;
    MirrorEvidence evidence_;
    AchievedWindow kept_;
    RepeatCounters counters_;
    OriginalPacket answered_;
    std::uint8_t answered_port_ = 0;
};

using UnionRule = BasicUnionRule<Look>;
using CaptureUnionRule = BasicUnionRule<SightedLook>;
extern template class BasicUnionRule<Look>;
extern template class BasicUnionRule<SightedLook>;

}  // namespace unecho::filter
