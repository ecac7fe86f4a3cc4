// SPDX-License-Identifier: BSD-3-Clause
// Measures a filter: anything with advance() and test_and_insert_burst() like a SlidingFilter. Its
// stream continues from row to row, so that each row finds it in its steady state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <x86intrin.h>

#include "common/allocations.h"
#include "common/samples.h"
#include "common/stream.h"
#include "filters/confidence_filter.h"
#include "filters/prepared_burst.h"
#include "filters/window/segmented/segment_ring.h"

namespace unecho::bench {

struct Facts {
    std::string geometry;
    std::uint64_t bytes = 0;  // all of its memory
    std::uint64_t window_keys = 0;
    std::uint64_t generation_keys = 0;  // between two turns; 0: no turns
    std::uint64_t fill_keys = 0;        // digests until it is in its steady state
    double predicted = std::numeric_limits<double>::quiet_NaN();  // false-positive rate
    bool answers = true;                                          // false for the raw limit
};

struct Speed {
    double median = 0;   // cycles a key
    double mean = 0;     // includes rare events
    double zeroing = 0;  // cycles a new key that a helper thread spends on zeroing
    double allocations = 0;
};

// Counts of new digests and echoes. An echo whose original was falsely taken for an echo, and so
// not inserted, does not count as missed.
struct Answers {
    std::uint64_t fresh = 0;
    std::uint64_t false_echoes = 0;
    std::uint64_t echoes = 0;
    std::uint64_t missed = 0;
};

// Cycles of single bursts.
struct Bursts {
    double median = 0;
    double p999 = 0;
    double max = 0;
    unsigned turns = 0;
    double turn = 0;  // the worst burst around a turn; median over the turns
};

[[nodiscard]] inline std::uint64_t fenced_tsc() noexcept {
    _mm_lfence();
    const std::uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
}

// A filter with pipelined prefetch: prepare() takes a burst before it is tested, as in the worker.
template <typename F>
concept ToldAhead = requires(const F filter, std::span<const Digest> digests,
                             filter::PreparedBurst& burst) {
    filter.prepare(digests, burst);
};

template <typename F>
class Track {
  public:
    Track(F& filter, const Facts& facts)
        : filter_(filter),
          clock_(facts.generation_keys),
          answers_matter_(facts.answers),
          generation_keys_(facts.generation_keys),
          warm_keys_(std::min<std::uint64_t>(facts.bytes / 64, kMaxWarmKeys)) {
        false_echoes_.reserve(kMaxFalseEchoes);
    }

    // Let echoes repeat the last so many new digests.
    void set_reach(std::uint64_t keys) noexcept { stream_.set_reach(keys); }

    // Set the chance limit: a match above it is a doubt, not an echo, if the filter takes limits.
    void judge(std::optional<float> limit) noexcept { limit_ = limit; }

    // Prefetch each burst while the one before it is tested, if the filter can.
    void tell_ahead(bool ahead) noexcept { ahead_ = ahead; }

    // Feed so many new digests.
    void run(std::uint64_t keys) {
        for (std::uint64_t passed = 0; passed < keys; passed += kChunkKeys) {
            stream_.make(chunk_, kBurst, 0);
            feed();
            finish_chunk(discarded_);
        }
    }

    // Feed until the timed parts took so many cycles in total.
    Speed speed(unsigned burst, unsigned echo_percent, std::uint64_t cycles, Answers& answers) {
        run(warm_keys_);
        Samples samples;
        std::uint64_t total = 0;
        std::uint64_t keys = 0;
        std::uint64_t fresh = stream_.fresh();
        std::uint64_t allocated = 0;
        zeroing_ = 0;
        while (total < cycles) {
            stream_.make(chunk_, burst, echo_percent);
            const std::uint64_t before = allocations();
            const std::uint64_t took = feed();
            allocated += allocations() - before;
            finish_chunk(answers);
            samples.add(static_cast<double>(took));
            total += took;
            keys += kChunkKeys;
        }
        fresh = stream_.fresh() - fresh;
        return {
            samples.median() / kChunkKeys, static_cast<double>(total) / static_cast<double>(keys),
            static_cast<double>(zeroing_) / static_cast<double>(std::max<std::uint64_t>(fresh, 1)),
            static_cast<double>(allocated)};
    }

    // Time so many bursts one by one. If to_turn, a generation turns among them.
    Bursts bursts(unsigned burst, unsigned echo_percent, unsigned count, bool to_turn) {
        const std::uint64_t half = std::uint64_t{count} * burst / 2;
        if (to_turn && generation_keys_ != 0 && clock_.until_turn() > half) {
            run(clock_.until_turn() - half);
        }
        std::vector<double> cycles;
        std::vector<std::size_t> turns;
        cycles.reserve(count + kChunkKeys);
        last_generation_ = clock_.generation();
        while (cycles.size() < count) {
            stream_.make(chunk_, burst, echo_percent);
            time_each(cycles, turns);
            compare(discarded_);
            // Not earlier: zeroing as a helper thread does would evict this thread's cache lines
            // and slow the bursts after a turn.
            if (turns.empty() || cycles.size() - turns.back() > 2 * kTurnBursts) {
                zero_retired();
            }
        }
        return summed_up(cycles, turns);
    }

  private:
    static constexpr std::uint64_t kMaxWarmKeys = 1 << 18;
    static constexpr std::size_t kMaxFalseEchoes = 1 << 21;
    // A turn affects its burst and the following ones.
    static constexpr std::size_t kTurnBursts = 16;

