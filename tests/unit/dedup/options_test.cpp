// SPDX-License-Identifier: BSD-3-Clause
#include "captures/dedup/options.h"

#include <gtest/gtest.h>

namespace unecho::dedup {
namespace {

using config::Engine;
using packet::KeyMode;

// Return the error, "" if the options are allowed.
std::string problem(const Options& options) {
    const Status status = check(options);
    EXPECT_TRUE(status || status.error().code == Errc::kConfig);
    return status ? "" : status.error().context;
}

TEST(options, defaults_are_those_of_the_appliance) {
    const Options options;
    EXPECT_EQ(problem(options), "");
    EXPECT_EQ(options.key_mode(), KeyMode::kPacket);
    EXPECT_EQ(options.window_time(), 50 * kMillisecond);
    EXPECT_EQ(options.window_count(), filter::kAnyCount);
    EXPECT_EQ(options.echo_policy(), filter::EchoPolicy::kFixed);
    EXPECT_EQ(options.false_drop(), 1e-6);
}

TEST(options, a_count_alone_is_the_whole_window) {
    Options options;
    options.count = 5;
    EXPECT_EQ(options.window_time(), filter::kInfiniteWindow);
    options.window = kSecond;
    EXPECT_EQ(options.window_time(), kSecond);
    EXPECT_EQ(options.window_count(), 5u);
}

TEST(options, values_that_are_not_allowed_are_named) {
    Options options;
    options.window = 0;
    EXPECT_EQ(problem(options), "--window: 0; allowed: 1ns or more, or inf");
    options = {};
    options.count = 0;
    EXPECT_EQ(problem(options), "--count: 0; allowed: 1 or more packets");
    options = {};
    options.key = KeyMode::kFlow;
    options.first = 65;
    EXPECT_EQ(problem(options), "--first: 65; allowed: 1 to 64");
    options.first = 0;
    EXPECT_EQ(problem(options), "--first: 0; allowed: 1 to 64");
    options = {};
    options.max_false_drop = 0.51;
    EXPECT_EQ(problem(options), "--max-false-drop: 0.51; allowed: above 0 up to 0.5, as in 1e-6");
    for (const double value : {0.0, -1.0}) {
        options.max_false_drop = value;
        EXPECT_NE(problem(options).find("; allowed: above 0 up to 0.5"), std::string::npos);
    }
}

TEST(options, a_shard_has_a_seed_and_stays_exact) {
    Options options;
    options.shard = Shard{1, 1};  // one of one, so that a script may count from one
    EXPECT_EQ(problem(options),
              "--shard needs --seed-file, the same for all shards, by which all agree whose a "
              "packet is");
    options.seed = 1;
    EXPECT_EQ(problem(options), "");
    options.engine = Engine::kExact;
    EXPECT_EQ(problem(options), "");
    options.engine = Engine::kLine;
    EXPECT_EQ(problem(options),
              "--engine line: a filter of a part drops other packets by accident than one of all; "
              "allowed with --shard: exact");
    options.engine = Engine::kAuto;
    options.audit = true;
    EXPECT_EQ(problem(options), "--shard is for exact windows of time; leave out --audit");
    options.audit = false;
    options.count = 5;
    EXPECT_EQ(problem(options), "--shard is for exact windows of time; leave out --count");
    options.count = {};
    options.editcap = true;
    EXPECT_EQ(problem(options), "--shard is for exact windows of time; leave out --editcap");
}

TEST(options, audits_are_of_windows_of_time) {
    Options options;
    options.audit = true;
    EXPECT_EQ(problem(options), "");
    options.count = 5;
    EXPECT_EQ(problem(options), "--audit is for windows of time; leave out --count");
    options.editcap = true;
    EXPECT_EQ(problem(options), "--audit is for windows of time; leave out --editcap");
}

TEST(options, what_is_said_of_tunnels_is_in_the_filter) {
    Options options;
    EXPECT_FALSE(spec_of(options).tunnels.any());
    EXPECT_EQ(spec_of(options).tenant, std::nullopt);
    EXPECT_EQ(spec_of(options).key_bytes, std::nullopt);
    options.tunnels.add(packet::Encapsulation::kVxlan);
    options.vxlan_ports = {5000, 5001};
    options.tenant = packet::Tenant::kMatch;
    options.key_bytes = 96;
    const engines::FilterSpec spec = spec_of(options);
    EXPECT_EQ(spec.tunnels, options.tunnels);
    EXPECT_EQ(spec.vxlan_ports, options.vxlan_ports);
    EXPECT_EQ(spec.tenant, packet::Tenant::kMatch);
    EXPECT_EQ(spec.key_bytes, 96U);
}

TEST(options, filters_take_windows_of_time) {
    Options options;
    options.engine = Engine::kLine;
    EXPECT_EQ(problem(options), "");
    options.count = 5;
    EXPECT_EQ(problem(options).find("--count is for engine exact"), 0u);
    options.count.reset();
    for (const Nanoseconds window : {Nanoseconds{1}, filter::kInfiniteWindow}) {
        options.window = window;
        EXPECT_EQ(problem(options),
                  "--engine line takes a --window from 1us to 1h; engine exact takes any");
    }
    options = {};
    options.engine = Engine::kShbfX;
    EXPECT_NE(problem(options), "");
    options.key = KeyMode::kFlow;
    EXPECT_EQ(problem(options),
              "--engine: engine \"shbf-x\" counts packets of a flow; allowed: first from 2 to 57");
    options.first = 1;
    EXPECT_NE(problem(options), "");
    options.first = 2;
    EXPECT_EQ(problem(options), "");
}

TEST(options, editcap_takes_one_window_and_no_rules) {
    Options options;
    options.editcap = true;
    EXPECT_NE(problem(options), "");
    options.window = kSecond;
    EXPECT_EQ(problem(options), "");
    EXPECT_EQ(options.key_mode(), KeyMode::kFrame);
    options.count = 5;
    EXPECT_NE(problem(options), "");
    options.window.reset();
    EXPECT_EQ(problem(options), "");
    options.count = 1'000'001;
    EXPECT_NE(problem(options), "");
    options.count = 5;
    const auto with = [&](auto change) {
        Options changed = options;
        change(changed);
        return problem(changed);
    };
    EXPECT_NE(with([](Options& o) { o.key = KeyMode::kPacket; }), "");
    EXPECT_NE(with([](Options& o) { o.policy = config::Policy::kFixed; }), "");
    EXPECT_NE(with([](Options& o) { o.max_false_drop = 0.1; }), "");
    EXPECT_NE(with([](Options& o) { o.engine = Engine::kApbf; }), "");
    EXPECT_EQ(with([](Options& o) { o.engine = Engine::kExact; }), "");
}

}  // namespace
}  // namespace unecho::dedup
