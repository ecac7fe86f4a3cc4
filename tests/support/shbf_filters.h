// SPDX-License-Identifier: BSD-3-Clause
// A shifting Bloom filter under test with its memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "filters/sets/shifting/shbf_a.h"
#include "filters/sets/shifting/shbf_m.h"
#include "filters/sets/shifting/shbf_x.h"
#include "support/instance.h"

namespace unecho::test {

template <typename F, typename P>
struct Shifting : FilterInstance<F, P> {
    using FilterInstance<F, P>::FilterInstance;
    using FilterInstance<F, P>::memory;

    [[nodiscard]] bool all_zero() const {
        const auto bytes = memory.span();
        return std::all_of(bytes.begin(), bytes.end(),
                           [](std::byte byte) { return byte == std::byte{0}; });
    }
    // Count the set bits without the ring's state, which follows the segments.
    [[nodiscard]] unsigned set_bits() const {
        auto bytes = memory.span();
        if constexpr (requires(const P& params) { params.ring(); }) {
            const auto ring = this->params.ring();
            bytes = bytes.first(ring.segments() * ring.segment_bytes);
        }
        unsigned bits = 0;
        for (const std::byte byte : bytes) {
            bits += static_cast<unsigned>(__builtin_popcount(std::to_integer<unsigned>(byte)));
        }
        return bits;
    }
};

using Membership = Shifting<filter::ShbfM, filter::ShbfMParams>;
using CountingMembership = Shifting<filter::CShbfM, filter::CShbfMParams>;
using AssociationFilter = Shifting<filter::ShbfA, filter::ShbfAParams>;
using CountingAssociation = Shifting<filter::CShbfA, filter::ShbfAParams>;
using Multiplicity = Shifting<filter::ShbfX, filter::ShbfXParams>;
using CountingMultiplicity = Shifting<filter::CShbfX, filter::ShbfXParams>;

}  // namespace unecho::test
