// SPDX-License-Identifier: BSD-3-Clause
// Two rotating blocked Bloom filters: A2 buffering made of cache lines, which is what somebody
// builds who takes a fast Bloom filter from a library. APBBF with k = l = 1 is the same idea.
//
// Guarantee: as A2 buffering's (a2_buffering.h), and by advance() alone as there.
// Cost: two cache lines for any operation. 2 m bits.
// Accuracy: 1 - (1 - p)(1 - p'), p and p' those of blocked Bloom filters with the digests of this
//   generation and of the one before (sizing::rotating_rate of sizing::blocked_rate).
// Weakness: the window wavers by a half; a shift clears m bits at once.
// References: Age-Partitioned Bloom Filters, section 6 (k = 1, l = 1).
#pragma once

#include "filters/papers/blocked_bloom.h"
#include "filters/papers/rotating_pair.h"

namespace unecho::filter::baseline {

using RotatingBlocked = RotatingPair<BlockedBloom, BlockedBloomParams>;

static_assert(SlidingFilter<RotatingBlocked>);

}  // namespace unecho::filter::baseline
