// SPDX-License-Identifier: BSD-3-Clause
// The burst loop of the APBBF over a few operations on a block, which each instruction set provides
// as a struct V (kernels/apbbf_<isa>.cpp). Everything is in an unnamed namespace: translation units
// of different instruction sets must not share any of it.
//
// A burst is processed in groups of eight digests, in three steps. Step 1 of all groups comes
// before step 2 of any:
//  1. Find and prefetch the blocks of each digest, those of slots that are only read first.
//  2. Query the slots that are only read; no digest of the burst changes them. If one matches,
//     which a new digest's does only by accident, prefetch the segments that decide about the
//     match.
//  3. Test and insert in the written slots, and answer, in order.
#pragma once

#include <cstdint>

#include "base/prefetch.h"
#include "filters/kernels/apbbf_kernel.h"

namespace unecho::filter {
namespace {

constexpr unsigned kGroup = 8;
// Groups between steps 1 and 2, and between steps 2 and 3. The whole burst passes step 1 first:
// with fewer lines in flight a key takes 30 to 50 ns from memory instead of 25.
constexpr unsigned kLookAfter = 8;
constexpr unsigned kAnswerAfter = 1;
constexpr unsigned kUnderWay = 16;  // groups in flight; a power of two
static_assert(kLookAfter + kAnswerAfter < kUnderWay);

// The same constants as remix() of filters/hash/digest.h and BlockShape(512, 8) of window/block.h.
constexpr std::uint64_t kMixFactor[2] = {0xBF58476D1CE4E5B9, 0x94D049BB133111EB};
constexpr std::uint64_t kWordFactor = 0x9E3779B97F4A7C15;
constexpr unsigned kDigitStride = 7;
constexpr unsigned kDigitBits = 6;

// The places of a group's digests, by probe.
struct ApbbfPlaces {
    std::uint64_t digits[kMaxProbes][kGroup];  // bit positions in the words of a block, packed
    std::uint64_t* block[kMaxProbes][kGroup];
    std::uint32_t match[kMaxProbes];  // matches in read-only slots, a bit per digest
    std::uint32_t old;                // all of these together
};

inline std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * kMixFactor[0];
    x = (x ^ x >> 27) * kMixFactor[1];
    return x ^ x >> 31;
}

// Return the number of a hash's block, from the high bits, by multiplication.
inline std::uint64_t block_number(std::uint64_t hash, std::uint32_t blocks) noexcept {
    const std::uint64_t low = (hash & 0xFFFFFFFF) * blocks >> 32;
    return ((hash >> 32) * blocks + low) >> 32;
}

inline void find_row(const ApbbfProbe& probe, std::uint32_t blocks, const std::uint64_t* digests,
                     unsigned n, std::uint64_t* digits, std::uint64_t** block) noexcept {
    for (unsigned i = 0; i < n; ++i) {
        const std::uint64_t hash = mixed(digests[i] + probe.salt);
        block[i] = probe.blocks + block_number(hash, blocks) * kBlockWords;
        prefetch_line_for_write(block[i]);
        digits[i] = hash * kWordFactor;
    }
}

template <typename V>
std::uint32_t matches_of_row(const ApbbfPlaces& places, unsigned probe, unsigned n) noexcept {
    std::uint32_t matches = 0;
    for (unsigned i = 0; i < n; ++i) {
        const bool match =
            V::covers(V::load(places.block[probe][i]), V::bits(places.digits[probe][i]));
        matches |= std::uint32_t{match} << i;
    }
    return matches;
}

// Step 1, for n digests, at most one group.
template <typename V>
void find_places(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
                 ApbbfPlaces& places) noexcept {
    const auto find = [&](unsigned p) noexcept {
        V::find_row(view.probes[p], view.block_count, digests, n, places.digits[p],
                    places.block[p]);
    };
    for (unsigned p = view.k; p < view.count; ++p) {
        find(p);
    }
    for (unsigned p = 0; p < view.k; ++p) {
        find(p);
    }
}

// Return the oldest queried slot that matches. The digest must have one.
inline unsigned oldest_match(const ApbbfView& view, const ApbbfPlaces& places,
                             unsigned i) noexcept {
    unsigned oldest = 0;
    for (unsigned p = view.k; p < view.count; ++p) {
        oldest = (places.match[p] >> i & 1) != 0 ? p : oldest;
    }
    return view.probes[oldest].slot;
}

// Step 2. The state of written slots may change before step 3; here it only selects prefetches.
template <typename V>
void look(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
          ApbbfPlaces& places) noexcept {
    places.old = 0;
    for (unsigned p = view.k; p < view.count; ++p) {
        places.match[p] = matches_of_row<V>(places, p, n);
        places.old |= places.match[p];
    }
    const std::uint32_t asked = matches_of_row<V>(places, 0, n);
    std::uint32_t unsure = places.old | asked;
    for (unsigned p = 1; p < view.k && unsure != 0; ++p) {
        unsure &= ~(asked & matches_of_row<V>(places, p, n));
    }
    for (; unsure != 0; unsure &= unsure - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(unsure));
        view.approach(view.filter, digests[i], oldest_match(view, places, i));
    }
}

