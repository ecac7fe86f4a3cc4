// SPDX-License-Identifier: BSD-3-Clause
// For programs at both ends of an appliance: it receives from one of their memifs and sends to
// another.
#pragma once

#include <cstdint>

#include <rte_mempool.h>

namespace unecho::bench {

inline constexpr std::uint16_t kMemifIn = 0;   // the appliance receives from it
inline constexpr std::uint16_t kMemifOut = 1;  // and sends to it

// Return CLOCK_MONOTONIC in ns.
std::uint64_t monotonic_now();
// Return true if standard input has data or has ended.
bool input_speaks();
// Print one line and exit with status 1.
[[noreturn]] void fail(const char* program, const char* what);

// Initialise EAL with the arguments from argv[first] on, and connect both memifs as clients of the
// appliance. Return a pool for the packets of both.
rte_mempool* connect_memif_pair(const char* in_socket, const char* out_socket, int first, int argc,
                                char** argv);

}  // namespace unecho::bench
