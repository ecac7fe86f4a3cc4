// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain data: names, types and defaults. docs/configuration.md describes each
// key for users. Absent means absent: there is no value that stands for "default".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "packet/key.h"

namespace unecho::config {

struct Eal {
    std::vector<std::string> args;  // passed on to DPDK
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
};

enum class Engine : std::uint8_t { kAuto, kApbbf, kApbf, kExact };
enum class Policy : std::uint8_t { kFixed, kRefresh };

// Instead of targets. Segments: k written by each insertion, k + l in all.
struct Geometry {
    unsigned k = 0;
    unsigned l = 0;
    std::uint64_t segment_bits = 0;  // m: bits of one segment, on one worker
    unsigned block_bits = 512;       // B, apbbf only
    unsigned bits_per_key = 0;       // b, apbbf only
};

struct Filter {
    std::string name;
    packet::KeyMode key = packet::KeyMode::kPacket;
    Nanoseconds window = 0;
    Engine engine = Engine::kAuto;
    std::optional<double> rate;            // packets per second, all workers together
    std::optional<double> max_false_drop;  // probability
    std::optional<std::uint64_t> memory;   // bytes, all workers together
    std::optional<Geometry> geometry;      // either this or rate and max_false_drop
    Policy policy = Policy::kFixed;
    unsigned first = 1;  // flow modes: packets of a flow that pass per window
    int line = 0;
};

enum class OnEcho : std::uint8_t { kDrop, kPass, kDivert };

struct Route {
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    OnEcho on_echo = OnEcho::kDrop;
    PortIndex divert_to = 0;  // with kDivert
    bool allow_flow_drop_on_link = false;
    int line = 0;
};

// How all copies of a key reach one worker.
enum class Steering : std::uint8_t {
    kAuto,  // RSS where every port of a route offers it, else rings
    kRss,
    kRing,
};

struct Workers {
    std::optional<std::vector<LcoreId>> lcores;  // absent: one, on the last CPU of the process
    Steering steering = Steering::kAuto;
    std::uint32_t ring_size = 1024;  // packets of each ring between two workers, a power of two
    unsigned burst = 32;
};

struct Control {
    std::optional<LcoreId> lcore;                 // absent: the first CPU of the process
    Nanoseconds link_check = 500 * kMillisecond;  // how often link states are looked at
    Nanoseconds drain_timeout = kSecond;          // at stop, for packets between workers
};

enum class Clock : std::uint8_t {
    kTsc,      // the machine's
    kCapture,  // the packets' own timestamps (capture files), ports merged by them
};

struct Run {
    Clock clock = Clock::kTsc;
    std::optional<Nanoseconds> duration;
    std::optional<Nanoseconds> stop_when_idle;
    std::optional<std::uint64_t> seed;        // absent: a random secret
    Nanoseconds tx_retry = 100 * kMicrosecond;  // how long a full tx queue is tried again
    std::uint32_t mbufs = 16384;              // packet buffers in the pool of the process
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
};

}  // namespace unecho::config
