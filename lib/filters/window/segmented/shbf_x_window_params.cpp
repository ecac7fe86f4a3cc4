// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "filters/sets/shifting/shbf_check.h"
#include "filters/sets/shifting/shbf_m.h"
#include "filters/window/params_check.h"
#include "filters/window/segmented/shbf_x_window.h"

namespace unecho::filter {

Result<ShbfXWindowParams> ShbfXWindowParams::make(const ShbfXWindowSpec& spec) {
    const std::string_view name = "shbf_x_window";
    if (const Status status = first_failed(check_m(name, "bits", spec.m),
                                           check_range(name, "k", spec.k, 1, kMaxShbfBits),
                                           check_range(name, "c", spec.c, 1, kMaxMultiplicity));
        !status) {
        return tl::unexpected(status.error());
    }
    const ShbfXWindowParams params(spec);
    UNECHO_TRY(check_ring(name, params.ring()));
    return params;
}

}  // namespace unecho::filter
