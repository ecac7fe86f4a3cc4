// SPDX-License-Identifier: BSD-3-Clause
// Limits that configurations state, and filters, sizing and EAL each for itself, as none of them
// may see another: what a configuration may say the others can, and where they end it ends.
#include "config/schema.h"
#include "eal/lcores.h"
#include "filter/window/block.h"
#include "filter/window/line.h"
#include "filter/window/segment_ring.h"
#include "sizing/sizing.h"
#include "sizing/window/line.h"

namespace unecho::control {

static_assert(config::kLines.hi == sizing::kMaxLines);
static_assert(config::kLinesPerKey.hi == sizing::kMostLinesOfKey);
static_assert(config::kBitsPerKey.hi == sizing::kMostBitsOfKey);
static_assert(config::kBitsPerKey.hi == filter::kMostBitsOfKey);
static_assert(config::kMostSegments == filter::kMaxSlots);
static_assert(config::kMemory.hi == sizing::kMaxBytes);
static_assert(config::kWindow.hi <= sizing::kMaxWindow);
static_assert(config::kRate.hi <= sizing::kMaxRate);
static_assert(config::kLcore.hi == eal::kMaxLcore);

}  // namespace unecho::control
