// SPDX-License-Identifier: BSD-3-Clause
// Block Timing Bloom Filter (BTBF): m timers instead of a Bloom filter's bits. An insertion writes
// the number of the present block into k of them. The age of a key is that of its oldest timer.
// There are two kinds of blocks: B insertions (Btbf, as in the paper; B = 1 is the Timing Bloom
// Filter), or a generation of time (TimedBtbf, a SlidingFilter).
//
// Guarantee: Btbf: a digest is an echo while fewer than w insertions follow its own. From w + B - 1
//   on it is new, apart from false positives. TimedBtbf: a digest inserted in generation j is an
//   echo through generation j + l, and new from j + l + 1 on, apart from false positives.
// Cost: an insertion touches k cache lines, a query of a new digest about 2; the sweep visits the
//   timers in order. m timers of bpt bits: bpt = log2(blocks of the window + P + 3).
// Accuracy: with D distinct keys in the live blocks, the false-positive rate is
//   (1 - (1 - 1/m)^(kD))^k. For the inferential answer see below.
// Weakness: bpt times the memory of a Bloom filter. After a silence longer than the window,
//   TimedBtbf::advance() zeroes all its memory at once.
// Inferential answer: the timers of a digest show its age in blocks, lambda, and how many of its r
//   timers have that age, c. From these, the position b in the block and a prior follows the
//   probability that it was inserted in the window. A DecisionTable (filters/sizing/inferential.h),
//   computed in advance for given costs of either mistake, says if the answer is "echo". There is
//   one for each class of traffic with its own costs. It turns some echoes into new ones, never the
//   reverse: fewer false positives, and misses inside the window if these cost less.
// References: Inferential Time-Decaying Bloom Filters, sections 3 (structures), 4 (posterior), 2.6
//   (decision), 5.1 (sweep, sizes).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/positions.h"
#include "filters/storage.h"
#include "filters/window/timers.h"

namespace unecho::filter {

inline constexpr unsigned kMaxTimerHashes = 32;

// R_x, the state of a digest's timers.
struct TimerReading {
    unsigned age = kExpiredAge;  // lambda_x: blocks since the oldest was written
    unsigned c = 0;              // c_x: distinct timers of this age
    unsigned r = 0;              // r_x: distinct timers of the digest
};

// For each age and c, the positions in the block at which the answer is "echo": those below one
// limit and those from another on. Row age * k + c - 1. An age without rows is never an echo.
class DecisionTable {
  public:
    DecisionTable() = default;
    // limits: two numbers a row.
    DecisionTable(std::span<const std::uint32_t> limits, unsigned k) noexcept
        : limits_(limits.data()), k_(k), ages_(static_cast<unsigned>(limits.size() / 2 / k)) {}

    [[nodiscard]] bool echo(const TimerReading& reading, std::uint64_t position) const noexcept {
        if (reading.age >= ages_) {
            return false;
        }
        UNECHO_ASSERT(reading.c >= 1 && reading.c <= k_);
        const std::uint32_t* row = limits_ + 2 * (std::uint64_t{reading.age} * k_ + reading.c - 1);
        return position < row[0] || position >= row[1];
    }

  private:
    const std::uint32_t* limits_ = nullptr;
    unsigned k_ = 0;
    unsigned ages_ = 0;
};

// The timers of digests: k positions each, anywhere among m.
class KeyedTimers {
  public:
    KeyedTimers(const TimersGeometry& geometry, unsigned k, std::span<std::byte> memory,
                Contents contents = Contents::kZero) noexcept
        : timers_(geometry, memory, contents), k_(k) {
        UNECHO_ASSERT(k >= 1 && k <= kMaxTimerHashes);
    }

    [[nodiscard]] Timers& timers() noexcept { return timers_; }

    void prefetch(Digest digest) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            timers_.prefetch(positions.at(i, timers_.size()));
        }
    }

    // Return true if every timer of the digest is at most this old.
    [[nodiscard]] bool all_within(Digest digest, unsigned age) const noexcept {
        const Positions positions(digest);
        for (unsigned i = 0; i < k_; ++i) {
            if (timers_.age(positions.at(i, timers_.size())) > age) {
                return false;
            }
        }
        return true;
    }

    // Return true if one of the timers was not of the present block.
    bool write(Digest digest) noexcept {
        const Positions positions(digest);
        bool changes = false;
        for (unsigned i = 0; i < k_; ++i) {
            changes |= timers_.write(positions.at(i, timers_.size()));
        }
        return changes;
    }

    [[nodiscard]] TimerReading read(Digest digest) const noexcept;

  private:
    Timers timers_;
    unsigned k_;
};

