// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/worker_taps.h"

namespace unecho::appliance {

Result<filter::ShbfAParams> params_of(const TapPlan& plan) {
    return filter::ShbfAParams::make({.m = plan.geometry.m, .k = plan.geometry.k});
}

Result<std::uint64_t> bytes_of(const TapPlan& plan) {
    const auto params = params_of(plan);
    UNECHO_TRY(params);
    return filter::TapReport::bytes(*params);
}

}  // namespace unecho::appliance
