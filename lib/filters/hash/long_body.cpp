// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/long_body.h"

#include <algorithm>

#include "filters/hash/kernels/body_sum.h"

namespace unecho::hash {
namespace {

constexpr BodySum kBodySum = kBodySumKernels.back().sum;

constexpr unsigned kPrimeBits = 61;
constexpr std::uint64_t kPrime = (std::uint64_t{1} << kPrimeBits) - 1;

// a < 2^62, b <= kPrime.
std::uint64_t product_mod_prime(std::uint64_t a, std::uint64_t b) noexcept {
    const uint128 product = uint128{a} * b;
    std::uint64_t sum = (static_cast<std::uint64_t>(product) & kPrime) +
                        static_cast<std::uint64_t>(product >> kPrimeBits);
    sum = (sum & kPrime) + (sum >> kPrimeBits);
    return sum >= kPrime ? sum - kPrime : sum;
}

// Continue a polynomial by a group's sum, in three parts of at most 43 bits (Horner's method).
std::uint64_t continued(std::uint64_t value, uint128 sum, std::uint64_t point) noexcept {
    constexpr unsigned kPartBits = 43;
    constexpr std::uint64_t kPart = (std::uint64_t{1} << kPartBits) - 1;
    for (unsigned part = 0; part < 3; ++part, sum >>= kPartBits) {
        value = product_mod_prime(value + (static_cast<std::uint64_t>(sum) & kPart), point);
    }
    return value;
}

// Sum a body longer than any packet; only captures have such records. The groups' sums are the
// coefficients of a polynomial modulo 2^61 - 1, evaluated at two secret points.
[[gnu::noinline]] uint128 sum_of_groups(const std::uint8_t* body, std::size_t n,
                                        const Secret& secret) noexcept {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    while (n > 0) {
        const std::size_t some = std::min(n, kGroupBytes);
        const uint128 sum = kBodySum(body, some, secret);
        low = continued(low, sum, secret.points[0] & kPrime);
        high = continued(high, sum, secret.points[1] & kPrime);
        body += some;
        n -= some;
    }
    return uint128{high} << 64 | low;
}

}  // namespace

uint128 long_body(const std::uint8_t* body, std::size_t n, const Secret& secret) noexcept {
    return n > kGroupBytes ? sum_of_groups(body, n, secret) : kBodySum(body, n, secret);
}

}  // namespace unecho::hash
