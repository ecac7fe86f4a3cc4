// SPDX-License-Identifier: BSD-3-Clause
// A burst that a filter is told of before it tests it, so that memory brings its lines while
// something else is done. The filters of lines take such bursts, line and fingerprint.
#pragma once

#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/line_kernel.h"

namespace unecho::filter {

struct PreparedBurst {
    union {  // of the filter that it was prepared by
        LinePlaces line;
        FingerprintPlaces fingerprint;
    };
    unsigned count = 0;      // digests
    unsigned requested = 0;  // the first so many, whose lines memory was asked for

    PreparedBurst() noexcept {}  // places are found, not made
};

}  // namespace unecho::filter
