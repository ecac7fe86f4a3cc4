// SPDX-License-Identifier: BSD-3-Clause
#include "peers/rotating_blocked.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <immintrin.h>

#include "filters/sizing/baseline.h"
#include "filters/sizing/fpr.h"

namespace unecho::bench {
namespace {

// The bits of a digest: the offset of its block in words, and a product whose digits are the
// positions of the bits in the words.
struct Place {
    std::uint64_t at;
    std::uint64_t digits;
};

struct Filters {
    std::uint64_t* active;
    const std::uint64_t* older;
};

// Digits have 6 bits with one bit a word, and 5 bits with two, one in each half of a word.
constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
constexpr std::uint64_t kSecondFactor = 0xC2B2AE3D27D4EB4FULL;

using Four [[gnu::vector_size(32)]] = std::uint64_t;
using Eight [[gnu::vector_size(64)]] = std::uint64_t;

[[gnu::always_inline]] inline Four digits_of(std::uint64_t product, unsigned first) noexcept {
    const Four places{first, first + 7, first + 14, first + 21};
    return product >> places;
}

[[gnu::always_inline]] inline Four bits_of(const Place& place, unsigned first, bool two) noexcept {
    constexpr Four kOne{1, 1, 1, 1};
    const Four digits = digits_of(place.digits, first);
    if (!two) {
        return kOne << (digits & 63);
    }
    const Four more = digits_of(place.digits * kSecondFactor, first);
    return (kOne << (digits & 31)) | ((kOne << 32) << (more & 31));
}

[[gnu::always_inline]] inline Four load(const std::uint64_t* words) noexcept {
    Four out;
    std::memcpy(&out, words, sizeof out);
    return out;
}

[[gnu::always_inline]] inline void store(Four value, std::uint64_t* words) noexcept {
    std::memcpy(words, &value, sizeof value);
}

[[gnu::always_inline]] inline bool all_zero(Four words) noexcept {
    return _mm256_testz_si256(reinterpret_cast<__m256i>(words), reinterpret_cast<__m256i>(words)) !=
           0;
}

template <bool two>
std::uint64_t ask_avx2(const Filters& filters, std::span<const Place> places) noexcept {
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Four low = bits_of(places[i], 8, two);
        const Four high = bits_of(places[i], 36, two);
        std::uint64_t* const line = filters.active + places[i].at;
        const Four active_low = load(line);
        const Four active_high = load(line + 4);
        const std::uint64_t* const older = filters.older + places[i].at;
        // Evaluate both, without a branch.
        const unsigned in_active = all_zero((low & ~active_low) | (high & ~active_high));
        const unsigned in_older = all_zero((low & ~load(older)) | (high & ~load(older + 4)));
        const std::uint64_t echo = in_active | in_older;
        echoes |= echo << i;
        const std::uint64_t written = echo - 1;  // an echo writes no bits
        store(active_low | (low & written), line);
        store(active_high | (high & written), line + 4);
    }
    return echoes;
}

template <bool two>
[[gnu::target("avx512f")]] std::uint64_t ask_avx512(const Filters& filters,
                                                    std::span<const Place> places) noexcept {
    constexpr Eight kShifts{8, 15, 22, 29, 36, 43, 50, 57};
    constexpr Eight kOne{1, 1, 1, 1, 1, 1, 1, 1};
    constexpr std::uint64_t kDigit = two ? 31 : 63;
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint64_t digits = places[i].digits;
        Eight bits = kOne << ((digits >> kShifts) & kDigit);
        if constexpr (two) {
            bits |= (kOne << 32) << (((digits * kSecondFactor) >> kShifts) & kDigit);
        }
        std::uint64_t* const line = filters.active + places[i].at;
        Eight active;
        Eight older;
        std::memcpy(&active, line, sizeof active);
        std::memcpy(&older, filters.older + places[i].at, sizeof older);
        const auto lacks_active = reinterpret_cast<__m512i>(bits & ~active);
        const auto lacks_older = reinterpret_cast<__m512i>(bits & ~older);
        const unsigned in_active = _mm512_test_epi64_mask(lacks_active, lacks_active) == 0;
        const unsigned in_older = _mm512_test_epi64_mask(lacks_older, lacks_older) == 0;
        const std::uint64_t echo = in_active | in_older;
        echoes |= echo << i;
        active |= bits & (echo - 1);  // an echo writes no bits
        std::memcpy(line, &active, sizeof active);
    }
    return echoes;
}

// Return the keys a block with which both filters together have at most this false-positive rate.
double load_for(double false_positives, unsigned bits) {
    static constexpr unsigned kBlockBits = 512;
    double low = 0;
    double high = kBlockBits;
    for (int step = 0; step < 50; ++step) {
        const double load = (low + high) / 2;
        const double rate = sizing::segment_match_poisson(load, kBlockBits, bits);
        (sizing::rotating_rate(rate, rate) <= false_positives ? low : high) = load;
    }
    return low;
}

}  // namespace

template <BlockKernel kernel>
std::uint64_t RotatingBlocked<kernel>::test_and_insert_burst(
    std::span<const Digest> digests) noexcept {
    std::array<Place, kBurst> all;
    const std::span<Place> places(all.data(), digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const std::uint64_t at = reduce(digests[i], params_.blocks) * kBlockWords;
        __builtin_prefetch(active_ + at, 1);
        __builtin_prefetch(older_ + at, 0);
        places[i] = {at, digests[i] * kFactor};
    }
    const Filters filters{active_, older_};
    const bool two = params_.bits_a_word == 2;
    if constexpr (kernel == BlockKernel::kAvx512) {
        return two ? ask_avx512<true>(filters, places) : ask_avx512<false>(filters, places);
    } else {
        return two ? ask_avx2<true>(filters, places) : ask_avx2<false>(filters, places);
    }
}

template <BlockKernel kernel>
void RotatingBlocked<kernel>::turn() noexcept {
    std::swap(active_, older_);
    std::memset(active_, 0, params_.blocks * filter::kCacheLine);
}

template class RotatingBlocked<BlockKernel::kAvx2>;
template class RotatingBlocked<BlockKernel::kAvx512>;

Planned<RotatingParams> plan_rotating(std::uint64_t keys, double false_positives) {
    const double eight = load_for(false_positives, 8);
    const double sixteen = load_for(false_positives, 16);
    const unsigned bits = eight >= sixteen ? 8 : 16;
    RotatingParams params;
    params.bits_a_word = bits / 8;
    params.blocks =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(keys) / std::max(eight, sixteen)));
    Facts facts;
    facts.geometry = text("2 x blocked, %u bits in 512", bits);
    facts.window_keys = keys;
    facts.generation_keys = keys;
    facts.fill_keys = 2 * keys;
    const double rate = sizing::segment_match_poisson(
        static_cast<double>(keys) / static_cast<double>(params.blocks), 512, bits);
    facts.predicted = sizing::rotating_rate(rate, rate);
    return {params, facts};
}

}  // namespace unecho::bench
