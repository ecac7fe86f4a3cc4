// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/instance.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "support/every_engine.h"
#include "unit/engines/planned.h"

namespace unecho::engines {
namespace {

using test::case_name;
using test::every_engine;
using test::name_of;

FilterPlan plan_for(Engine engine, Policy policy = Policy::kFixed) {
    FilterSpec spec = echo_spec();
    spec.engine = engine;
    spec.policy = policy;
    spec.rate = 1e4;
    return planned(spec);
}

class Engines : public testing::TestWithParam<Engine> {};

TEST_P(Engines, are_built_in_the_memory_that_was_planned) {
    const FilterPlan plan = plan_for(GetParam());
    const Made instance(plan);
    EXPECT_EQ(instance->memory().size(), plan.instance_bytes);
    // The memory is zeroed, except for what filters keep before and after the keys' bits.
    auto memory = instance->memory();
    const std::size_t front = GetParam() == Engine::kLine          ? 16 << 10
                              : GetParam() == Engine::kFingerprint ? sizing::kFingerprintTableBytes
                              : GetParam() == Engine::kTlbf        ? sizing::kTlbfStateBytes
                              : GetParam() == Engine::kBtbf        ? filter::kCacheLine
                                                                   : 0;
    const std::size_t back = GetParam() == Engine::kBtbf ? filter::kCacheLine : 0;
    ASSERT_GT(memory.size(), front + back);
    memory = memory.subspan(front).first(memory.size() - front - back);
    if (instance->segments() != nullptr) {
        memory = memory.first(memory.size() - filter::RingGeometry{}.bytes());
    }
    EXPECT_TRUE(
        std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(Engines, have_the_name_that_the_configuration_uses) {
    EXPECT_EQ(engine_name(plan_for(GetParam()).geometry), name_of(GetParam()));
}

// Kept state of other versions is compared with the text.
TEST(GeometryText, keeps_its_bytes) {
    const sizing::TlbfGeometry geometry{.k = 10, .l = 5, .max_slices = 8, .arena_bytes = 64 << 20};
    EXPECT_EQ(geometry_text(geometry), "k=10 l=5, up to 8 slices in 64 MiB");
    EXPECT_EQ(geometry_text(sizing::ApbfGeometry{4, 6, 12345}), "k=4 l=6, 12345 bits a slice");
}

// Under `refresh` the echo half a window later renews its key.
TEST_P(Engines, take_the_policy_of_the_plan) {
    for (const auto policy : {Policy::kFixed, Policy::kRefresh}) {
        const FilterPlan plan = plan_for(GetParam(), policy);
        const Made instance(plan);
        const pipeline::FilterContext context = instance->context(plan);
        const std::array<Digest, 1> digest{42};
        context.ops->test(context.filter, *context.ageing, digest, {0, 0}, 1, nullptr);
        context.ops->test(context.filter, *context.ageing, digest, {1, 0}, 1, nullptr);
        EXPECT_EQ(context.ops->counters(context.filter).insertions,
                  policy == Policy::kFixed ? 1U : 2U);
    }
}

TEST_P(Engines, predict_what_plans_and_reports_divide_by) {
    const sizing::Prediction of = plan_for(GetParam(), Policy::kFixed).prediction;
    EXPECT_GT(of.generation, 0U);
    EXPECT_GT(of.generation_keys, 0U);
    EXPECT_GT(of.shift_keys, 0U);
    EXPECT_GT(of.window_keys, 0U);
    EXPECT_GT(of.bytes, 0U);
    EXPECT_GT(of.bits_per_key, 0);
    EXPECT_GT(of.lines_per_packet, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Engines, testing::ValuesIn(every_engine()), case_name);

// The geometry is for the flow's packets that pass. In its filter context it counts them itself,
// one digest for each flow, and sets the same bits as the filter alone.
TEST(FilterInstance, of_the_counting_engine_counts_a_flow_by_one_digest) {
    for (const auto engine : {Engine::kShbfX, Engine::kApbbf}) {
        EXPECT_EQ(info_of(engine).counts_packets, engine == Engine::kShbfX);
    }
    constexpr unsigned kFirst = 3;
    FilterSpec spec = echo_spec();
    spec.engine = Engine::kShbfX;
    spec.key = packet::KeyMode::kFlow;
    spec.first = kFirst;
    const FilterPlan plan = planned(spec);
    EXPECT_EQ(std::get<sizing::ShbfXWindowGeometry>(plan.geometry).c, kFirst);
    EXPECT_LE(plan.prediction.false_drop, 1e-6);
    const Made instance(plan);
    const Made alone(plan);
    const pipeline::FilterContext context = instance->context(plan);
    const std::array<Digest, 6> digests{11, 11, 22, 11, 11, 22};
    const std::array<Nanoseconds, 6> times{1, 1, 2, 3, 3, 3};
    EXPECT_EQ(
        context.ops->test(context.filter, *context.ageing, digests, {0, 0}, context.first, nullptr)
            .echoes,
        0b010000U);
    EXPECT_EQ(context.ops
                  ->test_timed(context.filter, *context.ageing, digests, times.data(),
                               context.first, nullptr)
                  .echoes,
              0b111011U);
    auto& filter = *static_cast<filter::ShbfXWindow*>(alone->context(plan).filter);
    filter.test_and_insert_first_burst(digests, kFirst);
    filter.test_and_insert_first_burst(digests, kFirst);
    EXPECT_TRUE(
        std::equal(alone->memory().begin(), alone->memory().end(), instance->memory().begin()));
}

TEST(FilterInstance, has_segments_where_its_engine_has) {
    const Made apbf(plan_for(Engine::kApbf));
    const Made apbbf(plan_for(Engine::kApbbf));
    const Made shbf(plan_for(Engine::kShbf));
    const Made shbf_x(plan_for(Engine::kShbfX));
    for (const auto& instance : {&apbf, &apbbf, &shbf, &shbf_x}) {
        ASSERT_NE((*instance)->segments(), nullptr);
        EXPECT_EQ((*instance)->segments()->geometry().bytes(), (*instance)->memory().size());
    }
    for (const auto engine : {Engine::kExact, Engine::kTlbf, Engine::kBtbf, Engine::kFingerprint}) {
        EXPECT_EQ(Made(plan_for(engine))->segments(), nullptr);
    }
}

TEST(FilterInstance, of_an_engine_that_keeps_times_needs_no_generations) {
    const auto by_generation = [](Engine engine) {
        return plan_for(engine).engine().by_generation;
    };
    EXPECT_TRUE(by_generation(Engine::kLine));
    EXPECT_TRUE(by_generation(Engine::kFingerprint));
    EXPECT_TRUE(by_generation(Engine::kApbf));
    EXPECT_TRUE(by_generation(Engine::kBtbf));
    EXPECT_TRUE(by_generation(Engine::kShbf));
    EXPECT_TRUE(by_generation(Engine::kShbfX));
    EXPECT_FALSE(by_generation(Engine::kTlbf));
    EXPECT_FALSE(by_generation(Engine::kExact));
}

TEST(FilterInstance, of_the_lane_s_key_and_first_are_the_plan_s) {
    FilterPlan plan = plan_for(Engine::kApbbf);
    plan.key.mode = packet::KeyMode::kFlowBidir;
    plan.first = 3;
    plan.clock.length = 777;
    const Made instance(plan);
    const pipeline::FilterContext context = instance->context(plan);
    EXPECT_EQ(context.key.mode, packet::KeyMode::kFlowBidir);
    EXPECT_EQ(context.first, 3U);
    EXPECT_EQ(context.ageing->published_at(7770).turns, 10U);
}

TEST(FilterInstance, of_a_geometry_that_no_filter_takes_is_an_error_that_names_it) {
    FilterPlan plan = plan_for(Engine::kApbf);
    plan.geometry = sizing::ApbfGeometry{100, 100, 4096};
    const test::FilterMemory memory(plan.instance_bytes);
    const auto instance = FilterInstance::make(plan, memory.span());
    ASSERT_FALSE(instance);
    EXPECT_EQ(instance.error().code, Errc::kInvalidArgument);
    EXPECT_NE(instance.error().context.find("\"echo\""), std::string::npos);
    EXPECT_NE(instance.error().context.find("k + l = 200"), std::string::npos);
    EXPECT_FALSE(bytes_of(plan.setup()));
}

}  // namespace
}  // namespace unecho::engines
