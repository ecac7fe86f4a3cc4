// SPDX-License-Identifier: BSD-3-Clause
#include "captures/analyze/tally/age_histogram.h"

#include <cmath>
#include <numeric>

namespace unecho::analyze {

namespace {

// Return the smallest multiple of the resolution that is not below the edge.
Nanoseconds whole(Nanoseconds edge, Nanoseconds resolution) {
    const Nanoseconds over = edge % resolution;
    return over == 0 || edge > UINT64_MAX - resolution ? edge : edge + resolution - over;
}

}  // namespace

double density(const AgeBin& bin, Nanoseconds resolution) {
    if (bin.low == 0) {
        return static_cast<double>(bin.echoes);
    }
    const double half = static_cast<double>(resolution) / 2;
    const double width = 10 * std::log10((static_cast<double>(bin.high) - half) /
                                         (static_cast<double>(bin.low) - half));
    return static_cast<double>(bin.echoes) / width;
}

Ages AgeHistogram::ages(Nanoseconds resolution) const {
    Ages out;
    out.resolution = resolution;
    if (youngest_ > oldest_) {
        return out;
    }
    for (unsigned bin = age_bin(youngest_); bin <= age_bin(oldest_); ++bin) {
        const Nanoseconds low = whole(age_bin_low(bin), resolution);
        const Nanoseconds high = whole(age_bin_low(bin + 1), resolution);
        const Causes& causes = counts_[bin];
        if (low != high) {
            out.bins.push_back({low, high,
                                std::accumulate(causes.begin(), causes.end(), std::uint64_t{0}),
                                causes});
        }
    }
    out.youngest = youngest_;
    out.oldest = oldest_;
    out.p50 = quantile(out, 0.5);
    out.p90 = quantile(out, 0.9);
    out.p99 = quantile(out, 0.99);
    out.p999 = quantile(out, 0.999);
    return out;
}

Nanoseconds quantile(const Ages& ages, double q) {
    std::uint64_t all = 0;
    for (const AgeBin& bin : ages.bins) {
        all += bin.echoes;
    }
    const auto wanted = to_whole(std::ceil(q * static_cast<double>(all)));
    std::uint64_t sum = 0;
    for (const AgeBin& bin : ages.bins) {
        sum += bin.echoes;
        if (sum >= wanted) {
            return std::min(bin.high - ages.resolution, ages.oldest);
        }
    }
    return ages.oldest;
}

}  // namespace unecho::analyze
