// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_window.h"

#include "base/prefetch.h"

namespace unecho::filter {

// Prefetch the windows that an insertion writes, and the first window of each further segment that
// a new digest queries, as Apbf::prefetch().
void ShbfWindow::prefetch(Digest digest) const noexcept {
    if (bytes(params_) <= kMaxInL2) {
        return;
    }
    const unsigned k = params_.k();
    for (unsigned slot = 0; slot < k; ++slot) {
        shape_.prefetch(ring_.segment(slot), params_.m(), hash_of(digest, slot));
    }
    const auto first_window = [&](unsigned slot) noexcept {
        if (const std::byte* const segment = ring_.segment(slot); segment != nullptr) {
            prefetch_bits(segment, first_bit_of(hash_of(digest, slot), 0, params_.m()));
        }
    };
    first_window(k);
    for (unsigned slot = params_.l(); slot > k; slot -= k) {
        first_window(slot);
    }
}

std::uint64_t ShbfWindow::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

Answers ShbfWindow::test_and_insert_burst(std::span<const Digest> digests,
                                          ChanceLimits limits) noexcept {
    return test_in_order(*this, digests, limits);
}

}  // namespace unecho::filter
