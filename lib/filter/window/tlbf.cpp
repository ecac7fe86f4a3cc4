// SPDX-License-Identifier: BSD-3-Clause
#include "filter/window/tlbf.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "filter/in_order.h"

namespace unecho::filter {
namespace {

// A generation is taken to have lasted at least this part of window / l: the next one is made for
// at most so many times its insertions. A few packets that arrive together would otherwise ask for
// slices of any size.
constexpr Nanoseconds kMostGrowth = 16;

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

}  // namespace

Tlbf::Tlbf(const TlbfParams& params, std::span<std::byte> memory) noexcept
    : params_(params),
      memory_(memory.data()),
      lines_(params.arena_lines()),
      kept_(params.spec().window) {
    UNECHO_ASSERT(memory.size() >= bytes(params) && line_aligned(memory));
    restart();
}

Tlbf::SliceView Tlbf::slice(unsigned position) const noexcept {
    const Slice& slice = at(position);
    const bool open = position < params_.k();
    return {slice.m,
            slice.load.inserted + (open ? inserted_ : 0),
            {slice.words, bytes_for_bits(slice.m) / sizeof(std::uint64_t)}};
}

// As Apbf::prefetch.
void Tlbf::prefetch(Digest digest) const noexcept {
    const Hash hash(digest);
    const auto fetch = [&](unsigned position) noexcept {
        const Slice& slice = at(position);
        __builtin_prefetch(slice.words + bit_of(hash, slice) / 64, 1);
    };
    const unsigned k = params_.k();
    for (unsigned position = 0; position < k; ++position) {
        fetch(position);
    }
    for (unsigned position = count_ - k; position >= k; position -= k) {
        fetch(position);
    }
}

std::uint64_t Tlbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

void Tlbf::clear() noexcept {
    restart();
}

// --- time --------------------------------------------------------------------------------------

// Something may be due: the end of a generation, or of slices.
void Tlbf::turn() noexcept {
    if (!params_.spec().shift_on_time) {
        turn_due_ = kNever;
        return;
    }
    if (holds_any_ && expired(last_insert_)) {
        restart();
        return;
    }
    if (now_ - shifted_ >= params_.period()) {
        if (inserted_ != 0) {
            shift();
        } else {
            shifted_ = now_;
        }
    }
    retire_expired(params_.k());
    plan_turn();
}

void Tlbf::plan_turn() noexcept {
    if (!params_.spec().shift_on_time) {
        return;
    }
    const auto later = [](Nanoseconds time, Nanoseconds by) {
        return time > kNever - by ? kNever : time + by;
    };
    turn_due_ = later(shifted_, params_.period());
    const Nanoseconds window = params_.spec().window;
    if (count_ > params_.k()) {
        turn_due_ = std::min(turn_due_, later(later(at(count_ - 1).updated, window), 1));
    }
}

// Forgets everything: slices as at the start.
void Tlbf::restart() noexcept {
    tail_ = head_;
    count_ = 0;
    until_shift_ = 0;
    inserted_ = 0;
    shifted_ = now_;
    last_insert_ = now_;
    holds_any_ = false;
    for (unsigned i = 0; i < params_.least_slices(); ++i) {
        make_slice(params_.first_slice_bits());
    }
    plan_turn();
}

// --- slices ------------------------------------------------------------------------------------

// What the generation that ends has brought to the slices that were open.
void Tlbf::close_generation() noexcept {
    for (unsigned position = 0; position < params_.k(); ++position) {
        Slice& slice = at(position);
        slice.load.inserted += inserted_;
        slice.last = inserted_;
        slice.updated = last_insert_;
    }
}

// Never of a generation without insertions: slice i < k can take at least k - i more, since it was
// made for k or more and a generation takes 1 / (k - i) of the rest, rounded upwards (4).
void Tlbf::shift() noexcept {
    UNECHO_ASSERT(inserted_ != 0);
    const TlbfSpec& spec = params_.spec();
    close_generation();
    const Nanoseconds elapsed = std::max(now_ - shifted_, params_.period() / kMostGrowth);
    const std::uint64_t target = growth::target_generation(inserted_, spec.window, spec.l, elapsed);
    retire_expired(params_.least_slices() - 1);
    if (count_ == spec.max_slices) {
        ++counters_.arena_full;
        retire_oldest();
    }
    std::array<growth::Load, kMaxSlots> ahead;
    for (unsigned i = 0; i + 1 < spec.k; ++i) {
        ahead[i] = at(i).load;
    }
    shifted_ = now_;
    inserted_ = 0;
    ++counters_.shifts;
    const std::uint64_t capacity = growth::new_slice_capacity({ahead.data(), spec.k - 1}, target);
    make_slice(std::max(growth::bits_for(capacity, spec.k), params_.least_slice_bits()));
    UNECHO_ASSERT(until_shift_ != 0);
    plan_turn();
}

void Tlbf::retire_expired(unsigned keep) noexcept {
    while (count_ > keep && expired(at(count_ - 1))) {
        retire_oldest();
    }
}

// A slice that still holds something of the window is counted.
void Tlbf::retire_oldest() noexcept {
    const Slice& oldest = at(count_ - 1);
    if (!expired(oldest)) {
        counters_.evicted_early += oldest.last;
        kept_.forget(oldest.updated, now_);
    }
    --count_;
    UNECHO_ASSERT(count_ != 0);
    tail_ = at(count_ - 1).line;
}

void Tlbf::make_slice(std::uint64_t bits) noexcept {
    if (const std::uint64_t most = params_.max_slice_lines() * kBitsPerLine; bits > most) {
        bits = most;
        ++counters_.arena_full;
    }
    const std::uint64_t lines = bytes_for_bits(bits) / kCacheLine;
    const std::uint64_t line = make_room(lines);
    head_ = line + lines;
    ++newest_;
    Slice& slice = at(0);
    slice = {};
    slice.words = reinterpret_cast<std::uint64_t*>(memory_ + line % lines_ * kCacheLine);
    slice.line = line;
    slice.m = bits;
    slice.load.capacity = growth::capacity_of(bits);
    slice.updated = now_;
    slice.function = newest_ % params_.k();
    tail_ = count_ == 0 ? line : tail_;
    ++count_;
    std::array<growth::Load, kMaxSlots> open;
    for (unsigned i = 0; i < params_.k() && i < count_; ++i) {
        open[i] = at(i).load;
    }
    until_shift_ = growth::until_shift({open.data(), params_.k()});
}

// --- the arena ---------------------------------------------------------------------------------

// Where so many zeroed lines begin. What is alive gives way from the old end; k slices never have
// to.
std::uint64_t Tlbf::make_room(std::uint64_t lines) noexcept {
    const std::uint64_t position = head_ % lines_;
    const std::uint64_t line = position + lines > lines_ ? head_ + lines_ - position : head_;
    const std::uint64_t end = line + lines;
    if (end > tail_ + lines_) {
        ++counters_.arena_full;
        while (end > tail_ + lines_) {
            UNECHO_ASSERT(count_ >= params_.k());
            retire_oldest();
        }
    }
    if (end > dirty_ + lines_) {
        zero(end - lines_ - dirty_);
        ++counters_.inline_clears;
    }
    return line;
}

void Tlbf::zero(std::uint64_t lines) noexcept {
    for (lines = std::min(lines, tail_ - dirty_); lines > 0;) {
        const std::uint64_t first = dirty_ % lines_;
        const std::uint64_t piece = std::min(lines, lines_ - first);
        std::memset(memory_ + first * kCacheLine, 0, piece * kCacheLine);
        dirty_ += piece;
        lines -= piece;
    }
}

}  // namespace unecho::filter
