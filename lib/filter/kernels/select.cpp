// SPDX-License-Identifier: BSD-3-Clause
#include "filter/kernels/select.h"

#include "base/assert.h"

namespace unecho::filter {

// What the flags in meson.build name, and what these imply.
bool available(Isa isa) noexcept {
    __builtin_cpu_init();
    switch (isa) {
        case Isa::kScalar:
            return true;
        case Isa::kAvx2:
            return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
        case Isa::kAvx512:
            return available(Isa::kAvx2) && __builtin_cpu_supports("avx512f") != 0 &&
                   __builtin_cpu_supports("avx512dq") != 0 &&
                   __builtin_cpu_supports("avx512bw") != 0 &&
                   __builtin_cpu_supports("avx512vl") != 0 &&
                   __builtin_cpu_supports("avx512vpopcntdq") != 0;
    }
    return false;
}

Isa best_isa(unsigned most_bits) noexcept {
    if (most_bits >= 512 && available(Isa::kAvx512)) {
        return Isa::kAvx512;
    }
    return most_bits >= 256 && available(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
}

const LineKernels& line_kernels_for(Isa isa) noexcept {
    UNECHO_ASSERT(available(isa));
    switch (isa) {
        case Isa::kAvx2:
            return kLineAvx2;
        case Isa::kAvx512:
            return kLineAvx512;
        case Isa::kScalar:
            break;
    }
    return kLineScalar;
}

const ApbbfKernels& apbbf_kernels_for(Isa isa) noexcept {
    UNECHO_ASSERT(available(isa));
    switch (isa) {
        case Isa::kAvx2:
            return kApbbfAvx2;
        case Isa::kAvx512:
            return kApbbfAvx512;
        case Isa::kScalar:
            break;
    }
    return kApbbfScalar;
}

}  // namespace unecho::filter
