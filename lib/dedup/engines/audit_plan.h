// SPDX-License-Identifier: BSD-3-Clause
// The audit of a filter as the user requests it, and its plan: its memory, and the share of keys
// that it samples at first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "dedup/engines/planning/plan.h"
#include "filters/audit/audit.h"

namespace unecho::engines {

enum class AuditVerify : std::uint8_t { kDigest, kBytes };
inline constexpr std::array<std::string_view, 2> kAuditVerifyNames{"digest", "bytes"};

struct AuditChoice {
    bool enabled = true;
    std::uint64_t memory = std::uint64_t{2} << 20;  // for one filter on one worker
    AuditVerify verify = AuditVerify::kDigest;      // distinguishes keys

    bool operator==(const AuditChoice&) const = default;
};

// The sample of live traffic is limited to about 0.2 % of a worker's time; that of captures is as
// large as fits. Errc::kConfig: the memory holds next to nothing.
enum class AuditOf : std::uint8_t { kLive, kCapture };
Result<filter::AuditParams> plan_audit(const AuditChoice& choice, const FilterPlan& filter,
                                       AuditOf of, std::uint64_t secret);

}  // namespace unecho::engines
