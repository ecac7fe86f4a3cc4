// SPDX-License-Identifier: BSD-3-Clause
#include "filters/audit/audit.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include "base/assert.h"

namespace unecho::filter {
namespace {

constexpr Nanoseconds kForEver = std::numeric_limits<Nanoseconds>::max();
// Packets of the sample that may arrive at once without raising n.
constexpr std::uint64_t kBudget = 1024;
// n falls when at most 1 / kAmple of the entries and of the budget are in use.
constexpr std::uint64_t kAmple = 4;

constexpr Nanoseconds sum(Nanoseconds a, Nanoseconds b) noexcept {
    return b > kForEver - a ? kForEver : a + b;
}

constexpr Nanoseconds times(Nanoseconds a, std::uint64_t n) noexcept {
    return a > kForEver / n ? kForEver : a * n;
}

// Reasons of misses: indices of changed_at and changed.
constexpr unsigned kStall = 0;
constexpr unsigned kArenaFull = 1;
constexpr unsigned kEvicted = 2;
constexpr unsigned kLoad = 3;

}  // namespace

Audit::Audit(const AuditParams& params, std::span<std::byte> memory, Contents contents) noexcept
    : params_(params),
      spec_(params.spec()),
      kept_(*carve<State>(memory, 0, 1)),
      interval_(spec_.samples_per_second == 0 ? 0 : kSecond / spec_.samples_per_second),
      entry_bytes_(entry_bytes(spec_)),
      heads_(carve<Index>(memory, kStateBytes, params.buckets())),
      entries_(memory.data() + kStateBytes + heads_bytes(params)),
      shift_(64 - static_cast<unsigned>(std::countr_zero(params.buckets()))),
      resumed_(contents == Contents::kRestored) {
    UNECHO_ASSERT(memory.size() >= bytes(params) && line_aligned(memory));
    UNECHO_ASSERT(params.buckets() >= 2);
    if (!resumed_) {
        std::construct_at(&kept_);
        kept_.bits = spec_.bits;
        kept_.slack = spec_.slack;
    }
    sample_ = AuditSample(spec_.secret, kept_.bits);
    set_reach();
}

bool Audit::is_consistent(const AuditParams& params, std::span<std::byte> memory) noexcept {
    const State& kept = *carve<State>(memory, 0, 1);
    // planted: torn-audit-accepted
    return !kept.write_guard.is_interrupted() && kept.started == 1 && kept.bits <= kMaxBits &&
           kept.taken <= params.entries() && kept.free <= kept.taken && kept.live <= kept.taken;
}

void Audit::set_reach() noexcept {
    spec_.slack = kept_.slack;
    reach_ = sum(sum(spec_.window, spec_.slack), spec_.grace);
    kept_.retention = std::max({kept_.retention, filter::times(spec_.window, 4), kSecond, reach_});
}

// --- the sample --------------------------------------------------------------------------------

// Called in the first burst.
void Audit::start(const AuditState& state) noexcept {
    started_ = true;
    if (kept_.started == 0) {
        kept_.started = 1;
        kept_.whole_at = spec_.begins_whole ? state.first : sum(state.first, reach_);
        kept_.period_begin = kept_.due = state.first;
    }
    // planted: resumed-audit-judges-at-once
    unsure_until_ = resumed_ ? sum(state.first, reach_) : 0;
    state_ = {};
    state_.window = kept_.window;
    state_.stalls = state.stalls;
}

void Audit::begin_burst(const AuditState& state) noexcept {
    kept_.write_guard.begin();
    if (!started_) {
        start(state);
    }
    const auto note = [&](unsigned reason, bool changed) {
        if (changed) {
            kept_.changed_at[reason] = state.last;
            kept_.changed[reason] = true;
            kept_.troubled = true;
            kept_.troubled_until = sum(state.last, reach_);
        }
    };
    note(kStall, state.stalls != state_.stalls);
    note(kArenaFull, state.counters.arena_full != state_.counters.arena_full);
    note(kEvicted, state.counters.evicted_early != state_.counters.evicted_early);
    note(kLoad, state.window.early_turns != state_.window.early_turns);
    quiet_ = !kept_.troubled || state.first >= kept_.troubled_until;
    state_ = state;
    kept_.window = state.window;
    settle(state.first);
    kept_.write_guard.end();
}

void Audit::settle(Nanoseconds now) noexcept {
    if (kept_.pending && now >= kept_.whole_at) {
        kept_.pending = false;
        kept_.settled = true;
        kept_.settled_limit = sample_.limit();
    }
}

// Some packets of the sample are unknown. Judge nothing until they no longer matter.
void Audit::unsettle(Nanoseconds now) noexcept {
    kept_.settled = false;
    kept_.pending = true;
    kept_.whole_at = sum(now, reach_);
}

void Audit::change_slack(Nanoseconds slack, Nanoseconds now) noexcept {
    const bool longer = slack > spec_.slack;
    kept_.write_guard.begin();
    kept_.slack = slack;
    set_reach();
    if (longer && (counters_.cut_short != 0 || resumed_)) {
        unsettle(now);
    }
    kept_.write_guard.end();
}

// Remove half of the keys from the sample. The others are known as completely as before.
void Audit::raise(Nanoseconds now) noexcept {
    if (kept_.bits == kMaxBits) {
        return;
    }
    ++kept_.bits;
    sample_.halve();
    kept_.settled_limit = std::min(kept_.settled_limit, sample_.limit());
    kept_.sweep_left = kept_.taken;
    kept_.period_begin = now;
    kept_.period_samples = 0;
}

// Double the keys of the sample. The new ones are unknown: entries left of them are too old.
void Audit::lower(Nanoseconds now) noexcept {
    --kept_.bits;
    sample_.double_keys();
    kept_.pending = true;
    kept_.whole_at = sum(now, reach_);
    kept_.period_begin = now;
    kept_.period_samples = 0;
}

void Audit::spend(Nanoseconds now) noexcept {
    if (interval_ == 0) {
        return;
    }
    const Nanoseconds allowance = kBudget * interval_;
    kept_.due = std::max(kept_.due, now > allowance ? now - allowance : 0) + interval_;
    if (kept_.due > now) {
        raise(now);
        kept_.due = now - std::min(now, allowance / 2);
        return;
    }
    ++kept_.period_samples;
    const Nanoseconds elapsed = age(kept_.period_begin, now);
    if (elapsed < std::max(filter::times(reach_, 2), kSecond)) {
        return;
    }
    if (kept_.bits != 0 && !kept_.pending && kept_.period_samples * interval_ <= elapsed / kAmple &&
        kept_.live <= params_.entries() / kAmple) {
        lower(now);
    }
    kept_.period_begin = now;
    kept_.period_samples = 0;
}

// --- the table ---------------------------------------------------------------------------------

bool Audit::same(Entry& entry, const AuditKey& key) const noexcept {
    return entry.digest == key.digest && entry.hash == key.hash &&
           entry.key_length == key.bytes.size() &&
           (key.bytes.empty() ||
            std::memcmp(key_bytes(entry), key.bytes.data(), key.bytes.size()) == 0);
}

Audit::Index Audit::find(const AuditKey& key, bool& collides) const noexcept {
    Index index = head_of(key.digest);
    for (; index != 0; index = at(index).next) {
        Entry& entry = at(index);
        if (same(entry, key)) {
            return index;
        }
        collides |= entry.digest == key.digest;
    }
    return 0;
}

void Audit::leave_list(Index index) noexcept {
    const Entry& entry = at(index);
    at(entry.older).newer = entry.newer;
    at(entry.newer).older = entry.older;
}

void Audit::become_youngest(Index index) noexcept {
    Entry& entry = at(index);
    Entry& sentinel = at(0);
    entry.older = sentinel.older;
    entry.newer = 0;
    at(sentinel.older).newer = index;
    sentinel.older = index;
}

void Audit::unchain(Index index) noexcept {
    Index* link = &head_of(at(index).digest);
    while (*link != index) {
        link = &at(*link).next;
    }
    *link = at(index).next;
}

void Audit::give_up(Index index) noexcept {
    unchain(index);
    leave_list(index);
    Entry& entry = at(index);
    entry.used = false;
    entry.next = kept_.free;
    kept_.free = index;
    --kept_.live;
}

// Free at most two entries; a packet adds only one.
void Audit::expire(Nanoseconds now) noexcept {
    for (unsigned i = 0; i < 2; ++i) {
        const Index index = oldest();
        if (index == 0 || age(at(index).last, now) < kept_.retention) {
            return;
        }
        give_up(index);
    }
}

// Find an entry whose key has left the sample, and free it.
bool Audit::sweep() noexcept {
    for (unsigned i = 0; i < kSweep && kept_.sweep_left != 0; ++i, --kept_.sweep_left) {
        kept_.sweep_at = kept_.sweep_at % kept_.taken + 1;
        if (at(kept_.sweep_at).used && !sample_.has(at(kept_.sweep_at).digest)) {
            ++counters_.discarded;
            give_up(kept_.sweep_at);
            return true;
        }
    }
    return false;
}

// Return an entry for a new key: an unused one, or the oldest if it is old enough, or one whose key
// has left the sample. If there is none, halve the sample and look again. 0: none.
Audit::Index Audit::take_entry(Digest digest, Nanoseconds now) noexcept {
    if (kept_.free == 0 && kept_.taken < params_.entries()) {
        return ++kept_.taken;
    }
    if (kept_.free == 0 && !sweep() && age(at(oldest()).last, now) >= reach_) {
        ++counters_.cut_short;
        give_up(oldest());
    }
    if (kept_.free == 0 && kept_.sweep_left == 0) {
        raise(now);
        if (!sample_.has(digest) || !sweep()) {
            return 0;
        }
    }
    const Index index = kept_.free;
    if (index != 0) {
        kept_.free = at(index).next;
    }
    return index;
}

void Audit::begin(Index index, const AuditKey& key) noexcept {
    Entry& entry = at(index);
    entry.digest = key.digest;
    entry.hash = key.hash;
    entry.sure = entry.possible = 0;
    entry.dropped = false;
    entry.used = true;
    entry.key_length = static_cast<std::uint16_t>(key.bytes.size());
    if (!key.bytes.empty()) {
        std::memcpy(key_bytes(entry), key.bytes.data(), key.bytes.size());
    }
    Index& head = head_of(key.digest);
    entry.next = head;
    head = index;
    ++kept_.live;
}

// --- the verdict -------------------------------------------------------------------------------

// Return true if the reference is certainly inside the achieved window. The state is that of the
// burst's last packet. For an earlier packet the window may have been shorter, unless nothing has
// shortened it for long (quiet_). Otherwise it must be remembered even now.
bool Audit::certain(Nanoseconds reference, Nanoseconds now) const noexcept {
    if (age(reference, now) >= spec_.window) {
        return false;
    }
    const bool kept = age(reference, state_.last) < state_.window.achieved;
    return now == state_.last ? kept : kept || quiet_;
}

Audit::Reference Audit::reference_of(Entry& entry, Nanoseconds now) const noexcept {
    Reference out;
    const Nanoseconds last = age(entry.last, now);
    const unsigned n = spec_.first;
    const auto place = [&](Nanoseconds old) {
        out.recent = old < spec_.window;
        out.possible = old < sum(spec_.window, spec_.slack);
        out.late = old < reach_;
    };
    if (spec_.policy == EchoPolicy::kRefresh) {
        out.known = entry.possible >= n;
        out.time = entry.last;
        out.certain = entry.sure >= n && certain(entry.last, now);
        if (out.known) {
            place(last);
        }
    } else {  // the oldest of the last N
        const Nanoseconds* const recorded = times(entry);
        out.known = entry.sure >= n;
        out.time = recorded[n - 1];
        out.certain = out.known && certain(out.time, now);
        if (entry.possible >= n) {
            place(age(recorded[2 * std::size_t{n} - 1], now));
        }
    }
    out.age = age(out.time, now);
    out.inside = out.known && out.age < spec_.window;
    out.dropped = entry.dropped && last < reach_;
    return out;
}

// Return the reason of a miss. Those that the filter reports come first; without any it is load.
Verdict Audit::reason_since(Nanoseconds reference) const noexcept {
    const auto since = [&](unsigned reason) {
        return kept_.changed[reason] && kept_.changed_at[reason] >= reference;
    };
    return since(kArenaFull) ? Verdict::kMissArenaFull
           : since(kEvicted) ? Verdict::kMissEvicted
           : since(kLoad)    ? Verdict::kMissLoad
           : since(kStall)   ? Verdict::kMissStall
                             : Verdict::kMissLoad;
}

// Return true if the worker's absence, which counted as time, made the reference too old.
bool Audit::stalled(const Reference& reference) const noexcept {
    return reference.known && kept_.changed[kStall] && kept_.changed_at[kStall] >= reference.time &&
           reference.age < sum(spec_.window, state_.stall);
}

Verdict Audit::judge(const Reference& reference, Answer answer) const noexcept {
    switch (answer) {
        case Answer::kEcho:
            return reference.recent     ? Verdict::kEcho
                   : reference.possible ? Verdict::kSlackEcho
                   : reference.late     ? Verdict::kLateEcho
                   : reference.dropped  ? Verdict::kOverdue
                                        : Verdict::kFalseDrop;
        case Answer::kDoubt:
            return reference.inside                       ? Verdict::kDoubtOfEcho
                   : reference.possible || reference.late ? Verdict::kSlackDoubt
                                                          : Verdict::kDoubtOfNew;
        case Answer::kNew:
            break;
    }
    return reference.certain                      ? Verdict::kMiss
           : reference.inside                     ? reason_since(reference.time)
           : stalled(reference)                   ? Verdict::kMissStall
           : reference.possible || reference.late ? Verdict::kSlackNew
                                                  : Verdict::kNew;
}

// Update the entry as the filter was updated by this packet.
void Audit::record(Entry& entry, const AuditSight& sight) noexcept {
    const auto n = static_cast<std::uint16_t>(spec_.first);
    const auto more = [n](std::uint16_t count) {
        return static_cast<std::uint16_t>(std::min<unsigned>(count + 1U, n));
    };
    if (spec_.policy == EchoPolicy::kRefresh) {
        const bool goes_on = entry.sure != 0 && certain(entry.last, sight.time);
        entry.sure = goes_on ? more(entry.sure) : std::uint16_t{1};
        entry.possible = entry.possible != 0 && age(entry.last, sight.time) < reach_
                             ? more(entry.possible)
                             : std::uint16_t{1};
    } else {
        const auto push = [&](Nanoseconds* to) {
            std::memmove(to + 1, to, (n - std::size_t{1}) * sizeof(Nanoseconds));
            to[0] = sight.time;
        };
        if (sight.answer == Answer::kNew || (sight.answer == Answer::kDoubt && n == 1)) {
            push(times(entry));
            entry.sure = more(entry.sure);
        }
        if (sight.answer != Answer::kEcho) {
            push(times(entry) + n);
            entry.possible = more(entry.possible);
        }
    }
    entry.last = sight.time;
    entry.dropped = sight.answer == Answer::kEcho;
}

void Audit::learn(Digest digest, Nanoseconds now) noexcept {
    kept_.write_guard.begin();
    for (Index index = head_of(digest); index != 0; index = at(index).next) {
        Entry& entry = at(index);
        if (entry.digest != digest) {
            continue;
        }
        if (spec_.policy == EchoPolicy::kFixed) {
            std::fill_n(times(entry), times_of(spec_), now);
        }
        entry.sure = static_cast<std::uint16_t>(spec_.first);
        entry.possible = entry.sure;
        entry.last = now;
        leave_list(index);
        become_youngest(index);
    }
    kept_.write_guard.end();
}

void Audit::count(Verdict verdict) noexcept {
    static_assert(static_cast<unsigned>(Verdict::kNotHeld) == 16);
    // In the order of Verdict.
    constexpr std::array kCounterOf{&AuditCounters::fresh,
                                    &AuditCounters::doubts_of_new,
                                    &AuditCounters::false_drops,
                                    &AuditCounters::echoes,
                                    &AuditCounters::doubts_of_echoes,
                                    &AuditCounters::misses,
                                    &AuditCounters::misses_stall,
                                    &AuditCounters::misses_arena_full,
                                    &AuditCounters::misses_evicted,
                                    &AuditCounters::misses_load,
                                    &AuditCounters::slack_echoes,
                                    &AuditCounters::slack_new,
                                    &AuditCounters::slack_doubts,
                                    &AuditCounters::late_echoes,
                                    &AuditCounters::overdue,
                                    &AuditCounters::unsettled,
                                    &AuditCounters::not_held};
    ++(counters_.*kCounterOf[static_cast<unsigned>(verdict)]);
}

AuditFinding Audit::observe(const AuditKey& key, const AuditSight& sight,
                            const AuditTag& tag) noexcept {
    ++counters_.sampled;
    kept_.write_guard.begin();
    const AuditFinding out = look(key, sight, tag);
    kept_.write_guard.end();
    return out;
}

AuditFinding Audit::look(const AuditKey& key, const AuditSight& sight,
                         const AuditTag& tag) noexcept {
    expire(sight.time);
    bool collides = false;
    Index index = find(key, collides);
    counters_.collisions += collides && index == 0 ? 1 : 0;
    AuditFinding out;
    if (index == 0) {
        index = take_entry(key.digest, sight.time);
        if (index == 0) {
            if (sample_.has(key.digest)) {
                unsettle(sight.time);
            }
            count(Verdict::kNotHeld);
            out.verdict = Verdict::kNotHeld;
            return out;
        }
        begin(index, key);
        out.verdict = judge({}, sight.answer);
    } else {
        Entry& entry = at(index);
        leave_list(index);
        ages_.add(age(entry.last, sight.time));
        out.repeats = age(entry.last, sight.time) < sum(spec_.window, spec_.slack);
        out.first = entry.tag;
        out.verdict = judge(reference_of(entry, sight.time), sight.answer);
    }
    if (!judged(key.digest) || (out.verdict == Verdict::kFalseDrop && sight.time < unsure_until_)) {
        out.verdict = Verdict::kUnsettled;
    }
    count(out.verdict);
    Entry& entry = at(index);
    if (!out.repeats) {
        entry.tag = tag;
    }
    record(entry, sight);
    become_youngest(index);
    spend(sight.time);
    return out;
}

}  // namespace unecho::filter
