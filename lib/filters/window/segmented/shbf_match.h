// SPDX-License-Identifier: BSD-3-Clause
// How likely a ShBF_M matches a random digest. Used to check parameters; cold.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::filter {

// The match chance of m bits, b of them for a digest, t shifts, windows of kMaxWBar bits
// (sets/shifting/shbf_shape.h). The chance that all bits of a group are set follows by inclusion
// and exclusion over its subsets. An inserted group misses a subset iff its position is none of
// those from which one of its bits reaches a bit of the subset. With one shift, the number of such
// positions is the same for every offset. With more shifts, offsets in the middle of their ranges
// stand for all.
class ShbfMatch {
  public:
    ShbfMatch(std::uint64_t m, unsigned b, unsigned t);

    // Return the number of digests that fill the array to 1/2.
    [[nodiscard]] double half() const;

    // Return the chance after n digests.
    [[nodiscard]] double operator()(double n) const;

  private:
    [[nodiscard]] double reaching_positions(unsigned subset) const;

    double m_;
    double groups_;
    int shifts_;
    int range_;
    std::vector<int> bits_;      // of a group, from its position on
    std::vector<double> reach_;  // by subset
};

}  // namespace unecho::filter
