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

TEST(memory, line_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        const Result<LineGeometry> found = size_line(targets);
        ASSERT_TRUE(found.has_value()) << found.error().context;
        const auto params = filter::LineParams::make({.M = found->M,
                                                      .k = found->k,
                                                      .b = found->b,
                                                      .phases = found->phases,
                                                      .lines = found->lines});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::LineFilter::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

TEST(memory, shbf_x_window_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        const Result<ShbfXWindowGeometry> found = size_shbf_x_window(targets, 3);
        ASSERT_TRUE(found.has_value()) << found.error().context;
        const auto params = filter::ShbfXWindowParams::make(
            {.k = found->k, .l = found->l, .m = found->m, .c = found->c, .spares = 0});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::ShbfXWindow::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

TEST(memory, apbf_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        const Result<ApbfGeometry> found = size_apbf(targets);
        ASSERT_TRUE(found.has_value());
        const auto params =
            filter::ApbfParams::make({.k = found->k, .l = found->l, .m = found->m, .spares = 0});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::Apbf::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

TEST(memory, apbf_of_any_size_takes_what_is_predicted) {
    for (const std::uint64_t m : {64U, 65U, 512U, 513U, 10'007U}) {
        const auto params = filter::ApbfParams::make({.k = 3, .l = 5, .m = m, .spares = 0});
        ASSERT_TRUE(params.has_value());
        EXPECT_EQ(filter::Apbf::bytes(*params),
                  predict(ApbfGeometry{3, 5, m}, kSecond, std::nullopt).bytes);
    }
}

TEST(memory, shbf_window_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        const Result<ShbfWindowGeometry> found = size_shbf_window(targets);
        ASSERT_TRUE(found.has_value()) << found.error().context;
        const auto params = filter::ShbfWindowParams::make(
            {.k = found->k, .l = found->l, .m = found->m, .b = found->b, .spares = 0});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::ShbfWindow::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
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

TEST(memory, tlbf_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        if (targets.window < kMicrosecond) {
            continue;  // too few whole nanoseconds for generations
        }
        const Result<TlbfGeometry> found = size_tlbf(targets);
        ASSERT_TRUE(found.has_value()) << found.error().context;
        const auto params = filter::TlbfParams::make({.k = found->k,
                                                      .l = found->l,
                                                      .window = targets.window,
                                                      .capacity = found->capacity,
                                                      .arena_bytes = found->arena_bytes,
                                                      .max_slices = found->max_slices});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::Tlbf::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

TEST(memory, apbbf_takes_what_is_predicted) {
    for (const Targets& targets : kMemoryTargets) {
        const Result<ApbbfGeometry> found = size_apbbf(targets);
        ASSERT_TRUE(found.has_value());
        const auto params = filter::ApbbfParams::make({.k = found->k,
                                                       .l = found->l,
                                                       .B = found->B,
                                                       .b = found->b,
                                                       .blocks = found->blocks,
                                                       .spares = 0});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::Apbbf::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
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

TEST(memory, exact_takes_what_is_predicted) {
    for (const Targets& targets :
         {Targets{50 * kMillisecond, 1e6, 1e-2}, Targets{1, 1, 1e-3}, Targets{kSecond, 1.7e9, 0.1},
          Targets{3'333'333, 7'777.7, 1e-3}}) {
        const Result<ExactGeometry> found = size_exact(targets);
        ASSERT_TRUE(found.has_value());
        const auto params =
            filter::ExactParams::make({.entries = found->entries, .window = targets.window});
        ASSERT_TRUE(params.has_value()) << params.error().context;
        EXPECT_EQ(filter::Exact::bytes(*params),
                  predict(*found, targets.window, targets.keys_per_second).bytes);
    }
}

}  // namespace
}  // namespace unecho::sizing::memory_test
