// SPDX-License-Identifier: BSD-3-Clause
// SegmentRing: the ageing of filters made of segments (APBF section 5.1). There are k + l slots;
// slot 0 is the youngest. An insertion writes the segments of slots 0..k-1. A shift drops the
// segment of the oldest slot and moves every other segment one slot on.
//
// A slot is backed by one of k + l + spares physical segments, or by none; then it matches nothing.
// After advance(), slots 0..k-1 are always backed by segments that were zero when they took their
// slot. The contents of slots depend on the insertions alone, never on the number of spares or on
// when they come back: the same digests and generations give the same answers.
//
// A retired segment is full of old bits. A helper may zero it, off the packet path:
//     take_retired() -> id; zero segment_memory(id), on any thread; supply_zeroed(id)
// Without a helper, advance() clears a segment itself when it needs one
// (FilterCounters::inline_clears). At most `spares` segments are lent out at a time. So k + l
// remain here, and a shift finds one however late the others come back.
//
// May not: allocate, wait, look at the bits. (model: tests/models/segments.pml) Next: segmented.h
// (the base class of such engines), chance.h (how likely a match is accidental).
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
    // Including the ring's own state.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept;
};

class SegmentRing {
  public:
    // memory: geometry.bytes(), line-aligned, zeroed or restored. Restored segments that back no
    // slot may hold old bits or be half cleared; as many as there are spares are cleared here.
    SegmentRing(const RingGeometry& geometry, std::span<std::byte> memory,
                Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const RingGeometry& geometry,
                                            std::span<std::byte> memory) noexcept;

    [[nodiscard]] const RingGeometry& geometry() const noexcept { return geometry_; }
    [[nodiscard]] unsigned slots() const noexcept { return slots_; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return state_->generation; }

    // Return null for a slot without a segment.
    [[nodiscard]] std::byte* segment(unsigned slot) const noexcept {
        UNECHO_ASSERT(slot < slots_);
        const SegmentId id = state_->slot[slot];
        return id == kNone ? nullptr : memory_ + id * geometry_.segment_bytes;
    }

    // Return a number that selects the hash functions of a slot's segment. It must move with the
    // segment from slot to slot. So it is the generation modulo k + l in which the segment was, or
    // would have been, slot 0. Different slots have different identities at any moment.
    [[nodiscard]] unsigned identity(unsigned slot) const noexcept {
        UNECHO_ASSERT(slot < slots_);
        return newest_identity_ >= slot ? newest_identity_ - slot
                                        : newest_identity_ + slots_ - slot;
    }

    // Insertions that set a clear bit of the slot's segment; 0 without a segment. The filter counts
    // them for the slots that it writes.
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

    // Shift once for each generation passed, at most k + l times. An earlier one changes nothing.
    void advance(std::uint64_t generation, FilterCounters& counters) noexcept {
        if (generation > state_->generation) [[unlikely]] {
            shift_to(generation, counters);
        }
    }

    // Empty every slot; keep the generation.
    void clear(FilterCounters& counters) noexcept;

    // Return true if the next shift by one finds a zeroed segment.
    [[nodiscard]] bool has_zeroed() const noexcept { return !zeroed_.empty(); }

    // The exchange with a helper, as above. Only the filter's own thread calls these.
    [[nodiscard]] std::optional<SegmentId> take_retired() noexcept;
    void supply_zeroed(SegmentId id) noexcept;
    [[nodiscard]] std::span<std::byte> segment_memory(SegmentId id) const noexcept {
        UNECHO_ASSERT(id < geometry_.segments());
        return {memory_ + id * geometry_.segment_bytes, geometry_.segment_bytes};
    }

  private:
    friend RingGeometry;

    static constexpr SegmentId kNone = 0xFFFF;

    // Stored after the segments.
    struct State {
        std::uint64_t generation;
        WriteGuard shift;
        std::array<SegmentId, kMaxSlots> slot;
        std::array<std::uint64_t, kMaxSlots> changes;  // by slot
    };

    // A stack of waiting segments: the one most likely still in the cache is used first.
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
    unsigned lent_ = 0;  // segments that the helper has
};

constexpr std::uint64_t RingGeometry::bytes() const noexcept {
    return segments() * segment_bytes + align_to_line(sizeof(SegmentRing::State));
}

// The query of APBF, Algorithm 1: return true if k consecutive slots match, among k + l. Go forward
// from slot l while slots match. A mismatch rules out every run across it, so continue k slots
// before it, remembering the matches that the new run would join. No slot is queried twice.
template <typename Matches>
[[nodiscard]] inline bool run_of_matches(unsigned k, unsigned l, Matches matches) noexcept {
    int slot = static_cast<int>(l);
    unsigned run = 0;
    unsigned joined = 0;  // matches ahead that the run joins if it gets there
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
