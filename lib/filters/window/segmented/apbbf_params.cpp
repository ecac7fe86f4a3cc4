// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <string>

#include "filters/window/block_match.h"
#include "filters/window/params_check.h"
#include "filters/window/segmented/apbbf.h"

namespace unecho::filter {

using std::to_string;

Result<ApbbfParams> ApbbfParams::make(const ApbbfSpec& spec) {
    if (spec.B != 64 && spec.B != 128 && spec.B != 256 && spec.B != 512) {
        return fail(Errc::kInvalidArgument,
                    "apbbf: B = " + to_string(spec.B) + "; allowed: 64, 128, 256, 512");
    }
    const unsigned most = std::min(kMaxBitsOfKey, spec.B / 4);
    if (spec.b < 1 || spec.b > most) {
        return fail(Errc::kInvalidArgument, "apbbf: b = " + to_string(spec.b) +
                                                "; allowed with B = " + to_string(spec.B) +
                                                ": 1 to " + to_string(most));
    }
    const std::uint64_t most_blocks = kMaxFilterBytes / (spec.B / 8);
    if (spec.blocks < 1 || spec.blocks > most_blocks) {
        return fail(Errc::kInvalidArgument, "apbbf: blocks = " + to_string(spec.blocks) +
                                                "; allowed: 1 to " + to_string(most_blocks));
    }
    if (!available(spec.isa)) {
        return fail(Errc::kInvalidArgument,
                    "apbbf: isa = " + std::string(name_of(spec.isa)) +
                        "; this processor does not have it; allowed here: scalar to " +
                        std::string(name_of(best_isa())));
    }
    ApbbfParams params(spec);
    UNECHO_TRY(check_ring("apbbf", params.ring()));
    BlockMatch match(spec.B, spec.b, spec.blocks);
    params.matches_ = MatchTable::make(match.half(), spec.k, std::ref(match));
    return params;
}

}  // namespace unecho::filter
