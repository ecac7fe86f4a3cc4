// SPDX-License-Identifier: BSD-3-Clause
#include "filter/window/segment_ring.h"

#include <algorithm>
#include <cstring>

namespace unecho::filter {

// Slots k..k+l-1 begin without segments, so that all the others are zeroed spares: the first
// advance() usually comes from generation 0 to one far away and needs k of them.
SegmentRing::SegmentRing(const RingGeometry& geometry, std::span<std::byte> memory) noexcept
    : memory_(memory.data()), geometry_(geometry), slots_(geometry.slots()) {
    UNECHO_ASSERT(geometry.k >= 1 && slots_ <= kMaxSlots && geometry.spares <= kMaxSpares);
    UNECHO_ASSERT(geometry.segment_bytes % kCacheLine == 0);
    UNECHO_ASSERT(memory.size() >= geometry.bytes() && line_aligned(memory));
    slot_.fill(kNone);
    for (unsigned id = geometry.segments(); id > geometry.k; --id) {
        zeroed_.push(static_cast<SegmentId>(id - 1));
    }
    for (unsigned slot = 0; slot < geometry.k; ++slot) {
        slot_[slot] = static_cast<SegmentId>(slot);
    }
}

void SegmentRing::shift_to(std::uint64_t generation, FilterCounters& counters) noexcept {
    const std::uint64_t passed = generation - generation_;
    const unsigned shifts = passed < slots_ ? static_cast<unsigned>(passed) : slots_;
    retire(slots_ - shifts);
    std::copy_backward(slot_.begin(), slot_.begin() + (slots_ - shifts), slot_.begin() + slots_);
    std::fill_n(slot_.begin(), shifts, kNone);
    std::copy_backward(changes_.begin(), changes_.begin() + (slots_ - shifts),
                       changes_.begin() + slots_);
    std::fill_n(changes_.begin(), shifts, 0);
    generation_ = generation;
    newest_identity_ = static_cast<unsigned>(generation % slots_);
    counters.shifts += shifts;
    back_youngest(counters);
}

void SegmentRing::clear(FilterCounters& counters) noexcept {
    retire(0);
    changes_.fill(0);
    back_youngest(counters);
}

// Slots first_slot and older lose their segments.
void SegmentRing::retire(unsigned first_slot) noexcept {
    for (unsigned slot = first_slot; slot < slots_; ++slot) {
        if (slot_[slot] != kNone) {
            retired_.push(slot_[slot]);
            slot_[slot] = kNone;
        }
    }
}

// Only where insertions write: a slot that was passed over holds nothing and needs no segment.
void SegmentRing::back_youngest(FilterCounters& counters) noexcept {
    for (unsigned slot = 0; slot < geometry_.k; ++slot) {
        if (slot_[slot] != kNone) {
            continue;
        }
        if (!zeroed_.empty()) {
            slot_[slot] = zeroed_.pop();
            continue;
        }
        UNECHO_ASSERT(!retired_.empty());  // at least k + l segments are here, see take_retired()
        slot_[slot] = retired_.pop();
        std::memset(memory_ + slot_[slot] * geometry_.segment_bytes, 0, geometry_.segment_bytes);
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
