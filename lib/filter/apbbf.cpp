// SPDX-License-Identifier: BSD-3-Clause
#include "filter/apbbf.h"

namespace unecho::filter {

// The blocks that a new digest touches if its query mismatches wherever it looks: in slots l,
// l - k, l - 2k, ... and in the k that are written.
void Apbbf::prefetch(Digest digest) const noexcept {
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        __builtin_prefetch(block_of(ring_.segment(slot), hash_of(digest, slot)), 1);
    }
    for (unsigned slot = params_.l(); slot >= k; slot -= k) {
        if (std::byte* const segment = ring_.segment(slot); segment != nullptr) {
            __builtin_prefetch(block_of(segment, hash_of(digest, slot)), 0);
        }
    }
}

std::uint64_t Apbbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        prefetch(digest);
    }
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        echoes |= std::uint64_t{test_and_insert(digests[i])} << i;
    }
    return echoes;
}

}  // namespace unecho::filter
