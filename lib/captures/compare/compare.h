// SPDX-License-Identifier: BSD-3-Clause
// Module captures/compare: `unecho compare`. Which packets of one point of observation never came
// at another, and how late the others were.
//
// looks/ reads each capture and remembers a Look (looks/look.h) of each packet: its digest, its
// time, its flow, and what may change on the way. KeyGroups (looks/look.h) finds the looks of each
// packet. paths/ treats a pair of points: Aligner (paths/align.h) decides which looks belong
// together where a packet comes several times, fit_clocks() (paths/clock.h) tells clocks from
// delays, and judge_pair() (paths/path.h) counts what arrived, what did not, and what could not be
// judged. Comparison (comparison.h) is the result; report/ shows it.
//
// The comparison is exact as long as all looks fit into memory. Then fewer keys are compared,
// chosen by their digests: the same ones at each point, so that shares stay right.
//
// The module needs no DPDK. It may use captures, packets, filters and dedup/pipeline.
//
// Next: comparison.h (the result), looks/look_reader.h, paths/path.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "captures/compare/comparison.h"
#include "captures/source.h"
#include "packets/tunnels/encapsulation.h"

namespace unecho::compare {

inline constexpr Nanoseconds kDefaultWindow = kSecond;
inline constexpr Nanoseconds kLongestWindow = 3600 * kSecond;
inline constexpr std::uint64_t kDefaultMemory = std::uint64_t{1} << 30;
inline constexpr std::size_t kMostPoints = 32;

struct Options {
    std::vector<std::string> inputs;  // one point each; of a single one, each interface is a point
    Nanoseconds window = kDefaultWindow;  // a packet that takes longer is missing
    Clocks clocks = Clocks::kAuto;
    packet::EncapsulationSet tunnels = packet::EncapsulationSet::all();
    std::vector<std::uint16_t> vxlan_ports;
    std::uint32_t key_bytes = 0;  // 0: all
    bool nat = false;
    bool every_packet = false;           // each packet of a point had to come to the next
    bool mirror = false;                 // the next point mirrors it: no packet goes back
    std::optional<std::string> missing;  // a capture of what never came
    std::uint64_t memory = kDefaultMemory;
    unsigned threads = 1;
    bool recover = false;
    std::optional<std::uint64_t> seed;
};

// Return the least memory with which so many inputs can be compared.
std::uint64_t least_memory(std::size_t inputs);

using OnProgress = std::function<void(const capture::Source::Progress&)>;

// Errc::kConfig: fewer than two points, or too many; kIo and others of reading and writing.
Result<Comparison> compare_captures(const Options& options, const OnProgress& on_progress);

}  // namespace unecho::compare
