// SPDX-License-Identifier: BSD-3-Clause
// Chooses the instruction set of the kernels: by configuration, environment or measured speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dedup/engines/planning/kernel_times.h"
#include "filters/kernels/select.h"

namespace unecho::engines {

struct IsaChoice {
    // The widest instruction set of kernels that the processor supports.
    filter::Isa widest = filter::Isa::kScalar;
    // UNECHO_ISA in the environment, which overrides the configuration.
    std::optional<std::string> forced;
    // "auto" is the fastest by these; absent: the widest.
    std::optional<KernelTimes> times;

    // detect() measures no times, which takes a moment (planning/kernel_times.h).
    static IsaChoice detect();
    static IsaChoice measured();

    // Return the instruction set of this name, or that of "auto". An error lists what is allowed.
    [[nodiscard]] Result<filter::Isa> of(std::string_view name) const;
    // The same without a configuration.
    [[nodiscard]] Result<filter::Isa> any() const;
    // Explain the choice to people. where: what requested it by name; empty: nothing did.
    [[nodiscard]] std::string reason(filter::Isa isa, std::string_view where) const;
};

}  // namespace unecho::engines
