// SPDX-License-Identifier: BSD-3-Clause
// 32-bit counters that saturate: a counter at its maximum stays there, so that an estimate from it
// does not wrap around to a low value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "base/assert.h"
#include "base/prefetch.h"
#include "filters/storage.h"

namespace unecho::filter::baseline {

using Count = std::uint32_t;
inline constexpr Count kMaxCount = std::numeric_limits<Count>::max();

[[nodiscard]] constexpr Count saturating_sum(Count a, Count b) noexcept {
    return a > kMaxCount - b ? kMaxCount : a + b;
}

class Counters {
  public:
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t counters) noexcept {
        return align_to_line(counters * sizeof(Count));
    }

    Counters(std::uint64_t counters, std::span<std::byte> memory) noexcept
        : bytes_(bytes(counters)), counts_(carve<Count>(memory, 0, bytes_ / sizeof(Count))) {
        UNECHO_ASSERT(line_aligned(memory));
    }

    [[nodiscard]] Count& operator[](std::uint64_t i) noexcept { return counts_[i]; }
    [[nodiscard]] Count operator[](std::uint64_t i) const noexcept { return counts_[i]; }
    void prefetch(std::uint64_t i) const noexcept { prefetch_line_for_write(&counts_[i]); }
    void clear() noexcept { std::memset(counts_, 0, bytes_); }

  private:
    std::uint64_t bytes_;
    Count* counts_;
};

}  // namespace unecho::filter::baseline
