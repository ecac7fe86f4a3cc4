// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/exact.h"

#include <cstring>

#include "base/prefetch.h"

namespace unecho::filter {

Exact::Exact(const ExactParams& params, std::span<std::byte> memory, Contents contents) noexcept
    : params_(params),
      window_(params.window()),
      buckets_(params.buckets()),
      heads_(carve<Index>(memory, 0, params.buckets())),
      entries_(carve<Entry>(memory, heads_bytes(params), params.entries() + 1)),
      kept_(params.window()) {
    UNECHO_ASSERT(line_aligned(memory));
    if (contents == Contents::kRestored) {
        rebuild();
    }
}

// Rebuild chains and list from digests and times alone. An entry interrupted within a packet has
// that packet's digest or the previous packet's time. Free entries become the oldest.
void Exact::rebuild() noexcept {
    std::memset(heads_, 0, buckets_ * sizeof(Index));
    used_ = params_.entries();
    while (used_ != 0 && entries_[used_].time == 0) {
        --used_;
    }
    entries_[0] = Entry{};
    Index first = 0;
    for (Index i = used_; i != 0; --i) {
        entries_[i].newer = first;
        first = i;
    }
    Index older = 0;
    for (Index i = by_age(first); i != 0; i = entries_[i].newer) {
        Entry& entry = entries_[i];
        entry.points = 0;
        Index& head = heads_[bucket_of(entry.digest)];
        entry.next = head;  // after younger ones
        head = i;
        entry.older = older;
        entries_[older].newer = i;
        older = i;
    }
    entries_[0].older = older;
}

// Sort by time, oldest first, linked by `newer`. Merges runs of 1, 2, 4, ... entries.
Exact::Index Exact::by_age(Index first) noexcept {
    constexpr unsigned kRuns = 33;
    Index runs[kRuns] = {};
    const auto merged = [this](Index one, Index other) noexcept {
        Index sorted = 0;
        for (Index* end = &sorted; one != 0 || other != 0;) {
            const bool take_one =
                other == 0 || (one != 0 && entries_[one].time <= entries_[other].time);
            Index& from = take_one ? one : other;
            *end = from;
            end = &entries_[from].newer;
            from = *end;
        }
        return sorted;
    };
    while (first != 0) {
        Index run = first;
        first = entries_[first].newer;
        entries_[run].newer = 0;
        unsigned i = 0;
        for (; runs[i] != 0; ++i) {
            run = merged(runs[i], run);
            runs[i] = 0;
        }
        runs[i] = run;
    }
    Index all = 0;
    for (const Index run : runs) {
        all = merged(run, all);
    }
    return all;
}

void Exact::clear() noexcept {
    std::memset(heads_, 0, buckets_ * sizeof(Index));
    entries_[0] = Entry{};
    used_ = uncounted_ = 0;
    forgotten_ = {};
}

// Return an entry that is in no chain and not in the list.
Exact::Index Exact::take_entry() noexcept {
    const Index oldest = entries_[0].newer;
    const bool reusable = oldest != 0 && !is_live(entries_[oldest]);
    if (!reusable && used_ < params_.entries()) {
        return ++used_;
    }
    if (!reusable) {
        ++counters_.evicted_early;
        kept_.forget(entries_[oldest].time, now_);
    }
    count_points(oldest, reusable);
    unchain(oldest);
    leave_list(oldest);
    return oldest;
}

// Return the link to an entry in the chain of a bucket, or the link that ends the chain.
Exact::Index& Exact::link_in(Index bucket, Index index) noexcept {
    Index* link = &heads_[bucket];
    while (*link != index && *link != 0) {
        link = &entries_[*link].next;
    }
    return *link;
}

// An entry is in the chain of its digest, unless memory lost bits of it.
void Exact::unchain(Index index) noexcept {
    Index* link = &link_in(bucket_of(entries_[index].digest), index);
    for (std::uint64_t bucket = 0; *link == 0 && bucket < buckets_; ++bucket) {
        link = &link_in(static_cast<Index>(bucket), index);
    }
    if (*link != 0) {
        *link = entries_[index].next;
    }
}

// Second pass of a burst's prefetching, after the buckets have arrived: the first entry of each
// chain, and the buckets of the entries to be taken over. Those are adjacent unless refreshes mixed
// them.
void Exact::prefetch_entries(std::span<const Digest> digests) const noexcept {
    Index oldest = entries_[0].newer;
    for (const Digest digest : digests) {
        prefetch_line_for_write(&entries_[heads_[bucket_of(digest)]]);
        prefetch_line_for_write(&heads_[bucket_of(entries_[oldest].digest)]);
        oldest = entries_[oldest].newer;
    }
}

// --- points ------------------------------------------------------------------------------------

// The time of the first note is not known before it comes: until then no entry is judged.
void Exact::start_points() noexcept {
    forgotten_ = {};
    notes_points_ = first_note_ = true;
    judged_from_ = ~Nanoseconds{0};
}

void Exact::note_points(std::span<const Digest> digests,
                        std::span<const std::uint8_t> points) noexcept {
    if (first_note_) [[unlikely]] {
        first_note_ = false;
        miss_points();
    }
    for (std::size_t i = 0; i < digests.size(); ++i) {
        const Index index = find(bucket_of(digests[i]), digests[i]);
        entries_[index].points |= index == 0 ? 0 : points[i];
    }
}

void Exact::miss_points() noexcept {
    judged_from_ = now_ > ~window_ ? ~Nanoseconds{0} : now_ + window_;
}

// Entries are in the order of their ages, so those with points to count lie behind one another.
void Exact::maintain() noexcept {
    constexpr unsigned kAtOnce = 4;
    if (!notes_points_) {
        return;
    }
    Index index = uncounted_ == 0 ? entries_[0].newer : uncounted_;
    for (unsigned i = 0; i < kAtOnce && index != 0 && !is_live(entries_[index]); ++i) {
        count_points(index, true);
        uncounted_ = index;
        index = entries_[index].newer;
    }
}

std::uint64_t Exact::test_and_insert_burst(std::span<const Digest> digests) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst);
    for (const Digest digest : digests) {
        prefetch(digest);
    }
    prefetch_entries(digests);
    std::uint64_t echoes = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        echoes |= std::uint64_t{test_and_insert(digests[i])} << i;
    }
    return echoes;
}

}  // namespace unecho::filter
