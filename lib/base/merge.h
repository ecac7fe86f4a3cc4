// SPDX-License-Identifier: BSD-3-Clause
// Several sources of packets as one, by time: the decisions alone, for packets of rx queues
// (appliance/dataplane/receive_merged.h) and of captures (captures/merged_source.h). MergeClock
// says when a source's next packet is due, MergeHeap which source is next. Both are asked packet by
// packet and neither allocates.
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

// When the next packet of one of several sources is due in a merge: at its stamp; but stamps that
// run ahead by more than J and then come back do not hold their source back behind the others.
// Such packets are due with the one that comes back, if that is among the next kLookAhead.
class MergeClock {
  public:
    static constexpr unsigned kLookAhead = 32;

    MergeClock() = default;
    explicit MergeClock(Nanoseconds jump) noexcept : jump_(jump) {}

    // To be asked once for each packet, in order. ahead(i), i from 1: the stamp of the i-th packet
    // behind it, or nothing.
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
    Nanoseconds last_ = 0;  // stamp that did not run ahead
    unsigned early_ = 0;    // packets that are due with one behind them
    Nanoseconds due_ = 0;
};

// A source, and when its next packet is due. Of equal times the first source goes first.
struct MergeHead {
    Nanoseconds due = 0;
    std::uint32_t source = 0;

    [[nodiscard]] bool operator<(const MergeHead& other) const noexcept {
        return due != other.due ? due < other.due : source < other.source;
    }
};

// Which source's packet is next: the one that is due first. A source is in it while it has a next
// packet; one whose time steps back is due before all others, so its packet comes at once. A heap,
// in memory that is handed in: a MergeHead for each source.
class MergeHeap {
  public:
    MergeHeap() = default;
    explicit MergeHeap(std::span<MergeHead> memory) noexcept : heads_(memory) {}

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    // Of the source that is next.
    [[nodiscard]] const MergeHead& first() const noexcept { return heads_[0]; }

    // The source was not in it.
    void add(MergeHead head) noexcept {
        std::size_t at = count_++;
        heads_[at] = head;
        for (; at != 0 && heads_[at] < heads_[(at - 1) / 2]; at = (at - 1) / 2) {
            std::swap(heads_[at], heads_[(at - 1) / 2]);
        }
    }

    // The first source's next packet is due then; it may stay the first.
    void put_off_first(Nanoseconds due) noexcept {
        heads_[0].due = due;
        sift_first_down();
    }

    // The first source has no next packet, or none that is known.
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
