// SPDX-License-Identifier: BSD-3-Clause
// How an echo differs from its original, and why (packets/keys/cause.h), in the report's terms.
#pragma once

#include "captures/analyze/report/report.h"
#include "packets/keys/cause.h"

namespace unecho::analyze {

using packet::air_mark;
using packet::cause_of;
using packet::Differences;
using packet::differences_of;
using packet::FrameTraits;
using packet::has;
using packet::TunnelTraits;
static_assert(kDifferences <= 8 * sizeof(Differences));

}  // namespace unecho::analyze
