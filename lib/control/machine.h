// SPDX-License-Identifier: BSD-3-Clause
// What the process may use of the machine it runs on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "filter/kernels/select.h"

namespace unecho::control {

struct Machine {
    std::vector<LcoreId> cpus;       // in the process's affinity mask, ascending
    std::vector<LcoreId> scheduled;  // of them those that the kernel puts other threads on, too
    // The plan may be for another machine (`unecho check`): CPUs that are not here are worth a
    // note, not an error.
    bool may_differ = false;

    // The widest instruction set of kernels that the processor has.
    filter::Isa widest_isa = filter::Isa::kScalar;
    // UNECHO_ISA in the environment, which wins over the configuration.
    std::optional<std::string> forced_isa;

    static Machine detect();

    // The instruction set of this name, the widest for "auto"; an error says what is allowed.
    [[nodiscard]] Result<filter::Isa> isa_of(std::string_view name) const;
    // The same where no configuration has a say.
    [[nodiscard]] Result<filter::Isa> isa() const;
};

// "0-2,5" as the kernel writes lists of CPUs; what cannot be read is left out.
std::vector<LcoreId> cpu_list(std::string_view text);

}  // namespace unecho::control
