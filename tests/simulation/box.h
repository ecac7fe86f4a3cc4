// SPDX-License-Identifier: BSD-3-Clause
// A small appliance made from a configuration, for the programs that count to billions (volume.cpp,
// turns.cpp). It runs the product's plan, topology, workers and timers on simulated time and on the
// caller's ports. The caller checks results. Errors are thrown, as one line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "appliance/eal/ports/mempool.h"
#include "appliance/eal/session.h"
#include "appliance/plan/plan.h"
#include "appliance/stats/stats.h"
#include "appliance/timers/rotation_timers.h"
#include "appliance/topology/topology.h"

namespace unecho::test {

// DPDK without hugepages, with a pool of `mbufs` packet buffers; one for each process.
class Ground {
  public:
    Ground(const std::string& program, unsigned mbufs);

    [[nodiscard]] rte_mempool* pool() const { return pool_.get(); }

  private:
    eal::Session session_;
    eal::Mempool pool_;
};

struct BoxSpec {
    std::string text;  // the configuration: one filter, and no ports but `ports`
    std::vector<PortId> ports;
    unsigned tx_queues = 1;  // of each port
    unsigned burst = 32;
    std::uint64_t tx_retry_cycles = 0;
    std::uint64_t core_cache = 0;  // bytes of a core's own cache (L2); 0: not known
    std::uint64_t seed = 0;
};

class Box {
  public:
    static constexpr Nanoseconds kPerReading = 20;  // each reading advances the clock by this

    explicit Box(const BoxSpec& spec);
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;
    ~Box() = default;

    // The clock of the whole box. Each reading advances it.
    Nanoseconds& now() { return now_; }

    [[nodiscard]] const appliance::Plan& plan() const { return plan_; }
    [[nodiscard]] const engines::FilterPlan& filter_plan() const { return plan_.filters[0]; }
    [[nodiscard]] std::size_t workers() const { return topology_->workers(); }
    dataplane::Worker& worker(std::size_t w) { return topology_->worker(w); }
    dataplane::WorkerShared& shared(std::size_t w) { return topology_->shared(w); }
    const pipeline::FilterContext& context(std::size_t w) {
        return topology_->setup(w).filters.contexts[0];
    }
    dataplane::FilterShared& filter_shared() { return topology_->filter_shared(0); }
    appliance::StatsReader& reader() { return *reader_; }
    appliance::RotationTimers& turns() { return turns_; }

    // Publish the turns that are due, as the control thread does when it wakes.
    void tick() {
        turns_.tick([this] { return now_ += kPerReading; });
    }
    // Return the shortest achieved window of all workers, each at the time of its last decision.
    Nanoseconds achieved();
    std::uint64_t early_turns();

    // End the workers. Every packet must have been settled before.
    void stop();

  private:
    Nanoseconds now_ = kMicrosecond;
    hash::Secret secret_;
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    appliance::Plan plan_;
    std::unique_ptr<appliance::Topology> topology_;
    appliance::RotationTimers turns_;
    std::unique_ptr<appliance::StatsReader> reader_;
};

// Pseudo-random numbers that cost about a nanosecond each.
class FastChance {
  public:
    explicit FastChance(std::uint64_t seed) : state_(remix(seed, 1)) {}
    std::uint64_t next() { return remix(state_++, 0); }
    std::uint64_t below(std::uint64_t n) { return reduce(next(), n); }
    bool once_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

}  // namespace unecho::test
