// SPDX-License-Identifier: BSD-3-Clause
// A burst announced to a filter before it is tested, so that its cache lines arrive while the
// worker does something else. line and fingerprint accept such bursts.
#pragma once

#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/line_kernel.h"

namespace unecho::filter {

struct PreparedBurst {
    union {  // written by the filter that prepared the burst
        LinePlaces line;
        FingerprintPlaces fingerprint;
    };
    unsigned count = 0;
    unsigned requested = 0;  // digests, from the first on, whose lines were prefetched

    PreparedBurst() noexcept {}  // leaves the union uninitialised: prepare() fills it
};

}  // namespace unecho::filter
