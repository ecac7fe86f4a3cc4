// SPDX-License-Identifier: BSD-3-Clause
// What an errno of the system, or of DPDK, is among our kinds of errors.
#pragma once

#include "base/error.h"

namespace unecho {

// Numbers that are no cause by themselves are Errc::kIo.
[[nodiscard]] Errc errc_from_errno(int number) noexcept;

}  // namespace unecho
