// SPDX-License-Identifier: BSD-3-Clause
// What a file that is no capture is, for the message. Private to capture.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace unecho::capture {

// "begins with ff d8 ff e0, a JPEG image"
std::string describe_first_bytes(std::span<const std::uint8_t> bytes);

}  // namespace unecho::capture
