// SPDX-License-Identifier: BSD-3-Clause
#include "analyze/ages.h"

#include <cmath>
#include <numeric>

namespace unecho::analyze {

Ages AgeHistogram::ages() const {
    Ages out;
    if (youngest_ > oldest_) {
        return out;
    }
    for (unsigned bin = age_bin(youngest_); bin <= age_bin(oldest_); ++bin) {
        const Causes& causes = counts_[bin];
        out.bins.push_back({age_bin_low(bin), age_bin_low(bin + 1),
                            std::accumulate(causes.begin(), causes.end(), std::uint64_t{0}),
                            causes});
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
    const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(all)));
    std::uint64_t sum = 0;
    for (const AgeBin& bin : ages.bins) {
        sum += bin.echoes;
        if (sum >= wanted) {
            return std::min(bin.high, ages.oldest);
        }
    }
    return ages.oldest;
}

}  // namespace unecho::analyze
