// SPDX-License-Identifier: BSD-3-Clause
// Two rotating blocked Bloom filters: A2 buffering made of cache lines, the obvious construction
// with a fast Bloom filter from a library. An APBBF with k = l = 1 is the same idea.
//
// Guarantee: that of A2 buffering (a2_buffering.h), also by advance() alone.
// Cost: two cache lines for any operation. 2 m bits.
// Accuracy: 1 - (1 - p)(1 - p'), with the rates p and p' of blocked Bloom filters that hold the
//   digests of this generation and of the previous one (sizing::rotating_rate of
//   sizing::blocked_rate).
// Weakness: the window varies by a half; a shift clears m bits at once.
// References: Age-Partitioned Bloom Filters, section 6 (k = 1, l = 1).
#pragma once

#include "filters/papers/blocked_bloom.h"
#include "filters/papers/rotating_pair.h"

namespace unecho::filter::baseline {

using RotatingBlocked = RotatingPair<BlockedBloom, BlockedBloomParams>;

static_assert(SlidingFilter<RotatingBlocked>);

}  // namespace unecho::filter::baseline
