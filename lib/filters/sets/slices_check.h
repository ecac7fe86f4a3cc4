// SPDX-License-Identifier: BSD-3-Clause
// Checks of parameters that all sliced filters share. Cold code.
#pragma once

#include <string_view>

#include "base/result.h"
#include "filters/sets/slices.h"

namespace unecho::filter {

// cell_bits: bits of a cell. Messages begin with the filter's name.
Status check_slices(std::string_view filter, const SliceGeometry& geometry, unsigned cell_bits);
// `least`: number of cells that must be reached, for kAtLeast only.
Status check_failed_cells(std::string_view filter, FailedCells failed, unsigned k, unsigned least);

}  // namespace unecho::filter
