// SPDX-License-Identifier: BSD-3-Clause
#include "peers/fingerprint_body-inl.h"

namespace unecho::bench {
namespace {

struct ScalarLine {
    using Pattern = std::uint32_t;

    template <typename L>
    static Pattern pattern(std::uint32_t fingerprint) noexcept {
        return fingerprint;
    }

    // Slots whose whole bytes are the fingerprint's.
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

    // The line `from` with one more fingerprint, to `to`.
    template <typename L>
    static void append(std::byte* to, const std::byte* from, Pattern pattern, std::uint64_t planes,
                       std::uint64_t header) noexcept {
        std::byte line[kFingerprintLine];
        std::memcpy(line + 1, from, kFingerprintLine - 1);
        for (unsigned b = 0; b < L::kBytes; ++b) {
            line[b * L::kSlots] = static_cast<std::byte>(pattern >> 8 * b);
        }
        for (unsigned byte = L::kHeaderAt; byte < 56; ++byte) {
            line[byte] = static_cast<std::byte>(planes >> 8 * (byte - L::kHeaderAt));
        }
        const unsigned begin = L::kHeaderAt < 56 ? 56 : L::kHeaderAt;
        for (unsigned byte = begin; byte < kFingerprintLine; ++byte) {
            line[byte] = static_cast<std::byte>(header >> 8 * (byte - 56));
        }
        std::memcpy(to, line, kFingerprintLine);
    }
};

}  // namespace

constexpr FingerprintKernels kFingerprintScalar = fingerprint_kernels<ScalarLine>();

}  // namespace unecho::bench
