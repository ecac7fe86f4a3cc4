// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "filters/audit/audit.h"

namespace unecho::filter {
namespace {

constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 31;
constexpr unsigned kMaxFirst = 64;

}  // namespace

AuditParams::AuditParams(const AuditSpec& spec, std::uint64_t entries) noexcept
    : spec_(spec), entries_(entries), buckets_(std::bit_ceil(entries)) {}

// There is one bucket for each entry, rounded up to a power of two.
Result<AuditParams> AuditParams::make(const AuditSpec& spec) {
    if (spec.window == 0 || spec.first == 0 || spec.first > kMaxFirst ||
        spec.key_bytes > kMaxKeyBytes || spec.bits > Audit::kMaxBits) {
        return fail(Errc::kInvalidArgument,
                    "audit: allowed: a window of 1ns or more, first from 1 to 64, at most " +
                        std::to_string(kMaxKeyBytes) + " bytes of keys and " +
                        std::to_string(Audit::kMaxBits) + " bits");
    }
    std::uint64_t entries = std::min(spec.memory / Audit::entry_bytes(spec), kMaxEntries);
    while (entries != 0 && Audit::bytes(AuditParams(spec, entries)) > spec.memory) {
        entries -= std::max<std::uint64_t>(entries / 64, 1);
    }
    if (entries < kLeastEntries) {
        return fail(Errc::kConfig, "audit: a memory of " + format_size(spec.memory) +
                                       " is too little for a filter; allowed: " +
                                       size_literal((kLeastEntries + 1) * Audit::entry_bytes(spec) +
                                                    2 * kCacheLine + Audit::kStateBytes) +
                                       " or more");
    }
    return AuditParams(spec, entries);
}

}  // namespace unecho::filter
