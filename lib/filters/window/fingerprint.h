// SPDX-License-Identifier: BSD-3-Clause
// Fingerprint filter: keeps short fingerprints of keys, with ages, instead of bits. A digest has
// two cache lines, one in each half of the table. It is an echo iff one of them has its
// fingerprint, live. A new fingerprint goes into the line with fewer live ones. If both are full,
// one of their fingerprints moves to its other line, with its age.
// kernels/fingerprint_kernel.h has the layout of a line.
//
// Guarantee: a digest inserted in generation j is an echo through generation j + l, unless j is
//   before lost_before(). If both lines of a digest are full, and so is each other line of their
//   fingerprints, the oldest fingerprint of one is lost and counted (evicted_early), and
//   lost_before() becomes the generation after it. The achieved window is thus always known
//   (Ageing::record_loss): nothing inserted since the end of generation lost_before() - 1 is
//   missed. From j + l + 1 on, unless inserted again, it is new, apart from false positives.
// Cost: two independent cache lines a test-and-insert, both read, at most one written; 64 bytes a
//   line. At the planned load about one insertion in a hundred moves a fingerprint, which reads and
//   writes a third line. If nearly all lines are full, it reads many more; generations that end
//   when they are full keep that from happening. A turn changes a few words; nothing is cleared.
//   Background visits reach every line once in 128 generations, kVisits at a time.
// Accuracy: the chance of an accidental match is at most 2^-bits times the live fingerprints of
//   both lines. It is never above 2 * slots * 2^-bits, however full the filter is. With a bound
//   above that, no match is ever a doubt.
// Weakness: not all lines may be full.
//   filters/sizing/window/fingerprint.h says how many keys a line may have so that a window loses
//   one with a chance below 1e-9.
// References: Vector Quotient Filters (Pandey et al., SIGMOD 2021), for the two choices among lines
//   of fingerprints. Cuckoo filters (Fan et al., CoNEXT 2014), for lines that follow from each
//   other and the fingerprint. Ages and the treatment of full lines are ours.
//
// A renewed fingerprint (an echo with EchoPolicy::kRefresh, or a doubt) becomes the newest of its
// line. A key thus has one fingerprint, however often it comes; two if the process was killed while
// it moved, until the older one is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "filters/confidence_filter.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/kernels/select.h"
#include "filters/prepared_burst.h"
#include "filters/storage.h"

namespace unecho::filter {

// The values that follow from the bits of a fingerprint. Only sizes that fill a line are offered.
struct FingerprintShape {
    unsigned bits;
    unsigned slots;  // fingerprints of a line
    unsigned l;
    unsigned stamp_at;  // first bit of the stamp in a line's last eight bytes; ages follow
    unsigned ages_at;
};

template <typename Layout>
constexpr FingerprintShape fingerprint_shape() {
    return {Layout::kBits, Layout::kSlots, Layout::kL, Layout::kStampAt, Layout::kAgesAt};
}

// In the order of the kernels' tables.
inline constexpr FingerprintShape kFingerprintShapes[kFingerprintLayouts] = {
    fingerprint_shape<Fingerprint13>(), fingerprint_shape<Fingerprint16>(),
    fingerprint_shape<Fingerprint19>(), fingerprint_shape<Fingerprint23>(),
    fingerprint_shape<Fingerprint24>(), fingerprint_shape<Fingerprint26>(),
    fingerprint_shape<Fingerprint32>()};

struct FingerprintSpec {
    unsigned bits = 16;       // of a fingerprint: one of kFingerprintShapes
    std::uint64_t lines = 0;  // even, at most kMostLines
    EchoPolicy policy = EchoPolicy::kFixed;
    Isa isa = Isa::kScalar;
};

class FingerprintParams {
  public:
    static constexpr std::uint64_t kMostLines = std::uint64_t{1} << 29;

    // Errc::kInvalidArgument, also for an instruction set that the machine lacks.
    static Result<FingerprintParams> make(const FingerprintSpec& spec);

