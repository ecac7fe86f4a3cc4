// SPDX-License-Identifier: BSD-3-Clause
// "The first n packets of a flow pass in each window", over any sliding-window filter: n slots of a
// flow, each a digest of its own in the filter; the first slot that is not an echo is taken.
//
// With EchoPolicy::kFixed a slot lives for a window from the packet that took it, so a packet is
// new iff fewer than n packets of its flow were new in the last window. With kRefresh each packet
// refreshes the slots before the one it takes, a dropped packet all of them: after its first n
// packets a flow is dropped until it has been silent for a window.
// Guarantee (a) of the filter becomes: the packet after n live ones is always an echo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "filter/filter.h"

namespace unecho::filter {

// The digest of slot i of n, i from 0. With n = 1 a flow has its own digest, as without this.
[[nodiscard]] constexpr Digest first_slot(Digest digest, unsigned i, unsigned n) noexcept {
    return n == 1 ? digest : remix(digest, i + 1);
}

// True for an echo. n >= 1.
template <SlidingFilter F>
bool test_and_insert_first(F& filter, Digest digest, unsigned n) noexcept {
    UNECHO_ASSERT(n >= 1);
    for (unsigned i = 0; i < n; ++i) {
        if (!filter.test_and_insert(first_slot(digest, i, n))) {
            return false;
        }
    }
    return true;
}

// Bit i is the answer for digests[i], as test_and_insert_first one by one.
template <SlidingFilter F>
std::uint64_t test_and_insert_first_burst(F& filter, std::span<const Digest> digests,
                                          unsigned n) noexcept {
    UNECHO_ASSERT(n >= 1 && digests.size() <= kMaxBurst);
    if (n == 1) {
        return filter.test_and_insert_burst(digests);
    }
    // Slots prefetched for a packet, and how many packets before it is tested: a flow that is
    // through needs all of its slots, but more lines than these would drive each other out of the
    // L1 cache.
    constexpr unsigned kSlotsAhead = 8;
    constexpr std::size_t kPacketsAhead = 4;
    const auto prefetch = [&](Digest digest) noexcept {
        for (unsigned i = 0; i < std::min(n, kSlotsAhead); ++i) {
            filter.prefetch(first_slot(digest, i, n));
        }
    };
    for (std::size_t i = 0; i < std::min(kPacketsAhead, digests.size()); ++i) {
        prefetch(digests[i]);
    }
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (i + kPacketsAhead < digests.size()) {
            prefetch(digests[i + kPacketsAhead]);
        }
        echoes |= std::uint64_t{test_and_insert_first(filter, digests[i], n)} << i;
    }
    return echoes;
}

}  // namespace unecho::filter
