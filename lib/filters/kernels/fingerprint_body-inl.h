// SPDX-License-Identifier: BSD-3-Clause
// The burst loop of the fingerprint filter over three operations that each instruction set provides
// as a struct V (kernels/fingerprint_<isa>.cpp): compare a line, make a line with one more
// fingerprint, store it. Each also defines nth_zero(). All in an unnamed namespace, for the reason
// in line_body-inl.h.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/prefetch.h"
#include "filters/kernels/fingerprint_kernel.h"
#include "filters/kernels/requests.h"

namespace unecho::filter {
namespace {

// Return the place of zero number n, counted from 0 and from the lowest bit. There is one.
unsigned nth_zero(const FingerprintView& view, std::uint64_t bits, unsigned n) noexcept;

// Digests whose two lines are prefetched ahead of the one being decided.
constexpr unsigned kFingerprintsAhead = kRequests / 2;
// At this distance, lines are fetched from L2 into L1. Which line is emptier is known only after
// both are read, and the written line depends on it.
constexpr unsigned kFingerprintsNear = 4;

// The word with stamp and ages, in bytes.
constexpr unsigned kHeaderAt = kFingerprintLine - 8;

constexpr std::uint64_t kDistanceFactor = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio

// The distance between the two lines of a fingerprint, from 0 to half - 1.
inline std::uint64_t distance_of(std::uint64_t half, std::uint32_t fingerprint) noexcept {
    return ((fingerprint * kDistanceFactor >> 32) * half) >> 32;
}

// The numbers of the two lines in their halves add up to the distance, modulo half. Each thus
// follows from the other and the fingerprint, so that a fingerprint can move (partial-key cuckoo
// hashing, Fan et al., CoNEXT 2014).
inline std::uint64_t other_in_half(std::uint64_t half, std::uint32_t fingerprint,
                                   std::uint64_t line) noexcept {
    const std::uint64_t distance = distance_of(half, fingerprint);
    return distance - line + (distance < line ? half : 0);
}

// Return the other line of a fingerprint, both as byte offsets of the table.
inline std::uint64_t other_line(const FingerprintView& view, std::uint32_t fingerprint,
                                std::uint64_t at) noexcept {
    const std::uint64_t half = view.half;
    const std::uint64_t line = at / kFingerprintLine;
    const std::uint64_t other = line < half ? half + other_in_half(half, fingerprint, line)
                                            : other_in_half(half, fingerprint, line - half);
    return other * kFingerprintLine;
}

// The high half of the digest gives the first line, its low bits are the fingerprint.
template <typename L>
inline void find_lines(const FingerprintView& view, const std::uint64_t* digests, unsigned n,
                       FingerprintPlaces& places) noexcept {
    const std::uint64_t half = view.half;
    for (unsigned i = 0; i < n; ++i) {
        const std::uint64_t digest = digests[i];
        const auto fingerprint = static_cast<std::uint32_t>(digest & L::kFingerprintMask);
        const std::uint64_t line = (digest >> 32) * half >> 32;
        places.at[0][i] = line * kFingerprintLine;
        places.at[1][i] = (half + other_in_half(half, fingerprint, line)) * kFingerprintLine;
        places.fingerprint[i] = fingerprint;
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

// Return the ages of a line as of this generation, in their place in the header.
template <typename L>
inline std::uint64_t ages_of(std::uint64_t header, std::uint32_t generation) noexcept {
    const std::uint64_t older = (generation - (header >> L::kStampAt)) & 0xFF;
    const std::uint64_t moved = (header & L::kAgesMask) << (older & 63);
    return older <= L::kL ? moved : 0;
}

// Return the number of live fingerprints.
template <typename L>
inline std::uint64_t live_of(const FingerprintView& view, std::uint64_t ages) noexcept {
    return nth_zero(view, ages >> L::kAgesAt, L::kL) - L::kL;
}

template <typename L>
inline std::uint64_t header_of(const FingerprintView& view, std::uint64_t ages) noexcept {
    return ages | std::uint64_t{view.generation} << L::kStampAt;
}

// The bits of a line that are planes, or that belong to slot 0; and planes full of a fingerprint's
// bits, by their value.
template <typename L>
struct alignas(kFingerprintLine) LineBits {
    std::uint64_t planes[kFingerprintLine / 8] = {};
    std::uint64_t newest[kFingerprintLine / 8] = {};
    alignas(32) std::uint64_t filled[1U << L::kPlanes][kTailWords] = {};

    constexpr LineBits() noexcept {
        for (unsigned b = 0; b < L::kBytes; ++b) {
            const unsigned byte = L::kSlots * b;
            newest[byte / 8] |= std::uint64_t{0xFF} << 8 * (byte % 8);
        }
        constexpr unsigned kTail = kTailAt / 8;
        for (unsigned i = 0; i < L::kSlots * L::kPlanes; ++i) {
            const unsigned at = L::kPlanesAt + i;
            const std::uint64_t bit = std::uint64_t{1} << at % 64;
            planes[kTail + at / 64] |= bit;
            newest[kTail + at / 64] |= i % L::kSlots == 0 ? bit : 0;
            for (unsigned value = 0; value < 1U << L::kPlanes; ++value) {
                filled[value][at / 64] |= (value >> i / L::kSlots & 1) != 0 ? bit : 0;
            }
        }
    }
};
template <typename L>
constexpr LineBits<L> kLineBits{};

// Return the planes of a line in which every slot has this fingerprint: the four words.
template <typename L>
inline const std::uint64_t* planes_of(std::uint32_t fingerprint) noexcept {
    return kLineBits<L>.filled[std::uint64_t{fingerprint} >> 8 * L::kBytes];
}

// Return the bits of one plane. Those from kSlots on are anything.
template <typename L>
inline std::uint64_t plane_at(const std::uint64_t* words, unsigned plane) noexcept {
    const unsigned at = L::kPlanesAt + L::kSlots * plane;
    const unsigned word = at / 64;
    const unsigned bit = at % 64;
    std::uint64_t slots = words[word] >> bit;
    if (bit + L::kSlots > 64) {
        slots |= words[word + 1] << (64 - bit);
    }
    return slots;
}

// Return the slots whose planes differ from the fingerprint's. Bits from kSlots on are anything.
template <typename L>
inline std::uint64_t planes_differ(const std::byte* line, std::uint32_t fingerprint) noexcept {
    if constexpr (L::kPlanes == 0) {
        return 0;
    }
    const std::uint64_t* const wanted = planes_of<L>(fingerprint);
    std::uint64_t words[kTailWords];
    for (unsigned i = L::kPlanesAt / 64; i < kTailWords; ++i) {
        words[i] = word_at(line, kTailAt + 8 * i) ^ wanted[i];
    }
    std::uint64_t slots = 0;
#pragma GCC unroll 8
    for (unsigned plane = 0; plane < L::kPlanes; ++plane) {
        slots |= plane_at<L>(words, plane);
    }
    return slots;
}

// A digest's view of one of its two lines.
struct Side {
    std::uint64_t ages;
    std::uint64_t live;
    std::uint64_t found;  // matching slots, as bits
};

template <typename V, typename L>
inline Side look(const FingerprintView& view, const std::byte* line, typename V::Pattern pattern,
                 std::uint32_t fingerprint) noexcept {
    const std::uint64_t ages = ages_of<L>(word_at(line, kHeaderAt), view.generation);
    const std::uint64_t live = live_of<L>(view, ages);
    const std::uint64_t same = V::template equal<L>(line, pattern);
    return {ages, live, same & ~planes_differ<L>(line, fingerprint) & low_ones(live)};
}

// Return the matching slots of the present generation.
template <typename L>
inline std::uint64_t youngest_of(const Side& side) noexcept {
    return side.found &
           low_ones(static_cast<unsigned>(__builtin_ctzll(~(side.ages >> L::kAgesAt))));
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

// ---- the rare cases: a line changed in its middle -----------------------------------------------

// Return the place of a slot's one among the ages. Its age is the place less the slot.
template <typename L>
inline unsigned place_of_slot(const FingerprintView& view, std::uint64_t ages,
                              unsigned slot) noexcept {
    return nth_zero(view, ~(ages >> L::kAgesAt), slot);
}

// A line that is being changed, as bytes and ages. The header is written at the end.
template <typename L>
struct Open {
    const FingerprintView& view;
    alignas(kFingerprintLine) std::byte line[kFingerprintLine];
    std::uint64_t ages;

    Open(const FingerprintView& v, std::uint64_t at, std::uint64_t ages_now) noexcept
        : view(v), ages(ages_now) {
        std::memcpy(line, view.lines + at, kFingerprintLine);
    }

    [[nodiscard]] std::uint32_t fingerprint(unsigned slot) const noexcept {
        std::uint32_t out = 0;
        for (unsigned b = 0; b < L::kBytes; ++b) {
            out |= std::to_integer<std::uint32_t>(line[L::kSlots * b + slot]) << 8 * b;
        }
        for (unsigned p = 0; p < L::kPlanes; ++p) {
            out |= bit(p, slot) << (8 * L::kBytes + p);
        }
        return out;
    }
    // The older ones move down by one slot.
    void remove(unsigned slot) noexcept {
        for (unsigned b = 0; b < L::kBytes; ++b) {
            std::byte* const there = line + L::kSlots * b + slot;
            std::memmove(there, there + 1, L::kSlots - 1 - slot);
        }
        for (unsigned p = 0; p < L::kPlanes; ++p) {
            for (unsigned s = slot; s + 1 < L::kSlots; ++s) {
                set_bit(p, s, bit(p, s + 1));
            }
        }
        const std::uint64_t younger = low_ones(L::kAgesAt + place_of_slot<L>(view, ages, slot));
        ages = (ages & younger) | (ages >> 1 & ~younger);
    }
    // Insert as the youngest of its generation. The line must not be full. The older ones move up.
    void insert(std::uint32_t fingerprint, unsigned age) noexcept {
        const unsigned place = age == 0 ? 0 : nth_zero(view, ages >> L::kAgesAt, age - 1) + 1;
        const unsigned slot = place - age;
        for (unsigned b = 0; b < L::kBytes; ++b) {
            std::byte* const there = line + L::kSlots * b + slot;
            std::memmove(there + 1, there, L::kSlots - 1 - slot);
            *there = static_cast<std::byte>(fingerprint >> 8 * b);
        }
        for (unsigned p = 0; p < L::kPlanes; ++p) {
            for (unsigned s = L::kSlots - 1; s != slot; --s) {
                set_bit(p, s, bit(p, s - 1));
            }
            set_bit(p, slot, fingerprint >> (8 * L::kBytes + p) & 1);
        }
        const std::uint64_t one = std::uint64_t{1} << (L::kAgesAt + place);
        const std::uint64_t younger = one - 1;
        ages = (ages & younger) | one | (ages & ~younger) << 1;
    }
    void close() noexcept {
        const std::uint64_t header =
            (word_at(line, kHeaderAt) & ~L::kHeaderMask) | header_of<L>(view, ages);
        std::memcpy(line + kHeaderAt, &header, sizeof header);
    }

  private:
    [[nodiscard]] std::uint32_t bit(unsigned plane, unsigned slot) const noexcept {
        const unsigned at = 8 * kTailAt + L::kPlanesAt + L::kSlots * plane + slot;
        return std::to_integer<std::uint32_t>(line[at / 8]) >> at % 8 & 1;
    }
    void set_bit(unsigned plane, unsigned slot, std::uint32_t value) noexcept {
        const unsigned at = 8 * kTailAt + L::kPlanesAt + L::kSlots * plane + slot;
        line[at / 8] =
            (line[at / 8] & ~(std::byte{1} << at % 8)) | static_cast<std::byte>(value << at % 8);
    }
};

// Move one fingerprint of a full line to its other line, if one of them has room there. The oldest
// are tried first: their other lines are the least likely to be full.
template <typename V, typename L>
inline bool make_room(const FingerprintView& view, std::uint64_t at, Open<L>& full,
                      Writer<V>& writer) noexcept {
    for (unsigned slot = L::kSlots; slot-- != 0;) {
        const std::uint32_t fingerprint = full.fingerprint(slot);
        const std::uint64_t there = other_line(view, fingerprint, at);
        const std::uint64_t ages =
            ages_of<L>(word_at(view.lines + there, kHeaderAt), view.generation);
        if (live_of<L>(view, ages) < L::kSlots) {
            Open<L> other(view, there, ages);
            // planted: moved-fingerprint-made-young
            other.insert(fingerprint, place_of_slot<L>(view, full.ages, slot) - slot);
            other.close();
            // Before it leaves the full line: a killed process then knows it twice, not never.
            writer.write(~std::uint64_t{0}, there, V::load(other.line));
            in_this_order();
            full.remove(slot);
            return true;
        }
    }
    return false;
}

// Return the age, in generations, of the oldest fingerprint of a full line.
template <typename L>
inline unsigned oldest_of(const FingerprintView& view, std::uint64_t ages) noexcept {
    return place_of_slot<L>(view, ages, L::kSlots - 1) - (L::kSlots - 1);
}

// Record the loss of a fingerprint, before it happens.
inline void record_loss(const FingerprintView& view, unsigned age,
                        FingerprintAnswers& answers) noexcept {
    FingerprintTime& time = *view.time;
    const std::uint64_t before = time.generation < age ? 1 : time.generation - age + 1;
    // planted: full-line-loss-unreported
    time.lost_before = time.lost_before < before ? before : time.lost_before;
    ++answers.lost;
    in_this_order();
}

// The new contents of a line, and its place.
template <typename V>
struct Changed {
    std::uint64_t at;
    typename V::Line line;
};

// Insert a fingerprint in the two rare cases. A match: make its fingerprint the newest of the line,
// so that a key has only one. Both lines full: move a fingerprint of one of them; if none can move,
// let the oldest of both lines go.
template <typename V, typename L>
[[gnu::noinline, gnu::cold]] Changed<V> exchange(const FingerprintView& view,
                                                 const FingerprintPlaces& places, unsigned i,
                                                 const Side& a, const Side& b, Writer<V>& writer,
                                                 FingerprintAnswers& answers) noexcept {
    const std::uint64_t at[] = {places.at[0][i], places.at[1][i]};
    const Side* const sides[] = {&a, &b};
    const auto changed = [&](unsigned which, Open<L>& open) {
        open.insert(places.fingerprint[i], 0);
        open.close();
        return Changed<V>{at[which], V::load(open.line)};
    };
    if ((a.found | b.found) != 0) {
        const unsigned which = a.found == 0 ? 1 : 0;
        Open<L> open(view, at[which], sides[which]->ages);
        // planted: renewed-fingerprint-kept-twice
        open.remove(static_cast<unsigned>(__builtin_ctzll(sides[which]->found)));
        return changed(which, open);
    }
    for (unsigned which = 0; which < 2; ++which) {
        Open<L> open(view, at[which], sides[which]->ages);
        if (make_room<V, L>(view, at[which], open, writer)) {
            return changed(which, open);
        }
    }
    const unsigned ages[] = {oldest_of<L>(view, a.ages), oldest_of<L>(view, b.ages)};
    const unsigned which = ages[1] > ages[0] ? 1 : 0;
    record_loss(view, ages[which], answers);
    Open<L> open(view, at[which], sides[which]->ages);
    open.remove(L::kSlots - 1);
    return changed(which, open);
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
    for (unsigned i = 0; i < burst.n; ++i) {
        requests.step(i);
        const std::uint32_t fingerprint = places.fingerprint[i];
        const auto pattern = V::template pattern<L>(fingerprint);
        const Side a = look<V, L>(view, view.lines + places.at[0][i], pattern, fingerprint);
        const Side b = look<V, L>(view, view.lines + places.at[1][i], pattern, fingerprint);
        const bool match = (a.found | b.found) != 0;
        bool echo = match;
        if constexpr (judging) {
            echo &= chance_among<L>(a.live + b.live) <= limits[i * stride];
        }
        // A fingerprint of the youngest generation is remembered as long as a new one would be.
        const bool there = (youngest_of<L>(a) | youngest_of<L>(b)) != 0;
        const std::uint64_t insert =
            opaque(0 - std::uint64_t{static_cast<bool>((!echo | view.refresh) & !there)});
        // Choose the line with fewer fingerprints; a branch would be mispredicted every other time.
        const std::uint64_t chosen = 0 - std::uint64_t{b.live < a.live};
        const std::uint64_t ages = picked(chosen, a.ages, b.ages) << 1 | L::kNewestAge;
        std::uint64_t at = picked(chosen, places.at[0][i], places.at[1][i]);
        typename V::Line written =
            V::template longer<L>(view.lines + at, pattern, header_of<L>(view, ages));
        const std::uint64_t full = picked(chosen, a.live, b.live) == L::kSlots ? 1 : 0;
        if (opaque(insert & (a.found | b.found | full)) != 0) [[unlikely]] {
            const Changed<V> changed = exchange<V, L>(view, places, i, a, b, writer, answers);
            at = changed.at;
            written = changed.line;
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
    return {(a.found | b.found) != 0, chance_among<L>(a.live + b.live)};
}

template <typename V, typename L>
constexpr FingerprintKernel fingerprint_kernel() noexcept {
    return {&find_lines<L>, &test_all<V, L>, &judge_all<V, L>, &probe_one<V, L>};
}

template <typename V>
constexpr FingerprintKernels fingerprint_kernels() noexcept {
    return {{fingerprint_kernel<V, Fingerprint13>(), fingerprint_kernel<V, Fingerprint16>(),
             fingerprint_kernel<V, Fingerprint19>(), fingerprint_kernel<V, Fingerprint23>(),
             fingerprint_kernel<V, Fingerprint24>(), fingerprint_kernel<V, Fingerprint26>(),
             fingerprint_kernel<V, Fingerprint32>()}};
}

}  // namespace
}  // namespace unecho::filter
