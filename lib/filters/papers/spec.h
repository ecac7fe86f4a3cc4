// SPDX-License-Identifier: BSD-3-Clause
// Baselines: the structures that the papers of this library's filters compare with. They are here
// to be measured against, so they are plain but not handicapped: digests hashed once, positions
// as good as random, packed arrays, prefetches. For work on packets take APBF, APBBF or Exact.
//
// As everywhere in filter/: caller's memory (bytes() of it, line-aligned, zeroed), no allocation,
// no clock, one thread at a time. Formulas for their rates are in filters/sizing/baseline.h.
//
// This header: the spec that those of one array (or several alike) share, and its check. A type of
// parameters for each layout, so that one filter's cannot be given to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "filters/filter.h"

namespace unecho::filter::baseline {

inline constexpr unsigned kMaxHashes = 32;

struct BaselineSpec {
    std::uint64_t m = 0;                     // cells of an array: bits, or counters
    unsigned k = 0;                          // of them, those of a digest
    EchoPolicy policy = EchoPolicy::kFixed;  // of the filters over a window
};

// What a layout asks of a spec.
struct Rules {
    std::string_view filter;  // begins messages
    unsigned cell_bits = 1;
    std::uint64_t min_m = 64;
    std::uint64_t granule = 1;  // m is a multiple of this
    bool slices = false;        // m is a multiple of k
};

Status check(const Rules& rules, const BaselineSpec& spec);

// A spec that was checked against Layout::kRules.
template <typename Layout>
class BaselineParams {
  public:
    static Result<BaselineParams> make(const BaselineSpec& spec) {
        if (const Status checked = check(Layout::kRules, spec); !checked) {
            return tl::unexpected(checked.error());
        }
        return BaselineParams(spec);
    }

    [[nodiscard]] std::uint64_t m() const noexcept { return spec_.m; }
    [[nodiscard]] unsigned k() const noexcept { return spec_.k; }
    [[nodiscard]] EchoPolicy policy() const noexcept { return spec_.policy; }

  private:
    explicit BaselineParams(const BaselineSpec& spec) noexcept : spec_(spec) {}
    BaselineSpec spec_;
};

}  // namespace unecho::filter::baseline
