// SPDX-License-Identifier: BSD-3-Clause
// The raw limit: read, change and write one random line of 64 bytes for each key, with all lines of
// a burst prefetched. Tables larger than L2 are prefetched into L2 only, which takes 0.88 of the
// time of prefetching into L1. No filter that needs one line of memory a key can be much faster.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/stream.h"
#include "filters/filter.h"
#include "filters/storage.h"

namespace unecho::bench {

class RawLimit {
  public:
    explicit RawLimit(std::span<std::byte> memory) noexcept
        : words_(reinterpret_cast<std::uint64_t*>(memory.data())),
          lines_(memory.size() / filter::kCacheLine),
          beyond_l2_(memory.size() > kL2) {}

    void advance(filter::Moment /*moment*/) noexcept {}
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        std::array<std::uint64_t*, kBurst> lines;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            lines[i] = words_ + 8 * reduce(digests[i], lines_);
            ask_for(lines[i]);
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
    static constexpr std::size_t kL2 = 1024 * 1024;

    void ask_for(const std::uint64_t* line) const noexcept {
        if (beyond_l2_) {
            __builtin_prefetch(line, 1, 2);
        } else {
            __builtin_prefetch(line, 1);
        }
    }

    std::uint64_t* words_;
    std::uint64_t lines_;
    bool beyond_l2_;
};

}  // namespace unecho::bench
