// SPDX-License-Identifier: BSD-3-Clause
#include "captures/compare/path.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

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

// The looks of a point that are no duplicates.
std::vector<LookIndex> looks_of(std::span<const LookIndex> group, const LookStore& looks,
                                std::uint8_t point) {
    std::vector<LookIndex> out;
    for (const LookIndex look : group) {
        if (looks[look].point == point && looks[look].duplicate == 0) {
            out.push_back(look);
        }
    }
    return out;
}

// The matches of keys that each point saw once. Those that say which transmission they are go
// before others.
class SingleMatches {
  public:
    void add(const LookStore& looks, std::span<const LookIndex> group, std::uint8_t a,
             std::uint8_t b) {
        Match match{};
        unsigned count_a = 0;
        unsigned count_b = 0;
        for (const LookIndex look : group) {
            if (looks[look].duplicate != 0) {
                continue;
            }
            if (looks[look].point == a) {
                match.a = look;
                ++count_a;
            } else if (looks[look].point == b) {
                match.b = look;
                ++count_b;
            }
        }
        if (count_a == 1 && count_b == 1) {
            found_[looks[match.a].identified].push_back(match);
        }
    }
    std::vector<Match> take() { return std::move(found_[found_[1].empty() ? 0 : 1]); }

  private:
    std::array<std::vector<Match>, 2> found_;  // by `identified`
};

class PairJudge {
  public:
    PairJudge(const PairInput& input, std::uint8_t a, std::uint8_t b, const PairOptions& options)
        : in_(input),
          a_(a),
          b_(b),
          options_(options),
          matched_(input.looks.end(), false),
          sides_(input.hosts.hosts(), 0) {}

    PairResult judge(const Point& a, const Point& b) {
        const FirstGuess guess = first_guess();
        const ClockRules rules{options_.clocks, options_.mirror, guess.equal,
                               std::max(a.counts.tick, b.counts.tick)};
        align(guess.line);
        ClockFit fit = fit_clocks(in_.looks, matches_, in_.hosts, rules);
        if (!matches_.empty() && is_far(fit.clock.line)) {
            align(fit.clock.line);
            fit = fit_clocks(in_.looks, matches_, in_.hosts, rules);
        }
        clock_ = fit.clock;
        forward_ = std::move(fit.forward);
        take_sides();
        PairResult out;
        out.report.a = a_;
        out.report.b = b_;
        out.report.clock = clock_;
        out.report.matched = matches_.size();
        out.report.far = guess.far;
        judge_path(a, b, true, out);
        judge_path(b, a, false, out);
        count_others(out.report);
        out.matches = std::move(matches_);
        return out;
    }

  private:
    // A judged packet, in order of its time at the sending point.
    struct Sent {
        LookIndex from;
        LookIndex to;        // if it arrived
        Nanoseconds time;    // by the clock of the sending point
        std::int64_t delay;  // if it arrived
        bool arrived;
    };

    [[nodiscard]] const Look& look(LookIndex index) const { return in_.looks[index]; }

    [[nodiscard]] FirstGuess first_guess() {
        SingleMatches single;
        in_.groups.for_each(
            [&](std::span<const LookIndex> group) { single.add(in_.looks, group, a_, b_); });
        std::vector<Match> matches = single.take();
        if (options_.nat) {
            SingleMatches by_content;
            for_each_content([&](std::span<const LookIndex> group) {
                by_content.add(in_.looks, group, a_, b_);
            });
            std::vector<Match> others = by_content.take();
            matches = others.size() > matches.size() ? std::move(others) : std::move(matches);
        }
        return guess_clocks(in_.looks, std::move(matches), options_.window);
    }

    // Return true if looks were aligned along a line that is not this one.
    [[nodiscard]] bool is_far(const ClockLine& line) const {
        const auto window = static_cast<std::int64_t>(options_.window);
        return std::any_of(matches_.begin(), matches_.end(), [&](const Match& match) {
            const Nanoseconds time = look(match.a).time;
            return std::abs(line.at(time) - line_.at(time)) > window / 8;
        });
    }

    void align(const ClockLine& line) {
        line_ = line;
        matches_.clear();
        Aligner aligner(in_.looks, line, options_.window);
        in_.groups.for_each([&](std::span<const LookIndex> group) {
            if (group.size() == 2) {  // most keys: do not copy
                if (look(group[0]).point == a_ && look(group[1]).point == b_) {
                    aligner.align(group.first(1), group.last(1), matches_);
                }
            } else if (group.size() > 2) {
                aligner.align(looks_of(group, in_.looks, a_), looks_of(group, in_.looks, b_),
                              matches_);
            }
        });
        mark_matched();
        translated_from_ = matches_.size();
        if (options_.nat) {
            for_each_content([&](std::span<const LookIndex> group) {
                aligner.align(looks_of(group, in_.looks, a_), looks_of(group, in_.looks, b_),
                              matches_);
            });
            mark_matched();
        }
    }

