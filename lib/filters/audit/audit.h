// SPDX-License-Identifier: BSD-3-Clause
// The shadow of one filter: of a sample of keys it remembers exactly what the filter was told, so
// that each answer about them can be judged. The filter knows nothing of it.
//
// A key is in the sample by its digest (sample.h), with 2^-n: always the same packets, whatever
// they are. Keys are told apart by the digest and a second hash of 128 bits, and their first bytes
// where they are kept, so that a collision of digests is no echo here. n rises when room or budget
// run out, and falls when both are ample: what leaves the sample is given up piece by piece, and
// what enters is judged once the past that matters is known.
//
// Truth. The reference of a packet is the last one of its key that the filter recorded: that was
// new or a doubt, or under refresh any; with first = N the N-th last (of doubts it is not known
// whose place they took, so of them only the upper bound counts).
//   certain   the reference is younger than the achieved window: anything but an echo is a miss
//   possible  it is younger than window and slack
//   neither   no echo, so an echo is a false drop. But for packets whose key came within that time
//             and was dropped itself (overdue), and for a little longer on a live clock, where
//             turns may be late (late_echoes).
// An audit that goes on after its process ended knows nothing of packets that the filter recorded
// last: until it has seen all that matters again, what looks like a false drop is not judged.
// Entries live for four windows and a second at least, as memory allows, never less than what is
// needed to judge. What that would need is not taken: not_held, and nothing is judged for a while.
//
// Cost: under an instruction a packet; one of the sample about eight cache lines.
// May not: allocate, look at the time, change an answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/prefetch.h"
#include "base/result.h"
#include "base/units.h"
#include "filters/achieved_window.h"
#include "filters/audit/counters.h"
#include "filters/audit/sample.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"

namespace unecho::filter {

struct AuditSpec {
    std::uint64_t memory = 0;  // bytes, at most
    Nanoseconds window = 0;    // the filter's, of which copies are echoes
    Nanoseconds slack = 0;
    Nanoseconds grace = 0;  // behind both, for turns that may be late
    EchoPolicy policy = EchoPolicy::kFixed;
    unsigned first = 1;
    unsigned key_bytes = 0;                // kept of each key; 0: none
    std::uint64_t samples_per_second = 0;  // 0: as many as there is room for
    unsigned bits = 0;                     // n, to begin with
    bool begins_whole = false;             // the filter saw nothing before the first packet
    std::uint64_t secret = 1;              // any number
};

// A spec that was checked.
class AuditParams {
  public:
    static constexpr unsigned kMaxKeyBytes = 256;
    static constexpr std::uint64_t kLeastEntries = 16;
    static Result<AuditParams> make(const AuditSpec& spec);

    [[nodiscard]] const AuditSpec& spec() const noexcept { return spec_; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
    [[nodiscard]] std::uint64_t buckets() const noexcept { return buckets_; }  // a power of two

  private:
    AuditParams(const AuditSpec& spec, std::uint64_t entries) noexcept;
    AuditSpec spec_;
    std::uint64_t entries_;
    std::uint64_t buckets_;
};

// What identifies a key beside its digest.
struct AuditKey {
    Digest digest = 0;
    std::array<std::uint64_t, 2> hash{};
    std::span<const std::uint8_t> bytes;  // at most those that are kept, all of them if fewer
};

// What is remembered of the packet that a key began with; the caller's.
using AuditTag = std::array<std::uint64_t, 6>;

enum class Answered : std::uint8_t { kNew, kDoubt, kEcho };

struct AuditSight {
    Nanoseconds time = 0;  // never decreases
    Answered answer = Answered::kNew;
};

// What the filter and its worker say of themselves after a burst.
struct AuditState {
    Nanoseconds first = 0;  // time of the burst's first packet
    Nanoseconds last = 0;
    WindowState window;
    FilterCounters counters;
    std::uint64_t stalls = 0;  // times that the worker was away, which count as time; the latest
    Nanoseconds stall = 0;
};

enum class Verdict : std::uint8_t {
    kNew,
    kDoubtOfNew,
    kFalseDrop,
    kEcho,
    kDoubtOfEcho,
    kMiss,
    kMissStall,
    kMissArenaFull,
    kMissEvicted,
    kMissLoad,
    kSlackEcho,
    kSlackNew,
    kSlackDoubt,
    kLateEcho,
    kOverdue,
    kUnsettled,
    kNotHeld,
};

struct AuditFinding {
    Verdict verdict = Verdict::kNew;
    bool repeats = false;  // a packet of its key came within window and slack
    AuditTag first{};      // of the packet that the key began with, if so
};

class Audit {
  public:
    // What the constructor's memory must hold; line-aligned, zeroed.
    [[nodiscard]] static std::uint64_t bytes(const AuditParams& params) noexcept {
        return kStateBytes + heads_bytes(params) +
               (params.entries() + 1) * entry_bytes(params.spec());
    }

