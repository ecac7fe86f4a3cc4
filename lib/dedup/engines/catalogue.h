// SPDX-License-Identifier: BSD-3-Clause
// What can be had of each engine: a geometry for targets, a prediction, a filter over memory. A new
// engine is a name and a row in dedup/engines/engine.h, a line in the two lists here, a block in
// descriptors.h and a line in dedup/pipeline/engine_ops.cpp. What is true of one engine alone
// stands in its row or its block; nobody else asks which engine it is, but for "exact", which knows
// each match for certain, and in `unecho pcap` is a table that knows originals too.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "dedup/pipeline/engine_ops.h"
#include "filters/sizing/sizing.h"
#include "filters/sizing/window/apbbf.h"
#include "filters/sizing/window/apbf.h"
#include "filters/sizing/window/btbf.h"
#include "filters/sizing/window/exact.h"
#include "filters/sizing/window/fingerprint.h"
#include "filters/sizing/window/line.h"
#include "filters/sizing/window/shbf_window.h"
#include "filters/sizing/window/shbf_x_window.h"
#include "filters/sizing/window/tlbf.h"
#include "filters/window/exact.h"
#include "filters/window/fingerprint.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "filters/window/segmented/btbf.h"
#include "filters/window/segmented/shbf_window.h"
#include "filters/window/segmented/shbf_x_window.h"
#include "filters/window/segmented/tlbf.h"

namespace unecho::engines {

// In the order of the enum, without "auto".
using Geometry =
    std::variant<sizing::LineGeometry, sizing::FingerprintGeometry, sizing::ApbbfGeometry,
                 sizing::ApbfGeometry, sizing::TlbfGeometry, sizing::BtbfGeometry,
                 sizing::ShbfWindowGeometry, sizing::ShbfXWindowGeometry, sizing::ExactGeometry>;
using AnyFilter = std::variant<filter::LineFilter, filter::FingerprintFilter, filter::Apbbf,
                               filter::Apbf, filter::Tlbf, filter::TimedBtbf, filter::ShbfWindow,
                               filter::ShbfXWindow, filter::Exact>;

// Not for "auto": that is candidates.h. Only an engine that counts packets depends on the packets
// of a flow that pass.
Result<Geometry> size(Engine engine, const sizing::Targets& targets, unsigned first = 1);
sizing::Prediction predict(const Geometry& geometry, Nanoseconds window,
                           std::optional<double> keys_per_second);

// Whole, from what is given. Errc::kConfig for an engine that takes none.
Result<Geometry> geometry_of(Engine engine, const GivenGeometry& given, Nanoseconds window);

[[nodiscard]] Engine engine_of(const Geometry& geometry);
[[nodiscard]] std::string engine_name(const Geometry& geometry);

// What the letters of the papers are.
std::string geometry_text(const Geometry& geometry);

// What a new packet costs in the filter, measured: in nanoseconds, with its lines in the L2 cache,
// in the L3 cache or in memory, as so many bytes of filter are.
double packet_ns(const Geometry& geometry, const sizing::Prediction& prediction,
                 std::uint64_t bytes);

[[nodiscard]] constexpr filter::EchoPolicy echo_policy(Policy policy) {
    return policy == Policy::kRefresh ? filter::EchoPolicy::kRefresh : filter::EchoPolicy::kFixed;
}

// What one packet at most puts into the filter or renews there. An echo of a flow's first n packets
// renews with policy "refresh" all n of them (filters/first_packets.h), but in an engine that
// counts them.
unsigned most_keys_per_packet(Engine engine, filter::EchoPolicy policy, unsigned first);

struct FilterSetup {
    Geometry geometry;
    Nanoseconds window = 0;
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;
    filter::Isa isa = filter::Isa::kScalar;
};

// Standard deviations of random arrivals that a generation has room for: at the planned rate one in
// 10^9 ends early.
inline constexpr double kRandomArrivals = 6;

// When the generations of such a filter turn: of this length, with so many keys at most; absent:
// any number. For engines that age by generations.
filter::AgeingSpec ageing_of(const FilterSetup& setup, Nanoseconds length,
                             std::optional<std::uint64_t> load);

// What it is planned to hold at most, as EngineOps::fill tells what it holds: with generations that
// take so many keys, the load of one; without generations what its memory has room for.
std::uint64_t planned_fill(const FilterSetup& setup, std::uint64_t keys);

// What gives way with such a filter when it is full, where that is asked for and it can; absent: it
// forgets its oldest packet. "auto" may have become an engine that does.
std::optional<OnFull> on_full_with(std::optional<OnFull> asked, const Geometry& geometry);

// The least chance of an accident that the filter ever states for a match, that of a digest alone
// in it; 0 for engines that cannot judge.
double least_chance(const FilterSetup& setup);

// What make_filter() needs, line-aligned and zeroed, spare segments too. Errc::kInvalidArgument if
// no filter can be built by this geometry.
Result<std::uint64_t> bytes_of(const FilterSetup& setup);
// Kept memory only if is_consistent() said so.
Result<AnyFilter> make_filter(const FilterSetup& setup, std::span<std::byte> memory,
                              filter::Contents contents = filter::Contents::kZero);
// A filter can go on with what another one, made by the same setup, left in this memory. Never of
// an engine that is not kept.
bool is_consistent(const FilterSetup& setup, std::span<std::byte> memory);

const pipeline::EngineOps& ops_of(const AnyFilter& filter);

}  // namespace unecho::engines
