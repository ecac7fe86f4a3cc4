// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "filters/sets/shifting/shbf_check.h"
#include "filters/sets/shifting/shbf_m.h"
#include "filters/window/params_check.h"
#include "filters/window/segmented/shbf_match.h"
#include "filters/window/segmented/shbf_window.h"

namespace unecho::filter {

Result<ShbfWindowParams> ShbfWindowParams::make(const ShbfWindowSpec& spec) {
    const std::string_view name = "shbf_window";
    if (const Status status = first_failed(check_m(name, "bits", spec.m),
                                           check_range(name, "t", spec.t, 1, kMaxShifts),
                                           check_groups(name, spec.b, spec.t, "b"));
        !status) {
        return tl::unexpected(status.error());
    }
    ShbfWindowParams params(spec);
    UNECHO_TRY(check_ring(name, params.ring()));
    const ShbfMatch match(spec.m, spec.b, spec.t);
    params.matches_ = MatchTable::make(match.half(), spec.k, match);
    return params;
}

}  // namespace unecho::filter
