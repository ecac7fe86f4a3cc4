// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/paths/path.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <future>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/prefetch.h"
#include "captures/compare/paths/matching.h"
#include "captures/compare/paths/order.h"

namespace unecho::compare {
namespace {

constexpr std::size_t kBins = 40;
constexpr std::size_t kMostFlows = 10;

// Set the least values that are not below these shares of all. shares: falling. Reorders the
// values.
template <std::size_t N>
std::array<std::int64_t, N> quantiles(std::vector<std::int64_t>& values,
                                      const std::array<double, N>& shares) {
    std::array<std::int64_t, N> out{};
    auto end = values.end();
    for (std::size_t i = 0; i < N; ++i) {
        const auto count = static_cast<std::ptrdiff_t>(values.size());
        const auto at =
            static_cast<std::ptrdiff_t>(std::ceil(shares[i] * static_cast<double>(count))) - 1;
        const auto place = values.begin() + std::clamp<std::ptrdiff_t>(at, 0, count - 1);
        if (place < end) {
            std::nth_element(values.begin(), place, end);
            end = place;
        }
        out[i] = *place;
    }
    return out;
}

std::int64_t median_of(std::vector<std::int64_t>& values) {
    return quantiles<1>(values, {0.5}).front();
}

class PairJudge {
  public:
    PairJudge(const PairInput& input, std::uint8_t a, std::uint8_t b, const PairOptions& options)
        : in_(input), a_(a), b_(b), options_(options), sides_(input.hosts.hosts(), 0) {}

    PairResult judge(const Point& a, const Point& b) {
        matches_ = match_points(in_.looks, in_.groups, in_.hosts, a_, b_,
                                {options_.window, options_.clocks, options_.mirror, options_.nat,
                                 std::max(a.counts.tick, b.counts.tick)});
        take_sides();
        PairResult out;
        out.report.a = a_;
        out.report.b = b_;
        out.report.clock = matches_.fit.clock;
        out.report.matched = matches_.list.size();
        out.report.far = matches_.far;
        for_each_unmatched(in_.looks, matches_.matched, a_, b_,
                           [&](LookIndex index) { left_.push_back(index); });
        auto back = std::async(options_.threads > 1 ? kIfPossible : std::launch::deferred,
                               [&] { judge_path(b, a, false, out); });
        judge_path(a, b, true, out);
        back.get();
        count_others(out.report);
        out.matches = std::move(matches_.list);
        return out;
    }

  private:
    // A packet that was seen at the sending point.
    struct Sent {
        LookIndex from;
        LookIndex to;         // if it arrived
        Nanoseconds time;     // by the clock of the sending point
        std::int64_t delay;   // if it arrived
        Nanoseconds arrival;  // by the clock of the other point, if it arrived
        std::uint32_t flow;

        bool operator<(const Sent& other) const {
            return std::tie(time, from) < std::tie(other.time, other.from);
        }
    };

    // The judged packets, each list in order of time.
    struct Judged {
        std::vector<Sent> arrived;
        std::vector<Sent> missing;

        template <typename Visit>
        void for_each(Visit visit) const {
            for (const Sent& one : arrived) {
                visit(one, true);
            }
            for (const Sent& one : missing) {
                visit(one, false);
            }
        }
    };

    [[nodiscard]] const Look& look(LookIndex index) const { return in_.looks[index]; }

    // Learn on which side of the two points each host is, from packets whose direction is known.
    void take_sides() {
        const auto vote = [&](std::uint32_t host, int side) {
            if (host != Hosts::kNone) {
                sides_[host] += side;
            }
        };
        for (std::size_t i = 0; i < matches_.list.size(); ++i) {
            const int source = matches_.fit.forward[i] ? 1 : -1;
            for (const std::uint32_t flow : {matches_.list[i].flow_a, matches_.list[i].flow_b}) {
                const Hosts::Ends& ends = in_.hosts.of(flow);
                vote(ends.source, source);
                vote(ends.destination, -source);
            }
        }
    }

    enum class Course : std::uint8_t { kUnknown, kForward, kBackward };

