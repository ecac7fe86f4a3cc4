// SPDX-License-Identifier: BSD-3-Clause
#include "filters/kernels/select.h"

#include "base/assert.h"

namespace unecho::filter {

// Lists the features named by the flags in meson.build, and those that they imply.
std::string_view lacking(Isa isa) noexcept {
#ifdef __x86_64__
    struct Feature {
        Isa of;
        std::string_view name;
        bool is_there;
    };
    __builtin_cpu_init();
    const Feature features[] = {
        {Isa::kAvx2, "AVX2", __builtin_cpu_supports("avx2") != 0},
        {Isa::kAvx2, "BMI2", __builtin_cpu_supports("bmi2") != 0},
        {Isa::kAvx512, "AVX-512F", __builtin_cpu_supports("avx512f") != 0},
        {Isa::kAvx512, "AVX-512DQ", __builtin_cpu_supports("avx512dq") != 0},
        {Isa::kAvx512, "AVX-512BW", __builtin_cpu_supports("avx512bw") != 0},
        {Isa::kAvx512, "AVX-512VL", __builtin_cpu_supports("avx512vl") != 0},
    };
    for (const Feature& feature : features) {
        if (feature.of <= isa && !feature.is_there) {
            return feature.name;
        }
    }
    return {};
#else
    return isa == Isa::kScalar ? "" : "x86-64";
#endif
}

bool has_fast_pdep() noexcept {
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_is("znver1") == 0 &&
           __builtin_cpu_is("znver2") == 0;
#else
    return false;
#endif
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
