// SPDX-License-Identifier: BSD-3-Clause
// A baseline with its memory, for tests.
#pragma once

#include <string>

#include "filter/baseline/spec.h"
#include "support/filter_memory.h"

namespace unecho::test {

template <typename Filter, typename Params>
struct BaselineInstance {
    template <typename Spec>
    explicit BaselineInstance(const Spec& spec)
        : params(*Params::make(spec)),
          memory(Filter::bytes(params)),
          filter(params, memory.span()) {}

    Params params;
    FilterMemory memory;
    Filter filter;
};

// "valid", or what is wrong.
template <typename Params, typename Spec>
std::string message(const Spec& spec) {
    const auto params = Params::make(spec);
    return params ? "valid" : params.error().context;
}

}  // namespace unecho::test
