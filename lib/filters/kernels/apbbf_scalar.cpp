// SPDX-License-Identifier: BSD-3-Clause
// The specification, word by word.
#include "filters/kernels/apbbf_body-inl.h"

namespace unecho::filter {
namespace {

struct ScalarBlock {
    struct Block {
        std::uint64_t word[kBlockWords];
    };

    static void find_row(const ApbbfProbe& probe, std::uint32_t blocks,
                         const std::uint64_t* digests, unsigned n, std::uint64_t* digits,
                         std::uint64_t** block) noexcept {
        filter::find_row(probe, blocks, digests, n, digits, block);
    }

    static Block load(const std::uint64_t* words) noexcept {
        Block block;
        for (unsigned w = 0; w < kBlockWords; ++w) {
            block.word[w] = words[w];
        }
        return block;
    }

    static void store(std::uint64_t* words, const Block& block) noexcept {
        for (unsigned w = 0; w < kBlockWords; ++w) {
            words[w] = block.word[w];
        }
    }

    // One bit in each word.
    static Block bits(std::uint64_t digits) noexcept {
        Block bits;
        for (unsigned w = 0; w < kBlockWords; ++w) {
            bits.word[w] = std::uint64_t{1} << (digits << kDigitStride * w >> (64 - kDigitBits));
        }
        return bits;
    }

    static bool covers(const Block& block, const Block& bits) noexcept {
        std::uint64_t missing = 0;
        for (unsigned w = 0; w < kBlockWords; ++w) {
            missing |= bits.word[w] & ~block.word[w];
        }
        return missing == 0;
    }

    static Block with(Block block, const Block& bits, bool insert) noexcept {
        for (unsigned w = 0; w < kBlockWords; ++w) {
            block.word[w] |= insert ? bits.word[w] : 0;
        }
        return block;
    }
};

}  // namespace

constexpr ApbbfKernels kApbbfScalar = apbbf_kernels<ScalarBlock>();

}  // namespace unecho::filter
