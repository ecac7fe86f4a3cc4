// SPDX-License-Identifier: BSD-3-Clause
// Measured values of one quantity, one a window, and their quantiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace unecho::bench {

class Samples {
  public:
    void add(double value) { values_.push_back(value); }

    [[nodiscard]] bool empty() const { return values_.empty(); }
    [[nodiscard]] std::size_t size() const { return values_.size(); }

    // Return the value that a share p of all values does not exceed. There must be at least one.
    [[nodiscard]] double quantile(double p) const {
        std::vector<double> sorted = values_;
        std::sort(sorted.begin(), sorted.end());
        const auto last = static_cast<double>(sorted.size() - 1);
        return sorted[static_cast<std::size_t>(p * last + 0.5)];
    }
    [[nodiscard]] double median() const { return quantile(0.5); }
    // Return the mean of the values up to a limit. There must be at least one.
    [[nodiscard]] double mean_up_to(double limit) const {
        double sum = 0;
        std::size_t n = 0;
        for (const double value : values_) {
            if (value <= limit) {
                sum += value;
                ++n;
            }
        }
        return sum / static_cast<double>(n);
    }

  private:
    std::vector<double> values_;
};

}  // namespace unecho::bench
