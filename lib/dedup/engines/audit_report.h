// SPDX-License-Identifier: BSD-3-Clause
// The results of a filter's audit: rates with exact intervals, verdicts, ages, port pairs, advice.
// Plain data made from counters, and its forms as JSON and text; for the appliance and captures.
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

// Packets whose key was first seen at one port, or file, and that repeat it at another.
struct PortPairCount {
    std::string first;
    std::string repeated;
    std::uint64_t packets = 0;
};

// The facts of one filter, all workers together.
struct AuditFacts {
    filter::AuditCounters counters;
    filter::AgeHistogram ages;
    std::vector<PortPairCount> crossings;  // without zeros
    pipeline::AuditCauses causes{};
    unsigned bits = 0;  // the sample is 2^-bits of all keys
    std::uint64_t entries = 0;
    std::uint64_t capacity = 0;
    std::uint64_t memory_bytes = 0;
    Nanoseconds elapsed = 0;
    // The next members are of the audited filter.
    Nanoseconds window = 0;
    Nanoseconds slack = 0;
    bool flow_key = false;           // most packets repeat their key, and are no copies
    std::optional<double> bound;     // on false drops
    double planned_rate = 0;         // keys per second, all workers together; 0: not known
    double busiest_rate = 0;         // likewise, of the busiest hour; 0: none has passed yet
    std::uint64_t filter_bytes = 0;  // memory of the filter, all workers together; 0: not known
    bool exact = false;              // its memory depends on keys, and it makes no false drops
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
    std::optional<Nanoseconds> confirmed_in;  // time left from now; 0: confirmed
    AuditRate misses;                         // of echoes inside the window
    AuditVerdict misses_verdict = AuditVerdict::kOpen;
    std::optional<Nanoseconds> window_999;  // within which 99.9 % of the copies come
    std::vector<std::string> advice;        // sentences, each whole; none contradicts another
};

AuditReport audit_report(AuditFacts facts);

nlohmann::ordered_json to_json(const AuditReport& report);
nlohmann::ordered_json to_json(const std::vector<PortPairCount>& crossings);

// Return the pairs of these ports that are not 0, by name.
std::vector<PortPairCount> port_pair_counts(
    const pipeline::PortPairMatrix& counted,
    const std::vector<std::pair<PortIndex, std::string>>& ports);

// Return lines for people, indented by two.
std::string to_text(const AuditReport& report);

}  // namespace unecho::engines
