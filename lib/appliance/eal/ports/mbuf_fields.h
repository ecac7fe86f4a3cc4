// SPDX-License-Identifier: BSD-3-Clause
// Dynamic fields of mbufs, ours and those of drivers.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace unecho::eal {

// Return the offset of a field of ours. The same name gives the same field.
Result<int> register_mbuf_field(const char* name, std::size_t size, std::size_t align);

// Return the offset of the receive timestamp that drivers set.
Result<int> timestamp_field();

}  // namespace unecho::eal
