// SPDX-License-Identifier: BSD-3-Clause
// nth_zero() of the fingerprint kernels without PDEP: by sums over bytes (broadword selection,
// Vigna 2008). In an unnamed namespace, for the reason in line_body-inl.h.
#pragma once

#include <cstdint>

namespace unecho::filter {
namespace {

// The place of one number n of a byte.
struct OneOfByte {
    std::uint8_t at[8][256] = {};
    constexpr OneOfByte() noexcept {
        for (unsigned byte = 0; byte < 256; ++byte) {
            unsigned n = 0;
            for (unsigned bit = 0; bit < 8; ++bit) {
                if ((byte >> bit & 1) != 0) {
                    at[n++][byte] = static_cast<std::uint8_t>(bit);
                }
            }
        }
    }
};
constexpr OneOfByte kOneOfByte;

inline unsigned nth_zero_by_bytes(std::uint64_t bits, unsigned n) noexcept {
    constexpr std::uint64_t kEach = 0x0101010101010101;
    constexpr std::uint64_t kTop = 0x80 * kEach;
    const std::uint64_t zeros = ~bits;
    std::uint64_t sums = zeros - (zeros >> 1 & 0x55 * kEach);
    sums = (sums & 0x33 * kEach) + (sums >> 2 & 0x33 * kEach);
    sums = ((sums + (sums >> 4)) & 0x0F * kEach) * kEach;  // byte i: zeros of bytes 0 to i
    // A top bit stays in each byte whose sum is at most n.
    const std::uint64_t before = ((n * kEach | kTop) - sums) & kTop;
    const auto byte = static_cast<unsigned>(__builtin_popcountll(before));
    const auto rest = n - static_cast<unsigned>(sums << 8 >> 8 * byte & 0xFF);
    return 8 * byte + kOneOfByte.at[rest][zeros >> 8 * byte & 0xFF];
}

}  // namespace
}  // namespace unecho::filter
