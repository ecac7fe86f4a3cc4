// SPDX-License-Identifier: BSD-3-Clause
#include "filters/tap_report.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>

namespace unecho::filter {

TapFlows::TapFlows(const ShbfAParams& params, std::span<std::byte> memory,
                   Contents contents) noexcept
    : arrays_memory_(memory.first(2 * ShbfA::bytes(params))),
      arrays_{ShbfA(params, arrays_memory_.first(ShbfA::bytes(params))),
              ShbfA(params, arrays_memory_.last(ShbfA::bytes(params)))},
      kept_(*carve<State>(memory, arrays_memory_.size(), 1)) {
    if (contents == Contents::kZero) {
        std::construct_at(&kept_);
        kept_.cleared = array_bytes();
    }
}

bool TapFlows::is_consistent(const ShbfAParams& params, std::span<std::byte> memory) noexcept {
    const State& kept = *carve<State>(memory, 2 * ShbfA::bytes(params), 1);
    return kept.in_use <= 1 && kept.cleared <= ShbfA::bytes(params);
}

void TapFlows::add(Digest flow, SetOfTwo tap) noexcept {
    const bool first = tap == SetOfTwo::kFirst;
    const Region own = first ? Region::kFirstOnly : Region::kSecondOnly;
    const Region others = first ? Region::kSecondOnly : Region::kFirstOnly;
    std::uint64_t& alone_here = first ? kept_.counts.only_a : kept_.counts.only_b;
    std::uint64_t& alone_there = first ? kept_.counts.only_b : kept_.counts.only_a;
    const Association answer = present().query(flow);
    if (may_be(answer, own)) {
        return;
    }
    const bool elsewhere = may_be(answer, others);
    const bool both = may_be(answer, Region::kBoth);
    if (!elsewhere || (!both && alone_there == 0)) {
        arrays_[kept_.in_use].insert(flow, own);
        ++alone_here;
    } else if (!both) {
        arrays_[kept_.in_use].insert(flow, Region::kBoth);
        --alone_there;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        ++kept_.counts.both;
    }
}

void TapFlows::clear_some(std::size_t bytes) noexcept {
    const std::size_t step = std::min(bytes, array_bytes() - kept_.cleared);
    std::memset(arrays_memory_.data() + (1 - kept_.in_use) * array_bytes() + kept_.cleared, 0,
                step);
    kept_.cleared += step;
}

TapCounts TapFlows::turn() noexcept {
    clear_some(array_bytes());
    kept_.in_use = 1 - kept_.in_use;
    kept_.cleared = 0;
    const TapCounts counts = kept_.counts;
    kept_.counts = {};
    return counts;
}

TapReport::TapReport(const ShbfAParams& params, Nanoseconds window, std::span<std::byte> memory,
                     Contents contents) noexcept
    : window_(window),
      kept_(*carve<State>(memory, 0, 1)),
      flows_(params, memory.subspan(kStateBytes), contents) {
    if (contents == Contents::kZero) {
        std::construct_at(&kept_);
    } else if (kept_.begun) {
        enter(kept_.number);
    }
}

bool TapReport::is_consistent(const ShbfAParams& params, std::span<std::byte> memory) noexcept {
    return !carve<State>(memory, 0, 1)->write_guard.is_interrupted() &&
           TapFlows::is_consistent(params, memory.subspan(kStateBytes));
}

void TapReport::enter(std::uint64_t number) noexcept {
    constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
    kept_.begun = true;
    kept_.number = number;
    end_ = number < kNever / window_ ? (number + 1) * window_ : kNever;
}

void TapReport::end_window(std::uint64_t next) noexcept {
    kept_.write_guard.begin();
    kept_.last.counts = flows_.turn();
    kept_.last.number = next - 1;
    kept_.before += kept_.last.counts;
    kept_.ended = true;
    enter(next);
    kept_.write_guard.end();
}

void TapReport::advance(Nanoseconds now) noexcept {
    if (!kept_.begun) {
        return enter(now / window_);
    }
    if (now < end_) {
        return;
    }
    const std::uint64_t present = kept_.number;
    end_window(now / window_);
    if (kept_.number != present + 1) {
        kept_.last.counts = {};
    }
}

void TapReport::tick(Nanoseconds now) noexcept {
    if (!kept_.begun) {
        enter(now / window_);
    }
    flows_.clear_some(kClearStep);
    if (now >= end_ && flows_.cleared()) {
        end_window(now / window_);
    }
}

TapSummary TapReport::summary() const noexcept {
    return {kept_.begun, kept_.ended, {kept_.number, flows_.counts()}, kept_.last, kept_.before};
}

}  // namespace unecho::filter
