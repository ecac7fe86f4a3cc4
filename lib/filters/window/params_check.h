// SPDX-License-Identifier: BSD-3-Clause
// Cold: what the parameters of all segmented filters have in common.
#pragma once

#include <string_view>

#include "base/result.h"
#include "filters/window/segment_ring.h"

namespace unecho::filter {

// k, l, spares and the memory of all segments; messages begin with the filter's name.
Status check_ring(std::string_view filter, const RingGeometry& ring);

}  // namespace unecho::filter
