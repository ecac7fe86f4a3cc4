// SPDX-License-Identifier: BSD-3-Clause
// The digests fed to a filter: new ones, which are numbered, and echoes of earlier ones. They are
// made in chunks between timed parts. A chunk fits into L1 beside the lines that a burst touches.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"

namespace unecho::bench {

inline constexpr unsigned kBurst = 64;        // the largest
inline constexpr unsigned kChunkKeys = 1024;  // a multiple of it

// Return the mask of a burst of n.
[[nodiscard]] constexpr std::uint64_t burst_mask(unsigned n) noexcept {
    return n == kBurst ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

struct Chunk {
    std::array<Digest, kChunkKeys> digests{};
    std::array<std::uint64_t, kChunkKeys> numbers{};  // the new digest's, or the repeated one's
    std::array<std::uint64_t, kChunkKeys> echoes{};   // for each burst: bit i is set for an echo
    std::array<std::uint64_t, kChunkKeys> answers{};  // for each burst: the filter's answers
    unsigned burst = 1;

    [[nodiscard]] unsigned bursts() const noexcept { return kChunkKeys / burst; }
    [[nodiscard]] std::span<const Digest> keys_of(unsigned i) const noexcept {
        return {digests.data() + std::uint64_t{i} * burst, burst};
    }
    [[nodiscard]] unsigned fresh_of(unsigned i) const noexcept {
        return burst - static_cast<unsigned>(std::popcount(echoes[i]));
    }
};

class Stream {
  public:
    // Echoes repeat the last so many new digests, evenly, except the very last 64: a peer that
    // looks up a whole burst before it inserts would miss those.
    void set_reach(std::uint64_t keys) noexcept { reach_ = keys; }

    void make(Chunk& chunk, unsigned burst, unsigned echo_percent) noexcept {
        const std::uint64_t limit = (std::uint64_t{echo_percent} << 32) / 100;
        chunk.burst = burst;
        for (unsigned b = 0; b < chunk.bursts(); ++b) {
            std::uint64_t echoes = 0;
            for (unsigned i = 0; i < burst; ++i) {
                const std::uint64_t draw = remix(drawn_++, kDraws);
                const bool echo = (draw & 0xFFFFFFFF) < limit && fresh_ > 2 * kBurst;
                const std::uint64_t number = echo ? repeated(draw) : fresh_++;
                chunk.numbers[b * burst + i] = number;
                chunk.digests[b * burst + i] = remix(number, kDigests);
                echoes |= std::uint64_t{echo} << i;
            }
            chunk.echoes[b] = echoes;
        }
    }

    // Return the number of new digests so far.
    [[nodiscard]] std::uint64_t fresh() const noexcept { return fresh_; }

  private:
    static constexpr std::uint64_t kDraws = 0x5A17;
    static constexpr std::uint64_t kDigests = 0xD16E57;

    [[nodiscard]] std::uint64_t repeated(std::uint64_t draw) const noexcept {
        const std::uint64_t all = fresh_ - kBurst;
        const std::uint64_t reach = reach_ > kBurst ? reach_ - kBurst : 1;
        return all - 1 - reduce(remix(draw, kDraws), reach < all ? reach : all);
    }

    std::uint64_t reach_ = 2 * kBurst;
    std::uint64_t fresh_ = 0;
    std::uint64_t drawn_ = 0;
};

// Time, which only new digests advance: one by kKeyTime, generation_keys of them by a generation.
inline constexpr Nanoseconds kKeyTime = 16;

class KeyClock {
  public:
    explicit KeyClock(std::uint64_t generation_keys) noexcept
        : generation_keys_(generation_keys == 0 ? ~std::uint64_t{0} : generation_keys),
          turn_at_(generation_keys_) {}

    [[nodiscard]] filter::Moment moment() const noexcept {
        return {fresh_ * kKeyTime, generation_};
    }
    void pass(unsigned fresh) noexcept {
        fresh_ += fresh;
        if (fresh_ >= turn_at_) [[unlikely]] {
            ++generation_;
            turn_at_ += generation_keys_;
        }
    }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] std::uint64_t until_turn() const noexcept { return turn_at_ - fresh_; }

  private:
    std::uint64_t generation_keys_;
    std::uint64_t turn_at_;
    std::uint64_t fresh_ = 0;
    std::uint64_t generation_ = 0;
};

}  // namespace unecho::bench
