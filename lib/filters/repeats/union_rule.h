// SPDX-License-Identifier: BSD-3-Clause
// The union rule tells copies of a packet from packets that were sent again, where the packets do
// not say which transmission they are (IPv6, IPv4 without an ID, frames without IP).
//
// A point of observation sees a transmission once. So a second equal packet at one point is a
// second transmission; at another point each packet answers the oldest transmission of its key that
// this point has not answered yet. Of every key as many packets are kept as the point that saw most
// of them saw: the union of multisets.
//
// A port that mirrors both directions shows each frame twice at one point (views = 2), within
// same_port. Such a second look is a copy only if its population (port group and MAC addresses) is
// known to be doubled: of the first looks of its points more than three quarters had a second one
// (mirror_evidence.h).
//
// Guarantee: exact, for windows that fit. A packet is a copy iff the rule says so of all packets of
//   the last window, as long as no more looks than `looks` are younger than the window; beyond that
//   the oldest transmission is forgotten and counted (evicted_early), and its next copy is kept. A
//   forgotten look keeps a packet, it never drops one.
// Accuracy: keys are told apart by their 64-bit digests, points by 32 bits. Two keys of one digest
//   are taken for one (at most 2^-62 for each pair); of two points with one hash the second one
//   keeps what it should drop.
// Cost: a packet writes one node of 40 bytes behind the last one, and reads its bucket's head and
//   the live nodes of its key.
// Weakness: 72 bytes a look, twenty times the memory of fingerprints. A key that many points see
// within a window is
//   looked for through `most_steps` nodes and no more; older looks of it are forgotten.
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
    Nanoseconds window = 0;      // kInfiniteWindow: a transmission never expires
    Nanoseconds same_port = 0;   // second looks at one point; 0: there are none
    unsigned views = 2;          // looks at one transmission that a point may have
    bool needs_evidence = true;  // second looks count only in doubled populations
    std::uint64_t populations = 4096;
    std::uint64_t identified = 0;  // identified packets within same_port, which are evidence
    unsigned most_steps = 256;     // nodes of one key that are looked at
    bool grows = false;            // memory is taken into use as it is needed: for captures

    bool operator==(const UnionSpec&) const = default;
};

// A spec that was checked.
class UnionParams {
  public:
    static constexpr Nanoseconds kMaxSamePort = 4 * kSecond;
    static constexpr unsigned kMinViews = 2;
    static constexpr unsigned kMaxViews = 14;

    static Result<UnionParams> make(const UnionSpec& spec);
    // The most looks whose memory fits into so many bytes, for this spec; 0 if not even one does.
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

// Where and how a packet was seen.
struct Observation {
    Digest digest = 0;
    std::uint64_t population = 0;  // port group and MAC addresses
    std::uint32_t point = 0;       // point of observation
    std::uint32_t tags = 0;        // VLAN tags and the like in front of the packet; 0: none
    std::uint8_t ttl = 0;          // or hop limit
    std::uint8_t port = 0;         // by which it came in; decides nothing (original_port())
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

// What a point has seen of a transmission. The look that opened the transmission stands for it.
struct Look {
    Digest digest;
    Nanoseconds time;  // of the point's first look
    std::uint32_t older;
    // Of an opening look: the next transmission of its key, or its own number. Else the
    // transmission.
    std::uint32_t link;
    std::uint32_t point;
    std::uint32_t tags;
    std::uint32_t apart;  // ns to the second look, where it was judged and not found to be even
    std::uint8_t count;   // looks; kNever: a second one answers nothing
    std::uint8_t flags;
    std::uint8_t ttl;
    std::uint8_t port;

    static constexpr std::uint8_t kOpens = 1;
    static constexpr std::uint8_t kJudged = 2;
    static constexpr std::uint8_t kTwin = 4;  // opened by a second look that was not trusted
    static constexpr std::uint8_t kNever = 15;
};
static_assert(sizeof(Look) == 40);

// For captures: which packet it was.
struct SightedLook : Look {
    std::uint64_t number;
    std::uint64_t file;
};

// A packet that opened a transmission, as captures name it.
struct OriginalPacket {
    Nanoseconds time = 0;
    std::uint64_t number = 0;
    std::uint32_t file = 0;
};

template <typename Node>
class BasicUnionRule {
  public:
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::uint64_t bytes(const UnionParams& params) noexcept;

    BasicUnionRule(const UnionParams& params, std::span<std::byte> memory,
                   Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const UnionParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept { looks_.prefetch(digest); }
    // Later, when the line above has come.
    void prefetch_node(Digest digest) const noexcept { looks_.prefetch_node(digest); }

    // True if an unidentified packet is a copy. now never decreases.
    bool observe(Nanoseconds now, const Observation& seen) noexcept {
        return observe(now, seen, {});
    }
    // The same of captures; answered() tells which packet it is a copy of.
    bool observe(Nanoseconds now, const Observation& seen, const OriginalPacket& packet) noexcept;
    [[nodiscard]] const OriginalPacket& original() const noexcept { return answered_; }

    // The port at which the transmission came in first that the last copy shows again; below
    // kMaxPorts.
    [[nodiscard]] PortIndex original_port() const noexcept { return answered_port_; }

    // Tells of an identified packet what was decided of it: evidence. Not needed where there is
    // none (has_evidence()).
    void observe_identified(Nanoseconds now, const Observation& seen, bool copy) noexcept;

    // What was learned of populations. Another rule with as many of them can go on with it.
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

    // An identified packet that was accepted.
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
    void answer(Sequence transmission) noexcept;
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
