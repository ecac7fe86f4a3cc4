// SPDX-License-Identifier: BSD-3-Clause
#include "peers/rotating_blocked.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include <immintrin.h>

#include "filters/sizing/fpr.h"

namespace unecho::bench {
namespace {

// The bits of a digest: the offset of its block in words, and a product whose digits are the
// positions of the bits in the words.
struct Place {
    std::uint64_t at;
    std::uint64_t digits;
};

template <unsigned l>
using Filters = std::array<std::uint64_t*, l + 1>;  // the active one first

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

template <bool two, unsigned l>
std::uint64_t ask_avx2(const Filters<l>& filters, std::span<const Place> places) noexcept {
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Four low = bits_of(places[i], 8, two);
        const Four high = bits_of(places[i], 36, two);
        std::uint64_t* const line = filters[0] + places[i].at;
        const Four active_low = load(line);
        const Four active_high = load(line + 4);
        // Evaluate all, without a branch.
        std::uint64_t echo = all_zero((low & ~active_low) | (high & ~active_high));
        for (unsigned age = 1; age <= l; ++age) {
            const std::uint64_t* const older = filters[age] + places[i].at;
            echo |= std::uint64_t{all_zero((low & ~load(older)) | (high & ~load(older + 4)))};
        }
        echoes |= echo << i;
        const std::uint64_t written = echo - 1;  // an echo writes no bits
        store(active_low | (low & written), line);
        store(active_high | (high & written), line + 4);
    }
    return echoes;
}

template <bool two, unsigned l>
[[gnu::target("avx512f")]] std::uint64_t ask_avx512(const Filters<l>& filters,
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
        std::uint64_t* const line = filters[0] + places[i].at;
        Eight active;
        std::memcpy(&active, line, sizeof active);
        const auto lacks_active = reinterpret_cast<__m512i>(bits & ~active);
        std::uint64_t echo = _mm512_test_epi64_mask(lacks_active, lacks_active) == 0;
        for (unsigned age = 1; age <= l; ++age) {
            Eight older;
            std::memcpy(&older, filters[age] + places[i].at, sizeof older);
            const auto lacks = reinterpret_cast<__m512i>(bits & ~older);
            echo |= std::uint64_t{_mm512_test_epi64_mask(lacks, lacks) == 0};
        }
        echoes |= echo << i;
        active |= bits & (echo - 1);  // an echo writes no bits
        std::memcpy(line, &active, sizeof active);
    }
    return echoes;
}

// Return the rate of l + 1 full filters together.
double rate_of(double load, unsigned bits, unsigned l) {
    const double one = sizing::segment_match_poisson(load, 512, bits);
    return 1 - std::pow(1 - one, l + 1);
}

// Return the keys a block with which all filters together have at most this false-positive rate.
double load_for(double false_positives, unsigned bits, unsigned l) {
    static constexpr unsigned kBlockBits = 512;
    double low = 0;
    double high = kBlockBits;
    for (int step = 0; step < 50; ++step) {
        const double load = (low + high) / 2;
        (rate_of(load, bits, l) <= false_positives ? low : high) = load;
    }
    return low;
}

}  // namespace

template <BlockKernel kernel, unsigned l>
std::uint64_t RotatingBlocked<kernel, l>::test_and_insert_burst(
    std::span<const Digest> digests) noexcept {
    std::array<Place, kBurst> all;
    const std::span<Place> places(all.data(), digests.size());
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const std::uint64_t at = reduce(digests[i], params_.blocks) * kBlockWords;
        __builtin_prefetch(by_age_[0] + at, 1);
        for (unsigned age = 1; age <= l; ++age) {
            __builtin_prefetch(by_age_[age] + at, 0);
        }
        places[i] = {at, digests[i] * kFactor};
    }
    const bool two = params_.bits_a_word == 2;
    if constexpr (kernel == BlockKernel::kAvx512) {
        return two ? ask_avx512<true, l>(by_age_, places) : ask_avx512<false, l>(by_age_, places);
    } else {
        return two ? ask_avx2<true, l>(by_age_, places) : ask_avx2<false, l>(by_age_, places);
    }
}

template <BlockKernel kernel, unsigned l>
void RotatingBlocked<kernel, l>::turn() noexcept {
    std::rotate(by_age_.begin(), by_age_.end() - 1, by_age_.end());
    std::memset(by_age_[0], 0, params_.blocks * filter::kCacheLine);
}

template class RotatingBlocked<BlockKernel::kAvx2, 1>;
template class RotatingBlocked<BlockKernel::kAvx512, 1>;
template class RotatingBlocked<BlockKernel::kAvx512, 3>;
template class RotatingBlocked<BlockKernel::kAvx512, 7>;

Planned<RotatingParams> plan_rotating(std::uint64_t keys, double false_positives, unsigned l) {
    const double eight = load_for(false_positives, 8, l);
    const double sixteen = load_for(false_positives, 16, l);
    const std::uint64_t generation = (keys + l - 1) / l;
    const unsigned bits = eight >= sixteen ? 8 : 16;
    RotatingParams params;
    params.bits_a_word = bits / 8;
    params.blocks = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(generation) / std::max(eight, sixteen)));
    Facts facts;
    facts.geometry = text("%u x blocked, %u bits in 512", l + 1, bits);
    facts.window_keys = keys;
    facts.generation_keys = generation;
    facts.fill_keys = (l + 1) * generation;
    facts.predicted =
        rate_of(static_cast<double>(generation) / static_cast<double>(params.blocks), bits, l);
    return {params, facts};
}

}  // namespace unecho::bench
