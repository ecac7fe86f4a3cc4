// SPDX-License-Identifier: BSD-3-Clause
// The stages of a burst between receiving and transmitting: parse, digest, report_flows, decide,
// settle; each a function over Burst, for packets of the wire and of captures alike. They know
// bytes, digests and filters. May not: know mbufs, ports, rings (appliance/dataplane/worker.h) or
// files (offline/).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "dedup/pipeline/burst.h"
#include "dedup/pipeline/confidence_policy.h"
#include "dedup/pipeline/echo_action.h"
#include "dedup/pipeline/engine_ops.h"
#include "dedup/pipeline/reasons.h"
#include "filters/hash/secret.h"
#include "filters/repeats/union_rule.h"
#include "filters/tap_report.h"
#include "packets/keys/key_spec.h"

namespace unecho::pipeline {

// One filter on one worker, with what decides with it.
struct FilterContext {
    const EngineOps* ops = nullptr;
    void* filter = nullptr;
    filter::Ageing* ageing = nullptr;  // the filter's own
    packet::KeySpec key = {};
    unsigned first = 1;
    bool pipelined_prefetch = false;         // bursts are prepared, where they can be
    ConfidencePolicy* confidence = nullptr;  // null: every match is an echo
    Nanoseconds window = ~Nanoseconds{0};
    Nanoseconds remembered = 0;  // window and slack
    // Of an engine that cannot tell the chance of an accident: what was planned for it, and the
    // most that it may be, by which the matches of one before it are judged.
    float planned_chance = 0;
    std::optional<float> bound = std::nullopt;
    // While a filter is warmed that takes another one's place: the lane of that one, which is asked
    // too and not written. An echo of either is an echo.
    const FilterContext* before = nullptr;
    // Where repeats are kept: what decides of packets that do not say which transmission they are.
    filter::UnionRule* repeats = nullptr;
    PortPairMatrix* answers = nullptr;  // the copies that it found; null: nobody asks
};

// parsed: where the IP packets are, opened: of those in tunnels. All that follows reads it instead
// of looking for them again, so that frames are walked through once.
void parse(Burst& burst, const packet::KeySpec& key) noexcept;

// Whether a lane asks where they are: keys of frames are all bytes, whatever they are.
[[nodiscard]] constexpr bool needs_parsing(const FilterContext& context) noexcept {
    return context.key.mode != packet::KeyMode::kFrame || context.confidence != nullptr ||
           context.repeats != nullptr;
}

// digests, keys. Frames that are too long have no key. Where repeats are kept: unidentified, and
// the places of those packets, or of all where evidence is wanted.
void digest(Burst& burst, const packet::KeySpec& key, const hash::Secret& secret) noexcept;

// The same with the keys of flows, both ways, which reports of two taps count.
void digest_flows(Burst& burst, packet::Tenant tenant, const hash::Secret& secret) noexcept;

// The digests of a burst's keys by another secret, of those that have one; the burst stays as it
// is.
void digest_with_secret(const Burst& burst, const packet::KeySpec& key, const hash::Secret& secret,
                        std::array<Digest, kMaxBurst>& digests) noexcept;

// Tells a report of the flows, which digest_flows() found, each on its tap. timed: each packet at
// its own time.
void report_flows(const Burst& burst, filter::TapReport& report, bool timed) noexcept;

// A burst whose filter was told of it, so that memory brings what deciding will read. Its digests
// are those of the keyed packets, side by side.
struct PrefetchedBurst {
    std::array<Digest, kMaxBurst> digests;
    filter::PreparedBurst prepared;
};

// Whether a lane's bursts are prepared: that is wanted, its engine can, each answer depends on one
// digest alone, and no other filter is asked beside it.
[[nodiscard]] inline bool can_prefetch(const FilterContext& context) noexcept {
    return context.pipelined_prefetch && context.ops->prepare != nullptr && context.first == 1 &&
           context.before == nullptr;
}

// Of a lane that prepares(). Stage digest was.
void prepare(const Burst& burst, const FilterContext& context,
             PrefetchedBurst& prefetched) noexcept;
inline void prefetch_lines(const FilterContext& context, PrefetchedBurst& prefetched,
                           unsigned digests) noexcept {
    context.ops->prefetch_lines(context.filter, prefetched.prepared, digests);
}
// As decide() below. next: what is prepared behind it for the same lane, or null.
void decide_prepared(Burst& burst, const FilterContext& context, filter::TimerSnapshot published,
                     const PrefetchedBurst& prefetched, PrefetchedBurst* next) noexcept;

// echoes and doubts, at one time for all.
void decide(Burst& burst, const FilterContext& context, filter::TimerSnapshot published) noexcept;

// The same, each packet at its own time.
void decide_timed(Burst& burst, const FilterContext& context) noexcept;

// What is decided of a burst: masks that together name each packet once.
struct ReasonMask {
    Reason reason;
    std::uint64_t mask;
};
[[nodiscard]] constexpr bool forwarded_by_settle(const ReasonInfo& info) noexcept {
    return info.given_by == GivenBy::kSettle && info.fate == Disposition::kForwarded;
}
// Each has its place in a settlement.
inline constexpr auto kForwardedBySettle = [] {
    std::array<Reason, static_cast<std::size_t>(std::count_if(
                           kReasonTable.begin(), kReasonTable.end(), forwarded_by_settle))>
        reasons{};
    std::size_t n = 0;
    for (const ReasonInfo& info : kReasonTable) {
        if (forwarded_by_settle(info)) {
            reasons[n++] = info.reason;
        }
    }
    return reasons;
}();
struct Settlement {
    std::array<ReasonMask, kForwardedBySettle.size()> forward;  // to where the route leads
    ReasonMask away;                                            // dropped or diverted
};
[[nodiscard]] constexpr bool is_partition(const Settlement& settled,
                                          std::uint64_t packets) noexcept {
    std::uint64_t named = settled.away.mask;
    for (const ReasonMask& outcome : settled.forward) {
        if ((named & outcome.mask) != 0) {
            return false;
        }
        named |= outcome.mask;
    }
    return named == packets;
}
[[nodiscard]] Settlement settle(const Burst& burst, EchoAction on_echo) noexcept;

}  // namespace unecho::pipeline
