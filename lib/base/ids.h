// SPDX-License-Identifier: BSD-3-Clause
// Types for small numbers, and limits on them. Aliases only: the compiler does not check them.
#pragma once

#include <cstdint>

namespace unecho {

// Limits of one process. They fix the sizes of counter arrays and masks.
inline constexpr unsigned kMaxPorts = 32;
inline constexpr unsigned kMaxWorkers = 32;
inline constexpr unsigned kMaxRoutes = 32;
inline constexpr unsigned kMaxFilters = 32;
inline constexpr unsigned kMaxQueues = 64;  // rx or tx queues of one port
inline constexpr unsigned kMaxBurst = 64;   // packets of one burst; a verdict mask is 64 bits

// Positions in the plan and in the configuration file. They are not DPDK's numbers.
using PortIndex = std::uint16_t;
using RouteIndex = std::uint16_t;
using FilterIndex = std::uint16_t;
using WorkerIndex = std::uint16_t;

// DPDK's numbers.
using PortId = std::uint16_t;
using QueueId = std::uint16_t;
using LcoreId = unsigned;

}  // namespace unecho
