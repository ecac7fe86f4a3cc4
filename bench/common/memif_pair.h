// SPDX-License-Identifier: BSD-3-Clause
// Programs that stand at both ends of an appliance: what it receives comes from one memif of
// theirs, and what it sends goes to another.
#pragma once

#include <cstdint>

#include <rte_mempool.h>

namespace unecho::bench {

inline constexpr std::uint16_t kMemifIn = 0;   // the appliance receives from it
inline constexpr std::uint16_t kMemifOut = 1;  // and sends to it

// CLOCK_MONOTONIC, ns.
std::uint64_t monotonic_now();
// Whether standard input has something to read, or has ended.
bool input_speaks();
// One line, exit status 1.
[[noreturn]] void fail(const char* program, const char* what);

// Both connected, as a client of the appliance's; EAL began with the arguments from argv[first] on.
// The pool is for packets of both.
rte_mempool* connect_memif_pair(const char* in_socket, const char* out_socket, int first, int argc,
                                char** argv);

}  // namespace unecho::bench
