// SPDX-License-Identifier: BSD-3-Clause
// Counts what the kernel dropped because a ring of net_af_packet was full. Up to DPDK 22.11 the
// driver does not report it. The sockets know, and they belong to this process.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::eal {

// Return the packet sockets of this process that are bound to a kernel interface (by its index).
std::vector<int> packet_sockets_on(int interface);

// Return the packets that these sockets dropped since the last call.
std::uint64_t take_drops(const std::vector<int>& sockets) noexcept;

}  // namespace unecho::eal
