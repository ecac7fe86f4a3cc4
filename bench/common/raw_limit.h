// SPDX-License-Identifier: BSD-3-Clause
// The raw limit: one random line of 64 bytes read, changed and written for each key, all lines of a
// burst prefetched. No filter that keeps to one line of memory a key can be faster.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/stream.h"
#include "filter/filter.h"
#include "filter/storage.h"

namespace unecho::bench {

class RawLimit {
  public:
    explicit RawLimit(std::span<std::byte> memory) noexcept
        : words_(reinterpret_cast<std::uint64_t*>(memory.data())),
          lines_(memory.size() / filter::kCacheLine) {}

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        std::array<std::uint64_t*, kBurst> lines;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            lines[i] = words_ + 8 * reduce(digests[i], lines_);
            __builtin_prefetch(lines[i], 1);
        }
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const std::uint64_t word = *lines[i];
            *lines[i] = word ^ digests[i];
            seen ^= word;
        }
        return seen;
    }

  private:
    std::uint64_t* words_;
    std::uint64_t lines_;
};

}  // namespace unecho::bench
