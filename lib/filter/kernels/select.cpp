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
                   __builtin_cpu_supports("avx512vl") != 0;
    }
    return false;
}

Isa best_isa(unsigned most_bits) noexcept {
    Isa best = Isa::kScalar;
    for (const IsaRow& row : kIsas) {
        if (row.vector_bits <= most_bits && available(row.isa)) {
            best = row.isa;
        }
    }
    return best;
}

const Kernels& kernels_of(Isa isa) noexcept {
    UNECHO_ASSERT(available(isa));
    return kIsas[static_cast<std::size_t>(isa)].kernels;
}

}  // namespace unecho::filter
