// SPDX-License-Identifier: BSD-3-Clause
// Fields of ours, and of drivers, in every mbuf.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace unecho::eal {

// Offset of a field of ours; the same name gives the same field.
Result<int> register_mbuf_field(const char* name, std::size_t size, std::size_t align);

// Offset of the receive timestamp that drivers fill in.
Result<int> timestamp_field();

}  // namespace unecho::eal
