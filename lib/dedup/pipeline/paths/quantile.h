// SPDX-License-Identifier: BSD-3-Clause
// Quantiles of delays, for reports.
#pragma once

#include <algorithm>
#include <cmath>

#include "dedup/pipeline/paths/totals.h"

namespace unecho::pipeline {

// Return the least delay that a share of all is not above, by the means and spreads of buckets.
[[nodiscard]] inline double quantile(const PathDelays& delays, double share) noexcept {
    using Histogram = DelayBuckets<std::uint64_t, double>;
    const double rank = std::max(share * static_cast<double>(delays.count), 1.0);
    double below = 0;
    for (unsigned i = 0; i < Histogram::kBuckets; ++i) {
        const auto& bucket = delays.histogram.buckets[i];
        const auto count = static_cast<double>(bucket.count);
        if (bucket.count == 0 || below + count < rank) {
            below += count;
            continue;
        }
        // Taken as even around the mean, with the spread that was seen: half its width is sqrt(3)
        // standard deviations.
        const double mean = bucket.sum / count;
        const double variance = std::max(bucket.squares / count - mean * mean, 0.0);
        const double place = (rank - below - 0.5) / count;
        const double value = static_cast<double>(Histogram::begin_of(i)) + mean +
                             (2 * place - 1) * std::sqrt(3 * variance);
        // A reader may see the least delay before the longest is written.
        return std::clamp(value, static_cast<double>(delays.least),
                          static_cast<double>(std::max(delays.least, delays.most)));
    }
    return static_cast<double>(delays.most);
}

}  // namespace unecho::pipeline
