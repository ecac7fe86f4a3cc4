// SPDX-License-Identifier: BSD-3-Clause
// Limits that configurations state, and filters, sizing and EAL each for itself, as none of them
// may see another: what a configuration may say the others can, and where they end it ends.
#include "appliance/eal/lcores.h"
#include "config/schema.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/line.h"
#include "filters/window/block.h"
#include "filters/window/line.h"
#include "filters/window/segment_ring.h"

namespace unecho::control {

static_assert(config::kLines.hi == sizing::kMaxLines);
static_assert(config::kLinesPerKey.hi == sizing::kMaxLinesOfKey);
static_assert(config::kBitsPerKey.hi == sizing::kMaxBitsOfKey);
static_assert(config::kBitsPerKey.hi == filter::kMaxBitsOfKey);
static_assert(config::kMostSegments == filter::kMaxSlots);
static_assert(config::kMemory.hi == sizing::kMaxBytes);
static_assert(config::kWindow.hi <= sizing::kMaxWindow);
static_assert(config::kRate.hi <= sizing::kMaxRate);
static_assert(config::kLcore.hi == eal::kMaxLcore);

}  // namespace unecho::control
