// SPDX-License-Identifier: BSD-3-Clause
// Flows of two taps on random streams against exact sets: equal numbers where no accidental match
// is expected, and never too many where they are everywhere.
#include "filters/tap_report.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "streams.h"
#include "support/filter_memory.h"

namespace unecho::test::tap_report_test {
namespace {

using filter::SetOfTwo;
using filter::TapCounts;

// The flows of a window's packets, for each tap.
struct Exact {
    std::set<Digest> a;
    std::set<Digest> b;

    // Return true if the flow was new to the tap.
    bool add(Digest flow, SetOfTwo tap) {
        return (tap == SetOfTwo::kFirst ? a : b).insert(flow).second;
    }
    [[nodiscard]] TapCounts counts() const {
        TapCounts out;
        for (const Digest flow : a) {
            (b.contains(flow) ? out.both : out.only_a)++;
        }
        out.only_b = b.size() - out.both;
        return out;
    }
};

struct Stream {
    explicit Stream(Random& r) : random(r), skew(1 + r.below(10)) {}

    // Mostly packets of earlier flows; more on one tap than on the other.
    void next() {
        if (pool.empty() || random.one_in(3)) {
            pool.push_back(random.bits());
        }
        flow = pool[random.below(pool.size())];
        tap = random.below(11) < skew ? SetOfTwo::kFirst : SetOfTwo::kSecond;
    }

    Random& random;
    std::uint64_t skew;
    std::vector<Digest> pool;
    Digest flow = 0;
    SetOfTwo tap = SetOfTwo::kFirst;
};

struct Instance {
    explicit Instance(const filter::ShbfASpec& spec, Nanoseconds window)
        : params(*filter::ShbfAParams::make(spec)),
          window(window),
          memory(std::make_unique<FilterMemory>(filter::TapReport::bytes(params))),
          report(params, window, memory->span()) {}

    // Replace the report by one over a copy of its memory, at another address.
    void hand_over() {
        ASSERT_TRUE(filter::TapReport::is_consistent(params, memory->span()));
        auto copy = std::make_unique<FilterMemory>(memory->span().size());
        std::memcpy(copy->span().data(), memory->span().data(), memory->span().size());
        memory = std::move(copy);
        std::destroy_at(&report);
        std::construct_at(&report, params, window, memory->span(), filter::Contents::kRestored);
    }

    filter::ShbfAParams params;
    Nanoseconds window;
    std::unique_ptr<FilterMemory> memory;
    filter::TapReport report;
};

// At most 600 flows in 200,003 bits with k = 16: three regions match with 3 * (0.05)^16.
TEST(tap_report_property, in_a_wide_array_numbers_are_those_of_exact_sets) {
    SCOPED_TRACE(seed_note());
    for (unsigned number = 0; number < 100; ++number) {
        SCOPED_TRACE("case " + std::to_string(number));
        Random random(number);
        const Nanoseconds window = 1 + random.below(1000);
        Instance i({.m = 200'003, .k = 16}, window);
        Stream stream(random);
        Exact exact;
        TapCounts last;
        TapCounts before;
        Nanoseconds now = random.below(1'000'000);
        std::uint64_t present = now / window;
        for (unsigned step = 0; step < 600; ++step) {
            now += random.one_in(20) ? random.below(3 * window) : random.below(2 + window / 50);
            if (now / window != present) {
                last = now / window == present + 1 ? exact.counts() : TapCounts{};
                before += exact.counts();
                exact = {};
                present = now / window;
            }
            if (random.one_in(30)) {
                i.hand_over();
            }
            stream.next();
            i.report.advance(now);
            i.report.add(stream.flow, stream.tap);
            exact.add(stream.flow, stream.tap);
            const filter::TapSummary summary = i.report.summary();
            ASSERT_EQ(summary.present.counts, exact.counts());
            ASSERT_EQ(summary.present.number, present);
            ASSERT_EQ(summary.before, before);
            if (summary.ended) {
                ASSERT_EQ(summary.last.number, present - 1);
                ASSERT_EQ(summary.last.counts, last);
            }
        }
    }
}

// Odd arrays of a few to a few hundred bits.
TEST(tap_report_property, in_a_small_array_never_counts_more_flows_than_there_are) {
    SCOPED_TRACE(seed_note());
    std::uint64_t lost = 0;
    for (unsigned number = 0; number < 300; ++number) {
        SCOPED_TRACE("case " + std::to_string(number));
        Random random(1000 + number);
        Instance i({.m = 1 + random.below(900),
                    .k = 1 + static_cast<unsigned>(random.below(12)),
                    .w_bar = 3 + static_cast<unsigned>(random.below(55))},
                   1);
        Stream stream(random);
        Exact exact;
        Nanoseconds now = 0;
        for (unsigned step = 0; step < 400; ++step) {
            if (random.one_in(100)) {
                ++now;
                exact = {};
            }
            i.report.advance(now);
            stream.next();
            const TapCounts before = i.report.summary().present.counts;
            const bool news = exact.add(stream.flow, stream.tap);
            i.report.add(stream.flow, stream.tap);
            const TapCounts after = i.report.summary().present.counts;
            ASSERT_LE(after.only_a, exact.a.size() + exact.b.size()) << "below 0";
            ASSERT_LE(after.only_b, exact.a.size() + exact.b.size()) << "below 0";
            ASSERT_LE(after.flows(), exact.counts().flows());
            if (!news) {
                ASSERT_EQ(after, before) << "further packets change nothing";
            }
            lost += exact.counts().flows() - after.flows();
        }
    }
    EXPECT_GT(lost, 1000U) << "accidents were meant to be everywhere";
}

}  // namespace
}  // namespace unecho::test::tap_report_test
