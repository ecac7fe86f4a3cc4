// SPDX-License-Identifier: BSD-3-Clause
// A filter under test with its parameters and its memory, made from a spec that is valid.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "support/filter_memory.h"

namespace unecho::test {

template <typename F>
using ParamsOf = std::remove_cvref_t<decltype(std::declval<const F&>().params())>;

// What P::make() takes.
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

// "valid", or what is wrong.
template <typename P, typename Spec>
std::string message(const Spec& spec) {
    const auto params = P::make(spec);
    return params ? "valid" : params.error().context;
}

}  // namespace unecho::test
