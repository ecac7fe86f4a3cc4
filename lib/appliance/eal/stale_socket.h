// SPDX-License-Identifier: BSD-3-Clause
// Removes the file of a listening socket that a killed process left behind: nobody could listen
// there again. DPDK removes such files of its own, but not those of memif's servers.
#pragma once

#include <string>

#include "base/units.h"

namespace unecho::eal {

// Remove the file if it is a SOCK_SEQPACKET socket on which nobody listens. Return true if it did.
//
// A listener must not be harmed by the check: memif's server greets each client, and in DPDK 22.11
// a greeting to a client that has gone ends in rte_panic() ("Error adding fd"). So a socket that
// the kernel lists as listening is left alone; after a connection, the check waits for the
// greeting.
bool remove_stale_socket(const std::string& path, Nanoseconds patience = kSecond);

}  // namespace unecho::eal
