// SPDX-License-Identifier: BSD-3-Clause
// Tables of remembered packets: by packet key, with the traits of the first packet; by the other
// keys, with what decides which packets they would drop; and by the payload of TCP segments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "captures/analyze/classify/copy_classifier.h"
#include "captures/analyze/classify/echo_cause.h"
#include "captures/analyze/collect/recent_table.h"
#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/age_histogram.h"
#include "captures/analyze/tally/windows.h"

namespace unecho::analyze {

// A key, and when each window last accepted it.
struct KeyEntry {
    Digest digest;
    Nanoseconds last;
    AcceptedTimes accepted;
    std::uint32_t stamp;
};

// Return how many times in a row, including this one, the key came back within kMaxSwitchDelay.
[[nodiscard]] constexpr std::uint8_t run_with(std::uint8_t run, Nanoseconds age) noexcept {
    constexpr unsigned kMost = 127;
    return age >= kMaxSwitchDelay ? std::uint8_t{0}
                                  : static_cast<std::uint8_t>(run + (run < kMost ? 1 : 0));
}

[[nodiscard]] inline std::size_t part_of(std::uint64_t memory, double share) noexcept {
    return static_cast<std::size_t>(static_cast<double>(memory) * share);
}

// The keys of one mode, and when each window last accepted them.
template <typename Entry>
class KeyTable {
  public:
    using Place = typename RecentTable<Entry>::Place;

    // ladders: share of the memory for BucketTimes.
    KeyTable(std::size_t bytes, double ladders)
        : bucket_times_(part_of(bytes, ladders) / BucketTimesPool::kBytes),
          table_(bytes - part_of(bytes, ladders)) {}

    // Copy the keys; forget the oldest if there is less room.
    KeyTable(const KeyTable& other, std::size_t bytes, double ladders)
        : bucket_times_(part_of(bytes, ladders) / BucketTimesPool::kBytes),
          table_(other.table_, bytes - part_of(bytes, ladders), [&](Entry& entry, const Entry&) {
              bucket_times_.adopt(entry.accepted, entry.last, other.bucket_times_);
          }) {}

    void prefetch_index(Digest digest) const noexcept { table_.prefetch_index(digest); }
    [[nodiscard]] Place prefetch_entry(Digest digest) noexcept {
        return table_.prefetch_entry(digest);
    }
    void prefetch_bucket_times(const Place& place) const noexcept {
        if (place.entry != nullptr) {
            bucket_times_.prefetch(place.entry->accepted);
        }
    }

    // before: from a recent prefetch_entry().
    [[nodiscard]] Entry* find(Digest digest, const Place& before = {}) noexcept {
        return table_.find(digest, before);
    }

    // Return the windows that drop the packet.
    WindowMask seen_again(Entry& entry, Nanoseconds now) {
        return bucket_times_.step(entry.accepted, std::exchange(entry.last, now), now);
    }

    Entry& insert(Digest digest, Nanoseconds now, const Place& before = {}) {
        Entry& entry = table_.insert(
            digest, now, [&](Entry& old) { bucket_times_.release(old.accepted); }, before);
        entry.accepted = BucketTimesPool::first(now);
        return entry;
    }
    // Give the key the times of another one, whose BucketTimes are in `from`.
    void take_times(Entry& entry, Nanoseconds last, const AcceptedTimes& accepted,
                    const BucketTimesPool& from) {
        bucket_times_.release(entry.accepted);
        entry.last = last;
        entry.accepted = accepted;
        bucket_times_.adopt(entry.accepted, last, from);
    }

    [[nodiscard]] RecentTable<Entry>& table() noexcept { return table_; }
    [[nodiscard]] const BucketTimesPool& ladders() const noexcept { return bucket_times_; }
    [[nodiscard]] Nanoseconds first_of(const Entry& entry) const noexcept {
        return bucket_times_.first_of(entry.accepted);
    }
    [[nodiscard]] std::uint64_t ladders_taken() const noexcept { return bucket_times_.taken(); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return table_.bytes() + bucket_times_.bytes();
    }