    [[nodiscard]] Course course_of(const Look& one) const {
        if (options_.mirror || (options_.every_packet && one.point == a_)) {
            return Course::kForward;
        }
        const Hosts::Ends& ends = in_.hosts.of(one.flow);
        if (ends.source == Hosts::kNone || ends.destination == Hosts::kNone) {
            return Course::kUnknown;
        }
        const std::int64_t source = sides_[ends.source];
        const std::int64_t destination = sides_[ends.destination];
        return source > 0 && destination < 0   ? Course::kForward
               : source < 0 && destination > 0 ? Course::kBackward
                                               : Course::kUnknown;
    }

    // Packets to a group lead nobody knows where, whether they came or not.
    [[nodiscard]] bool has_known_ends(const Look& one) const {
        const Hosts::Ends& ends = in_.hosts.of(one.flow);
        return options_.mirror || options_.every_packet ||
               (ends.source != Hosts::kNone && ends.destination != Hosts::kNone);
    }

    // Return the time of point b in the clock of point a, or the reverse.
    [[nodiscard]] Nanoseconds translated(Nanoseconds time, bool from_a) const {
        const ClockLine& line = matches_.fit.clock.line;
        const std::int64_t first = line.at(from_a ? time : line.begin);
        const std::int64_t offset =
            from_a ? first : line.at(time - static_cast<Nanoseconds>(first));
        return from_a ? time + static_cast<Nanoseconds>(offset)
                      : time - static_cast<Nanoseconds>(offset);
    }

    void judge_path(const Point& from, const Point& to, bool forward, PairResult& out) {
        Path& path = forward ? out.report.there : out.report.back;
        path.from = forward ? a_ : b_;
        path.to = forward ? b_ : a_;
        Judged sent{arrivals(forward, path), {}};
        std::int64_t fastest = sent.arrived.empty() ? 0 : INT64_MAX;
        std::int64_t slowest = 0;
        for (const Sent& one : sent.arrived) {
            fastest = std::min(fastest, one.delay);
            slowest = std::max(slowest, one.delay);
        }
        path.all_arrived = sent.arrived.size();
        // The time in which a packet sent at `from` had to be captured at `to`: not before the
        // fastest could be, and not after the slowest could not.
        const Nanoseconds begin =
            std::max(from.counts.first,
                     translated(to.counts.first, !forward) - static_cast<Nanoseconds>(fastest));
        const Nanoseconds end = std::min(from.counts.last, translated(to.counts.last, !forward)) -
                                static_cast<Nanoseconds>(slowest);
        const auto judged = [&](Nanoseconds time) {
            return static_cast<std::int64_t>(time - begin) >= 0 &&
                   static_cast<std::int64_t>(end - time) >= 0;
        };
        const Course course = forward ? Course::kForward : Course::kBackward;
        for (const LookIndex index : left_) {
            const Look& one = look(index);
            if (course_of(one) != course) {
                continue;
            }
            if (one.point == path.from) {
                sent.missing.push_back({index, 0, one.time, 0, 0, one.flow});
            } else {
                const Nanoseconds by_sender = translated(one.time, !forward);
                path.unannounced +=
                    judged(by_sender) && judged(by_sender - static_cast<Nanoseconds>(slowest)) ? 1
                                                                                               : 0;
            }
        }
        for (std::vector<Sent>* const list : {&sent.arrived, &sent.missing}) {
            path.unjudged += std::erase_if(*list, [&](const Sent& one) {
                return !judged(one.time) || !has_known_ends(look(one.from));
            });
            put_in_order(*list);
        }
        path.unannounced_share =
            sizing::clopper_pearson(path.unannounced, path.unannounced + path.all_arrived);
        summarise(sent, path);
        for (const Sent& one : sent.missing) {
            (forward ? out.missing_at_b : out.missing_at_a).push_back(one.from);
        }
    }

    // Sort by time. Mostly all but a few at the end are in order.
    static void put_in_order(std::vector<Sent>& sent) {
        const auto rest = std::is_sorted_until(sent.begin(), sent.end());
        std::sort(rest, sent.end());
        std::inplace_merge(sent.begin(), rest, sent.end());
    }

