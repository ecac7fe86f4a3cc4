// SPDX-License-Identifier: BSD-3-Clause
// What a root counts: of asks, of answers, of the cluster.
#pragma once

#include <cstdint>

#include "base/counters.h"
#include "base/units.h"

namespace unecho::root {

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
};
inline constexpr CounterRows<Counters, 11> kCounters{{
    {&Counters::known, "known", CounterUnit::kCount, CounterFold::kSum,
     "flows that another site, or this one before, had seen in the window"},
    {&Counters::unknown, "unknown", CounterUnit::kCount, CounterFold::kSum,
     "flows that nobody had seen, and are known from then on"},
    {&Counters::no_room, "no_room", CounterUnit::kCount, CounterFold::kSum,
     "flows that nobody had seen, and that are not recorded: far more came than [filter.root] "
     "flows"},
    {&Counters::doubted, "doubted", CounterUnit::kCount, CounterFold::kSum,
     "flows that were known by accident with a chance above the bound; taken as unknown"},
    {&Counters::unanswered, "unanswered", CounterUnit::kCount, CounterFold::kSum,
     "flows that nobody answered for in time; taken as unknown"},
    {&Counters::untold, "untold", CounterUnit::kCount, CounterFold::kSum,
     "answers that their worker had no room for"},
    {&Counters::batches, "batches", CounterUnit::kCount, CounterFold::kSum,
     "calls that were answered"},
    {&Counters::redirected, "redirected", CounterUnit::kCount, CounterFold::kSum,
     "calls that were sent again: slots moved, or a master was not ready"},
    {&Counters::longest_round_trip, "longest_round_trip", CounterUnit::kNanoseconds,
     CounterFold::kMost, "the longest time to an answer"},
    {&Counters::masters, "masters", CounterUnit::kCount, CounterFold::kMost,
     "of the cluster, that have flows of this root"},
    {&Counters::answering, "answering", CounterUnit::kCount, CounterFold::kMost,
     "masters that answer now"},
}};
static_assert(describe_each(kCounters));

}  // namespace unecho::root
