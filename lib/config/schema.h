// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain data: names, types, ranges and defaults. docs/configuration.md
// describes each key for users. Absent means absent: there is no value that stands for "default".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "packet/key.h"

namespace unecho::config {

// What a value may be, both ends included.
template <typename T>
struct Range {
    T lo;
    T hi;

    [[nodiscard]] constexpr bool contains(T value) const noexcept {
        return lo <= value && value <= hi;
    }
};

inline constexpr Nanoseconds kMinute = 60 * kSecond;
inline constexpr Nanoseconds kHour = 60 * kMinute;

using WholeRange = Range<std::uint64_t>;

inline constexpr WholeRange kNameLength{1, 32};
inline constexpr WholeRange kQueues{1, kMaxQueues};
inline constexpr WholeRange kDescriptors{64, 32768};
inline constexpr WholeRange kMtu{68,
                                 16000};  // RFC 791's smallest; one packet buffer holds the largest
inline constexpr Range<Nanoseconds> kWindow{kMicrosecond, kHour};
inline constexpr Range<double> kRate{1, 1e9};
inline constexpr double kMostFalseDrop = 0.5;  // the range is (0, 0.5]
inline constexpr double kDefaultFalseDrop = 1e-6;
inline constexpr WholeRange kMemory{std::uint64_t{4} << 10, std::uint64_t{1} << 40};
inline constexpr WholeRange kFirst{1, 64};
inline constexpr WholeRange kFirstCounted{2, 57};  // with engine "shbf-x"
inline constexpr Range<double> kCost{1e-6, 1e12};
inline constexpr WholeRange kDscp{0, 63};
inline constexpr WholeRange kDscpCount{1, 64};
inline constexpr WholeRange kGeometryK{1, 127};
inline constexpr WholeRange kGeometryL{1, 127};
inline constexpr std::uint64_t kMostSegments = 128;  // k + l
inline constexpr WholeRange kSegmentBits{64, std::uint64_t{1} << 40};
inline constexpr WholeRange kBlockBits{64, 512};  // at most a cache line
inline constexpr WholeRange kBitsPerKey{1, 16};   // a quarter of the smallest block
inline constexpr WholeRange kLines{8, (std::uint64_t{1} << 28) - 1};
inline constexpr WholeRange kLinesPerKey{1, 4};
inline constexpr WholeRange kLineK{1, 2};
inline constexpr WholeRange kReportFlows{100, 1'000'000'000};
inline constexpr std::uint64_t kDefaultReportFlows = 100'000;
inline constexpr WholeRange kLcore{0, 127};  // RTE_MAX_LCORE is 128
inline constexpr WholeRange kWorkerCount{1, kMaxWorkers};
inline constexpr WholeRange kRingSize{64, 65536};
inline constexpr WholeRange kBurst{1, kMaxBurst};
inline constexpr Range<Nanoseconds> kLinkCheck{10 * kMillisecond, kMinute};
inline constexpr Range<Nanoseconds> kDrainTimeout{kMillisecond, kMinute};
inline constexpr Range<Nanoseconds> kDuration{kMillisecond, 8760 * kHour};
inline constexpr Range<Nanoseconds> kStopWhenIdle{kMillisecond, kHour};
inline constexpr WholeRange kSeed{0, INT64_MAX};  // TOML's integers are signed
inline constexpr Range<Nanoseconds> kTxRetry{0, 10 * kMillisecond};
inline constexpr WholeRange kMbufs{512, std::uint64_t{1} << 24};

// Names of enum values as the file writes them, in the order of the enum.
inline constexpr std::array<std::string_view, packet::kKeyModes> kKeyNames{"packet", "flow",
                                                                           "flow-bidir", "frame"};
inline constexpr std::array<std::string_view, 2> kNonIpNames{"pass", "frame"};
inline constexpr std::array<std::string_view, 9> kEngineNames{
    "auto", "line", "apbbf", "apbf", "tlbf", "btbf", "shbf", "shbf-x", "exact"};
inline constexpr std::array<std::string_view, 2> kPolicyNames{"fixed", "refresh"};
inline constexpr std::array<std::string_view, 4> kIsaNames{"auto", "scalar", "avx2", "avx512"};
inline constexpr std::array<std::string_view, 3> kRuleNames{"match", "bound", "penalty"};
inline constexpr std::array<std::string_view, 3> kOnFullNames{"shrink", "doubt", "grow"};
inline constexpr std::array<std::string_view, 3> kSteeringNames{"auto", "rss", "ring"};
inline constexpr std::array<std::string_view, 2> kClockNames{"tsc", "capture"};

struct Eal {
    std::vector<std::string> args;  // passed on to DPDK

    bool operator==(const Eal&) const = default;
};

struct Port {
    std::string name;
    std::string device;  // "net_pcap0,rx_pcap=a.pcap" (a vdev) or "0000:3b:00.0" (PCI)
    std::optional<std::uint16_t> rx_queues;
    std::optional<std::uint16_t> tx_queues;
    std::uint16_t rx_descriptors = 1024;
    std::uint16_t tx_descriptors = 1024;
    std::uint16_t mtu = 1500;
    bool promiscuous = true;
    int line = 0;  // of the table in the file, for messages

    bool operator==(const Port&) const = default;
};

enum class Engine : std::uint8_t {
    kAuto,
    kLine,
    kApbbf,
    kApbf,
    kTlbf,
    kBtbf,
    kShbf,
    kShbfX,
    kExact,
};
enum class Policy : std::uint8_t { kFixed, kRefresh };

// Which matches are echoes.
enum class Rule : std::uint8_t {
    kMatch,    // all
    kBound,    // those whose chance of an accident is at most max_false_drop
    kPenalty,  // those that cost less dropped than forwarded
};

// Knows from its fill how likely a match is an accident.
[[nodiscard]] constexpr bool can_judge(Engine engine) noexcept {
    return engine == Engine::kAuto || engine == Engine::kLine || engine == Engine::kApbbf ||
           engine == Engine::kApbf || engine == Engine::kShbf;
}

// What gives way when packets come faster than a filter is planned for.
enum class OnFull : std::uint8_t {
    kShrink,  // the window: generations end when they are full
    kDoubt,   // certainty: matches that may be accidents are forwarded
    kGrow,    // the memory, up to what was planned, then the window
};

// Those that an engine can, the first by default; none: it forgets its oldest packet.
struct OnFullChoice {
    std::array<OnFull, 2> list{};
    unsigned count = 0;

    [[nodiscard]] constexpr bool contains(OnFull value) const noexcept {
        return (count > 0 && list[0] == value) || (count > 1 && list[1] == value);
    }
};
[[nodiscard]] constexpr OnFullChoice on_full_of(Engine engine) noexcept {
    switch (engine) {
        case Engine::kTlbf:
            return {{OnFull::kGrow}, 1};
        case Engine::kExact:
            return {};
        case Engine::kBtbf:
        case Engine::kShbfX:
            return {{OnFull::kShrink}, 1};
        default:
            return {{OnFull::kShrink, OnFull::kDoubt}, 2};
    }
}

// What mistakes cost for the packets of some code points; absent: as for all others.
struct TrafficClass {
    std::vector<unsigned> dscp;
    std::optional<double> false_drop_cost;
    std::optional<double> leak_cost;

    bool operator==(const TrafficClass&) const = default;
};

// Instead of targets. Segments: k written by each insertion, k + l in all.
struct Geometry {
    unsigned k = 0;
    unsigned l = 0;                  // not for line: k + l is 8
    std::uint64_t segment_bits = 0;  // m: bits of one segment, on one worker; not for line
    unsigned block_bits = 512;       // B, apbbf only
    unsigned bits_per_key = 0;       // b, apbbf and line only
    std::uint64_t lines = 0;         // of one worker; line only
    unsigned lines_per_key = 0;      // M, line only

    bool operator==(const Geometry&) const = default;
};

struct Filter {
    std::string name;
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;  // not with kFrame, which compares all
    Nanoseconds window = 0;
    Engine engine = Engine::kAuto;
    std::optional<double> rate;            // packets per second, all workers together
    std::optional<double> max_false_drop;  // probability
    std::optional<std::uint64_t> memory;   // bytes, all workers together
    std::optional<Geometry> geometry;      // either this or rate
    Policy policy = Policy::kFixed;
    unsigned first = 1;        // flow modes: packets of a flow that pass per window
    std::optional<Rule> rule;  // absent in the file: kBound if the engine can and a bound is known
    // Absent in the file: what the engine does by default. Absent: a geometry without a bound, or
    // an engine that forgets its oldest packet.
    std::optional<OnFull> on_full;
    double false_drop_cost = 1000;      // kPenalty
    double leak_cost = 1;               // kPenalty; of an echo that is forwarded
    std::vector<TrafficClass> classes;  // kPenalty
    int line = 0;

    bool operator==(const Filter&) const = default;
};

enum class OnEcho : std::uint8_t { kDrop, kPass, kDivert };

struct Route {
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    OnEcho on_echo = OnEcho::kDrop;
    PortIndex divert_to = 0;  // with kDivert
    bool allow_flow_drop_on_link = false;
    bool allow_non_ip_drop_on_link = false;
    bool report_taps = false;  // count the flows that only one of two taps saw, and both
    std::optional<Nanoseconds> report_window;   // absent: the filter's
    std::optional<std::uint64_t> report_flows;  // of a window; absent: kDefaultReportFlows
    int line = 0;

    bool operator==(const Route&) const = default;
};

// How all copies of a key reach one worker.
enum class Steering : std::uint8_t {
    kAuto,  // RSS where every port of a route offers it, else rings
    kRss,
    kRing,
};

// Which instruction set the filters' kernels use.
enum class Isa : std::uint8_t { kAuto, kScalar, kAvx2, kAvx512 };

struct Workers {
    std::optional<std::vector<LcoreId>> lcores;  // absent: one, on the last CPU of the process
    Steering steering = Steering::kAuto;
    std::uint32_t ring_size = 1024;  // packets of each ring between two workers, a power of two
    unsigned burst = 32;
    Isa isa = Isa::kAuto;

    bool operator==(const Workers&) const = default;
};

struct Control {
    std::optional<LcoreId> lcore;                 // absent: the first CPU of the process
    Nanoseconds link_check = 500 * kMillisecond;  // how often link states are looked at
    Nanoseconds drain_timeout = kSecond;          // at stop, for packets between workers

    bool operator==(const Control&) const = default;
};

enum class Clock : std::uint8_t {
    kTsc,      // the machine's
    kCapture,  // the packets' own timestamps (capture files), ports merged by them
};

struct Run {
    Clock clock = Clock::kTsc;
    std::optional<Nanoseconds> duration;
    std::optional<Nanoseconds> stop_when_idle;
    std::optional<std::uint64_t> seed;          // absent: a random secret
    Nanoseconds tx_retry = 100 * kMicrosecond;  // how long a full tx queue is tried again
    std::optional<std::uint32_t> mbufs;  // packet buffers; absent: what the queues and rings need

    bool operator==(const Run&) const = default;
};

struct Config {
    std::string path;
    Eal eal;
    std::vector<Port> ports;
    std::vector<Filter> filters;
    std::vector<Route> routes;
    Workers workers;
    Control control;
    Run run;

    bool operator==(const Config&) const = default;
};

}  // namespace unecho::config
