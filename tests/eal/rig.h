// SPDX-License-Identifier: BSD-3-Clause
// Workers over net_ring, planned and driven by the test, and connected by appliance/topology as in
// the appliance. poll() checks after every poll that the worker's counters balance.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "appliance/topology/topology.h"
#include "ring_port.h"

namespace unecho::test {

using pipeline::EchoAction;
using pipeline::Reason;

struct PortLayout {
    unsigned rx_queues = 1;
    unsigned tx_queues = 1;
    unsigned tx_size = 4096;
    RingPort::Depth depth = nullptr;  // replaces the driver's rx queue depth function
};

struct FilterLayout {
    packet::KeyMode key = packet::KeyMode::kPacket;
    packet::NonIp non_ip = packet::NonIp::kPass;
    packet::EncapsulationSet tunnels = {};
    std::optional<packet::Tenant> tenant = std::nullopt;
    config::Policy policy = config::Policy::kFixed;
    unsigned first = 1;
    std::optional<pipeline::ConfidencePolicy> confidence = std::nullopt;
    Nanoseconds window = 50 * kMillisecond;
    bool shared_flows = false;  // with links to a shared flow store
    engines::Geometry geometry = sizing::ExactGeometry{8192};
    filter::Isa isa = filter::Isa::kScalar;
};

struct RouteLayout {
    std::vector<PortIndex> from;
    PortIndex to = 0;
    FilterIndex filter = 0;
    EchoAction on_echo = EchoAction::kDrop;
    PortIndex divert_to = 0;
    std::uint64_t report_flows = 0;  // capacity of the report of its two taps; 0: no report
    Nanoseconds report_window = 0;   // 0: the filter's window
};

// Default: two taps (ports 0 and 1) into a tool (port 2), on one worker.
struct Layout {
    unsigned workers = 1;
    unsigned burst = 32;
    unsigned ring_size = 1024;
    bool steer = true;  // with several workers: steer by rings; false: leave it to RSS
    std::optional<dataplane::RssModel> card =
        std::nullopt;      // with RSS; absent: every packet's hash is trusted
    bool capture = false;  // clock = "capture"; worker 0 polls all sources
    bool audit = false;    // of every filter
    std::uint64_t tx_retry_cycles = 0;
    dataplane::TscClock clock;  // stands still, so nothing ages unless the test advances it
    std::vector<PortLayout> ports = std::vector<PortLayout>(3);
    std::vector<FilterLayout> filters{FilterLayout{}};
    std::vector<RouteLayout> routes{{{0, 1}, 2}};
};

class Rig {
  public:
    explicit Rig(const Layout& layout);
    ~Rig();
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    // Put a packet into a port's rx queue. Worker (i + q) mod n polls queue q of the i-th receiving
    // port; with `capture`, worker 0 polls all.
    void offer(PortIndex port, const Bytes& bytes, QueueId queue = 0);
    void offer(PortIndex port, rte_mbuf* mbuf, QueueId queue = 0);
    // Offer with a capture timestamp, in microseconds as net_pcap has it.
    void offer_at(PortIndex port, const Bytes& bytes, std::uint64_t microseconds);

    unsigned poll(WorkerIndex worker = 0);
    // Poll all workers in turn until none finds a packet.
    void settle();

    std::vector<Bytes> sent(PortIndex port) { return ports_[port]->sent(); }
    RingPort& port(PortIndex port) { return *ports_[port]; }
    rte_ring* steer_ring(WorkerIndex from, WorkerIndex to) {
        return topology_->setup(from).steering.out[to];
    }
    rte_ring* tx_ring(WorkerIndex from, WorkerIndex to) {
        return topology_->setup(to).transmit.in[from];
    }

    dataplane::Worker& worker(WorkerIndex i = 0) { return topology_->worker(i); }
    dataplane::WorkerShared& shared(WorkerIndex i = 0) { return topology_->shared(i); }
    dataplane::FilterShared& filter_shared(FilterIndex i = 0) {
        return topology_->filter_shared(i);
    }
    const filter::FilterCounters& filter_counters(WorkerIndex worker = 0, FilterIndex i = 0);
    dataplane::WorkerFilterShared& filter_shared_of_worker(WorkerIndex worker = 0,
                                                           FilterIndex i = 0) {
        return topology_->filter_of(worker, i).shared();
    }
    dataplane::SharedFlowsLink& shared_flows(WorkerIndex worker = 0, FilterIndex i = 0) {
        return *topology_->setup(worker).filters.roots[i];
    }
    engines::FilterInstance& instance(WorkerIndex worker = 0, FilterIndex i = 0) {
        return topology_->filter_of(worker, i).instance();
    }
    [[nodiscard]] pipeline::AuditTotals audit(WorkerIndex worker = 0, FilterIndex i = 0) {
        return topology_->setup(worker).filters.audits[i]->totals();
    }
    [[nodiscard]] const pipeline::PortPairMatrix& crossings(WorkerIndex worker = 0) {
        return *topology_->setup(worker).filters.crossings;
    }
    std::vector<dataplane::WorkerShared*> shareds();
    void set_phase(dataplane::Phase phase);

    // Return the sum over all workers.
    [[nodiscard]] pipeline::PacketBytes total(Reason reason, RouteIndex route = 0) const;
    [[nodiscard]] std::uint64_t count(Reason reason, RouteIndex route = 0) const {
        return total(reason, route).packets;
    }
    [[nodiscard]] std::uint64_t received() const;

    // Return the worker that owns this frame.
    [[nodiscard]] WorkerIndex owner_of(const Bytes& bytes) const;

  private:
    void plan_routes();
    void plan_sources();
    void drain_rings();
    void check_books(WorkerIndex worker);

    Layout layout_;
    hash::Secret secret_;
    pipeline::AuditSecret audit_secret_;
    int timestamp_offset_;
    std::vector<std::unique_ptr<RingPort>> ports_;
    appliance::Plan plan_;
    std::unique_ptr<appliance::Topology> topology_;
};

}  // namespace unecho::test
