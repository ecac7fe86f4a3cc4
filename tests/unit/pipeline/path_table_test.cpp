// SPDX-License-Identifier: BSD-3-Clause
// The path table against an oracle that keeps everything, and each of its limits by hand.
#include "dedup/pipeline/paths/path_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/pipeline/paths/quantile.h"
#include "support/filter_memory.h"
#include "support/path_traffic.h"
#include "support/seed.h"

namespace unecho::pipeline {
namespace {

using test::MeasuredPaths;
using test::path_spec;
using test::PathTraffic;
using test::Sight;
using test::TrafficSpec;

constexpr Nanoseconds kWindow = 50 * kMillisecond;
constexpr Nanoseconds kStart = TrafficSpec::kHour;
constexpr Nanoseconds kEvidenceLasts = 300 * kSecond;
constexpr Nanoseconds kMostUncertain = 20 * kMicrosecond;

// --- the oracle --------------------------------------------------------------------------------

struct Expected {
    PathCounters counters;
    double hops = 0;
    std::uint64_t ttl_changes = 0;
    std::vector<Nanoseconds> delays;
    // Serials of looks: of packets that came, when they were sent.
    std::map<std::size_t, std::size_t> order;
};

// The sides of a host: for each pair of points, in front of both (-1), behind both (1), not known
// (0), or seen on both sides.
constexpr int kBothSides = 2;
struct Evidence {
    std::map<std::pair<unsigned, unsigned>, int> sides;
    Nanoseconds confirmed = 0;
};

// All looks at a key without a pause of more than a window.
struct Episode {
    std::vector<std::pair<std::size_t, Sight>> looks;  // with their serials
    std::pair<Nanoseconds, std::size_t> last;          // look, with its serial
    std::map<Digest, Evidence> hosts;                  // as known at the first look
};

struct Alignment {
    std::uint64_t cost = 0;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
};

class Oracle {
  public:
    // blind: when packets went past the table.
    Oracle(const PathSpec& spec, const std::vector<Sight>& sights,
           std::vector<Nanoseconds> blind = {})
        : spec_(spec), blind_(std::move(blind)) {
        std::map<Digest, Episode> open;
        std::map<std::pair<Nanoseconds, std::size_t>, Digest> due;  // by time and serial
        const auto judge_until = [&](Nanoseconds now) {
            while (!due.empty() && due.begin()->first.first + spec_.window < now) {
                const auto found = open.find(due.begin()->second);
                judge(found->second);
                open.erase(found);
                due.erase(due.begin());
            }
        };
        for (std::size_t i = 0; i < sights.size(); ++i) {
            const Sight& sight = sights[i];
            const Nanoseconds now = sight.look.time;
            started_ = i == 0 ? now : started_;
            judge_until(now);
            const auto [at, fresh] = open.try_emplace(sight.key.digest);
            Episode& episode = at->second;
            if (fresh) {
                for (const Digest host : {sight.key.source, sight.key.destination}) {
                    if (const auto known = hosts_.find(host);
                        known != hosts_.end() &&
                        latest_ - known->second.confirmed < kEvidenceLasts) {
                        episode.hosts.insert(*known);
                    }
                }
            } else {
                due.erase(episode.last);
            }
            episode.last = {now, i};
            due.emplace(episode.last, sight.key.digest);
            const bool doubled =
                sight.key.identified &&
                std::any_of(episode.looks.begin(), episode.looks.end(), [&](const auto& look) {
                    return look.second.look.port == sight.look.port;
                });
            if (doubled) {
                ++sample_.doubled;
            } else {
                episode.looks.emplace_back(i, sight);
            }
            ++sample_.packets;
        }
        judge_until(~Nanoseconds{0});
    }

    [[nodiscard]] const Expected& at(unsigned from, unsigned to) const {
        static const Expected none;
        const auto found = pairs_.find({from, to});
        return found == pairs_.end() ? none : found->second;
    }
    [[nodiscard]] const PathSampleCounters& sample() const { return sample_; }
    // Return how many packets came behind one that was sent later.
    [[nodiscard]] std::uint64_t overtaken(unsigned from, unsigned to) const {
        std::uint64_t count = 0;
        std::size_t latest = 0;
        for (const auto& [came, sent] : at(from, to).order) {
            count += sent < latest ? 1 : 0;
            latest = std::max(latest, sent);
        }
        return count;
    }

  private:
    using Looks = std::vector<std::pair<std::size_t, Sight>>;

    [[nodiscard]] bool is_judged(const Episode& episode) const {
        const Nanoseconds first = episode.looks.front().second.look.time;
        const Nanoseconds last = episode.last.first;
        return first >= started_ + spec_.window &&
               std::none_of(blind_.begin(), blind_.end(), [&](Nanoseconds blind) {
                   return first <= blind + spec_.window && blind <= last + spec_.window;
               });
    }

    [[nodiscard]] static int side_of(const Episode& episode, Digest host, unsigned i, unsigned j) {
        const auto known = episode.hosts.find(host);
        if (host == 0 || known == episode.hosts.end()) {
            return 0;
        }
        const auto side = known->second.sides.find({i, j});
        return side == known->second.sides.end() ? 0 : side->second;
    }

    // 1: from i to j, -1: back, 0: unknown.
    [[nodiscard]] int course_of(const Episode& episode, unsigned i, unsigned j) const {
        if (spec_.stated) {
            return 1;
        }
        const PathKey& key = episode.looks.front().second.key;
        const int from = side_of(episode, key.source, i, j);
        const int to = side_of(episode, key.destination, i, j);
        return from * to == -1 ? to : 0;
    }

    void learn(Digest host, unsigned i, unsigned j, int side, Nanoseconds now) {
        if (host == 0) {
            return;
        }
        const auto [found, fresh] = hosts_.try_emplace(host);
        Evidence& evidence = found->second;
        if (fresh || latest_ - evidence.confirmed >= kEvidenceLasts) {
            evidence = {{}, now};
        }
        int& known = evidence.sides[{i, j}];
        known = known == 0 || known == side ? side : kBothSides;
        if (known != kBothSides) {
            evidence.confirmed = std::max(evidence.confirmed, now);
        }
    }

