// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/tlbf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "base/prefetch.h"
#include "filters/in_order.h"

namespace unecho::filter {
namespace {

// The elapsed time of a generation is taken as at least this part of window / l. So the next one is
// made for at most kMaxGrowth times its insertions, even after a few simultaneous packets.
constexpr Nanoseconds kMaxGrowth = 16;

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

}  // namespace

Tlbf::Tlbf(const TlbfParams& params, std::span<std::byte> memory, Contents contents) noexcept
    : params_(params),
      state_(*carve<State>(memory, 0, 1)),
      arena_(memory.data() + kStateBytes),
      lines_(params.arena_lines()) {
    UNECHO_ASSERT(memory.size() >= bytes(params) && line_aligned(memory));
    if (contents == Contents::kRestored) {
        resume();
        return;
    }
    std::construct_at(&state_);
    state_.kept = AchievedWindow(params.spec().window);
    state_.write_guard.begin();
    restart();
    state_.write_guard.end();
}

bool Tlbf::is_consistent(const TlbfParams& params, std::span<std::byte> memory) noexcept {
    const State& state = *carve<State>(memory, 0, 1);
    return !state.write_guard.is_interrupted() && state.count >= params.k() &&
           state.count <= params.spec().max_slices && state.dirty <= state.tail &&
           state.tail <= state.head && state.head - state.tail <= params.arena_lines();
}

void Tlbf::resume() noexcept {
    for (unsigned position = 0; position < state_.count; ++position) {
        // planted: slice-addresses-not-restored
        words_[slot(position)] = words_at(at(position).line);
    }
    state_.kept.begin_report();
    plan_turn();
}

Tlbf::SliceView Tlbf::slice(unsigned position) const noexcept {
    const Slice& slice = at(position);
    const bool open = position < params_.k();
    return {slice.m,
            slice.load.inserted + (open ? state_.inserted : 0),
            {words(position), bytes_for_bits(slice.m) / sizeof(std::uint64_t)}};
}

// Prefetches the same slices as Apbf::prefetch().
void Tlbf::prefetch(Digest digest) const noexcept {
    if (bytes(params_) <= kMaxInL2) {
        return;
    }
    const Hash hash(digest);
    const auto fetch = [&](unsigned position) noexcept {
        prefetch_line(words(position) + bit_of(hash, at(position)) / 64);
    };
    const unsigned k = params_.k();
    for (unsigned position = 0; position < k; ++position) {
        fetch(position);
    }
    for (unsigned position = state_.count - k; position >= k; position -= k) {
        fetch(position);
    }
}

std::uint64_t Tlbf::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    return test_in_order(*this, digests);
}

void Tlbf::clear() noexcept {
    state_.write_guard.begin();
    restart();
    state_.write_guard.end();
}

// --- time --------------------------------------------------------------------------------------

void Tlbf::turn_whole() noexcept {
    state_.write_guard.begin();  // planted: slice-turn-not-guarded
    turn();
    state_.write_guard.end();
}

void Tlbf::shift_whole() noexcept {
    state_.write_guard.begin();
    shift();
    state_.write_guard.end();
}

