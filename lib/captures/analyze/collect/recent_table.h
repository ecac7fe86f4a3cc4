// SPDX-License-Identifier: BSD-3-Clause
// Recently seen digests in bounded memory: entries in the order of arrival, and a hash index over
// them. If the table is full, the oldest entry is forgotten. An entry that was last seen in the
// younger half of its stay remains for another round.
//
// Entry is trivially copyable and has members digest, last (when it was seen last) and stamp (used
// by the table).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "base/units.h"
#include "filters/hash/digest.h"

namespace unecho::analyze {

// Pages of zeros that take memory only where they are used; after the first ones large pages, if
// the kernel has any. Throws std::bad_alloc if the machine has too little memory, whereas
// MappedMemory would run out later.
class LazyPages {
  public:
    explicit LazyPages(std::size_t bytes);

    template <typename T>
    [[nodiscard]] T* as() const noexcept {
        return reinterpret_cast<T*>(begin_.get());
    }

  private:
    struct Unmap {
        std::size_t bytes;
        void operator()(std::byte* begin) const noexcept;
    };

    std::unique_ptr<std::byte, Unmap> begin_;
};

template <typename Entry>
class RecentTable {
    static_assert(std::is_trivially_copyable_v<Entry>);

  public:
    // May throw std::bad_alloc.
    explicit RecentTable(std::size_t bytes) {
        for (std::size_t slots = kMinSlots; slots * kSlotBytes < bytes; slots *= 2) {
            const std::size_t room = (bytes - slots * kSlotBytes) / sizeof(Entry);
            capacity_ = std::max(capacity_, std::min(room, most_in(slots)));
        }
        capacity_ = std::max<std::size_t>(capacity_, 16);
        memory_ = LazyPages(capacity_ * sizeof(Entry));
        entries_ = memory_.as<Entry>();
        std::size_t most = kMinSlots;
        while (most_in(most) < capacity_) {
            most *= 2;
        }
        index_memory_ = LazyPages(most * sizeof(std::uint64_t));
        index_ = index_memory_.as<std::uint64_t>();
        slots_ = kMinSlots;
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots_));
    }

    // Copy what fits of another table; the oldest entries do not. adopt(Entry&, const Entry&) gets
    // each copy, which does not move, with its source; forget(const Entry&) gets the others.
    template <typename Adopt, typename Forget>
    RecentTable(const RecentTable& other, std::size_t bytes, Adopt adopt, Forget forget)
        : RecentTable(bytes) {
        blind_after_ = other.blind_after_;
        const std::size_t left_out = other.size_ - std::min(other.size_, capacity_);
        Nanoseconds youngest = 0;
        Nanoseconds youngest_left_out = 0;
        for (std::size_t i = 0; i < other.size_; ++i) {
            const std::size_t place = other.hand_ + i;
            const Entry& old = other.entries_[place < other.size_ ? place : place - other.size_];
            youngest = std::max(youngest, old.last);
            if (i < left_out) {
                youngest_left_out = std::max(youngest_left_out, old.last);
                forget(old);
                continue;
            }
            Entry& entry = insert(old.digest, old.last, [](const Entry&) {});
            entry = old;
            adopt(entry, old);
        }
        if (left_out != 0) {
            const Nanoseconds age = youngest - youngest_left_out;
            blind_after_ = std::min(blind_after_.value_or(age), age);
        }
    }

    template <typename Adopt>
    RecentTable(const RecentTable& other, std::size_t bytes, Adopt adopt)
        : RecentTable(other, bytes, adopt, [](const Entry&) {}) {}

    void prefetch_index(Digest digest) const noexcept { prefetch_line(&index_[home(digest)]); }

    // Return the entry, valid until it is forgotten; null if there is none.
    [[nodiscard]] Entry* find(Digest digest) noexcept {
        const std::uint64_t tag = digest >> 32;
        for (std::size_t at = home(digest); index_[at] != 0; at = next(at)) {
            if (index_[at] >> 32 == tag && entry_of(index_[at]).digest == digest) {
                return &entry_of(index_[at]);
            }
        }
        return nullptr;
    }

    // Result of prefetch_entry(). find() and insert() detect later changes of the table, and search
    // again only if these may matter.
    struct Place {
        Entry* entry = nullptr;   // probable entry of the digest; null: none
        std::size_t slot = 0;     // if none: the free slot of the index that it would take
        std::uint64_t moves = 0;  // moves_ at that time; 0: no result
    };

    // Search the index and prefetch the entry, without reading it.
    [[nodiscard]] Place prefetch_entry(Digest digest) noexcept {
        const std::uint64_t tag = digest >> 32;
        std::size_t at = home(digest);
        for (; index_[at] != 0; at = next(at)) {
            if (index_[at] >> 32 == tag) {
                auto* const bytes = reinterpret_cast<std::byte*>(&entry_of(index_[at]));
                prefetch_line(bytes);
                if constexpr (sizeof(Entry) != 64) {
                    prefetch_line(bytes + sizeof(Entry) - 1);
                }
                return {&entry_of(index_[at]), at, moves_};
            }
        }
        return {nullptr, at, moves_};
    }

    // The same as find(digest), with a recent result of prefetch_entry().
    [[nodiscard]] Entry* find(Digest digest, const Place& before) noexcept {
        if (before.entry != nullptr && before.entry->digest == digest) {
            return before.entry;
        }
        return is_free(before) ? nullptr : find(digest);
    }

    // Insert a digest that is not in the table. forget(Entry&) is called for the entry that it
    // replaces. digest, last and stamp of the new entry are set, everything else has defaults.
    template <typename Forget>
    Entry& insert(Digest digest, Nanoseconds now, Forget forget, const Place& before = {}) {
        std::size_t place = size_;
        if (size_ == capacity_) {
            place = make_room(now, forget);
        } else if (++size_ > most_in(slots_)) {
            grow();
        }
        Entry& entry = *std::construct_at(entries_ + place);
        entry.digest = digest;
        entry.last = now;
        entry.stamp = stamp_of(now);
        if (is_free(before)) {
            index_[before.slot] = slot_of(digest, place);
        } else {
            put(slot_of(digest, place));
        }
        return entry;
    }

    template <typename Visit>
    void for_each(Visit visit) {
        std::for_each(entries_, entries_ + size_, visit);
    }

    // Return the age, since it was last seen, of the youngest entry that was ever forgotten.
    [[nodiscard]] std::optional<Nanoseconds> blind_after() const noexcept { return blind_after_; }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    // Return the entry's number, below capacity() and constant until it is forgotten.
    [[nodiscard]] std::size_t place_of(const Entry& entry) const noexcept {
        return static_cast<std::size_t>(&entry - entries_);
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return size_ * sizeof(Entry) + slots_ * sizeof(std::uint64_t);
    }

  private:
    // A slot holds the digest's upper half, which determines its home, and the entry's number + 1.
    static constexpr std::size_t kMinSlots = 1024;
    static constexpr std::size_t kSlotBytes = sizeof(std::uint64_t);
    static constexpr std::size_t kAhead = 8;
    static constexpr unsigned kStampShift = 16;

    static constexpr std::size_t most_in(std::size_t slots) noexcept { return slots / 8 * 5; }
    static std::uint64_t slot_of(Digest digest, std::size_t place) noexcept {
        return (digest & 0xFFFF'FFFF'0000'0000) | (place + 1);
    }
    // Takes a digest or a slot, as only the upper half matters.
    [[nodiscard]] std::size_t home(std::uint64_t digest) const noexcept { return digest >> shift_; }
    [[nodiscard]] std::size_t next(std::size_t at) const noexcept {
        return (at + 1) & (slots_ - 1);
    }
    [[nodiscard]] Entry& entry_of(std::uint64_t slot) noexcept {
        return entries_[(slot & 0xFFFF'FFFF) - 1];
    }
    static std::uint32_t stamp_of(Nanoseconds now) noexcept {
        return static_cast<std::uint32_t>(now >> kStampShift);
    }

    // Return true if the slot is still free: had the digest been inserted, it would be there.
    [[nodiscard]] bool is_free(const Place& place) const noexcept {
        return place.entry == nullptr && place.moves == moves_ && index_[place.slot] == 0;
    }

    void put(std::uint64_t slot) noexcept {
        std::size_t at = home(slot);
        while (index_[at] != 0) {
            at = next(at);
        }
        index_[at] = slot;
    }

    // Double the index in place. Homes are in the order of digests. Going from the last slot to the
    // first, each one moves behind all that have not moved yet. The few exceptions are put in
    // afterwards: some of the first slots, and those that had wrapped around to the beginning.
    void grow() {
        const std::size_t old = slots_;
        ++moves_;
        slots_ *= 2;
        --shift_;
        std::vector<std::uint64_t> later;
        for (std::size_t from = old; from-- > 0;) {
            const std::uint64_t slot = std::exchange(index_[from], 0);
            if (slot == 0) {
                continue;
            }
            std::size_t at = home(slot);
            while (at > from && at < slots_ && index_[at] != 0) {
                ++at;
            }
            if (at > from && at < slots_) {
                index_[at] = slot;
            } else {
                later.push_back(slot);
            }
        }
        for (const std::uint64_t slot : later) {
            put(slot);
        }
    }

    // Remove the entry from the index, and close the gap in its run.
    void erase(Digest digest, std::size_t place) noexcept {
        ++moves_;
        std::size_t at = home(digest);
        while (index_[at] != slot_of(digest, place)) {
            at = next(at);
        }
        const std::size_t mask = slots_ - 1;
        for (std::size_t from = next(at); index_[from] != 0; from = next(from)) {
            if (((from - home(index_[from])) & mask) >= ((from - at) & mask)) {
                index_[at] = index_[from];
                at = from;
            }
        }
        index_[at] = 0;
    }

    template <typename Forget>
    std::size_t make_room(Nanoseconds now, Forget forget) {
        while (true) {
            Entry& entry = entries_[hand_];
            const std::size_t place = hand_;
            hand_ = hand_ + 1 < capacity_ ? hand_ + 1 : 0;
            const std::uint32_t stay = stamp_of(now) - entry.stamp;
            const std::uint32_t unseen = stamp_of(now) - stamp_of(entry.last);
            if (unseen < stay / 2) {
                entry.stamp = stamp_of(now);
                continue;
            }
            // Prefetch the index for an entry that will be removed soon.
            prefetch_index(entries_[(hand_ + kAhead) % capacity_].digest);
            blind_after_ = std::min(blind_after_.value_or(now - entry.last), now - entry.last);
            erase(entry.digest, place);
            forget(entry);
            return place;
        }
    }

    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    std::size_t hand_ = 0;
    LazyPages memory_{0};
    Entry* entries_ = nullptr;
    LazyPages index_memory_{0};
    std::uint64_t* index_ = nullptr;
    std::size_t slots_ = 0;
    unsigned shift_ = 0;
    std::uint64_t moves_ = 1;
    std::optional<Nanoseconds> blind_after_;
};

}  // namespace unecho::analyze
