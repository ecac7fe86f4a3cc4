// SPDX-License-Identifier: BSD-3-Clause
// config, filters, sizing and eal each state limits of their own, because none may include another.
// Check that whatever a configuration allows, the others can do.
#include "appliance/eal/lcores.h"
#include "config/schema.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/line.h"
#include "filters/window/block.h"
#include "filters/window/line.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::appliance {

static_assert(config::kLines.hi == sizing::kMaxLines);
static_assert(config::kLinesPerKey.hi == sizing::kMaxLinesOfKey);
static_assert(config::kBitsPerKey.hi == sizing::kMaxBitsOfKey);
static_assert(config::kBitsPerKey.hi == filter::kMaxBitsOfKey);
static_assert(config::kMostSegments == filter::kMaxSlots);
static_assert(config::kMemory.hi == sizing::kMaxBytes);
static_assert(config::kWindow.hi <= sizing::kMaxWindow);
static_assert(config::kRate.hi <= sizing::kMaxRate);
static_assert(config::kLcore.hi == eal::kMaxLcore);

}  // namespace unecho::appliance
