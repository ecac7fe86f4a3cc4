// SPDX-License-Identifier: BSD-3-Clause
// Exact filter: a ring of the last entries in order of arrival, and a hash table with chains.
#include "filters/sizing/window/exact.h"

#include <cmath>

#include "filters/sizing/search.h"

namespace unecho::sizing {
namespace {

// Room for bursts above the planned rate: a full table drops its oldest entry, perhaps too early.
constexpr double kHeadRoom = 1.25;
constexpr std::uint64_t kMinEntries = 64;

constexpr std::uint64_t kBucketBytes = 4;  // one link

std::uint64_t whole_lines(std::uint64_t bytes) {
    return lines_for_bits(8 * bytes) * kLineBytes;
}

std::uint64_t buckets_of(const ExactGeometry& geometry) {
    return 2 * geometry.entries;
}

// An additional entry holds the ends of the list.
std::uint64_t bytes_of(const ExactGeometry& geometry) {
    return whole_lines(buckets_of(geometry) * kBucketBytes) +
           whole_lines((geometry.entries + 1) * kExactEntryBytes);
}

}  // namespace

Result<ExactGeometry> size_exact(const Targets& targets) {
    UNECHO_TRY(check(targets));
    const auto keys = static_cast<double>(keys_within(targets.window, targets.keys_per_second));
    const double entries = std::ceil(keys * kHeadRoom);
    if (entries > static_cast<double>(kMaxExactEntries)) {
        return fail(
            Errc::kInvalidArgument,
            "window " + format_duration(targets.window) + " at " +
                format_rate(targets.keys_per_second) + " needs more than the " +
                std::to_string(kMaxExactEntries) +
                " entries allowed in an exact filter; shorten the window or lower the rate");
    }
    return ExactGeometry{std::max(static_cast<std::uint64_t>(entries), kMinEntries)};
}

Prediction predict(const ExactGeometry& geometry, Nanoseconds window,
                   std::optional<double> keys_per_second) {
    Prediction out;
    out.window_keys = keys_per_second ? keys_within(window, *keys_per_second) : geometry.entries;
    const auto keys = static_cast<double>(std::min(out.window_keys, geometry.entries));
    out.false_drop = digest_collision(keys);
    out.generation = window;
    out.generation_keys = out.window_keys;
    out.shift_keys = out.window_keys;
    out.bytes = bytes_of(geometry);
    out.bits_per_key = 8.0 * static_cast<double>(out.bytes) / static_cast<double>(out.window_keys);
    // The bucket, its chain to the end, the replaced entry, and the bucket that this entry leaves.
    out.lines_per_packet = 3 + keys / static_cast<double>(buckets_of(geometry));
    return out;
}

}  // namespace unecho::sizing
