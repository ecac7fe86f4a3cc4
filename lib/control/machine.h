// SPDX-License-Identifier: BSD-3-Clause
// What the process may use of the machine it runs on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "filter/kernels/select.h"

namespace unecho::control {

struct Machine {
    std::vector<LcoreId> cpus;  // in the process's affinity mask, ascending
    // The plan may be for another machine (`unecho check`): CPUs that are not here are worth a
    // note, not an error.
    bool may_differ = false;

    // The widest instruction set of kernels that the processor has.
    filter::Isa widest_isa = filter::Isa::kScalar;
    // UNECHO_ISA in the environment, which wins over the configuration.
    std::optional<std::string> forced_isa;

    static Machine detect();
};

}  // namespace unecho::control