  private:
    BucketTimesPool bucket_times_;
    RecentTable<Entry> table_;
};

struct PacketEntry {
    Digest digest;
    Nanoseconds last;
    AcceptedTimes accepted;
    Digest frame;  // of the first packet, and of all others until frames differ
    FrameTraits origin;
    std::uint32_t stamp;
    std::uint16_t interface : 14;
    std::uint16_t without_ip : 1;
    std::uint16_t frames_differ : 1;
    std::uint8_t times;    // how often it was seen, up to 255
    std::uint8_t run : 7;  // times in a row, up to 127, that it came back within kMaxSwitchDelay
    std::uint8_t at_other : 1;  // the last look was at accepted.other_point
};
static_assert(sizeof(PacketEntry) == 64);

// Packets that a key mode drops and key packet forwards, and the reverse.
struct ModeCounts {
    WindowCounts lost;
    WindowCounts missed;

    // Count a packet, given the windows with which the mode and key packet drop it.
    void add(WindowMask dropped, WindowMask by_packet, std::uint64_t length) {
        if (dropped != by_packet) {
            lost.add(dropped & ~by_packet, length);
            missed.add(by_packet & ~dropped, length);
        }
    }
    void add(const ModeCounts& more) {
        lost.add(more.lost);
        missed.add(more.missed);
    }

    template <typename Io>
    void state(Io& io) {
        io(lost, missed);
    }
};

// Keys of whole frames. A packet has no entry here while all of its frames are equal, because then
// they are dropped together. Once another frame comes, each of them has times of its own here, like
// frames that have no other key.
class FrameTable {
  public:
    FrameTable(std::size_t bytes, double ladders) : keys_(bytes, ladders) {}
    FrameTable(const FrameTable& other, std::size_t bytes, double ladders)
        : keys_(other.keys_, bytes, ladders), counts_(other.counts_) {}

    void prefetch_index(Digest digest) const noexcept { keys_.prefetch_index(digest); }

    // Begin separate times for a packet's frames: its times so far go to its first frame.
    void part(const PacketEntry& packet, const BucketTimesPool& ladders) {
        KeyEntry* known = keys_.find(packet.frame);  // left by a packet that was forgotten
        keys_.take_times(known != nullptr ? *known : keys_.insert(packet.frame, packet.last),
                         packet.last, packet.accepted, ladders);
    }

    // Return the windows that drop the frame.
    WindowMask seen(Digest digest, Nanoseconds now) {
        if (KeyEntry* entry = keys_.find(digest)) {
            return keys_.seen_again(*entry, now);
        }
        keys_.insert(digest, now);
        return 0;
    }

    // Count a frame that key frame drops with windows `dropped`, and key packet with by_packet.
    void count(WindowMask dropped, WindowMask by_packet, std::uint64_t length) {
        counts_.add(dropped, by_packet, length);
    }

    [[nodiscard]] const ModeCounts& counts() const noexcept { return counts_; }
    [[nodiscard]] KeyTable<KeyEntry>& keys() noexcept { return keys_; }

  private:
    KeyTable<KeyEntry> keys_;
    ModeCounts counts_;
};

// A flow in both directions. While all packets go one way, `both` has the times of that way as
// well. After that each way has times of its own.
struct alignas(64) FlowEntry {
    Digest digest;
    Nanoseconds last;
    AcceptedTimes both;
    std::uint32_t stamp;
    bool first;  // direction of the first packet
    bool met;    // packets went both ways
    std::array<Nanoseconds, 2> last_of;
    std::array<AcceptedTimes, 2> ways;
};

// Flows, counted in one direction and in both.
class FlowTable {
  public:
    using Place = RecentTable<FlowEntry>::Place;

    FlowTable(std::size_t bytes, double ladders);
    FlowTable(const FlowTable& other, std::size_t bytes, double ladders);

