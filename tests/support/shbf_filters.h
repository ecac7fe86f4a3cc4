// SPDX-License-Identifier: BSD-3-Clause
// A shifting Bloom filter under test with its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "filter/shbf_a.h"
#include "filter/shbf_m.h"
#include "filter/shbf_x.h"
#include "support/filter_memory.h"

namespace unecho::test {

template <typename F, typename P, typename Spec>
struct Shifting {
    explicit Shifting(const Spec& spec)
        : params(*P::make(spec)), memory(F::bytes(params)), filter(params, memory.span()) {}

    [[nodiscard]] bool all_zero() const {
        const auto bytes = memory.span();
        return std::all_of(bytes.begin(), bytes.end(),
                           [](std::byte byte) { return byte == std::byte{0}; });
    }
    [[nodiscard]] unsigned set_bits() const {
        unsigned bits = 0;
        for (const std::byte byte : memory.span()) {
            bits += static_cast<unsigned>(__builtin_popcount(std::to_integer<unsigned>(byte)));
        }
        return bits;
    }

    P params;
    FilterMemory memory;
    F filter;
};

using Membership = Shifting<filter::ShbfM, filter::ShbfMParams, filter::ShbfMSpec>;
using CountingMembership = Shifting<filter::CShbfM, filter::CShbfMParams, filter::CShbfMSpec>;
using AssociationFilter = Shifting<filter::ShbfA, filter::ShbfAParams, filter::ShbfASpec>;
using CountingAssociation = Shifting<filter::CShbfA, filter::ShbfAParams, filter::ShbfASpec>;
using Multiplicity = Shifting<filter::ShbfX, filter::ShbfXParams, filter::ShbfXSpec>;
using CountingMultiplicity = Shifting<filter::CShbfX, filter::ShbfXParams, filter::ShbfXSpec>;

// "valid" or what is wrong.
template <typename P, typename Spec>
std::string message(const Spec& spec) {
    const auto params = P::make(spec);
    return params ? "valid" : params.error().context;
}

}  // namespace unecho::test
