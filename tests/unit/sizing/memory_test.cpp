// SPDX-License-Identifier: BSD-3-Clause
// Sizing must not include filters, so this test joins them. Filters accept the sized geometries,
// and need the predicted bytes (without spare segments).
#include <vector>

#include <gtest/gtest.h>

#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/apbf.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/sizing/window/shbf_x_window.h"
#include "filters/sizing/window/tlbf.h"
#include "filters/window/exact.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "filters/window/segmented/shbf_x_window.h"
#include "filters/window/segmented/tlbf.h"

namespace unecho::sizing::memory_test {
namespace {

const std::vector<Targets> kMemoryTargets{
    {50 * kMillisecond, 1e6, 1e-2},
    {50 * kMillisecond, 1e6, 1e-6},
    {kSecond, 14.88e6, 1e-9},
    {kSecond, 148.8e6, 0.5},
    {3'333'333, 7'777.7, 1e-3},
    {kMicrosecond, 1e6, 1e-6},
    {1, 1, 1e-3},
    {7, 1e12, 0.1},
    {kMaxWindow, 1e-9, 1e-12},
};

// Expect filters of the sizes found for these targets to take the bytes that are predicted.
template <typename Filter, typename Params, typename Size, typename SpecOf>
void expect_predicted(const std::vector<Targets>& all, Size size, SpecOf spec_of) {
    for (const Targets& targets : all) {
        const auto found = size(targets);
        ASSERT_TRUE(found.has_value()) << found.error().context;
        const auto params = Params::make(spec_of(*found, targets));
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(Filter::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

TEST(memory, of_sizes_that_were_found_is_what_is_predicted) {
    expect_predicted<filter::LineFilter, filter::LineParams>(
        kMemoryTargets, [](const Targets& targets) { return size_line(targets); },
        [](const LineGeometry& g, const Targets&) -> filter::LineSpec {
            return {.M = g.M, .k = g.k, .b = g.b, .phases = g.phases, .lines = g.lines};
        });
    expect_predicted<filter::ShbfXWindow, filter::ShbfXWindowParams>(
        kMemoryTargets, [](const Targets& targets) { return size_shbf_x_window(targets, 3); },
        [](const ShbfXWindowGeometry& g, const Targets&) -> filter::ShbfXWindowSpec {
            return {.k = g.k, .l = g.l, .m = g.m, .c = g.c, .spares = 0};
        });
    expect_predicted<filter::Apbf, filter::ApbfParams>(
        kMemoryTargets, [](const Targets& targets) { return size_apbf(targets); },
        [](const ApbfGeometry& g, const Targets&) -> filter::ApbfSpec {
            return {.k = g.k, .l = g.l, .m = g.m, .spares = 0};
        });
    expect_predicted<filter::ShbfWindow, filter::ShbfWindowParams>(
        kMemoryTargets, [](const Targets& targets) { return size_shbf_window(targets); },
        [](const ShbfWindowGeometry& g, const Targets&) -> filter::ShbfWindowSpec {
            return {.k = g.k, .l = g.l, .m = g.m, .b = g.b, .spares = 0};
        });
    expect_predicted<filter::Apbbf, filter::ApbbfParams>(
        kMemoryTargets, [](const Targets& targets) { return size_apbbf(targets); },
        [](const ApbbfGeometry& g, const Targets&) -> filter::ApbbfSpec {
            return {.k = g.k, .l = g.l, .B = g.B, .b = g.b, .blocks = g.blocks, .spares = 0};
        });
    std::vector<Targets> long_enough = kMemoryTargets;  // for generations of whole nanoseconds
    std::erase_if(long_enough, [](const Targets& t) { return t.window < kMicrosecond; });
    expect_predicted<filter::Tlbf, filter::TlbfParams>(
        long_enough, [](const Targets& targets) { return size_tlbf(targets); },
        [](const TlbfGeometry& g, const Targets& targets) -> filter::TlbfSpec {
            return {.k = g.k,
                    .l = g.l,
                    .window = targets.window,
                    .capacity = g.capacity,
                    .arena_bytes = g.arena_bytes,
                    .max_slices = g.max_slices};
        });
    expect_predicted<filter::Exact, filter::ExactParams>(
        {{50 * kMillisecond, 1e6, 1e-2},
         {1, 1, 1e-3},
         {kSecond, 1.7e9, 0.1},
         {3'333'333, 7'777.7, 1e-3}},
        [](const Targets& targets) { return size_exact(targets); },
        [](const ExactGeometry& g, const Targets& targets) -> filter::ExactSpec {
            return {.entries = g.entries, .window = targets.window};
        });
}

TEST(memory, apbf_of_any_size_takes_what_is_predicted) {
    for (const std::uint64_t m : {64U, 65U, 512U, 513U, 10'007U}) {
        const auto params = filter::ApbfParams::make({.k = 3, .l = 5, .m = m, .spares = 0});
        ASSERT_TRUE(params.has_value());
        EXPECT_EQ(filter::Apbf::bytes(*params),
                  predict(ApbfGeometry{3, 5, m}, kSecond, std::nullopt).bytes);
    }
}

TEST(memory, shbf_window_of_any_size_takes_what_is_predicted) {
    for (const std::uint64_t m : {1U, 448U, 456U, 457U, 512U, 10'007U}) {
        const auto params =
            filter::ShbfWindowParams::make({.k = 3, .l = 5, .m = m, .b = 4, .spares = 0});
        ASSERT_TRUE(params.has_value());
        EXPECT_EQ(filter::ShbfWindow::bytes(*params),
                  predict(ShbfWindowGeometry{3, 5, m, 4}, kSecond, std::nullopt).bytes)
            << m;
    }
}

TEST(memory, apbbf_of_any_blocks_takes_what_is_predicted) {
    for (const unsigned B : {64U, 128U, 256U, 512U}) {
        for (const std::uint64_t blocks : {1U, 7U, 8U, 9U, 1'000U}) {
            const auto params = filter::ApbbfParams::make(
                {.k = 2, .l = 5, .B = B, .b = 4, .blocks = blocks, .spares = 0});
            ASSERT_TRUE(params.has_value());
            EXPECT_EQ(filter::Apbbf::bytes(*params),
                      predict(ApbbfGeometry{2, 5, B, 4, blocks}, kSecond, std::nullopt).bytes);
        }
    }
}

}  // namespace
}  // namespace unecho::sizing::memory_test