    void mark_matched() {
        matched_.assign(matched_.size(), false);
        for (const Match& match : matches_) {
            matched_[match.a] = matched_[match.b] = true;
        }
    }

    // Call visit(looks) for each content, with its unmatched looks in order of time.
    template <typename Visit>
    void for_each_content(Visit visit) const {
        std::vector<std::pair<Digest, LookIndex>> left;
        for_each_unmatched([&](LookIndex index) {
            if (in_.looks.content(index) != 0) {
                left.emplace_back(in_.looks.content(index), index);
            }
        });
        std::sort(left.begin(), left.end(), [&](const auto& x, const auto& y) {
            const auto rank = [&](const auto& one) {
                return std::tuple(one.first, look(one.second).time, one.second);
            };
            return rank(x) < rank(y);
        });
        std::vector<LookIndex> group;
        for (std::size_t i = 0; i < left.size(); ++i) {
            group.push_back(left[i].second);
            if (i + 1 == left.size() || left[i + 1].first != left[i].first) {
                visit(std::span<const LookIndex>(group));
                group.clear();
            }
        }
    }

    template <typename Visit>
    void for_each_unmatched(Visit visit) const {
        for (std::size_t input = 0; input < in_.looks.inputs(); ++input) {
            const LookIndex first = in_.looks.first_of(input);
            for (std::uint64_t i = 0; i < in_.looks.count_of(input); ++i) {
                const auto index = static_cast<LookIndex>(first + i);
                const Look& one = look(index);
                if (!matched_[index] && one.duplicate == 0 &&
                    (one.point == a_ || one.point == b_)) {
                    visit(index);
                }
            }
        }
    }

    // Learn on which side of the two points each host is, from packets whose direction is known.
    void take_sides() {
        const auto vote = [&](std::uint32_t host, int side) {
            if (host != Hosts::kNone) {
                sides_[host] += side;
            }
        };
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            const int source = forward_[i] ? 1 : -1;
            for (const LookIndex end : {matches_[i].a, matches_[i].b}) {
                const Hosts::Ends& ends = in_.hosts.of(look(end).flow);
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
        if (ends.source == Hosts::kNone) {
            return Course::kUnknown;
        }
        const std::int64_t source = sides_[ends.source];
        const std::int64_t destination = sides_[ends.destination];
        return source > 0 && destination < 0   ? Course::kForward
               : source < 0 && destination > 0 ? Course::kBackward
                                               : Course::kUnknown;
    }

    // Return the time of point b in the clock of point a, or the reverse.
    [[nodiscard]] Nanoseconds translated(Nanoseconds time, bool from_a) const {
        const ClockLine& line = clock_.line;
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
        std::vector<Sent> sent = arrivals(forward, path);
        std::int64_t fastest = sent.empty() ? 0 : INT64_MAX;
        std::int64_t slowest = 0;
        for (const Sent& one : sent) {
            fastest = std::min(fastest, one.delay);
            slowest = std::max(slowest, one.delay);
        }
        path.all_arrived = sent.size();
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
        for_each_unmatched([&](LookIndex index) {
            const Look& one = look(index);
            if (course_of(one) != course) {
                return;
            }
            if (one.point == path.from) {
                sent.push_back({index, 0, one.time, 0, false});
            } else {
                const Nanoseconds by_sender = translated(one.time, !forward);
                path.unannounced +=
                    judged(by_sender) && judged(by_sender - static_cast<Nanoseconds>(slowest)) ? 1
                                                                                               : 0;
            }
        });
        const auto unjudged = std::partition(sent.begin(), sent.end(),
                                             [&](const Sent& one) { return judged(one.time); });
        path.unjudged = static_cast<std::uint64_t>(sent.end() - unjudged);
        sent.erase(unjudged, sent.end());
        std::sort(sent.begin(), sent.end(), [](const Sent& x, const Sent& y) {
            return std::tie(x.time, x.from) < std::tie(y.time, y.from);
        });
        path.unannounced_share =
            sizing::clopper_pearson(path.unannounced, path.unannounced + path.all_arrived);
        summarise(sent, path);
        for (const Sent& one : sent) {
            if (!one.arrived) {
                (forward ? out.missing_at_b : out.missing_at_a).push_back(one.from);
            }
        }
    }

    std::vector<Sent> arrivals(bool forward, Path& path) const {
        std::vector<Sent> out;
        std::map<int, std::uint64_t> steps;
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            if (forward_[i] != forward) {
                continue;
            }
            const Match& match = matches_[i];
            const std::int64_t later =
                difference(in_.looks, match) - clock_.line.at(look(match.a).time);
            const LookIndex from = forward ? match.a : match.b;
            const LookIndex to = forward ? match.b : match.a;
            out.push_back({from, to, look(from).time, forward ? later : -later, true});
            count_changes(look(from), look(to), i >= translated_from_, path);
            const int step = int{look(from).traits.ttl} - int{look(to).traits.ttl};
            if (step != 0) {
                ++steps[step];
            }
        }
        path.ttl_steps.assign(steps.begin(), steps.end());
        return out;
    }

