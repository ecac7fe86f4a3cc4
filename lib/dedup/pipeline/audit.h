// SPDX-License-Identifier: BSD-3-Clause
// Stage audit, after decide: shows the sampled packets of a burst to the audit of their filter
// (filters/audit/audit.h), which remembers their keys exactly. Only sampled packets cost more than
// a comparison: a second hash of the key, and the traits by which an echo differs from its
// original.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "dedup/pipeline/burst.h"
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

class AuditStage {
  public:
    AuditStage(filter::Audit& audit, const packet::KeySpec& key, const AuditSecret& secret,
               PortPairMatrix& crossings) noexcept
        : audit_(audit), key_(key), secret_(secret), crossings_(crossings) {}

    // Return the packets of a digested burst that are in the sample. The static form takes a copy
    // of the sample, which the caller keeps at hand for each burst.
    [[nodiscard]] std::uint64_t sampled(const Burst& burst) const noexcept {
        return sampled(audit_.sample(), burst);
    }
    [[nodiscard]] static std::uint64_t sampled(const filter::AuditSample& sample,
                                               const Burst& burst) noexcept {
        return sample.of({burst.digests.data(), burst.count}) & burst.filtered();
    }
    [[nodiscard]] const filter::AuditSample& sample() const noexcept { return audit_.sample(); }

    // Show the packets of a mask to the audit, after decide. ports: by packet, the port that
    // received it. timed: each packet at its own time, else all at the state's.
    void inspect(const Burst& burst, std::uint64_t mask,
                 const std::array<PortIndex, kMaxBurst>& ports, const filter::AuditState& state,
                 bool timed) noexcept;

    [[nodiscard]] filter::Audit& audit() noexcept { return audit_; }
    [[nodiscard]] AuditTotals totals() const noexcept {
        return {audit_.counters(), audit_.ages(), causes_, audit_.bits(), audit_.entries()};
    }

  private:
    void inspect_packet(const Burst& burst, unsigned i, PortIndex port, Nanoseconds time) noexcept;

    filter::Audit& audit_;
    const packet::KeySpec& key_;
    const AuditSecret& secret_;
    PortPairMatrix& crossings_;
    AuditCauses causes_{};
};

[[nodiscard]] Digest audit_digest(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                  const hash::Secret& secret) noexcept;

// Copy as many bytes of the key as fit. Return how many.
[[nodiscard]] std::size_t copy_key(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                   std::span<std::uint8_t> out) noexcept;

}  // namespace unecho::pipeline
