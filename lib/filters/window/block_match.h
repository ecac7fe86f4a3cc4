// SPDX-License-Identifier: BSD-3-Clause
// How likely a blocked Bloom filter matches a random digest, for parameters. Cold.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::filter {

// Blocks of B bits in b parts: see block.h.
class BlockMatch {
  public:
    BlockMatch(unsigned B, unsigned b, std::uint64_t blocks);

    // Digests that bring the parts of a block to fill 1/2, for all blocks.
    [[nodiscard]] double half() const;

    // After n digests: the mean over the load of a block, which is binomial.
    double operator()(double n);

  private:
    double of_load(double load);

    unsigned B_;
    unsigned b_;
    double blocks_;
    std::vector<double> by_load_;
};

}  // namespace unecho::filter
