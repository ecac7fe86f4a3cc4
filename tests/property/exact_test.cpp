// SPDX-License-Identifier: BSD-3-Clause
// The exact table gives the oracle's answer to every packet.
#include "filters/window/exact.h"

#include <array>
#include <limits>
#include <list>
#include <map>
#include <vector>

#include "streams.h"
#include "support/instance.h"
#include "support/window_oracle.h"

namespace unecho::test::exact_test {
namespace {

using filter::EchoPolicy;
using filter::Exact;
using filter::ExactParams;

using Table = FilterInstance<Exact>;

struct Packet {
    Nanoseconds now;
    Digest digest;
};

// Times rise from `start`, at most to the end of time; equal times are frequent.
std::vector<Packet> random_packets(Random& random, Nanoseconds start, Nanoseconds window) {
    Digests digests(random);
    std::vector<Packet> packets;
    Nanoseconds now = start;
    for (unsigned i = 0; i < 2000; ++i) {
        const Nanoseconds gap = random.one_in(2)     ? 0
                                : random.one_in(200) ? 2 * window
                                : random.one_in(20)  ? window
                                                     : random.below(window / 10 + 2);
        const Nanoseconds left = std::numeric_limits<Nanoseconds>::max() - now;
        now += std::min(gap, left);
        packets.push_back({now, digests.next()});
    }
    return packets;
}

// A list of live digests, oldest first: by definition the content of a table of so many entries.
class BoundedOracle {
  public:
    BoundedOracle(Nanoseconds window, EchoPolicy policy, std::size_t entries)
        : window_(window), policy_(policy), entries_(entries) {}

    bool observe(const Packet& packet) {
        live_.remove_if([&](const Packet& old) { return packet.now - old.now >= window_; });
        const auto found = std::find_if(live_.begin(), live_.end(), [&](const Packet& old) {
            return old.digest == packet.digest;
        });
        const bool echo = found != live_.end();
        if (echo && policy_ == EchoPolicy::kFixed) {
            return true;
        }
        if (echo) {
            live_.erase(found);
        } else if (live_.size() == entries_) {
            live_.pop_front();
            ++evicted;
        }
        live_.push_back(packet);
        most = std::max(most, live_.size());
        return echo;
    }

    std::size_t most = 0;  // highest number of digests alive at once
    std::uint64_t evicted = 0;

