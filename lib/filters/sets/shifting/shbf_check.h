// SPDX-License-Identifier: BSD-3-Clause
// Checks of the parameters of shifting Bloom filters, one for each value. Cold code.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace unecho::filter {

Status check_range(std::string_view filter, std::string_view name, unsigned value, unsigned low,
                   unsigned high);

// m: bits or counters; counters have at most 16 bits.
Status check_m(std::string_view filter, std::string_view unit, std::uint64_t m);

// k: bits of an element, in whole groups of t + 1.
Status check_groups(std::string_view filter, unsigned k, unsigned t, std::string_view name = "k");

// Return the first failure among several checks.
template <typename... Checks>
Status first_failed(Status status, const Checks&... further) {
    ((status ? void(status = further) : void()), ...);
    return status;
}

}  // namespace unecho::filter
