// SPDX-License-Identifier: BSD-3-Clause
// What a block of counters holds, said once: one row a counter, beside the block. How blocks are
// added up, what reports, the table at exit and telemetry show of them, all come from these rows.
//
// A block is a struct of 64-bit words and nothing else. Its rows are a constexpr array beside it,
// and static_assert(describes_every_counter(rows)) holds that no counter is without its row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace unecho {

enum class CounterUnit : std::uint8_t { kCount, kPackets, kBytes, kNanoseconds };

// How the counters of several workers make one.
enum class CounterMerge : std::uint8_t {
    kSum,
    kMax,
    kMin,
    kWithPrevious,  // it belongs to the counter of the row before: of the worker that one is of
};

template <typename Block>
struct CounterRow {
    std::uint64_t Block::*value;
    std::string_view name;  // in JSON and telemetry; "_ns" behind it for nanoseconds
    CounterUnit unit;
    CounterMerge fold;
    std::string_view help;
};

template <typename Block, std::size_t N>
using CounterRows = std::array<CounterRow<Block>, N>;

// "longest_gap_ns": the name with its unit, where that is not plain from the name.
template <typename Block>
std::string json_name(const CounterRow<Block>& row) {
    return std::string(row.name) + (row.unit == CounterUnit::kNanoseconds ? "_ns" : "");
}

// Each word of the block has one row, and each row a name of its own and a help text.
template <typename Block, std::size_t N>
consteval bool describes_every_counter(const CounterRows<Block, N>& rows) {
    static_assert(std::is_trivially_copyable_v<Block>);
    for (std::size_t i = 0; i < N; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (rows[i].value == rows[j].value || rows[i].name == rows[j].name) {
                return false;
            }
        }
        if (rows[i].name.empty() || rows[i].help.empty()) {
            return false;
        }
    }
    return sizeof(Block) == N * sizeof(std::uint64_t) &&
           (N == 0 || rows[0].fold != CounterMerge::kWithPrevious);
}

// Adds `from` to `to`, each counter as its row says. Whoever folds with kMin begins with the
// greatest that can be.
template <typename Block, std::size_t N>
constexpr void fold(const CounterRows<Block, N>& rows, const Block& from, Block& to) noexcept {
    bool taken = false;  // the counter of the row before is that of `from` now
    for (const CounterRow<Block>& row : rows) {
        const std::uint64_t other = from.*row.value;
        std::uint64_t& value = to.*row.value;
        switch (row.fold) {
            case CounterMerge::kSum:
                value += other;
                break;
            case CounterMerge::kMax:
                taken = other > value;
                value = std::max(value, other);
                break;
            case CounterMerge::kMin:
                taken = other < value;
                value = std::min(value, other);
                break;
            case CounterMerge::kWithPrevious:
                value = taken ? other : value;
                break;
        }
    }
}

}  // namespace unecho
