// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/dataplane/receive_merged.h"

#include <algorithm>
#include <optional>

namespace unecho::dataplane {

const RxQueue* MergedReceiver::receive(bool refill, Burst& burst) noexcept {
    burst.count = 0;
    order_all(refill);
    if (order_.empty()) {
        return nullptr;
    }
    const std::size_t source = order_.first().source;
    ReadAhead& from = ahead_[source];
    while (order_.first().source == source) {
        burst.times[burst.count] = stamp(from, 0);
        burst.mbufs[burst.count++] = from.mbufs[from.next++];
        if (from.next == from.count || burst.count == burst_) {
            leave_order(source);
            break;
        }
        order_.put_off_first(due(source, refill));
    }
    return &sources_[source];
}

// Put every source that has a packet into the merge order.
void MergedReceiver::order_all(bool refill) noexcept {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        ReadAhead& from = ahead_[i];
        if (!from.ordered && (from.next != from.count || (refill && read_more(i)))) {
            order_.add({due(i, refill), static_cast<std::uint32_t>(i)});
            from.ordered = true;
        }
    }
}

// Remove the first source until the next poll, which computes when its next packet is due.
void MergedReceiver::leave_order(std::size_t first) noexcept {
    order_.remove_first();
    ahead_[first].ordered = false;
}

// Read as much as there is room for. Return false if the queue has no more.
bool MergedReceiver::read_more(std::size_t source) noexcept {
    ReadAhead& to = ahead_[source];
    std::copy(to.mbufs.begin() + to.next, to.mbufs.begin() + to.count, to.mbufs.begin());
    to.count -= to.next;
    to.next = 0;
    const unsigned most = std::min(burst_, kMaxBurst - to.count);
    const unsigned got =
        rte_eth_rx_burst(sources_[source].port, sources_[source].queue, to.mbufs.data() + to.count,
                         static_cast<std::uint16_t>(most));
    to.count += got;
    return got != 0;
}

Nanoseconds MergedReceiver::due(std::size_t source, bool refill) noexcept {
    ReadAhead& from = ahead_[source];
    return from.clock.due(stamp(from, 0), [&](unsigned i) {
        while (from.next + i >= from.count) {
            if (!refill || !read_more(source)) {
                return std::optional<Nanoseconds>();
            }
        }
        return std::optional<Nanoseconds>(stamp(from, i));
    });
}

// Return the timestamp of the i-th packet behind the next one. The driver counts microseconds.
Nanoseconds MergedReceiver::stamp(const ReadAhead& from, unsigned i) const noexcept {
    return timestamp_of(from.mbufs[from.next + i], timestamp_offset_) * kMicrosecond;
}

}  // namespace unecho::dataplane