    std::vector<Sent> arrivals(bool forward, Path& path) const {
        std::vector<Sent> out;
        out.reserve(static_cast<std::size_t>(
            std::count(matches_.fit.forward.begin(), matches_.fit.forward.end(), forward)));
        std::map<int, std::uint64_t> steps;
        for (std::size_t i = 0; i < matches_.list.size(); ++i) {
            if (matches_.fit.forward[i] != forward) {
                continue;
            }
            constexpr std::size_t kAhead = 16;
            const Match& later_one = matches_.list[std::min(i + kAhead, matches_.list.size() - 1)];
            prefetch_line(&look(later_one.a).traits);
            prefetch_line(&look(later_one.b).traits);
            const Match& match = matches_.list[i];
            const std::int64_t later = match.difference - matches_.fit.clock.line.at(match.time);
            const LookIndex from = forward ? match.a : match.b;
            const LookIndex to = forward ? match.b : match.a;
            const Nanoseconds at_b = match.time + static_cast<Nanoseconds>(match.difference);
            out.push_back({from, to, forward ? match.time : at_b, forward ? later : -later,
                           forward ? at_b : match.time, forward ? match.flow_a : match.flow_b});
            count_changes(look(from), look(to), i >= matches_.translated_from, path);
            const int step = int{look(from).traits.ttl} - int{look(to).traits.ttl};
            if (step != 0) {
                ++steps[step];
            }
        }
        path.ttl_steps.assign(steps.begin(), steps.end());
        return out;
    }

    static void count_changes(const Look& from, const Look& to, bool translated, Path& path) {
        packet::Changes changes =
            packet::changes_between({from.traits, from.tunnel}, {to.traits, to.tunnel});
        if (translated) {
            changes |= packet::bit_of(Change::kAddresses);
            changes &= static_cast<packet::Changes>(~packet::bit_of(Change::kChecksum));
        }
        for (std::size_t i = 0; i < path.changes.size(); ++i) {
            path.changes[i] += changes >> i & 1U;
        }
    }

    void summarise(const Judged& sent, Path& path) const {
        std::vector<std::int64_t> delays;
        delays.reserve(sent.arrived.size());
        double sum = 0;
        double variation = 0;
        for (const Sent& one : sent.arrived) {
            if (!delays.empty()) {
                variation += static_cast<double>(std::abs(one.delay - delays.back()));
            }
            sum += static_cast<double>(one.delay);
            delays.push_back(one.delay);
        }
        path.arrived = sent.arrived.size();
        path.missing = sent.missing.size();
        path.sent = path.arrived + path.missing;
        path.loss = sizing::clopper_pearson(path.missing, path.sent);
        path.timed = !delays.empty();
        if (path.timed) {
            const auto count = static_cast<double>(delays.size());
            path.delays.mean = sum / count;
            path.delays.variation = delays.size() < 2 ? 0 : variation / (count - 1);
            fill_time(sent, path);
            count_order(sent, path);
            const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
            path.delays.least = *least;
            path.delays.most = *most;
            std::tie(path.delays.p999, path.delays.p99, path.delays.median) =
                std::tuple_cat(quantiles<3>(delays, {0.999, 0.99, 0.5}));
        }
        find_worst_flows(sent, path);
    }

    static void fill_time(const Judged& sent, Path& path) {
        Nanoseconds begin = sent.arrived.front().time;
        Nanoseconds end = sent.arrived.back().time;
        if (!sent.missing.empty()) {
            begin = std::min(begin, sent.missing.front().time);
            end = std::max(end, sent.missing.back().time);
        }
        path.bin = std::max<Nanoseconds>((end - begin) / kBins + 1, 1);
        path.time.resize((end - begin) / path.bin + 1);
        std::vector<std::vector<std::int64_t>> delays(path.time.size());
        sent.for_each([&](const Sent& one, bool arrived) {
            const std::size_t bin = (one.time - begin) / path.bin;
            ++path.time[bin].sent;
            if (arrived) {
                delays[bin].push_back(one.delay);
            } else {
                ++path.time[bin].missing;
            }
        });
        for (std::size_t bin = 0; bin < path.time.size(); ++bin) {
            path.time[bin].begin = begin + bin * path.bin;
            if (!delays[bin].empty()) {
                std::tie(path.time[bin].p99, path.time[bin].median) =
                    std::tuple_cat(quantiles<2>(delays[bin], {0.99, 0.5}));
            }
        }
    }

