// SPDX-License-Identifier: BSD-3-Clause
#include "filters/hash/chacha20.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace unecho::hash {
namespace {

constexpr unsigned kDoubleRounds = 10;

void quarter_round(ChachaBlock& x, std::size_t a, std::size_t b, std::size_t c,
                   std::size_t d) noexcept {
    x[a] += x[b];
    x[d] = std::rotl(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = std::rotl(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = std::rotl(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = std::rotl(x[b] ^ x[c], 7);
}

}  // namespace

ChachaBlock chacha20_block(const ChachaKey& key, std::uint32_t counter,
                           const ChachaNonce& nonce) noexcept {
    ChachaBlock start{0x61707865, 0x3320646E, 0x79622D32, 0x6B206574};
    std::copy(key.begin(), key.end(), start.begin() + 4);
    start[12] = counter;
    std::copy(nonce.begin(), nonce.end(), start.begin() + 13);
    ChachaBlock x = start;
    for (unsigned round = 0; round < kDoubleRounds; ++round) {
        for (std::size_t i = 0; i < 4; ++i) {
            quarter_round(x, i, i + 4, i + 8, i + 12);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            quarter_round(x, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12);
        }
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += start[i];
    }
    return x;
}

}  // namespace unecho::hash
