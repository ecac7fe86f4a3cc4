// SPDX-License-Identifier: BSD-3-Clause
#include "filter/apbbf.h"

namespace unecho::filter {

// The blocks that a query looks at first, and those that are written: slots l, l - k, l - 2k, ...
// are all that a new digest asks; an echo younger than a generation lies in slots 0..k-1, and its
// query asks slot k on the way. Leaving slot k out saves a new digest 3 ns out of cache and costs
// an echo about 100.
void Apbbf::prefetch(Digest digest) const noexcept {
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        __builtin_prefetch(block_of(ring_.segment(slot), hash_of(digest, slot)), 1);
    }
    prefetch_slot(digest, k);
    for (unsigned slot = params_.l(); slot > k; slot -= k) {
        prefetch_slot(digest, slot);
    }
}

void Apbbf::prefetch_slot(Digest digest, unsigned slot) const noexcept {
    if (std::byte* const segment = ring_.segment(slot); segment != nullptr) {
        __builtin_prefetch(block_of(segment, hash_of(digest, slot)), 0);
    }
}

bool Apbbf::query(Digest digest) const noexcept {
    return with_shape([&](const auto& shape) noexcept { return query_shaped(shape, digest); });
}

void Apbbf::insert(Digest digest) noexcept {
    with_shape([&](const auto& shape) noexcept { insert_shaped(shape, digest); });
}

bool Apbbf::test_and_insert(Digest digest) noexcept {
    return with_shape(
        [&](const auto& shape) noexcept { return test_and_insert_shaped(shape, digest); });
}

std::uint64_t Apbbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        prefetch(digest);
    }
    return with_shape([&](const auto& shape) noexcept {
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            echoes |= std::uint64_t{test_and_insert_shaped(shape, digests[i])} << i;
        }
        return echoes;
    });
}

}  // namespace unecho::filter
