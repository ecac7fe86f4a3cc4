// SPDX-License-Identifier: BSD-3-Clause
// How filters of cache lines ask memory for lines before they need them.
#pragma once

namespace unecho::filter {

// Lines that are asked for ahead of the digest that is decided, into a core's second cache: into
// the first, processors follow up some ten to twenty at a time, and all behind what is beyond
// waits.
inline constexpr unsigned kRequests = 40;

}  // namespace unecho::filter