    void feed_burst(unsigned b) noexcept {
        filter_.advance(clock_.moment());
        if constexpr (ToldAhead<F>) {
            chunk_.answers[b] = ahead_ ? answers_ahead(b) : answers_to(chunk_.keys_of(b));
        } else {
            chunk_.answers[b] = answers_to(chunk_.keys_of(b));
        }
        if constexpr (requires { filter_.maintain(); }) {
            filter_.maintain();
        }
        clock_.pass(chunk_.fresh_of(b));
    }

    std::uint64_t answers_to(std::span<const Digest> digests) noexcept {
        if constexpr (requires(filter::ChanceLimits limits) {
                          filter_.test_and_insert_burst(digests, limits);
                      }) {
            if (limit_) {
                return filter_.test_and_insert_burst(digests, filter::ChanceLimits(*limit_)).echoes;
            }
        }
        return filter_.test_and_insert_burst(digests);
    }

    // The first burst of a chunk is prefetched only when it is tested.
    std::uint64_t answers_ahead(unsigned b) noexcept {
        filter::PreparedBurst& burst = prepared_[b % 2];
        filter::PreparedBurst* const next =
            b + 1 < chunk_.bursts() ? &prepared_[(b + 1) % 2] : nullptr;
        if (b == 0) {
            filter_.prepare(chunk_.keys_of(0), burst);
        }
        if (next != nullptr) {
            filter_.prepare(chunk_.keys_of(b + 1), *next);
        }
        if (limit_) {
            return filter_.test_and_insert_burst(burst, filter::ChanceLimits(*limit_), next).echoes;
        }
        return filter_.test_and_insert_burst(burst, next);
    }

    std::uint64_t feed() noexcept {
        const std::uint64_t begin = fenced_tsc();
        for (unsigned b = 0; b < chunk_.bursts(); ++b) {
            feed_burst(b);
        }
        return fenced_tsc() - begin;
    }

    void time_each(std::vector<double>& cycles, std::vector<std::size_t>& turns) {
        for (unsigned b = 0; b < chunk_.bursts(); ++b) {
            const std::uint64_t generation = clock_.generation();
            const bool turned = generation != last_generation_;
            const std::uint64_t begin = fenced_tsc();
            feed_burst(b);
            const std::uint64_t end = fenced_tsc();
            if (turned) {
                last_generation_ = generation;
                turns.push_back(cycles.size());
            }
            cycles.push_back(static_cast<double>(end - begin));
        }
    }

    static Bursts summed_up(const std::vector<double>& cycles,
                            const std::vector<std::size_t>& turns) {
        Samples all;
        for (const double one : cycles) {
            all.add(one);
        }
        Samples worst;
        for (const std::size_t at : turns) {
            const auto first = cycles.begin() + static_cast<std::ptrdiff_t>(at);
            const std::size_t left = std::min(kTurnBursts, cycles.size() - at);
            worst.add(*std::max_element(first, first + static_cast<std::ptrdiff_t>(left)));
        }
        return {all.median(), all.quantile(0.999), all.quantile(1),
                static_cast<unsigned>(turns.size()), worst.empty() ? 0 : worst.median()};
    }

    // After each chunk, untimed.
    void finish_chunk(Answers& answers) {
        compare(answers);
        zero_retired();
    }

    void compare(Answers& answers) {
        for (unsigned b = 0; answers_matter_ && b < chunk_.bursts(); ++b) {
            compare_burst(b, answers);
        }
    }

    void compare_burst(unsigned b, Answers& answers) {
        const std::uint64_t echoes = chunk_.echoes[b];
        const std::uint64_t wrong = (chunk_.answers[b] ^ echoes) & burst_mask(chunk_.burst);
        answers.fresh += chunk_.fresh_of(b);
        answers.echoes += chunk_.burst - chunk_.fresh_of(b);
        for (std::uint64_t left = wrong; left != 0; left &= left - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(left));
            const std::uint64_t number = chunk_.numbers[b * chunk_.burst + i];
            if ((echoes >> i & 1) == 0) {
                ++answers.false_echoes;
                note_false(number);
            } else {
                const bool was_inserted =
                    !std::binary_search(false_echoes_.begin(), false_echoes_.end(), number);
                answers.missed += was_inserted ? 1 : 0;
            }
        }
    }

    // New digests arrive in the order of their numbers, so the list is sorted.
    void note_false(std::uint64_t number) {
        if (false_echoes_.size() == kMaxFalseEchoes) {
            false_echoes_.erase(false_echoes_.begin(), false_echoes_.begin() + kMaxFalseEchoes / 2);
        }
        false_echoes_.push_back(number);
    }

    // Zero retired segments, as the control thread does beside the worker.
    void zero_retired() {
        if constexpr (requires { filter_.segments().take_retired(); }) {
            const std::uint64_t begin = __rdtsc();
            filter::SegmentRing& segments = filter_.segments();
            while (const auto retired = segments.take_retired()) {
                const std::span<std::byte> memory = segments.segment_memory(*retired);
                std::memset(memory.data(), 0, memory.size());
                segments.supply_zeroed(*retired);
                zeroing_ += __rdtsc() - begin;
            }
        }
    }

    F& filter_;
    Stream stream_;
    KeyClock clock_;
    bool answers_matter_;
    bool ahead_ = false;
    std::optional<float> limit_;
    std::uint64_t generation_keys_;
    std::uint64_t warm_keys_;
    std::uint64_t last_generation_ = 0;
    std::uint64_t zeroing_ = 0;
    Chunk chunk_;
    std::array<filter::PreparedBurst, 2> prepared_;
    Answers discarded_;
    std::vector<std::uint64_t> false_echoes_;
};

}  // namespace unecho::bench
