// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/clock.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace unecho::compare {
namespace {

// The differences of one direction between two hosts, without the assumed drift.
struct Extremes {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    std::int64_t positive = 0;   // packets with a difference above 0, minus those below
    std::int64_t lower_ttl = 0;  // packets with a lower TTL at b, minus those with a higher one

    void add(double difference) {
        least = std::min(least, difference);
        most = std::max(most, difference);
    }
    [[nodiscard]] bool any() const { return least <= most; }
};

enum class Way : std::uint8_t { kUnknown, kForward, kBackward };

Way opposite(Way way) {
    return way == Way::kForward    ? Way::kBackward
           : way == Way::kBackward ? Way::kForward
                                   : Way::kUnknown;
}

Way sign_of(double value) {
    return value > 0 ? Way::kForward : value < 0 ? Way::kBackward : Way::kUnknown;
}

struct Bounds {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();

    [[nodiscard]] bool both() const { return std::isfinite(low) && std::isfinite(high); }
    [[nodiscard]] double middle() const { return (low + high) / 2; }
};

struct TimedDifference {
    double time;
    double difference;
};

// Lower convex hull of points in order of time; of negated points it is the upper one.
std::vector<TimedDifference> lower_hull(std::vector<TimedDifference> points) {
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
        return a.time != b.time ? a.time < b.time : a.difference < b.difference;
    });
    std::vector<TimedDifference> hull;
    for (const TimedDifference& point : points) {
        while (hull.size() >= 2) {
            const TimedDifference& last = hull.back();
            const TimedDifference& before = hull[hull.size() - 2];
            const double cross =
                (last.time - before.time) * (point.difference - before.difference) -
                (last.difference - before.difference) * (point.time - before.time);
            if (cross > 0) {
                break;
            }
            hull.pop_back();
        }
        hull.push_back(point);
    }
    return hull;
}

// Return the least difference above a line through the origin with this slope.
double least_above(std::span<const TimedDifference> hull, double slope) {
    double least = std::numeric_limits<double>::infinity();
    for (const TimedDifference& point : hull) {
        least = std::min(least, point.difference - slope * point.time);
    }
    return least;
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Return a line through the medians of parts of the time, by the median of all slopes between them
// (Theil and Sen). single: in order of time.
ClockLine line_through(std::span<const Match> single) {
    constexpr std::size_t kParts = 32;
    constexpr std::size_t kLeast = 8;  // matches of a part
    const std::size_t size = std::max(kLeast, (single.size() + kParts - 1) / kParts);
    ClockLine line;
    line.begin = single.front().time;
    line.base = single[single.size() / 2].difference;
    std::vector<TimedDifference> parts;
    for (std::size_t begin = 0; begin < single.size(); begin += size) {
        const auto part = single.subspan(begin, std::min(size, single.size() - begin));
        std::vector<double> differences;
        for (const Match& match : part) {
            differences.push_back(static_cast<double>(match.difference - line.base));
        }
        parts.push_back({static_cast<double>(part[part.size() / 2].time - line.begin),
                         median_of(std::move(differences))});
    }
    std::vector<double> slopes{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t j = i + 1; j < parts.size(); ++j) {
            if (parts[j].time > parts[i].time) {
                slopes.push_back((parts[j].difference - parts[i].difference) /
                                 (parts[j].time - parts[i].time));
            }
        }
    }
    line.drift = slopes.empty() ? 0 : median_of(std::move(slopes));
    std::vector<double> rest;
    for (const TimedDifference& part : parts) {
        rest.push_back(part.difference - line.drift * part.time);
    }
    line.offset = median_of(std::move(rest));
    return line;
}

class Fitter {
  public:
    Fitter(std::span<const Match> matches, const Hosts& hosts, const ClockRules& rules)
        : matches_(matches),
          hosts_(hosts),
          rules_(rules),
          tick_(static_cast<double>(rules.tick)),
          base_(rules.equal ? 0 : matches.front().difference),
          begin_(matches.front().time),
          one_is_identified_(std::any_of(matches.begin(), matches.end(),
                                         [&](const Match& match) { return match.identified; })) {
        for (const Match& match : matches) {
            begin_ = std::min(begin_, match.time);
        }
    }

