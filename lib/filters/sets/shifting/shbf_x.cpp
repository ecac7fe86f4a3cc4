// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_x.h"

#include <bit>

#include "filters/bits.h"

namespace unecho::filter {

void ShbfX::prefetch(Digest digest) const noexcept {
    for (unsigned i = 0; i < params_.k(); ++i) {
        prefetch_bits(array_, first_bit_of(digest, i, params_.m()));
    }
}

std::uint64_t ShbfX::candidates(Digest digest) const noexcept {
    std::uint64_t found = (std::uint64_t{1} << params_.c()) - 1;
    for (unsigned i = 0; i < params_.k() && found != 0; ++i) {
        found &= load_bits(array_, first_bit_of(digest, i, params_.m()));
    }
    return found;
}

unsigned ShbfX::query(Digest digest) const noexcept {
    return static_cast<unsigned>(std::bit_width(candidates(digest)));
}

void ShbfX::insert(Digest digest, unsigned j) noexcept {
    UNECHO_ASSERT(j >= 1 && j <= params_.c());
    for (unsigned i = 0; i < params_.k(); ++i) {
        set_bit(array_, first_bit_of(digest, i, params_.m()) + j - 1);
    }
}

void ShbfX::clear() noexcept {
    std::memset(array_, 0, bytes(params_));
}

void CShbfX::insert_trusting(Digest digest) noexcept {
    const unsigned before = query(digest);
    move(digest, before, capped(before + 1));
}

void CShbfX::erase_trusting(Digest digest) noexcept {
    const unsigned before = query(digest);
    move(digest, before, before - std::min(before, 1U));
}

void CShbfX::move(Digest digest, unsigned from, unsigned to) noexcept {
    if (from == to) {
        return;
    }
    for (unsigned i = 0; i < params().k(); ++i) {
        const std::uint64_t position = first_bit_of(digest, i, params().m());
        if (to != 0) {
            counted_.add(position + to - 1);
        }
        if (from != 0) {
            counted_.remove(position + from - 1);
        }
    }
}

void CShbfX::clear() noexcept {
    std::memset(memory_.data(), 0, memory_.size());
}

}  // namespace unecho::filter
