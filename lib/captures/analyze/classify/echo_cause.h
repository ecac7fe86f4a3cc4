// SPDX-License-Identifier: BSD-3-Clause
// Why an echo is not its original (packets/keys/cause.h), in the words of the report.
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
