// SPDX-License-Identifier: BSD-3-Clause
// Stage audit, after decide: shows the sampled packets of a burst to the audit of their filter
// (filters/audit/audit.h), which remembers their keys exactly, and to its path table
// (paths/path_table.h), which remembers where they were seen. Only sampled packets cost more than a
// comparison: a second hash of the key, and the traits by which an echo differs from its original.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "dedup/pipeline/burst.h"
#include "dedup/pipeline/paths/path_table.h"
#include "filters/audit/audit.h"
#include "filters/hash/digest.h"
#include "filters/hash/secret.h"
#include "packets/keys/cause.h"
#include "packets/keys/key_spec.h"

namespace unecho::pipeline {

// Drawn once, beside the secret of the digests and independent of it.
struct AuditSecret {
    std::array<hash::Secret, 2> keys;
    std::uint64_t sample = 0;
};

// Return the secret of a seed. Without the seed, only trying seeds distinguishes it from a random
// one.
[[nodiscard]] inline AuditSecret audit_secret_from(std::uint64_t seed) noexcept {
    return {{hash::secret_from_seed(remix(seed, 1)), hash::secret_from_seed(remix(seed, 2))},
            remix(seed, 3)};
}

// Echoes by cause; the last are packets that only look alike: of the same key, and yet different.
inline constexpr std::size_t kAuditCauses = packet::kCauseNames.size() + 1;
using AuditCauses = std::array<std::uint64_t, kAuditCauses>;
[[nodiscard]] constexpr std::string_view audit_cause_name(std::size_t i) noexcept {
    return i < packet::kCauseNames.size() ? packet::kCauseNames[i] : "alike";
}

// Totals of one worker for a report.
struct AuditTotals {
    filter::AuditCounters counters;
    filter::AgeHistogram ages;
    AuditCauses causes{};
    std::uint64_t bits = 0;
    std::uint64_t entries = 0;
};

// When the packets of a burst arrived: between these readings of the clock.
struct ArrivalInterval {
    Nanoseconds earliest = 0;
    Nanoseconds latest = 0;
};

class AuditStage {
  public:
    // paths: null if none are measured.
    AuditStage(filter::Audit& audit, const packet::KeySpec& key, const AuditSecret& secret,
               PortPairMatrix& crossings, PathTable* paths = nullptr) noexcept
        : audit_(audit), key_(key), secret_(secret), crossings_(crossings), paths_(paths) {}

    // Return the packets of a digested burst that are in the sample. The static form takes a copy
    // of the sample, which the caller keeps at hand for each burst.
    [[nodiscard]] std::uint64_t sampled(const Burst& burst) const noexcept {
        return sampled(sample(), burst);
    }
    [[nodiscard]] static std::uint64_t sampled(const filter::AuditSample& sample,
                                               const Burst& burst) noexcept {
        return sample.of({burst.digests.data(), burst.count}) & burst.keys.keyed;
    }
    // Return the larger of the samples of audit and paths; the other one is a part of it.
    [[nodiscard]] const filter::AuditSample& sample() const noexcept {
        return paths_ != nullptr && paths_->sample().limit() > audit_.sample().limit()
                   ? paths_->sample()
                   : audit_.sample();
    }

    // Show the packets of a mask to audit and paths, after decide. ports: by packet, the port that
    // received it. timed: each packet at its own time, else all at the state's and at `arrival`.
    void inspect(const Burst& burst, std::uint64_t mask,
                 const std::array<PortIndex, kMaxBurst>& ports, const filter::AuditState& state,
                 bool timed, const ArrivalInterval& arrival = {}) noexcept;

    // Report packets that no filter saw because of overload.
    void pass_by(unsigned packets, Nanoseconds now) noexcept {
        audit_.add_overload(packets);
        if (paths_ != nullptr) {
            paths_->pass_by(now);
        }
    }
    // Judge sampled packets that are due although no other comes.
    void maintain(Nanoseconds now) noexcept {
        if (paths_ != nullptr) {
            paths_->expire(now);
        }
    }

    [[nodiscard]] filter::Audit& audit() noexcept { return audit_; }
    // Return null if no paths are measured.
    [[nodiscard]] PathTable* paths() const noexcept { return paths_; }
    [[nodiscard]] AuditTotals totals() const noexcept {
        return {audit_.counters(), audit_.ages(), causes_, audit_.bits(), audit_.entries()};
    }

  private:
    struct Sight {
        PortIndex port;
        Nanoseconds time;         // for the audit
        ArrivalInterval arrival;  // for paths, by the live clock
    };
    void inspect_packet(const Burst& burst, unsigned i, const Sight& sight) noexcept;
    [[nodiscard]] bool is_audited(const Burst& burst, unsigned i) const noexcept {
        return (burst.filtered() >> i & 1) != 0 && audit_.sample().has(burst.digests[i]);
    }
    [[nodiscard]] bool is_on_path(const Burst& burst, unsigned i, PortIndex port) const noexcept {
        return paths_ != nullptr && paths_->has(port) && paths_->sample().has(burst.digests[i]);
    }

    filter::Audit& audit_;
    const packet::KeySpec& key_;
    const AuditSecret& secret_;
    PortPairMatrix& crossings_;
    PathTable* paths_;
    AuditCauses causes_{};
};

[[nodiscard]] Digest audit_digest(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                  const hash::Secret& secret) noexcept;

// Copy as many bytes of the key as fit. Return how many.
[[nodiscard]] std::size_t copy_key(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                   std::span<std::uint8_t> out) noexcept;

}  // namespace unecho::pipeline