  private:
    Nanoseconds window_;
    EchoPolicy policy_;
    std::size_t entries_;
    std::list<Packet> live_;
};

WindowOracle::Policy oracle_policy(EchoPolicy policy) {
    return policy == EchoPolicy::kFixed ? WindowOracle::Policy::kFixed
                                        : WindowOracle::Policy::kRefresh;
}

// Call for windows from 1 ns on, both policies, and first times up to the end of time.
template <typename Function>
void for_each_stream(Function function) {
    std::uint64_t index = 0;
    for (const Nanoseconds window : {1ull, 2ull, 10ull, 77ull, 1000ull, 1'000'000'007ull}) {
        for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
            for (const Nanoseconds start :
                 {Nanoseconds{0}, (Nanoseconds{1} << 63) - 10 * window,
                  std::numeric_limits<Nanoseconds>::max() - 20 * window}) {
                ++index;
                SCOPED_TRACE(seed_note() + " case " + std::to_string(index) + " window " +
                             std::to_string(window) + " start " + std::to_string(start));
                Random random(index);
                function(window, policy, random_packets(random, start, window), random);
                if (testing::Test::HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

// A table with exactly as many entries as digests live at once.
TEST(exact, equals_the_oracle_with_just_enough_entries) {
    for_each_stream(
        [](Nanoseconds window, EchoPolicy policy, const std::vector<Packet>& packets, Random&) {
            BoundedOracle sizing(window, policy, packets.size());
            for (const Packet& packet : packets) {
                sizing.observe(packet);
            }
            Table table({.entries = sizing.most, .window = window, .policy = policy});
            WindowOracle oracle(window, oracle_policy(policy));
            unsigned echoes = 0;
            for (std::size_t i = 0; i < packets.size(); ++i) {
                table.filter.advance({.now = packets[i].now});
                const bool echo = oracle.observe(packets[i].digest, packets[i].now);
                ASSERT_EQ(table.filter.test_and_insert(packets[i].digest), echo) << "packet " << i;
                echoes += echo ? 1 : 0;
            }
            ASSERT_EQ(table.filter.counters().evicted_early, 0u);
            ASSERT_GT(echoes, 10u);
        });
}

TEST(exact, short_of_entries_equals_the_bounded_oracle) {
    for_each_stream([](Nanoseconds window, EchoPolicy policy, const std::vector<Packet>& packets,
                       Random& random) {
        const std::size_t entries = 1 + random.below(25);
        Table table({.entries = entries, .window = window, .policy = policy});
        BoundedOracle oracle(window, policy, entries);
        for (std::size_t i = 0; i < packets.size(); ++i) {
            table.filter.advance({.now = packets[i].now});
            const bool echo = oracle.observe(packets[i]);
            ASSERT_EQ(table.filter.test_and_insert(packets[i].digest), echo)
                << "packet " << i << " entries " << entries;
            ASSERT_EQ(table.filter.counters().evicted_early, oracle.evicted) << "packet " << i;
        }
    });
}

// The points that showed each transmission of a digest, by definition: from its first packet until
// a window later.
class PointOracle {
  public:
    explicit PointOracle(Nanoseconds window) : window_(window) {}

    void observe(const Packet& packet, unsigned point) {
        Seen& seen = live_[packet.digest];
        if (seen.points != 0 && packet.now - seen.begin >= window_) {
            forget(seen);
        }
        if (seen.points == 0) {
            seen.begin = packet.now;
        }
        seen.points |= 1U << point;
    }
    // Nothing that begins within a window is judged.
    void miss(Nanoseconds now) { judged_from_ = now + window_; }
    const filter::ForgottenByPoints& all() {
        for (auto& [digest, seen] : live_) {
            forget(seen);
        }
        return out_;
    }

  private:
    struct Seen {
        Nanoseconds begin = 0;
        unsigned points = 0;
    };
    void forget(Seen& seen) {
        if (seen.points != 0) {
            ++(seen.begin >= judged_from_ ? out_.digests[seen.points] : out_.unjudged);
        }
        seen = {};
    }

    Nanoseconds window_;
    Nanoseconds judged_from_ = 0;
    std::map<Digest, Seen> live_;
    filter::ForgottenByPoints out_;
};

// One by one and in bursts, with and without upkeep in between.
TEST(exact, counts_which_points_showed_each_digest) {
    constexpr Nanoseconds kWindow = 1000;
    for (std::uint64_t index = 1; index <= 40; ++index) {
        SCOPED_TRACE(seed_note() + " case " + std::to_string(index));
        Random random(index);
        const auto packets = random_packets(random, 5000, kWindow);
        Table table({.entries = packets.size(), .window = kWindow});
        PointOracle oracle(kWindow);
        const std::size_t most = 1 + random.below(kMaxBurst);
        const bool upkeep = random.one_in(2);
        table.filter.start_points();
        oracle.miss(packets.front().now);
        for (std::size_t i = 0; i < packets.size();) {
            const Nanoseconds now = packets[i].now;
            table.filter.advance({.now = now});
            std::vector<Digest> digests;
            std::vector<std::uint8_t> points;
            for (; i < packets.size() && packets[i].now == now && digests.size() < most; ++i) {
                const auto point = static_cast<unsigned>(random.below(3));
                digests.push_back(packets[i].digest);
                points.push_back(static_cast<std::uint8_t>(1U << point));
                oracle.observe(packets[i], point);
            }
            table.filter.test_and_insert_burst(digests);
            table.filter.note_points(digests, points);
            if (upkeep) {
                table.filter.maintain();
            }
        }
        table.filter.advance({.now = packets.back().now + kWindow});
        for (std::size_t step = 0; step < packets.size(); ++step) {
            table.filter.maintain();
        }
        const filter::ForgottenByPoints& expected = oracle.all();
        ASSERT_EQ(table.filter.forgotten().digests, expected.digests);
        ASSERT_EQ(table.filter.forgotten().unjudged, expected.unjudged);
        ASSERT_GT(expected.digests[1] + expected.digests[2] + expected.digests[4], 10u);
        ASSERT_GT(expected.digests[7] + expected.digests[3], 0u);
    }
}

TEST(exact, does_not_judge_what_was_missed_or_forgotten_early) {
    constexpr Nanoseconds kWindow = 1000;
    Table table({.entries = 4, .window = kWindow});
    table.filter.start_points();
    const std::array<std::uint8_t, 1> first{1};
    const auto show = [&](Digest digest, Nanoseconds now) {
        table.filter.advance({.now = now});
        table.filter.test_and_insert_burst({&digest, 1});
        table.filter.note_points({&digest, 1}, first);
    };
    show(1, 10);  // within the first window
    show(2, 2000);
    table.filter.advance({.now = 2500});
    table.filter.miss_points();
    show(3, 3499);
    show(4, 3500);
    table.filter.advance({.now = 5000});
    for (unsigned step = 0; step < 4; ++step) {
        table.filter.maintain();
    }
    EXPECT_EQ(table.filter.forgotten().unjudged, 3u);
    EXPECT_EQ(table.filter.forgotten().digests[1], 1u);
    for (Digest digest = 10; digest < 15; ++digest) {
        show(digest, 6000);
    }
    EXPECT_EQ(table.filter.counters().evicted_early, 1u);
    EXPECT_EQ(table.filter.forgotten().unjudged, 4u);
}

TEST(exact, infinite_window_equals_the_oracle) {
    for (const EchoPolicy policy : {EchoPolicy::kFixed, EchoPolicy::kRefresh}) {
        SCOPED_TRACE(seed_note());
        Random random(1);
        const auto packets = random_packets(random, 0, Nanoseconds{1} << 60);
        Table table(
            {.entries = packets.size(), .window = filter::kInfiniteWindow, .policy = policy});
        WindowOracle oracle(kForEver, oracle_policy(policy));
        for (std::size_t i = 0; i < packets.size(); ++i) {
            table.filter.advance({.now = packets[i].now});
            ASSERT_EQ(table.filter.test_and_insert(packets[i].digest),
                      oracle.observe(packets[i].digest, packets[i].now))
                << "packet " << i;
        }
    }
}

}  // namespace
}  // namespace unecho::test::exact_test
