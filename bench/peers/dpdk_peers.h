// SPDX-License-Identifier: BSD-3-Clause
// Peers from DPDK, in its memory: rte_member's hash table as a cache, its vector Bloom filter and
// its sketch, and rte_hash. None of them has a window.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "common/row.h"

namespace unecho::bench {

// Call before peers are made. Uses hugepages if there are any.
Status start_dpdk(unsigned cpu);
void stop_dpdk();

// The hash table as a cache of `factor` entries a window key, rounded up to a power of two. A new
// digest evicts a random one, so it may forget one inside the window and may keep another for long.
Result<std::unique_ptr<Subject>> make_member_cache(std::uint64_t keys, unsigned factor);
// Two vector Bloom filters in turn, like RotatingBlocked, each made for half of the rate.
Result<std::unique_ptr<Subject>> make_member_vbf(std::uint64_t keys, double false_positives);
// Two sketches in turn; a digest with a count above 0 is an echo. Only if they fit into 1.5 GiB.
Result<std::unique_ptr<Subject>> make_member_sketch(std::uint64_t keys, double false_positives);
// An exact window: bulk look-up, then additions, and a ring from which the oldest are deleted.
Result<std::unique_ptr<Subject>> make_rte_hash(std::uint64_t keys);

}  // namespace unecho::bench
