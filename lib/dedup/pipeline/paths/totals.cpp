// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/pipeline/paths/totals.h"

#include <algorithm>
#include <cstdlib>

namespace unecho::pipeline {
namespace {

// Return the index of a counter's row.
template <typename Block, std::size_t N>
constexpr std::size_t row_of(const CounterRows<Block, N>& rows,
                             std::uint64_t Block::*counter) noexcept {
    std::size_t i = 0;
    while (rows[i].value != counter) {
        ++i;
    }
    return i;
}

template <typename Block, std::size_t N>
Block read_rows(const CounterRows<Block, N>& rows,
                const std::array<SharedWord<std::uint64_t>, N>& words) noexcept {
    Block out;
    for (std::size_t i = 0; i < N; ++i) {
        out.*rows[i].value = words[i].get();
    }
    return out;
}

}  // namespace

PathCount& PathCount::operator+=(const PathCount& other) noexcept {
    fold(kPathCounters, other.counters, counters);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        changes[i] += other.changes[i];
    }
    all.arrived += other.all.arrived;
    all.missing += other.all.missing;
    all.unannounced += other.all.unannounced;
    hops += other.hops;
    if (other.delays.count != 0) {
        delays.least =
            delays.count == 0 ? other.delays.least : std::min(delays.least, other.delays.least);
        delays.most = std::max(delays.most, other.delays.most);
    }
    delays.count += other.delays.count;
    delays.first_of_runs += other.delays.first_of_runs;
    delays.sum += other.delays.sum;
    delays.variation += other.delays.variation;
    for (std::size_t i = 0; i < delays.histogram.buckets.size(); ++i) {
        const auto& from = other.delays.histogram.buckets[i];
        auto& to = delays.histogram.buckets[i];
        to.count += from.count;
        to.sum += from.sum;
        to.squares += from.squares;
    }
    return *this;
}

void PathCell::add(std::uint64_t PathCounters::*counter) noexcept {
    counters_[row_of(kPathCounters, counter)].add(1);
}

void PathCell::add_changes(packet::Changes changes, int hops) noexcept {
    for (std::size_t i = 0; changes >> i != 0; ++i) {
        changes_[i].add(changes >> i & 1U);
    }
    hops_.add(hops);
}

void PathCell::add_delay(Nanoseconds delay) noexcept {
    SharedWord<std::uint64_t>& timed = counters_[row_of(kPathCounters, &PathCounters::timed)];
    const std::uint64_t before = timed.get();
    if (before == 0 || delay < least_.get()) {
        least_.set(delay);
    }
    if (delay > most_.get()) {
        most_.set(delay);
    }
    if (before != 0) {
        variation_.add(static_cast<double>(delay > last_ ? delay - last_ : last_ - delay));
    }
    last_ = delay;
    sum_.add(static_cast<double>(delay));
    const unsigned i = decltype(histogram_)::bucket_of(delay);
    auto& bucket = histogram_.buckets[i];
    const auto beyond = static_cast<double>(delay - decltype(histogram_)::begin_of(i));
    bucket.count.add(1);
    bucket.sum.add(beyond);
    bucket.squares.add(beyond * beyond);
    timed.set(before + 1);
}

void PathCell::set_all(const AllPackets& all) noexcept {
    all_arrived_.set(all.arrived);
    all_missing_.set(all.missing);
    all_unannounced_.set(all.unannounced);
}

PathCount PathCell::read() const noexcept {
    PathCount out;
    out.counters = read_rows(kPathCounters, counters_);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
        out.changes[i] = changes_[i].get();
    }
    out.all = {all_arrived_.get(), all_missing_.get(), all_unannounced_.get()};
    out.hops = hops_.get();
    PathDelays& delays = out.delays;
    delays.sum = sum_.get();
    delays.variation = variation_.get();
    delays.least = least_.get();
    delays.most = most_.get();
    for (std::size_t i = 0; i < histogram_.buckets.size(); ++i) {
        const auto& from = histogram_.buckets[i];
        delays.histogram.buckets[i] = {from.count.get(), from.sum.get(), from.squares.get()};
        delays.count += delays.histogram.buckets[i].count;
    }
    delays.first_of_runs = delays.count == 0 ? 0 : 1;
    return out;
}

void PathTotals::add(std::uint64_t PathSampleCounters::*counter, std::uint64_t more) noexcept {
    sample_[row_of(kPathSampleCounters, counter)].add(more);
}

void PathTotals::set(std::uint64_t PathSampleCounters::*counter, std::uint64_t value) noexcept {
    sample_[row_of(kPathSampleCounters, counter)].set(value);
}

PathSampleCounters PathTotals::sample() const noexcept {
    return read_rows(kPathSampleCounters, sample_);
}

}  // namespace unecho::pipeline
