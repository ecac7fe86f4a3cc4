// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/paths/host_sides.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "filters/storage.h"

namespace unecho::pipeline {
namespace {

constexpr Nanoseconds kLasts = 300 * kSecond;

}  // namespace

HostSides::HostSides(std::span<std::byte> memory) noexcept {
    const std::size_t buckets = std::bit_floor(memory.size() / (kWays * sizeof(Host)));
    UNECHO_ASSERT(buckets >= 2);
    hosts_ = filter::carve<Host>(memory, 0, buckets * kWays);
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
}

HostSides::Host* HostSides::bucket_of(Digest host) const noexcept {
    return hosts_ + (host * 0x9E3779B97F4A7C15ULL >> shift_) * kWays;
}

HostSides::Host* HostSides::find(Digest host) const noexcept {
    Host* const bucket = bucket_of(host);
    for (unsigned i = 0; host != 0 && i < kWays; ++i) {
        if (bucket[i].digest == host && latest_ - bucket[i].confirmed < kLasts) {
            return &bucket[i];
        }
    }
    return nullptr;
}

HostSides::Sides HostSides::of(Digest host) const noexcept {
    const Host* const known = find(host);
    return known == nullptr ? 0 : known->sides;
}

void HostSides::learn(Digest source, Digest destination, unsigned pair, Course course,
                      Nanoseconds now) noexcept {
    const bool forward = course == Course::kForward;
    latest_ = std::max(latest_, now);
    place(source, pair, forward ? kNear : kFar, now);
    place(destination, pair, forward ? kFar : kNear, now);
}

void HostSides::place(Digest host, unsigned pair, unsigned side, Nanoseconds now) noexcept {
    if (host == 0) {
        return;
    }
    Host* known = find(host);
    if (known == nullptr) {  // in place of the one that was confirmed longest ago
        Host* const bucket = bucket_of(host);
        known = bucket;
        for (unsigned i = 0; i < kWays; ++i) {
            if (bucket[i].digest == host) {
                known = &bucket[i];
                break;
            }
            known = bucket[i].confirmed < known->confirmed ? &bucket[i] : known;
        }
        *known = {host, 0, now};
    }
    const auto before = static_cast<unsigned>(known->sides >> 2 * pair & 3);
    const unsigned after = before == 0 || before == side ? side : kBoth;
    known->sides &= ~(Sides{3} << 2 * pair);
    known->sides |= Sides{after} << 2 * pair;
    if (after != kBoth) {  // it may have moved: it is learned anew after a while
        known->confirmed = std::max(known->confirmed, now);
    }
}

}  // namespace unecho::pipeline
