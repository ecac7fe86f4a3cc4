// SPDX-License-Identifier: BSD-3-Clause
// The burst loop of the fingerprint filter over three operations that each instruction set provides
// as a struct V (kernels/fingerprint_<isa>.cpp): compare a line, make a line with one more
// fingerprint, store it. All in an unnamed namespace, for the reason in line_body-inl.h.
#pragma once

#include <cstring>

#include "base/prefetch.h"
#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/requests.h"

namespace unecho::filter {
namespace {

// Digests whose two lines are prefetched ahead of the one being decided.
constexpr unsigned kFingerprintsAhead = kRequests / 2;
// At this distance, lines are fetched from L2 into L1. Which line is emptier is known only after
// both are read, and the written line depends on it.
constexpr unsigned kFingerprintsNear = 4;

constexpr std::uint64_t kSecondLineFactor = 0x9E3779B97F4A7C15;

// The high half of the digest gives the first line, its low bits are the fingerprint. The second
// line depends on the whole digest.
template <typename L>
inline void find_lines(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                       FingerprintPlaces& places) noexcept {
    const std::uint64_t half = view.half;
    for (unsigned i = 0; i < n; ++i) {
        const std::uint64_t digest = digests[i];
        const std::uint64_t other = (digest ^ digest >> 32) * kSecondLineFactor;
        places.at[0][i] = ((digest >> 32) * half >> 32) * kFingerprintLine;
        places.at[1][i] = (half + ((other >> 32) * half >> 32)) * kFingerprintLine;
        places.fingerprint[i] = static_cast<std::uint32_t>(digest & L::kFingerprintMask);
    }
}

// Keep the compiler from moving stores across this point. The memory of a killed process then has
// every store before it if it has one after it (filters/storage.h).
inline void in_this_order() noexcept {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Hide a value's origin from the compiler. It would otherwise turn it into a branch, mispredicted
// for every other packet at 50 % echoes.
inline std::uint64_t opaque(std::uint64_t value) noexcept {
    asm("" : "+r"(value));
    return value;
}

inline std::uint64_t word_at(const std::byte* line, unsigned byte) noexcept {
    std::uint64_t word;
    std::memcpy(&word, line + byte, sizeof word);
    return word;
}

inline std::uint64_t low_ones(std::uint64_t n) noexcept {
    return (std::uint64_t{1} << n) - 1;
}

// Return all ones if this bit of the fingerprint is set, else 0.
inline std::uint64_t spread(std::uint32_t fingerprint, unsigned bit) noexcept {
    return 0 - std::uint64_t{fingerprint >> bit & 1};
}

// Return the counts of a header as of this generation, in their place in the header.
template <typename L>
inline std::uint64_t counts_of(std::uint64_t header, std::uint32_t generation) noexcept {
    const std::uint64_t older = (generation - (header >> L::kStampAt)) & 0xFF;
    const std::uint64_t moved = (header & L::kCountsMask) << (L::kCountBits * older & 63);
    return older < L::kCounts ? moved : 0;
}

template <typename L>
inline std::uint64_t count_of(std::uint64_t counts, unsigned age) noexcept {
    return counts >> (L::kCountsAt + L::kCountBits * age) & L::kCountMask;
}

template <typename L>
inline std::uint64_t live_of(std::uint64_t counts) noexcept {
    return counts >> L::kLiveAt;
}

template <typename L>
inline std::uint64_t planes_of(const std::byte* line) noexcept {
    return L::kPlanes == 0 ? 0 : word_at(line, L::kHeaderAt) & L::kPlanesMask;
}

// A digest's view of one of its two lines.
struct Side {
    std::uint64_t counts;
    std::uint64_t found;  // matching slots, as bits
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

// Return the matching slots of the present generation.
template <typename L>
inline std::uint64_t youngest_of(const Side& side) noexcept {
    return side.found & low_ones(count_of<L>(side.counts, 0));
}

// Return the planes after the slots `moving` move up and a new fingerprint enters slot 0.
template <typename L>
inline std::uint64_t moved_planes(std::uint64_t planes, std::uint32_t fingerprint,
                                  std::uint64_t moving) noexcept {
    std::uint64_t moved = planes;
    for (unsigned p = 0; p < L::kPlanes; ++p) {
        const std::uint64_t slots = moving << L::kSlots * p;
        moved = (moved & ~slots) | (planes << 1 & slots);
        moved &= ~(std::uint64_t{1} << L::kSlots * p);
        moved |= std::uint64_t{fingerprint >> (8 * L::kBytes + p) & 1} << L::kSlots * p;
    }
    return moved;
}

template <typename L>
inline std::uint64_t header_of(const FingerprintView& view, std::uint64_t counts,
                               std::uint64_t planes) noexcept {
    const std::uint64_t header = counts | std::uint64_t{view.generation} << L::kStampAt;
    if constexpr (L::kPlanes == 0) {
        return header;
    } else {
        // Bits of the planes that lie in the last eight bytes.
        return header | planes >> (448 - 8 * L::kHeaderAt);
    }
}

template <typename L>
inline void write_end(std::byte* line, std::uint64_t planes, std::uint64_t header) noexcept {
    for (unsigned byte = L::kHeaderAt; byte < 56; ++byte) {
        line[byte] = static_cast<std::byte>(planes >> 8 * (byte - L::kHeaderAt));
    }
    for (unsigned byte = L::kHeaderAt < 56 ? 56 : L::kHeaderAt; byte < kFingerprintLine; ++byte) {
        line[byte] = static_cast<std::byte>(header >> 8 * (byte - 56));
    }
}

// Return `second` if chosen is all ones, `first` if it is 0.
inline std::uint64_t picked(std::uint64_t chosen, std::uint64_t first,
                            std::uint64_t second) noexcept {
    return first ^ ((first ^ second) & chosen);
}

// Writes lines that a killed process leaves whole: with one instruction, or by the journal.
template <typename V>
class Writer {
  public:
    explicit Writer(const FingerprintView& view) noexcept : view_(view) {}

    // Write the line if `really` is all ones. If it is 0, write to a dummy line.
    void write(std::uint64_t really, std::uint64_t at, typename V::Line line) noexcept {
        if constexpr (!V::kStoresAtOnce) {
            FingerprintJournal& journal = *view_.journal;
            V::store(journal.lines[which_], line);
            in_this_order();
            const std::uint64_t last = (at / kFingerprintLine + 1) << 1 | which_;
            // planted: line-written-without-journal
            journal.last = picked(really, journal.last, last);
            which_ ^= really & 1;
            in_this_order();
        }
        const auto nowhere = reinterpret_cast<std::uintptr_t>(nowhere_);
        const auto there = reinterpret_cast<std::uintptr_t>(view_.lines) + at;
        V::store(reinterpret_cast<std::byte*>(picked(really, nowhere, there)), line);
    }

    void end() noexcept {
        if constexpr (!V::kStoresAtOnce) {
            in_this_order();
            view_.journal->last = 0;
            in_this_order();
            std::memset(view_.journal->lines, 0, sizeof view_.journal->lines);
        }
    }

  private:
    const FingerprintView& view_;
    std::uint64_t which_ = 0;
    alignas(kFingerprintLine) std::byte nowhere_[kFingerprintLine];
};

// Return the age, in generations, of the oldest fingerprint of a full line.
template <typename L>
inline unsigned oldest_of(std::uint64_t counts) noexcept {
    unsigned age = L::kCounts - 1;
    while (age != 0 && count_of<L>(counts, age - 1) == L::kSlots) {
        --age;
    }
    return age;
}

// Both lines are full. Choose the one whose oldest fingerprint is older, and let that fingerprint
// go. Record the loss before it happens. Return true for the second line.
template <typename L>
inline bool lose_one(const FingerprintView& view, const Side& a, const Side& b,
                     FingerprintAnswers& answers) noexcept {
    const unsigned first = oldest_of<L>(a.counts);
    const unsigned second = oldest_of<L>(b.counts);
    const bool in_second = second > first;
    const std::uint64_t age = in_second ? second : first;
    FingerprintTime& time = *view.time;
    const std::uint64_t before = time.generation < age ? 1 : time.generation - age + 1;
    // planted: full-line-loss-unreported
    time.lost_before = time.lost_before < before ? before : time.lost_before;
    ++answers.lost;
    in_this_order();
    return in_second;
}

// The new contents of a line, and its place.
struct Changed {
    std::uint64_t at;
    alignas(kFingerprintLine) std::byte line[kFingerprintLine];
};

// Insert a fingerprint in the two rare cases. A match: make its fingerprint the newest of the line,
// so that a key has only one. Both lines full: replace the oldest.
template <typename L>
[[gnu::noinline, gnu::cold]] void exchange(const FingerprintView& view,
                                           const FingerprintPlaces& places, unsigned i,
                                           const Side& a, const Side& b, Changed& changed,
                                           FingerprintAnswers& answers) noexcept {
    const bool match = (a.found | b.found) != 0;
    const bool in_second = match ? a.found == 0 : lose_one<L>(view, a, b, answers);
    const Side& side = in_second ? b : a;
    const auto slot = match ? static_cast<unsigned>(__builtin_ctzll(side.found)) : L::kSlots - 1;
    const std::uint64_t at = places.at[in_second ? 1 : 0][i];
    const std::uint32_t fingerprint = places.fingerprint[i];
    // A count that includes this slot already stays as it is; the counts of younger ages gain one.
    std::uint64_t counts = side.counts;
    for (unsigned age = 0; age < L::kCounts; ++age) {
        const std::uint64_t one = std::uint64_t{1} << (L::kCountsAt + L::kCountBits * age);
        // planted: renewed-fingerprint-kept-twice
        counts += count_of<L>(side.counts, age) > slot ? 0 : one;
    }
    std::byte* const line = changed.line;
    std::memcpy(line, view.lines + at, kFingerprintLine);
    for (unsigned b8 = 0; b8 < L::kBytes; ++b8) {
        std::byte carried = static_cast<std::byte>(fingerprint >> 8 * b8);
        for (unsigned s = 0; s <= slot; ++s) {
            const std::byte next = line[b8 * L::kSlots + s];
            line[b8 * L::kSlots + s] = carried;
            carried = next;
        }
    }
    const std::uint64_t planes =
        moved_planes<L>(planes_of<L>(view.lines + at), fingerprint, low_ones(slot + 1));
    write_end<L>(line, planes, header_of<L>(view, counts, planes));
    changed.at = at;
}

template <typename L>
inline float chance_among(std::uint64_t compared) noexcept {
    return static_cast<float>(compared) / static_cast<float>(std::uint64_t{1} << L::kBits);
}

// Prefetches the lines of this burst as their turn comes near. When all are requested, prefetches
// lines of the following burst, before every other digest. Compare LineRequests.
struct FingerprintRequests {
    const FingerprintView& view;
    const FingerprintBurst& burst;
    unsigned own;
    unsigned next;

    FingerprintRequests(const FingerprintView& v, const FingerprintBurst& b) noexcept
        : view(v), burst(b), own(b.requested), next(b.next_requested) {
        for (; own < kFingerprintsAhead && own < burst.n; ++own) {
            request(*burst.places, own);
        }
    }

    // Called before digest i is decided.
    [[gnu::always_inline]] void step(unsigned i) noexcept {
        if (i + kFingerprintsNear < burst.n) {
            request<kIntoL1>(*burst.places, i + kFingerprintsNear);
        }
        if (own < burst.n) {
            request(*burst.places, own++);
        } else if ((i & 1) != 0 && burst.next != nullptr && next < burst.next_n) {
            request(*burst.next, next++);
        }
    }

    // Must be inlined, as in LineRequests.
    template <int into = kIntoL2>
    [[gnu::always_inline]] void request(const FingerprintPlaces& places,
                                        unsigned i) const noexcept {
        prefetch_line_for_write<into>(view.lines + places.at[0][i]);
        prefetch_line_for_write<into>(view.lines + places.at[1][i]);
    }
};

template <typename V, typename L, bool judging>
inline FingerprintAnswers decide(const FingerprintView& view, const FingerprintBurst& burst,
                                 const float* limits, unsigned stride) noexcept {
    const FingerprintPlaces& places = *burst.places;
    FingerprintAnswers answers;
    FingerprintRequests requests(view, burst);
    Writer<V> writer(view);
    Changed changed;
    for (unsigned i = 0; i < burst.n; ++i) {
        requests.step(i);
        const std::uint32_t fingerprint = places.fingerprint[i];
        const auto pattern = V::template pattern<L>(fingerprint);
        const Side a = look<V, L>(view, view.lines + places.at[0][i], pattern, fingerprint);
        const Side b = look<V, L>(view, view.lines + places.at[1][i], pattern, fingerprint);
        const bool match = (a.found | b.found) != 0;
        bool echo = match;
        if constexpr (judging) {
            const std::uint64_t compared = live_of<L>(a.counts) + live_of<L>(b.counts);
            echo &= chance_among<L>(compared) <= limits[i * stride];
        }
        // A fingerprint of the youngest generation is remembered as long as a new one would be.
        const bool there = (youngest_of<L>(a) | youngest_of<L>(b)) != 0;
        const std::uint64_t insert =
            opaque(0 - std::uint64_t{static_cast<bool>((!echo | view.refresh) & !there)});
        // Choose the line with fewer fingerprints; a branch would be mispredicted every other time.
        const std::uint64_t chosen = 0 - std::uint64_t{live_of<L>(b.counts) < live_of<L>(a.counts)};
        const std::uint64_t counts = picked(chosen, a.counts, b.counts) + L::kOnes;
        std::uint64_t at = picked(chosen, places.at[0][i], places.at[1][i]);
        const std::byte* const line = view.lines + at;
        const std::uint64_t planes =
            moved_planes<L>(planes_of<L>(line), fingerprint, low_ones(L::kSlots));
        typename V::Line written =
            V::template longer<L>(line, pattern, planes, header_of<L>(view, counts, planes));
        const std::uint64_t full = live_of<L>(counts) > L::kSlots ? 1 : 0;
        if (opaque(insert & (a.found | b.found | full)) != 0) [[unlikely]] {
            exchange<L>(view, places, i, a, b, changed, answers);
            at = changed.at;
            written = V::load(changed.line);
        }
        writer.write(insert, at, written);
        answers.inserted += insert & 1;
        answers.echoes |= std::uint64_t{echo} << i;
        answers.doubts |= std::uint64_t{match != echo} << i;
    }
    writer.end();
    answers.next_requested = requests.next;
    return answers;
}

template <typename V, typename L>
FingerprintAnswers test_all(const FingerprintView& view, const FingerprintBurst& burst) noexcept {
    return decide<V, L, false>(view, burst, nullptr, 0);
}

template <typename V, typename L>
FingerprintAnswers judge_all(const FingerprintView& view, const FingerprintBurst& burst,
                             const float* limits, unsigned stride) noexcept {
    return decide<V, L, true>(view, burst, limits, stride);
}

template <typename V, typename L>
FingerprintProbe probe_one(const FingerprintView& view, std::uint64_t digest) noexcept {
    FingerprintPlaces places;
    find_lines<L>(view, &digest, 1, places);
    const std::uint32_t fingerprint = places.fingerprint[0];
    const auto pattern = V::template pattern<L>(fingerprint);
    const Side a = look<V, L>(view, view.lines + places.at[0][0], pattern, fingerprint);
    const Side b = look<V, L>(view, view.lines + places.at[1][0], pattern, fingerprint);
    return {(a.found | b.found) != 0, chance_among<L>(live_of<L>(a.counts) + live_of<L>(b.counts))};
}

template <typename V, typename L>
constexpr FingerprintKernel fingerprint_kernel() noexcept {
    return {&find_lines<L>, &test_all<V, L>, &judge_all<V, L>, &probe_one<V, L>};
}

template <typename V>
constexpr FingerprintKernels fingerprint_kernels() noexcept {
    return {{fingerprint_kernel<V, Fingerprint16>(), fingerprint_kernel<V, Fingerprint24>(),
             fingerprint_kernel<V, Fingerprint26>(), fingerprint_kernel<V, Fingerprint32>()}};
}

}  // namespace
}  // namespace unecho::filter
