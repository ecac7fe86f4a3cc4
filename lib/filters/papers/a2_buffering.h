// SPDX-License-Identifier: BSD-3-Clause
// A2 buffering (active-active): two Bloom filters in turn, both of which answer.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + 1; from j + 2 on
//   (and without another insertion) it is new, except for false positives. With generations of g
//   insertions it remembers always the last g, never more than 2g. Generations turn by advance()
//   alone; for a window by count advance() to insertions / g. The paper copies digests found only
//   in the older filter into the younger: EchoPolicy::kRefresh.
// Cost: an insertion touches k cache lines, a query those of two Bloom filters. 2 m bits.
// Accuracy: 1 - (1 - p)(1 - p'), with the rates p and p' of Bloom filters that hold the digests of
//   this generation and the g of the previous one (sizing::rotating_rate).
// Weakness: two queries; the window varies by a half; a shift clears m bits at once.
// References: Yoon, Aging Bloom Filter with Two Active Buffers for Dynamic Sets, IEEE TKDE 22(1),
//   2010.
#pragma once

#include "filters/papers/bloom.h"
#include "filters/papers/rotating_pair.h"

namespace unecho::filter::baseline {

using A2Buffering = RotatingPair<Bloom, BloomParams>;

static_assert(SlidingFilter<A2Buffering>);

}  // namespace unecho::filter::baseline
