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
#include "filters/confidence_filter.h"
#include "filters/filter.h"

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

// Calls answer(i) for each of a burst's digests, in order, with its slots prefetched; n > 1.
template <SlidingFilter F, typename Answer>
void for_each_flow(F& filter, std::span<const Digest> digests, unsigned n, Answer answer) noexcept {
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
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (i + kPacketsAhead < digests.size()) {
            prefetch(digests[i + kPacketsAhead]);
        }
        answer(i);
    }
}

// Bit i is the answer for digests[i], as test_and_insert_first one by one.
template <SlidingFilter F>
std::uint64_t test_and_insert_first_burst(F& filter, std::span<const Digest> digests,
                                          unsigned n) noexcept {
    UNECHO_ASSERT(n >= 1 && digests.size() <= kMaxBurst);
    if (n == 1) {
        return filter.test_and_insert_burst(digests);
    }
    std::uint64_t echoes = 0;
    for_each_flow(filter, digests, n, [&](std::size_t i) noexcept {
        echoes |= std::uint64_t{test_and_insert_first(filter, digests[i], n)} << i;
    });
    return echoes;
}

// With limits the match of the n-th slot is judged, and it alone: the others cost no packet, a
// match by accident there means that one packet less of the flow passes for certain. So no packet
// is dropped unless its n-th match is an echo.
template <ConfidenceFilter F>
Answers test_and_insert_first_burst(F& filter, std::span<const Digest> digests, unsigned n,
                                    ChanceLimits limits) noexcept {
    UNECHO_ASSERT(n >= 1 && digests.size() <= kMaxBurst);
    if (n == 1) {
        return filter.test_and_insert_burst(digests, limits);
    }
    Answers answers;
    for_each_flow(filter, digests, n, [&](std::size_t i) noexcept {
        for (unsigned slot = 0; slot + 1 < n; ++slot) {
            if (!filter.test_and_insert(first_slot(digests[i], slot, n))) {
                return;
            }
        }
        const Digest last = first_slot(digests[i], n - 1, n);
        const Answers one = filter.test_and_insert_burst({&last, 1}, limits.from(i));
        answers.echoes |= one.echoes << i;
        answers.doubts |= one.doubts << i;
    });
    return answers;
}

}  // namespace unecho::filter
