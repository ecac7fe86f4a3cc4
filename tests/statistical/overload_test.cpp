// SPDX-License-Identifier: BSD-3-Clause
// The benefit of a shorter window: 1 Mpps of new packets in filters planned for 300 kpps, with a
// window of 5 ms and a bound of 1e-3. Each packet has a copy, most of them about 200 us later
// (lognormal). And up to the planned rate the window stays whole.
#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/bounds.h"
#include "support/every_engine.h"
#include "support/planned_engine.h"
#include "support/seed.h"

namespace unecho::test::overload_test {
namespace {

using config::Engine;
using config::OnFull;

constexpr Nanoseconds kWindow = 5 * kMillisecond;
constexpr double kPlanned = 300'000;
constexpr double kOriginals = 1e6;
constexpr double kBound = 1e-3;
constexpr unsigned kPackets = 60'000;

struct Packet {
    Nanoseconds time;
    Digest digest;
    bool copy;
    Nanoseconds age;

    bool operator>(const Packet& other) const { return time > other.time; }
};

// Return originals at random times, so many a second, each with one copy.
std::vector<Packet> traffic(double originals) {
    constexpr double kMedian = 200'000;
    constexpr double kSigma = 1.2;
    std::mt19937_64 random(seed());
    std::exponential_distribution<double> gap(originals / kSecond);
    std::lognormal_distribution<double> delay(std::log(kMedian), kSigma);
    std::priority_queue<Packet, std::vector<Packet>, std::greater<>> copies;
    std::vector<Packet> out;
    double now = kSecond;
    while (out.size() < kPackets) {
        now += gap(random);
        const auto time = static_cast<Nanoseconds>(now);
        for (; !copies.empty() && copies.top().time <= time; copies.pop()) {
            out.push_back(copies.top());
        }
        const Digest digest = random();
        out.push_back({time, digest, false, 0});
        const auto age = static_cast<Nanoseconds>(delay(random));
        copies.push({time + age, digest, true, age});
    }
    return out;
}

struct Outcome {
    std::uint64_t originals = 0;
    std::uint64_t false_drops = 0;
    std::uint64_t young_copies = 0;  // younger than the window
    std::uint64_t found = 0;         // found young copies
    std::uint64_t doubts = 0;        // doubted young copies
    filter::WindowState window;

    [[nodiscard]] double share_found() const {
        return static_cast<double>(found) / static_cast<double>(young_copies);
    }
};

Outcome run(Engine engine, OnFull on_full, double originals) {
    PlannedEngine tested({.engine = engine,
                          .targets = {kWindow, kPlanned, kBound},
                          .first = engine == Engine::kShbfX ? 2U : 1U,
                          .on_full = on_full,
                          .bounded = true});
    const bool counts =
        engine == Engine::kShbfX;  // two packets of a flow pass, the third is an echo
    std::vector<Packet> packets = traffic(counts ? originals / 2 : originals);
    if (counts) {
        std::vector<Packet> thrice;
        for (const Packet& packet : packets) {
            thrice.push_back(packet);
            if (!packet.copy) {
                thrice.push_back(packet);
            }
        }
        packets = std::move(thrice);
    }
    Outcome out;
    for (const Packet& packet : packets) {
        const auto answers = tested.observe({&packet.digest, 1}, &packet.time);
        out.originals += packet.copy ? 0 : 1;
        out.false_drops += !packet.copy && answers.echoes != 0 ? 1 : 0;
        const bool young = packet.copy && packet.age < kWindow;
        out.young_copies += young ? 1 : 0;
        out.found += young && answers.echoes != 0 ? 1 : 0;
        out.doubts += young && answers.doubts != 0 ? 1 : 0;
    }
    out.window = tested.window(packets.back().time);
    return out;
}

void expect_bound(const Outcome& out) {
    EXPECT_LE(static_cast<double>(out.false_drops),
              binomial_bounds(static_cast<double>(out.originals), kBound).high);
}

// The window shrinks to a third, and most copies are younger than that.
class AboveThePlannedRate : public testing::TestWithParam<Engine> {};

TEST_P(AboveThePlannedRate, nearly_all_copies_are_found_in_the_shorter_window) {
    SCOPED_TRACE(seed_note());
    const bool grows = GetParam() == Engine::kTlbf;
    const Outcome out = run(GetParam(), grows ? OnFull::kGrow : OnFull::kShrink, kOriginals);
    expect_bound(out);
    EXPECT_GT(out.share_found(), 0.93);
    RecordProperty("found", std::to_string(out.share_found()));
    EXPECT_LE(out.window.shortest, kWindow);
    if (!grows && GetParam() != Engine::kExact) {
        EXPECT_LT(out.window.shortest, kWindow / 2);
        EXPECT_GT(out.window.shortest, kWindow / 4);
        EXPECT_GT(out.window.early_turns, 10U);
    }
}

TEST_P(AboveThePlannedRate, up_to_it_the_window_is_the_configured_one) {
    SCOPED_TRACE(seed_note());
    const bool grows = GetParam() == Engine::kTlbf;
    for (const double rate : {kPlanned / 10, kPlanned}) {  // counting the copies
        const Outcome out = run(GetParam(), grows ? OnFull::kGrow : OnFull::kShrink, rate / 2);
        expect_bound(out);
        EXPECT_EQ(out.window.shortest, kWindow);
        EXPECT_EQ(out.window.early_turns, 0U);
        // An original that was dropped by accident may leave nothing to find.
        EXPECT_GE(out.found + out.doubts + out.false_drops, out.young_copies);
        EXPECT_GT(out.share_found(), 0.98);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, AboveThePlannedRate, testing::ValuesIn(every_engine()), case_name);

// The alternative: with the whole window, nearly all copies are doubts.
TEST(Doubt, above_the_planned_rate_forwards_nearly_all_copies) {
    SCOPED_TRACE(seed_note());
    for (const Engine engine : {Engine::kLine, Engine::kApbbf, Engine::kApbf, Engine::kShbf}) {
        const Outcome out = run(engine, OnFull::kDoubt, kOriginals);
        expect_bound(out);
        EXPECT_EQ(out.window.shortest, kWindow);
        EXPECT_EQ(out.found + out.doubts, out.young_copies);
        EXPECT_LT(out.share_found(), 0.2) << name_of(engine);
    }
}

}  // namespace
}  // namespace unecho::test::overload_test
