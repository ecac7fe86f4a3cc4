// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/shifting/shbf_a.h"

#include "filters/bits.h"

namespace unecho::filter {

Region joined(Region region, SetOfTwo set) noexcept {
    const Region alone = set == SetOfTwo::kFirst ? Region::kFirstOnly : Region::kSecondOnly;
    return region == Region::kNone || region == alone ? alone : Region::kBoth;
}

Region left(Region region, SetOfTwo set) noexcept {
    const Region other = set == SetOfTwo::kFirst ? Region::kSecondOnly : Region::kFirstOnly;
    return region == Region::kBoth || region == other ? other : Region::kNone;
}

ShbfA::Offsets::Offsets(Digest digest, unsigned w_bar) noexcept {
    const unsigned range = (w_bar - 1) / 2;
    OffsetDigits digits(digest);
    both = 1 + digits.next(range);
    second = both + 1 + digits.next(range);
}

unsigned ShbfA::Offsets::of(Region region) const noexcept {
    if (region == Region::kFirstOnly) {
        return 0;
    }
    return region == Region::kBoth ? both : second;
}

void ShbfA::prefetch(Digest digest) const noexcept {
    for (unsigned i = 0; i < params_.k(); ++i) {
        prefetch_bits(array_, first_bit_of(digest, i, params_.m()));
    }
}

Association ShbfA::query(Digest digest) const noexcept {
    const Offsets offsets(digest, params_.w_bar());
    const std::uint64_t asked =
        1 | std::uint64_t{1} << offsets.both | std::uint64_t{1} << offsets.second;
    std::uint64_t found = asked;
    for (unsigned i = 0; i < params_.k() && found != 0; ++i) {
        found &= load_bits(array_, first_bit_of(digest, i, params_.m()));
    }
    return static_cast<Association>((found & 1) | (found >> offsets.both & 1) << 1 |
                                    (found >> offsets.second & 1) << 2);
}

void ShbfA::insert(Digest digest, Region region) noexcept {
    const unsigned offset = Offsets(digest, params_.w_bar()).of(region);
    for (unsigned i = 0; i < params_.k(); ++i) {
        set_bit(array_, first_bit_of(digest, i, params_.m()) + offset);
    }
}

void ShbfA::clear() noexcept {
    std::memset(array_, 0, bytes(params_));
}

}  // namespace unecho::filter
