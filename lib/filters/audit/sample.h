// SPDX-License-Identifier: BSD-3-Clause
// Which keys an audit looks at: those of whose digest the low half, times a secret odd number, has
// n leading zero bits.
//
// Whoever knows neither that number nor the secret of digests cannot tell which they are. What
// filters make of a digest says nothing of it: none multiplies by this number. The line filter,
// which alone takes bits of a digest as they are, finds its lines by the high half, which is not
// looked at, and patterns by the lowest 16 bits. These are as uniform within the sample as among
// all, exactly so up to n = 16: the product's low bits are a bijection of the digest's, and free
// where the n leading ones are fixed. That the sample has its share of false drops is tested for
// every engine.
//
// Mostly no packet of a burst is in it, and to see that is all that most packets pay: half an
// instruction each. Small, so that a worker has it at hand where it needs it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "filters/hash/digest.h"

namespace unecho::filter {

class AuditSample {
  public:
    AuditSample() = default;  // no key at all
    AuditSample(std::uint64_t secret, unsigned bits) noexcept
        : factor_(static_cast<std::uint32_t>(secret) | 1),
          limit_(~std::uint32_t{0} >> bits),
          any_(true) {}

    [[nodiscard]] std::uint32_t product(Digest digest) const noexcept {
        return static_cast<std::uint32_t>(digest) * factor_;
    }
    // Of products in the sample.
    [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
    [[nodiscard]] bool has(Digest digest) const noexcept {
        return any_ && product(digest) <= limit_;
    }

    // Bit i: digests[i] is in the sample. At most kMaxBurst.
    [[nodiscard]] std::uint64_t of(std::span<const Digest> digests) const noexcept {
        return any_ && has_any(digests) ? mask_of(digests) : 0;
    }

    // Half of the keys, and twice as many.
    void halve() noexcept { limit_ >>= 1; }
    void double_keys() noexcept { limit_ = limit_ << 1 | 1; }

  private:
    using Words [[gnu::vector_size(32)]] = std::uint32_t;  // four digests, low halves first

    // Four at a time; the products of high halves are made along, and not looked at.
    [[nodiscard]] bool has_any(std::span<const Digest> digests) const noexcept {
        constexpr std::size_t kStep = sizeof(Words) / sizeof(Digest);
        const std::size_t whole = digests.size() - digests.size() % kStep;
        Words words = ~Words{};
        for (std::size_t i = 0; i < whole; i += kStep) {
            Words next;
            std::memcpy(&next, &digests[i], sizeof(next));
            next *= factor_;
            words = next < words ? next : words;
        }
        std::uint32_t least = std::min({std::uint32_t{words[0]}, std::uint32_t{words[2]},
                                        std::uint32_t{words[4]}, std::uint32_t{words[6]}});
#pragma GCC unroll 1
        for (std::size_t i = whole; i < digests.size(); ++i) {
            least = std::min(least, product(digests[i]));
        }
        return least <= limit_;
    }

    // Of few bursts, so it is no part of the loops around it.
    [[nodiscard, gnu::noinline, gnu::cold]] std::uint64_t mask_of(
        std::span<const Digest> digests) const noexcept {
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            mask |= std::uint64_t{has(digests[i])} << i;
        }
        return mask;
    }

    std::uint32_t factor_ = 0;
    std::uint32_t limit_ = 0;
    bool any_ = false;
};

}  // namespace unecho::filter
