// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/classify.h"

namespace unecho::analyze {
namespace {

constexpr Differences bit(bool differs, Difference one) noexcept {
    return static_cast<Differences>((differs ? 1U : 0U) << static_cast<unsigned>(one));
}

}  // namespace

Differences differences_of(const Origin& original, const Origin& echo) noexcept {
    const bool header = original.ttl != echo.ttl || original.tos != echo.tos;
    return bit(original.ttl != echo.ttl, Difference::kHopLimit) |
           bit(original.macs != echo.macs, Difference::kMacs) |
           bit(original.tags != echo.tags, Difference::kTags) |
           bit(original.tos != echo.tos, Difference::kTos) |
           bit(original.padding != echo.padding, Difference::kPadding) |
           bit(!header && original.checksum != echo.checksum, Difference::kChecksum);
}

Cause cause_of(Differences differences) noexcept {
    if (has(differences, Difference::kHopLimit)) {
        return has(differences, Difference::kMacs) ? Cause::kRouted : Cause::kHopLimit;
    }
    if (has(differences, Difference::kTags)) {
        return Cause::kRetagged;
    }
    if (has(differences, Difference::kMacs)) {
        return Cause::kRelayed;
    }
    if (has(differences, Difference::kTos)) {
        return Cause::kRemarked;
    }
    if (has(differences, Difference::kPadding)) {
        return Cause::kPadded;
    }
    return has(differences, Difference::kChecksum) ? Cause::kChecksum : Cause::kIdentical;
}

}  // namespace unecho::analyze
