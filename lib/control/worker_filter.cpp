// SPDX-License-Identifier: BSD-3-Clause
#include "control/worker_filter.h"

#include <utility>

namespace unecho::control {

Result<std::unique_ptr<WorkerFilter>> WorkerFilter::make(const engines::FilterPlan& plan,
                                                         int socket, bool has_hugepages) {
    auto memory = eal::HugeMemory::allocate(plan.instance_bytes, socket, has_hugepages);
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    auto filter = engines::FilterInstance::make(plan, memory->bytes());
    if (!filter) {
        return tl::unexpected(filter.error());
    }
    return std::unique_ptr<WorkerFilter>(new WorkerFilter(std::move(*memory), std::move(*filter)));
}

Result<std::unique_ptr<WorkerFilter>> WorkerFilter::make(const engines::FilterPlan& plan,
                                                         KeptMemory memory) {
    auto filter = engines::FilterInstance::make(plan, memory.memory());
    if (!filter) {
        return tl::unexpected(filter.error());
    }
    return std::unique_ptr<WorkerFilter>(new WorkerFilter(std::move(memory), std::move(*filter)));
}

}  // namespace unecho::control
