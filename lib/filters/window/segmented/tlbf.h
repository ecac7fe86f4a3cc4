// SPDX-License-Identifier: BSD-3-Clause
// Time-limited Bloom Filter (TLBF): an age-partitioned filter that sizes its slices by the rate of
// insertions, in memory given at the start. An insertion sets one bit in each of the k youngest
// slices. A digest is an echo iff k consecutive slices match. When a slice would overfill, a shift
// makes a new slice for the rate just seen. A slice is retired when all its digests are older than
// the window.
//
// Guarantee: a digest inserted less than a window ago is an echo as long as the arena suffices.
//   With shift_on_time it is new, apart from false positives, from window + k * window / l on, and
//   after a window without any insertion; each generation of window / l before that makes it
//   likelier. If the arena is full or max_slices are alive, the oldest slice is retired early: the
//   window gets shorter, the false-positive rate does not rise (arena_full, evicted_early).
// Cost: as APBF: k cache lines for an insertion, about 2 (1 + l / k) for the query of a new digest,
//   k for an echo. At a steady rate k (k + l) / (l ln 2) bits a digest of the window, more after
//   rate changes.
// Accuracy: at any rate no slice is filled beyond 1/2, and slice i < k at most to
//   1 - 2^-((i + 1) / k). The false-positive rate is at most F(k, n - k), n <= max_slices alive.
// Weakness: slower than APBF by the bookkeeping of slices. A rate that jumps up makes many short
//   generations, so more slices than k + l until the old ones are retired. Generations without
//   insertions do not shift. If packets pause within a window, the slices of a digest stay open
//   beyond window + k * window / l. The digest then matches if the g slices begun since match by
//   chance: at most 2^-g, more than for a digest never seen. Measured 0.2 ms beyond the slack, with
//   g = 9: 14 of 8000 (2^-9.2).
// References: Time-limited Bloom Filter, section 3 (equations in tlbf_growth.h). Beyond the paper:
//   the arena, shifts and retirement on time alone (shift_on_time), and the bound on growth.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/positions.h"
#include "filters/storage.h"
#include "filters/window/segmented/segment_ring.h"
#include "filters/window/segmented/tlbf_growth.h"

namespace unecho::filter {

inline constexpr Nanoseconds kMaxTlbfWindow = Nanoseconds{1} << 62;
inline constexpr std::uint64_t kMaxTlbfCapacity = std::uint64_t{1} << 40;

struct TlbfSpec {
    unsigned k = 0;  // slices written by an insertion
    unsigned l = 0;  // generations of the window at a steady rate
    Nanoseconds window = 0;
    std::uint64_t capacity = 0;     // digests of a window that the first slices are sized for
    std::uint64_t arena_bytes = 0;  // for all slices; whole cache lines
    unsigned max_slices = kMaxSlots;
    // Also shift when a generation has lasted window / l, and retire slices as time passes. The
    // slack is then bounded at any rate, and no slice is smaller than the first ones. Without it
    // both happen on insertions only, as in the paper. The paper also always keeps k + l slices,
    // and makes them as small as the rate permits.
    bool shift_on_time = true;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class TlbfParams {
  public:
    static Result<TlbfParams> make(const TlbfSpec& spec);

    [[nodiscard]] const TlbfSpec& spec() const noexcept { return spec_; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] std::uint64_t arena_lines() const noexcept {
        return spec_.arena_bytes / kCacheLine;
    }
    // The largest slice: k of them always fit, wherever the arena's end falls.
    [[nodiscard]] std::uint64_t max_slice_lines() const noexcept {
        return arena_lines() / (spec_.k + 2);
    }
    // Slices that are never retired early.
    [[nodiscard]] unsigned least_slices() const noexcept {
        return spec_.shift_on_time ? spec_.k : spec_.k + spec_.l;
    }
    [[nodiscard]] Nanoseconds period() const noexcept {
        return (spec_.window + spec_.l - 1) / spec_.l;
    }
    // Bits of each slice made at the start.
    [[nodiscard]] std::uint64_t first_slice_bits() const noexcept;
    // The least size of a slice. A burst after a silence would fill smaller ones at once.
    [[nodiscard]] std::uint64_t least_slice_bits() const noexcept {
        return spec_.shift_on_time ? first_slice_bits() : 0;
    }

  private:
    explicit TlbfParams(const TlbfSpec& spec) noexcept : spec_(spec) {}
    TlbfSpec spec_;
};

class Tlbf {
  public:
    [[nodiscard]] static std::size_t bytes(const TlbfParams& params) noexcept {
        return params.spec().arena_bytes + kStateBytes;
    }

