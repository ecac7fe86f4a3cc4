// SPDX-License-Identifier: BSD-3-Clause
// A burst that a filter is told of before it tests it, so that memory brings its lines while
// something else is done. Only the line filter takes such bursts.
#pragma once

#include "filter/kernels/line_kernel.h"

namespace unecho::filter {

struct PreparedBurst {
    LinePlaces places;
    unsigned count = 0;      // digests
    unsigned requested = 0;  // the first so many, whose lines memory was asked for
};

}  // namespace unecho::filter
