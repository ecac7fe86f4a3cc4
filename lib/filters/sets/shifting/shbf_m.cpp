// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_m.h"

#include <bit>

#include "base/ids.h"

namespace unecho::filter {

std::uint64_t ShbfM::query_burst(std::span<const Digest> digests) const noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        prefetch(digest);
    }
    std::uint64_t matches = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        matches |= std::uint64_t{query(digests[i])} << i;
    }
    return matches;
}

void ShbfM::clear() noexcept {
    std::memset(array_, 0, bytes(params_));
}

template <typename Function>
void CShbfM::for_each_counter(Digest digest, Function function) const noexcept {
    const std::uint64_t pattern = shape_.pattern(digest);
    for (unsigned group = 0; group < shape_.groups(); ++group) {
        const std::uint64_t first = first_bit_of(digest, group, params_.m());
        for (std::uint64_t rest = pattern; rest != 0; rest &= rest - 1) {
            function(first + static_cast<unsigned>(std::countr_zero(rest)));
        }
    }
}

void CShbfM::prefetch(Digest digest) const noexcept {
    for (unsigned group = 0; group < shape_.groups(); ++group) {
        prefetch_bits(array_, first_bit_of(digest, group, params_.m()) * params_.z());
    }
}

// One load reads a group, because all of its counters lie in w_bar z <= 57 bits.
bool CShbfM::query(Digest digest) const noexcept {
    const unsigned z = params_.z();
    const std::uint64_t counter = (std::uint64_t{1} << z) - 1;
    const std::uint64_t pattern = shape_.pattern(digest);
    for (unsigned group = 0; group < shape_.groups(); ++group) {
        const std::uint64_t counters =
            load_bits(array_, first_bit_of(digest, group, params_.m()) * z);
        for (std::uint64_t rest = pattern; rest != 0; rest &= rest - 1) {
            const unsigned offset = static_cast<unsigned>(std::countr_zero(rest));
            if ((counters >> (offset * z) & counter) == 0) {
                return false;
            }
        }
    }
    return true;
}

void CShbfM::insert(Digest digest) noexcept {
    for_each_counter(digest, [this](std::uint64_t index) noexcept { counters_.add(index); });
}

bool CShbfM::erase(Digest digest) noexcept {
    if (!query(digest)) {
        return false;
    }
    for_each_counter(digest, [this](std::uint64_t index) noexcept { counters_.remove(index); });
    return true;
}

void CShbfM::clear() noexcept {
    std::memset(array_, 0, bytes(params_));
}

}  // namespace unecho::filter
