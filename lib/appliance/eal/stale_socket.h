// SPDX-License-Identifier: BSD-3-Clause
// The file of a listening socket outlives a process that was killed, and then nobody can listen
// there again. DPDK removes its own such files, but not those of memif's servers.
#pragma once

#include <string>

#include "base/units.h"

namespace unecho::eal {

// Removes the file if it is a socket of SOCK_SEQPACKET on which nobody listens; true if it did.
//
// Whoever listens must not be harmed by the look: memif's server greets who connects, and in DPDK
// 22.11 the greeting of somebody who has gone again ends in rte_panic() ("Error adding fd"). So a
// socket that the kernel lists as listening is left alone, and where one has to connect, the
// greeting is waited for.
bool remove_stale_socket(const std::string& path, Nanoseconds patience = kSecond);

}  // namespace unecho::eal
