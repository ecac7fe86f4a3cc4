// SPDX-License-Identifier: BSD-3-Clause
// The counting form, kept apart because the tap report on the packet path needs only the bits.
#include "filters/sets/shifting/shbf_a.h"

namespace unecho::filter {

Region CShbfA::insert(Digest digest, SetOfTwo set, Region region) noexcept {
    const Region now = joined(region, set);
    move(digest, region, now);
    return now;
}

Region CShbfA::erase(Digest digest, SetOfTwo set, Region region) noexcept {
    const Region now = left(region, set);
    move(digest, region, now);
    return now;
}

void CShbfA::move(Digest digest, Region from, Region to) noexcept {
    if (from == to) {
        return;
    }
    const std::uint64_t m = params().m();
    const ShbfA::Offsets offsets(digest, params().w_bar());
    for (unsigned i = 0; i < params().k(); ++i) {
        const std::uint64_t position = first_bit_of(digest, i, m);
        if (to != Region::kNone) {
            counted_.add(position + offsets.of(to));
        }
        if (from != Region::kNone) {
            counted_.remove(position + offsets.of(from));
        }
    }
}

void CShbfA::clear() noexcept {
    std::memset(memory_.data(), 0, memory_.size());
}

}  // namespace unecho::filter
