// SPDX-License-Identifier: BSD-3-Clause
// The test bed: DPDK, packet buffers, and one port whose two ends are rings. It gives a worker
// packets to receive, takes back those it sent, and measures one window of packets at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "appliance/dataplane/poll_profiler.h"
#include "appliance/dataplane/worker.h"
#include "appliance/eal/session.h"
#include "base/os/mapped_memory.h"
#include "base/result.h"
#include "bed.h"
#include "subject.h"
#include "traffic.h"

namespace unecho::bench {

struct RigOptions {
    static constexpr unsigned kMostWindow = 65536;

    unsigned cpu = 0;
    unsigned window = 2048;  // packets of a measured window, a multiple of burst * Rig::kStaged
    unsigned burst = 32;
    bool hugepages = false;
};

// TSC cycles of one window.
struct StageCycles {
    std::uint64_t view = 0;
    std::uint64_t digest = 0;
    std::uint64_t decide = 0;
};

// Results of a window, to be compared with what was sent.
struct WindowResult {
    std::uint64_t sent_echoes = 0;
    std::uint64_t echoes = 0;
    std::uint64_t doubts = 0;
    std::uint64_t inline_clears = 0;
};

class Rig {
  public:
    // Bursts for which one stage is timed at a time.
    static constexpr unsigned kStaged = 8;

    static Result<std::unique_ptr<Rig>> make(const RigOptions& options);

    // Make the worker that the measurements use from now on.
    void install(Subject& subject);

    // Measure the whole worker: poll_once() from receive to transmit. audited: a second worker on
    // the same filter, with a shadow audit that measures paths, too.
    std::uint64_t measure_worker(Traffic& traffic, WindowResult& found, bool audited = false);
    // Measure each stage over eight bursts at a time, whose burst structures stay in L1.
    StageCycles measure_stages(Traffic& traffic, WindowResult& found);
    // Measure the poll profiler of a worker at its limit for the polls of a window. The clock
    // readings that the worker needs anyway are subtracted.
    double measure_watch();
    // Measure receive and transmit alone, the cost of the ports.
    std::uint64_t measure_ports(Traffic& traffic);

    [[nodiscard]] unsigned window() const { return options_.window; }
    [[nodiscard]] PacketCounter& packet_counter() { return packet_counter_; }

  private:
    Rig(const RigOptions& options, eal::Session session);

    // The shadow audit of a subject's filter.
    struct Shadow {
        Shadow(const pipeline::FilterContext& context, const pipeline::AuditSecret& secret);
        filter::AuditParams params;
        MappedMemory memory;
        pipeline::PortPairMatrix crossings{};
        filter::Audit audit;
        pipeline::PathSpec path_spec;
        MappedMemory path_memory;
        std::array<pipeline::PathCell, 4> cells;
        pipeline::PathTotals totals{2, cells};
        pipeline::PathTable paths;
        pipeline::AuditStage stage;
    };

    // Put the next packets of the window into mbufs_; return the number of echoes.
    unsigned next_packets(Traffic& traffic);

    RigOptions options_;
    eal::Session session_;
    eal::Mempool pool_;
    std::unique_ptr<RingPort> port_;

    PacketCounter packet_counter_;
    std::vector<rte_mbuf*> mbufs_;
    hash::Secret secret_;
    const std::uint64_t begun_ = rte_rdtsc();  // shared by all rows, so that no clock steps back
    dataplane::TscClock clock_;
    std::vector<std::uint8_t> scratch_;
    std::array<dataplane::RxQueue, 1> sources_{};
    std::unique_ptr<std::array<dataplane::Burst, kStaged>> bursts_;

    Subject* subject_ = nullptr;
    std::unique_ptr<dataplane::WorkerShared> worker_shared_;
    std::unique_ptr<dataplane::Worker> worker_;
    pipeline::AuditSecret audit_secret_ = pipeline::audit_secret_from(1);
    std::unique_ptr<Shadow> shadow_;
    std::unique_ptr<dataplane::Worker> audited_;
    std::unique_ptr<dataplane::PollProfiler> watch_;  // writes only the counters below
    dataplane::Counters watch_counters_;
};

}  // namespace unecho::bench
