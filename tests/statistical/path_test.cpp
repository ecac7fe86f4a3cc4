// SPDX-License-Identifier: BSD-3-Clause
// The interval that a report of paths states of a loss holds the true loss of the path in at least
// 93 of 100 runs, and is not wider than it needs to be, whatever the delays, the duplicates and the
// sample, with a path that is stated and with one that is found.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dedup/engines/path_report.h"
#include "dedup/pipeline/paths/path_table.h"
#include "support/bounds.h"
#include "support/path_traffic.h"
#include "support/seed.h"

namespace unecho::engines {
namespace {

constexpr unsigned kRuns = 100;
constexpr unsigned kBits = 2;
constexpr Nanoseconds kWindow = 50 * kMillisecond;

struct Setting {
    const char* name;
    test::TrafficSpec traffic;
    bool stated = false;
};

struct Held {
    unsigned runs = 0;   // whose interval holds the loss
    double width = 0;    // of the interval, mean
    double packets = 0;  // judged in a run, mean
    double missing = 0;  // in all runs
};

// Return what the intervals hold, there and back.
std::array<Held, 2> intervals_of(const Setting& setting) {
    std::array<Held, 2> held{};
    for (unsigned run = 0; run < kRuns; ++run) {
        test::TrafficSpec traffic = setting.traffic;
        traffic.one_way = setting.stated;
        traffic.seed = test::seed() + run;
        pipeline::PathSpec spec = test::path_spec(2, kWindow);
        spec.stated = setting.stated;
        spec.bits = kBits;
        spec.secret = traffic.seed * 2 + 1;
        spec.memory = 1 << 20;
        test::MeasuredPaths paths(spec);
        const test::PathTraffic made(traffic);
        for (const test::Sight& sight : made.sights()) {
            paths.show(sight);
        }
        paths.expire(~Nanoseconds{0});
        for (unsigned from = 0; from < 2; ++from) {
            PathFacts facts;
            facts.count = paths.at(from, 1 - from);
            facts.sample = paths.totals().sample();
            const PathReport report = path_report(std::move(facts));
            Held& one = held.at(from);
            one.runs += report.loss.low <= traffic.loss && traffic.loss <= report.loss.high ? 1 : 0;
            one.width += (report.loss.high - report.loss.low) / kRuns;
            one.packets += static_cast<double>(report.judged) / kRuns;
            one.missing += static_cast<double>(report.facts.count.counters.missing);
        }
    }
    return held;
}

// Hosts are on either side in equal numbers, so that half of the packets pass both points.
test::TrafficSpec traffic_with(double loss) {
    return {.packets = 24'000,
            .hosts = 24,
            .loss = loss,
            .interval = 100 * kMicrosecond,
            .jitter = kMillisecond};
}

TEST(PathReport, interval_holds_the_loss_of_the_path) {
    SCOPED_TRACE(test::seed_note());
    std::vector<Setting> settings;
    for (const bool stated : {false, true}) {
        for (const double loss : {1e-2, 1e-3, 1e-4}) {
            settings.push_back({stated ? "stated" : "found", traffic_with(loss), stated});
        }
        settings.push_back({"duplicates", traffic_with(1e-2), stated});
        settings.back().traffic.duplicates = 0.05;
        settings.push_back({"retransmissions", traffic_with(1e-2), stated});
        settings.back().traffic.retransmitted = 0.05;
        settings.push_back({"reordering", traffic_with(1e-2), stated});
        settings.back().traffic.jitter = 20 * kMillisecond;
        settings.push_back({"coarse times", traffic_with(1e-2), stated});
        settings.back().traffic.uncertainty = 100 * kMicrosecond;
    }
    for (const Setting& setting : settings) {
        const double loss = setting.traffic.loss;
        SCOPED_TRACE(testing::Message() << setting.name << ", " << setting.stated << ", " << loss);
        const std::array<Held, 2> held = intervals_of(setting);
        for (unsigned from = 0; from < (setting.stated ? 1 : 2); ++from) {
            const Held& one = held.at(from);
            EXPECT_GT(one.packets, setting.stated ? 5000 : 500);
            EXPECT_GE(one.runs, 93U);
            // An exact interval is wider than that of a normal distribution by 1 to 4 packets.
            const double normal = 2 * 1.96 * std::sqrt(loss * (1 - loss) / one.packets);
            EXPECT_GE(one.width, normal);
            EXPECT_LE(one.width, normal + 4 / one.packets);
            // All runs together find the loss without a bias.
            const test::Counts bounds = test::binomial_bounds(one.packets * kRuns, loss);
            EXPECT_GE(one.missing, bounds.low);
            EXPECT_LE(one.missing, bounds.high);
        }
    }
}

}  // namespace
}  // namespace unecho::engines