    ClockFit fit() {
        learn(0);
        find_ways();
        if (rules_.clocks == Clocks::kSame) {
            return with_equal_clocks(ClockRelation::kStated);
        }
        if (!is_possible()) {
            learn(even_drift());
            find_ways();
        }
        const Bounds known = bounds();
        if (rules_.clocks == Clocks::kAuto && rules_.equal && known.low <= tick_ &&
            known.high >= -tick_) {
            return with_equal_clocks(known.both() ? ClockRelation::kAgree
                                                  : ClockRelation::kAssumed);
        }
        return with_line();
    }

  private:
    [[nodiscard]] double time_of(const Match& match) const {
        return static_cast<double>(match.time - begin_);
    }
    // Repeats may be matched with the wrong transmission, so they count only without others.
    [[nodiscard]] bool counts(const Match& match) const {
        return match.identified || !one_is_identified_;
    }
    [[nodiscard]] const Hosts::Ends& ends_of(const Match& match) const {
        return hosts_.of(match.flow_a);
    }
    [[nodiscard]] double value(const Match& match) const {
        return static_cast<double>(match.difference - base_);
    }

    // Return by how much the TTL is lower at b; 0 if a device may have set it anew.
    [[nodiscard]] int hops_of(const Match& match) const {
        constexpr int kMostHops = 32;
        return std::abs(match.hops) <= kMostHops ? match.hops : 0;
    }

    void learn(double drift) {
        directions_.assign(std::size_t{hosts_.pairs()} * 2, {});
        for (const Match& match : matches_) {
            const Hosts::Ends& ends = ends_of(match);
            if (ends.pair == Hosts::kNone || !counts(match)) {
                continue;
            }
            Extremes& direction = directions_[ends.pair * 2 + (ends.turned ? 1 : 0)];
            const double seen = value(match);
            direction.add(seen - drift * time_of(match));
            direction.positive += match.difference > 0 ? 1 : match.difference < 0 ? -1 : 0;
            direction.lower_ttl += hops_of(match) > 0 ? 1 : hops_of(match) < 0 ? -1 : 0;
        }
        ways_.assign(directions_.size(), Way::kUnknown);
    }

    // Find the ways that both directions between two hosts show, or else TTLs.
    void find_ways() {
        if (rules_.mirror) {
            ways_.assign(ways_.size(), Way::kForward);
            return;
        }
        for (std::size_t pair = 0; pair < directions_.size(); pair += 2) {
            const Extremes& there = directions_[pair];
            const Extremes& back = directions_[pair + 1];
            const bool both = there.any() && back.any();
            const double forward = both ? there.least - back.most : 0;
            const double backward = both ? back.least - there.most : 0;
            const Way by_ttl = sign_of(static_cast<double>(there.lower_ttl - back.lower_ttl));
            const bool certain = both && std::max(forward, backward) >= 0;
            const Way way =
                certain || by_ttl == Way::kUnknown ? sign_of(forward - backward) : by_ttl;
            ways_[pair] = way;
            ways_[pair + 1] = opposite(way);
        }
    }

    [[nodiscard]] Bounds bounds() const {
        Bounds out;
        for (std::size_t i = 0; i < directions_.size(); ++i) {
            if (directions_[i].any() && ways_[i] == Way::kForward) {
                out.high = std::min(out.high, directions_[i].least);
            } else if (directions_[i].any() && ways_[i] == Way::kBackward) {
                out.low = std::max(out.low, directions_[i].most);
            }
        }
        return out;
    }
    [[nodiscard]] bool is_possible() const {
        const Bounds known = bounds();
        return known.low <= known.high + tick_;
    }

