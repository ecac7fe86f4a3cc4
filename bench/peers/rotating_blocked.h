// SPDX-License-Identifier: BSD-3-Clause
// The usual alternative: two blocked Bloom filters in turn. A new digest is written to the active
// filter; both are queried. A generation is a whole window, after which the older filter is cleared
// and becomes the active one. A block is a cache line of 8 words of 64 bits, each with one or two
// bits of a digest. Both filters keep a digest's bits in the same place, so these are computed
// once. Both lines of all digests of a burst are prefetched.
//
// It always remembers the last window of keys, and at most two windows.
#pragma once

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

template <BlockKernel kernel>
class RotatingBlocked {
  public:
    [[nodiscard]] static std::uint64_t bytes(const RotatingParams& params) noexcept {
        return 2 * params.blocks * filter::kCacheLine;
    }

    RotatingBlocked(const RotatingParams& params, std::span<std::byte> memory) noexcept
        : params_(params),
          active_(reinterpret_cast<std::uint64_t*>(memory.data())),
          older_(active_ + params.blocks * kBlockWords) {}

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
    std::uint64_t* active_;
    std::uint64_t* older_;
    std::uint64_t generation_ = 0;
};

extern template class RotatingBlocked<BlockKernel::kAvx2>;
extern template class RotatingBlocked<BlockKernel::kAvx512>;

// Plan for the least memory. The rate is that of the worst moment, when both filters are full.
Planned<RotatingParams> plan_rotating(std::uint64_t keys, double false_positives);

template <BlockKernel kernel>
struct RotatingEngine {
    static std::string name() {
        return kernel == BlockKernel::kAvx512 ? "rotating-avx512" : "rotating-avx2";
    }
    using Filter = RotatingBlocked<kernel>;
    using Params = RotatingParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_rotating(keys, false_positives);
    }
    static std::string unavailable() {
        const bool there = kernel == BlockKernel::kAvx512 ? __builtin_cpu_supports("avx512f") > 0
                                                          : __builtin_cpu_supports("avx2") > 0;
        return there ? "" : "the CPU has no such instructions";
    }
};

}  // namespace unecho::bench
