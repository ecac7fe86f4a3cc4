// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "filters/sets/shifting/shbf_check.h"
#include "filters/sets/shifting/shbf_m.h"
#include "filters/sets/shifting/shbf_x.h"

namespace unecho::filter {

Result<ShbfXParams> ShbfXParams::make(const ShbfXSpec& spec) {
    const std::string_view name = "shbf_x";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "k", spec.k, 1, kMaxShbfBits),
            check_range(name, "c", spec.c, 1, kMaxMultiplicity),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfXParams(spec);
}

}  // namespace unecho::filter
