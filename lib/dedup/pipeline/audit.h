// SPDX-License-Identifier: BSD-3-Clause
// Stage audit, behind decide: shows the packets of a burst that are in the sample to the shadow of
// their filter (filters/audit/audit.h). What costs more than a comparison is done for these alone:
// the second hash of the key, and what tells why an echo is not its original.
// One lane's, on one worker, for packets of the wire and of captures alike.
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

// Drawn once, beside the secret of digests and independent of it.
struct AuditSecret {
    std::array<hash::Secret, 2> keys;
    std::uint64_t sample = 0;
};

// The same seed gives the same secret; whoever knows neither can tell it from a random one by no
// less than trying seeds.
[[nodiscard]] inline AuditSecret audit_secret_from(std::uint64_t seed) noexcept {
    return {{hash::secret_from_seed(remix(seed, 1)), hash::secret_from_seed(remix(seed, 2))},
            remix(seed, 3)};
}

// Echoes by cause; the last are packets that only look alike: of the same key, and yet others.
inline constexpr std::size_t kAuditCauses = packet::kCauseNames.size() + 1;
using AuditCauses = std::array<std::uint64_t, kAuditCauses>;
[[nodiscard]] constexpr std::string_view audit_cause_name(std::size_t i) noexcept {
    return i < packet::kCauseNames.size() ? packet::kCauseNames[i] : "alike";
}

// What a report says of it, of one worker.
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

    // Packets of a digested burst that are in the sample; of which whoever asks for each burst has
    // a copy at hand.
    [[nodiscard]] std::uint64_t sampled(const Burst& burst) const noexcept {
        return sampled(audit_.sample(), burst);
    }
    [[nodiscard]] static std::uint64_t sampled(const filter::AuditSample& sample,
                                               const Burst& burst) noexcept {
        return sample.of({burst.digests.data(), burst.count}) & burst.filtered();
    }
    [[nodiscard]] const filter::AuditSample& sample() const noexcept { return audit_.sample(); }

    // Those of a mask, after decide. ports: by packet, where each came in. timed: each packet at
    // its own time, else all at the state's.
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

// The digest of a packet's key under another secret.
[[nodiscard]] Digest audit_digest(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                  const hash::Secret& secret) noexcept;

// The bytes of the key, so many as fit; how many.
[[nodiscard]] std::size_t copy_key(const Burst& burst, unsigned i, const packet::KeySpec& key,
                                   std::span<std::uint8_t> out) noexcept;

}  // namespace unecho::pipeline
