// SPDX-License-Identifier: BSD-3-Clause
// How likely a ShBF_M matches a random digest, for parameters. Cold.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::filter {

// m bits, b of them for a digest, t shifts, windows of kMaxWBar bits: see shbf_shape.h. The bits of
// a group are all set by inclusion and exclusion over its subsets: an inserted group misses a
// subset iff its position is none of those from which a bit of it reaches one of the subset's.
// With one shift their number is the same for every offset; with more shifts that of offsets in
// the middle of their ranges is taken for all.
class ShbfMatch {
  public:
    ShbfMatch(std::uint64_t m, unsigned b, unsigned t);

    // Digests that bring the array to fill 1/2.
    [[nodiscard]] double half() const;

    // After n digests.
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
