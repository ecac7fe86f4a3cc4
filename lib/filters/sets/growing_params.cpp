// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/sets/growing.h"

namespace unecho::filter {

Result<GrowingParams> GrowingParams::make(const GrowingSpec& spec) {
    const auto refuse = [](const std::string& what) {
        return fail(Errc::kInvalidArgument, "growing: " + what);
    };
    if (spec.k < 1 || spec.k > kMaxSlicedHashes) {
        return refuse("k = " + std::to_string(spec.k) + "; allowed: 1 to 64");
    }
    if (spec.filters < 1 || spec.filters > kMaxGrownFilters) {
        return refuse("filters = " + std::to_string(spec.filters) + "; allowed: 1 to 4096");
    }
    if (spec.m < 2 || spec.m / 8 > kMaxFilterBytes ||
        bytes_for_bits(spec.m) > kMaxFilterBytes / spec.filters) {
        return refuse("m = " + std::to_string(spec.m) + " bits in each of " +
                      std::to_string(spec.filters) + " filters; allowed: 2 to 2^49 in all");
    }
    if (spec.limit < 1) {
        return refuse("limit = 0; allowed: 1 or more");
    }
    if (spec.by == GrowBy::kDensity && spec.limit >= spec.m) {
        return refuse("limit = " + std::to_string(spec.limit) +
                      " set bits; allowed: less than m = " + std::to_string(spec.m));
    }
    return GrowingParams(spec);
}

}  // namespace unecho::filter
