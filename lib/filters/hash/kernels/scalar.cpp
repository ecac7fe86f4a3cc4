// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "filters/hash/kernels/body_sum-inl.h"

namespace unecho::hash {
namespace {

class ScalarBlock {
  public:
    void add(const std::uint8_t* stripe, const std::uint64_t* key) noexcept {
        sums_.first += product_sum(stripe, key);
        sums_.second += product_sum(stripe, key + kStripeWords);
    }
    [[nodiscard]] BlockSums sums() const noexcept { return sums_; }

  private:
    static constexpr std::size_t kPairs = kStripeBytes / sizeof(std::uint32_t) / 2;

    static std::uint64_t product_sum(const std::uint8_t* stripe,
                                     const std::uint64_t* key) noexcept {
        std::uint32_t w[2 * kPairs];
        std::uint32_t k[2 * kPairs];
        std::memcpy(w, stripe, sizeof w);
        std::memcpy(k, key, sizeof k);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < kPairs; ++i) {
            const std::uint32_t front = w[i] + k[i];
            const std::uint32_t back = w[i + kPairs] + k[i + kPairs];
            sum += std::uint64_t{front} * back;
        }
        return sum;
    }

    BlockSums sums_{0, 0};
};

}  // namespace

uint128 body_sum_scalar(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept {
    return body_sum<ScalarBlock>(body, n, secret);
}

}  // namespace unecho::hash
