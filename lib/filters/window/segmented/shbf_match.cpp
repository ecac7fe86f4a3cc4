// SPDX-License-Identifier: BSD-3-Clause
#include "filters/window/segmented/shbf_match.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "filters/sets/shifting/shbf_shape.h"

namespace unecho::filter {

ShbfMatch::ShbfMatch(std::uint64_t m, unsigned b, unsigned t)
    : m_(static_cast<double>(m)),
      groups_(static_cast<double>(b) / (t + 1)),
      shifts_(static_cast<int>(t)),
      range_(static_cast<int>((kMaxWBar - 1) / t)),
      bits_{0} {
    for (int shift = 0; shift < shifts_; ++shift) {
        bits_.push_back(shift * range_ + 1 + range_ / 2);
    }
    for (unsigned subset = 0; subset < 1U << bits_.size(); ++subset) {
        reach_.push_back(reaching_positions(subset));
    }
}

double ShbfMatch::half() const {
    return m_ * std::log(2.0) / (groups_ * (shifts_ + 1));
}

// Return the mean number of positions from which a group reaches a bit of the subset. Its first bit
// can reach it, or one of the others, each anywhere in its range.
double ShbfMatch::reaching_positions(unsigned subset) const {
    double sum = 0;
    const int farthest = shifts_ * range_;
    std::vector<int> in_range;
    for (int position = -farthest; position <= farthest; ++position) {
        in_range.assign(bits_.size(), 0);
        for (std::size_t bit = 0; bit < bits_.size(); ++bit) {
            const int distance = bits_[bit] - position;
            if ((subset >> bit & 1) != 0 && distance >= 0 && distance <= farthest) {
                ++in_range[static_cast<std::size_t>((distance + range_ - 1) / range_)];
            }
        }
        double misses = in_range[0] == 0 ? 1 : 0;
        for (std::size_t shift = 1; shift < in_range.size(); ++shift) {
            misses *= 1 - static_cast<double>(in_range[shift]) / range_;
        }
        sum += 1 - misses;
    }
    return sum;
}

double ShbfMatch::operator()(double n) const {
    double all = 0;
    for (unsigned subset = 0; subset < reach_.size(); ++subset) {
        const double none = std::exp(-n * groups_ / m_ * reach_[subset]);
        all += std::popcount(subset) % 2 == 0 ? none : -none;
    }
    return std::pow(std::clamp(all, 0.0, 1.0), groups_);
}

}  // namespace unecho::filter
