// SPDX-License-Identifier: BSD-3-Clause
// Fingerprint lines: a window filter that keeps short fingerprints instead of bits. A digest has
// two cache lines, one in each half of the table; it is an echo iff a live fingerprint of either is
// its own; a new one goes into the line that has fewer live ones. A vector quotient filter's two
// choices (Pandey et al., SIGMOD 2021) with ages; how a line keeps them: fingerprint_kernel.h.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l, unless j is
//   before lost_before(): where both lines of a digest are full, the oldest fingerprint of one of
//   them gives way, is counted (evicted_early), and lost_before() becomes the generation behind
//   that fingerprint's. So the window that was achieved is known at each moment: nothing inserted
//   since the end of generation lost_before() - 1 is missed.
// Cost: two cache lines a test-and-insert, independent of each other, both read, at most one
//   written. A turn of a generation changes a few words; every line is visited once in 128
//   generations.
// Accuracy: a match is an accident with at most the chance of the fingerprints compared, live ones
//   of both lines, times 2^-bits; never more than 2 * slots * 2^-bits, however full the filter is.
// Weakness: lines must not be full: how many keys a line may have so that none is lost is in
//   kKeysOfLine (fingerprint_loss tells where that comes from).
//
// Hot; no DPDK, allocation, clock, I/O, as the filters of lib/filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/assert.h"
#include "common/engines.h"
#include "filter/filter.h"
#include "filter/judging.h"
#include "filter/kernels/select.h"
#include "filter/storage.h"
#include "peers/fingerprint_kernel.h"

namespace unecho::bench {

struct FingerprintShape {
    unsigned bits;
    unsigned slots;
    unsigned l;
    // Of the window, in a line, on average: with so many, and a generation more, an insertion finds
    // both of its lines full with a probability below 1e-17.
    double keys_of_line;

    // The most chance of an accident that there can be.
    [[nodiscard]] constexpr double most_chance() const {
        return 2.0 * slots / static_cast<double>(std::uint64_t{1} << bits);
    }
};

template <typename Layout>
constexpr FingerprintShape fingerprint_shape(double keys_of_line) {
    return {Layout::kBits, Layout::kSlots, Layout::kCounts - 1, keys_of_line};
}

// In the order of the kernels' tables.
inline constexpr std::array<FingerprintShape, kFingerprintLayouts> kFingerprintShapes{
    fingerprint_shape<Fingerprint16>(22.2),
    fingerprint_shape<Fingerprint26>(12.2),
};

struct FingerprintParams {
    unsigned layout = 0;
    std::uint64_t half = 1;  // lines of each half: 1 to 2^28
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;
    filter::Isa isa = filter::Isa::kScalar;

    [[nodiscard]] const FingerprintShape& shape() const { return kFingerprintShapes[layout]; }
};

class FingerprintLines {
  public:
    // Lines visited by one maintain().
    static constexpr unsigned kVisits = 8;

    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::uint64_t bytes(const FingerprintParams& params) noexcept {
        return 2 * params.half * kFingerprintLine;
    }

    FingerprintLines(const FingerprintParams& params, std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept {
        return test_and_insert_burst({&digest, 1}) != 0;
    }
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    filter::Answers test_and_insert_burst(std::span<const Digest> digests,
                                          filter::ChanceLimits limits) noexcept;
    [[nodiscard]] float chance(Digest digest) const noexcept;

    void advance(filter::Moment moment) noexcept {
        if (moment.generation > generation_) [[unlikely]] {
            const std::uint64_t turns = moment.generation - generation_;
            generation_ = moment.generation;
            turn(turns);
        }
    }
    void clear() noexcept { turn(params_.shape().l + 1); }

    // A step of the background visits, to be called between bursts. What is still due when the next
    // generation turns is done then.
    void maintain() noexcept {
        if (visits_due_ != 0) {
            visit(visits_due_ < kVisits ? visits_due_ : kVisits);
        }
    }

    // Goes on with a copy of its memory.
    void move_to(std::span<std::byte> memory) noexcept { view_.lines = memory.data(); }

    // What the present generation took: fingerprints.
    [[nodiscard]] std::uint64_t load() const noexcept { return load_; }
    // Nothing inserted in this generation or later gave way to others.
    [[nodiscard]] std::uint64_t lost_before() const noexcept { return lost_before_; }

    [[nodiscard]] const FingerprintParams& params() const noexcept { return params_; }
    [[nodiscard]] const filter::FilterCounters& counters() const noexcept { return counters_; }

  private:
    // Every line is visited once in so many generations, and a skip is cut to at most 8: less than
    // 256 - 8 together, so that stamps do not come round.
    static constexpr unsigned kLapGenerations = 128;

    void count(const FingerprintAnswers& answers, unsigned n) noexcept;
    void turn(std::uint64_t turns) noexcept;
    void visit(std::uint64_t lines) noexcept;

    FingerprintParams params_;
    FingerprintKernel kernel_;
    FingerprintView view_;
    std::uint64_t generation_ = 0;  // the caller's; view_ has ours, modulo 256
    std::uint64_t load_ = 0;
    std::uint64_t lost_before_ = 0;
    std::uint64_t next_visit_ = 0;
    std::uint64_t visits_due_ = 0;
    std::uint64_t visit_parts_ = 0;
    filter::FilterCounters counters_;
};
static_assert(filter::JudgingFilter<FingerprintLines>);

// With the least memory.
Planned<FingerprintParams> plan_fingerprints(std::uint64_t keys, double false_positives,
                                             filter::Isa isa);

template <filter::Isa isa>
struct FingerprintEngine {
    static std::string name() { return "fingerprint-" + std::string(filter::name_of(isa)); }
    using Filter = FingerprintLines;
    using Params = FingerprintParams;

    static Result<Planned<Params>> plan(std::uint64_t keys, double false_positives) {
        return plan_fingerprints(keys, false_positives, isa);
    }
    static std::string unavailable() {
        const std::string_view lacks = filter::lacking(isa);
        return lacks.empty() ? "" : "the CPU has no " + std::string(lacks);
    }
};

}  // namespace unecho::bench
