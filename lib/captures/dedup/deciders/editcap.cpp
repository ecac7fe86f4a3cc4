// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/deciders/editcap.h"

#include <algorithm>

#include "base/assert.h"

namespace unecho::dedup {

std::uint64_t EditcapSearch::memory_bytes() {
    return kRing * (sizeof(Packet) + sizeof(std::uint64_t));
}

EditcapSearch::EditcapSearch(bool by_time, std::uint64_t limit, std::span<std::byte> memory)
    : by_time_(by_time),
      limit_(limit),
      packets_(reinterpret_cast<Packet*>(memory.data())),
      heads_(reinterpret_cast<std::uint64_t*>(memory.data() + kRing * sizeof(Packet))) {
    UNECHO_ASSERT(memory.size() >= memory_bytes());
}

EditcapSearch EditcapSearch::by_time(Nanoseconds window, std::span<std::byte> memory) {
    return {true, window, memory};
}

EditcapSearch EditcapSearch::by_count(std::uint64_t count, std::span<std::byte> memory) {
    UNECHO_ASSERT(count >= 1 && count <= kMaxEditcapCount);
    return {false, count, memory};
}

// Return the last packet that the search does not reach.
std::uint64_t EditcapSearch::barrier_of(std::uint64_t number, Nanoseconds time) {
    if (!by_time_) {
        return number > limit_ ? number - limit_ : 0;
    }
    std::uint64_t barrier = number > kDepth ? number - kDepth : 0;
    while (!rises_.empty() && rises_.front().number < barrier) {
        rises_.pop_front();
    }
    if (time > limit_) {
        const auto young =
            std::partition_point(rises_.begin(), rises_.end(),
                                 [&](const Rise& rise) { return rise.time < time - limit_; });
        barrier = young == rises_.begin() ? barrier : std::max(barrier, std::prev(young)->number);
    }
    return barrier;
}

void EditcapSearch::keep_rise(std::uint64_t number, Nanoseconds time) {
    while (!rises_.empty() && rises_.back().time >= time) {
        rises_.pop_back();
    }
    rises_.push_back({time, number});
}

std::optional<EditcapSearch::Found> EditcapSearch::find_and_insert(std::uint64_t number,
                                                                   Nanoseconds time, Digest digest,
                                                                   std::uint32_t tag) {
    const std::uint64_t barrier = barrier_of(number, time);
    std::uint64_t& head = heads_[reduce(digest * 0x9E3779B97F4A7C15ULL, kRing)];
    std::optional<Found> found;
    for (std::uint64_t at = head; at > barrier;) {
        const Packet& packet = packets_[at % kRing];
        if (packet.digest == digest && (!by_time_ || packet.time <= time)) {
            found = {at, packet.time, packet.tag};
            break;
        }
        at = packet.previous;
    }
    packets_[number % kRing] = {digest, time, head, tag};
    head = number;
    if (by_time_) {
        keep_rise(number, time);
    }
    return found;
}

}  // namespace unecho::dedup
