// SPDX-License-Identifier: BSD-3-Clause
// Checks that the parameters of all segmented filters share. Cold.
#pragma once

#include <string_view>

#include "base/result.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::filter {

// Check k, l, spares and the memory of all segments. Messages begin with the filter's name.
Status check_ring(std::string_view filter, const RingGeometry& ring);

}  // namespace unecho::filter
