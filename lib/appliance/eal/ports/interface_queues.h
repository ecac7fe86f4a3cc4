// SPDX-License-Identifier: BSD-3-Clause
// The number of queues that a kernel interface receives from.
#pragma once

#include <cstdint>
#include <string>

namespace unecho::eal {

// Return it as "ethtool -l" does; 1 if the driver does not report it or there is no interface.
std::uint32_t receive_queues(const std::string& interface) noexcept;

}  // namespace unecho::eal
