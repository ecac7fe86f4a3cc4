// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/reference_table.h"

#include <algorithm>
#include <cstring>

#include "base/prefetch.h"
#include "filters/first_packets.h"

namespace unecho::filter {
namespace {

// Buckets at the start; they fit into the L1 cache.
constexpr unsigned kFirstLog2Buckets = 12;

}  // namespace

ReferenceTable::ReferenceTable(const ReferenceParams& params, std::span<std::byte> memory) noexcept
    : params_(params),
      window_(params.window()),
      count_(params.count()),
      heads_(carve<Index>(memory, 0, params.buckets())),
      entries_(carve<Entry>(memory, heads_bytes(params), params.entries() + 1)),
      kept_(params.window()) {
    UNECHO_ASSERT(line_aligned(memory));
    const auto most = static_cast<unsigned>(std::countr_zero(params.buckets()));
    set_buckets(std::min(most, kFirstLog2Buckets));
}

void ReferenceTable::set_buckets(unsigned log2) noexcept {
    log2_buckets_ = log2;
    shift_ = 32 - log2;
    std::memset(heads_, 0, (std::uint64_t{1} << log2) * sizeof(Index));
    for (std::uint64_t index = 1; index <= used_; ++index) {
        chain(static_cast<Index>(index));
    }
}

ReferenceTable::Index ReferenceTable::find(Digest digest) const noexcept {
    Index index = head_of(digest);
    while (index != 0 && entries_[index].digest != digest) {
        index = entries_[index].next;
    }
    return index;
}

void ReferenceTable::chain(Index index) noexcept {
    Index& head = head_of(entries_[index].digest);
    entries_[index].next = head;
    head = index;
}

void ReferenceTable::unchain(Index index) noexcept {
    Index* link = &head_of(entries_[index].digest);
    while (*link != index) {
        link = &entries_[*link].next;
    }
    *link = entries_[index].next;
}

void ReferenceTable::leave_list(Index index) noexcept {
    const Entry& entry = entries_[index];
    entries_[entry.older].newer = entry.newer;
    entries_[entry.newer].older = entry.older;
}

void ReferenceTable::become_youngest(Index index, const PacketReference& seen) noexcept {
    Entry& entry = entries_[index];
    Entry& sentinel = entries_[0];
    entry.tag = seen.tag;
    entry.time = seen.time;
    entry.number = seen.number;
    entry.older = sentinel.older;
    entry.newer = 0;
    entries_[sentinel.older].newer = index;
    sentinel.older = index;
    ++counters_.insertions;
}

// Return an entry that is in no chain and not in the list.
ReferenceTable::Index ReferenceTable::take_entry(const PacketReference& seen) noexcept {
    const Index oldest = entries_[0].newer;
    const bool reusable = oldest != 0 && !is_live(entries_[oldest], seen);
    if (!reusable && used_ < params_.entries()) {
        if (std::uint64_t{used_} >> log2_buckets_ != 0) {
            set_buckets(log2_buckets_ + 1);
        }
        return ++used_;
    }
    if (!reusable) {
        ++counters_.evicted_early;
        kept_.forget(entries_[oldest].time, seen.time);
    }
    unchain(oldest);
    leave_list(oldest);
    return oldest;
}

bool ReferenceTable::test_and_insert(Digest digest, const PacketReference& seen,
                                     PacketReference& reference) noexcept {
    Index index = find(digest);
    if (index != 0) {
        const Entry& entry = entries_[index];
        const bool echo = is_live(entry, seen);
        if (echo) {
            reference = {entry.time, entry.number, entry.tag};
        }
        if (!echo || params_.policy() == EchoPolicy::kRefresh) {
            leave_list(index);
            become_youngest(index, seen);
        }
        return echo;
    }
    index = take_entry(seen);
    entries_[index].digest = digest;
    chain(index);
    become_youngest(index, seen);
    return false;
}

bool ReferenceTable::test_and_insert_first(Digest digest, unsigned first,
                                           const PacketReference& seen,
                                           PacketReference& reference) noexcept {
    PacketReference youngest;
    for (unsigned i = 0; i < first; ++i) {
        PacketReference one;
        if (!test_and_insert(first_slot(digest, i, first), seen, one)) {
            return false;
        }
        if (one.number > youngest.number) {
            youngest = one;
        }
    }
    reference = youngest;
    return true;
}

// Prefetch the buckets, then their first entries and the buckets of entries to be taken over.
void ReferenceTable::prefetch_burst(std::span<const Digest> digests) const noexcept {
    for (const Digest digest : digests) {
        prefetch_line_for_write(&head_of(digest));
    }
    Index oldest = entries_[0].newer;
    for (const Digest digest : digests) {
        prefetch_line_for_write(&entries_[head_of(digest)]);
        prefetch_line_for_write(&head_of(entries_[oldest].digest));
        oldest = entries_[oldest].newer;
    }
}

std::uint64_t ReferenceTable::test_and_insert_burst(std::span<const Digest> digests, unsigned first,
                                                    const PacketReference* seen,
                                                    PacketReference* references) noexcept {
    UNECHO_ASSERT(digests.size() <= kMaxBurst && first >= 1);
    std::uint64_t echoes = 0;
    if (first > 1) {
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const bool echo = test_and_insert_first(digests[i], first, seen[i], references[i]);
            echoes |= std::uint64_t{echo} << i;
        }
        return echoes;
    }
    prefetch_burst(digests);
    for (std::size_t i = 0; i < digests.size(); ++i) {
        echoes |= std::uint64_t{test_and_insert(digests[i], seen[i], references[i])} << i;
    }
    return echoes;
}

bool ReferenceTable::has_room(std::uint64_t packets, const PacketReference& seen) const noexcept {
    std::uint64_t room = params_.entries() - used_;
    for (Index index = entries_[0].newer;
         room < packets && index != 0 && !is_live(entries_[index], seen);
         index = entries_[index].newer) {
        ++room;
    }
    return room >= packets;
}

}  // namespace unecho::filter
