// SPDX-License-Identifier: BSD-3-Clause
// engines: the table of filter engines, and filters made from it.
//
// Every engine is a row here: its name, what it can do, what it costs. Configurations, messages and
// reports read the table. The types behind a row are in descriptors.h, which checks the rows.
//
// May not: know DPDK, files, or where a filter's memory comes from.
//
// Next: spec.h (a filter as the user requests it), planning/plan.h (what it becomes), instance.h
// (one filter over its memory), planning/candidates.h (how "auto" chooses), catalogue.h (a new
// engine).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace unecho::engines {

enum class Engine : std::uint8_t {
    kAuto,
    kLine,
    kFingerprint,
    kApbbf,
    kApbf,
    kTlbf,
    kBtbf,
    kShbf,
    kShbfX,
    kExact,
    kBucket,
    kCount,  // the number of engines
};

// The parameter that gives way when packets arrive faster than a filter is planned for.
enum class OnFull : std::uint8_t {
    kShrink,  // the window: full generations end early
    kDoubt,   // certainty: uncertain matches are forwarded
    kGrow,    // the memory, up to the planned size, then the window
};
inline constexpr std::array<std::string_view, 3> kOnFullNames{"shrink", "doubt", "grow"};

// The choices that an engine has, the default first; none: it forgets its oldest packet.
struct OnFullChoice {
    std::array<OnFull, 2> list{};
    unsigned count = 0;

    [[nodiscard]] constexpr bool contains(OnFull value) const noexcept {
        return (count > 0 && list[0] == value) || (count > 1 && list[1] == value);
    }
};

// Cost of a new packet, and of each cache line it touches by where the line is. In ns, measured by
// bench/micro on the machine of bench/results.
struct Cost {
    double packet;
    std::array<double, 3> line;  // L2, L3, memory
};

// Keys of a geometry given instead of targets. No needed key: the engine takes no geometry.
struct GeometryKeys {
    std::array<std::string_view, 4> needed{};
    std::array<std::string_view, 1> optional{};
    unsigned most_k = 0;                         // 0: limited by k + l alone
    std::array<unsigned, 7> fingerprint_bits{};  // allowed values

    [[nodiscard]] constexpr bool any() const noexcept { return !needed[0].empty(); }
    [[nodiscard]] constexpr bool needs(std::string_view key) const noexcept {
        return std::find(needed.begin(), needed.end(), key) != needed.end();
    }
    [[nodiscard]] constexpr bool takes(std::string_view key) const noexcept {
        return needs(key) || optional[0] == key;
    }
};

// The largest `first`: packets of a flow that pass in each window.
inline constexpr unsigned kMaxFirst = 64;

struct EngineInfo {
    Engine engine;
    std::string_view name;  // in configurations and reports
    std::string_view help;
    bool chosen = false;            // "auto" may choose it
    bool estimates_chance = false;  // from its fill: how likely a match is an accident
    // The factor by which its planned mean rate is below the bound of rule "bound". At the planned
    // rate, only a few of its matches are then uncertain.
    double chance_margin = 1;
    bool by_generation = true;    // ages by generations of a timer; else it keeps times
    bool counts_packets = false;  // only for the first packets of a flow
    unsigned least_first = 1;
    unsigned most_first = kMaxFirst;
    bool has_kernels = false;  // for several instruction sets
    OnFullChoice on_full{};
    Cost cost{};
    GeometryKeys geometry{};
};

inline constexpr OnFullChoice kShrinkOrDoubt{{OnFull::kShrink, OnFull::kDoubt}, 2};
inline constexpr OnFullChoice kShrinkOnly{{OnFull::kShrink}, 1};
inline constexpr OnFullChoice kGrowOnly{{OnFull::kGrow}, 1};

// The chance that a filter of segments states is up to 4 % above that of its fill. The chance of a
// line is that of its own load, which varies. With a margin of ten, 0.1 to 2 % of the echoes are
// uncertain at the planned rate, just before a tick (tests/unit/sizing/line_doubts_test.cpp).
inline constexpr double kSegmentMargin = 1.05;
inline constexpr double kLineMargin = 10;

