// SPDX-License-Identifier: BSD-3-Clause
// Pass the first n packets of a flow in each window, with any sliding-window filter. A flow has n
// slots, each with its own digest in the filter. A packet takes the first slot that is not an echo;
// if all n are echoes, the packet is one.
//
// With EchoPolicy::kFixed a slot lives for one window from the packet that took it. A packet is
// thus new iff fewer than n packets of its flow were new in the last window. With kRefresh a packet
// refreshes every slot before the one that it takes, and a dropped packet refreshes all. After its
// first n packets, a flow is then dropped until it has been silent for a window. Guarantee (a) of
// the filter becomes: a packet that follows n live ones is always an echo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"

namespace unecho::filter {

// Return the digest of slot i (from 0) of n. With n = 1 it is the flow's own digest.
[[nodiscard]] constexpr Digest first_slot(Digest digest, unsigned i, unsigned n) noexcept {
    return n == 1 ? digest : remix(digest, i + 1);
}

// Return true for an echo. n >= 1.
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

// Call answer(i) for each digest of the burst, in order, with its slots prefetched. n > 1.
template <SlidingFilter F, typename Answer>
void for_each_flow(F& filter, std::span<const Digest> digests, unsigned n, Answer answer) noexcept {
    // Slots prefetched for a packet, and the number of packets by which prefetching runs ahead. A
    // flow that already had its n packets reads all its slots, but more lines than these would
    // evict each other from the L1 cache.
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

// Bit i is the answer for digests[i], as test_and_insert_first() would give one by one.
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

// With limits, only the match of the n-th slot is judged. An accidental match in an earlier slot
// drops no packet; it only makes one packet less of the flow pass.
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
