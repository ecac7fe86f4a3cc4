// SPDX-License-Identifier: BSD-3-Clause
// Timers: the cells of timing Bloom filters. m timers of a few bits, packed without gaps. A timer
// holds the cyclic number of the block in which it was last written, or is expired. 0 is expired.
//
// Numbers repeat after 2^bits - 1 blocks, so a timer must expire before its age gets there. sweep()
// does that for a few timers at a time, in turn. If every timer is visited at least every P + 1
// blocks, its age is at most kept + P + 1 at any moment. kept is the oldest age that a visit spares
// (paper 5.1.1). The owner decides when to sweep and how much.
//
// May not: allocate, read a clock. Sweeping never changes whether an age is above kept.
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

// The age of an expired timer, above all others.
inline constexpr unsigned kExpiredAge = ~0U;

struct TimersGeometry {
    std::uint64_t m = 0;  // timers
    unsigned bits = 0;    // of a timer
    unsigned kept = 0;    // oldest age that is not expired, in blocks

    // Number of different block numbers, without "expired".
    [[nodiscard]] constexpr unsigned numbers() const noexcept { return (1U << bits) - 1; }
    // A timer is accessed as the four bytes from its first byte on, hence the padding.
    [[nodiscard]] constexpr std::uint64_t timer_bytes() const noexcept {
        return align_to_line((m * bits + 7) / 8 + sizeof(std::uint32_t) - 1);
    }
    // Including a line for the state.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
        return timer_bytes() + kCacheLine;
    }
};

class Timers {
  public:
    // memory: geometry.bytes(), line-aligned, zeroed or restored.
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

    // Return the blocks since the timer was written, at most numbers() - 1, or kExpiredAge.
    [[nodiscard]] unsigned age(std::uint64_t index) const noexcept {
        const std::uint32_t number = read(index);
        if (number == kExpired) {
            return kExpiredAge;
        }
        return number <= state_.present ? state_.present - number
                                        : state_.present + geometry_.numbers() - number;
    }

    // Set the timer's age to 0. Return false if it was 0.
    bool write(std::uint64_t index) noexcept {
        const bool changes = read(index) != state_.present;
        store(index, state_.present);
        return changes;
    }

    // Age all timers that are not expired by this many blocks. No age may reach numbers().
    void turn(unsigned blocks) noexcept {
        state_.present = (state_.present - 1 + blocks) % geometry_.numbers() + 1;
    }

    // Visit `count` timers, and expire those that will be older than kept in `ahead` blocks.
    void sweep(std::uint64_t count, unsigned ahead) noexcept;

    // Expire all timers; the present block keeps its number.
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

    // Stored after the timers. An interrupted sweep is done again from its beginning.
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
