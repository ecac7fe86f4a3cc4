// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain data: names, types, ranges and defaults. docs/configuration.md
// describes each key for users. No special value stands for "absent" or "default".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "dedup/engines/audit_plan.h"
#include "dedup/engines/spec.h"
#include "dedup/pipeline/echo_action.h"
#include "packets/keys/key_spec.h"

namespace unecho::config {

// The allowed values, both ends included.
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
inline constexpr WholeRange kMtu{68, 16000};  // RFC 791's smallest; the largest in a buffer
inline constexpr Range<Nanoseconds> kWindow{kMicrosecond, kHour};
inline constexpr Range<double> kRate{1, 1e9};
inline constexpr WholeRange kMemory{std::uint64_t{4} << 10, std::uint64_t{1} << 40};
inline constexpr WholeRange kAuditMemory{std::uint64_t{64} << 10, std::uint64_t{1} << 30};
inline constexpr Range<Nanoseconds> kSamePort{0, engines::kMaxSamePort};
inline constexpr WholeRange kViews{engines::kMinViews, engines::kMaxViews};
inline constexpr Range<double> kShare{0, 1};
inline constexpr Nanoseconds kDefaultSamePort = 250 * kMicrosecond;  // with one port
inline constexpr WholeRange kFirst{1, engines::kMaxFirst};
inline constexpr Range<double> kCost{1e-6, 1e12};
inline constexpr WholeRange kDscp{0, 63};
inline constexpr WholeRange kDscpCount{1, 64};
inline constexpr WholeRange kGeometryK{1, 127};
inline constexpr WholeRange kGeometryL{1, 127};
inline constexpr std::uint64_t kMostSegments = 128;  // k + l
inline constexpr WholeRange kSegmentBits{64, std::uint64_t{1} << 40};
inline constexpr WholeRange kBlockBits{64, 512};  // at most a cache line
inline constexpr WholeRange kFingerprintBits{13, 32};
inline constexpr WholeRange kBitsPerKey{1, 16};  // a quarter of the smallest block
inline constexpr WholeRange kLines{8, (std::uint64_t{1} << 28) - 1};
inline constexpr WholeRange kLinesPerKey{1, 4};
inline constexpr WholeRange kKeyBytes{packet::kMinKeyBytes, packet::kMaxKeyBytes};
inline constexpr WholeRange kUdpPort{1, 65535};
inline constexpr WholeRange kVxlanPortCount{1, packet::Tunnels::kMaxVxlanPorts};
// More points make more pairs than a host's entry has bits for (pipeline/paths/host_sides.h).
inline constexpr std::size_t kMaxPathPorts = 8;
inline constexpr WholeRange kReportFlows{100, 1'000'000'000};
inline constexpr std::uint64_t kDefaultReportFlows = 100'000;
inline constexpr WholeRange kRootFlows{1000, 10'000'000'000};
inline constexpr Range<Nanoseconds> kRootTimeout{kMillisecond, 10 * kSecond};
inline constexpr WholeRange kLcore{0, 127};  // RTE_MAX_LCORE is 128
inline constexpr WholeRange kWorkerCount{1, kMaxWorkers};
inline constexpr WholeRange kRingSize{64, 65536};
inline constexpr WholeRange kBurst{1, kMaxBurst};
inline constexpr Range<Nanoseconds> kLinkCheck{10 * kMillisecond, kMinute};
inline constexpr Range<Nanoseconds> kDrainTimeout{kMillisecond, kMinute};
inline constexpr Range<Nanoseconds> kDuration{kMillisecond, 8760 * kHour};
inline constexpr Range<Nanoseconds> kStopWhenIdle{kMillisecond, kHour};
inline constexpr WholeRange kSeed{0, INT64_MAX};  // TOML's integers are signed
inline constexpr Range<Nanoseconds> kStallThreshold{10 * kMicrosecond, 10 * kSecond};
inline constexpr Range<Nanoseconds> kTxRetry{0, 10 * kMillisecond};
inline constexpr WholeRange kMbufs{512, std::uint64_t{1} << 24};

// Names of enum values in the file, in the order of the enum.
using packet::kKeyNames;
inline constexpr std::array<std::string_view, 2> kNonIpNames{"pass", "frame"};
using packet::kEncapsulationNames;
using packet::kTagsNames;
using packet::kTenantNames;
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
    std::string group;  // one point of observation, as the ports of a LAG; empty: none
    int line = 0;       // of its table in the file, for messages

    bool operator==(const Port&) const = default;
};

using engines::Engine;
using engines::IsaWish;
using engines::kDefaultFalseDrop;
using engines::kDefaultFalseDropText;
using engines::kEngineNames;
using engines::kIsaWishNames;
using engines::kMostFalseDrop;
using engines::kOnFullNames;
using engines::kPolicyNames;
using engines::kRuleNames;
using engines::OnFull;
using engines::OnFullChoice;
using engines::Policy;
using engines::Rule;
using engines::TrafficClass;
using Geometry = engines::GivenGeometry;

[[nodiscard]] constexpr bool can_estimate_chance(Engine engine) noexcept {
    return engines::info_of(engine).estimates_chance;
}
[[nodiscard]] constexpr OnFullChoice on_full_of(Engine engine) noexcept {
    return engines::info_of(engine).on_full;
}

enum class OnRoot : std::uint8_t {
    kDrop,   // flows that other sites have seen are echoes
    kCount,  // they are only counted
};
inline constexpr std::array<std::string_view, 2> kOnRootNames{"drop", "count"};

// A Redis Cluster in which several sites share the flows that they have seen.
struct SharedFlows {
    std::vector<std::string> redis;  // "host:port", any of its nodes
    std::string name;                // of the shared flows; absent in the file: the filter's name
    std::string secret_file;
    std::uint64_t flows = 0;  // new ones in a window, all sites together
    std::optional<std::string> user;
    std::optional<std::string> password_file;
    Nanoseconds timeout = 100 * kMillisecond;
    bool required = false;  // else packets flow before the cluster answers
    OnRoot on_root = OnRoot::kDrop;

    bool operator==(const SharedFlows&) const = default;
};

// Absent in the file, rule and on_full are the engine's defaults: kBound if the engine estimates
// chances and a bound is known.
struct Filter : engines::FilterSpec {
    int line = 0;
    std::optional<SharedFlows> root = std::nullopt;

    bool operator==(const Filter&) const = default;
};

using pipeline::EchoAction;

// The packets of a path that are judged.
enum class PathPackets : std::uint8_t { kSample, kAll };
inline constexpr std::array<std::string_view, 2> kPathPacketsNames{"sample", "all"};

struct Route {
    std::string name;  // absent in the file: "a+b>tool"
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    EchoAction on_echo = EchoAction::kDrop;
    PortIndex divert_to = 0;  // if on_echo names a port
    bool allow_flow_drop_on_link = false;
    bool allow_non_ip_drop_on_link = false;
    bool allow_tunnel_drop_on_link = false;
    bool allow_repeat_drop_on_link = false;
    bool report_taps = false;  // count flows seen by one of two taps only, and by both
    std::optional<Nanoseconds> report_window;   // absent: the filter's
    std::optional<std::uint64_t> report_flows;  // in a window; absent: kDefaultReportFlows
    PathPackets path_packets = PathPackets::kSample;
    std::vector<PortIndex> path;  // each packet passes these ports, in this order; empty: found
    std::optional<double> max_path_loss;        // more is a problem; absent: none is
    std::optional<Nanoseconds> max_path_delay;  // likewise
    int line = 0;

    bool operator==(const Route&) const = default;
};

// How all copies of a key reach one worker.
enum class SteeringMode : std::uint8_t {
    kAuto,  // RSS if every port of a route offers it, else rings
    kRss,
    kRing,
};

struct Workers {
    std::optional<std::vector<LcoreId>> lcores;  // absent: one, on the last CPU of the process
    SteeringMode steering = SteeringMode::kAuto;
    std::uint32_t ring_size = 1024;  // packets in each ring between two workers, a power of two
    unsigned burst = 32;
    IsaWish isa = IsaWish::kAuto;  // of the filters' kernels

    bool operator==(const Workers&) const = default;
};

struct Control {
    std::optional<LcoreId> lcore;                 // absent: the first CPU of the process
    Nanoseconds link_check = 500 * kMillisecond;  // interval between two checks of link states
    Nanoseconds drain_timeout = kSecond;          // at the stop, for packets between workers

    bool operator==(const Control&) const = default;
};

enum class Clock : std::uint8_t {
    kTsc,      // the machine's
    kCapture,  // the packets' own timestamps (capture files), ports merged by them
};

struct Run {
    std::string name;  // of the process; absent in the file: the file's, without extension
    std::optional<std::string> telemetry_group;  // may read telemetry, besides the user
    Clock clock = Clock::kTsc;
    std::optional<Nanoseconds> duration;
    std::optional<Nanoseconds> stop_when_idle;
    std::optional<std::uint64_t> seed;                 // absent: a random secret
    Nanoseconds tx_retry = 100 * kMicrosecond;         // time for which a full tx queue is retried
    Nanoseconds stall_threshold = 250 * kMicrosecond;  // longer polls are reported
    std::optional<std::uint32_t> mbufs;  // packet buffers; absent: as queues and rings need
    bool lock_memory = false;            // keep all memory of the process in RAM

    bool operator==(const Run&) const = default;
};

using Audit = engines::AuditChoice;
using engines::kAuditVerifyNames;

struct State {
    std::optional<std::string> dir;  // holds filters that outlive the process; absent: none do

    bool operator==(const State&) const = default;
};

// The text of the file, by the path of a key ("filter[0].window"): as written, and in a form that
// is equal for equal values. Only compare.h uses it; the data below decides.
struct SourceValues {
    struct Value {
        std::string text;
        std::string value;
    };
    std::map<std::string, Value, std::less<>> values;

    bool operator==(const SourceValues&) const { return true; }
};

struct Config {
    std::string path;
    SourceValues source_values;
    Eal eal;
    std::vector<Port> ports;
    std::vector<Filter> filters;
    std::vector<Route> routes;
    Workers workers;
    Control control;
    Audit audit;
    State state;
    Run run;

    bool operator==(const Config&) const = default;
};

}  // namespace unecho::config
