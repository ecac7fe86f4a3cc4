// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <string>

#include "filters/repeats/union_rule.h"

namespace unecho::filter {
namespace {

Status check(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) {
        return fail(Errc::kInvalidArgument,
                    std::string("union rule: ") + name + " = " + std::to_string(value) +
                        "; allowed: " + std::to_string(least) + " to " + std::to_string(most));
    }
    return {};
}

}  // namespace

Result<UnionParams> UnionParams::make(const UnionSpec& spec) {
    constexpr std::uint64_t kMaxNodes = ChainedRing<Look>::kMaxNodes;
    constexpr std::uint64_t kMaxPopulations = std::uint64_t{1} << 24;
    for (const Status& status :
         {check("looks", spec.looks, 1, kMaxNodes),
          check("window", spec.window, 1, kInfiniteWindow),
          check("same_port", spec.same_port, 0, kMaxSamePort),
          check("views", spec.views, kMinViews, kMaxViews),
          check("populations", spec.populations, MirrorEvidence::kWays, kMaxPopulations),
          check("identified", spec.identified, 0, kMaxNodes - 1),
          check("most_steps", spec.most_steps, 1, ~0U)}) {
        UNECHO_TRY(status);
    }
    return UnionParams(spec);
}

std::uint64_t UnionParams::looks_in(std::uint64_t bytes, bool sighted, UnionSpec spec) noexcept {
    std::uint64_t most = 0;
    for (spec.looks = 1; spec.looks <= ChainedRing<Look>::kMaxNodes; spec.looks *= 2) {
        const UnionParams params(spec);
        if ((sighted ? CaptureUnionRule::bytes(params) : UnionRule::bytes(params)) > bytes) {
            break;
        }
        most = spec.looks;
    }
    return most;
}

}  // namespace unecho::filter