    [[nodiscard]] Alignment align(const Looks& a, const Looks& b, std::size_t i,
                                  std::size_t j) const {
        const std::uint64_t alone = spec_.window / 2 + 1;
        if (i == a.size() || j == b.size()) {
            return {(a.size() - i + b.size() - j) * alone, {}};
        }
        Alignment best = align(a, b, i + 1, j);
        best.cost += alone;
        Alignment other = align(a, b, i, j + 1);
        other.cost += alone;
        if (other.cost < best.cost) {
            best = other;
        }
        const auto apart = static_cast<std::uint64_t>(
            std::llabs(static_cast<long long>(a[i].second.look.time - b[j].second.look.time)));
        if (apart <= spec_.window) {
            other = align(a, b, i + 1, j + 1);
            other.cost += apart;
            other.pairs.emplace_back(i, j);
            best = other.cost < best.cost ? other : best;
        }
        return best;
    }

    void judge(const Episode& episode) {
        constexpr std::size_t kRoom = 4;
        std::vector<Looks> by_point(spec_.points);
        for (const auto& look : episode.looks) {
            by_point[look.second.look.port].push_back(look);
        }
        if (std::any_of(by_point.begin(), by_point.end(),
                        [](const Looks& looks) { return looks.size() > kRoom; })) {
            sample_.crowded += episode.looks.size();
            return;
        }
        const bool judged = is_judged(episode);
        sample_.unjudged += judged ? 0 : episode.looks.size();
        for (unsigned j = 1; j < spec_.points; ++j) {
            for (unsigned i = 0; i < j; ++i) {
                judge_pair(episode, {i, j}, by_point, judged);
            }
        }
    }

    void judge_pair(const Episode& episode, std::pair<unsigned, unsigned> points,
                    const std::vector<Looks>& by_point, bool judged) {
        const auto [i, j] = points;
        const Looks& a = by_point[i];
        const Looks& b = by_point[j];
        const int known = course_of(episode, i, j);
        Alignment chosen = align(a, b, 0, 0);
        std::reverse(chosen.pairs.begin(), chosen.pairs.end());
        std::set<std::size_t> of_a;
        std::set<std::size_t> of_b;
        for (const auto& [x, y] : chosen.pairs) {
            of_a.insert(x);
            of_b.insert(y);
            arrive(episode, a[x], b[y], known, judged);
        }
        const auto miss = [&](const Looks& looks, const std::set<std::size_t>& paired,
                              unsigned near, unsigned far, int forward) {
            const std::size_t single = looks.size() - paired.size();
            if (judged && known == 0) {
                pairs_[{near, far}].counters.alone += single;
            } else if (judged && known == forward) {
                pairs_[{near, far}].counters.missing += single;
            } else if (judged) {
                pairs_[{far, near}].counters.unannounced += single;
            }
        };
        miss(a, of_a, i, j, 1);
        miss(b, of_b, j, i, -1);
    }

    void arrive(const Episode& episode, const std::pair<std::size_t, Sight>& a,
                const std::pair<std::size_t, Sight>& b, int known, bool judged) {
        const PathLook& x = a.second.look;
        const PathLook& y = b.second.look;
        const int seen = x.time < y.earliest ? 1 : y.time < x.earliest ? -1 : 0;
        if (spec_.stated && seen == -1) {
            ++pairs_[{x.port, y.port}].counters.reversed;
            return;
        }
        const int course = spec_.stated || seen == 0 ? known : seen;
        const bool forward = course == 0 ? a.first < b.first : course == 1;
        const auto& from = forward ? a : b;
        const auto& to = forward ? b : a;
        const PathLook& sent = from.second.look;
        const PathLook& came = to.second.look;
        Expected& out = pairs_[{sent.port, came.port}];
        ++out.counters.came;
        out.counters.arrived += judged && known != 0 && known == course ? 1 : 0;
        const int hops = int{sent.packet.frame.ttl} - int{came.packet.frame.ttl};
        if (course != 0) {
            ++out.counters.directed;
            out.hops += hops;
            out.ttl_changes += hops != 0 ? 1 : 0;
        }
        if (sent.time - sent.earliest + came.time - came.earliest <= kMostUncertain) {
            const Nanoseconds delay = came.time > sent.time ? came.time - sent.time : 0;
            out.delays.push_back(delay);
            ++out.counters.timed;
            out.counters.late += delay > spec_.late ? 1 : 0;
        } else {
            ++out.counters.untimed;
        }
        out.order.emplace(to.first, from.first);
        if (!spec_.stated && seen != 0) {
            const PathKey& key = episode.looks.front().second.key;
            latest_ = std::max(latest_, episode.last.first);
            learn(key.source, x.port, y.port, -seen, episode.last.first);
            learn(key.destination, x.port, y.port, seen, episode.last.first);
        }
    }