// Indexed by Engine.
inline constexpr auto kEngineTable = std::to_array<EngineInfo>({
    {.engine = Engine::kAuto,
     .name = "auto",
     .help = "the fastest of line, fingerprint, apbbf and exact within twice the least memory",
     .estimates_chance = true,
     .on_full = kShrinkOrDoubt},
    {.engine = Engine::kLine,
     .name = "line",
     .help = "all that a packet asks for in one to four cache lines: the fastest",
     .chosen = true,
     .estimates_chance = true,
     .chance_margin = kLineMargin,
     .has_kernels = true,
     .on_full = kShrinkOrDoubt,
     .cost = {1.5, {2, 2.2, 6}},
     .geometry = {{"k", "bits_per_key", "lines", "lines_per_key"}, {}, 2}},
    {.engine = Engine::kFingerprint,
     .name = "fingerprint",
     .help = "short fingerprints in the emptier of two cache lines: never in doubt",
     .chosen = true,
     .estimates_chance = true,
     .has_kernels = true,
     .on_full = kShrinkOnly,
     .cost = {2.2, {4.7, 2.4, 6.8}},
     .geometry = {{"fingerprint_bits", "lines"}, {}, 0, {13, 16, 19, 23, 24, 26, 32}}},
    {.engine = Engine::kApbbf,
     .name = "apbbf",
     .help = "age-partitioned blocked Bloom filter: a cache line a segment, less memory than line",
     .chosen = true,
     .estimates_chance = true,
     .chance_margin = kSegmentMargin,
     .has_kernels = true,
     .on_full = kShrinkOrDoubt,
     .cost = {2, {1.5, 2, 6}},
     .geometry = {{"k", "l", "segment_bits", "bits_per_key"}, {"block_bits"}}},
    {.engine = Engine::kApbf,
     .name = "apbf",
     .help = "age-partitioned Bloom filter: forgets in the smallest steps",
     .estimates_chance = true,
     .chance_margin = kSegmentMargin,
     .on_full = kShrinkOrDoubt,
     .cost = {6, {4, 5, 14}},
     .geometry = {{"k", "l", "segment_bits"}, {}}},
    {.engine = Engine::kTlbf,
     .name = "tlbf",
     .help = "time-limited Bloom filter: grows with the rate, keeps its window at any",
     .by_generation = false,
     .on_full = kGrowOnly,
     .cost = {10, {6, 7, 16}}},
    {.engine = Engine::kBtbf,
     .name = "btbf",
     .help = "Bloom filter of timers of a few bits",
     .on_full = kShrinkOnly,
     .cost = {10, {4, 5, 14}}},
    {.engine = Engine::kShbf,
     .name = "shbf",
     .help = "age-partitioned shifting Bloom filter: the least memory of those that judge",
     .estimates_chance = true,
     .chance_margin = kSegmentMargin,
     .on_full = kShrinkOrDoubt,
     .cost = {6, {4, 5, 14}}},
    {.engine = Engine::kShbfX,
     .name = "shbf-x",
     .help = "shifting Bloom filter that counts: the first packets of flows, first = N",
     .counts_packets = true,
     .least_first = 2,
     .most_first = 57,
     .on_full = kShrinkOnly,
     .cost = {10, {5, 6, 14}}},
    {.engine = Engine::kExact,
     .name = "exact",
     .help = "a table of digests: no accident but of digests, the most memory",
     .chosen = true,
     .by_generation = false,
     .cost = {6, {2.6, 5, 13}}},
    {.engine = Engine::kBucket,
     .name = "bucket",
     .help = "tags with times in one of two cache lines: a third of the memory of exact",
     .by_generation = false,
     .cost = {22, {2.3, 3.5, 37}}},
});
inline constexpr std::size_t kEngines = kEngineTable.size();

[[nodiscard]] constexpr const EngineInfo& info_of(Engine engine) noexcept {
    return kEngineTable[static_cast<std::size_t>(engine)];
}

static_assert(
    [] {
        for (std::size_t i = 0; i < kEngines; ++i) {
            if (kEngineTable[i].engine != static_cast<Engine>(i)) {
                return false;
            }
        }
        return kEngines == static_cast<std::size_t>(Engine::kCount);
    }(),
    "each engine has its row, in the order of the engines");

inline constexpr std::array<std::string_view, kEngines> kEngineNames = [] {
    std::array<std::string_view, kEngines> names;
    for (std::size_t i = 0; i < kEngines; ++i) {
        names[i] = kEngineTable[i].name;
    }
    return names;
}();

// The engines for which kIsSo holds, in the order of the rows; never "auto".
template <bool (*kIsSo)(const EngineInfo&)>
inline constexpr auto kEnginesThat = [] {
    constexpr auto kOne = [](const EngineInfo& info) {
        return info.engine != Engine::kAuto && kIsSo(info);
    };
    std::array<Engine, std::count_if(kEngineTable.begin(), kEngineTable.end(), kOne)> out;
    std::size_t n = 0;
    for (const EngineInfo& info : kEngineTable) {
        if (kOne(info)) {
            out[n++] = info.engine;
        }
    }
    return out;
}();

// Return the names of the engines for which is_so holds, in the order of the rows; never "auto".
template <typename Predicate>
std::vector<std::string_view> engines_that(Predicate is_so) {
    std::vector<std::string_view> names;
    for (const EngineInfo& info : kEngineTable) {
        if (info.engine != Engine::kAuto && is_so(info)) {
            names.push_back(info.name);
        }
    }
    return names;
}

}  // namespace unecho::engines
