// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets that have kernels, rows of kIsas. dedup/engines/isa.h chooses one at start.
//
// A new instruction set needs an enumerator and a row here, its features in lacking(), and a row of
// flags in lib/filters/kernels/meson.build. It also needs a file in this folder for each filter,
// whose table the filter's *_kernel.h declares. A new filter with kernels needs a member of Kernels
// and a table in each row. All names are read from here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "filters/kernels/apbbf_kernel.h"
#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/line_kernel.h"

namespace unecho::filter {

// From the narrowest to the widest; each includes those before it.
enum class Isa : std::uint8_t { kScalar, kAvx2, kAvx512 };

// The kernels of one instruction set: one table for each filter that has kernels.
using Kernels = std::tuple<const LineKernels*, const ApbbfKernels*, const FingerprintKernels*>;

struct IsaRow {
    Isa isa;
    std::string_view name;
    unsigned vector_bits;  // of the widest vectors
    Kernels kernels;
};

inline constexpr Kernels kScalarKernels{&kLineScalar, &kApbbfScalar, &kFingerprintScalar};
#ifdef __x86_64__
inline constexpr Kernels kAvx2Kernels{&kLineAvx2, &kApbbfAvx2, &kFingerprintAvx2};
inline constexpr Kernels kAvx512Kernels{&kLineAvx512, &kApbbfAvx512, &kFingerprintAvx512};
#else  // never available(), but configurations may name them
inline constexpr Kernels kAvx2Kernels = kScalarKernels;
inline constexpr Kernels kAvx512Kernels = kScalarKernels;
#endif

inline constexpr std::array kIsas{
    IsaRow{Isa::kScalar, "scalar", 64, kScalarKernels},
    IsaRow{Isa::kAvx2, "avx2", 256, kAvx2Kernels},
    IsaRow{Isa::kAvx512, "avx512", 512, kAvx512Kernels},
};

inline constexpr std::array<Isa, kIsas.size()> kEveryIsa = [] {
    std::array<Isa, kIsas.size()> every{};
    for (std::size_t i = 0; i < every.size(); ++i) {
        every[i] = kIsas[i].isa;
    }
    return every;
}();

inline constexpr std::array<std::string_view, kIsas.size()> kIsaNames = [] {
    std::array<std::string_view, kIsas.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = kIsas[i].name;
    }
    return names;
}();

// Rows are looked up by number, and every row needs the tables of all filters.
static_assert([] {
    for (std::size_t i = 0; i < kIsas.size(); ++i) {
        const bool has_kernels = std::apply(
            [](const auto*... table) { return ((table != nullptr) && ...); }, kIsas[i].kernels);
        if (static_cast<std::size_t>(kIsas[i].isa) != i || !has_kernels) {
            return false;
        }
    }
    return true;
}());

[[nodiscard]] constexpr std::string_view name_of(Isa isa) noexcept {
    return kIsaNames[static_cast<unsigned>(isa)];
}

// Return the first feature that this instruction set needs and that the processor or operating
// system lacks, as people write it ("AVX-512DQ"). Empty if nothing is missing.
[[nodiscard]] std::string_view lacking(Isa isa) noexcept;

[[nodiscard]] inline bool available(Isa isa) noexcept {
    return lacking(isa).empty();
}

// Return false on Zen 1 and 2, whose PDEP takes a hundred cycles and more.
[[nodiscard]] bool has_fast_pdep() noexcept;

// Return the widest available instruction set with vectors of at most this many bits.
[[nodiscard]] Isa best_isa(unsigned most_bits = 512) noexcept;

// isa must be available.
[[nodiscard]] const Kernels& kernels_of(Isa isa) noexcept;

template <typename Table>
[[nodiscard]] const Table& kernels_for(Isa isa) noexcept {
    return *std::get<const Table*>(kernels_of(isa));
}

}  // namespace unecho::filter