    const PathSpec spec_;
    const std::vector<Nanoseconds> blind_;
    Nanoseconds started_ = 0;
    std::map<Digest, Evidence> hosts_;
    Nanoseconds latest_ = 0;  // confirmation of any host
    std::map<std::pair<unsigned, unsigned>, Expected> pairs_;
    PathSampleCounters sample_;
};

// Show all looks, each when everything that was due before is judged.
void show_all(MeasuredPaths& paths, const std::vector<Sight>& sights,
              const std::vector<Nanoseconds>& blind = {}) {
    auto next_blind = blind.begin();
    for (const Sight& sight : sights) {
        for (; next_blind != blind.end() && *next_blind <= sight.look.time; ++next_blind) {
            paths.expire(*next_blind);
            paths.table().pass_by(*next_blind);
        }
        paths.expire(sight.look.time);
        paths.look(sight);
    }
    paths.expire(~Nanoseconds{0});
}

// Return the value of rank n * share among sorted values.
double exact_quantile(std::vector<Nanoseconds> values, double share) {
    std::sort(values.begin(), values.end());
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return static_cast<double>(values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1]);
}

void expect_delays(const PathDelays& delays, const std::vector<Nanoseconds>& values) {
    ASSERT_EQ(delays.count, values.size());
    if (values.empty()) {
        return;
    }
    EXPECT_EQ(delays.least, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(delays.most, *std::max_element(values.begin(), values.end()));
    EXPECT_DOUBLE_EQ(delays.sum, std::accumulate(values.begin(), values.end(), 0.0));
    std::uint64_t in_buckets = 0;
    for (const auto& bucket : delays.histogram.buckets) {
        in_buckets += bucket.count;
    }
    EXPECT_EQ(in_buckets, values.size());
    // A quantile of few values depends on the rank that is taken.
    const auto size = static_cast<double>(values.size());
    for (const double share : {0.1, 0.5, 0.9}) {
        const double low = exact_quantile(values, share - 2 / size);
        const double high = exact_quantile(values, std::min(share + 2 / size, 1.0));
        EXPECT_GE(quantile(delays, share), low * 0.98) << share;
        EXPECT_LE(quantile(delays, share), high * 1.02) << share;
    }
}

// in_order: keys are judged in the order in which they came, so that the order is known exactly.
void expect_counts(const MeasuredPaths& paths, const Oracle& oracle, unsigned points,
                   bool in_order) {
    for (unsigned from = 0; from < points; ++from) {
        for (unsigned to = 0; to < points; ++to) {
            if (from == to) {
                continue;
            }
            SCOPED_TRACE(std::to_string(from) + " > " + std::to_string(to));
            const PathCount count = paths.at(from, to);
            const Expected& expected = oracle.at(from, to);
            for (const CounterRow<PathCounters>& row : kPathCounters) {
                if (row.value == &PathCounters::overtaken) {
                    continue;
                }
                EXPECT_EQ(count.counters.*row.value, expected.counters.*row.value) << row.name;
            }
            EXPECT_LE(count.counters.overtaken, oracle.overtaken(from, to));
            if (in_order) {
                EXPECT_EQ(count.counters.overtaken, oracle.overtaken(from, to));
            }
            EXPECT_EQ(count.hops, expected.hops);
            for (std::size_t i = 0; i < count.changes.size(); ++i) {
                const bool ttl = i == static_cast<std::size_t>(packet::Change::kTtl);
                EXPECT_EQ(count.changes[i], ttl ? expected.ttl_changes : 0)
                    << packet::kChangeNames[i];
            }
            expect_delays(count.delays, expected.delays);
        }
    }
    const PathSampleCounters sample = paths.totals().sample();
    EXPECT_EQ(sample.packets, oracle.sample().packets);
    EXPECT_EQ(sample.unjudged, oracle.sample().unjudged);
    EXPECT_EQ(sample.crowded, oracle.sample().crowded);
    EXPECT_EQ(sample.doubled, oracle.sample().doubled);
    EXPECT_EQ(sample.bits, 0U);
    EXPECT_EQ(sample.entries, 0U);
}

struct Setting {
    const char* name;
    TrafficSpec traffic;
    // These must occur between all points together, so that a setting shows what it is for.
    std::vector<std::uint64_t PathCounters::*> occur;
    bool in_order = false;
    Nanoseconds late = ~Nanoseconds{0};
    bool stated = false;
    unsigned outages = 0;
};

// GoogleTest prints this instead of the bytes.
void PrintTo(const Setting& setting, std::ostream* out) {
    *out << setting.name;
}

class AgainstOracle : public testing::TestWithParam<Setting> {};

TEST_P(AgainstOracle, counts_are_equal) {
    SCOPED_TRACE(test::seed_note());
    const Setting& setting = GetParam();
    for (unsigned points = 2; points <= 4; ++points) {
        SCOPED_TRACE(std::to_string(points) + " points");
        TrafficSpec traffic = setting.traffic;
        traffic.points = points;
        traffic.seed = test::seed() + points;
        const PathTraffic made(traffic);
        PathSpec spec = path_spec(points, kWindow);
        spec.stated = setting.stated;
        spec.late = setting.late;
        std::vector<Nanoseconds> blind;
        for (unsigned i = 0; i < setting.outages; ++i) {
            blind.push_back(kStart + (i + 1) * 555 * kMillisecond);
        }
        MeasuredPaths paths(spec);
        show_all(paths, made.sights(), blind);
        const Oracle oracle(spec, made.sights(), blind);
        expect_counts(paths, oracle, points, setting.in_order && points == 2);
        PathCounters all;
        for (unsigned i = 0; i < points * points; ++i) {
            if (i / points != i % points) {
                fold(kPathCounters, paths.counters(i / points, i % points), all);
            }
        }
        EXPECT_GT(all.arrived, 200U);
        for (std::uint64_t PathCounters::*counter : setting.occur) {
            EXPECT_GT(all.*counter, 5U)
                << "of the counter at place "
                << std::find_if(kPathCounters.begin(), kPathCounters.end(), [&](const auto& row) {
                       return row.value == counter;
                   }) - kPathCounters.begin();
        }
        if (setting.outages != 0) {
            EXPECT_GT(paths.totals().sample().unjudged, 50U * setting.outages);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    traffic, AgainstOracle,
    testing::Values(
        Setting{"no_loss", {}, {&PathCounters::alone}, true},
        Setting{"loss", {.loss = 0.05}, {&PathCounters::missing}, true},
        Setting{"lossy_taps",
                {.blindness = 0.05},
                {&PathCounters::missing, &PathCounters::unannounced},
                true},
        Setting{"reordering",
                {.loss = 0.02, .jitter = 5 * kMillisecond},
                {&PathCounters::missing, &PathCounters::overtaken, &PathCounters::late},
                true,
                3 * kMillisecond},
        Setting{"duplicates", {.loss = 0.05, .duplicates = 0.1}, {&PathCounters::missing}},
        Setting{"retransmissions",
                {.loss = 0.05, .retransmitted = 0.2},
                {&PathCounters::missing, &PathCounters::alone}},
        Setting{"retransmissions_of_lossy_taps",
                {.loss = 0.02, .blindness = 0.05, .duplicates = 0.05, .retransmitted = 0.1},
                {&PathCounters::missing, &PathCounters::unannounced}},
        Setting{"coarse_times",
                {.loss = 0.05,
                 .delay = 10 * kMicrosecond,
                 .jitter = 40 * kMicrosecond,
                 .uncertainty = 30 * kMicrosecond},
                {&PathCounters::missing, &PathCounters::untimed, &PathCounters::timed}},
        Setting{"hosts_that_move",
                {.loss = 0.02, .hosts_move = true},
                {&PathCounters::missing, &PathCounters::alone}},
        Setting{"unknown_hosts",
                {.loss = 0.05, .unknown_hosts = 0.3},
                {&PathCounters::missing, &PathCounters::alone}},
        Setting{"a_pause_of_less_than_five_minutes",
                {.loss = 0.02, .pause = kEvidenceLasts - 10 * kSecond},
                {&PathCounters::missing}},
        Setting{"a_pause_of_more_than_five_minutes",
                {.loss = 0.02, .pause = kEvidenceLasts + kSecond},
                {&PathCounters::missing}},
        Setting{"hops", {.loss = 0.02, .hop = 0.3}, {&PathCounters::missing}, true},
        Setting{"longer_than_the_window",
                {.jitter = 60 * kMillisecond},
                {&PathCounters::missing, &PathCounters::unannounced},
                true},
        Setting{
            "outages", {.loss = 0.05}, {&PathCounters::missing}, true, ~Nanoseconds{0}, false, 4},
        Setting{"stated",
                {.one_way = true, .loss = 0.05, .blindness = 0.02, .unknown_hosts = 1},
                {&PathCounters::missing, &PathCounters::unannounced},
                true,
                ~Nanoseconds{0},
                true},
        Setting{"stated_reordering",
                {.one_way = true,
                 .loss = 0.05,
                 .duplicates = 0.05,
                 .jitter = 5 * kMillisecond,
                 .uncertainty = 15 * kMicrosecond},
                {&PathCounters::missing, &PathCounters::overtaken, &PathCounters::untimed},
                false,
                ~Nanoseconds{0},
                true}),
    [](const auto& info) { return std::string(info.param.name); });

// --- by hand -----------------------------------------------------------------------------------

// A look at a key of its own number. Its hosts are not known.
Sight sight_of(Digest key, unsigned point, Nanoseconds time) {
    Sight sight;
    sight.key.digest = key;
    sight.key.hash = {key, ~key};
    sight.look.port = static_cast<PortIndex>(point);
    sight.look.time = sight.look.earliest = time;
    return sight;
}

PathSpec stated_spec(unsigned points = 2) {
    PathSpec spec = path_spec(points, kWindow);
    spec.stated = true;
    return spec;
}

// If a packet came at kStart, keys are judged from here on.
constexpr Nanoseconds kSettled = kStart + kWindow;

void begin(MeasuredPaths& paths) {
    paths.look(sight_of(1, 0, kStart));
    paths.expire(kSettled);
}

// A packet that takes the window still comes, and one that takes longer is missing.
TEST(PathTable, judges_by_the_window_to_the_nanosecond) {
    for (const Nanoseconds delay : {kWindow - 1, kWindow, kWindow + 1}) {
        SCOPED_TRACE(delay);
        MeasuredPaths paths(stated_spec());
        begin(paths);
        paths.look(sight_of(7, 0, kSettled));
        paths.look(sight_of(7, 1, kSettled + delay));
        paths.expire(kSettled + delay + kWindow + 1);
        const PathCounters counted = paths.counters(0, 1);
        EXPECT_EQ(counted.arrived, delay > kWindow ? 0U : 1U);
        EXPECT_EQ(counted.missing, delay > kWindow ? 1U : 0U);
        EXPECT_EQ(counted.unannounced, delay > kWindow ? 1U : 0U);
        EXPECT_EQ(paths.totals().sample().entries, 0U);
    }
}

// The first packet, and others within a window of it, may have passed the first point before.
TEST(PathTable, judges_nothing_of_the_first_window) {
    for (const Nanoseconds after : {Nanoseconds{0}, kWindow - 1, kWindow}) {
        MeasuredPaths paths(stated_spec());
        paths.look(sight_of(1, 0, kStart));
        paths.look(sight_of(1, 1, kStart + 1));
        paths.look(sight_of(7, 1, kStart + after));
        paths.expire(~Nanoseconds{0});
        EXPECT_EQ(paths.counters(0, 1).unannounced, after == kWindow ? 1U : 0U) << after;
        EXPECT_EQ(paths.totals().sample().unjudged, after == kWindow ? 2U : 3U) << after;
        EXPECT_EQ(paths.counters(0, 1).came, 1U);
        EXPECT_EQ(paths.counters(0, 1).arrived, 0U);
    }
}

// A key is not judged if packets went past the table from a window before its first look to its
// verdict.
TEST(PathTable, judges_nothing_while_packets_pass_it_by) {
    struct Outage {
        Nanoseconds at;
        bool judged;
    };
    const Nanoseconds first = kSettled + kSecond;
    for (const auto& [at, judged] :
         {Outage{first - kWindow - 1, true}, Outage{first - kWindow, false}, Outage{first, false},
          Outage{first + kWindow, false}, Outage{first + kWindow + 1, true}}) {
        SCOPED_TRACE(at - first);
        MeasuredPaths paths(stated_spec());
        begin(paths);
        if (at < first) {
            paths.table().pass_by(at);
        }
        paths.look(sight_of(7, 0, first));
        if (at >= first) {
            paths.expire(at);
            paths.table().pass_by(at);
        }
        paths.expire(first + 3 * kWindow);
        EXPECT_EQ(paths.counters(0, 1).missing, judged ? 1U : 0U);
    }
}

// The report of an earlier outage may come behind that of a later one.
TEST(PathTable, knows_the_latest_of_all_outages) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    const Nanoseconds outage = kSettled + kSecond;
    paths.table().pass_by(outage);
    paths.table().pass_by(outage - kMillisecond);
    paths.look(sight_of(7, 1, outage + kWindow));
    paths.expire(~Nanoseconds{0});
    EXPECT_EQ(paths.counters(0, 1).unannounced, 0U);
    EXPECT_EQ(paths.totals().sample().unjudged, 2U);
}

// Due keys are judged a few at a time, without further packets.
TEST(PathTable, judges_due_keys_without_other_packets) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    for (Digest key = 10; key < 110; ++key) {
        paths.look(sight_of(key, 0, kSettled + key));
    }
    paths.table().expire(kSettled + 10 + kWindow);
    EXPECT_EQ(paths.totals().sample().entries, 100U);
    unsigned calls = 0;
    for (std::uint64_t left = 100; left != 0; ++calls) {
        paths.table().expire(kSettled + 2 * kWindow);
        ASSERT_LT(paths.totals().sample().entries, left);
        ASSERT_GE(paths.totals().sample().entries + 8, left);
        left = paths.totals().sample().entries;
    }
    EXPECT_GE(calls, 100U / 8);
    EXPECT_EQ(paths.counters(0, 1).missing, 100U);
    paths.table().expire(kSettled + 3 * kWindow);
    EXPECT_EQ(paths.counters(0, 1).missing, 100U);
}

TEST(PathTable, measures_ports_of_points_only) {
    PathSpec spec = stated_spec();
    spec.point_of.fill(PathSpec::kNoPoint);
    spec.point_of[9] = 0;
    spec.point_of[4] = spec.point_of[5] = 1;  // one point of two ports
    MeasuredPaths paths(spec);
    EXPECT_TRUE(paths.table().has(9) && paths.table().has(4) && paths.table().has(5));
    EXPECT_FALSE(paths.table().has(0));
    EXPECT_FALSE(paths.table().has(kMaxPorts - 1));
    for (const unsigned port : {9U, 4U, 5U}) {
        paths.look(sight_of(7, port, kStart + 100 - port));
    }
    paths.expire(~Nanoseconds{0});
    EXPECT_EQ(paths.counters(0, 1).came, 1U);
    EXPECT_EQ(paths.totals().sample().doubled, 1U);
}

// A packet that passes a stated path the other way round is of another direction.
TEST(PathTable, judges_no_packet_that_passes_a_stated_path_the_other_way_round) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    paths.look(sight_of(7, 1, kSettled));
    paths.look(sight_of(7, 0, kSettled + kMillisecond));
    paths.expire(~Nanoseconds{0});
    const PathCount count = paths.at(0, 1);
    EXPECT_EQ(count.counters.reversed, 1U);
    EXPECT_EQ(count.counters.came + count.counters.arrived + count.counters.missing, 0U);
    EXPECT_EQ(count.delays.count, 0U);
    EXPECT_EQ(paths.counters(1, 0).came, 0U);
}

TEST(PathTable, counts_delays_above_the_limit_as_late) {
    for (const Nanoseconds delay : {kMillisecond, kMillisecond + 1}) {
        PathSpec spec = stated_spec();
        spec.late = kMillisecond;
        MeasuredPaths paths(spec);
        paths.look(sight_of(7, 0, kStart));
        paths.look(sight_of(7, 1, kStart + delay));
        paths.expire(~Nanoseconds{0});
        EXPECT_EQ(paths.counters(0, 1).late, delay > kMillisecond ? 1U : 0U);
    }
}

// A delay is counted if it is known to 20 us.
TEST(PathTable, counts_delays_that_are_known_well_enough) {
    for (const Nanoseconds unsure : {kMostUncertain, kMostUncertain + 1}) {
        MeasuredPaths paths(stated_spec());
        Sight first = sight_of(7, 0, kStart);
        Sight second = sight_of(7, 1, kStart + kMillisecond);
        first.look.earliest -= 5 * kMicrosecond;
        second.look.earliest -= unsure - 5 * kMicrosecond;
        paths.look(first);
        paths.look(second);
        paths.expire(~Nanoseconds{0});
        const PathCount count = paths.at(0, 1);
        EXPECT_EQ(count.counters.came, 1U);
        EXPECT_EQ(count.counters.timed, unsure > kMostUncertain ? 0U : 1U);
        EXPECT_EQ(count.counters.untimed, unsure > kMostUncertain ? 1U : 0U);
        EXPECT_EQ(count.delays.count, count.counters.timed);
    }
}

Sight between(Sight sight, Digest source, Digest destination) {
    sight.key.source = source;
    sight.key.destination = destination;
    return sight;
}

// Pass one packet from host 11 to host 22, and lose the next one. Return the counts from point 0 to
// point 1.
PathCounters learned_from(Nanoseconds earliest, Digest source = 11, Digest destination = 22) {
    MeasuredPaths paths(path_spec(2, kWindow));
    begin(paths);
    paths.look(between(sight_of(7, 0, kSettled), source, destination));
    Sight second = between(sight_of(7, 1, kSettled + kMillisecond), source, destination);
    second.look.earliest = earliest;
    paths.look(second);
    paths.expire(kSettled + 2 * kWindow);
    paths.look(between(sight_of(8, 0, kSettled + 2 * kWindow), source, destination));
    paths.expire(kSettled + 4 * kWindow);
    EXPECT_EQ(paths.counters(1, 0).came, 0U);
    return paths.counters(0, 1);
}

// A direction is found where the intervals of two looks do not overlap.
TEST(PathTable, finds_directions_of_looks_that_do_not_overlap) {
    const PathCounters found = learned_from(kSettled + 1);
    EXPECT_EQ(found.came, 1U);
    EXPECT_EQ(found.arrived, 0U);  // its own fate decided that it counts
    EXPECT_EQ(found.missing, 1U);
    EXPECT_EQ(found.alone, 0U);
    const PathCounters open = learned_from(kSettled);
    EXPECT_EQ(open.came, 1U);
    EXPECT_EQ(open.missing, 0U);
    EXPECT_EQ(open.alone, 1U);
}

TEST(PathTable, judges_no_packet_without_source_or_destination) {
    EXPECT_EQ(learned_from(kSettled + 1, 0, 22).missing, 0U);
    EXPECT_EQ(learned_from(kSettled + 1, 11, 0).missing, 0U);
    EXPECT_EQ(learned_from(kSettled + 1, 11, 0).alone, 1U);
    EXPECT_EQ(learned_from(kSettled + 1, 11, 11).missing, 0U);  // on both sides
}

// A packet is judged by what was known when it was first seen, not by what is learned later.
TEST(PathTable, judges_by_what_was_known_at_the_first_look) {
    MeasuredPaths paths(path_spec(2, kWindow));
    begin(paths);
    paths.look(between(sight_of(7, 0, kSettled), 11, 22));
    paths.look(between(sight_of(7, 1, kSettled + 1), 11, 22));
    paths.look(between(sight_of(8, 0, kSettled + kWindow), 11, 22));  // 7 is not judged yet
    paths.expire(kSettled + 3 * kWindow);
    EXPECT_EQ(paths.counters(0, 1).alone, 1U);
    EXPECT_EQ(paths.counters(0, 1).missing, 0U);
}

// A packet that passes the other way than its hosts' sides say has arrived there, and is neither
// missing nor judged.
TEST(PathTable, judges_no_packets_of_hosts_that_were_on_both_sides) {
    MeasuredPaths paths(path_spec(2, kWindow));
    begin(paths);
    Nanoseconds now = kSettled;
    const auto pass = [&](Digest key, unsigned from, unsigned to) {
        paths.look(between(sight_of(key, from, now), 11, 22));
        paths.look(between(sight_of(key, to, now + kMillisecond), 11, 22));
        now += 2 * kWindow;
        paths.expire(now);
    };
    pass(7, 0, 1);
    pass(8, 1, 0);  // both are on both sides
    EXPECT_EQ(paths.counters(1, 0).came, 1U);
    EXPECT_EQ(paths.counters(1, 0).arrived + paths.counters(0, 1).arrived, 0U);
    EXPECT_EQ(paths.counters(0, 1).missing + paths.counters(1, 0).missing, 0U);
    for (Digest key = 9; key < 20; ++key) {
        pass(key, static_cast<unsigned>(key % 2), 1 - static_cast<unsigned>(key % 2));
    }
    EXPECT_EQ(paths.counters(1, 0).arrived + paths.counters(0, 1).arrived, 0U);
    EXPECT_EQ(paths.counters(0, 1).came + paths.counters(1, 0).came, 13U);
}

// Windows count by a time that stands still while the worker is away. What waited in queues in the
// meantime came in time; its delay is not known.
TEST(PathTable, judges_packets_that_waited_for_the_worker_by_the_time_that_windows_count) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    paths.look(sight_of(7, 0, kSettled));
    constexpr Nanoseconds kAway = 10 * kWindow;
    Sight late = sight_of(7, 1, kSettled + kMillisecond + kAway);
    late.look.earliest = kSettled;
    late.look.behind = kAway;
    paths.expire(kSettled + kMillisecond);
    paths.look(late);
    paths.expire(kSettled + 3 * kWindow);
    EXPECT_EQ(paths.counters(0, 1).arrived, 1U);
    EXPECT_EQ(paths.counters(0, 1).untimed, 1U);
    EXPECT_EQ(paths.counters(0, 1).missing + paths.counters(0, 1).unannounced, 0U);
}

