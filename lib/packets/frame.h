// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace unecho::packet {

// A frame in contiguous memory, from the first byte of its link-layer header.
struct Frame {
    const std::uint8_t* data;
    std::uint32_t length;
};

}  // namespace unecho::packet
