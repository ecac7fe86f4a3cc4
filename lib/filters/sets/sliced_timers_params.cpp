// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/sets/sliced_timers.h"
#include "filters/sets/slices_check.h"

namespace unecho::filter {

Result<SlicedTimersParams> SlicedTimersParams::make(const SlicedTimersSpec& spec) {
    if (const Status geometry = check_slices("sliced timers", spec.geometry, 8 * sizeof(Timer));
        !geometry) {
        return tl::unexpected(geometry.error());
    }
    if (spec.w < 1 || spec.w >= kTimerCycle) {
        return fail(Errc::kInvalidArgument,
                    "sliced timers: w = " + std::to_string(spec.w) + " ticks; allowed: 1 to 65534");
    }
    if (spec.x < 1 || spec.x > spec.geometry.k) {
        return fail(Errc::kInvalidArgument,
                    "sliced timers: x = " + std::to_string(spec.x) +
                        " equal timers; allowed: 1 to k = " + std::to_string(spec.geometry.k));
    }
    if (const Status failed =
            check_failed_cells("sliced timers", spec.failed, spec.geometry.k, spec.live);
        !failed) {
        return tl::unexpected(failed.error());
    }
    return SlicedTimersParams(spec);
}

}  // namespace unecho::filter