    // Return the drift by the medians of the first and the last third of the direction with most
    // packets, if its delays are alike at both ends.
    [[nodiscard]] double even_drift() const {
        std::vector<std::uint32_t> packets(directions_.size());
        for (const Match& match : matches_) {
            const Hosts::Ends& ends = ends_of(match);
            if (ends.pair != Hosts::kNone && counts(match)) {
                ++packets[ends.pair * 2 + (ends.turned ? 1 : 0)];
            }
        }
        const auto busiest = std::max_element(packets.begin(), packets.end());
        if (busiest == packets.end() || *busiest < 3) {
            return 0;
        }
        const auto chosen = static_cast<std::uint32_t>(busiest - packets.begin());
        std::vector<TimedDifference> seen;
        for (const Match& match : matches_) {
            const Hosts::Ends& ends = ends_of(match);
            if (ends.pair != Hosts::kNone && counts(match) &&
                ends.pair * 2 + (ends.turned ? 1U : 0U) == chosen) {
                seen.push_back({time_of(match), value(match)});
            }
        }
        const auto third = static_cast<std::ptrdiff_t>(seen.size() / 3);
        const auto median = [](const std::vector<TimedDifference>& part) {
            std::vector<double> values;
            for (const TimedDifference& one : part) {
                values.push_back(one.difference);
            }
            return median_of(std::move(values));
        };
        const double time = seen.back().time - seen.front().time;
        return time <= 0 ? 0
                         : (median({seen.end() - third, seen.end()}) -
                            median({seen.begin(), seen.begin() + third})) /
                               (time * 2 / 3);
    }

    [[nodiscard]] ClockModel model(ClockRelation relation) const {
        ClockModel out;
        out.relation = relation;
        out.line.begin = begin_;
        const Bounds known = bounds();
        out.bounded = known.both();
        if (out.bounded) {
            out.low = base_ + std::llround(known.low);
            out.high = base_ + std::llround(known.high);
        }
        return out;
    }

    // With equal clocks the sign of the difference shows the direction, of most packets of a flow.
    ClockFit with_equal_clocks(ClockRelation relation) {
        for (std::size_t pair = 0; !rules_.mirror && pair < directions_.size(); pair += 2) {
            const Way way = sign_of(
                static_cast<double>(directions_[pair].positive - directions_[pair + 1].positive));
            if (way != Way::kUnknown) {
                ways_[pair] = way;
                ways_[pair + 1] = opposite(way);
            }
        }
        ClockFit out{model(relation), {}};
        choose(out);
        return out;
    }

    // Directions that are still unknown are those on which side of the line their packets lie.
    void choose(ClockFit& out) const {
        out.forward.reserve(matches_.size());
        for (const Match& match : matches_) {
            const Hosts::Ends& ends = ends_of(match);
            Way way = rules_.mirror ? Way::kForward : Way::kUnknown;
            if (ends.pair != Hosts::kNone) {
                way = ways_[ends.pair * 2 + (ends.turned ? 1 : 0)];
            }
            out.forward.push_back(way == Way::kUnknown
                                      ? match.difference >= out.clock.line.at(match.time)
                                      : way == Way::kForward);
        }
    }

    ClockFit with_line() {
        const Bounds known = bounds();
        settle_ways(known);
        std::vector<TimedDifference> above;
        std::vector<TimedDifference> below;
        for (const Match& match : matches_) {
            const Hosts::Ends& ends = ends_of(match);
            if (ends.pair == Hosts::kNone || !counts(match)) {
                continue;
            }
            const Way way = ways_[ends.pair * 2 + (ends.turned ? 1 : 0)];
            if (way == Way::kForward) {
                above.push_back({time_of(match), value(match)});
            } else {
                below.push_back({time_of(match), -value(match)});
            }
        }
        const auto hull = lower_hull(std::move(above));
        const auto roof = lower_hull(std::move(below));  // negated
        ClockFit out{model(ClockRelation::kEstimated), {}};
        out.clock.line.base = base_;
        if (hull.empty() || roof.empty()) {
            out.clock.relation = ClockRelation::kOneWay;
            lay_along(hull.empty() ? roof : hull, hull.empty() ? -1 : 1, out.clock);
        } else {
            lay_between(hull, roof, out.clock);
        }
        choose(out);
        return out;
    }

    // Ways that nothing has shown yet: the side of the middle on which the packets lie, or forward.
    void settle_ways(const Bounds& known) {
        for (std::size_t i = 0; i < directions_.size(); ++i) {
            if (ways_[i] == Way::kUnknown && directions_[i].any()) {
                const double middle = (directions_[i].least + directions_[i].most) / 2;
                ways_[i] = known.both() && middle < known.middle() ? Way::kBackward : Way::kForward;
            }
        }
    }

