// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/topology/worker_filter.h"

#include <utility>

namespace unecho::appliance {

Result<std::unique_ptr<WorkerFilter>> WorkerFilter::make(const engines::FilterPlan& plan,
                                                         WorkerMemory memory) {
    const WarmRestartMemory* const kept = memory.kept();
    auto filter = engines::FilterInstance::make(plan, kept == nullptr
                                                          ? engines::InstanceMemory(memory.bytes())
                                                          : WarmRestartStore::layout_of(*kept));
    UNECHO_TRY(filter);
    return std::unique_ptr<WorkerFilter>(new WorkerFilter(std::move(memory), std::move(*filter)));
}

}  // namespace unecho::appliance
