// SPDX-License-Identifier: BSD-3-Clause
// A burst over what each instruction set brings as a struct V: comparing a line, and writing it.
// All in an unnamed namespace, as filter/kernels/line_body-inl.h and for the same reason.
#pragma once

#include <cstring>

#include "peers/fingerprint_kernel.h"

namespace unecho::bench {
namespace {

// Digests whose two lines are asked for ahead of the one that is decided: 20 lines, as for the line
// filter.
constexpr unsigned kAhead = 10;

constexpr std::uint64_t kSecondFactor = 0x9E3779B97F4A7C15;

// The high half of the digest names the first line, its low bits are the fingerprint; the second
// line is drawn from all of it.
template <typename L>
inline void find(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                 FingerprintPlaces& places) noexcept {
    const std::uint64_t half = view.half;
    for (unsigned i = 0; i < n; ++i) {
        const std::uint64_t digest = digests[i];
        const std::uint64_t other = (digest ^ digest >> 32) * kSecondFactor;
        places.at[0][i] = ((digest >> 32) * half >> 32) * kFingerprintLine;
        places.at[1][i] = (half + ((other >> 32) * half >> 32)) * kFingerprintLine;
        places.fingerprint[i] = static_cast<std::uint32_t>(digest) & ((1U << L::kBits) - 1);
    }
}

inline std::uint64_t word_at(const std::byte* line, unsigned byte) noexcept {
    std::uint64_t word;
    std::memcpy(&word, line + byte, sizeof word);
    return word;
}

inline std::uint64_t low_ones(std::uint64_t n) noexcept {
    return (std::uint64_t{1} << n) - 1;
}

// All ones or none, by a bit of the fingerprint.
inline std::uint64_t spread(std::uint32_t fingerprint, unsigned bit) noexcept {
    return 0 - std::uint64_t{fingerprint >> bit & 1};
}

// Counts as they are in this generation, where they stand in the header.
template <typename L>
inline std::uint64_t counts_of(std::uint64_t header, std::uint32_t generation) noexcept {
    const std::uint64_t older = (generation - (header >> L::kStampAt)) & 0xFF;
    const std::uint64_t moved = (header & L::kCountsMask) << (L::kCountBits * older & 63);
    return older < L::kCounts ? moved : 0;
}

template <typename L>
inline std::uint64_t live_of(std::uint64_t counts) noexcept {
    return counts >> L::kLiveAt;
}

template <typename L>
inline std::uint64_t planes_of(const std::byte* line) noexcept {
    return L::kPlanes == 0 ? 0 : word_at(line, L::kHeaderAt) & L::kPlanesMask;
}

// One line of a digest.
struct Side {
    std::uint64_t counts;
    std::uint64_t found;  // slots
};

template <typename V, typename L>
inline Side look(const FingerprintView& view, const std::byte* line, typename V::Pattern pattern,
                 std::uint32_t fingerprint) noexcept {
    const std::uint64_t counts = counts_of<L>(word_at(line, 56), view.generation);
    std::uint64_t found = V::template equal<L>(line, pattern) & low_ones(live_of<L>(counts));
    const std::uint64_t planes = planes_of<L>(line);
    for (unsigned p = 0; p < L::kPlanes; ++p) {
        found &= ~(planes >> L::kSlots * p ^ spread(fingerprint, 8 * L::kBytes + p));
    }
    return {counts, found};
}

// Of the slots found, those of the present generation.
template <typename L>
inline std::uint64_t youngest_of(const Side& side) noexcept {
    return side.found & low_ones(side.counts >> L::kCountsAt & L::kCountMask);
}

// The planes with one more fingerprint.
template <typename L>
inline std::uint64_t moved_planes(std::uint64_t planes, std::uint32_t fingerprint) noexcept {
    std::uint64_t moved = planes << 1 & L::kPlanesMask;
    for (unsigned p = 0; p < L::kPlanes; ++p) {
        moved &= ~(std::uint64_t{1} << L::kSlots * p);
        moved |= std::uint64_t{fingerprint >> (8 * L::kBytes + p) & 1} << L::kSlots * p;
    }
    return moved;
}

// Those of the planes' bits that are in the last eight bytes.
template <typename L>
inline std::uint64_t high_planes(std::uint64_t planes) noexcept {
    if constexpr (L::kPlanes == 0) {
        return 0;
    } else {
        return planes >> (448 - 8 * L::kHeaderAt);
    }
}

// Of a full line: the age of its oldest fingerprint, in generations.
template <typename L>
inline unsigned oldest_of(std::uint64_t counts) noexcept {
    unsigned age = L::kCounts - 1;
    while (age != 0 &&
           (counts >> (L::kCountsAt + L::kCountBits * (age - 1)) & L::kCountMask) == L::kSlots) {
        --age;
    }
    return age;
}

// The first, or where chosen is all ones the second.
inline std::uint64_t picked(std::uint64_t chosen, std::uint64_t first,
                            std::uint64_t second) noexcept {
    return first ^ ((first ^ second) & chosen);
}

struct Full {
    std::uint64_t chosen;
    std::uint64_t counts;
};

// Both lines are full: into the one whose oldest fingerprint, which gives way, is older.
template <typename L>
[[gnu::noinline, gnu::cold]] Full insert_into_full(std::uint64_t first, std::uint64_t second,
                                                   FingerprintAnswers& answers) noexcept {
    const bool in_second = oldest_of<L>(second) > oldest_of<L>(first);
    std::uint64_t counts = in_second ? second : first;
    const unsigned age = oldest_of<L>(counts);
    for (unsigned j = 0; j < age; ++j) {
        counts += std::uint64_t{1} << (L::kCountsAt + L::kCountBits * j);
    }
    ++answers.lost;
    answers.youngest_lost = age < answers.youngest_lost ? age : answers.youngest_lost;
    return {0 - std::uint64_t{in_second}, counts};
}

template <typename L>
inline float chance_of(std::uint64_t compared) noexcept {
    return static_cast<float>(compared) / static_cast<float>(1U << L::kBits);
}

struct Requests {
    const FingerprintView& view;
    const FingerprintPlaces& places;
    unsigned n;
    unsigned next = 0;

