// SPDX-License-Identifier: BSD-3-Clause
// Which instruction set the kernels of a run are of: the configuration's word, the environment's,
// the processor's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "filter/kernels/select.h"

namespace unecho::engines {

struct IsaChoice {
    // The widest instruction set of kernels that the processor has.
    filter::Isa widest = filter::Isa::kScalar;
    // UNECHO_ISA in the environment, which wins over the configuration.
    std::optional<std::string> forced;

    static IsaChoice detect();

    // The instruction set of this name, the widest for "auto"; an error says what is allowed.
    [[nodiscard]] Result<filter::Isa> of(std::string_view name) const;
    // The same where no configuration has a say.
    [[nodiscard]] Result<filter::Isa> any() const;
};

}  // namespace unecho::engines
