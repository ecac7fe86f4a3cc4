// SPDX-License-Identifier: BSD-3-Clause
// 1MemBF, the one-memory-access Bloom filter: a blocked Bloom filter with blocks of a 64-bit word.
//
// Guarantee: a digest inserted since the last clear() always matches.
// Cost: one word for any operation. m bits.
// Accuracy: as in blocked_bloom.h with 64 for 512 (sizing::blocked_rate). The paper uses the mean
//   fill of a word, so its rate is too low: at fill 1/2 by 9 % for k = 8 and 22 % for k = 16.
//   sizing has both formulas.
// Weakness: words are so small and so unevenly loaded that the rate is many times that of a Bloom
//   filter with the same memory.
// References: Qiao, Li, Chen, One Memory Access Bloom Filters and Their Generalization, INFOCOM
//   2011. Shifting Bloom Filter compares ShBF_M with it.
#pragma once

#include "filters/papers/blocked_bloom.h"

namespace unecho::filter::baseline {

struct OneMemBloomLayout {
    static constexpr unsigned kBlockBits = 64;
    static constexpr Rules kRules{.filter = "1membf", .granule = 64};
};

using OneMemBloom = BasicBlockedBloom<OneMemBloomLayout>;
using OneMemBloomParams = OneMemBloom::Params;

}  // namespace unecho::filter::baseline
