// SPDX-License-Identifier: BSD-3-Clause
#include "filters/kernels/fingerprint_body-inl.h"

namespace unecho::filter {
namespace {

struct ScalarLine {
    using Pattern = std::uint32_t;
    struct Line {
        std::byte of[kFingerprintLine];
    };
    static constexpr bool kStoresAtOnce = false;

    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        return fingerprint;
    }

    // Return the slots whose whole bytes equal the fingerprint's.
    template <typename L>
    static std::uint64_t equal(const std::byte* line, Pattern pattern) noexcept {
        std::uint64_t slots = 0;
        for (unsigned slot = 0; slot < L::kSlots; ++slot) {
            bool same = true;
            for (unsigned b = 0; b < L::kBytes; ++b) {
                same &= line[b * L::kSlots + slot] == static_cast<std::byte>(pattern >> 8 * b);
            }
            slots |= std::uint64_t{same} << slot;
        }
        return slots;
    }

    template <typename L>
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t planes,
                       std::uint64_t header) noexcept {
        Line line;
        std::memcpy(line.of + 1, from, kFingerprintLine - 1);
        for (unsigned b = 0; b < L::kBytes; ++b) {
            line.of[b * L::kSlots] = static_cast<std::byte>(pattern >> 8 * b);
        }
        write_end<L>(line.of, planes, header);
        return line;
    }

    static Line load(const std::byte* from) noexcept {
        Line line;
        std::memcpy(line.of, from, kFingerprintLine);
        return line;
    }
    static void store(std::byte* to, const Line& line) noexcept {
        std::memcpy(to, line.of, kFingerprintLine);
    }
};

}  // namespace

constexpr FingerprintKernels kFingerprintScalar = fingerprint_kernels<ScalarLine>();

}  // namespace unecho::filter
