// SPDX-License-Identifier: BSD-3-Clause
#include "control/worker_filter.h"

#include <utility>

namespace unecho::control {

Result<std::unique_ptr<WorkerFilter>> WorkerFilter::make(const engines::FilterPlan& plan,
                                                         WorkerMemory memory) {
    const KeptMemory* const kept = memory.kept();
    auto filter = engines::FilterInstance::make(plan, kept == nullptr
                                                          ? engines::InstanceMemory(memory.bytes())
                                                          : KeptState::layout_of(*kept));
    if (!filter) {
        return tl::unexpected(filter.error());
    }
    return std::unique_ptr<WorkerFilter>(new WorkerFilter(std::move(memory), std::move(*filter)));
}

}  // namespace unecho::control
