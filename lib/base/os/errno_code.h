// SPDX-License-Identifier: BSD-3-Clause
// Errors of the system and of DPDK (errno) as Errc.
#pragma once

#include "base/error.h"

namespace unecho {

// Return the Errc of an errno value; kIo for values that name no cause.
[[nodiscard]] Errc errc_from_errno(int number) noexcept;

}  // namespace unecho
