// SPDX-License-Identifier: BSD-3-Clause
// What the kernel dropped because a ring of net_af_packet was full: up to DPDK 22.11 the driver
// does not say, though the sockets know. They are this process's, so it can ask them itself.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::eal {

// The packet sockets of this process that are bound to a kernel interface, by its index.
std::vector<int> packet_sockets_on(int interface);

// Packets that these dropped since they were asked last.
std::uint64_t take_drops(const std::vector<int>& sockets) noexcept;

}  // namespace unecho::eal