// A key must not be left out by what became of its packets, or mostly keys that lost some would be
// judged.
TEST(PathTable, leaves_a_key_out_by_what_its_first_point_showed) {
    for (const unsigned arrived : {0U, 1U, 4U, 5U}) {
        MeasuredPaths paths(stated_spec());
        begin(paths);
        for (unsigned i = 0; i < 5; ++i) {
            Sight sent = sight_of(7, 0, kSettled + i * kMillisecond);
            sent.key.identified = false;
            paths.look(sent);
        }
        for (unsigned i = 0; i < arrived; ++i) {
            Sight came = sight_of(7, 1, kSettled + (5 + i) * kMillisecond);
            came.key.identified = false;
            paths.look(came);
        }
        paths.expire(~Nanoseconds{0});
        EXPECT_EQ(paths.counters(0, 1).arrived + paths.counters(0, 1).missing, 0U);
        EXPECT_EQ(paths.totals().sample().crowded, 5 + arrived);
    }
}

// However often points show a packet that has an ID, it is one packet.
TEST(PathTable, judges_a_packet_that_points_show_many_times) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    for (unsigned i = 0; i < 20; ++i) {
        paths.look(sight_of(7, 0, kSettled + i));
        paths.look(sight_of(8, 0, kSettled + i));
    }
    for (unsigned i = 0; i < 20; ++i) {
        paths.look(sight_of(8, 1, kSettled + kMillisecond + i));
    }
    paths.expire(~Nanoseconds{0});
    EXPECT_EQ(paths.counters(0, 1).arrived, 1U);
    EXPECT_EQ(paths.counters(0, 1).missing, 1U);
    EXPECT_EQ(paths.totals().sample().doubled, 57U);
    EXPECT_EQ(paths.totals().sample().crowded, 0U);
}

