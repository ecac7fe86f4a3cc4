// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_x_window.h"

namespace unecho::filter {

// Prefetch all windows of the youngest segment, which are written, or read for a flow beyond its n
// packets; of the other segments only the first.
void ShbfXWindow::prefetch(Digest digest) const noexcept {
    const std::uint64_t hash = hash_of(digest, 0);
    for (unsigned i = 0; i < params_.k(); ++i) {
        prefetch_bits(ring_.segment(0), first_bit_of(hash, i, params_.m()));
    }
    for (unsigned slot = 1; slot < ring_.slots(); ++slot) {
        if (const std::byte* const segment = ring_.segment(slot); segment != nullptr) {
            prefetch_bits(segment, first_bit_of(hash_of(digest, slot), 0, params_.m()));
        }
    }
}

std::uint64_t ShbfXWindow::test_and_insert_first_burst(std::span<const Digest> digests,
                                                       unsigned n) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    // A packet has about 20 lines (k + l); those of a whole burst would not fit into the L1 cache.
    constexpr std::size_t kPacketsAhead = 12;
    for (std::size_t i = 0; i < std::min(kPacketsAhead, digests.size()); ++i) {
        prefetch(digests[i]);
    }
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (i + kPacketsAhead < digests.size()) {
            prefetch(digests[i + kPacketsAhead]);
        }
        echoes |= std::uint64_t{test_and_insert_first(digests[i], n)} << i;
    }
    return echoes;
}

}  // namespace unecho::filter