    static void count_changes(const Look& from, const Look& to, bool translated, Path& path) {
        const auto count = [&](Change change, bool happened) {
            path.changes[static_cast<std::size_t>(change)] += happened ? 1 : 0;
        };
        const packet::FrameTraits& x = from.traits;
        const packet::FrameTraits& y = to.traits;
        constexpr unsigned kEcn = 3;
        count(Change::kAddresses, translated);
        count(Change::kTunnelAdded, from.tunnel == 0 && to.tunnel != 0);
        count(Change::kTunnelRemoved, from.tunnel != 0 && to.tunnel == 0);
        count(Change::kTunnelOther, from.tunnel != 0 && to.tunnel != 0 && from.tunnel != to.tunnel);
        count(Change::kTagsAdded, x.tags == 0 && y.tags != 0);
        count(Change::kTagsRemoved, x.tags != 0 && y.tags == 0);
        count(Change::kTagsOther, x.tags != 0 && y.tags != 0 && x.tags != y.tags);
        count(Change::kStations, x.macs != y.macs);
        count(Change::kTtl, x.ttl != y.ttl);
        count(Change::kDscp, (x.tos ^ y.tos) > kEcn);
        count(Change::kCongestion, (x.tos & kEcn) != (y.tos & kEcn) && (y.tos & kEcn) == kEcn);
        count(Change::kEcn, (x.tos & kEcn) != (y.tos & kEcn) && (y.tos & kEcn) != kEcn);
        count(Change::kPadding, x.padding != y.padding);
        count(Change::kChecksum,
              !translated && x.checksum != y.checksum && x.ttl == y.ttl && x.tos == y.tos);
    }

