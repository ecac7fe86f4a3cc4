// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "filters/sets/shifting/shbf_a.h"
#include "filters/sets/shifting/shbf_check.h"
#include "filters/sets/shifting/shbf_m.h"

namespace unecho::filter {

Result<ShbfAParams> ShbfAParams::make(const ShbfASpec& spec) {
    const std::string_view name = "shbf_a";
    if (const Status status = first_failed(
            check_m(name, "bits", spec.m), check_range(name, "k", spec.k, 1, kMaxShbfBits),
            check_range(name, "w_bar", spec.w_bar, 3, kMaxWBar),
            check_range(name, "z", spec.z, kMinCounterBits, kMaxCounterBits));
        !status) {
        return tl::unexpected(status.error());
    }
    return ShbfAParams(spec);
}

}  // namespace unecho::filter