    Tlbf(const TlbfParams& params, std::span<std::byte> memory,
         Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const TlbfParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    // Time never goes back: a moment before the present one changes nothing.
    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept { return matches(Hash(digest)); }
    void insert(Digest digest) noexcept;

    [[nodiscard]] const AchievedWindow& kept() const noexcept { return state_.kept; }
    [[nodiscard]] const TlbfParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    // Lines of the arena in use by slices.
    [[nodiscard]] std::uint64_t used() const noexcept { return state_.head - state_.tail; }

    // A live slice. Position 0 is the youngest.
    struct SliceView {
        std::uint64_t bits = 0;
        std::uint64_t inserted = 0;
        std::span<const std::uint64_t> words;  // the words with the bits
    };
    [[nodiscard]] unsigned slices() const noexcept { return state_.count; }
    [[nodiscard]] SliceView slice(unsigned position) const noexcept;

  private:
    struct Slice {
        std::uint64_t line = 0;  // its first line, in lines ever allocated
        std::uint64_t m = 0;
        growth::Load load;           // up to the last shift
        std::uint64_t last = 0;      // insertions in its last generation among the k youngest
        Nanoseconds updated = 0;     // time of its last insertion
        std::uint64_t function = 0;  // number of its hash function, of k
    };

    // Stored before the arena. An insertion is counted before its bits are set.
    struct State {
        WriteGuard write_guard;
        // The arena is a ring of lines, counted without end. Slices own [tail, head); [dirty, tail)
        // belonged to retired slices and must be zeroed; the rest is zero.
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        std::uint64_t dirty = 0;

        std::uint64_t newest = kMaxSlots - 1;  // slices ever made, minus 1, plus kMaxSlots
        unsigned count = 0;
        std::array<Slice, kMaxSlots> slices{};

        Nanoseconds now = 0;
        Nanoseconds shifted = 0;      // start of the present generation
        Nanoseconds last_insert = 0;  // of any digest
        std::uint64_t until_shift = 0;
        std::uint64_t inserted = 0;  // in the present generation
        bool holds_any = false;
        AchievedWindow kept{0};
    };
    static constexpr std::size_t kStateBytes = align_to_line(sizeof(State));

    using Hash = SlicePositions;
    [[nodiscard]] static std::uint64_t bit_of(const Hash& hash, const Slice& slice) noexcept {
        return hash.at(slice.function, slice.m);
    }

    [[nodiscard]] const Slice& at(unsigned position) const noexcept {
        return state_.slices[slot(position)];
    }
    [[nodiscard]] Slice& at(unsigned position) noexcept { return state_.slices[slot(position)]; }
    [[nodiscard]] std::uint64_t* words(unsigned position) const noexcept {
        return words_[slot(position)];
    }
    [[nodiscard]] std::uint64_t slot(unsigned position) const noexcept {
        return (state_.newest - position) % kMaxSlots;
    }
    [[nodiscard]] bool expired(Nanoseconds time) const noexcept {  // (3)
        return state_.now - time > params_.spec().window;
    }
    // For a slice that has left the k youngest, or is about to.
    [[nodiscard]] bool expired(const Slice& slice) const noexcept {
        return slice.load.inserted == 0 || expired(slice.updated);
    }
    [[nodiscard]] bool matches(const Hash& hash) const noexcept;
    void set(const Hash& hash) noexcept;

    void resume() noexcept;
    [[nodiscard]] std::uint64_t* words_at(std::uint64_t line) const noexcept {
        return reinterpret_cast<std::uint64_t*>(arena_ + line % lines_ * kCacheLine);
    }
    void turn() noexcept;
    void turn_whole() noexcept;
    void shift_whole() noexcept;
    void restart() noexcept;
    void shift() noexcept;
    void close_generation() noexcept;
    void retire_expired(unsigned keep) noexcept;
    void retire_oldest() noexcept;
    void make_slice(std::uint64_t bits) noexcept;
    void plan_turn() noexcept;
    // Lines zeroed by an insertion, if any need it: few enough for a burst, and many more than the
    // k / (512 ln 2) lines that an insertion retires on average.
    static constexpr std::uint64_t kZeroedPerInsertion = 8;

    [[nodiscard]] std::uint64_t make_room(std::uint64_t lines) noexcept;
    void zero(std::uint64_t lines) noexcept;

    TlbfParams params_;
    State& state_;
    std::byte* arena_;
    std::uint64_t lines_;
    std::array<std::uint64_t*, kMaxSlots> words_{};  // by slot of a slice
    Nanoseconds turn_due_ = 0;                       // no turn is due before this time
    FilterCounters counters_;
};

static_assert(SlidingFilter<Tlbf>);

inline bool Tlbf::matches(const Hash& hash) const noexcept {
    return run_of_matches(params_.k(), state_.count - params_.k(), [&](unsigned position) noexcept {
        const Slice& slice = at(position);
        const std::uint64_t bit = bit_of(hash, slice);
        return (words(position)[bit / 64] >> (bit % 64) & 1) != 0;
    });
}

inline void Tlbf::set(const Hash& hash) noexcept {
    if (state_.until_shift == 0) [[unlikely]] {
        shift_whole();
    }
    --state_.until_shift;
    ++state_.inserted;
    state_.last_insert = state_.now;
    state_.holds_any = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    for (unsigned position = 0; position < params_.k(); ++position) {
        const std::uint64_t bit = bit_of(hash, at(position));
        words(position)[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    ++counters_.insertions;
}

inline void Tlbf::insert(Digest digest) noexcept {
    zero(kZeroedPerInsertion);
    set(Hash(digest));
}

inline bool Tlbf::test_and_insert(Digest digest) noexcept {
    const Hash hash(digest);
    const bool echo = matches(hash);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        zero(kZeroedPerInsertion);
        set(hash);
    }
    return echo;
}

inline void Tlbf::advance(Moment moment) noexcept {
    if (moment.now > state_.now) {
        state_.now = moment.now;
        if (state_.now >= turn_due_) [[unlikely]] {
            turn_whole();
        }
    }
}

}  // namespace unecho::filter
