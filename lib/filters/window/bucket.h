// SPDX-License-Identifier: BSD-3-Clause
// Buckets of tags and times: a digest lies in one of two cache lines, with its own time.
//
// Guarantee: a digest is an echo if its reference is younger than the window, unless eight younger
//   digests took its place (evicted_early). It is forgotten at window + slack, where the slack is
//   two ticks: 1/2048 of the window or less.
// Cost: two cache lines. 16 bytes a key at the planned load of half the places.
// Accuracy: another digest is taken for an echo with 2^-28 for each of the live places in its two
//   buckets, 2^-25 at the planned load.
// Weakness: a full bucket forgets its oldest digest. At the planned load that is fewer than one new
//   digest in 10^7; at 1.2 times the load one in 170,000, at 1.5 times one in 90.
//
// A simple filter to learn from: it needs no kernel, no background work and no generations, and it
// is complete in this file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/assert.h"
#include "base/ids.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

struct BucketSpec {
    std::uint64_t buckets = 0;
    Nanoseconds window = 0;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class BucketParams {
  public:
    static constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 34;
    static constexpr unsigned kPlaces = 8;       // of a bucket
    static constexpr unsigned kWindowBits = 13;  // a window has at most 2^13 ticks

    static Result<BucketParams> make(const BucketSpec& spec) {
        if (spec.buckets < 1 || spec.buckets > kMostBuckets) {
            return fail(Errc::kInvalidArgument,
                        "bucket: buckets = " + std::to_string(spec.buckets) + "; allowed: 1 to " +
                            std::to_string(kMostBuckets));
        }
        if (spec.window < 1) {
            return fail(Errc::kInvalidArgument, "bucket: window = 0; allowed: 1 ns or more");
        }
        return BucketParams(spec);
    }

    [[nodiscard]] std::uint64_t buckets() const noexcept { return spec_.buckets; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return kPlaces * spec_.buckets; }
    [[nodiscard]] Nanoseconds window() const noexcept { return spec_.window; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    // A tick is 2^tick_bits() ns.
    [[nodiscard]] unsigned tick_bits() const noexcept {
        return std::max(static_cast<unsigned>(std::bit_width(spec_.window)), kWindowBits) -
               kWindowBits;
    }

  private:
    explicit BucketParams(const BucketSpec& spec) noexcept : spec_(spec) {}
    BucketSpec spec_;
};

class Bucket {
  public:
    [[nodiscard]] static std::size_t bytes(const BucketParams& params) noexcept {
        return sizeof(State) + params.buckets() * sizeof(Line);
    }

    Bucket(const BucketParams& params, std::span<std::byte> memory,
           Contents /*contents*/ = Contents::kZero) noexcept
        : params_(params),
          tick_bits_(params.tick_bits()),
          live_ticks_(ticks_within(params)),
          state_(carve<State>(memory, 0, 1)),
          lines_(carve<Line>(memory, sizeof(State), params.buckets())),
          kept_(params.window()) {
        UNECHO_ASSERT(line_aligned(memory));
        set_tick();
    }
    // A place is one word, so it cannot be torn. `now` is 0 only in memory that was never used.
    [[nodiscard]] static bool is_consistent(const BucketParams& params,
                                            std::span<std::byte> memory) noexcept {
        const State& state = *carve<State>(memory, 0, 1);
        return state.now != 0 && state.used <= params.entries();
    }

    void prefetch(Digest digest) const noexcept {
        prefetch_line_for_write(&lines_[first_of(digest)]);
        prefetch_line_for_write(&lines_[second_of(remix(digest, kSalt))]);
    }

    bool test_and_insert(Digest digest) noexcept {
        const std::uint64_t other = remix(digest, kSalt);
        const Place tag = tag_of(other);
        Line& first = lines_[first_of(digest)];
        Line& second = lines_[second_of(other)];
        Place* found = find(first, tag);
        found = found != nullptr ? found : find(second, tag);
        if (found != nullptr) {
            if (params_.policy() == EchoPolicy::kRefresh) {
                write(*found, tag);
            }
            return true;
        }
        insert(live_places(second) < live_places(first) ? second : first, tag);
        return false;
    }

    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept {
        UNECHO_ASSERT(digests.size() <= kMaxBurst);
        for (const Digest digest : digests) {
            prefetch(digest);
        }
        std::uint64_t echoes = 0;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            echoes |= std::uint64_t{test_and_insert(digests[i])} << i;
        }
        return echoes;
    }

    // Return the answer without inserting.
    [[nodiscard]] bool query(Digest digest) const noexcept {
        const std::uint64_t other = remix(digest, kSalt);
        const Place tag = tag_of(other);
        return find(lines_[first_of(digest)], tag) != nullptr ||
               find(lines_[second_of(other)], tag) != nullptr;
    }

    // Time never goes back. Ticks recur after 2^36, at least 2^23 windows. After a silence of half
    // of that all is forgotten at once, which takes a few percent of a window.
    void advance(Moment moment) noexcept {
        if (moment.now <= state_->now) {
            return;
        }
        if ((moment.now - state_->now) >> tick_bits_ >= kTickMask / 2) [[unlikely]] {
            clear();  // before now changes: if it is cut off here, its successor clears again
        }
        state_->now = moment.now;
        set_tick();
    }
    void clear() noexcept {
        std::memset(static_cast<void*>(lines_), 0, params_.buckets() * sizeof(Line));
        state_->used = 0;
    }

    [[nodiscard]] const AchievedWindow& kept() const noexcept { return kept_; }
    [[nodiscard]] const BucketParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::uint64_t used() const noexcept { return state_->used; }  // places ever used

  private:
    // 28 bits of tag, never all 0, and 36 bits of time in ticks. 0: never used.
    using Place = std::uint64_t;
    struct alignas(kCacheLine) Line {
        std::array<Place, BucketParams::kPlaces> places;
    };
    static_assert(sizeof(Line) == kCacheLine);
    struct alignas(kCacheLine) State {
        Nanoseconds now;  // of the last advance()
        std::uint64_t used;
    };

    static constexpr unsigned kTickBits = 36;
    static constexpr Place kTickMask = (Place{1} << kTickBits) - 1;
    static constexpr std::uint64_t kSalt = 1;

    // Return the most ticks that lie between two moments less than a window apart.
    [[nodiscard]] static Place ticks_within(const BucketParams& params) noexcept {
        const Nanoseconds tick = Nanoseconds{1} << params.tick_bits();
        return (params.window() - 1 + tick - 1) >> params.tick_bits();
    }
    // Both use high bits, and the tag low ones: all digests of a worker may share some bits.
    [[nodiscard]] std::uint64_t first_of(Digest digest) const noexcept {
        return reduce(digest * 0x9E3779B97F4A7C15ULL, params_.buckets());
    }
    [[nodiscard]] std::uint64_t second_of(std::uint64_t other) const noexcept {
        return reduce(other, params_.buckets());
    }
    [[nodiscard]] static Place tag_of(std::uint64_t other) noexcept {
        const Place tag = other << kTickBits;
        return tag != 0 ? tag : Place{1} << kTickBits;
    }
    void set_tick() noexcept { tick_ = (state_->now >> tick_bits_) & kTickMask; }
    [[nodiscard]] Place age(Place place) const noexcept { return (tick_ - place) & kTickMask; }
    [[nodiscard]] bool is_live(Place place) const noexcept {
        return place != 0 && age(place) <= live_ticks_;
    }
    [[nodiscard]] unsigned live_places(const Line& line) const noexcept {
        unsigned live = 0;
        for (const Place place : line.places) {
            live += is_live(place) ? 1 : 0;
        }
        return live;
    }
    // Return the live place with the tag, or null.
    template <typename AnyLine>
    [[nodiscard]] auto find(AnyLine& line, Place tag) const noexcept
        -> decltype(line.places.data()) {
        for (auto& place : line.places) {
            if ((place & ~kTickMask) == tag && is_live(place)) {
                return &place;
            }
        }
        return nullptr;
    }
    void write(Place& place, Place tag) noexcept {
        place = tag | tick_;
        ++counters_.insertions;
    }
    // Take an unused place, or else the oldest.
    void insert(Line& line, Place tag) noexcept {
        const auto rank = [this](Place place) { return place == 0 ? kTickMask + 1 : age(place); };
        Place& oldest = *std::max_element(line.places.begin(), line.places.end(),
                                          [&](Place a, Place b) { return rank(a) < rank(b); });
        if (is_live(oldest)) [[unlikely]] {
            ++counters_.evicted_early;
            // It may have been inserted up to the end of its tick.
            const Nanoseconds now = state_->now;
            const Nanoseconds newest = ((now >> tick_bits_) - age(oldest) + 1) << tick_bits_;
            kept_.forget(std::min(newest - 1, now), now);
        }
        state_->used += oldest == 0 ? 1 : 0;
        write(oldest, tag);
    }

    BucketParams params_;
    unsigned tick_bits_;
    Place live_ticks_;
    State* state_;
    Line* lines_;
    Place tick_ = 0;
    AchievedWindow kept_;
    FilterCounters counters_;
};

static_assert(SlidingFilter<Bucket>);
static_assert(RestorableFilter<Bucket, BucketParams>);

}  // namespace unecho::filter
