// SPDX-License-Identifier: BSD-3-Clause
// Exact table that also returns the packet that an echo repeats. For captures: they want to know
// which packet is repeated and how old it is, and the last N packets may be the window.
//
// Guarantee: a packet is an echo iff the reference of its digest is inside both windows: younger
//   than `window`, and one of the `count` packets before it. This holds if at most `entries`
//   digests live at a time; beyond that the oldest is evicted and counted (evicted_early). Policy
//   fixed: the reference is the digest's last new packet; refresh: its last one.
// Cost: as Exact (exact.h), about three cache lines for a new digest. 44 to 48 bytes an entry.
//
// Layout: as Exact, but entries and buckets are taken into use one after another. Memory that no
//   packet needed is never written, so the caller may bring pages that do not exist yet. The number
//   of buckets is a power of two, and doubles when there are as many entries. All entries are then
//   chained again, so an insertion takes a constant number of steps on average, not at most.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/result.h"
#include "base/units.h"
#include "filters/filter.h"
#include "filters/hash/digest.h"
#include "filters/storage.h"
#include "filters/window/exact.h"

namespace unecho::filter {

inline constexpr std::uint64_t kAnyCount = std::numeric_limits<std::uint64_t>::max();

struct ReferenceSpec {
    std::uint64_t entries = 0;             // digests that live at a time
    Nanoseconds window = kInfiniteWindow;  // ages below this are inside
    std::uint64_t count = kAnyCount;       // preceding packets that are inside
    EchoPolicy policy = EchoPolicy::kFixed;
};

class ReferenceParams {
  public:
    static Result<ReferenceParams> make(const ReferenceSpec& spec);
    // Return the most entries whose table fits into `bytes`; 0 if not even one does.
    static std::uint64_t entries_in(std::uint64_t bytes) noexcept;

    [[nodiscard]] std::uint64_t entries() const noexcept { return spec_.entries; }
    [[nodiscard]] Nanoseconds window() const noexcept { return spec_.window; }
    [[nodiscard]] std::uint64_t count() const noexcept { return spec_.count; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }
    // Number of buckets when all entries are in use.
    [[nodiscard]] std::uint64_t buckets() const noexcept { return std::bit_ceil(spec_.entries); }

  private:
    explicit ReferenceParams(const ReferenceSpec& spec) noexcept : spec_(spec) {}
    ReferenceSpec spec_;
};

// A packet as the table remembers it. Times never decrease; numbers begin with 1 and increase.
struct PacketReference {
    Nanoseconds time = 0;
    std::uint64_t number = 0;
    std::uint32_t tag = 0;  // the caller's

    bool operator==(const PacketReference&) const = default;
};

class ReferenceTable {
  public:
    [[nodiscard]] static std::uint64_t bytes(const ReferenceParams& params) noexcept {
        return heads_bytes(params) + align_to_line((params.entries() + 1) * sizeof(Entry));
    }

    ReferenceTable(const ReferenceParams& params, std::span<std::byte> memory) noexcept;

    // Return true for an echo, and set `reference` to the packet that it repeats.
    bool test_and_insert(Digest digest, const PacketReference& seen,
                         PacketReference& reference) noexcept;

    // The first `first` packets of a digest are new in each window (first_packets.h). An echo
    // repeats the youngest of its references.
    bool test_and_insert_first(Digest digest, unsigned first, const PacketReference& seen,
                               PacketReference& reference) noexcept;

    // Answer at most kMaxBurst digests exactly as one after another; bit i belongs to digests[i].
    // seen and references have as many elements.
    std::uint64_t test_and_insert_burst(std::span<const Digest> digests, unsigned first,
                                        const PacketReference* seen,
                                        PacketReference* references) noexcept;

    // Return true if this many more packets, beginning with `seen`, evict no live entry.
    [[nodiscard]] bool has_room(std::uint64_t packets, const PacketReference& seen) const noexcept;

    // Call visit(digest, reference) for all entries inside the windows of this packet, oldest
    // first. With first > 1 the digests are those of the slots.
    template <typename Visit>
    void for_each_live(const PacketReference& seen, Visit visit) const noexcept;

    [[nodiscard]] const AchievedWindow& kept() const noexcept { return kept_; }
    [[nodiscard]] const ReferenceParams& params() const noexcept { return params_; }
    [[nodiscard]] const FilterCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::uint64_t used() const noexcept { return used_; }  // entries ever used

  private:
    // From 1; entry 0 is the sentinel of the list by age (exact.h).
    using Index = std::uint32_t;

    struct Entry {
        Digest digest;
        Index next;  // in the bucket's chain
        std::uint32_t tag;
        Nanoseconds time;
        std::uint64_t number;
        Index older;
        Index newer;
    };
    static_assert(sizeof(Entry) == 40);

    [[nodiscard]] static std::uint64_t heads_bytes(const ReferenceParams& params) noexcept {
        return align_to_line(params.buckets() * sizeof(Index));
    }
    // Uses the product's high bits, as Exact does.
    [[nodiscard]] Index& head_of(Digest digest) const noexcept {
        return heads_[digest * 0x9E3779B97F4A7C15ULL >> 32 >> shift_];
    }
    [[nodiscard]] bool is_live(const Entry& entry, const PacketReference& seen) const noexcept {
        return (window_ == kInfiniteWindow || seen.time - entry.time < window_) &&
               seen.number - entry.number <= count_;
    }
    void set_buckets(unsigned log2) noexcept;
    void prefetch_burst(std::span<const Digest> digests) const noexcept;
    [[nodiscard]] Index find(Digest digest) const noexcept;
    [[nodiscard]] Index take_entry(const PacketReference& seen) noexcept;
    void chain(Index index) noexcept;
    void unchain(Index index) noexcept;
    void leave_list(Index index) noexcept;
    void become_youngest(Index index, const PacketReference& seen) noexcept;

    ReferenceParams params_;
    Nanoseconds window_;
    std::uint64_t count_;
    Index* heads_;
    Entry* entries_;
    unsigned log2_buckets_ = 0;
    unsigned shift_ = 0;  // of the product's upper half
    Index used_ = 0;      // entries 1..used_ were used at least once
    AchievedWindow kept_;
    FilterCounters counters_;
};

template <typename Visit>
void ReferenceTable::for_each_live(const PacketReference& seen, Visit visit) const noexcept {
    for (Index index = entries_[0].newer; index != 0; index = entries_[index].newer) {
        const Entry& entry = entries_[index];
        if (is_live(entry, seen)) {
            visit(entry.digest, PacketReference{entry.time, entry.number, entry.tag});
        }
    }
}

}  // namespace unecho::filter
