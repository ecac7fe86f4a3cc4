// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "filters/window/chance.h"

namespace unecho::filter {
namespace {

struct Point {
    double changes;
    double match;
};

// Tabulate matches by changes. Each digest changes a segment with the chance that it does not
// match:
//     changes(n) = integral of 1 - match from 0 to n,
// by trapezoids, until hardly any digest changes anything.
std::vector<Point> walk(double half, const std::function<double(double)>& match) {
    constexpr unsigned kPerHalf = 32;
    constexpr unsigned kMaxHalves = 64;
    constexpr double kSaturated = 0.9999;
    const double step = half / kPerHalf;
    std::vector<Point> points{{0, 0}};
    for (unsigned i = 1; i <= kPerHalf * kMaxHalves && points.back().match < kSaturated; ++i) {
        const Point& last = points.back();
        const double here = std::max(match(step * i), last.match);
        points.push_back({last.changes + step * (1 - (last.match + here) / 2), here});
    }
    return points;
}

// Round to a float that is not below the number itself.
float rounded_up(double value) {
    const auto near = static_cast<float>(value);
    return near < value ? std::nextafter(near, 2.0F) : near;
}

}  // namespace

MatchTable::MatchTable(double half, unsigned k, double most_changes)
    : intervals_per_change_(static_cast<float>(kIntervals / most_changes)),
      step_(std::bit_floor(
          std::max<std::uint64_t>(1, static_cast<std::uint64_t>(half / k / kIntervals)))) {
    UNECHO_ASSERT(half > 0 && k >= 1 && most_changes > 0);
}

MatchTable MatchTable::make(double half, unsigned k, const std::function<double(double)>& match) {
    const std::vector<Point> points = walk(half, match);
    MatchTable table(half, k, points.back().changes);
    std::size_t next = 1;
    for (unsigned i = 0; i < kIntervals; ++i) {
        const double changes = points.back().changes * i / kIntervals;
        while (points[next].changes < changes) {
            ++next;
        }
        const Point& a = points[next - 1];
        const Point& b = points[next];
        const double part = (changes - a.changes) / (b.changes - a.changes);
        table.at_[i] = rounded_up(a.match + part * (b.match - a.match));
    }
    table.at_[kIntervals] = 1;
    return table;
}

MatchTable MatchTable::of_bits(std::uint64_t m, unsigned k) {
    const auto bits = static_cast<double>(m);
    MatchTable table(bits * std::log(2.0), k, bits);
    for (unsigned i = 0; i <= kIntervals; ++i) {
        table.at_[i] = static_cast<float>(i) / kIntervals;
    }
    return table;
}

// A digest changes the segment unless it matches. Each interval uses its mean match.
std::uint64_t MatchTable::changes_of(std::uint64_t digests) const {
    const double interval = 1 / static_cast<double>(intervals_per_change_);
    auto left = static_cast<double>(digests);
    double changes = 0;
    for (unsigned i = 0; i < kIntervals && left > 0; ++i) {
        const double rate = 1 - (static_cast<double>(at_[i]) + static_cast<double>(at_[i + 1])) / 2;
        const double taken = std::min(left, interval / rate);
        changes += taken * rate;
        left -= taken;
    }
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(changes));
}

}  // namespace unecho::filter
