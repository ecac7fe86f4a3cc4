// SPDX-License-Identifier: BSD-3-Clause
// What the audit of a filter comes to: rates with exact intervals, verdicts, ages, crossings, and
// what should be changed. Plain data from counters, and its forms as JSON and text; the same for
// the appliance and for captures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.h"
#include "dedup/pipeline/audit.h"
#include "filters/audit/counters.h"
#include "filters/sizing/binomial.h"

namespace unecho::engines {

// Packets of which the first came by one port, or file, and one that repeats it by the other.
struct PortPairCount {
    std::string first;
    std::string repeated;
    std::uint64_t packets = 0;
};

// Of one filter, all workers together.
struct AuditFacts {
    filter::AuditCounters counters;
    filter::AgeHistogram ages;
    std::vector<PortPairCount> crossings;  // those that are not 0
    pipeline::AuditCauses causes{};
    unsigned bits = 0;  // 2^-bits of all keys are sampled
    std::uint64_t entries = 0;
    std::uint64_t capacity = 0;
    std::uint64_t memory_bytes = 0;
    Nanoseconds elapsed = 0;
    // Of the filter that is audited.
    Nanoseconds window = 0;
    Nanoseconds slack = 0;
    bool flow_key = false;        // most packets repeat their key, and are no copies
    std::optional<double> bound;  // on false drops
    double planned_rate = 0;      // keys a second, all workers together; 0: not known
    double rate = 0;              // as counted
    bool exact = false;           // its memory goes by keys, and it makes no false drops
};

enum class AuditVerdict : std::uint8_t { kHeld, kBroken, kOpen };

struct AuditRate {
    std::uint64_t count = 0;
    std::uint64_t of = 0;
    sizing::Interval interval;

    [[nodiscard]] double rate() const {
        return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
    }
};

struct AuditReport {
    AuditFacts facts;
    AuditRate false_drops;  // of packets that are new
    AuditVerdict false_drops_verdict = AuditVerdict::kOpen;
    std::optional<Nanoseconds> confirmed_in;  // from now on; 0: it is
    AuditRate misses;                         // of echoes inside the window
    AuditVerdict misses_verdict = AuditVerdict::kOpen;
    std::optional<Nanoseconds> window_999;  // that 99.9 % of the copies need
    std::vector<std::string> advice;        // a line each
};

AuditReport audit_report(AuditFacts facts);

nlohmann::ordered_json to_json(const AuditReport& report);
nlohmann::ordered_json to_json(const std::vector<PortPairCount>& crossings);

// Name the pairs of these ports that are not 0.
std::vector<PortPairCount> port_pair_counts(
    const pipeline::PortPairMatrix& counted,
    const std::vector<std::pair<PortIndex, std::string>>& ports);

// Lines for people, indented by two.
std::string to_text(const AuditReport& report);

}  // namespace unecho::engines