// End the generation and retire slices, if due.
void Tlbf::turn() noexcept {
    if (!params_.spec().shift_on_time) {
        turn_due_ = kNever;
        return;
    }
    if (state_.holds_any && expired(state_.last_insert)) {
        restart();
        return;
    }
    if (state_.now - state_.shifted >= params_.period()) {
        if (state_.inserted != 0) {
            shift();
        } else {
            state_.shifted = state_.now;
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
    turn_due_ = later(state_.shifted, params_.period());
    const Nanoseconds window = params_.spec().window;
    if (state_.count > params_.k()) {
        turn_due_ = std::min(turn_due_, later(later(at(state_.count - 1).updated, window), 1));
    }
}

// Forget everything, and make slices as at the start.
void Tlbf::restart() noexcept {
    state_.tail = state_.head;
    state_.count = 0;
    state_.until_shift = 0;
    state_.inserted = 0;
    state_.shifted = state_.now;
    state_.last_insert = state_.now;
    state_.holds_any = false;
    for (unsigned i = 0; i < params_.least_slices(); ++i) {
        make_slice(params_.first_slice_bits());
    }
    plan_turn();
}

// --- slices ------------------------------------------------------------------------------------

// Add the ending generation's insertions to the open slices.
void Tlbf::close_generation() noexcept {
    for (unsigned position = 0; position < params_.k(); ++position) {
        Slice& slice = at(position);
        slice.load.inserted += state_.inserted;
        slice.last = state_.inserted;
        slice.updated = state_.last_insert;
    }
}

// A generation without insertions never shifts. Slice i < k can take at least k - i more: it was
// made for at least k, and a generation takes 1 / (k - i) of the rest, rounded up (4).
void Tlbf::shift() noexcept {
    UNECHO_ASSERT(state_.inserted != 0);
    const TlbfSpec& spec = params_.spec();
    close_generation();
    const Nanoseconds elapsed =
        std::max(state_.now - state_.shifted, params_.period() / kMaxGrowth);
    const std::uint64_t target =
        growth::target_generation(state_.inserted, spec.window, spec.l, elapsed);
    retire_expired(params_.least_slices() - 1);
    if (state_.count == spec.max_slices) {
        ++counters_.arena_full;
        retire_oldest();
    }
    std::array<growth::Load, kMaxSlots> ahead;
    for (unsigned i = 0; i + 1 < spec.k; ++i) {
        ahead[i] = at(i).load;
    }
    state_.shifted = state_.now;
    state_.inserted = 0;
    ++counters_.shifts;
    const std::uint64_t capacity = growth::new_slice_capacity({ahead.data(), spec.k - 1}, target);
    make_slice(std::max(growth::bits_for(capacity, spec.k), params_.least_slice_bits()));
    UNECHO_ASSERT(state_.until_shift != 0);
    plan_turn();
}

void Tlbf::retire_expired(unsigned keep) noexcept {
    while (state_.count > keep && expired(at(state_.count - 1))) {
        retire_oldest();
    }
}

// A slice that still holds part of the window is counted as evicted.
void Tlbf::retire_oldest() noexcept {
    const Slice& oldest = at(state_.count - 1);
    if (!expired(oldest)) {
        counters_.evicted_early += oldest.last;
        state_.kept.forget(oldest.updated, state_.now);
    }
    --state_.count;
    UNECHO_ASSERT(state_.count != 0);
    state_.tail = at(state_.count - 1).line;
}

void Tlbf::make_slice(std::uint64_t bits) noexcept {
    if (const std::uint64_t most = params_.max_slice_lines() * kBitsPerLine; bits > most) {
        bits = most;
        ++counters_.arena_full;
    }
    const std::uint64_t lines = bytes_for_bits(bits) / kCacheLine;
    const std::uint64_t line = make_room(lines);
    state_.head = line + lines;
    ++state_.newest;
    Slice& slice = at(0);
    slice = {};
    words_[slot(0)] = words_at(line);
    slice.line = line;
    slice.m = bits;
    slice.load.capacity = growth::capacity_of(bits);
    slice.updated = state_.now;
    slice.function = state_.newest % params_.k();
    state_.tail = state_.count == 0 ? line : state_.tail;
    ++state_.count;
    std::array<growth::Load, kMaxSlots> open;
    for (unsigned i = 0; i < params_.k() && i < state_.count; ++i) {
        open[i] = at(i).load;
    }
    state_.until_shift = growth::until_shift({open.data(), params_.k()});
}

// --- the arena ---------------------------------------------------------------------------------

// Return the first of this many zeroed lines. Retires the oldest slices if necessary.
std::uint64_t Tlbf::make_room(std::uint64_t lines) noexcept {
    const std::uint64_t position = state_.head % lines_;
    const std::uint64_t line =
        position + lines > lines_ ? state_.head + lines_ - position : state_.head;
    const std::uint64_t end = line + lines;
    if (end > state_.tail + lines_) {
        ++counters_.arena_full;
        while (end > state_.tail + lines_) {
            UNECHO_ASSERT(state_.count >= params_.k());
            retire_oldest();
        }
    }
    if (end > state_.dirty + lines_) {
        zero(end - lines_ - state_.dirty);
        ++counters_.inline_clears;
    }
    return line;
}

void Tlbf::zero(std::uint64_t lines) noexcept {
    for (lines = std::min(lines, state_.tail - state_.dirty); lines > 0;) {
        const std::uint64_t first = state_.dirty % lines_;
        const std::uint64_t piece = std::min(lines, lines_ - first);
        std::memset(arena_ + first * kCacheLine, 0, piece * kCacheLine);
        state_.dirty += piece;
        lines -= piece;
    }
}

}  // namespace unecho::filter
