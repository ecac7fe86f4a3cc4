// SPDX-License-Identifier: BSD-3-Clause
// The instruction sets that there are kernels for, each a row of kIsas. Which one they run on is
// chosen once, at start (dedup/engines/isa.h).
//
// Another instruction set is an enumerator and a row here, what lacking() asks for it, a row of
// flags in lib/filters/kernels/meson.build, and for each filter a file in this folder, whose table
// that filter's *_kernel.h declares. Another filter with kernels is a member of Kernels and what
// that asks of each row. Names are read from here wherever they are needed.
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

// From the narrowest to the widest; each has what those before it have.
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
#else  // not available(), but names that configurations may have
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

// Rows are looked up by their number, and without a table no filter can be made.
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

// The first that this machine's processor and operating system lack of what it needs, as people
// write it ("AVX-512DQ"); empty: they have it.
[[nodiscard]] std::string_view lacking(Isa isa) noexcept;

[[nodiscard]] inline bool available(Isa isa) noexcept {
    return lacking(isa).empty();
}

// The widest that is available, in vectors of at most this many bits.
[[nodiscard]] Isa best_isa(unsigned most_bits = 512) noexcept;

// isa is available.
[[nodiscard]] const Kernels& kernels_of(Isa isa) noexcept;

template <typename Table>
[[nodiscard]] const Table& kernels_for(Isa isa) noexcept {
    return *std::get<const Table*>(kernels_of(isa));
}

}  // namespace unecho::filter
