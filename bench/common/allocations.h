// SPDX-License-Identifier: BSD-3-Clause
// Counts what a benchmark's process allocates: the global operator new is replaced in programs that
// ask. What C libraries take with malloc is not seen.
#pragma once

#include <cstdint>

namespace unecho::bench {

// Since the start of the process.
std::uint64_t allocations() noexcept;
// For allocators that do not go through operator new.
void count_allocation() noexcept;

}  // namespace unecho::bench