// A full table gives up keys that left the sample, and halves it no more often than that takes.
TEST(PathTable, keeps_a_sample_that_fits_when_it_is_full) {
    SCOPED_TRACE(test::seed_note());
    PathSpec spec = stated_spec();
    spec.window = kSecond;
    spec.memory = std::uint64_t{256} << 10;  // some 400 keys
    MeasuredPaths paths(spec);
    std::mt19937_64 draw(test::seed());
    for (unsigned i = 0; i < 20'000; ++i) {  // 2000 keys a second
        const Digest key = draw();
        paths.show(sight_of(key, 0, kStart + i * 500 * kMicrosecond));
        paths.show(sight_of(key, 1, kStart + i * 500 * kMicrosecond + 1));
    }
    EXPECT_GE(paths.totals().sample().bits, 2U);
    EXPECT_LE(paths.totals().sample().bits, 4U);
    EXPECT_GT(paths.counters(0, 1).arrived, 500U);
    EXPECT_EQ(paths.counters(0, 1).missing + paths.counters(0, 1).unannounced, 0U);
}

// Keys of one digest and other hashes are others.
TEST(PathTable, distinguishes_keys_of_one_digest) {
    MeasuredPaths paths(stated_spec());
    begin(paths);
    for (const std::size_t half : {0U, 1U}) {
        Sight other = sight_of(7, 1, kSettled + 1);
        other.key.hash[half] ^= 1;
        paths.look(other);
    }
    paths.look(sight_of(7, 0, kSettled + 1));
    paths.expire(~Nanoseconds{0});
    EXPECT_EQ(paths.counters(0, 1).came, 0U);
    EXPECT_EQ(paths.counters(0, 1).unannounced, 2U);
    EXPECT_EQ(paths.counters(0, 1).missing, 1U);
}

