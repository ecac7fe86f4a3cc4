// SPDX-License-Identifier: BSD-3-Clause
// The usual alternative: l + 1 blocked Bloom filters in turn. A new digest is written to the active
// filter; all are queried. A window has l generations, after each of which the oldest filter is
// cleared and becomes the active one. A block is a cache line of 8 words of 64 bits, each with one
// or two bits of a digest. All filters keep a digest's bits in the same place, so these are
// computed once. The lines of all digests of a burst are prefetched.
//
// It always remembers the last window of keys, and at most 1 + 1/l windows: with l = 1, the usual
// two filters, keys may be forgotten as late as a whole window after they should be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/engines.h"
#include "filters/filter.h"

namespace unecho::bench {

enum class BlockKernel : std::uint8_t { kAvx2, kAvx512 };

struct RotatingParams {
    std::uint64_t blocks = 0;  // in one filter
    unsigned bits_a_word = 1;  // 1 or 2: 8 or 16 bits a digest
};

template <BlockKernel kernel, unsigned l>
class RotatingBlocked {
  public:
    [[nodiscard]] static std::uint64_t bytes(const RotatingParams& params) noexcept {
        return (l + 1) * params.blocks * filter::kCacheLine;
    }

    RotatingBlocked(const RotatingParams& params, std::span<std::byte> memory) noexcept
        : params_(params) {
        auto* const first = reinterpret_cast<std::uint64_t*>(memory.data());
        for (unsigned age = 0; age <= l; ++age) {
            by_age_[age] = first + age * params.blocks * kBlockWords;
        }
    }

    void advance(filter::Moment moment) noexcept {
        if (moment.generation != generation_) [[unlikely]] {
            generation_ = moment.generation;
            turn();
        }
    }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;

  private:
    static constexpr unsigned kBlockWords = 8;

    void turn() noexcept;

    RotatingParams params_;
    std::array<std::uint64_t*, l + 1> by_age_;  // the active one first
    std::uint64_t generation_ = 0;
};

extern template class RotatingBlocked<BlockKernel::kAvx2, 1>;
extern template class RotatingBlocked<BlockKernel::kAvx512, 1>;
extern template class RotatingBlocked<BlockKernel::kAvx512, 3>;

// Plan for the least memory. The rate is that of the worst moment, when all filters are full.
Planned<RotatingParams> plan_rotating(std::uint64_t keys, double false_positives, unsigned l);

template <BlockKernel kernel, unsigned l>
struct RotatingEngine {
    static std::string name() {
        return std::string(l == 1 ? "rotating" : "rotating" + std::to_string(l + 1)) +
               (kernel == BlockKernel::kAvx512 ? "-avx512" : "-avx2");
    }
    using Filter = RotatingBlocked<kernel, l>;
    using Params = RotatingParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_rotating(keys, false_positives, l);
    }
    static std::string unavailable() {
        const bool there = kernel == BlockKernel::kAvx512 ? __builtin_cpu_supports("avx512f") > 0
                                                          : __builtin_cpu_supports("avx2") > 0;
        return there ? "" : "the CPU has no such instructions";
    }
};

}  // namespace unecho::bench
