// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/window/exact.h"

namespace unecho::filter {

Result<ExactParams> ExactParams::make(const ExactSpec& spec) {
    if (spec.entries < 1 || spec.entries > kMaxExactEntries) {
        return fail(Errc::kInvalidArgument, "exact: entries = " + std::to_string(spec.entries) +
                                                "; allowed: 1 to " +
                                                std::to_string(kMaxExactEntries));
    }
    if (spec.window < 1) {
        return fail(Errc::kInvalidArgument, "exact: window = 0; allowed: 1 ns or more");
    }
    return ExactParams(spec);
}

}  // namespace unecho::filter
