// SPDX-License-Identifier: BSD-3-Clause
// The counters of a shared flow store: queries, answers, state of the cluster.
#pragma once

#include <cstdint>

#include "base/counters.h"
#include "base/units.h"

namespace unecho::shared_flows {

struct Counters {
    std::uint64_t known = 0;
    std::uint64_t unknown = 0;
    std::uint64_t no_room = 0;
    std::uint64_t doubted = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t untold = 0;
    std::uint64_t batches = 0;
    std::uint64_t redirected = 0;
    Nanoseconds longest_round_trip = 0;
    std::uint64_t masters = 0;
    std::uint64_t answering = 0;
    std::uint64_t unassigned = 0;
};
inline constexpr CounterRows<Counters, 12> kCounters{{
    {&Counters::known, "known", CounterUnit::kCount, CounterMerge::kSum,
     "flows that another site, or this one before, had seen in the window"},
    {&Counters::unknown, "unknown", CounterUnit::kCount, CounterMerge::kSum,
     "flows that nobody had seen, and are known from then on"},
    {&Counters::no_room, "no_room", CounterUnit::kCount, CounterMerge::kSum,
     "flows that nobody had seen, and that are not recorded: far more came than [filter.root] "
     "flows"},
    {&Counters::doubted, "doubted", CounterUnit::kCount, CounterMerge::kSum,
     "flows that were known by accident with a chance above the bound; taken as unknown"},
    {&Counters::unanswered, "unanswered", CounterUnit::kCount, CounterMerge::kSum,
     "flows that nobody answered for in time; taken as unknown"},
    {&Counters::untold, "untold", CounterUnit::kCount, CounterMerge::kSum,
     "answers that their worker had no room for"},
    {&Counters::batches, "batches", CounterUnit::kCount, CounterMerge::kSum,
     "calls that were answered"},
    {&Counters::redirected, "redirected", CounterUnit::kCount, CounterMerge::kSum,
     "calls that were sent again: slots moved, or a master was not ready"},
    {&Counters::longest_round_trip, "longest_round_trip", CounterUnit::kNanoseconds,
     CounterMerge::kMax, "the longest time to an answer"},
    {&Counters::masters, "masters", CounterUnit::kCount, CounterMerge::kMax,
     "of the cluster, that have flows of this root"},
    {&Counters::answering, "answering", CounterUnit::kCount, CounterMerge::kMax,
     "masters that answer now"},
    {&Counters::unassigned, "unassigned", CounterUnit::kCount, CounterMerge::kMax,
     "of the 48 equal parts of all flows, those whose slot no master has now; their flows are "
     "unanswered"},
}};
static_assert(describes_every_counter(kCounters));

}  // namespace unecho::shared_flows
