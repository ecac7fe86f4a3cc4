// SPDX-License-Identifier: BSD-3-Clause
// The file of a listening socket outlives a process that was killed, and then nobody can listen
// there again. DPDK removes its own such files, but not those of memif's servers.
#pragma once

#include <string>

namespace unecho::eal {

// Removes the file if it is a socket of SOCK_SEQPACKET on which nobody listens; true if it did.
bool remove_stale_socket(const std::string& path);

}  // namespace unecho::eal
