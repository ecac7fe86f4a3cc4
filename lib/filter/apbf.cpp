// SPDX-License-Identifier: BSD-3-Clause
#include "filter/apbf.h"

namespace unecho::filter {

// The slices that a new digest touches if its query mismatches at once wherever it looks: l, l - k,
// l - 2k, ... and the k that are written.
void Apbf::prefetch(Digest digest) const noexcept {
    const Hash hash(digest);
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        __builtin_prefetch(ring_.segment(slot) + bit_of(hash, slot) / 64 * 8, 1);
    }
    for (unsigned slot = params_.l(); slot >= k; slot -= k) {
        if (const std::byte* segment = ring_.segment(slot); segment != nullptr) {
            __builtin_prefetch(segment + bit_of(hash, slot) / 64 * 8, 0);
        }
    }
}

std::uint64_t Apbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
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
