// SPDX-License-Identifier: BSD-3-Clause
// Counts the allocations of a benchmark: programs that link this have their global operator new
// replaced. malloc() in C libraries is not counted.
#pragma once

#include <cstdint>

namespace unecho::bench {

// Return the number since the start of the process.
std::uint64_t allocations() noexcept;
// Count one allocation, for allocators that do not use operator new.
void count_allocation() noexcept;

}  // namespace unecho::bench
