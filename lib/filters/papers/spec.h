// SPDX-License-Identifier: BSD-3-Clause
// Module filters/papers: the structures with which the papers compare their filters. They exist to
// be measured against, so they are plain but not handicapped: digests are hashed once, positions
// are as good as random, arrays are packed, memory is prefetched. Benchmarks and tests use them,
// nothing else in lib/ (tools/check_house). For work on packets use filters/window.
//
// They keep the rules of filters: memory comes from the caller (bytes() of it, line-aligned,
// zeroed); they do not allocate or read a clock; one thread at a time. filters/sizing/baseline.h
// has the formulas of their rates.
//
// This header has the spec of filters with one array, or several alike, and its check. Each layout
// has its own type of parameters, so that those of one filter cannot be passed to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "filters/filter.h"

namespace unecho::filter::baseline {

inline constexpr unsigned kMaxHashes = 32;

struct BaselineSpec {
    std::uint64_t m = 0;                     // cells of an array: bits, or counters
    unsigned k = 0;                          // cells of a digest
    EchoPolicy policy = EchoPolicy::kFixed;  // for filters over a window
};

// Requirements of a layout on a spec.
struct Rules {
    std::string_view filter;  // name at the beginning of messages
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
        UNECHO_TRY(check(Layout::kRules, spec));
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
