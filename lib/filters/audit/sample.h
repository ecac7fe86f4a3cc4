// SPDX-License-Identifier: BSD-3-Clause
// AuditSample: the keys that an audit checks. A key is in the sample if the low half of its digest,
// times a secret odd number, has n leading zero bits.
//
// Nobody can predict these keys without that number and the secret of digests. The sample is
// independent of the positions that filters derive from a digest, because none multiplies by this
// number. Only the line filter uses bits of a digest directly. It finds lines by the high half,
// which is not used here, and patterns by the lowest 16 bits. Those are as uniform in the sample as
// among all keys, exactly so up to n = 16: the product's low bits are a bijection of the digest's,
// and they are free if the n leading bits are fixed. A test for every engine checks that the sample
// has its share of false drops.
//
// Most bursts have no packet of the sample. Finding that out costs half an instruction a packet.
// The class is small, so that a worker keeps it close to where it is used.
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
    AuditSample() = default;  // contains no key
    AuditSample(std::uint64_t secret, unsigned bits) noexcept
        : factor_(static_cast<std::uint32_t>(secret) | 1),
          limit_(~std::uint32_t{0} >> bits),
          any_(true) {}

    [[nodiscard]] std::uint32_t product(Digest digest) const noexcept {
        return static_cast<std::uint32_t>(digest) * factor_;
    }
    // Products up to this are in the sample.
    [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
    [[nodiscard]] bool has(Digest digest) const noexcept {
        return any_ && product(digest) <= limit_;
    }

    // Return the digests in the sample: bit i for digests[i]. At most kMaxBurst digests.
    [[nodiscard]] std::uint64_t of(std::span<const Digest> digests) const noexcept {
        return any_ && has_any(digests) ? mask_of(digests) : 0;
    }

    // Halve and double the number of keys in the sample.
    void halve() noexcept { limit_ >>= 1; }
    void double_keys() noexcept { limit_ = limit_ << 1 | 1; }

  private:
    using Words [[gnu::vector_size(32)]] = std::uint32_t;  // four digests, low halves first

    // Test four digests at a time. Products of the high halves are computed too and ignored.
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

    // Needed for few bursts, so it stays outside the loops around it.
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