// More looks than there is room for are not told apart: nothing of their key counts, and the next
// packet of it counts again.
TEST(PathTable, judges_no_key_of_more_looks_than_it_has_room_for) {
    constexpr unsigned kRoom = 8;
    for (const unsigned looks : {kRoom, kRoom + 1, kRoom + 30}) {
        SCOPED_TRACE(looks);
        MeasuredPaths paths(stated_spec());
        begin(paths);
        for (unsigned i = 0; i < looks; ++i) {
            Sight sight = sight_of(7, i % 2, kSettled + i * kMillisecond);
            sight.key.identified = false;
            paths.look(sight);
        }
        paths.expire(kSettled + 10 * kWindow);
        const bool crowded = looks > kRoom;
        EXPECT_EQ(paths.totals().sample().crowded, crowded ? looks : 0U);
        EXPECT_EQ(paths.counters(0, 1).arrived, crowded ? 0U : kRoom / 2);
        EXPECT_EQ(paths.counters(0, 1).missing, 0U);
        EXPECT_EQ(paths.counters(0, 1).unannounced, 0U);
        paths.look(sight_of(7, 0, kSettled + 11 * kWindow));
        paths.expire(kSettled + 13 * kWindow);
        EXPECT_EQ(paths.counters(0, 1).missing, 1U);
    }
}

