// SPDX-License-Identifier: BSD-3-Clause
// Sizing of buckets of tags and times (filters/window/bucket.h). Pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "filters/sizing/fpr.h"
#include "filters/sizing/search.h"
#include "filters/sizing/sizing.h"

namespace unecho::sizing {

struct BucketGeometry {
    std::uint64_t buckets = 0;

    bool operator==(const BucketGeometry&) const = default;
};

inline constexpr unsigned kBucketPlaces = 8;
inline constexpr int kBucketTagBits = 28;
inline constexpr unsigned kBucketWindowBits = 13;  // a window has at most 2^13 ticks
// Half of the places. Of 26 million simulated new keys at this load none found both of its buckets
// full.
inline constexpr unsigned kKeysPerBucket = 4;

// Return the chance that a new key's tag is that of another in its two buckets.
inline double bucket_chance(double keys_per_bucket) {
    return std::ldexp(2 * std::min<double>(keys_per_bucket, kBucketPlaces), -kBucketTagBits);
}

inline Result<BucketGeometry> size_bucket(const Targets& targets) {
    UNECHO_TRY(check(targets));
    if (targets.max_false_drop < bucket_chance(kKeysPerBucket)) {
        return fail(Errc::kInvalidArgument,
                    "tags have 28 bits; allowed: max_false_drop of at least 3e-8");
    }
    const std::uint64_t keys = load_within(targets.window, targets);
    const std::uint64_t buckets = std::max<std::uint64_t>(keys / kKeysPerBucket + 1, 16);
    if (buckets > kMaxBytes / kLineBytes) {
        return too_much(targets, kMaxBytes);
    }
    return BucketGeometry{buckets};
}

// The geometry's own capacity is kKeysPerBucket keys a bucket.
inline Prediction predict(const BucketGeometry& geometry, Nanoseconds window,
                          std::optional<double> keys_per_second) {
    const std::uint64_t capacity = kKeysPerBucket * geometry.buckets;
    Prediction out;
    out.window_keys = keys_per_second ? keys_within(window, *keys_per_second) : capacity;
    out.false_drop =
        bucket_chance(static_cast<double>(out.window_keys) / static_cast<double>(geometry.buckets));
    out.generation = window;
    out.slack = Nanoseconds{2} << (std::max(static_cast<unsigned>(std::bit_width(window)),
                                            kBucketWindowBits) -
                                   kBucketWindowBits);
    out.generation_keys = out.window_keys;
    out.shift_keys = out.window_keys;
    out.bytes = (geometry.buckets + 1) * kLineBytes;  // one for the time
    out.bits_per_key = 8.0 * static_cast<double>(out.bytes) / static_cast<double>(out.window_keys);
    out.lines_per_packet = 2;
    return out;
}

}  // namespace unecho::sizing
