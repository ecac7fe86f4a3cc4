// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/paths/path_table.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/assert.h"
#include "filters/storage.h"

namespace unecho::pipeline {
namespace {

constexpr Nanoseconds kMostUncertain = 20 * kMicrosecond;
constexpr unsigned kAtOnce = 4;  // keys judged in one call
constexpr unsigned kSweep = 16;  // entries examined for one that is wanted
constexpr Nanoseconds kPeriod = kSecond / 8;
// Looks that may come at once without a smaller sample.
constexpr std::uint64_t kBurst = 256;
// The sample grows when at most 1 / kAmple of the entries and of the looks a second are in use.
constexpr std::uint64_t kAmple = 4;
constexpr unsigned kMaxBits = 31;

// Return how much of the memory is for hosts.
constexpr std::uint64_t host_bytes(std::uint64_t memory) noexcept {
    return filter::align_to_line(std::bit_floor(memory / 8));
}

constexpr Nanoseconds sum(Nanoseconds a, Nanoseconds b) noexcept {
    return b > ~a ? ~Nanoseconds{0} : a + b;
}

}  // namespace

std::uint64_t PathTable::Layout::head_bytes() const noexcept {
    return filter::align_to_line(buckets * sizeof(Index));
}
std::uint64_t PathTable::Layout::entry_bytes() const noexcept {
    return sizeof(Entry) + looks * sizeof(Look);
}
std::uint64_t PathTable::Layout::bytes() const noexcept {
    return host_bytes + head_bytes() + filter::align_to_line((entries + 1) * entry_bytes());
}

// As many entries as fit, but not more than the looks of two windows need.
PathTable::Layout PathTable::layout_of(const PathSpec& spec) noexcept {
    Layout out;
    out.looks = kLooksAtPoint * spec.points;
    out.host_bytes = host_bytes(spec.memory);
    const std::uint64_t fit = (spec.memory - out.host_bytes) / (out.entry_bytes() + 8);
    std::uint64_t needed = fit;
    if (spec.looks_per_second != 0 && spec.window < 3600 * kSecond) {
        needed = 4 * kBurst + spec.looks_per_second * (2 * spec.window / kMicrosecond) / 1'000'000;
    }
    out.entries = std::clamp<std::uint64_t>(needed, 16, std::max<std::uint64_t>(fit, 16));
    out.buckets = std::max<std::uint64_t>(std::bit_ceil(out.entries), 2);
    while (out.bytes() > spec.memory && out.entries > 16) {
        out.entries -= std::max<std::uint64_t>(out.entries / 64, 1);
        out.buckets = std::max<std::uint64_t>(std::bit_ceil(out.entries), 2);
    }
    return out;
}

std::uint64_t PathTable::bytes(const PathSpec& spec) noexcept {
    return layout_of(spec).bytes();
}

PathTable::PathTable(const PathSpec& spec, std::span<std::byte> memory, PathTotals& totals) noexcept
    : spec_(spec),
      layout_(layout_of(spec)),
      totals_(totals),
      sample_(spec.secret, spec.bits),
      hosts_(memory.first(layout_.host_bytes)),
      heads_(filter::carve<Index>(memory, layout_.host_bytes, layout_.buckets)),
      entries_(memory.data() + layout_.host_bytes + layout_.head_bytes()),
      shift_(64 - static_cast<unsigned>(std::countr_zero(layout_.buckets))),
      bits_(spec.bits) {
    UNECHO_ASSERT(spec.points >= 2 && spec.points <= kMaxPathPoints &&
                  totals.points() == spec.points);
    UNECHO_ASSERT(memory.size() >= layout_.bytes() && spec.memory >= kLeastMemory);
    totals_.set(&PathSampleCounters::bits, bits_);
}

// --- the sample --------------------------------------------------------------------------------

void PathTable::start(Nanoseconds now) noexcept {
    started_ = true;
    settles_at_ = sum(now, spec_.window);
    period_begin_ = halved_at_ = now;
    due_ = 0;  // the whole burst may come
}

// Remove half of the keys from the sample. Entries of these lack their later looks.
void PathTable::halve(Nanoseconds now) noexcept {
    period_begin_ = halved_at_ = now;
    period_looks_ = 0;
    if (bits_ == kMaxBits) {
        return;
    }
    totals_.set(&PathSampleCounters::bits, ++bits_);
    sample_.halve();
    settled_limit_ = std::min(settled_limit_, sample_.limit());
    sweep_left_ = taken_;
}

// Double the keys of the sample. Of the new ones it is not known what came before.
void PathTable::double_keys(Nanoseconds now) noexcept {
    totals_.set(&PathSampleCounters::bits, --bits_);
    sample_.double_keys();
    all_settled_ = false;
    settles_at_ = sum(now, spec_.window);
    period_begin_ = halved_at_ = now;
    period_looks_ = 0;
}

void PathTable::spend(Nanoseconds now) noexcept {
    ++period_looks_;
    const bool limited = spec_.looks_per_second != 0;
    if (limited) {
        const Nanoseconds interval = kSecond / spec_.looks_per_second;
        const Nanoseconds allowance = kBurst * interval;
        due_ = std::max(due_, now > allowance ? now - allowance : 0) + interval;
        if (due_ > now) {
            halve(now);
            due_ = now - std::min(now, allowance / 2);
            return;
        }
    }
    const Nanoseconds elapsed = now - period_begin_;
    if (elapsed >= kPeriod) {
        const std::uint64_t budget =
            spec_.looks_per_second / (kSecond / kPeriod) * (elapsed / kPeriod);
        // Keys that left the sample must be judged before they could come back: they lack looks.
        const bool ample = (!limited || period_looks_ * kAmple <= budget) &&
                           live_ <= layout_.entries / kAmple && !is_due(oldest(), now);
        const unsigned least = limited ? 0 : spec_.bits;
        if (ample && bits_ > least && all_settled_ &&
            now - halved_at_ >= std::max(2 * spec_.window, kSecond)) {
            double_keys(now);
        } else {
            period_begin_ = now;
            period_looks_ = 0;
        }
    }
}

// --- the table ---------------------------------------------------------------------------------

PathTable::Index PathTable::find(const PathKey& key) const noexcept {
    Index index = head_of(key.digest);
    while (index != 0 && (at(index).digest != key.digest || at(index).hash != key.hash)) {
        index = at(index).next;
    }
    return index;
}

void PathTable::leave_list(Index index) noexcept {
    const Entry& entry = at(index);
    at(entry.older).newer = entry.newer;
    at(entry.newer).older = entry.older;
}

void PathTable::become_youngest(Index index) noexcept {
    Entry& entry = at(index);
    Entry& sentinel = at(0);
    entry.older = sentinel.older;
    entry.newer = 0;
    at(sentinel.older).newer = index;
    sentinel.older = index;
}

void PathTable::remove(Index index) noexcept {
    Index* link = &head_of(at(index).digest);
    while (*link != index) {
        link = &at(*link).next;
    }
    *link = at(index).next;
    leave_list(index);
    at(index).looks = 0;
    at(index).next = free_;
    free_ = index;
    --live_;
}

// Remove an entry whose key has left the sample.
void PathTable::sweep() noexcept {
    for (unsigned i = 0; i < kSweep && sweep_left_ != 0; ++i) {
        --sweep_left_;
        sweep_at_ = sweep_at_ % taken_ + 1;
        const Entry& entry = at(sweep_at_);
        if (entry.looks != 0 && !sample_.has(entry.digest)) {
            totals_.add(&PathSampleCounters::unjudged, entry.looks);
            remove(sweep_at_);
            return;
        }
    }
}

// Return an unused entry, or that of a key that has left the sample. If there is none, halve the
// sample and look again. 0: none.
PathTable::Index PathTable::take_entry(const PathKey& key, Nanoseconds now) noexcept {
    if (free_ == 0 && taken_ < layout_.entries) {
        return ++taken_;
    }
    if (free_ == 0) {
        sweep();
    }
    if (free_ == 0 && sweep_left_ == 0) {
        halve(now);
        if (!sample_.has(key.digest)) {
            return 0;
        }
        sweep();
    }
    const Index index = free_;
    if (index != 0) {
        free_ = at(index).next;
    }
    return index;
}

// Return an entry for a new key, or 0 if there is no room.
PathTable::Index PathTable::begin(const PathKey& key, Nanoseconds now) noexcept {
    const Index index = take_entry(key, now);
    if (index == 0) {
        return 0;
    }
    Entry& entry = at(index);
    entry.digest = key.digest;
    entry.hash = key.hash;
    entry.source = key.source;
    entry.destination = key.destination;
    entry.source_sides = hosts_.of(key.source);
    entry.destination_sides = hosts_.of(key.destination);
    entry.first = now;
    entry.looks = 0;
    entry.looks_at = {};
    entry.settled = all_settled_ || (any_settled_ && sample_.product(key.digest) <= settled_limit_);
    entry.crowded = false;
    entry.identified = key.identified;
    Index& head = head_of(key.digest);
    entry.next = head;
    head = index;
    ++live_;
    return index;
}

void PathTable::look(const PathKey& key, const PathLook& look) noexcept {
    const Nanoseconds now = look.time - look.behind;
    if (!started_) {
        start(now);
    }
    expire(now);
    totals_.add(&PathSampleCounters::packets, 1);
    Index index = find(key);
    if (index == 0) {
        index = begin(key, now);
        if (index == 0) {
            totals_.add(&PathSampleCounters::crowded, 1);
            if (sample_.has(key.digest)) {  // a later look would be taken for the first
                pass_by(now);
            }
            return;
        }
    } else {
        leave_list(index);
    }
    Entry& entry = at(index);
    entry.last = now;
    become_youngest(index);
    spend(now);
    const std::uint8_t point = spec_.point_of[look.port];
    if (entry.identified && entry.looks_at[point] != 0) {  // the first look tells all
        totals_.add(&PathSampleCounters::doubled, 1);
        return;
    }
    if (entry.looks_at[point] == kLooksAtPoint) {
        entry.crowded = true;
        totals_.add(&PathSampleCounters::crowded, 1);
        return;
    }
    ++entry.looks_at[point];
    ++entry.looks;
    looks_of(entry).back() = {look.time, look.earliest, now, look.packet, ++serial_, point};
}

bool PathTable::is_due(Index index, Nanoseconds now) const noexcept {
    return index != 0 && now > sum(at(index).last, spec_.window);
}

void PathTable::expire(Nanoseconds now) noexcept {
    if (!all_settled_ && started_ && now >= settles_at_) {
        all_settled_ = any_settled_ = true;
        settled_limit_ = sample_.limit();
    }
    for (unsigned i = 0; i < kAtOnce; ++i) {
        const Index index = oldest();
        if (!is_due(index, now)) {
            break;
        }
        judge(at(index));
        remove(index);
    }
    totals_.set(&PathSampleCounters::entries, live_);
}

// A digest that a point showed, and none of those after it: it is missing at each of these.
void PathTable::set_all(const filter::ForgottenByPoints& forgotten) noexcept {
    static_assert(kMaxPathPoints == filter::ForgottenByPoints::kPoints);
    const unsigned masks = 1U << spec_.points;
    for (unsigned j = 1; j < spec_.points; ++j) {
        for (unsigned i = 0; i < j; ++i) {
            AllPackets all;
            for (unsigned mask = 1; mask < masks; ++mask) {
                const bool from = (mask >> i & 1) != 0;
                const bool to = (mask >> j & 1) != 0;
                all.arrived += from && to ? forgotten.digests[mask] : 0;
                all.missing += from && !to ? forgotten.digests[mask] : 0;
                all.unannounced += !from && to ? forgotten.digests[mask] : 0;
            }
            totals_.at(i, j).set_all(all);
        }
    }
    totals_.set(&PathSampleCounters::all_unjudged, forgotten.unjudged);
}

// --- the verdict -------------------------------------------------------------------------------

void PathTable::judge(Entry& entry) noexcept {
    const std::span<Look> looks = looks_of(entry);
    if (entry.crowded) {
        totals_.add(&PathSampleCounters::crowded, looks.size());
        return;
    }
    const bool judged = entry.settled && sample_.product(entry.digest) <= sample_.limit() &&
                        !(blind_ && entry.first <= sum(blind_at_, spec_.window));
    if (!judged) {
        totals_.add(&PathSampleCounters::unjudged, looks.size());
    }
    for (unsigned j = 1; j < spec_.points; ++j) {
        for (unsigned i = 0; i < j; ++i) {
            judge_pair(entry, i, j, judged);
        }
    }
}

// Gather the looks of a point, in their order: of a packet that says which transmission it is, one.
void PathTable::gather(Entry& entry, unsigned point, Side& side) const noexcept {
    const std::span<const Look> looks = looks_of(entry);
    for (std::size_t i = 0; i < looks.size(); ++i) {
        if (looks[i].point == point && (!entry.identified || side.count == 0)) {
            side.looks[side.count++] = static_cast<std::uint8_t>(i);
        }
    }
}

// Of all alignments in order, choose one with the least sum of |delay|, where a look that stays
// alone counts as half the window.
void PathTable::align(std::span<const Look> looks, const Side& a, const Side& b,
                      Pairing& pairing) const noexcept {
    constexpr std::size_t kWidth = kMaxLooks + 1;
    std::array<std::array<std::uint64_t, kWidth>, kWidth> cost;
    const std::uint64_t alone = spec_.window / 2 + 1;
    const auto matched = [&](unsigned i, unsigned j) {
        const Nanoseconds x = looks[a.looks[i]].counted;
        const Nanoseconds y = looks[b.looks[j]].counted;
        const Nanoseconds apart = x < y ? y - x : x - y;
        return apart <= spec_.window ? cost[i + 1][j + 1] + apart : ~std::uint64_t{0};
    };
    for (unsigned i = a.count + 1; i-- != 0;) {
        for (unsigned j = b.count + 1; j-- != 0;) {
            if (i == a.count || j == b.count) {
                cost[i][j] = (a.count - i + b.count - j) * alone;
            } else {
                cost[i][j] =
                    std::min({matched(i, j), cost[i + 1][j] + alone, cost[i][j + 1] + alone});
            }
        }
    }
    pairing.of.fill(-1);
    for (unsigned i = 0, j = 0; i < a.count && j < b.count;) {
        if (cost[i][j] == matched(i, j)) {
            pairing.taken[j] = true;
            pairing.of[i++] = static_cast<std::int8_t>(j++);
        } else if (cost[i][j] == cost[i + 1][j] + alone) {
            ++i;
        } else {
            ++j;
        }
    }
}

void PathTable::judge_pair(Entry& entry, unsigned i, unsigned j, bool judged) noexcept {
    Side a;
    Side b;
    gather(entry, i, a);
    gather(entry, j, b);
    if (a.count + b.count == 0) {
        return;
    }
    const std::span<const Look> looks = looks_of(entry);
    Pairing pairing;
    align(looks, a, b, pairing);
    const Course known = course_of(entry, pair_index(i, j));
    // Packets that only `near` saw, where forward is the course from there to `far`.
    const auto count_alone = [&](unsigned near, unsigned far, Course forward) {
        if (known == Course::kUnknown) {
            totals_.at(near, far).add(&PathCounters::alone);
        } else if (known == forward) {
            totals_.at(near, far).add(&PathCounters::missing);
        } else {
            totals_.at(far, near).add(&PathCounters::unannounced);
        }
    };
    for (unsigned n = 0; n < a.count; ++n) {
        if (pairing.of[n] >= 0) {
            count_arrival(entry, looks[a.looks[n]],
                          looks[b.looks[static_cast<unsigned>(pairing.of[n])]], known, judged);
        } else if (judged) {
            count_alone(i, j, Course::kForward);
        }
    }
    for (unsigned n = 0; judged && n < b.count; ++n) {
        if (!pairing.taken[n]) {
            count_alone(j, i, Course::kBackward);
        }
    }
}

// a, b: looks at the points i < j.
void PathTable::count_arrival(Entry& entry, const Look& a, const Look& b, Course known,
                              bool judged) noexcept {
    const Course seen = a.time < b.earliest   ? Course::kForward
                        : b.time < a.earliest ? Course::kBackward
                                              : Course::kUnknown;
    if (spec_.stated && seen == Course::kBackward) {
        totals_.at(a.point, b.point).add(&PathCounters::reversed);
        return;
    }
    const Course course = spec_.stated || seen == Course::kUnknown ? known : seen;
    const bool forward =
        course == Course::kUnknown ? a.serial < b.serial : course == Course::kForward;
    const Look& from = forward ? a : b;
    const Look& to = forward ? b : a;
    PathCell& cell = totals_.at(from.point, to.point);
    cell.add(&PathCounters::came);
    if (judged && known != Course::kUnknown && known == course) {
        cell.add(&PathCounters::arrived);
    }
    if (course != Course::kUnknown) {
        cell.add(&PathCounters::directed);
        cell.add_changes(packet::changes_between(from.packet, to.packet),
                         int{from.packet.frame.ttl} - int{to.packet.frame.ttl});
    }
    if (from.time - from.earliest + (to.time - to.earliest) <= kMostUncertain) {
        const Nanoseconds delay = to.time > from.time ? to.time - from.time : 0;
        cell.add_delay(delay);
        if (delay > spec_.late) {
            cell.add(&PathCounters::late);
        }
    } else {
        cell.add(&PathCounters::untimed);
    }
    Newest& newest = newest_[std::size_t{from.point} * kMaxPathPoints + to.point];
    const auto later = [](std::uint32_t x, std::uint32_t y) {
        return static_cast<std::int32_t>(x - y) > 0;
    };
    if (!newest.any || later(to.serial, newest.arrived)) {
        if (newest.any && later(newest.sent, from.serial)) {
            cell.add(&PathCounters::overtaken);
        } else {
            newest.sent = from.serial;
        }
        newest.arrived = to.serial;
        newest.any = true;
    }
    if (!spec_.stated && seen != Course::kUnknown) {
        hosts_.learn(entry.source, entry.destination, pair_index(a.point, b.point), seen,
                     entry.last);
    }
}

}  // namespace unecho::pipeline