struct BtbfSpec {
    std::uint64_t w = 0;  // window, in insertions
    std::uint64_t B = 1;  // insertions of a block
    unsigned k = 0;       // timers of a digest
    std::uint64_t m = 0;  // timers in all
    unsigned bpt = 0;     // bits of a timer
    // Padding: blocks that expiry may take; absent: as many as bpt allows.
    std::optional<unsigned> P = std::nullopt;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class BtbfParams {
  public:
    static Result<BtbfParams> make(const BtbfSpec& spec);

    [[nodiscard]] std::uint64_t w() const noexcept { return spec_.w; }
    [[nodiscard]] std::uint64_t B() const noexcept { return spec_.B; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned bpt() const noexcept { return spec_.bpt; }
    [[nodiscard]] unsigned P() const noexcept { return *spec_.P; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }

    // The age, at the beginning of a block, of the oldest key in the window: ceil(w / B).
    [[nodiscard]] unsigned kept() const noexcept {
        return static_cast<unsigned>((spec_.w + spec_.B - 1) / spec_.B);
    }
    // Timers visited by an insertion, so that P + 1 blocks visit all of them.
    [[nodiscard]] std::uint64_t visits() const noexcept {
        const std::uint64_t insertions = spec_.B * (std::uint64_t{P()} + 1);
        return (spec_.m - 1) / insertions + 1;
    }
    [[nodiscard]] TimersGeometry timers() const noexcept { return {spec_.m, spec_.bpt, kept()}; }

  private:
    explicit BtbfParams(const BtbfSpec& spec) noexcept : spec_(spec) {}
    BtbfSpec spec_;
};

// The BTBF of the paper: time is the number of insertions.
class Btbf {
  public:
    [[nodiscard]] static std::size_t bytes(const BtbfParams& params) noexcept {
        return params.timers().bytes();
    }

    Btbf(const BtbfParams& params, std::span<std::byte> memory) noexcept
        : params_(params), visits_(params.visits()), keyed_(params.timers(), params.k(), memory) {}

    void prefetch(Digest digest) const noexcept { keyed_.prefetch(digest); }
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    void clear() noexcept { keyed_.timers().clear(); }

    // The halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return keyed_.all_within(digest, oldest_echo());
    }
    void insert(Digest digest) noexcept;

    // Return the inferential answer. The policy decides about the insertion.
    bool decide_and_insert(Digest digest, const DecisionTable& table) noexcept;
    [[nodiscard]] TimerReading read(Digest digest) const noexcept { return keyed_.read(digest); }

    // b: insertions in the present block, 0 to B - 1.
    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
    // The greatest age of a key in the window, at the present position: ceil((w - b) / B).
    [[nodiscard]] unsigned oldest_echo() const noexcept { return oldest_echo_; }
    // Insertions since the one that the reading most likely shows. Recent insertions are more
    // likely, so it is the least number that the age allows. Not for an expired reading.
    [[nodiscard]] std::uint64_t most_likely_age(const TimerReading& reading) const noexcept {
        return reading.age == 0 ? 0 : (std::uint64_t{reading.age} - 1) * params_.B() + position_;
    }

    [[nodiscard]] const BtbfParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    BtbfParams params_;
    std::uint64_t visits_;
    std::uint64_t position_ = 0;
    unsigned oldest_echo_ = params_.kept();
    KeyedTimers keyed_;
    FilterCounters counters_;
};

struct TimedBtbfSpec {
    unsigned l = 0;       // generations of the window
    unsigned k = 0;       // timers of a digest
    std::uint64_t m = 0;  // timers in all
    unsigned bpt = 0;     // bits of a timer
    // Padding: generations that expiry may take; absent: as many as bpt allows.
    std::optional<unsigned> P = std::nullopt;
    EchoPolicy policy = EchoPolicy::kFixed;
};

class TimedBtbfParams {
  public:
    static Result<TimedBtbfParams> make(const TimedBtbfSpec& spec);

