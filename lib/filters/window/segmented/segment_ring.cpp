// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/segment_ring.h"

#include <algorithm>
#include <cstring>

namespace unecho::filter {

SegmentRing::SegmentRing(const RingGeometry& geometry, std::span<std::byte> memory,
                         Contents contents) noexcept
    : memory_(memory.data()), geometry_(geometry), slots_(geometry.slots()) {
    UNECHO_ASSERT(geometry.k >= 1 && slots_ <= kMaxSlots && geometry.spares <= kMaxSpares);
    UNECHO_ASSERT(geometry.segment_bytes % kCacheLine == 0);
    UNECHO_ASSERT(memory.size() >= geometry.bytes() && line_aligned(memory));
    state_ = state_in(geometry, memory);
    if (contents == Contents::kZero) {
        begin_empty();
    } else {
        resume();
    }
}

// Slots k..k+l-1 begin without segments, so all other segments are zeroed spares. The first
// advance() usually goes from generation 0 to one far away and needs k of them.
void SegmentRing::begin_empty() noexcept {
    state_->slot.fill(kNone);
    for (unsigned id = geometry_.segments(); id > geometry_.k; --id) {
        zeroed_.push(static_cast<SegmentId>(id - 1));
    }
    for (unsigned slot = 0; slot < geometry_.k; ++slot) {
        state_->slot[slot] = static_cast<SegmentId>(slot);
    }
}

void SegmentRing::resume() noexcept {
    newest_identity_ = static_cast<unsigned>(state_->generation % slots_);
    std::array<bool, kMaxSegments> in_slot{};
    for (unsigned slot = 0; slot < slots_; ++slot) {
        if (state_->slot[slot] != kNone) {
            in_slot[state_->slot[slot]] = true;
        }
    }
    for (unsigned id = 0; id < geometry_.segments(); ++id) {
        if (in_slot[id]) {
            continue;
        }
        if (zeroed_.size < geometry_.spares) {
            std::memset(memory_ + id * geometry_.segment_bytes, 0, geometry_.segment_bytes);
            zeroed_.push(static_cast<SegmentId>(id));
        } else {
            retired_.push(static_cast<SegmentId>(id));
        }
    }
    // An interrupted burst may have written this many more.
    for (unsigned slot = 0; slot < geometry_.k; ++slot) {
        state_->changes[slot] += kMaxBurst;
    }
}

bool SegmentRing::is_consistent(const RingGeometry& geometry,
                                std::span<std::byte> memory) noexcept {
    const State& state = *state_in(geometry, memory);
    std::array<bool, kMaxSegments> in_slot{};
    for (unsigned slot = 0; slot < geometry.slots(); ++slot) {
        const SegmentId id = state.slot[slot];
        if (id == kNone ? slot < geometry.k : id >= geometry.segments() || in_slot[id]) {
            return false;
        }
        if (id != kNone) {
            in_slot[id] = true;
        }
    }
    return !state.shift.is_interrupted();  // planted: torn-segment-shift-accepted
}

void SegmentRing::shift_to(std::uint64_t generation, FilterCounters& counters) noexcept {
    State& state = *state_;
    state.shift.begin();
    const std::uint64_t passed = generation - state.generation;
    // planted: rare-longer-memory
    const unsigned shifts = passed < slots_ ? static_cast<unsigned>(passed) : slots_;
    retire(slots_ - shifts);  // planted: turn-retires-two-segments, rare-segment-loss
    std::copy_backward(state.slot.begin(), state.slot.begin() + (slots_ - shifts),
                       state.slot.begin() + slots_);
    std::fill_n(state.slot.begin(), shifts, kNone);
    std::copy_backward(state.changes.begin(), state.changes.begin() + (slots_ - shifts),
                       state.changes.begin() + slots_);
    std::fill_n(state.changes.begin(), shifts, 0);  // planted: shift-keeps-old-loads
    state.generation = generation;
    newest_identity_ = static_cast<unsigned>(generation % slots_);
    counters.shifts += shifts;
    back_youngest(counters);
    state.shift.end();
}

void SegmentRing::clear(FilterCounters& counters) noexcept {
    state_->shift.begin();
    retire(0);
    state_->changes.fill(0);
    back_youngest(counters);
    state_->shift.end();
}

// Take the segments from slot first_slot and older ones.
void SegmentRing::retire(unsigned first_slot) noexcept {
    for (unsigned slot = first_slot; slot < slots_; ++slot) {
        if (state_->slot[slot] != kNone) {
            retired_.push(state_->slot[slot]);
            state_->slot[slot] = kNone;
        }
    }
}

// Back the slots that insertions write. Slots that were passed over hold nothing.
void SegmentRing::back_youngest(FilterCounters& counters) noexcept {
    for (unsigned slot = 0; slot < geometry_.k; ++slot) {
        if (state_->slot[slot] != kNone) {
            continue;
        }
        if (!zeroed_.empty()) {
            state_->slot[slot] = zeroed_.pop();
            continue;
        }
        UNECHO_ASSERT(!retired_.empty());  // k + l segments are here, see take_retired()
        const SegmentId id = retired_.pop();
        state_->slot[slot] = id;
        std::memset(memory_ + id * geometry_.segment_bytes, 0, geometry_.segment_bytes);
        ++counters.inline_clears;
    }
}

std::optional<SegmentId> SegmentRing::take_retired() noexcept {
    if (retired_.empty() || lent_ == geometry_.spares) {
        return std::nullopt;
    }
    ++lent_;
    return retired_.pop();
}

void SegmentRing::supply_zeroed(SegmentId id) noexcept {
    UNECHO_ASSERT(id < geometry_.segments() && lent_ > 0);
    --lent_;
    zeroed_.push(id);
}

}  // namespace unecho::filter
