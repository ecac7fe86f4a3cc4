// SPDX-License-Identifier: BSD-3-Clause
// What becomes of an echo: dropped, forwarded and counted, or sent to another port.
#pragma once

#include <cstdint>

namespace unecho::pipeline {

enum class EchoAction : std::uint8_t { kDrop, kPass, kDivert };

}  // namespace unecho::pipeline