    void prefetch_index(Digest digest) const noexcept { table_.prefetch_index(digest); }
    [[nodiscard]] Place prefetch_entry(Digest digest) noexcept {
        return table_.prefetch_entry(digest);
    }
    // turned: the direction. place: from prefetch_entry().
    void prefetch_ladders(const Place& place, bool turned) const noexcept {
        if (place.entry != nullptr) {
            bucket_times_.prefetch(place.entry->both);
            if (place.entry->met) {
                bucket_times_.prefetch(place.entry->ways[turned ? 1 : 0]);
            }
        }
    }

    // digest: the same for both directions. before: from prefetch_entry(). by_packet: windows with
    // which key packet drops the packet.
    void add(Digest digest, bool turned, const Place& before, Nanoseconds now, std::uint64_t length,
             WindowMask by_packet);
    // Count a packet that belongs to no flow.
    void pass(std::uint64_t length, WindowMask by_packet) { alike_.add(0, by_packet, length); }

    [[nodiscard]] ModeCounts one_way() const { return with_alike(one_way_); }
    [[nodiscard]] ModeCounts both_ways() const { return with_alike(both_ways_); }
    [[nodiscard]] RecentTable<FlowEntry>& table() noexcept { return table_; }
    [[nodiscard]] std::uint64_t ladders_taken() const noexcept { return bucket_times_.taken(); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return table_.bytes() + bucket_times_.bytes();
    }

  private:
    struct Dropped {
        WindowMask one_way = 0;
        WindowMask both_ways = 0;
    };
    Dropped seen(Digest digest, bool turned, const Place& before, Nanoseconds now);
    WindowMask seen_one_way(FlowEntry& entry, bool turned, Nanoseconds now);
    [[nodiscard]] ModeCounts with_alike(ModeCounts counts) const {
        counts.add(alike_);
        return counts;
    }

    BucketTimesPool bucket_times_;
    RecentTable<FlowEntry> table_;
    ModeCounts alike_;  // of packets that both drop with the same windows
    ModeCounts one_way_;
    ModeCounts both_ways_;
};

// TCP segments with the payload of an earlier one that are no echoes, among all that were compared.
struct SegmentCounts {
    AgeHistogram ages;
    Count found;
    std::uint64_t compared = 0;

    void add(const SegmentCounts& more) {
        ages.add(more.ages);
        found += more.found;
        compared += more.compared;
    }
    [[nodiscard]] PayloadRetransmissions look_alikes(Nanoseconds resolution) const;

    template <typename Io>
    void state(Io& io) {
        io(ages, found, compared);
    }
};

// TCP segments by addresses, ports, sequence number and payload.
class SegmentTable {
  public:
    explicit SegmentTable(std::size_t bytes) : table_(bytes) {}
    SegmentTable(const SegmentTable& other, std::size_t bytes)
        : table_(other.table_, bytes, [](Entry&, const Entry&) {}), counts_(other.counts_) {}

    void prefetch_index(Digest digest) const noexcept { table_.prefetch_index(digest); }
    void prefetch_entry(Digest digest) noexcept { std::ignore = table_.prefetch_entry(digest); }
    void add(Digest digest, Nanoseconds now, std::uint64_t length) {
        ++counts_.compared;
        if (Entry* entry = table_.find(digest)) {
            counts_.found.add(length);
            counts_.ages.add(now - entry->last, Cause::kIdentical);
            entry->last = now;
        } else {
            table_.insert(digest, now, [](const Entry&) {});
        }
    }

    [[nodiscard]] const SegmentCounts& counts() const noexcept { return counts_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return table_.bytes(); }
    [[nodiscard]] std::optional<Nanoseconds> blind_after() const noexcept {
        return table_.blind_after();
    }

  private:
    struct Entry {
        Digest digest;
        Nanoseconds last;
        std::uint32_t stamp;
    };
    RecentTable<Entry> table_;
    SegmentCounts counts_;
};

}  // namespace unecho::analyze