    [[gnu::always_inline]] void step() noexcept {
        if (next < n) {
            __builtin_prefetch(view.lines + places.at[0][next], 1);
            __builtin_prefetch(view.lines + places.at[1][next], 1);
            ++next;
        }
    }
};

template <typename V, typename L, bool judging>
inline FingerprintAnswers decide(const FingerprintView& view, const FingerprintPlaces& places,
                                 unsigned n, const float* limits, unsigned stride) noexcept {
    alignas(kFingerprintLine) std::byte nowhere[kFingerprintLine];
    FingerprintAnswers answers;
    Requests requests{view, places, n};
    for (unsigned i = 0; i < kAhead; ++i) {
        requests.step();
    }
    for (unsigned i = 0; i < n; ++i) {
        requests.step();
        const std::uint32_t fingerprint = places.fingerprint[i];
        const auto pattern = V::template pattern<L>(fingerprint);
        const Side a = look<V, L>(view, view.lines + places.at[0][i], pattern, fingerprint);
        const Side b = look<V, L>(view, view.lines + places.at[1][i], pattern, fingerprint);
        const bool match = (a.found | b.found) != 0;
        bool echo = match;
        if constexpr (judging) {
            const std::uint64_t compared = live_of<L>(a.counts) + live_of<L>(b.counts);
            echo &= chance_of<L>(compared) <= limits[i * stride];
        }
        // A fingerprint of the youngest generation is remembered as long as a new one would be.
        const bool there = (youngest_of<L>(a) | youngest_of<L>(b)) != 0;
        const bool insert = (!echo | view.refresh) & !there;
        // The line with fewer; without a branch, which would be mispredicted for every other
        // digest.
        std::uint64_t chosen = 0 - std::uint64_t{live_of<L>(b.counts) < live_of<L>(a.counts)};
        std::uint64_t counts = picked(chosen, a.counts, b.counts) + L::kOnes;
        if (insert & (live_of<L>(counts) > L::kSlots)) [[unlikely]] {
            const Full full = insert_into_full<L>(a.counts, b.counts, answers);
            chosen = full.chosen;
            counts = full.counts;
        }
        std::byte* const line = view.lines + picked(chosen, places.at[0][i], places.at[1][i]);
        const std::uint64_t planes = moved_planes<L>(planes_of<L>(line), fingerprint);
        const std::uint64_t header =
            counts | std::uint64_t{view.generation} << L::kStampAt | high_planes<L>(planes);
        // Without a branch: at 50 % echoes a mispredicted one costs more than a store.
        V::template append<L>(insert ? line : nowhere, line, pattern, planes, header);
        answers.inserted += insert ? 1 : 0;
        answers.echoes |= std::uint64_t{echo} << i;
        answers.doubts |= std::uint64_t{match != echo} << i;
    }
    return answers;
}

template <typename V, typename L>
FingerprintAnswers test(const FingerprintView& view, const FingerprintPlaces& places,
                        unsigned n) noexcept {
    return decide<V, L, false>(view, places, n, nullptr, 0);
}

template <typename V, typename L>
FingerprintAnswers judge(const FingerprintView& view, const FingerprintPlaces& places, unsigned n,
                         const float* limits, unsigned stride) noexcept {
    return decide<V, L, true>(view, places, n, limits, stride);
}

template <typename L>
float chance(const FingerprintView& view, std::uint64_t digest) noexcept {
    FingerprintPlaces places;
    find<L>(view, &digest, 1, places);
    std::uint64_t compared = 0;
    for (const auto& at : places.at) {
        compared += live_of<L>(counts_of<L>(word_at(view.lines + at[0], 56), view.generation));
    }
    return chance_of<L>(compared);
}

template <typename V, typename L>
constexpr FingerprintKernel fingerprint_kernel() noexcept {
    return {&find<L>, &test<V, L>, &judge<V, L>, &chance<L>};
}

template <typename V>
constexpr FingerprintKernels fingerprint_kernels() noexcept {
    return {fingerprint_kernel<V, Fingerprint16>(), fingerprint_kernel<V, Fingerprint26>()};
}

}  // namespace
}  // namespace unecho::bench