    // The widest strip between both hulls: its width is concave in the slope.
    void lay_between(std::span<const TimedDifference> hull, std::span<const TimedDifference> roof,
                     ClockModel& clock) const {
        const auto width = [&](double slope) {
            return least_above(hull, slope) + least_above(roof, -slope);
        };
        constexpr double kMostDrift = 1e-3;
        double low = -kMostDrift;
        double high = kMostDrift;
        for (int step = 0; step < 200; ++step) {
            const double left = low + (high - low) / 3;
            const double right = high - (high - low) / 3;
            (width(left) < width(right) ? low : high) = width(left) < width(right) ? left : right;
        }
        // A strip without drift that is nearly as wide says that there is none.
        constexpr double kAsWide = 0.98;
        const double best = (low + high) / 2;
        const double flat = width(0);
        const double slope = flat >= 0 && flat + 2 * tick_ >= kAsWide * width(best) ? 0 : best;
        clock.line.drift = slope;
        clock.line.offset = (least_above(hull, slope) - least_above(roof, -slope)) / 2;
        clock.low = base_ + std::llround(-least_above(roof, -slope));
        clock.high = base_ + std::llround(least_above(hull, slope));
        clock.bounded = true;
    }

    // The edge of the hull at the mean time: of all lines below the points, it has the least mean
    // distance from them. side: -1 if the points are negated.
    static void lay_along(std::span<const TimedDifference> hull, double side, ClockModel& clock) {
        if (hull.empty()) {
            return;
        }
        const double middle = (hull.front().time + hull.back().time) / 2;
        std::size_t i = 0;
        while (i + 2 < hull.size() && hull[i + 1].time < middle) {
            ++i;
        }
        const TimedDifference& from = hull[i];
        const double slope =
            hull.size() < 2 || hull[i + 1].time <= from.time
                ? 0
                : (hull[i + 1].difference - from.difference) / (hull[i + 1].time - from.time);
        clock.line.drift = side * slope;
        clock.line.offset = side * (from.difference - slope * from.time);
    }

    std::span<const Match> matches_;
    const Hosts& hosts_;
    ClockRules rules_;
    double tick_;
    std::int64_t base_;  // taken off all differences, so that doubles hold the rest
    Nanoseconds begin_;
    bool one_is_identified_;
    std::vector<Extremes> directions_;  // two for each pair of hosts
    std::vector<Way> ways_;             // of directions_
};

}  // namespace

FirstGuess guess_clocks(std::span<const Match> single, Nanoseconds window, bool stated) {
    // Packets that do not say which transmission they are count only without others.
    const bool known = std::any_of(single.begin(), single.end(),
                                   [](const Match& match) { return match.identified; });
    std::size_t all = 0;
    const auto far_from = [&](const ClockLine& line) {
        std::uint64_t far = 0;
        all = 0;
        for (const Match& match : single) {
            if (match.identified || !known) {
                ++all;
                far += std::abs(match.difference - line.at(match.time)) >
                               static_cast<std::int64_t>(window)
                           ? 1
                           : 0;
            }
        }
        return far;
    };
    FirstGuess out;
    out.far = far_from(out.line);
    if (stated || out.far * 100 <= all) {
        return out;
    }
    std::vector<Match> counted;
    std::copy_if(single.begin(), single.end(), std::back_inserter(counted),
                 [&](const Match& match) { return match.identified || !known; });
    std::sort(counted.begin(), counted.end(),
              [](const Match& x, const Match& y) { return x.time < y.time; });
    const ClockLine line = line_through(counted);
    if (const std::uint64_t far = far_from(line); far < out.far / 2) {
        out = {line, false, far};
    }
    return out;
}

ClockFit fit_clocks(std::span<const Match> matches, const Hosts& hosts, const ClockRules& rules) {
    if (matches.empty()) {
        return {};
    }
    return Fitter(matches, hosts, rules).fit();
}

}  // namespace unecho::compare