    [[nodiscard]] unsigned l() const noexcept { return spec_.l; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned bpt() const noexcept { return spec_.bpt; }
    [[nodiscard]] unsigned P() const noexcept { return *spec_.P; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }

    // Timers visited in a generation, so that P + 1 generations visit all of them.
    [[nodiscard]] std::uint64_t visits() const noexcept { return (spec_.m - 1) / (P() + 1) + 1; }
    [[nodiscard]] TimersGeometry timers() const noexcept { return {spec_.m, spec_.bpt, spec_.l}; }

  private:
    explicit TimedBtbfParams(const TimedBtbfSpec& spec) noexcept : spec_(spec) {}
    TimedBtbfSpec spec_;
};

// The BTBF over generations of time. Insertions and calls of advance() do the generation's share of
// the sweep, k timers each. The rest of the share is done when the generation turns.
class TimedBtbf {
  public:
    [[nodiscard]] static std::size_t bytes(const TimedBtbfParams& params) noexcept {
        return kStateBytes + params.timers().bytes();
    }

    TimedBtbf(const TimedBtbfParams& params, std::span<std::byte> memory,
              Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const TimedBtbfParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept { keyed_.prefetch(digest); }
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    // Takes at most one pass over the timers, however many generations are skipped. An earlier
    // generation than the present one changes nothing.
    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // The halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept {
        return keyed_.all_within(digest, params_.l());
    }
    void insert(Digest digest) noexcept;

    // Return the inferential answer. The policy decides about the insertion. The table is for a
    // window of l B insertions; B is the expected number of insertions in a generation.
    bool decide_and_insert(Digest digest, const DecisionTable& table) noexcept;
    // The reading's age is in generations.
    [[nodiscard]] TimerReading read(Digest digest) const noexcept { return keyed_.read(digest); }

    // b: insertions in the present generation.
    [[nodiscard]] std::uint64_t position() const noexcept { return state_.position; }
    // Insertions that wrote a timer not of the present generation.
    [[nodiscard]] std::uint64_t load() const noexcept { return state_.load; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return state_.generation; }
    [[nodiscard]] const TimedBtbfParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }

  private:
    // Stored before the timers. A digest's timers are written before it is counted.
    struct State {
        WriteGuard write_guard;
        std::uint64_t generation = 0;
        std::uint64_t visits_left = 0;  // of this generation's share
        std::uint64_t position = 0;
        std::uint64_t load = 0;
        bool empty = true;  // all timers are expired
    };
    static constexpr std::size_t kStateBytes = align_to_line(sizeof(State));

    void visit_some() noexcept;
    void turn_by(std::uint64_t generations) noexcept;
    void turn_whole(std::uint64_t generations) noexcept;
    void expire_all() noexcept;

    TimedBtbfParams params_;
    State& state_;
    KeyedTimers keyed_;
    FilterCounters counters_;
};

static_assert(SlidingFilter<TimedBtbf>);

inline void Btbf::insert(Digest digest) noexcept {
    keyed_.write(digest);
    keyed_.timers().sweep(visits_, 0);
    ++counters_.insertions;
    ++position_;
    if (position_ == params_.B()) {
        position_ = 0;
        keyed_.timers().turn(1);
        ++counters_.shifts;
    }
    const std::uint64_t left = params_.w() - position_;
    oldest_echo_ = left > params_.B() * (params_.kept() - 1) ? params_.kept() : params_.kept() - 1;
}

inline bool Btbf::test_and_insert(Digest digest) noexcept {
    const bool echo = query(digest);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo;
}

inline bool Btbf::decide_and_insert(Digest digest, const DecisionTable& table) noexcept {
    const bool echo = table.echo(read(digest), position_);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo;
}

inline void TimedBtbf::visit_some() noexcept {
    const std::uint64_t visits = std::min<std::uint64_t>(state_.visits_left, params_.k());
    keyed_.timers().sweep(visits, 0);
    state_.visits_left -= visits;
}

inline void TimedBtbf::insert(Digest digest) noexcept {
    state_.empty = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_.load += keyed_.write(digest) ? 1 : 0;
    ++state_.position;
    ++counters_.insertions;
    visit_some();
}

inline void TimedBtbf::advance(Moment moment) noexcept {
    if (moment.generation > state_.generation) [[unlikely]] {
        turn_whole(moment.generation - state_.generation);
    } else {
        visit_some();
    }
}

inline bool TimedBtbf::test_and_insert(Digest digest) noexcept {
    const bool echo = query(digest);
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo;
}

inline bool TimedBtbf::decide_and_insert(Digest digest, const DecisionTable& table) noexcept {
    const bool echo = table.echo(read(digest), position());
    if (!echo || params_.policy() == EchoPolicy::kRefresh) {
        insert(digest);
    }
    return echo;
}

}  // namespace unecho::filter
