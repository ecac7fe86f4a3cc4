// SPDX-License-Identifier: BSD-3-Clause
// The description of a file that is no capture, for messages. Private to captures.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace unecho::capture {

// Return, for example, "begins with ff d8 ff e0, a JPEG image".
std::string describe_first_bytes(std::span<const std::uint8_t> bytes);

}  // namespace unecho::capture
