// SPDX-License-Identifier: BSD-3-Clause
// Which instruction set the kernels run on: chosen once, at start.
#pragma once

#include <array>
#include <string_view>

#include "filter/kernels/apbbf_kernel.h"
#include "filter/kernels/line_kernel.h"

namespace unecho::filter {

enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512 };

inline constexpr std::array<std::string_view, 3> kIsaNames{"scalar", "avx2", "avx512"};

[[nodiscard]] constexpr std::string_view name_of(Isa isa) noexcept {
    return kIsaNames[static_cast<unsigned>(isa)];
}

// Whether this machine's processor and operating system have it.
[[nodiscard]] bool available(Isa isa) noexcept;

// The widest that is available, in vectors of at most this many bits.
[[nodiscard]] Isa best_isa(unsigned most_bits = 512) noexcept;

// isa is available.
[[nodiscard]] const LineKernels& line_kernels_for(Isa isa) noexcept;
[[nodiscard]] const ApbbfKernels& apbbf_kernels_for(Isa isa) noexcept;

}  // namespace unecho::filter
