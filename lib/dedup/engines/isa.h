// SPDX-License-Identifier: BSD-3-Clause
// Which instruction set the kernels of a run are of: the configuration's word, the environment's,
// or the one that is fastest here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dedup/engines/planning/kernel_times.h"
#include "filters/kernels/select.h"

namespace unecho::engines {

struct IsaChoice {
    // The widest instruction set of kernels that the processor has.
    filter::Isa widest = filter::Isa::kScalar;
    // UNECHO_ISA in the environment, which wins over the configuration.
    std::optional<std::string> forced;
    // "auto" is the fastest by them; absent: the widest.
    std::optional<KernelTimes> times;

    // Without times, which take a moment (kernel_times.h).
    static IsaChoice detect();
    static IsaChoice measured();

    // The instruction set of this name, or what "auto" is; an error says what is allowed.
    [[nodiscard]] Result<filter::Isa> of(std::string_view name) const;
    // The same where no configuration has a say.
    [[nodiscard]] Result<filter::Isa> any() const;
    // For people: why it is this one, where `where` asked for it by name, or nobody did (empty).
    [[nodiscard]] std::string reason(filter::Isa isa, std::string_view where) const;
};

}  // namespace unecho::engines
