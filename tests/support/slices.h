// SPDX-License-Identifier: BSD-3-Clause
// Sites of a sliced filter under test. Each slice has an allocation of exactly the requested size,
// so that a sanitizer reports a bit in the wrong one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "filters/sets/slices.h"

namespace unecho::test {

class Sites {
  public:
    Sites(unsigned count, std::size_t bytes) : memory_(count, std::vector<std::byte>(bytes)) {
        for (auto& memory : memory_) {
            slices_.push_back({.memory = memory});
        }
    }
    Sites(const Sites&) = delete;
    Sites& operator=(const Sites&) = delete;

    [[nodiscard]] std::span<filter::Slice> slices() { return slices_; }
    [[nodiscard]] const std::vector<std::vector<std::byte>>& memory() const { return memory_; }

  private:
    std::vector<std::vector<std::byte>> memory_;
    std::vector<filter::Slice> slices_;
};

template <typename Filter, typename Params>
struct SlicedInstance {
    explicit SlicedInstance(const Params& p)
        : params(p),
          sites(p.geometry().slices(), Filter::slice_bytes(p)),
          filter(p, sites.slices()) {}
    Params params;
    Sites sites;
    Filter filter;
};

}  // namespace unecho::test
