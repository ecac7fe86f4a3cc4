// SPDX-License-Identifier: BSD-3-Clause
// Makes engines usable: a geometry for targets, a prediction, a filter over memory.
//
// Everything specific to one engine is in its row of engine.h or its block of descriptors.h, and
// its filter in the list of dedup/pipeline/any_filter.h. No other code tests for an engine, with
// one exception: "exact" is certain of each match, and in `unecho pcap` it is a table that also
// knows originals. CONTRIBUTING.md shows how to add an engine.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "dedup/engines/descriptors.h"
#include "dedup/engines/engine.h"
#include "dedup/engines/spec.h"
#include "dedup/pipeline/engine_ops.h"
#include "filters/sizing/sizing.h"

namespace unecho::engines {

// Return a geometry for the targets. Not for "auto": see planning/candidates.h. Only engines that
// count packets depend on `first`.
Result<Geometry> size(Engine engine, const sizing::Targets& targets, unsigned first = 1);
sizing::Prediction predict(const Geometry& geometry, Nanoseconds window,
                           std::optional<double> keys_per_second);

// Complete a given geometry. Errc::kConfig: the engine takes none.
Result<Geometry> geometry_of(Engine engine, const GivenGeometry& given, Nanoseconds window);

[[nodiscard]] std::string engine_name(const Geometry& geometry);

// Return the parameters by the letters of the papers. Kept state is compared by this text, also
// with that of other versions, so a change of it loses kept state.
std::string geometry_text(const Geometry& geometry);

// Return the measured time of a new packet in the filter, in nanoseconds. Its cache lines are in
// L2, L3 or memory, depending on the bytes of the filter.
double packet_ns(const Geometry& geometry, const sizing::Prediction& prediction,
                 std::uint64_t bytes);

[[nodiscard]] constexpr filter::EchoPolicy echo_policy(Policy policy) {
    return policy == Policy::kRefresh ? filter::EchoPolicy::kRefresh : filter::EchoPolicy::kFixed;
}

// Return how many keys one packet inserts or renews at most. With policy "refresh" an echo renews
// all `first` slots of its flow (filters/first_packets.h), except in an engine that counts packets.
unsigned most_keys_per_packet(Engine engine, filter::EchoPolicy policy, unsigned first);

struct FilterSetup {
    Geometry geometry;
    Nanoseconds window = 0;
    filter::EchoPolicy policy = filter::EchoPolicy::kFixed;
    filter::Isa isa = filter::Isa::kScalar;
};

// Standard deviations of random arrivals that a generation has room for. At the planned rate, one
// generation in 10^9 ends early.
inline constexpr double kRandomArrivals = 6;

// Return when the generations of a filter turn: after `length`, or with `load` keys (absent: any
// number). Only for engines that age by generations.
filter::AgeingSpec ageing_of(const FilterSetup& setup, Nanoseconds length,
                             std::optional<std::uint64_t> load);

// Return the planned maximum of EngineOps::fill(): the load of a generation of so many keys or,
// without generations, the room of the memory.
std::uint64_t planned_fill(const FilterSetup& setup, std::uint64_t keys);

// Return what gives way when the filter is full, if it was requested and the engine supports it.
// Absent: it forgets its oldest packet. "auto" may have chosen such an engine.
std::optional<OnFull> on_full_with(std::optional<OnFull> asked, const Geometry& geometry);

// Return the least chance of an accident that the filter ever states for a match: that of a single
// digest in it. 0 for engines that estimate none.
double least_chance(const FilterSetup& setup);

// Return the bytes that make_filter() needs, spare segments included; line-aligned and zeroed.
// Errc::kInvalidArgument: no filter can be built with this geometry.
Result<std::uint64_t> bytes_of(const FilterSetup& setup);
// Make a filter. contents may be kRestored only if is_consistent() returned true.
Result<AnyFilter> make_filter(const FilterSetup& setup, std::span<std::byte> memory,
                              filter::Contents contents = filter::Contents::kZero);
// Return true if a filter can continue with what another one of the same setup left in this memory.
bool is_consistent(const FilterSetup& setup, std::span<std::byte> memory);

const pipeline::EngineOps& ops_of(const AnyFilter& filter);

}  // namespace unecho::engines
