// SPDX-License-Identifier: BSD-3-Clause
// These functions ask the kernel about a network interface.
#pragma once

#include <cstdint>
#include <string>

namespace unecho::eal {

// Return the number of queues that it receives from, as "ethtool -l" does; 1 if the driver does not
// report it or there is no interface.
std::uint32_t receive_queues(const std::string& interface) noexcept;

struct InterfaceState {
    bool up = true;               // as set by the administrator, whatever the carrier
    bool merges_packets = false;  // that it receives (GRO, LRO)
};

// A member that the kernel does not report keeps its default.
InterfaceState interface_state(const std::string& interface) noexcept;

}  // namespace unecho::eal
