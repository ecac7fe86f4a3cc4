// SPDX-License-Identifier: BSD-3-Clause
#include "filters/kernels/fingerprint_body-inl.h"
#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/nth_zero-inl.h"

namespace unecho::filter {
namespace {

inline unsigned nth_zero(const FingerprintView& /*view*/, std::uint64_t bits, unsigned n) noexcept {
    return nth_zero_by_bytes(bits, n);
}

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
    static Line longer(const std::byte* from, Pattern pattern, std::uint64_t header) noexcept {
        std::uint64_t words[kFingerprintLine / 8];
        std::memcpy(words, from, sizeof words);
        Line line;
        std::memcpy(line.of + 1, from, kFingerprintLine - 1);
        for (unsigned b = 0; b < L::kBytes; ++b) {
            line.of[b * L::kSlots] = static_cast<std::byte>(pattern >> 8 * b);
        }
        const std::uint64_t* const filled = planes_of<L>(pattern);
        for (unsigned i = kTailAt / 8; i < kFingerprintLine / 8; ++i) {
            const std::uint64_t planes = kLineBits<L>.planes[i];
            const std::uint64_t newest = kLineBits<L>.newest[i] & planes;
            const std::uint64_t moved = words[i] << 1 | words[i - 1] >> 63;
            std::uint64_t word = word_at(line.of, 8 * i) & ~planes;
            word |= moved & planes & ~newest;
            word |= filled[i - kTailAt / 8] & newest;
            if (8 * i == kHeaderAt) {
                word = (word & ~L::kHeaderMask) | header;
            }
            std::memcpy(line.of + 8 * i, &word, sizeof word);
        }
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
