// SPDX-License-Identifier: BSD-3-Clause
// Receives packets in the order of their timestamps, over all rx queues of a worker: for captures.
// The next source is chosen as for files (base/merge.h). Sources that have nothing left are not
// waited for.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/receive.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"
#include "base/merge.h"

namespace unecho::dataplane {

// Packets of one source that were read ahead: at least the next one, so that its time is known.
// They are counted as received only when they continue.
struct ReadAhead {
    std::array<rte_mbuf*, kMaxBurst> mbufs;
    unsigned next = 0;
    unsigned count = 0;
    MergeClock clock;
    bool ordered = false;  // its next packet is in the merge order
};
static_assert(kMaxBurst > MergeClock::kLookAhead);

struct MergeSetup {
    std::span<ReadAhead> ahead;   // one for each source
    std::span<MergeHead> memory;  // of the merge order, likewise
};

class MergedReceiver {
  public:
    MergedReceiver(const ReceiveSetup& receive, const MergeSetup& merge,
                   const WorkerParameters& common) noexcept
        : sources_(receive.sources),
          ahead_(merge.ahead),
          order_(merge.memory),
          burst_(common.burst),
          timestamp_offset_(common.timestamp_offset) {}

    // Set the burst to packets of the source that is due first, with their timestamps as times,
    // until another source is due. Read more packets only if `refill`. Return null if nothing is
    // left.
    const RxQueue* receive(bool refill, Burst& burst) noexcept;

    // Call handle(mbuf, source) for each packet that was read ahead, and forget it.
    template <typename Handle>
    void empty(Handle handle) noexcept {
        while (!order_.empty()) {
            leave_order(order_.first().source);
        }
        for (std::size_t i = 0; i < ahead_.size(); ++i) {
            for (ReadAhead& from = ahead_[i]; from.next < from.count; ++from.next) {
                handle(from.mbufs[from.next], sources_[i]);
            }
        }
    }

  private:
    void order_all(bool refill) noexcept;
    void leave_order(std::size_t first) noexcept;
    bool read_more(std::size_t source) noexcept;
    Nanoseconds due(std::size_t source, bool refill) noexcept;
    [[nodiscard]] Nanoseconds stamp(const ReadAhead& from, unsigned i) const noexcept;

    std::span<const RxQueue> sources_;
    std::span<ReadAhead> ahead_;
    MergeHeap order_;
    unsigned burst_;
    int timestamp_offset_;
};

}  // namespace unecho::dataplane
