// SPDX-License-Identifier: BSD-3-Clause
// How far ahead filters made of cache lines prefetch.
#pragma once

namespace unecho::filter {

// Lines prefetched ahead of the digest being decided, into L2. For L1 a processor tracks only some
// ten to twenty misses at a time, and further loads have to wait.
inline constexpr unsigned kRequests = 40;

}  // namespace unecho::filter
