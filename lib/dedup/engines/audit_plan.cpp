// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/audit_plan.h"

#include <algorithm>
#include <cmath>

namespace unecho::engines {
namespace {

// A sampled packet costs about a microsecond, so this many take 0.2 % of a worker's time.
constexpr std::uint64_t kSamplesPerSecond = 2048;
// Share of the entries that are in use at the planned rate.
constexpr double kFill = 0.75;
constexpr unsigned kMaxBits = 30;

// Return n so that 2^-n of the keys fit the entries for as long as they are kept, and the samples a
// second.
unsigned first_bits(const filter::AuditParams& params, double keys_per_second) {
    const filter::AuditSpec& spec = params.spec();
    const double seconds = static_cast<double>(std::max(4 * spec.window, kSecond)) / kSecond;
    const double share = std::max(
        keys_per_second * seconds / (kFill * static_cast<double>(params.entries())),
        keys_per_second / static_cast<double>(std::max<std::uint64_t>(spec.samples_per_second, 1)));
    const double bits = std::ceil(std::log2(std::max(share, 1.0)));
    return std::min(static_cast<unsigned>(bits), kMaxBits);
}

}  // namespace

Result<filter::AuditParams> plan_audit(const AuditChoice& choice, const FilterPlan& filter,
                                       AuditOf of, std::uint64_t secret) {
    const bool live = of == AuditOf::kLive;
    filter::AuditSpec spec;
    spec.memory = choice.memory;
    spec.window = filter.window;
    spec.slack = filter.prediction.slack;
    spec.grace = live ? filter.window : 0;
    spec.policy = echo_policy(filter.policy);
    spec.first = filter.first;
    spec.key_bytes = choice.verify == AuditVerify::kBytes ? filter::AuditParams::kMaxKeyBytes : 0;
    spec.samples_per_second = live ? kSamplesPerSecond : 0;
    spec.begins_whole = !live;
    spec.secret = secret;
    auto params = filter::AuditParams::make(spec);
    if (params && live) {
        spec.bits = first_bits(*params, filter.keys_per_second);
        params = filter::AuditParams::make(spec);
    }
    return params;
}

}  // namespace unecho::engines
