// SPDX-License-Identifier: BSD-3-Clause
// clock = "capture": sources are merged by timestamp and each packet is decided at its own time, on
// one worker and on several. An exact oracle decides the packets one by one.
#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "packets.h"
#include "rig.h"
#include "support/seed.h"
#include "support/window_oracle.h"

namespace unecho::test {
namespace {

using Capture = EalTest;

constexpr Nanoseconds kCaptureWindow = 500 * kMicrosecond;

struct Record {
    std::uint64_t microseconds;
    unsigned flow;
    std::uint32_t mark;
};
using Sources = std::vector<std::vector<Record>>;

constexpr std::uint64_t kEpochJump =
    1'000'000;  // in microseconds: a second, longer than the window
constexpr std::size_t kLookAhead = 32;

// Return when each packet of a source is due in the merge. Stamps that run ahead by more than the
// jump are due with the next packet that does not, if it follows soon.
std::vector<std::uint64_t> due(const std::vector<Record>& source) {
    std::vector<std::uint64_t> out;
    std::optional<std::uint64_t> last;
    while (out.size() < source.size()) {
        const std::size_t i = out.size();
        const std::uint64_t time = source[i].microseconds;
        const bool ahead = !last || time > *last + kEpochJump;
        const std::size_t end = ahead ? std::min(source.size(), i + 1 + kLookAhead) : i;
        std::size_t back = i + 1;
        while (back < end && source[back].microseconds + kEpochJump >= time) {
            ++back;
        }
        if (back < end) {
            out.resize(back, source[back].microseconds);
        } else {
            last = time;
            out.push_back(time);
        }
    }
    return out;
}

// Merge by definition: take the source whose next packet is due first, the first source if equal.
std::vector<Record> merged(const Sources& sources) {
    std::vector<std::size_t> next(sources.size());
    std::vector<std::vector<std::uint64_t>> times;
    for (const auto& source : sources) {
        times.push_back(due(source));
    }
    std::vector<Record> out;
    for (;;) {
        std::optional<std::size_t> oldest;
        for (std::size_t s = 0; s < sources.size(); ++s) {
            if (next[s] < sources[s].size() &&
                (!oldest || times[s][next[s]] < times[*oldest][next[*oldest]])) {
                oldest = s;
            }
        }
        if (!oldest) {
            return out;
        }
        out.push_back(sources[*oldest][next[*oldest]++]);
    }
}

WindowOracle::Policy oracle_policy(config::Policy policy) {
    return policy == config::Policy::kFixed ? WindowOracle::Policy::kFixed
                                            : WindowOracle::Policy::kRefresh;
}

// Return the marks that pass, in order. Time is the highest timestamp so far. A far step back makes
// every remembered packet younger by the step.
std::vector<std::uint32_t> passing(const Sources& sources, const FilterLayout& filter) {
    WindowOracle oracle(filter.window, oracle_policy(filter.policy), filter.first);
    std::vector<std::uint32_t> out;
    Nanoseconds now = 0;
    Nanoseconds shift = 0;
    for (const Record& record : merged(sources)) {
        const Nanoseconds time = record.microseconds * kMicrosecond;
        shift = now > time + shift + kEpochJump * kMicrosecond ? now - time : shift;
        now = std::max<Nanoseconds>(now, time + shift);
        if (!oracle.observe(record.flow, now)) {
            out.push_back(record.mark);
        }
    }
    return out;
}

Layout captures(unsigned workers, unsigned sources, unsigned burst = 32) {
    Layout layout;
    layout.workers = workers;
    layout.burst = burst;
    layout.capture = true;
    layout.filters[0].window = kCaptureWindow;
    layout.ports.resize(sources + 1);
    layout.routes = {{}};
    for (PortIndex p = 0; p < sources; ++p) {
        layout.routes[0].from.push_back(p);
    }
    layout.routes[0].to = static_cast<PortIndex>(sources);
    return layout;
}

void offer(Rig& rig, const Sources& sources) {
    for (PortIndex s = 0; s < sources.size(); ++s) {
        for (const Record& record : sources[s]) {
            rig.offer_at(s, marked(packet(record.flow), record.mark), record.microseconds);
        }
    }
}

std::vector<std::uint32_t> sent_marks(Rig& rig, PortIndex port) {
    std::vector<std::uint32_t> out;
    for (const Bytes& frame : rig.sent(port)) {
        out.push_back(mark_of(frame));
    }
    return out;
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> marks) {
    std::sort(marks.begin(), marks.end());
    return marks;
}

// Return sources with many ties and small steps, some of them back; with `far`, also about a jump.
Sources random_sources(unsigned count, unsigned packets, std::mt19937_64& random,
                       bool far = false) {
    Sources sources(count);
    std::uint32_t mark = 0;
    for (auto& source : sources) {
        std::uint64_t time = 1'000'000'000 + random() % 100;
        for (unsigned i = 0; i < packets; ++i) {
            const auto draw = random() % 100;
            time += draw < 50 ? 0 : draw < 95 ? random() % 20 : draw < 97 ? random() % 1500 : 0;
            time -= draw == 97 ? random() % 300 : 0;
            time += draw == 98 && far ? kEpochJump - 2 + random() % 5 : 0;
            time -= draw == 99 && far ? kEpochJump - 2 + random() % 5 : 0;
            source.push_back({time, static_cast<unsigned>(random() % 40), mark++});
        }
    }
    return sources;
}

// Only packets with keys reach the filter, each with its own time.
TEST_F(Capture, beside_packets_without_a_key_every_packet_has_its_own_time) {
    Rig rig(captures(1, 1));
    const std::uint64_t window = kCaptureWindow / kMicrosecond;
    rig.offer_at(0, marked(packet(1), 0), 1000);
    rig.offer_at(0, marked(arp(), 1), 1000 + window - 1);
    rig.offer_at(0, marked(packet(1), 2), 1000 + window);
    rig.settle();
    EXPECT_EQ(sent_marks(rig, 1), (std::vector<std::uint32_t>{0, 1, 2}));
}

struct Case {
    unsigned workers;
    unsigned sources;
    unsigned burst;
    config::Policy policy;
    unsigned first;
};

class CaptureCases : public EalTest, public testing::WithParamInterface<Case> {};

TEST_P(CaptureCases, are_judged_as_the_oracle_judges_them_packet_by_packet) {
    SCOPED_TRACE(seed_note());
    const Case& c = GetParam();
    Layout layout = captures(c.workers, c.sources, c.burst);
    FilterLayout& filter = layout.filters[0];
    filter.key = packet::KeyMode::kFlow;
    filter.policy = c.policy;
    filter.first = c.first;
    std::mt19937_64 random(seed());
    const auto out = static_cast<PortIndex>(c.sources);
    for (int round = 0; round < 5; ++round) {
        const Sources sources = random_sources(c.sources, 700, random, round % 2 == 1);
        Rig rig(layout);
        offer(rig, sources);
        rig.settle();
        const std::vector<std::uint32_t> expected = passing(sources, filter);
        const std::vector<std::uint32_t> got = sent_marks(rig, out);
        ASSERT_GT(expected.size(), 100U);
        ASSERT_LT(expected.size(), 650U * c.sources) << "hardly an echo";
        if (c.workers == 1) {
            ASSERT_EQ(got, expected);
        } else {
            ASSERT_EQ(sorted(got), sorted(expected));
        }
        ASSERT_EQ(rig.count(Reason::kNew), expected.size());
        ASSERT_EQ(rig.count(Reason::kEcho), 700U * c.sources - expected.size());
    }
}

constexpr auto kFixed = config::Policy::kFixed;
constexpr auto kRefresh = config::Policy::kRefresh;
INSTANTIATE_TEST_SUITE_P(All, CaptureCases,
                         testing::Values(Case{1, 1, 32, kFixed, 1}, Case{1, 2, 32, kFixed, 1},
                                         Case{1, 4, 1, kFixed, 1}, Case{1, 3, 64, kRefresh, 1},
                                         Case{1, 2, 7, kFixed, 3}, Case{1, 2, 32, kRefresh, 2},
                                         Case{3, 1, 32, kFixed, 1}, Case{3, 3, 32, kFixed, 1},
                                         Case{3, 4, 5, kRefresh, 1}, Case{3, 2, 64, kFixed, 2},
                                         Case{2, 3, 16, kRefresh, 3}));

// Workers polled in any order, with rings of the least size: captures wait and lose nothing.
TEST_F(Capture, on_several_workers_waits_for_room_and_sheds_nothing) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    for (int round = 0; round < 10; ++round) {
        Layout layout = captures(3, 2, 8);
        layout.ring_size = 24;  // one burst from each worker
        Rig rig(layout);
        const Sources sources = random_sources(2, 500, random);
        offer(rig, sources);
        for (int i = 0; i < 600; ++i) {
            rig.poll(static_cast<WorkerIndex>(random() % 3));
        }
        rig.settle();
        ASSERT_EQ(rig.count(Reason::kOverload), 0U);
        ASSERT_EQ(rig.count(Reason::kTxLost), 0U);
        ASSERT_EQ(sorted(sent_marks(rig, 2)), sorted(passing(sources, layout.filters[0])));
    }
}

TEST_F(Capture, with_nobody_taking_stops_reading_and_goes_on_later) {
    Layout layout = captures(2, 1, 8);
    layout.ring_size = 16;
    Rig rig(layout);
    Sources sources(1);
    for (std::uint32_t i = 0; i < 400; ++i) {
        sources[0].push_back({i, i, i});
    }
    offer(rig, sources);
    for (int i = 0; i < 200; ++i) {
        rig.poll(0);
    }
    EXPECT_LT(rig.received(), 60U) << "worker 1 took nothing";
    rig.settle();
    EXPECT_EQ(rig.received(), 400U);
    EXPECT_EQ(rig.count(Reason::kNew), 400U);
    rig.sent(1);
}

// A worker ends generations at the same times whichever flows it owns. So the number of workers
// changes no verdict. (In a filter this large no flow matches by accident.)
TEST_F(Capture, with_segments_gives_the_same_verdicts_on_one_worker_and_three) {
    SCOPED_TRACE(seed_note());
    std::mt19937_64 random(seed());
    const Sources sources = random_sources(3, 1500, random);
    std::vector<std::set<std::uint32_t>> passed;
    for (const unsigned workers : {1U, 3U}) {
        Layout layout = captures(workers, 3);
        layout.filters[0].geometry = sizing::ApbbfGeometry{4, 5, 512, 8, 1024};
        Rig rig(layout);
        offer(rig, sources);
        rig.settle();
        EXPECT_GT(rig.filter_counters(static_cast<WorkerIndex>(workers - 1)).shifts, 0U);
        const std::vector<std::uint32_t> marks = sent_marks(rig, 3);
        passed.emplace_back(marks.begin(), marks.end());
    }
    EXPECT_EQ(passed[0], passed[1]);

    // A flow passes again no sooner than a window after it last passed. It does so at the latest
    // after window, slack and the rest of its generation.
    const Nanoseconds generation = kCaptureWindow / 5;
    References accepted;
    Nanoseconds now = 0;
    for (const Record& record : merged(sources)) {
        now = std::max<Nanoseconds>(now, record.microseconds * kMicrosecond);
        const auto age = accepted.age(record.flow, now);
        const bool pass = passed[0].contains(record.mark);
        EXPECT_TRUE(!age || *age >= kCaptureWindow || !pass) << "mark " << record.mark;
        EXPECT_TRUE((age && *age < kCaptureWindow + 5 * generation) || pass)
            << "mark " << record.mark;
        if (pass) {
            accepted.insert(record.flow, now);
        }
    }
}

TEST_F(Capture, when_draining_decides_what_it_has_read_ahead_and_reads_no_more) {
    Layout layout = captures(1, 2, 8);
    Rig rig(layout);
    Sources sources(2);
    for (std::uint32_t i = 0; i < 80; ++i) {
        sources[0].push_back({100 + i, i, i});
        sources[1].push_back({1'000'000 + i, 100 + i, 100 + i});
    }
    offer(rig, sources);
    rig.poll();  // decides 8 of the first; reads 40 of both, whose first stamps may run ahead
    EXPECT_EQ(rig.received(), 8U);
    rig.set_phase(dataplane::Phase::kDraining);
    rig.settle();
    EXPECT_EQ(rig.received(), 80U);
    EXPECT_EQ(rig.sent(2).size(), 80U);
    for (const PortIndex port : {0, 1}) {
        EXPECT_EQ(drain(rig.port(port).rx(0)).size(), 40U);
    }
}

// The worker's counters name the far step and its packet.
TEST_F(Capture, of_a_far_step_back_begins_an_epoch_and_says_so) {
    Rig rig(captures(1, 1));
    offer(rig, {{{4'000'000'000, 1, 0}, {1'000'000, 1, 1}, {1'000'400, 1, 2}, {1'000'500, 1, 3}}});
    rig.settle();
    EXPECT_EQ(sent_marks(rig, 1), (std::vector<std::uint32_t>{0, 3}));
    const dataplane::Counters& counters = rig.worker().counters();
    EXPECT_EQ(counters.epochs, 1U);
    EXPECT_EQ(counters.first_epoch.packet, 2U);
    EXPECT_EQ(counters.first_epoch.step, 3'999 * kSecond);
}

// Timestamps count from 1970, reported times from the first packet.
TEST_F(Capture, with_too_many_packets_says_when_after_the_first_the_window_was_shortest) {
    constexpr std::uint64_t kFirst = 1'700'000'000'000'000;
    Layout layout = captures(1, 1);
    layout.filters[0].geometry = sizing::ExactGeometry{16};
    Rig rig(layout);
    for (unsigned i = 0; i < 200; ++i) {
        rig.offer_at(0, packet(i), kFirst + i);
    }
    rig.settle();
    rig.shared().snapshot_wanted.store(1);
    rig.poll();
    const filter::WindowState& window = rig.shared().windows[0];
    EXPECT_LT(window.shortest, kCaptureWindow);
    EXPECT_GE(window.shortest_at, 16 * kMicrosecond);
    EXPECT_LT(window.shortest_at, 200 * kMicrosecond);
}

// The first timestamp of one tap is an hour ahead. Its other packets still meet their copies.
TEST_F(Capture, of_a_stamp_ahead_does_not_hold_its_source_back) {
    Layout layout = captures(1, 2, 4);
    Rig rig(layout);
    Sources sources(2);
    sources[0].push_back({3'601'000'000, 100, 100});
    for (std::uint32_t i = 0; i < 50; ++i) {
        sources[0].push_back({1'000'000 + 1000 * i, i, 200 + i});
        sources[1].push_back({1'000'100 + 1000 * i, i, i});
    }
    offer(rig, sources);
    rig.settle();
    EXPECT_EQ(rig.count(Reason::kEcho), 50U);
}

TEST_F(Capture, settles_what_it_has_read_ahead_as_stopped) {
    Layout layout = captures(1, 2, 8);
    Rig rig(layout);
    Sources sources(2);
    for (std::uint32_t i = 0; i < 8; ++i) {
        sources[0].push_back({100 + i, i, i});
        sources[1].push_back({1'000'000 + i, 100 + i, 100 + i});
    }
    offer(rig, sources);
    rig.poll();
    EXPECT_EQ(rig.received(), 8U);
    rig.worker().settle_leftovers();
    EXPECT_EQ(rig.received(), 16U);
    EXPECT_EQ(rig.count(Reason::kNew), 8U);
    EXPECT_EQ(rig.count(Reason::kStopped), 8U);
    EXPECT_EQ(rig.total(Reason::kStopped).bytes, 8 * (packet(1).size() + 4));
    rig.sent(2);
    rig.poll();  // checks that the counters balance
}

}  // namespace
}  // namespace unecho::test
