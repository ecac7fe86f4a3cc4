// SPDX-License-Identifier: BSD-3-Clause
#include "control/worker_taps.h"

#include <utility>

namespace unecho::control {
namespace {

Result<filter::ShbfAParams> params_of(const TapPlan& plan) {
    return filter::ShbfAParams::make({.m = plan.geometry.m, .k = plan.geometry.k});
}

}  // namespace

Result<std::uint64_t> bytes_of(const TapPlan& plan) {
    const auto params = params_of(plan);
    if (!params) {
        return tl::unexpected(params.error());
    }
    return filter::TapReport::bytes(*params);
}

Result<std::unique_ptr<WorkerTaps>> WorkerTaps::make(const TapPlan& plan, int socket,
                                                     bool has_hugepages) {
    const auto params = params_of(plan);
    if (!params) {
        return tl::unexpected(params.error());
    }
    auto memory =
        eal::HugeMemory::allocate(filter::TapReport::bytes(*params), socket, has_hugepages);
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    return std::unique_ptr<WorkerTaps>(new WorkerTaps(std::move(*memory), *params, plan.window));
}

}  // namespace unecho::control