    // Kept: it goes on with what another one knew of the same filter, which was kept as well, by
    // the same clock; it counts from 0.
    Audit(const AuditParams& params, std::span<std::byte> memory,
          Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const AuditParams& params,
                                            std::span<std::byte> memory) noexcept;

    // Changes with see() alone.
    [[nodiscard]] const AuditSample& sample() const noexcept { return sample_; }

    // Soon see() asks for this key.
    void prefetch(Digest digest) const noexcept {
        prefetch_line(&head_of(digest));
        prefetch_line(&at(oldest()));
    }
    // Before see() for packets of a burst that was decided.
    void begin_burst(const AuditState& state) noexcept;
    // One that is in the sample. tag: of this packet.
    AuditFinding observe(const AuditKey& key, const AuditSight& sight,
                         const AuditTag& tag) noexcept;
    // The filter was told that so many packets of a flow as it lets pass came elsewhere: later ones
    // are echoes.
    void learn(Digest digest, Nanoseconds now) noexcept;
    // Another filter takes its place, with another slack. Of what is needed for a longer one some
    // may be forgotten.
    void change_slack(Nanoseconds slack, Nanoseconds now) noexcept;
    // Packets that the filter was not shown.
    void add_overload(std::uint64_t packets) noexcept { counters_.overload += packets; }

    [[nodiscard]] const AuditCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const AgeHistogram& ages() const noexcept { return ages_; }
    [[nodiscard]] const AuditParams& params() const noexcept { return params_; }
    [[nodiscard]] unsigned bits() const noexcept { return kept_.bits; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return kept_.live; }
    // This far back must the packets of a key be known.
    [[nodiscard]] Nanoseconds reach() const noexcept { return reach_; }

  private:
    static constexpr unsigned kMaxBits = 31;
    static constexpr unsigned kSweep = 16;  // entries looked at for one that is wanted

    // From 1; 0 ends a chain. Entry 0 is the sentinel of the list by age: its `newer` is the
    // oldest, its `older` the youngest.
    using Index = std::uint32_t;

    struct Entry {
        Digest digest;
        std::array<std::uint64_t, 2> hash;
        Nanoseconds last;  // packet of the key
        Index next;        // in the bucket's chain, or of those that are free
        Index older;
        Index newer;
        std::uint16_t sure;      // places taken for certain: of recorded packets, at most N; under
        std::uint16_t possible;  // refresh packets of the present run
        std::uint16_t key_length;
        bool used;
        bool dropped;  // the last packet was taken for an echo
        AuditTag tag;
    };
    // Behind it under fixed the times of N recorded packets, certain and possible ones; then bytes.
    [[nodiscard]] static std::uint64_t times_of(const AuditSpec& spec) noexcept {
        return spec.policy == EchoPolicy::kFixed ? 2 * std::uint64_t{spec.first} : 0;
    }
    [[nodiscard]] static std::uint64_t entry_bytes(const AuditSpec& spec) noexcept {
        return sizeof(Entry) + times_of(spec) * sizeof(Nanoseconds) + (spec.key_bytes + 7) / 8 * 8;
    }
    [[nodiscard]] static std::uint64_t heads_bytes(const AuditParams& params) noexcept {
        return align_to_line(params.buckets() * sizeof(Index));
    }
    friend class AuditParams;

    [[nodiscard]] Entry& at(Index index) const noexcept {
        return *reinterpret_cast<Entry*>(entries_ + std::uint64_t{index} * entry_bytes_);
    }
    [[nodiscard]] Nanoseconds* times(Entry& entry) const noexcept {
        return reinterpret_cast<Nanoseconds*>(&entry + 1);
    }
    [[nodiscard]] std::uint8_t* key_bytes(Entry& entry) const noexcept {
        return reinterpret_cast<std::uint8_t*>(times(entry) + times_of(spec_));
    }
    [[nodiscard]] Index& head_of(Digest digest) const noexcept {
        return heads_[digest * 0x9E3779B97F4A7C15ULL >> shift_];
    }
    [[nodiscard]] Nanoseconds age(Nanoseconds then, Nanoseconds now) const noexcept {
        return now > then ? now - then : 0;
    }

