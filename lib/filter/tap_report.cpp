// SPDX-License-Identifier: BSD-3-Clause
#include "filter/tap_report.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace unecho::filter {

TapFlows::TapFlows(const ShbfAParams& params, std::span<std::byte> memory) noexcept
    : memory_(memory.first(bytes(params))),
      arrays_{ShbfA(params, memory_.first(ShbfA::bytes(params))),
              ShbfA(params, memory_.last(ShbfA::bytes(params)))},
      cleared_(ShbfA::bytes(params)) {}

void TapFlows::add(Digest flow, SetOfTwo tap) noexcept {
    const bool first = tap == SetOfTwo::kFirst;
    const Region own = first ? Region::kFirstOnly : Region::kSecondOnly;
    const Region others = first ? Region::kSecondOnly : Region::kFirstOnly;
    std::uint64_t& alone_here = first ? counts_.only_a : counts_.only_b;
    std::uint64_t& alone_there = first ? counts_.only_b : counts_.only_a;
    const Association answer = present().query(flow);
    if (may_be(answer, own)) {
        return;
    }
    const bool elsewhere = may_be(answer, others);
    const bool both = may_be(answer, Region::kBoth);
    if (!elsewhere || (!both && alone_there == 0)) {
        arrays_[in_use_].insert(flow, own);
        ++alone_here;
    } else if (!both) {
        arrays_[in_use_].insert(flow, Region::kBoth);
        --alone_there;
        ++counts_.both;
    }
}

void TapFlows::clear_some(std::size_t bytes) noexcept {
    const std::size_t step = std::min(bytes, array_bytes() - cleared_);
    std::memset(memory_.data() + (1 - in_use_) * array_bytes() + cleared_, 0, step);
    cleared_ += step;
}

TapCounts TapFlows::turn() noexcept {
    clear_some(array_bytes());
    in_use_ = 1 - in_use_;
    cleared_ = 0;
    const TapCounts counts = counts_;
    counts_ = {};
    return counts;
}

void TapReport::enter(std::uint64_t number) noexcept {
    constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
    begun_ = true;
    number_ = number;
    end_ = number < kNever / window_ ? (number + 1) * window_ : kNever;
}

void TapReport::end_window(std::uint64_t next) noexcept {
    last_.counts = flows_.turn();
    last_.number = next - 1;
    before_ += last_.counts;
    ended_ = true;
    enter(next);
}

void TapReport::advance(Nanoseconds now) noexcept {
    if (!begun_) {
        return enter(now / window_);
    }
    if (now < end_) {
        return;
    }
    const std::uint64_t present = number_;
    end_window(now / window_);
    if (number_ != present + 1) {
        last_.counts = {};
    }
}

void TapReport::tick(Nanoseconds now) noexcept {
    if (!begun_) {
        enter(now / window_);
    }
    flows_.clear_some(kClearStep);
    if (now >= end_ && flows_.cleared()) {
        end_window(now / window_);
    }
}

TapSummary TapReport::summary() const noexcept {
    return {begun_, ended_, {number_, flows_.counts()}, last_, before_};
}

}  // namespace unecho::filter
