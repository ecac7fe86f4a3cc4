// SPDX-License-Identifier: BSD-3-Clause
// Merging several packet sources by time: the decisions only, shared by rx queues
// (appliance/dataplane/receive_merged.h) and captures (captures/merged_source.h). MergeClock says
// when the next packet of a source is due, MergeHeap which source is next. Both work packet by
// packet and allocate nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/packet_clock.h"
#include "base/units.h"

namespace unecho {

// The time at which the next packet of one source is due in a merge: normally its timestamp.
// Timestamps may run ahead by more than J and then come back. So as not to hold their source back,
// such packets are due with the one that comes back, if it is among the next kLookAhead.
class MergeClock {
  public:
    static constexpr unsigned kLookAhead = 32;

    MergeClock() = default;
    explicit MergeClock(Nanoseconds jump) noexcept : jump_(jump) {}

    // Return when a packet is due. Call it once for each packet, in order. ahead(i), i from 1,
    // returns the timestamp of the i-th packet after it, or nothing.
    template <typename Ahead>
    Nanoseconds due(Nanoseconds stamp, Ahead ahead) noexcept {
        if (early_ != 0) [[unlikely]] {
            --early_;
            return due_;
        }
        if (!ran_ahead(stamp)) [[likely]] {
            last_ = stamp;
            return stamp;
        }
        for (unsigned i = 1; i <= kLookAhead; ++i) {
            const std::optional<Nanoseconds> later = ahead(i);
            if (!later) {
                break;
            }
            if (*later < stamp && stamp - *later > jump_) {
                early_ = i - 1;
                due_ = *later;
                return due_;
            }
        }
        started_ = true;
        last_ = stamp;
        return stamp;
    }

  private:
    [[nodiscard]] bool ran_ahead(Nanoseconds stamp) const noexcept {
        return jump_ != kNoEpochs && (!started_ || (stamp > last_ && stamp - last_ > jump_));
    }

    Nanoseconds jump_ = kNoEpochs;
    bool started_ = false;
    Nanoseconds last_ = 0;  // the last timestamp that did not run ahead
    unsigned early_ = 0;    // packets that are due together with a later one
    Nanoseconds due_ = 0;
};

// A source and the time at which its next packet is due. At equal times the lower number wins.
struct MergeHead {
    Nanoseconds due = 0;
    std::uint32_t source = 0;

    [[nodiscard]] bool operator<(const MergeHead& other) const noexcept {
        return due != other.due ? due < other.due : source < other.source;
    }
};

// The heap of a k-way merge: the source whose packet is due first. A source is in the heap while it
// has a next packet. A source whose time steps back is due before all others, so its packet is next
// at once. The caller provides the memory: one MergeHead for each source.
class MergeHeap {
  public:
    MergeHeap() = default;
    explicit MergeHeap(std::span<MergeHead> memory) noexcept : heads_(memory) {}

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] const MergeHead& first() const noexcept { return heads_[0]; }

    // Add a source that is not in the heap.
    void add(MergeHead head) noexcept {
        std::size_t at = count_++;
        heads_[at] = head;
        for (; at != 0 && heads_[at] < heads_[(at - 1) / 2]; at = (at - 1) / 2) {
            std::swap(heads_[at], heads_[(at - 1) / 2]);
        }
    }

    // Set when the next packet of the first source is due. The source may stay the first.
    void put_off_first(Nanoseconds due) noexcept {
        heads_[0].due = due;
        sift_first_down();
    }

    // Remove the first source: it has no next packet, or none is known yet.
    void remove_first() noexcept {
        heads_[0] = heads_[--count_];
        sift_first_down();
    }

  private:
    void sift_first_down() noexcept {
        for (std::size_t at = 0;;) {
            std::size_t child = 2 * at + 1;
            if (child >= count_) {
                return;
            }
            if (child + 1 < count_ && heads_[child + 1] < heads_[child]) {
                ++child;
            }
            if (!(heads_[child] < heads_[at])) {
                return;
            }
            std::swap(heads_[at], heads_[child]);
            at = child;
        }
    }

    std::span<MergeHead> heads_;
    std::size_t count_ = 0;
};

}  // namespace unecho
