// SPDX-License-Identifier: BSD-3-Clause
// The cells of timing Bloom filters: m timers of a few bits, packed without gaps, each the cyclic
// number of the block in which it was last written, or expired. Zeroed memory is all expired.
//
// Numbers are taken again after 2^bits - 1 blocks, so a timer must be expired before its age gets
// there. sweep() does so a few timers at a time, going round: a timer that is visited again at most
// P + 1 blocks after each visit has an age of at most kept + P + 1 at any moment, where kept is the
// oldest age that a visit spares (paper 5.1.1). Who owns the timers decides when to sweep and how
// much.
//
// May not: allocate, look at the time. Sweeping never changes whether an age is above kept.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/assert.h"
#include "base/prefetch.h"
#include "filters/storage.h"

namespace unecho::filter {

inline constexpr unsigned kMinTimerBits = 2;
inline constexpr unsigned kMaxTimerBits = 16;

// The age of an expired timer; above all others.
inline constexpr unsigned kExpiredAge = ~0U;

struct TimersGeometry {
    std::uint64_t m = 0;  // timers
    unsigned bits = 0;    // of a timer
    unsigned kept = 0;    // oldest age that is not expired, in blocks

    // Block numbers that a timer tells apart, besides expired.
    [[nodiscard]] constexpr unsigned numbers() const noexcept { return (1U << bits) - 1; }
    // A timer is read and written with the four bytes from its first on.
    [[nodiscard]] constexpr std::uint64_t timer_bytes() const noexcept {
        return align_to_line((m * bits + 7) / 8 + sizeof(std::uint32_t) - 1);
    }
    // And a line of the present block's.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
        return timer_bytes() + kCacheLine;
    }
};

class Timers {
  public:
    // memory: geometry.bytes() of it, line-aligned, zeroed.
    // Kept: it goes on with the timers of another one.
    Timers(const TimersGeometry& geometry, std::span<std::byte> memory,
           Contents contents = Contents::kZero) noexcept
        : memory_(carve<std::byte>(memory, 0, geometry.timer_bytes())),
          geometry_(geometry),
          state_(*carve<State>(memory, geometry.timer_bytes(), 1)) {
        if (contents == Contents::kZero) {
            std::construct_at(&state_);
        }
        UNECHO_ASSERT(geometry.bits >= kMinTimerBits && geometry.bits <= kMaxTimerBits);
        UNECHO_ASSERT(geometry.m >= 1 && geometry.kept < geometry.numbers());
    }

    [[nodiscard]] static bool is_consistent(const TimersGeometry& geometry,
                                            std::span<std::byte> memory) noexcept {
        const State& state = *carve<State>(memory, geometry.timer_bytes(), 1);
        return state.present >= 1 && state.present <= geometry.numbers() && state.next < geometry.m;
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return geometry_.m; }

    void prefetch(std::uint64_t index) const noexcept {
        prefetch_line_for_write(memory_ + index * geometry_.bits / 8);
    }

    // Blocks since the timer was written, at most numbers() - 1, or kExpiredAge.
    [[nodiscard]] unsigned age(std::uint64_t index) const noexcept {
        const std::uint32_t number = read(index);
        if (number == kExpired) {
            return kExpiredAge;
        }
        return number <= state_.present ? state_.present - number
                                        : state_.present + geometry_.numbers() - number;
    }

    // Its age becomes 0; false if it was.
    bool write(std::uint64_t index) noexcept {
        const bool changes = read(index) != state_.present;
        store(index, state_.present);
        return changes;
    }

    // All timers that are not expired get older by this many blocks. None may come to numbers().
    void turn(unsigned blocks) noexcept {
        state_.present = (state_.present - 1 + blocks) % geometry_.numbers() + 1;
    }

    // Visits so many timers, and expires those that will be older than kept in `ahead` blocks.
    void sweep(std::uint64_t count, unsigned ahead) noexcept;

    // Expires all timers; the present block keeps its number.
    void clear() noexcept { std::memset(memory_, 0, geometry_.timer_bytes()); }

  private:
    static_assert(std::endian::native == std::endian::little);
    static constexpr std::uint32_t kExpired = 0;

    [[nodiscard]] std::uint32_t mask() const noexcept { return geometry_.numbers(); }
    [[nodiscard]] std::uint32_t read(std::uint64_t index) const noexcept {
        UNECHO_ASSERT(index < geometry_.m);
        const std::uint64_t bit = index * geometry_.bits;
        std::uint32_t word = 0;
        std::memcpy(&word, memory_ + bit / 8, sizeof word);
        return word >> (bit % 8) & mask();
    }
    void store(std::uint64_t index, std::uint32_t number) noexcept {
        UNECHO_ASSERT(index < geometry_.m);
        const std::uint64_t bit = index * geometry_.bits;
        std::uint32_t word = 0;
        std::memcpy(&word, memory_ + bit / 8, sizeof word);
        word = (word & ~(mask() << (bit % 8))) | number << (bit % 8);
        std::memcpy(memory_ + bit / 8, &word, sizeof word);
    }

    // Behind the timers. A sweep that was cut off is done again from where it began.
    struct State {
        std::uint32_t present = 1;  // number of the present block, 1 to numbers()
        std::uint64_t next = 0;     // the timer that the sweep visits next
    };
    static_assert(sizeof(State) <= kCacheLine);

    std::byte* memory_;
    TimersGeometry geometry_;
    State& state_;
};

inline void Timers::sweep(std::uint64_t count, unsigned ahead) noexcept {
    std::uint64_t index = state_.next;
    for (; count > 0; --count) {
        const unsigned old = age(index);
        if (old != kExpiredAge && old + ahead > geometry_.kept) {
            store(index, kExpired);
        }
        index = index + 1 == geometry_.m ? 0 : index + 1;
    }
    state_.next = index;
}

}  // namespace unecho::filter
