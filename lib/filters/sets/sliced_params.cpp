// SPDX-License-Identifier: BSD-3-Clause
#include "filters/sets/sliced.h"
#include "filters/sets/slices_check.h"

namespace unecho::filter {

Result<SlicedParams> SlicedParams::make(const SlicedSpec& spec) {
    UNECHO_TRY(check_slices("sliced", spec.geometry, 1));
    if (const Status failed = check_failed_cells("sliced", spec.failed, spec.geometry.k, spec.x);
        !failed) {
        return tl::unexpected(failed.error());
    }
    return SlicedParams(spec);
}

}  // namespace unecho::filter
