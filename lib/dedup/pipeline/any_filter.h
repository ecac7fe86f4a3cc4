// SPDX-License-Identifier: BSD-3-Clause
// The filters of all engines. Hot code instantiates its functions for each of them (engine_ops.h).
// dedup/engines/engine.h has the other properties of an engine.
#pragma once

#include <variant>

#include "filters/window/bucket.h"
#include "filters/window/exact.h"
#include "filters/window/fingerprint.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/btbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "filters/window/segmented/shbf_x_window.h"
#include "filters/window/segmented/tlbf.h"

namespace unecho::pipeline {

// In the order of enum engines::Engine, without "auto".
using AnyFilter = std::variant<filter::LineFilter, filter::FingerprintFilter, filter::Apbbf,
                               filter::Apbf, filter::Tlbf, filter::TimedBtbf, filter::ShbfWindow,
                               filter::ShbfXWindow, filter::Exact, filter::Bucket>;

}  // namespace unecho::pipeline
