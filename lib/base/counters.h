// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of counters: each block of counters has a table with one row for each counter.
// Merging of workers' blocks, reports, the table at exit and telemetry all follow these rows.
//
// A block is a struct of 64-bit words and nothing else. Its rows are a constexpr array next to it.
// static_assert(describes_every_counter(rows)) proves that no counter lacks a row.
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

// How the counters of several workers become one.
enum class CounterMerge : std::uint8_t {
    kSum,
    kMax,
    kMin,
    kWithPrevious,  // taken from the worker whose value the counter of the previous row has
};

template <typename Block>
struct CounterRow {
    std::uint64_t Block::*value;
    std::string_view name;  // in JSON and telemetry, where nanoseconds have "_ns" appended
    CounterUnit unit;
    CounterMerge fold;
    std::string_view help;
};

template <typename Block, std::size_t N>
using CounterRows = std::array<CounterRow<Block>, N>;

// Return the name with its unit, as in "longest_gap_ns"; counts, packets and bytes have no suffix.
template <typename Block>
std::string json_name(const CounterRow<Block>& row) {
    return std::string(row.name) + (row.unit == CounterUnit::kNanoseconds ? "_ns" : "");
}

// Return true if each word of the block has one row, and each row a unique name and a help text.
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

// Merge `from` into `to`, each counter as its row says. For kMin the caller initialises `to` with
// the largest possible value.
template <typename Block, std::size_t N>
constexpr void fold(const CounterRows<Block, N>& rows, const Block& from, Block& to) noexcept {
    bool taken = false;  // the counter of the previous row was taken from `from`
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
