// SPDX-License-Identifier: BSD-3-Clause
// Cold: what the parameters of all sliced filters have in common.
#pragma once

#include <string_view>

#include "base/result.h"
#include "filters/sets/slices.h"

namespace unecho::filter {

// Cells of so many bits each; messages begin with the filter's name.
Status check_slices(std::string_view filter, const SliceGeometry& geometry, unsigned cell_bits);
// `least`, the cells that must be reached, belongs to kAtLeast alone.
Status check_failed_cells(std::string_view filter, FailedCells failed, unsigned k, unsigned least);

}  // namespace unecho::filter
