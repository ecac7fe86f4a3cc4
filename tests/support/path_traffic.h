// SPDX-License-Identifier: BSD-3-Clause
// Packets between hosts on the two sides of a chain of points, as those points see them, for tests
// of the path table. Time is invented.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "dedup/pipeline/paths/path_table.h"
#include "support/filter_memory.h"

namespace unecho::test {

struct Sight {
    pipeline::PathKey key;
    pipeline::PathLook look;  // the port is the point
};

struct TrafficSpec {
    unsigned points = 2;
    unsigned packets = 4000;
    unsigned hosts = 24;
    bool one_way = false;       // every packet passes all points, in their order
    double loss = 0;            // of a packet between two neighbouring points
    double blindness = 0;       // of a packet that passes a point, and which its tap does not show
    double duplicates = 0;      // of a look that the tap shows twice
    double retransmitted = 0;   // of a packet that does not say which transmission it is
    double unknown_hosts = 0;   // of a packet whose hosts are not known
    double hop = 0;             // of a packet whose TTL is lowered between two points
    bool hosts_move = false;    // a third of them in the middle
    Nanoseconds start = kHour;  // of the first packet
    Nanoseconds interval = kMillisecond;  // between packets, in the mean
    Nanoseconds delay = 300 * kMicrosecond;
    Nanoseconds jitter = 0;       // added to the delay, evenly distributed
    Nanoseconds uncertainty = 0;  // a packet arrived up to this long before its time
    Nanoseconds pause = 0;        // without packets, after three quarters of them
    std::uint64_t seed = 1;

    static constexpr Nanoseconds kHour = 3600 * kSecond;
};

class PathTraffic {
  public:
    explicit PathTraffic(const TrafficSpec& spec) : spec_(spec), draw_(spec.seed) {
        for (unsigned i = 0; i < spec.hosts; ++i) {
            gaps_.push_back(i % (spec.points + 1));
            names_.push_back(draw_() | 1);
        }
        Nanoseconds now = spec.start;
        for (unsigned i = 0; i < spec.packets; ++i) {
            now += 1 + up_to(2 * spec.interval);
            if (i == spec.packets / 4 * 3) {
                now += spec.pause;
            }
            if (spec.hosts_move && i == spec.packets / 2) {
                for (unsigned host = 0; host < spec.hosts; host += 3) {
                    gaps_[host] = static_cast<unsigned>(draw_() % (spec.points + 1));
                }
            }
            send(now);
        }
        std::stable_sort(sights_.begin(), sights_.end(),
                         [](const Sight& a, const Sight& b) { return a.look.time < b.look.time; });
    }

    // In the order of their times.
    [[nodiscard]] const std::vector<Sight>& sights() const { return sights_; }

  private:
    bool happens(double probability) {
        return std::uniform_real_distribution<>()(draw_) < probability;
    }
    Nanoseconds up_to(Nanoseconds most) {
        return std::uniform_int_distribution<Nanoseconds>(0, most)(draw_);
    }

    void send(Nanoseconds now) {
        const auto from = static_cast<unsigned>(draw_() % spec_.hosts);
        const auto to = static_cast<unsigned>(draw_() % spec_.hosts);
        pipeline::PathKey key;
        key.digest = draw_();
        key.hash = {draw_(), draw_()};
        if (!happens(spec_.unknown_hosts)) {
            key.source = names_[from];
            key.destination = names_[to];
        }
        key.identified = !happens(spec_.retransmitted);
        for (unsigned sent = 0; sent == 0 || (!key.identified && sent < 3); ++sent) {
            pass(key, now, spec_.one_way ? 0 : gaps_[from],
                 spec_.one_way ? spec_.points : gaps_[to]);
            now += kMillisecond + up_to(20 * kMillisecond);
        }
    }

    // A host in gap g is in front of point g.
    void pass(const pipeline::PathKey& key, Nanoseconds now, unsigned from, unsigned to) {
        pipeline::PathLook look;
        look.packet.frame.ttl = 64;
        for (unsigned gap = from; gap != to; gap = from < to ? gap + 1 : gap - 1) {
            if (gap != from) {
                if (happens(spec_.loss)) {
                    return;
                }
                now += spec_.delay + up_to(spec_.jitter);
                look.packet.frame.ttl -= happens(spec_.hop) ? 1 : 0;
            }
            look.port = static_cast<PortIndex>(from < to ? gap : gap - 1);
            look.time = now;
            look.earliest = now - up_to(spec_.uncertainty);
            if (happens(spec_.blindness)) {
                continue;
            }
            sights_.push_back({key, look});
            if (happens(spec_.duplicates)) {
                look.time += 1 + up_to(2 * kMillisecond);
                look.earliest = look.time - up_to(spec_.uncertainty);
                sights_.push_back({key, look});
            }
        }
    }

    TrafficSpec spec_;
    std::mt19937_64 draw_;
    std::vector<unsigned> gaps_;  // by host
    std::vector<Digest> names_;
    std::vector<Sight> sights_;
};

// A path table with memory of exactly the size that it asks for.
class MeasuredPaths {
  public:
    explicit MeasuredPaths(const pipeline::PathSpec& spec)
        : cells_(std::size_t{spec.points} * spec.points),
          totals_(spec.points, cells_),
          memory_(pipeline::PathTable::bytes(spec)),
          table_(spec, memory_.span(), totals_) {}

    pipeline::PathTable& table() { return table_; }
    [[nodiscard]] const pipeline::PathTotals& totals() const { return totals_; }
    [[nodiscard]] pipeline::PathCount at(unsigned from, unsigned to) const {
        return totals_.at(from, to).read();
    }
    [[nodiscard]] pipeline::PathCounters counters(unsigned from, unsigned to) const {
        return at(from, to).counters;
    }
    // Judge all keys that are due.
    void expire(Nanoseconds now) {
        table_.expire(now);
        std::uint64_t before = 0;
        do {
            before = totals_.sample().entries;
            table_.expire(now);
        } while (totals_.sample().entries != before);
    }
    void look(const Sight& sight) { table_.look(sight.key, sight.look); }
    // Show a packet if it is in the sample. Return true if it was.
    bool show(const Sight& sight) {
        const bool shown = table_.sample().has(sight.key.digest);
        if (shown) {
            look(sight);
        }
        return shown;
    }

  private:
    std::vector<pipeline::PathCell> cells_;
    pipeline::PathTotals totals_;
    FilterMemory memory_;
    pipeline::PathTable table_;
};

// Return the specification of a table whose ports are its points.
inline pipeline::PathSpec path_spec(unsigned points, Nanoseconds window) {
    pipeline::PathSpec spec;
    spec.points = points;
    spec.point_of.fill(pipeline::PathSpec::kNoPoint);
    for (unsigned i = 0; i < points; ++i) {
        spec.point_of[i] = static_cast<std::uint8_t>(i);
    }
    spec.window = window;
    spec.memory = 8 << 20;
    return spec;
}

}  // namespace unecho::test
