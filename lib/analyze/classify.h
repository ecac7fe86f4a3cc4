// SPDX-License-Identifier: BSD-3-Clause
// Why an echo is not its original (packet/cause.h), in the words of the report.
#pragma once

#include "analyze/report.h"
#include "packet/cause.h"

namespace unecho::analyze {

using packet::air_mark;
using packet::cause_of;
using packet::Differences;
using packet::differences_of;
using packet::has;
using packet::Origin;
using packet::Outside;
static_assert(kDifferences <= 8 * sizeof(Differences));

}  // namespace unecho::analyze
