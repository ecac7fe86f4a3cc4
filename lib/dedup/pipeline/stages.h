// SPDX-License-Identifier: BSD-3-Clause
// pipeline: the stages that decide a burst of up to 64 packets, between receiving and transmitting:
// parse, digest, report_flows, decide, settle. Live traffic and captures use the same functions.
//
// Each stage is a function over Burst (burst.h), a structure of arrays. A burst gets exactly the
// answers that its packets would get one by one.
//
// Hot: noexcept, no allocation, no clock; one indirect call a burst (engine_ops.h). May not: know
// mbufs, ports, rings (appliance/dataplane) or files (captures/dedup).
//
// Next: burst.h (the data), reasons.h (the one reason that each packet ends in),
// confidence_policy.h (which matches are echoes), appliance/dataplane/worker.h (a caller).
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

// One filter on one worker, with all that takes part in its decisions.
struct FilterContext {
    const EngineOps* ops = nullptr;
    void* filter = nullptr;
    filter::Ageing* ageing = nullptr;  // the filter's own
    packet::KeySpec key = {};
    unsigned first = 1;
    bool pipelined_prefetch = false;         // prepare bursts, if can_prefetch()
    ConfidencePolicy* confidence = nullptr;  // null: every match is an echo
    Nanoseconds window = ~Nanoseconds{0};
    Nanoseconds remembered = 0;  // window and slack
    // If the engine cannot estimate the chance of an accident: its planned chance, and the bound,
    // by which matches of the predecessor are judged.
    float planned_chance = 0;
    std::optional<float> bound = std::nullopt;
    // The predecessor, while this filter is warmed to take its place; it is queried and not
    // written. An echo of either filter is an echo.
    const FilterContext* before = nullptr;
    // Decides packets that do not identify their transmission; null: repeats are dropped.
    filter::UnionRule* repeats = nullptr;
    PortPairMatrix* answers = nullptr;  // its copies by port pair; null: not counted
};

// Set `parsed` (where the IP packets are) and `opened` (those in tunnels). Later stages read these,
// so that each frame is parsed only once.
void parse(Burst& burst, const packet::KeySpec& key) noexcept;

// Return true if the filter needs stage parse. Frame keys cover all bytes, whatever they are.
[[nodiscard]] constexpr bool needs_parsing(const FilterContext& context) noexcept {
    return context.key.mode != packet::KeyMode::kFrame || context.confidence != nullptr ||
           context.repeats != nullptr;
}

// Set digests and keys. Frames that are too long get no key. If repeats are kept, set
// `unidentified` and the places of those packets; with evidence, the places of all.
void digest(Burst& burst, const packet::KeySpec& key, const hash::Secret& secret) noexcept;

// The same with the key of flows in both directions, which the reports of two taps count.
void digest_flows(Burst& burst, packet::Tenant tenant, const hash::Secret& secret) noexcept;

// Compute the digests of the keyed packets under another secret. The burst stays as it is.
void digest_with_secret(const Burst& burst, const packet::KeySpec& key, const hash::Secret& secret,
                        std::array<Digest, kMaxBurst>& digests) noexcept;

// Add the flows that digest_flows() found to a report. timed: each packet at its own time.
void report_flows(const Burst& burst, filter::TapReport& report, bool timed) noexcept;

// A burst that its filter prefetches before it is decided, so that memory brings the cache lines
// meanwhile. digests: those of the keyed packets, side by side.
struct PrefetchedBurst {
    std::array<Digest, kMaxBurst> digests;
    filter::PreparedBurst prepared;
};

// Return true if bursts are prepared: prefetch is wanted, the engine supports it, each answer
// depends on one digest alone, and there is no predecessor.
[[nodiscard]] inline bool can_prefetch(const FilterContext& context) noexcept {
    return context.pipelined_prefetch && context.ops->prepare != nullptr && context.first == 1 &&
           context.before == nullptr;
}

// Prepare a burst, if can_prefetch(). Call it after stage digest.
void prepare(const Burst& burst, const FilterContext& context,
             PrefetchedBurst& prefetched) noexcept;
inline void prefetch_lines(const FilterContext& context, PrefetchedBurst& prefetched,
                           unsigned digests) noexcept {
    context.ops->prefetch_lines(context.filter, prefetched.prepared, digests);
}
// Like decide() below. next: the burst prepared behind it for the same filter, or null.
void decide_prepared(Burst& burst, const FilterContext& context, filter::TimerSnapshot published,
                     const PrefetchedBurst& prefetched, PrefetchedBurst* next) noexcept;

// Set echoes and doubts, at one time for all packets.
void decide(Burst& burst, const FilterContext& context, filter::TimerSnapshot published) noexcept;

// The same, with each packet at its own time.
void decide_timed(Burst& burst, const FilterContext& context) noexcept;

// A reason and its packets. The masks of a Settlement together name each packet once.
struct ReasonMask {
    Reason reason;
    std::uint64_t mask;
};
[[nodiscard]] constexpr bool forwarded_by_settle(const ReasonInfo& info) noexcept {
    return info.given_by == GivenBy::kSettle && info.fate == Disposition::kForwarded;
}
// In the order of the table; each has its place in a settlement.
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
    std::array<ReasonMask, kForwardedBySettle.size()> forward;  // to the route's port
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
