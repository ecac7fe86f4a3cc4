// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/apbf.h"

#include "base/prefetch.h"

namespace unecho::filter {

// Prefetch the written slices and those that a query reads first. A new digest that mismatches each
// time queries slots l, l - k, l - 2k, ... An echo younger than a generation is in slots 0..k-1,
// and its query reads slot k on the way.
void Apbf::prefetch(Digest digest) const noexcept {
    const Hash hash(digest);
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        prefetch_line_for_write(ring_.segment(slot) + bit_of(hash, slot) / 8);
    }
    prefetch_slot(hash, k);
    for (unsigned slot = params_.l(); slot > k; slot -= k) {
        prefetch_slot(hash, slot);
    }
}

void Apbf::prefetch_slot(const Hash& hash, unsigned slot) const noexcept {
    if (const std::byte* const segment = ring_.segment(slot); segment != nullptr) {
        prefetch_line(segment + bit_of(hash, slot) / 8);
    }
}

std::uint64_t Apbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

Answers Apbf::test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept {
    return test_in_order(*this, digests, limits);
}

}  // namespace unecho::filter
