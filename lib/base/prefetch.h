// SPDX-License-Identifier: BSD-3-Clause
// Asks for a cache line before it is needed: into the second cache, as into the first a core has
// some twenty lines on their way and no more.
#pragma once

namespace unecho {

// To g++ a function that does nothing but __builtin_prefetch does nothing, and it takes the calls
// out; the empty statement keeps them.
[[gnu::always_inline]] inline void request_line(const void* at) noexcept {
    __builtin_prefetch(at);
    asm volatile("");
}

}  // namespace unecho