    void count_order(const Judged& sent, Path& path) const {
        const auto no_flow = static_cast<std::uint32_t>(in_.flows.size());
        std::vector<Arrival> arrivals;
        arrivals.reserve(sent.arrived.size());
        for (const Sent& one : sent.arrived) {
            arrivals.push_back({one.arrival, one.to, static_cast<std::uint32_t>(arrivals.size()),
                                std::min(one.flow, no_flow)});
        }
        const Reordering order = reordering_of(std::move(arrivals), in_.flows.size() + 1);
        path.reordered = order.in_flow;
        path.reordered_of_all = order.of_all;
        path.farthest = order.farthest;
    }

    void find_worst_flows(const Judged& sent, Path& path) const {
        struct Counts {
            std::uint64_t sent = 0;
            std::uint64_t missing = 0;
            std::int64_t sum = 0;
        };
        std::vector<Counts> counts(in_.flows.size());
        sent.for_each([&](const Sent& one, bool arrived) {
            if (one.flow == FlowTable::kNone) {
                return;
            }
            Counts& flow = counts[one.flow];
            path.all_flows += flow.sent == 0 ? 1 : 0;
            ++flow.sent;
            flow.missing += arrived ? 0 : 1;
            flow.sum += one.delay;
        });
        std::vector<std::uint32_t> worst;
        for (std::uint32_t flow = 0; flow < counts.size(); ++flow) {
            if (counts[flow].sent != 0) {
                worst.push_back(flow);
            }
        }
        const std::size_t shown = std::min(worst.size(), kMostFlows);
        const auto rank = [&](std::uint32_t flow) {
            const Counts& one = counts[flow];
            const std::uint64_t arrived = one.sent - one.missing;
            return std::tuple(one.missing,
                              arrived == 0 ? 0 : one.sum / static_cast<std::int64_t>(arrived));
        };
        std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(shown),
                          worst.end(), [&](std::uint32_t x, std::uint32_t y) {
                              return rank(x) != rank(y) ? rank(x) > rank(y)
                                                        : in_.flows[x] < in_.flows[y];
                          });
        worst.resize(shown);
        std::vector<std::vector<std::int64_t>> delays(shown);
        std::unordered_map<std::uint32_t, std::size_t> places;
        for (std::size_t i = 0; i < shown; ++i) {
            places[worst[i]] = i;
        }
        for (const Sent& one : sent.arrived) {
            if (const auto place = places.find(one.flow); place != places.end()) {
                delays[place->second].push_back(one.delay);
            }
        }
        for (std::size_t i = 0; i < shown; ++i) {
            FlowLoss flow{in_.flows[worst[i]], counts[worst[i]].sent, counts[worst[i]].missing};
            if (!delays[i].empty()) {
                flow.most = *std::max_element(delays[i].begin(), delays[i].end());
                flow.median = median_of(delays[i]);
            }
            path.flows.push_back(flow);
        }
    }

    void count_others(PointPair& report) const {
        std::array<std::vector<bool>, 2> flows{std::vector<bool>(in_.flows.size()),
                                               std::vector<bool>(in_.flows.size())};
        for (const LookIndex index : left_) {
            const Look& one = look(index);
            report.cut += one.cut;
            if (course_of(one) != Course::kUnknown) {
                continue;
            }
            const bool at_b = one.point == b_;
            ++(at_b ? report.only_b : report.only_a);
            if (one.flow != FlowTable::kNone && !flows[at_b ? 1 : 0][one.flow]) {
                flows[at_b ? 1 : 0][one.flow] = true;
                ++(at_b ? report.only_b_flows : report.only_a_flows);
            }
        }
    }

    PairInput in_;
    std::uint8_t a_;
    std::uint8_t b_;
    PairOptions options_;
    Matches matches_;
    std::vector<LookIndex> left_;      // not matched
    std::vector<std::int64_t> sides_;  // of hosts; above 0: nearer to a
};

}  // namespace

PairResult judge_pair(const PairInput& input, const Point& a, const Point& b, std::uint8_t index_a,
                      std::uint8_t index_b, const PairOptions& options) {
    return PairJudge(input, index_a, index_b, options).judge(a, b);
}

}  // namespace unecho::compare