    // The sample.
    void spend(Nanoseconds now) noexcept;
    void raise(Nanoseconds now) noexcept;
    void lower(Nanoseconds now) noexcept;
    void settle(Nanoseconds now) noexcept;
    void unsettle(Nanoseconds now) noexcept;
    [[nodiscard]] bool judged(Digest digest) const noexcept {
        return kept_.settled && sample_.product(digest) <= kept_.settled_limit;
    }

    // The table.
    [[nodiscard]] bool same(Entry& entry, const AuditKey& key) const noexcept;
    [[nodiscard]] Index find(const AuditKey& key, bool& collides) const noexcept;
    [[nodiscard]] Index take_entry(Digest digest, Nanoseconds now) noexcept;
    [[nodiscard]] bool sweep() noexcept;
    [[nodiscard]] Index oldest() const noexcept { return at(0).newer; }
    void expire(Nanoseconds now) noexcept;
    void give_up(Index index) noexcept;
    void unchain(Index index) noexcept;
    void leave_list(Index index) noexcept;
    void become_youngest(Index index) noexcept;
    void begin(Index index, const AuditKey& key) noexcept;

    // The judge.
    AuditFinding look(const AuditKey& key, const AuditSight& sight, const AuditTag& tag) noexcept;
    struct Reference {
        bool known = false;    // there is one, of places taken for certain
        Nanoseconds time = 0;  // of that one
        Nanoseconds age = 0;
        bool certain = false;   // it is younger than the achieved window
        bool inside = false;    // than the configured one
        bool recent = false;    // what may be one is younger than the configured window
        bool possible = false;  // than that and slack
        bool late = false;      // than that and grace
        bool dropped = false;   // the key came within all that, and was taken for an echo
    };
    [[nodiscard]] bool certain(Nanoseconds reference, Nanoseconds now) const noexcept;
    [[nodiscard]] Reference reference_of(Entry& entry, Nanoseconds now) const noexcept;
    [[nodiscard]] Verdict judge(const Reference& reference, Answered answer) const noexcept;
    [[nodiscard]] Verdict reason_since(Nanoseconds reference) const noexcept;
    [[nodiscard]] bool stalled(const Reference& reference) const noexcept;
    void record(Entry& entry, const AuditSight& sight) noexcept;
    void count(Verdict verdict) noexcept;

    // In the memory, in front of the table: with it another audit goes on.
    struct State {
        WriteGuard torn;
        unsigned bits = 0;
        std::uint32_t settled_limit = 0;
        bool settled = false;
        unsigned started = 0;      // 1: since a first burst; read before the rest is believed
        bool pending = true;       // what is not settled will be
        Nanoseconds whole_at = 0;  // then
        Nanoseconds slack = 0;
        Nanoseconds retention = 0;

        Nanoseconds due = 0;
        Nanoseconds period_begin = 0;
        std::uint64_t period_samples = 0;

        Index taken = 0;  // entries 1..taken have been taken at least once
        Index free = 0;
        Index sweep_at = 0;
        Index sweep_left = 0;
        std::uint64_t live = 0;

        WindowState window;  // of the last burst
        bool troubled = false;
        Nanoseconds troubled_until = 0;
        static constexpr unsigned kReasons = 4;
        std::array<Nanoseconds, kReasons> changed_at{};  // of the misses' reasons
        std::array<bool, kReasons> changed{};
    };
    static constexpr std::uint64_t kStateBytes = align_to_line(sizeof(State));
    void set_reach() noexcept;
    void start(const AuditState& state) noexcept;

    AuditParams params_;
    AuditSpec spec_;
    State& kept_;
    AuditSample sample_;
    Nanoseconds reach_;
    Nanoseconds interval_;  // between two packets of the sample; 0: any
    std::uint64_t entry_bytes_;
    Index* heads_;
    std::byte* entries_;
    unsigned shift_;

    bool started_ = false;
    // Of a burst amid which the one before was cut off only the filter may know.
    bool goes_on_;
    Nanoseconds unsure_until_ = 0;
    AuditState state_;
    bool quiet_ = true;  // nothing shortened the window for long enough before the burst

    AuditCounters counters_;
    AgeHistogram ages_;
};

}  // namespace unecho::filter
