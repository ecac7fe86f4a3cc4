// SPDX-License-Identifier: BSD-3-Clause
// Audit: the exact check of one filter. For a keyed sample of all keys it remembers exactly what
// the filter recorded, so that each answer about them can be judged: false drop, miss or right. The
// filter does not know of it, and the audit never changes an answer.
//
// A digest puts its key into the sample with probability 2^-n (sample.h), so all packets of a key
// are in it or none. Keys are compared by the digest, a second hash of 128 bits and, if stored,
// their first bytes. A collision of digests is therefore not an echo here. n rises when memory or
// the budget of samples runs out, and falls when both are ample. Keys that leave the sample are
// freed gradually; keys that enter are judged once their relevant past is known.
//
// The reference of a packet is the last packet of its key that the filter recorded: one that was
// new or a doubt, under refresh any. With first = N it is the N-th last. (Doubts may have taken any
// place, so for them only the upper bound is used.)
//   certain   the reference is younger than the achieved window: the answer new is a miss
//   possible  the reference is younger than window and slack
//   neither   not an echo, so the answer echo is a false drop. Two exceptions: the key came within
//             that time and was dropped itself (overdue), and a live clock's turns may be late, so
//             a little more time is allowed (late_echoes).
// After a restart the audit does not know the packets that the filter recorded last. Until it has
// seen a whole reach again, an apparent false drop is not judged. Entries live for at least four
// windows and at least a second, as memory allows, and never less than judging needs. A key that
// finds no room is not_held; nothing is judged for a while after it.
//
// Cost: below one instruction for a packet outside the sample, about eight cache lines inside.
// May not: allocate, read a clock, change an answer. Next: counters.h, docs/audit.md.
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
    Nanoseconds window = 0;    // of the filter: copies younger than it are echoes
    Nanoseconds slack = 0;
    Nanoseconds grace = 0;  // beyond both, for turns that may be late
    EchoPolicy policy = EchoPolicy::kFixed;
    unsigned first = 1;
    unsigned key_bytes = 0;                // stored of each key; 0: none
    std::uint64_t samples_per_second = 0;  // 0: as many as memory allows
    unsigned bits = 0;                     // n at the start
    bool begins_whole = false;             // the filter saw nothing before the first packet
    std::uint64_t secret = 1;              // any number
};

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

// The identity of a key beyond its digest.
struct AuditKey {
    Digest digest = 0;
    std::array<std::uint64_t, 2> hash{};
    std::span<const std::uint8_t> bytes;  // the stored ones, or all if fewer
};

// The caller's data on the first packet of a key.
using AuditTag = std::array<std::uint64_t, 6>;

struct AuditSight {
    Nanoseconds time = 0;  // never decreases
    Answer answer = Answer::kNew;
};

// The state that the filter and its worker report after a burst.
struct AuditState {
    Nanoseconds first = 0;  // time of the burst's first packet
    Nanoseconds last = 0;
    WindowState window;
    FilterCounters counters;
    std::uint64_t stalls = 0;  // absences of the worker, which count as time; stall is the latest
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
    AuditTag first{};      // of the key's first packet, if it repeats
};

class Audit {
  public:
    [[nodiscard]] static std::uint64_t bytes(const AuditParams& params) noexcept {
        return kStateBytes + heads_bytes(params) +
               (params.entries() + 1) * entry_bytes(params.spec());
    }

    // kRestored: resume the audit of a restored filter, with the same clock; counters start at 0.
    Audit(const AuditParams& params, std::span<std::byte> memory,
          Contents contents = Contents::kZero) noexcept;
    [[nodiscard]] static bool is_consistent(const AuditParams& params,
                                            std::span<std::byte> memory) noexcept;

    // Changes only in observe().
    [[nodiscard]] const AuditSample& sample() const noexcept { return sample_; }

    // Prefetch for an observe() of this key.
    void prefetch(Digest digest) const noexcept {
        prefetch_line(&head_of(digest));
        prefetch_line(&at(oldest()));
    }
    // Called before observe() for the packets of a burst that was decided.
    void begin_burst(const AuditState& state) noexcept;
    // Judge a packet of the sample. tag: the caller's data on this packet.
    AuditFinding observe(const AuditKey& key, const AuditSight& sight,
                         const AuditTag& tag) noexcept;
    // Report that the filter learned of packets of this flow seen elsewhere, as many as it lets
    // pass: later ones are echoes.
    void learn(Digest digest, Nanoseconds now) noexcept;
    // Report that another filter with another slack takes over. If the new slack is longer, some
    // entries that it needs may be forgotten already.
    void change_slack(Nanoseconds slack, Nanoseconds now) noexcept;
    // Count packets that no filter saw because of overload.
    void add_overload(std::uint64_t packets) noexcept { counters_.overload += packets; }

