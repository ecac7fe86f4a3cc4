// SPDX-License-Identifier: BSD-3-Clause
// What is remembered of the packets that were seen: by packet key, with what the first one looked
// like; by the other keys, with what is needed to say what they would drop; and by the payload of
// TCP segments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "analyze/ages.h"
#include "analyze/classify.h"
#include "analyze/echo_sorter.h"
#include "analyze/recent.h"
#include "analyze/report.h"
#include "analyze/windows.h"

namespace unecho::analyze {

// A key, and under which windows it would be dropped.
struct KeyEntry {
    Digest digest;
    Nanoseconds last;
    AcceptedTimes accepted;
    std::uint32_t stamp;
};

// How many times in a row, with this one, the key came back within kOneSwitch.
[[nodiscard]] constexpr std::uint8_t run_with(std::uint8_t run, Nanoseconds age) noexcept {
    return age >= kOneSwitch ? std::uint8_t{0}
                             : static_cast<std::uint8_t>(run + (run < 255 ? 1 : 0));
}

// Keys of one mode.
template <typename Entry>
class KeyMemory {
  public:
    // ladders: how much of the memory may go into them.
    KeyMemory(std::size_t bytes, double ladders)
        : ladders_(static_cast<std::size_t>(static_cast<double>(bytes) * ladders) /
                   Ladders::kBytes),
          table_(bytes - static_cast<std::size_t>(static_cast<double>(bytes) * ladders)) {}

    // Of the same keys, the oldest of them forgotten if there is less room.
    template <typename Forget>
    KeyMemory(const KeyMemory& other, std::size_t bytes, double ladders, Forget forget)
        : ladders_(static_cast<std::size_t>(static_cast<double>(bytes) * ladders) /
                   Ladders::kBytes),
          table_(
              other.table_, bytes - static_cast<std::size_t>(static_cast<double>(bytes) * ladders),
              [&](Entry& entry, const Entry&) { ladders_.adopt(entry.accepted, other.ladders_); },
              forget) {}
    KeyMemory(const KeyMemory& other, std::size_t bytes, double ladders)
        : KeyMemory(other, bytes, ladders, [](const Entry&) {}) {}

    void prefetch_index(Digest digest) const noexcept { table_.prefetch_index(digest); }
    [[nodiscard]] Entry* prefetch_entry(Digest digest) noexcept {
        return table_.prefetch_entry(digest);
    }
    // entry: what prefetch_entry() said.
    void prefetch_ladder(const Entry* entry) const noexcept {
        if (entry != nullptr) {
            ladders_.prefetch(entry->accepted);
        }
    }

    // before: what prefetch_entry() said a moment ago.
    [[nodiscard]] Entry* find(Digest digest, Entry* before) noexcept {
        return table_.find(digest, before);
    }

    // The windows with which it is dropped.
    WindowMask seen_again(Entry& entry, Nanoseconds now) {
        entry.last = now;
        return ladders_.step(entry.accepted, now);
    }

    template <typename Forget>
    Entry& insert(Digest digest, Nanoseconds now, Forget forget) {
        Entry& entry = table_.insert(digest, now, [&](Entry& old) {
            ladders_.release(old.accepted);
            forget(old);
        });
        entry.accepted = Ladders::first(now);
        return entry;
    }
    Entry& insert(Digest digest, Nanoseconds now) {
        return insert(digest, now, [](const Entry&) {});
    }

    [[nodiscard]] RecentTable<Entry>& table() noexcept { return table_; }
    // When the key was seen first.
    [[nodiscard]] Nanoseconds first_of(const Entry& entry) const noexcept {
        return ladders_.first_of(entry.accepted);
    }
    [[nodiscard]] std::uint64_t ladders_taken() const noexcept { return ladders_.taken(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return table_.bytes() + ladders_.bytes(); }

  private:
    Ladders ladders_;
    RecentTable<Entry> table_;
};

struct PacketEntry {
    Digest digest;
    Nanoseconds last;
    AcceptedTimes accepted;
    std::uint32_t stamp;
    Origin origin;  // of the first
    std::uint16_t interface : 15;
    std::uint16_t frame : 1;  // without an IP packet
    std::uint8_t times;       // seen, up to 255
    std::uint8_t run;         // times in a row, up to 255, that it came back within kOneSwitch
};
static_assert(sizeof(PacketEntry) == 64);

// What a key mode drops that key packet does not, and the other way round.
struct ModeCounts {
    WindowCounts lost;
    WindowCounts missed;

    void add(const ModeCounts& more) {
        lost.add(more.lost);
        missed.add(more.missed);
    }

    template <typename Io>
    void state(Io& io) {
        io(lost, missed);
    }
};

// Another key mode beside mode packet.
class ModeMemory {
  public:
    ModeMemory(std::size_t bytes, double ladders) : keys_(bytes, ladders) {}
    ModeMemory(const ModeMemory& other, std::size_t bytes, double ladders)
        : keys_(other.keys_, bytes, ladders), counts_(other.counts_) {}

    void prefetch_index(Digest digest) const noexcept { keys_.prefetch_index(digest); }
    [[nodiscard]] KeyEntry* prefetch_entry(Digest digest) noexcept {
        return keys_.prefetch_entry(digest);
    }
    void prefetch_ladder(const KeyEntry* entry) const noexcept { keys_.prefetch_ladder(entry); }

    // before: what prefetch_entry() said. by_packet: with which windows mode packet drops it. With
    // which this mode does.
    WindowMask add(Digest digest, KeyEntry* before, Nanoseconds now, std::uint64_t length,
                   WindowMask by_packet) {
        KeyEntry* entry = keys_.find(digest, before);
        WindowMask dropped = 0;
        if (entry != nullptr) {
            dropped = keys_.seen_again(*entry, now);
        } else {
            keys_.insert(digest, now);
        }
        counts_.lost.add(dropped & ~by_packet, length);
        counts_.missed.add(by_packet & ~dropped, length);
        return dropped;
    }
    // The packet has no key in this mode.
    void pass(std::uint64_t length, WindowMask by_packet) { counts_.missed.add(by_packet, length); }

    [[nodiscard]] const ModeCounts& counts() const noexcept { return counts_; }
    [[nodiscard]] KeyMemory<KeyEntry>& keys() noexcept { return keys_; }

  private:
    KeyMemory<KeyEntry> keys_;
    ModeCounts counts_;
};

// TCP segments that look alike and are no echoes, of so many.
struct SegmentCounts {
    AgeHistogram ages;
    Count found;
    std::uint64_t compared = 0;

    void add(const SegmentCounts& more) {
        ages.add(more.ages);
        found += more.found;
        compared += more.compared;
    }
    [[nodiscard]] LookAlikes look_alikes(Nanoseconds resolution) const;

    template <typename Io>
    void state(Io& io) {
        io(ages, found, compared);
    }
};

// TCP segments by addresses, ports, sequence number and payload.
class SegmentMemory {
  public:
    explicit SegmentMemory(std::size_t bytes) : table_(bytes) {}
    SegmentMemory(const SegmentMemory& other, std::size_t bytes)
        : table_(other.table_, bytes, [](Entry&, const Entry&) {}), counts_(other.counts_) {}

    void prefetch_index(Digest digest) const noexcept { table_.prefetch_index(digest); }
    void prefetch_entry(Digest digest) noexcept { std::ignore = table_.prefetch_entry(digest); }
    // A segment that is no echo.
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
