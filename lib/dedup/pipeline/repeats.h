// SPDX-License-Identifier: BSD-3-Clause
// Stage repeats, beside stage decide. If a filter keeps repeats, the union rule
// (filters/repeats/union_rule.h) decides packets that do not identify their transmission; the
// filter decides all others. One rule for each filter and worker.
#pragma once

#include <cstdint>

#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/burst.h"
#include "filters/repeats/union_rule.h"

namespace unecho::pipeline {

// Return a packet's point of observation and population, from its place and its port's group.
[[nodiscard]] inline filter::Observation observation_of(const Burst& burst, unsigned i,
                                                        bool evidence) noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    const packet::ObservationPoint& place = burst.places[i];
    const std::uint64_t group = burst.groups[i];
    return {.digest = burst.digests[i],
            .population = evidence ? remix(place.pair, group + 1) : 0,
            .point = static_cast<std::uint32_t>((place.link + group * kOdd) >> 32),
            .tags = place.tags,
            .ttl = place.ttl,
            .port = static_cast<std::uint8_t>(burst.ports[i])};
}

// Add the copies among the burst's unidentified packets to its echoes, after stage decide. time(i):
// when packet i was seen, never decreasing; observe(i, now, seen): queries the rule about it.
template <typename Rule, typename Time, typename See>
void decide_repeats(Burst& burst, Rule& rule, Time time, See observe) noexcept {
    // Identified packets are evidence, in their order of arrival.
    const std::uint64_t looked =
        rule.has_evidence() ? burst.keys.keyed : burst.keys.keyed & burst.unidentified;
    for_each_bit(looked, [&](unsigned i) { rule.prefetch(burst.digests[i]); });
    for_each_bit(looked & burst.unidentified,
                 [&](unsigned i) { rule.prefetch_node(burst.digests[i]); });
    std::uint64_t copies = 0;
    for_each_bit(looked, [&](unsigned i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        const filter::Observation seen = observation_of(burst, i, rule.has_evidence());
        if ((burst.unidentified & bit) == 0) {
            rule.observe_identified(time(i), seen, (burst.echoes & bit) != 0);
        } else if (observe(i, time(i), seen)) {
            copies |= bit;
        }
    });
    burst.echoes |= copies;
}

// The same without the originals of copies. answers: counts copies by port pair; may be null.
template <typename Time>
void decide_repeats(Burst& burst, filter::UnionRule& rule, Time time,
                    PortPairMatrix* answers) noexcept {
    decide_repeats(burst, rule, time,
                   [&](unsigned, Nanoseconds now, const filter::Observation& seen) {
                       const bool copy = rule.observe(now, seen);
                       if (copy && answers != nullptr) {
                           ++(*answers)[rule.original_port()][seen.port];
                       }
                       return copy;
                   });
}

}  // namespace unecho::pipeline
