// SPDX-License-Identifier: BSD-3-Clause
// A filter under test with its parameters and memory, made from a valid spec.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "support/filter_memory.h"

namespace unecho::test {

template <typename F>
using ParamsOf = std::remove_cvref_t<decltype(std::declval<const F&>().params())>;

// The spec type that P::make() takes.
template <typename Result, typename Spec>
Spec spec_of(Result (*make)(const Spec&));

template <typename P>
using SpecOf = decltype(spec_of(&P::make));

template <typename F, typename P = ParamsOf<F>>
struct FilterInstance {
    explicit FilterInstance(const SpecOf<P>& spec) : FilterInstance(*P::make(spec)) {}
    explicit FilterInstance(const P& made)
        : params(made), memory(F::bytes(params)), filter(params, memory.span()) {}

    P params;
    FilterMemory memory;
    F filter;
};

// Return "valid", or the error that P::make() returns for the spec.
template <typename P, typename Spec>
std::string message(const Spec& spec) {
    const auto params = P::make(spec);
    return params ? "valid" : params.error().context;
}

}  // namespace unecho::test
