// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/classify.h"

namespace unecho::analyze {
namespace {

constexpr Differences bit(bool differs, Difference one) noexcept {
    return static_cast<Differences>((differs ? 1U : 0U) << static_cast<unsigned>(one));
}

constexpr bool is_air_mark(std::uint32_t padding) noexcept {
    return padding != 0 && (padding & 1U) == 0;
}

// What differs of two marks; 0 where one is none.
constexpr std::uint32_t air_difference(std::uint32_t original, std::uint32_t echo) noexcept {
    return is_air_mark(original) && is_air_mark(echo) ? original ^ echo : 0;
}

constexpr std::uint32_t without_mark(std::uint32_t padding) noexcept {
    return is_air_mark(padding) ? 0 : padding;
}

}  // namespace

Differences differences_of(const Origin& original, const Origin& echo) noexcept {
    const bool header = original.ttl != echo.ttl || original.tos != echo.tos;
    const std::uint32_t air = air_difference(original.padding, echo.padding);
    return bit(original.ttl != echo.ttl, Difference::kHopLimit) |
           bit(original.macs != echo.macs, Difference::kMacs) |
           bit(original.tags != echo.tags, Difference::kTags) |
           bit(original.tos != echo.tos, Difference::kTos) |
           bit(without_mark(original.padding) != without_mark(echo.padding), Difference::kPadding) |
           bit((air & 2U) != 0, Difference::kRetry) | bit((air & ~2U) != 0, Difference::kNumber) |
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
    if (has(differences, Difference::kRetry) || has(differences, Difference::kNumber)) {
        return Cause::kResent;
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
