// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/collect/flow_tables.h"

#include <utility>

namespace unecho::analyze {

FlowTable::FlowTable(std::size_t bytes, double ladders)
    : bucket_times_(part_of(bytes, ladders) / BucketTimesPool::kBytes),
      table_(bytes - part_of(bytes, ladders)) {}

FlowTable::FlowTable(const FlowTable& other, std::size_t bytes, double ladders)
    : bucket_times_(part_of(bytes, ladders) / BucketTimesPool::kBytes),
      table_(other.table_, bytes - part_of(bytes, ladders),
             [&](FlowEntry& entry, const FlowEntry&) {
                 bucket_times_.adopt(entry.both, entry.last, other.bucket_times_);
                 for (std::size_t way = 0; entry.met && way < 2; ++way) {
                     bucket_times_.adopt(entry.ways[way], entry.last_of[way], other.bucket_times_);
                 }
             }),
      alike_(other.alike_),
      one_way_(other.one_way_),
      both_ways_(other.both_ways_) {}

// Must be called before the times of both directions are updated.
WindowMask FlowTable::seen_one_way(FlowEntry& entry, bool turned, Nanoseconds now) {
    const std::size_t way = turned ? 1 : 0;
    if (entry.met) {
        return bucket_times_.step(entry.ways[way], std::exchange(entry.last_of[way], now), now);
    }
    entry.met = true;
    entry.ways[1 - way] = entry.both;
    entry.last_of[1 - way] = entry.last;
    bucket_times_.adopt(entry.ways[1 - way], entry.last, bucket_times_);
    entry.ways[way] = BucketTimesPool::first(now);
    entry.last_of[way] = now;
    return 0;
}

FlowTable::Dropped FlowTable::seen(Digest digest, bool turned, const Place& before,
                                   Nanoseconds now) {
    FlowEntry* const known = table_.find(digest, before);
    if (known == nullptr) {
        const auto forget = [&](FlowEntry& old) {
            bucket_times_.release(old.both);
            for (std::size_t way = 0; old.met && way < 2; ++way) {
                bucket_times_.release(old.ways[way]);
            }
        };
        FlowEntry& entry = table_.insert(digest, now, forget, before);
        entry.both = BucketTimesPool::first(now);
        entry.first = turned;
        entry.met = false;
        return {};
    }
    const bool alone = !known->met && turned == known->first;
    const WindowMask one_way = alone ? 0 : seen_one_way(*known, turned, now);
    const WindowMask both = bucket_times_.step(known->both, std::exchange(known->last, now), now);
    return {alone ? both : one_way, both};
}

void FlowTable::add(Digest digest, bool turned, const Place& before, Nanoseconds now,
                    std::uint64_t length, WindowMask by_packet) {
    const Dropped dropped = seen(digest, turned, before, now);
    if (dropped.one_way == dropped.both_ways) {
        alike_.add(dropped.one_way, by_packet, length);
        return;
    }
    one_way_.add(dropped.one_way, by_packet, length);
    both_ways_.add(dropped.both_ways, by_packet, length);
}

PayloadRetransmissions SegmentCounts::look_alikes(Nanoseconds resolution) const {
    PayloadRetransmissions out{found, compared, ages.ages(resolution).bins};
    for (AgeBin& bin : out.ages) {
        bin.causes = {};
    }
    return out;
}

}  // namespace unecho::analyze