    [[nodiscard]] const FingerprintShape& shape() const noexcept {
        return kFingerprintShapes[layout_];
    }
    [[nodiscard]] unsigned layout() const noexcept { return layout_; }
    [[nodiscard]] unsigned bits() const noexcept { return shape().bits; }
    [[nodiscard]] unsigned l() const noexcept { return shape().l; }
    [[nodiscard]] std::uint64_t lines() const noexcept { return spec_.lines; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    [[nodiscard]] Isa isa() const noexcept { return spec_.isa; }
    [[nodiscard]] bool fast_pdep() const noexcept { return fast_pdep_; }

  private:
    FingerprintParams(const FingerprintSpec& spec, unsigned layout) noexcept
        : spec_(spec), layout_(layout), fast_pdep_(has_fast_pdep()) {}
    FingerprintSpec spec_;
    unsigned layout_;
    bool fast_pdep_;
};

class FingerprintFilter {
  public:
    // Lines visited by one maintain().
    static constexpr unsigned kVisits = 8;

    [[nodiscard]] static std::size_t bytes(const FingerprintParams& params) noexcept {
        return table_bytes() + params.lines() * kCacheLine;
    }
    // The part of it that does not hold lines.
    [[nodiscard]] static constexpr std::size_t table_bytes() noexcept { return sizeof(Tables); }

    FingerprintFilter(const FingerprintParams& params, std::span<std::byte> memory,
                      Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const FingerprintParams& params,
                                            std::span<std::byte> memory) noexcept;

    void prefetch(Digest digest) const noexcept;
    bool test_and_insert(Digest digest) noexcept;
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests) noexcept;
    Answers test_and_insert_burst(std::span<const Digest> digests, ChanceLimits limits) noexcept;

    // The same in steps; see LineFilter.
    void prepare(std::span<const Digest> digests, PreparedBurst& burst) const noexcept;
    void prefetch_lines(PreparedBurst& burst, unsigned digests) const noexcept;
    std::uint64_t test_and_insert_burst(const PreparedBurst& burst, PreparedBurst* next) noexcept;
    Answers test_and_insert_burst(const PreparedBurst& burst, ChanceLimits limits,
                                  PreparedBurst* next) noexcept;

    [[nodiscard]] float chance(Digest digest) const noexcept;

    void advance(Moment moment) noexcept;
    void clear() noexcept;

    // Do a step of the background visits. Call it between bursts, also when there is no traffic.
    // advance() does whatever is still due when the next generation turns.
    void maintain() noexcept {
        if (const std::uint64_t due = state_->visits_due; due != 0) {
            visit(due < kVisits ? due : kVisits);
        }
    }

    // The two halves of test_and_insert, without a policy.
    [[nodiscard]] bool query(Digest digest) const noexcept;
    void insert(Digest digest) noexcept;

    // Fingerprints that the present generation inserted or renewed.
    [[nodiscard]] std::uint64_t load() const noexcept { return state_->load; }
    // No fingerprint inserted in this or a later generation was lost to a full line.
    [[nodiscard]] std::uint64_t lost_before() const noexcept { return state_->time.lost_before; }

    [[nodiscard]] const FingerprintParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::uint64_t visits_due() const noexcept { return state_->visits_due; }

  private:
    struct State {
        FingerprintTime time;
        std::uint64_t tick;  // our generation: a skip advances it by at most l + 1
        std::uint64_t load;
        std::uint64_t next_visit;  // line number
        std::uint64_t visits_due;
        std::uint64_t visit_parts;  // fraction of a visit carried over, in 1 / kLapGenerations
        WriteGuard turn;
    };
    struct alignas(kCacheLine) Tables {
        State state;
        FingerprintJournal journal;
    };

    // Number of different stamps.
    static constexpr std::uint64_t kStamps = 256;
    // Every line is visited once in this many generations. With a skip of at most l + 1, 42, that
    // is below kStamps, so that a stamp is never used again while a line still has it.
    static constexpr unsigned kLapGenerations = 128;  // planted: lap-too-long

    void count(const FingerprintAnswers& answers, const PreparedBurst& burst,
               PreparedBurst* next) noexcept;
    void turn(std::uint64_t turns) noexcept;
    void visit(std::uint64_t lines) noexcept;

    FingerprintParams params_;
    FingerprintKernel kernel_;
    FingerprintView view_;
    State* state_;
    FilterCounters counters_;
};

static_assert(ConfidenceFilter<FingerprintFilter>);
static_assert(RestorableFilter<FingerprintFilter, FingerprintParams>);

}  // namespace unecho::filter