// The table measures the most points in the least memory.
TEST(PathTable, measures_the_most_points_in_the_least_memory) {
    PathSpec spec = stated_spec(kMaxPathPoints);
    spec.memory = PathTable::kLeastMemory;
    MeasuredPaths paths(spec);
    begin(paths);
    constexpr unsigned kPackets = 100;
    Nanoseconds now = kSettled;
    for (Digest key = 10; key < 10 + kPackets; ++key) {
        for (unsigned point = 0; point < kMaxPathPoints; ++point) {
            if (point != 5 || key % 2 == 0) {
                paths.look(sight_of(key, point, now += kMicrosecond));
            }
        }
        now += 2 * kWindow;
        paths.expire(now);
    }
    for (unsigned j = 1; j < kMaxPathPoints; ++j) {
        for (unsigned i = 0; i < j; ++i) {
            SCOPED_TRACE(std::to_string(i) + " > " + std::to_string(j));
            const PathCounters forward = paths.counters(i, j);
            EXPECT_EQ(forward.arrived, i == 5 || j == 5 ? kPackets / 2 : kPackets);
            // The first packet of all came before anything was judged, and the table knows it no
            // more.
            EXPECT_EQ(forward.missing, j == 5 ? kPackets / 2 : 0U);
            EXPECT_EQ(forward.unannounced, i == 5 ? kPackets / 2 : 0U);
            EXPECT_EQ(paths.counters(j, i).came, 0U);
        }
    }
    EXPECT_EQ(paths.totals().sample().crowded, 0U);
}

