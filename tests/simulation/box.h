// SPDX-License-Identifier: BSD-3-Clause
// A small appliance by a configuration, for programs that count to billions (volume.cpp,
// turns.cpp): the product's plan, wiring, workers and timers, on simulated time and on ports that
// the caller made. What is checked is up to the caller; all of this throws what is wrong, one line.
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

// DPDK without hugepages, and so many packet buffers. One in the process.
class Ground {
  public:
    Ground(const std::string& program, unsigned mbufs);

    [[nodiscard]] rte_mempool* pool() const { return pool_.get(); }

  private:
    eal::Session session_;
    eal::Mempool pool_;
};

struct BoxSpec {
    std::string text;  // the configuration, of one filter; all of its ports are in `ports`
    std::vector<PortId> ports;
    unsigned tx_queues = 1;  // of each
    unsigned burst = 32;
    std::uint64_t tx_retry_cycles = 0;
    std::uint64_t core_cache = 0;  // what a core's own is planned to be; 0: as if all fitted in
    std::uint64_t seed = 0;
};

class Box {
  public:
    static constexpr Nanoseconds kPerReading = 20;  // of the clock

    explicit Box(const BoxSpec& spec);
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;
    ~Box() = default;

    // The clock of all, which goes on with each reading.
    Nanoseconds& now() { return now_; }

    [[nodiscard]] const control::Plan& plan() const { return plan_; }
    [[nodiscard]] const engines::FilterPlan& filter_plan() const { return plan_.filters[0]; }
    [[nodiscard]] std::size_t workers() const { return wiring_->workers(); }
    dataplane::Worker& worker(std::size_t w) { return wiring_->worker(w); }
    dataplane::WorkerShared& shared(std::size_t w) { return wiring_->shared(w); }
    const pipeline::FilterContext& lane(std::size_t w) { return wiring_->setup(w).filters.contexts[0]; }
    dataplane::FilterShared& filter_shared() { return wiring_->filter_shared(0); }
    control::StatsReader& reader() { return *reader_; }
    control::RotationTimers& turns() { return turns_; }

    // What the control thread does when it wakes: turns that are due.
    void tick() {
        turns_.tick([this] { return now_ += kPerReading; });
    }
    // What the least of all workers has kept of its window, each at the time that it judged by
    // last.
    Nanoseconds achieved();
    std::uint64_t early_turns();

    // All packets are where they belong: workers end.
    void stop();

  private:
    Nanoseconds now_ = kMicrosecond;
    hash::Secret secret_;
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(7);
    control::Plan plan_;
    std::unique_ptr<control::Topology> wiring_;
    control::RotationTimers turns_;
    std::unique_ptr<control::StatsReader> reader_;
};

// Pseudo-random numbers, a nanosecond each.
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
