// SPDX-License-Identifier: BSD-3-Clause
// The exact table gives the oracle's answer to every packet.
#include "filters/window/exact.h"

#include <limits>
#include <list>

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