    [[nodiscard]] const AuditCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const AgeHistogram& ages() const noexcept { return ages_; }
    [[nodiscard]] const AuditParams& params() const noexcept { return params_; }
    [[nodiscard]] unsigned bits() const noexcept { return kept_.bits; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return kept_.live; }
    // How far back the packets of a key must be known.
    [[nodiscard]] Nanoseconds reach() const noexcept { return reach_; }

  private:
    static constexpr unsigned kMaxBits = 31;
    static constexpr unsigned kSweep = 16;  // entries examined for one that is wanted

    // The number of an entry, from 1; 0 ends a chain. Entry 0 is the sentinel of the list by age:
    // its `newer` is the oldest entry, its `older` the youngest.
    using Index = std::uint32_t;

    struct Entry {
        Digest digest;
        std::array<std::uint64_t, 2> hash;
        Nanoseconds last;  // time of the key's last packet
        Index next;        // in the bucket's chain, or in the list of free entries
        Index older;
        Index newer;
        std::uint16_t sure;      // recorded packets, at most N: certain ones,
        std::uint16_t possible;  // possible ones; under refresh, of the present run
        std::uint16_t key_length;
        bool used;
        bool dropped;  // the last packet was answered echo
        AuditTag tag;
    };
    // After an entry come, under fixed, times of N certain and N possible packets; then key bytes.
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

    void spend(Nanoseconds now) noexcept;
    void raise(Nanoseconds now) noexcept;
    void lower(Nanoseconds now) noexcept;
    void settle(Nanoseconds now) noexcept;
    void unsettle(Nanoseconds now) noexcept;
    [[nodiscard]] bool judged(Digest digest) const noexcept {
        return kept_.settled && sample_.product(digest) <= kept_.settled_limit;
    }

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

    AuditFinding look(const AuditKey& key, const AuditSight& sight, const AuditTag& tag) noexcept;
    struct Reference {
        bool known = false;    // enough certain packets are recorded
        Nanoseconds time = 0;  // of the certain reference
        Nanoseconds age = 0;
        bool certain = false;   // younger than the achieved window
        bool inside = false;    // younger than the configured window
        bool recent = false;    // the possible reference is younger than the configured window
        bool possible = false;  // younger than window and slack
        bool late = false;      // younger than window, slack and grace
        bool dropped = false;   // the key's last packet, within all that, was answered echo
    };
    [[nodiscard]] bool certain(Nanoseconds reference, Nanoseconds now) const noexcept;
    [[nodiscard]] Reference reference_of(Entry& entry, Nanoseconds now) const noexcept;
    [[nodiscard]] Verdict judge(const Reference& reference, Answer answer) const noexcept;
    [[nodiscard]] Verdict reason_since(Nanoseconds reference) const noexcept;
    [[nodiscard]] bool stalled(const Reference& reference) const noexcept;
    void record(Entry& entry, const AuditSight& sight) noexcept;
    void count(Verdict verdict) noexcept;

    // At the start of the memory; another audit can resume with it.
    struct State {
        WriteGuard write_guard;
        unsigned bits = 0;
        std::uint32_t settled_limit = 0;
        bool settled = false;
        unsigned started = 0;      // 1: since the first burst; checked before the rest is trusted
        bool pending = true;       // the sample is to be settled at whole_at
        Nanoseconds whole_at = 0;  // when all needed packets are known
        Nanoseconds slack = 0;
        Nanoseconds retention = 0;

        Nanoseconds due = 0;
        Nanoseconds period_begin = 0;
        std::uint64_t period_samples = 0;

        Index taken = 0;  // entries 1..taken were used at least once
        Index free = 0;
        Index sweep_at = 0;
        Index sweep_left = 0;
        std::uint64_t live = 0;

        WindowState window;  // of the last burst
        bool troubled = false;
        Nanoseconds troubled_until = 0;
        static constexpr unsigned kReasons = 4;
        std::array<Nanoseconds, kReasons> changed_at{};  // by reason of a miss
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
    Nanoseconds interval_;  // minimum between packets of the sample; 0: none
    std::uint64_t entry_bytes_;
    Index* heads_;
    std::byte* entries_;
    unsigned shift_;

    bool started_ = false;
    // Resumed: the filter may know packets of an interrupted burst that the audit does not.
    bool resumed_;
    Nanoseconds unsure_until_ = 0;
    AuditState state_;
    bool quiet_ = true;  // nothing shortened the window for long enough before the burst

    AuditCounters counters_;
    AgeHistogram ages_;
};

}  // namespace unecho::filter
