// SPDX-License-Identifier: BSD-3-Clause
// How many queues a kernel interface receives from.
#pragma once

#include <cstdint>
#include <string>

namespace unecho::eal {

// As "ethtool -l" tells; 1 where the interface's driver does not, or there is no such interface.
std::uint32_t receive_queues(const std::string& interface) noexcept;

}  // namespace unecho::eal
