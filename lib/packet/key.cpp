// SPDX-License-Identifier: BSD-3-Clause
#include "packet/key.h"

#include <array>
#include <cstddef>

namespace unecho::packet {

std::string_view name_of(KeyMode mode) noexcept {
    static constexpr std::array<std::string_view, kKeyModes> kNames{"packet", "flow", "flow-bidir",
                                                                    "frame"};
    return kNames[static_cast<std::size_t>(mode)];
}

}  // namespace unecho::packet
