// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include "filters/window/reference_table.h"

namespace unecho::filter {

Result<ReferenceParams> ReferenceParams::make(const ReferenceSpec& spec) {
    if (spec.entries < 1 || spec.entries > kMaxExactEntries) {
        return fail(Errc::kInvalidArgument,
                    "exact with references: entries = " + std::to_string(spec.entries) +
                        "; allowed: 1 to " + std::to_string(kMaxExactEntries));
    }
    if (spec.window < 1) {
        return fail(Errc::kInvalidArgument,
                    "exact with references: window = 0; allowed: 1 ns or more");
    }
    if (spec.count < 1) {
        return fail(Errc::kInvalidArgument,
                    "exact with references: count = 0; allowed: 1 or more packets");
    }
    return ReferenceParams(spec);
}

// Bisection works because bytes() rises with the entries.
std::uint64_t ReferenceParams::entries_in(std::uint64_t bytes) noexcept {
    std::uint64_t fits = 0;
    for (std::uint64_t step = kMaxExactEntries; step != 0; step /= 2) {
        const std::uint64_t tried = fits + step;
        if (tried <= kMaxExactEntries &&
            ReferenceTable::bytes(ReferenceParams({.entries = tried})) <= bytes) {
            fits = tried;
        }
    }
    return fits;
}

}  // namespace unecho::filter
