// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/growing.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "filters/bits.h"

namespace unecho::filter {

GrowingFilter::GrowingFilter(const GrowingParams& params, std::span<std::byte> memory) noexcept
    : params_(params), memory_(memory) {
    UNECHO_ASSERT(memory.size() >= bytes(params) && line_aligned(memory));
}

GrowingFilter::Bits::Bits(const GrowingFilter& filter, Digest digest) noexcept {
    for (unsigned i = 0; i < filter.params_.k(); ++i) {
        bits[i] = reduce(remix(digest, i + 1), filter.params_.m());
    }
}

bool GrowingFilter::matches(const Bits& bits) const noexcept {
    const std::span positions(bits.bits.data(), params_.k());
    for (unsigned index = used_; index-- > 0;) {
        const std::byte* const memory = filter(index);
        if (std::all_of(positions.begin(), positions.end(),
                        [=](std::uint64_t bit) noexcept { return test_bit(memory, bit); })) {
            return true;
        }
    }
    return false;
}

void GrowingFilter::write(const Bits& bits) noexcept {
    if (full()) {
        if (used_ < params_.filters()) {
            ++used_;
            insertions_ = 0;
            set_bits_ = 0;
        } else {
            ++counters_.overfull;
        }
    }
    std::byte* const memory = filter(used_ - 1);
    for (unsigned i = 0; i < params_.k(); ++i) {
        set_bits_ += set_bit(memory, bits.bits[i]) ? 1 : 0;
    }
    ++insertions_;
    ++counters_.insertions;
}

bool GrowingFilter::test_and_insert(Digest digest) noexcept {
    const Bits bits(*this, digest);
    const bool echo = matches(bits);
    if (!echo) {
        write(bits);
    }
    return echo;
}

void GrowingFilter::clear() noexcept {
    std::memset(memory_.data(), 0, used_ * bytes_for_bits(params_.m()));
    used_ = 1;
    insertions_ = 0;
    set_bits_ = 0;
}

}  // namespace unecho::filter
