// SPDX-License-Identifier: BSD-3-Clause
// How likely a blocked Bloom filter matches a random digest. Used to check parameters; cold.
#pragma once

#include <cstdint>
#include <vector>

namespace unecho::filter {

// The match chance of blocks of B bits in b parts (block.h).
class BlockMatch {
  public:
    BlockMatch(unsigned B, unsigned b, std::uint64_t blocks);

    // Return the number of digests after which the parts of the blocks are half full.
    [[nodiscard]] double half() const;

    // Return the chance after n digests: the mean over a block's load, which is binomial.
    double operator()(double n);

  private:
    double of_load(double load);

    unsigned B_;
    unsigned b_;
    double blocks_;
    std::vector<double> by_load_;
};

}  // namespace unecho::filter
