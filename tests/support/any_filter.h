// SPDX-License-Identifier: BSD-3-Clause
// Finds the engine of a filter type.
#pragma once

#include <cstddef>
#include <type_traits>
#include <variant>

#include "dedup/pipeline/any_filter.h"
#include "dedup/pipeline/engine_ops.h"

namespace unecho::test {

template <typename Filter, typename... Filters>
constexpr std::size_t place_of(std::type_identity<std::variant<Filters...>> /*filters*/) {
    std::size_t place = 0;
    static_cast<void>(((std::is_same_v<Filter, Filters> || (++place, false)) || ...));
    return place;
}

// Return the place of a filter type in AnyFilter.
template <typename Filter>
inline constexpr std::size_t kPlaceOf = place_of<Filter>(std::type_identity<pipeline::AnyFilter>{});

template <typename Filter>
const pipeline::EngineOps& ops_for() {
    return pipeline::ops_at(kPlaceOf<Filter>);
}

}  // namespace unecho::test
