// SPDX-License-Identifier: BSD-3-Clause
// The audit of a filter as it is asked for, and as it is planned: memory, and which share of keys
// to begin with.
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
    std::uint64_t memory = std::uint64_t{2} << 20;  // of one filter on one worker
    AuditVerify verify = AuditVerify::kDigest;      // what tells keys apart

    bool operator==(const AuditChoice&) const = default;
};

// Of live traffic a sample costs a worker about a hundredth of its time; of captures it is as
// large as fits. Errc::kConfig: the memory holds next to nothing.
enum class AuditOf : std::uint8_t { kLive, kCapture };
Result<filter::AuditParams> plan_audit(const AuditChoice& choice, const FilterPlan& filter,
                                       AuditOf of, std::uint64_t secret);

}  // namespace unecho::engines
