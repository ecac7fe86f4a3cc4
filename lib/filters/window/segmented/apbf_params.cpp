// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/window/params_check.h"
#include "filters/window/segmented/apbf.h"

namespace unecho::filter {

Result<ApbfParams> ApbfParams::make(const ApbfSpec& spec) {
    if (spec.m < kMinSliceBits || spec.m / 8 > kMaxFilterBytes) {
        return fail(Errc::kInvalidArgument,
                    "apbf: m = " + std::to_string(spec.m) + " bits; allowed: 64 to 2^49");
    }
    ApbfParams params(spec);
    UNECHO_TRY(check_ring("apbf", params.ring()));
    params.matches_ = MatchTable::of_bits(spec.m, spec.k);
    return params;
}

}  // namespace unecho::filter