// Step 3, for digest i of its group. own_k: k, or 0 for any. doubted(): a match is not an echo.
template <typename V, unsigned own_k, typename Doubted>
ApbbfAnswers answer(const ApbbfView& view, std::uint64_t digest, unsigned i,
                    const ApbbfPlaces& places, Doubted doubted) noexcept {
    constexpr unsigned kMost = own_k == 0 ? kMaxProbes : own_k;
    const unsigned k = own_k == 0 ? view.k : own_k;
    typename V::Block block[kMost];
    typename V::Block bits[kMost];
    bool covers[kMost];
    bool match = true;
    for (unsigned p = 0; p < k; ++p) {
        block[p] = V::load(places.block[p][i]);
        bits[p] = V::bits(places.digits[p][i]);
        covers[p] = V::covers(block[p], bits[p]);
        match &= covers[p];
    }
    const bool unsure = covers[0] | ((places.old >> i & 1) != 0);
    if (unsure && !match) [[unlikely]] {
        match = view.search(view.filter, digest, oldest_match(view, places, i));
    }
    const bool doubt = match && doubted();
    const bool echo = match & !doubt;
    const bool insert = !echo | view.refresh;
    for (unsigned p = 0; p < k; ++p) {
        V::store(places.block[p][i], V::with(block[p], bits[p], insert));
        view.tally->changes[p] += insert && !covers[p] ? 1 : 0;
    }
    view.tally->insertions += insert ? 1 : 0;
    return {std::uint64_t{echo}, std::uint64_t{doubt}};
}

template <typename V, unsigned own_k, typename Doubted>
ApbbfAnswers run_burst(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
                       Doubted doubted) noexcept {
    ApbbfPlaces places[kUnderWay];
    ApbbfAnswers answers{0, 0};
    const unsigned groups = (n + kGroup - 1) / kGroup;
    const auto step = [&](unsigned group, auto work) noexcept {
        const unsigned begin = group * kGroup;
        if (group < groups) {
            work(begin, n - begin < kGroup ? n - begin : kGroup, places[group % kUnderWay]);
        }
    };
    // The subtractions below wrap around to numbers beyond the last group.
    for (unsigned group = 0; group < groups + kLookAfter + kAnswerAfter; ++group) {
        step(group, [&](unsigned begin, unsigned count, ApbbfPlaces& at) noexcept {
            find_places<V>(view, digests + begin, count, at);
        });
        step(group - kLookAfter, [&](unsigned begin, unsigned count, ApbbfPlaces& at) noexcept {
            look<V>(view, digests + begin, count, at);
        });
        step(group - kLookAfter - kAnswerAfter, [&](unsigned begin, unsigned count,
                                                    ApbbfPlaces& at) noexcept {
            for (unsigned i = 0; i < count; ++i) {
                const ApbbfAnswers one = answer<V, own_k>(
                    view, digests[begin + i], i, at, [&]() noexcept { return doubted(begin + i); });
                answers.echoes |= one.echoes << (begin + i);
                answers.doubts |= one.doubts << (begin + i);
            }
        });
    }
    return answers;
}

template <typename V, unsigned own_k>
std::uint64_t test_burst(const ApbbfView& view, const std::uint64_t* digests, unsigned n) noexcept {
    const auto never = [](unsigned /*i*/) noexcept { return false; };
    return run_burst<V, own_k>(view, digests, n, never).echoes;
}

template <typename V, unsigned own_k>
ApbbfAnswers judge_burst(const ApbbfView& view, const std::uint64_t* digests, unsigned n,
                         const float* limits, unsigned stride) noexcept {
    return run_burst<V, own_k>(view, digests, n, [&](unsigned i) noexcept {
        return view.doubted(view.filter, *view.tally, view, limits[i * stride]);
    });
}

template <typename V, unsigned own_k>
constexpr ApbbfKernel apbbf_kernel() noexcept {
    return {&test_burst<V, own_k>, &judge_burst<V, own_k>};
}

template <typename V>
constexpr ApbbfKernels apbbf_kernels() noexcept {
    return {
        {apbbf_kernel<V, 0>(), apbbf_kernel<V, 1>(), apbbf_kernel<V, 2>(), apbbf_kernel<V, 3>()}};
}

}  // namespace
}  // namespace unecho::filter