    // sent: judged packets in order of time.
    void summarise(const std::vector<Sent>& sent, Path& path) const {
        std::vector<std::int64_t> delays;
        double sum = 0;
        double variation = 0;
        for (const Sent& one : sent) {
            if (!one.arrived) {
                continue;
            }
            if (!delays.empty()) {
                variation += static_cast<double>(std::abs(one.delay - delays.back()));
            }
            sum += static_cast<double>(one.delay);
            delays.push_back(one.delay);
        }
        path.sent = sent.size();
        path.arrived = delays.size();
        path.missing = path.sent - path.arrived;
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

    static void fill_time(const std::vector<Sent>& sent, Path& path) {
        const Nanoseconds begin = sent.front().time;
        path.bin = std::max<Nanoseconds>((sent.back().time - begin) / kBins + 1, 1);
        std::vector<std::vector<std::int64_t>> delays;
        for (const Sent& one : sent) {
            const std::size_t bin = (one.time - begin) / path.bin;
            if (bin >= path.time.size()) {
                path.time.resize(bin + 1);
                delays.resize(bin + 1);
            }
            ++path.time[bin].sent;
            if (one.arrived) {
                delays[bin].push_back(one.delay);
            } else {
                ++path.time[bin].missing;
            }
        }
        for (std::size_t bin = 0; bin < path.time.size(); ++bin) {
            path.time[bin].begin = begin + bin * path.bin;
            if (!delays[bin].empty()) {
                std::tie(path.time[bin].p99, path.time[bin].median) =
                    std::tuple_cat(quantiles<2>(delays[bin], {0.99, 0.5}));
            }
        }
    }

    // RFC 4737: a packet is reordered if one that was sent later arrived before it.
    void count_order(const std::vector<Sent>& sent, Path& path) const {
        struct Arrival {
            Nanoseconds time;
            LookIndex to;
            std::uint32_t number;  // in the order of sending

            bool operator<(const Arrival& other) const {
                return time != other.time ? time < other.time : to < other.to;
            }
        };
        std::vector<Arrival> arrivals;
        arrivals.reserve(path.arrived);
        for (std::uint32_t i = 0; i < sent.size(); ++i) {
            if (sent[i].arrived) {
                arrivals.push_back({look(sent[i].to).time, sent[i].to, i});
            }
        }
        if (std::is_sorted(arrivals.begin(), arrivals.end())) {
            return;
        }
        std::sort(arrivals.begin(), arrivals.end());
        std::uint32_t newest = 0;
        std::vector<std::uint32_t> newest_of(in_.flows.size() + 1);  // the last: of no flow
        std::map<std::uint32_t, std::vector<std::uint32_t>> disordered;
        const auto flow_of = [&](const Arrival& one) {
            return std::min<std::uint32_t>(look(sent[one.number].from).flow,
                                           static_cast<std::uint32_t>(in_.flows.size()));
        };
        for (const Arrival& one : arrivals) {
            path.reordered_of_all += one.number < newest ? 1 : 0;
            newest = std::max(newest, one.number);
            std::uint32_t& of_flow = newest_of[flow_of(one)];
            if (one.number < of_flow) {
                ++path.reordered;
                disordered[flow_of(one)];
            }
            of_flow = std::max(of_flow, one.number);
        }
        for (const Arrival& one : arrivals) {
            if (const auto flow = disordered.find(flow_of(one)); flow != disordered.end()) {
                flow->second.push_back(one.number);
            }
        }
        for (const auto& [flow, numbers] : disordered) {
            path.farthest = std::max(path.farthest, farthest_in(numbers));
        }
    }

    // Return how many packets of a flow overtook one of it, at most. numbers: in order of arrival.
    static std::uint64_t farthest_in(const std::vector<std::uint32_t>& numbers) {
        constexpr std::size_t kReach = 4096;
        std::vector<std::uint32_t> before;  // that arrived before, in order of sending
        std::uint64_t farthest = 0;
        for (const std::uint32_t number : numbers) {
            const auto overtook = std::upper_bound(before.begin(), before.end(), number);
            farthest = std::max(farthest, static_cast<std::uint64_t>(before.end() - overtook));
            before.insert(overtook, number);
            if (before.size() > kReach) {
                before.erase(before.begin(), before.begin() + kReach / 2);
            }
        }
        return farthest;
    }

    void find_worst_flows(const std::vector<Sent>& sent, Path& path) const {
        struct Counts {
            std::uint64_t sent = 0;
            std::uint64_t missing = 0;
            std::int64_t sum = 0;
        };
        std::vector<Counts> counts(in_.flows.size());
        for (const Sent& one : sent) {
            const std::uint32_t flow = look(one.from).flow;
            if (flow == FlowTable::kNone) {
                continue;
            }
            path.all_flows += counts[flow].sent == 0 ? 1 : 0;
            ++counts[flow].sent;
            counts[flow].missing += one.arrived ? 0 : 1;
            counts[flow].sum += one.delay;
        }
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
        for (const Sent& one : sent) {
            if (const auto place = places.find(look(one.from).flow);
                one.arrived && place != places.end()) {
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
        for_each_unmatched([&](LookIndex index) {
            const Look& one = look(index);
            report.cut += one.cut;
            if (course_of(one) != Course::kUnknown) {
                return;
            }
            const bool at_b = one.point == b_;
            ++(at_b ? report.only_b : report.only_a);
            if (one.flow != FlowTable::kNone && !flows[at_b ? 1 : 0][one.flow]) {
                flows[at_b ? 1 : 0][one.flow] = true;
                ++(at_b ? report.only_b_flows : report.only_a_flows);
            }
        });
    }

    PairInput in_;
    std::uint8_t a_;
    std::uint8_t b_;
    PairOptions options_;
    ClockLine line_;  // along which looks were aligned
    std::vector<Match> matches_;
    std::vector<bool> forward_;
    std::vector<bool> matched_;        // by look
    std::size_t translated_from_ = 0;  // later matches are by content
    std::vector<std::int64_t> sides_;  // of hosts; above 0: nearer to a
    ClockModel clock_;
};

}  // namespace

PairResult judge_pair(const PairInput& input, const Point& a, const Point& b, std::uint8_t index_a,
                      std::uint8_t index_b, const PairOptions& options) {
    return PairJudge(input, index_a, index_b, options).judge(a, b);
}

}  // namespace unecho::compare