// A table takes at most its memory, and fits into what it says that it takes.
TEST(PathTable, takes_no_more_than_its_memory) {
    for (unsigned points = 2; points <= kMaxPathPoints; ++points) {
        for (const std::uint64_t memory :
             {PathTable::kLeastMemory, PathTable::kLeastMemory + 1, std::uint64_t{100'000},
              std::uint64_t{1} << 20, std::uint64_t{3'333'333}}) {
            for (const std::uint64_t looks : {0U, 1U, 1000U, 1'000'000'000U}) {
                for (const Nanoseconds window : {Nanoseconds{1000}, kWindow, 7200 * kSecond}) {
                    PathSpec spec = path_spec(points, window);
                    spec.memory = memory;
                    spec.looks_per_second = looks;
                    // A table of many points has room for 16 keys in any case.
                    ASSERT_LE(PathTable::bytes(spec), std::max(memory, std::uint64_t{40} << 10));
                    ASSERT_GE(PathTable::bytes(spec), memory / 16);
                    // Full, it stays within its memory: a sanitizer sees what is beyond.
                    if (memory <= 100'000) {
                        MeasuredPaths paths(spec);
                        for (Digest key = 1; key < 1000; ++key) {
                            paths.look(sight_of(key, static_cast<unsigned>(key % points), kStart));
                        }
                        const PathSampleCounters sample = paths.totals().sample();
                        EXPECT_EQ(sample.packets, 999U);
                        EXPECT_GE(sample.entries, 15U);
                        EXPECT_LE(sample.entries, 999 - sample.crowded);
                    }
                }
            }
        }
    }
}

// --- the sample --------------------------------------------------------------------------------

// Traffic past two points without any loss: each packet that is counted as missing or unannounced
// is counted wrongly.
class Lossless {
  public:
    explicit Lossless(const PathSpec& spec, Nanoseconds delay = 10 * kMillisecond)
        : paths_(spec), draw_(test::seed()), delay_(delay) {}

    MeasuredPaths& paths() { return paths_; }
    [[nodiscard]] unsigned bits() const {
        return static_cast<unsigned>(paths_.totals().sample().bits);
    }
    [[nodiscard]] std::uint64_t arrived() const { return paths_.counters(0, 1).arrived; }
    [[nodiscard]] std::uint64_t wrong() const {
        return paths_.counters(0, 1).missing + paths_.counters(0, 1).unannounced;
    }
    [[nodiscard]] std::uint64_t shown() const { return shown_; }
    void wait(Nanoseconds pause) { now_ += pause; }
    // Send packets at a rate.
    void send(unsigned packets, Nanoseconds interval) {
        std::vector<Sight> sights;
        for (unsigned i = 0; i < packets; ++i) {
            const Digest key = draw_();
            sights.push_back(sight_of(key, 0, now_));
            sights.push_back(sight_of(key, 1, now_ + delay_));
            now_ += interval;
        }
        std::stable_sort(sights.begin(), sights.end(),
                         [](const Sight& a, const Sight& b) { return a.look.time < b.look.time; });
        for (const Sight& sight : sights) {
            shown_ += paths_.show(sight) ? 1 : 0;
        }
        now_ = sights.back().look.time + 1;
    }

  private:
    MeasuredPaths paths_;
    std::mt19937_64 draw_;
    Nanoseconds delay_;
    Nanoseconds now_ = kStart;
    std::uint64_t shown_ = 0;
};

// The sample is halved above looks_per_second, and doubled when there is ample room.
TEST(PathTable, judges_nothing_wrongly_when_the_sample_changes) {
    SCOPED_TRACE(test::seed_note());
    PathSpec spec = stated_spec();
    spec.looks_per_second = 2000;
    // Many packets are on their way when the sample changes.
    Lossless traffic(spec, kWindow - kMillisecond);
    traffic.send(100, 4 * kMillisecond);
    EXPECT_EQ(traffic.bits(), 0U);
    traffic.send(60'000, 50 * kMicrosecond);  // 40,000 looks a second
    EXPECT_GE(traffic.bits(), 4U);
    EXPECT_LE(traffic.bits(), 6U);
    EXPECT_EQ(traffic.wrong(), 0U);
    const std::uint64_t busy = traffic.arrived();
    EXPECT_GT(busy, 1000U);
    traffic.send(6000, 4 * kMillisecond);  // 500 looks a second: at most a quarter is in use
    EXPECT_EQ(traffic.bits(), 0U);
    EXPECT_EQ(traffic.wrong(), 0U);
    EXPECT_GT(traffic.arrived(), busy + 1000);
    traffic.send(60'000, 50 * kMicrosecond);
    EXPECT_GE(traffic.bits(), 4U);
    EXPECT_EQ(traffic.wrong(), 0U);
    EXPECT_EQ(traffic.paths().totals().sample().crowded, 0U);
    EXPECT_EQ(traffic.paths().totals().sample().packets, traffic.shown());
}

// Keys that left the sample lack their later looks. They are not judged when the sample grows
// again, although nobody has judged them since.
TEST(PathTable, judges_no_key_that_was_out_of_the_sample_for_a_while) {
    SCOPED_TRACE(test::seed_note());
    PathSpec spec = stated_spec();
    spec.window = kSecond;
    spec.looks_per_second = 2000;
    Lossless traffic(spec, 200 * kMillisecond);
    traffic.send(100, 10 * kMillisecond);
    traffic.wait(2 * kSecond);
    traffic.send(300, kMicrosecond);  // halves the sample before the second point has seen any
    EXPECT_EQ(traffic.bits(), 1U);
    traffic.wait(700 * kMillisecond);
    traffic.send(80, 10 * kMillisecond);
    EXPECT_EQ(traffic.bits(), 1U);  // not within two windows
    traffic.wait(2 * kSecond);
    traffic.send(600, kMicrosecond);
    EXPECT_GE(traffic.bits(), 2U);
    EXPECT_LE(traffic.bits(), 3U);
    traffic.wait(10 * kSecond);
    traffic.send(900, 10 * kMillisecond);
    EXPECT_EQ(traffic.bits(), 0U);
    traffic.wait(2 * kSecond);
    traffic.send(500, 10 * kMillisecond);
    EXPECT_EQ(traffic.wrong(), 0U);
    EXPECT_GT(traffic.arrived(), 500U);
}

// A packet that passed the first point before its key came into the sample is not taken for one
// that came from nowhere.
TEST(PathTable, judges_no_packet_that_is_on_its_way_when_the_sample_grows) {
    SCOPED_TRACE(test::seed_note());
    PathSpec spec = stated_spec();
    spec.window = kSecond;
    spec.looks_per_second = 2000;
    Lossless traffic(spec, 900 * kMillisecond);
    traffic.send(200, 10 * kMillisecond);
    traffic.wait(2 * kSecond);
    traffic.send(300, kMicrosecond);
    EXPECT_EQ(traffic.bits(), 1U);
    traffic.wait(kSecond);
    traffic.send(500, 10 * kMillisecond);  // 90 are on their way at a time
    EXPECT_EQ(traffic.bits(), 0U);
    traffic.wait(2 * kSecond);
    traffic.send(100, 10 * kMillisecond);
    EXPECT_EQ(traffic.wrong(), 0U);
    EXPECT_GT(traffic.arrived(), 500U);
}

// A packet whose first look found no room is not taken for one that came from nowhere.
TEST(PathTable, judges_no_key_that_found_no_room_at_first) {
    PathSpec spec = stated_spec();
    spec.memory = PathTable::kLeastMemory;
    MeasuredPaths paths(spec);
    begin(paths);
    const filter::AuditSample half(spec.secret, 1);  // stays when the sample is halved once
    Digest key = 10;
    Nanoseconds now = kSettled;
    for (; paths.totals().sample().crowded == 0; ++key) {
        if (half.has(key)) {
            paths.look(sight_of(key, 0, now += kMicrosecond));
        }
    }
    EXPECT_EQ(paths.totals().sample().bits, 1U);
    const Digest crowded = key - 1;
    const std::uint64_t full = paths.totals().sample().entries;
    now += kWindow - 20 * kMicrosecond;
    paths.expire(now);
    EXPECT_LT(paths.totals().sample().entries, full);
    ASSERT_TRUE(paths.show(sight_of(crowded, 1, now)));
    paths.expire(~Nanoseconds{0});
    EXPECT_EQ(paths.counters(0, 1).unannounced, 0U);
    EXPECT_EQ(paths.counters(0, 1).missing, 0U);
    EXPECT_EQ(paths.totals().sample().unjudged, full + 2);  // with the first of all
}

TEST(PathTable, judges_nothing_wrongly_when_it_is_full) {
    SCOPED_TRACE(test::seed_note());
    PathSpec spec = stated_spec();
    spec.memory = PathTable::kLeastMemory;  // about 50 keys
    Lossless traffic(spec);
    traffic.send(200, 2 * kMillisecond);  // 25 keys in a window
    EXPECT_EQ(traffic.bits(), 0U);
    const std::uint64_t few = traffic.arrived();
    EXPECT_GT(few, 100U);
    traffic.send(40'000, 100 * kMicrosecond);  // 500 keys in a window
    EXPECT_GT(traffic.paths().totals().sample().crowded, 0U);
    // Halved at each look without room until keys expire, the sample may become smaller than it
    // has to be.
    EXPECT_GE(traffic.bits(), 4U);
    EXPECT_LE(traffic.bits(), 9U);
    EXPECT_EQ(traffic.wrong(), 0U);
    EXPECT_GT(traffic.arrived(), few + 30);
}

}  // namespace
}  // namespace unecho::pipeline
