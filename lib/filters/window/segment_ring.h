// SPDX-License-Identifier: BSD-3-Clause
// The ageing of filters made of segments (APBF section 5.1): k + l slots, slot 0 the youngest. An
// insertion writes the segments of slots 0..k-1; a shift drops the segment of the oldest slot and
// moves every other one slot on.
//
// A slot is backed by one of k + l + spares physical segments, or by none; then it matches nothing.
// After advance() slots 0..k-1 are always backed by segments that were zero when they took their
// slot. What a slot holds therefore depends on the insertions alone, never on how many spares there
// are or when they come back: the same digests and generations give the same answers.
//
// Retired segments are full of old bits. Either somebody else zeroes them, off the packet path:
//     take_retired() -> id; zero segment_memory(id), on any thread; supply_zeroed(id)
// or nobody does, and advance() clears them itself when it needs one
// (FilterCounters::inline_clears). At most `spares` segments are lent out at a time, so that k + l
// always remain here and a shift finds one however late the others come back.
//
// May not: allocate, wait, look at the bits. (model: tests/models/segments.pml)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/assert.h"
#include "filters/filter.h"
#include "filters/storage.h"

namespace unecho::filter {

using SegmentId = std::uint16_t;

inline constexpr unsigned kMaxSlots = 128;  // k + l
inline constexpr unsigned kMaxSpares = 32;
inline constexpr unsigned kMaxSegments = kMaxSlots + kMaxSpares;
inline constexpr unsigned kDefaultSpares = 2;

struct RingGeometry {
    unsigned k = 0;  // slots written by an insertion
    unsigned l = 0;  // further slots: generations that the window spans
    unsigned spares = kDefaultSpares;
    std::uint64_t segment_bytes = 0;  // a multiple of kCacheLine

    [[nodiscard]] constexpr unsigned slots() const noexcept { return k + l; }
    [[nodiscard]] constexpr unsigned segments() const noexcept { return k + l + spares; }
    // With what the ring itself remembers.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept;
};

class SegmentRing {
  public:
    // memory: geometry.bytes() of it, line-aligned, zeroed or kept. Kept: what no slot has, full of
    // old bits or half cleared, is cleared here as far as spares go.
    SegmentRing(const RingGeometry& geometry, std::span<std::byte> memory,
                Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const RingGeometry& geometry,
                                            std::span<std::byte> memory) noexcept;

    [[nodiscard]] const RingGeometry& geometry() const noexcept { return geometry_; }
    [[nodiscard]] unsigned slots() const noexcept { return slots_; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return state_->generation; }

    // Null for a slot without a segment.
    [[nodiscard]] std::byte* segment(unsigned slot) const noexcept {
        UNECHO_ASSERT(slot < slots_);
        const SegmentId id = state_->slot[slot];
        return id == kNone ? nullptr : memory_ + id * geometry_.segment_bytes;
    }

    // Names the hash functions of a slot's segment: they must travel with the segment from slot to
    // slot, so they go by the generation in which it was (or would have been) slot 0, modulo k + l.
    // Distinct for distinct slots at any moment.
    [[nodiscard]] unsigned identity(unsigned slot) const noexcept {
        UNECHO_ASSERT(slot < slots_);
        return newest_identity_ >= slot ? newest_identity_ - slot
                                        : newest_identity_ + slots_ - slot;
    }

    // Insertions that set a bit of the slot's segment which was clear; its owner counts them for
    // the slots that it writes. 0 without a segment.
    [[nodiscard]] std::uint64_t changes(unsigned slot) const noexcept {
        return state_->changes[slot];
    }
    void count_change(unsigned slot, bool changed) noexcept {
        UNECHO_ASSERT(slot < geometry_.k);
        state_->changes[slot] += changed ? 1 : 0;
    }
    void count_changes(unsigned slot, std::uint64_t changes) noexcept {
        UNECHO_ASSERT(slot < geometry_.k);
        state_->changes[slot] += changes;
    }

    // Shifts once for each generation passed (after k + l shifts nothing is left, more are not
    // done). An earlier generation than the present one changes nothing.
    void advance(std::uint64_t generation, FilterCounters& counters) noexcept {
        if (generation > state_->generation) [[unlikely]] {
            shift_to(generation, counters);
        }
    }

    // Empties every slot; the generation stays.
    void clear(FilterCounters& counters) noexcept;

    // The next shift by one finds a zeroed segment.
    [[nodiscard]] bool has_zeroed() const noexcept { return !zeroed_.empty(); }

    // The exchange with a helper that zeroes, see above. Called by the filter's own thread only.
    [[nodiscard]] std::optional<SegmentId> take_retired() noexcept;
    void supply_zeroed(SegmentId id) noexcept;
    [[nodiscard]] std::span<std::byte> segment_memory(SegmentId id) const noexcept {
        UNECHO_ASSERT(id < geometry_.segments());
        return {memory_ + id * geometry_.segment_bytes, geometry_.segment_bytes};
    }

  private:
    friend RingGeometry;

    static constexpr SegmentId kNone = 0xFFFF;

    // Behind the segments.
    struct State {
        std::uint64_t generation;
        WriteGuard shift;
        std::array<SegmentId, kMaxSlots> slot;
        std::array<std::uint64_t, kMaxSlots> changes;  // by slot
    };

    // Segments that wait for something, last in first out: what left the cache last comes back
    // first.
    struct Pile {
        std::array<SegmentId, kMaxSegments> ids{};
        unsigned size = 0;

        void push(SegmentId id) noexcept { ids[size++] = id; }
        [[nodiscard]] SegmentId pop() noexcept { return ids[--size]; }
        [[nodiscard]] bool empty() const noexcept { return size == 0; }
    };

    static State* state_in(const RingGeometry& geometry, std::span<std::byte> memory) noexcept {
        return carve<State>(memory, geometry.segments() * geometry.segment_bytes, 1);
    }
    void begin_empty() noexcept;
    void resume() noexcept;
    void shift_to(std::uint64_t generation, FilterCounters& counters) noexcept;
    void retire(unsigned first_slot) noexcept;
    void back_youngest(FilterCounters& counters) noexcept;

    std::byte* memory_;
    RingGeometry geometry_;
    unsigned slots_;
    unsigned newest_identity_ = 0;  // generation mod slots_
    State* state_;
    Pile zeroed_;
    Pile retired_;
    unsigned lent_ = 0;  // segments with the helper
};

constexpr std::uint64_t RingGeometry::bytes() const noexcept {
    return segments() * segment_bytes + align_to_line(sizeof(SegmentRing::State));
}

// The query of APBF, Algorithm 1: is there a run of k consecutive slots that match, among k + l?
// Forward from slot l while slots match; a mismatch rules out every run across it, so the search
// goes on k slots before it, knowing the matches that it would join. matches(slot) is asked at most
// once for a slot.
template <typename Matches>
[[nodiscard]] inline bool run_of_matches(unsigned k, unsigned l, Matches matches) noexcept {
    int slot = static_cast<int>(l);
    unsigned run = 0;
    unsigned joined = 0;  // matches ahead that this run joins when it gets there
    while (slot >= 0) {
        if (matches(static_cast<unsigned>(slot))) {
            ++run;
            ++slot;
            if (run + joined == k) {
                return true;
            }
        } else {
            slot -= static_cast<int>(k);
            joined = run;
            run = 0;
        }
    }
    return false;
}

}  // namespace unecho::filter
