// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include "filters/sets/shifting/shbf_check.h"
#include "filters/sets/shifting/shbf_m.h"

namespace unecho::filter {

using std::to_string;

Result<ShbfMParams> ShbfMParams::make(const ShbfMSpec& spec) {
    const std::string_view name = "shbf_m";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "t", spec.t, 1, kMaxShifts),
            check_groups(name, spec.k, spec.t),
            check_range(name, "w_bar", spec.w_bar, spec.t + 1, kMaxWBar));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfMParams(spec);
}

Result<CShbfMParams> CShbfMParams::make(const CShbfMSpec& spec) {
    const std::string_view name = "cshbf_m";
    if (const Status status = first_failed(
            check_m(name, "counters", spec.m),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits),
            check_range(name, "t", spec.t, 1, kMaxShifts), check_groups(name, spec.k, spec.t));
        !status) {
        return tl::unexpected(status.error());
    }
    const CShbfMParams params(spec);
    if (spec.t >= params.w_bar()) {
        return fail(Errc::kInvalidArgument, "cshbf_m: t = " + to_string(spec.t) +
                                                " with counters of z = " + to_string(spec.z) +
                                                " bits; allowed: at most " +
                                                to_string(params.w_bar() - 1));
    }
    return params;
}

}  // namespace unecho::filter
