// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "filters/papers/count_min.h"
#include "filters/papers/spec.h"
#include "filters/papers/stable_bloom.h"
#include "filters/papers/swamp.h"
#include "filters/storage.h"

namespace unecho::filter::baseline {

using std::to_string;

namespace {

tl::unexpected<Error> refuse(std::string_view filter, const std::string& what) {
    return fail(Errc::kInvalidArgument, std::string(filter) + ": " + what);
}

}  // namespace

Status check(const Rules& rules, const BaselineSpec& spec) {
    const std::string unit = rules.cell_bits == 1 ? " bits" : " counters";
    const std::uint64_t most = kMaxFilterBytes / rules.cell_bits * 8;
    if (spec.k < 1 || spec.k > kMaxHashes) {
        return refuse(rules.filter, "k = " + to_string(spec.k) + "; allowed: 1 to 32");
    }
    if (spec.m < rules.min_m || spec.m > most) {
        return refuse(rules.filter, "m = " + to_string(spec.m) + unit + "; allowed: " +
                                        to_string(rules.min_m) + " to " + to_string(most));
    }
    if (const std::uint64_t granule = rules.slices ? spec.k : rules.granule;
        spec.m % granule != 0) {
        return refuse(rules.filter, "m = " + to_string(spec.m) + unit + "; allowed: multiples of " +
                                        to_string(granule) + (rules.slices ? " (k)" : ""));
    }
    return {};
}

Result<StableParams> StableParams::make(const StableSpec& spec) {
    constexpr Rules kRules{.filter = "stable bloom", .cell_bits = 8};
    UNECHO_TRY(check(kRules, {.m = spec.m, .k = spec.k}));
    if (spec.max < 1 || spec.max > 255) {
        return refuse(kRules.filter, "max = " + to_string(spec.max) + "; allowed: 1 to 255");
    }
    if (spec.P < 1 || spec.P > spec.m) {
        return refuse(kRules.filter,
                      "P = " + to_string(spec.P) + "; allowed: 1 to " + to_string(spec.m) + " (m)");
    }
    return StableParams(spec);
}

Result<SwampParams> SwampParams::make(const SwampSpec& spec) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    if (spec.W < 1 || spec.W > kMost) {
        return refuse("swamp", "W = " + to_string(spec.W) + "; allowed: 1 to 2147483648");
    }
    if (spec.f < 1 || spec.f > 32) {
        return refuse("swamp", "f = " + to_string(spec.f) + "; allowed: 1 to 32");
    }
    return SwampParams(spec);
}

Result<CountMinParams> CountMinParams::make(const CountMinSpec& spec) {
    if (spec.d < 1 || spec.d > kMaxHashes) {
        return refuse("count-min", "d = " + to_string(spec.d) + "; allowed: 1 to 32");
    }
    const std::uint64_t most = kMaxFilterBytes / sizeof(Count) / spec.d;
    if (spec.w < 1 || spec.w > most) {
        return refuse("count-min",
                      "w = " + to_string(spec.w) + "; allowed: 1 to " + to_string(most));
    }
    return CountMinParams(spec);
}

}  // namespace unecho::filter::baseline
