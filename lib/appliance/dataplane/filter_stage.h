// SPDX-License-Identifier: BSD-3-Clause
// The filters of one worker: the time that each decides by, the turns of their generations, and
// their segments, which the control thread zeroes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <rte_ethdev.h>

#include "appliance/dataplane/burst.h"
#include "appliance/dataplane/counters.h"
#include "appliance/dataplane/shared.h"
#include "appliance/dataplane/shared_flows_link.h"
#include "appliance/dataplane/stall_tolerant_clock.h"
#include "appliance/dataplane/worker_parameters.h"
#include "base/ids.h"
#include "base/packet_clock.h"
#include "dedup/pipeline/audit.h"
#include "dedup/pipeline/bits.h"
#include "dedup/pipeline/stages.h"

namespace unecho::dataplane {

struct FilterStageSetup {
    unsigned count = 0;                                           // places, up to the last filter's
    std::array<pipeline::FilterContext, kMaxFilters> contexts{};  // ops is null at an unused index
    std::array<WorkerFilterShared*, kMaxFilters> shared{};
    std::array<const FilterShared*, kMaxFilters> filters{};
    std::array<pipeline::AuditStage*, kMaxFilters> audits{};  // null: not audited
    const pipeline::PortPairMatrix* crossings = nullptr;      // of all audits; null: there are none
    const pipeline::PortPairMatrix* answers = nullptr;        // of all union rules; likewise
    // The link to the shared flow store, for a flow filter whose sites share what they have seen;
    // null: they do not. The secret gives all sites the same digests.
    std::array<SharedFlowsLink*, kMaxFilters> roots{};
    std::array<const hash::Secret*, kMaxFilters> root_secrets{};
    // The index of the predecessor of a filter that is being warmed, or kNoFilter. The predecessor
    // has a context of its own and is only queried.
    std::array<FilterIndex, kMaxFilters> before = no_predecessors();
    // Bit i: the counters at index i continue, also if another filter is there now.
    std::uint32_t keep_counters_mask = 0;
    std::atomic<Nanoseconds>* worker_time = nullptr;  // set every round in a warm-up, or null
    static_assert(kMaxFilters <= 32);

    static constexpr FilterIndex kNoFilter = ~FilterIndex{0};
    [[nodiscard]] static constexpr std::array<FilterIndex, kMaxFilters> no_predecessors() noexcept {
        std::array<FilterIndex, kMaxFilters> none{};
        none.fill(~FilterIndex{0});
        return none;
    }
    std::array<PortIndex, RTE_MAX_ETHPORTS> port_of{};  // by DPDK's port number
    std::array<std::uint32_t, kMaxPorts> groups{};      // of ports, for the union rule
};

class FilterStage {
  public:
    // polls: the number of polls in which any queue or ring of the worker returns all that it can
    // hold.
    FilterStage(const FilterStageSetup& setup, unsigned polls, const WorkerParameters& common,
                Counters& counters) noexcept;

    [[nodiscard]] const pipeline::FilterContext& operator[](FilterIndex i) const noexcept {
        return setup_.contexts[i];
    }

    // Apply another setup. Filters that both setups have continue.
    void apply_config(const FilterStageSetup& setup, unsigned polls) noexcept;

    // Pass on the live clock, when the worker begins and before each poll.
    void begin(Nanoseconds now) noexcept {
        judged_time_.begin(now);
        begun_ = now;
    }
    void begin_poll(Nanoseconds now) noexcept {
        judged_time_.begin_poll(now);
        poll_begun_ = now;
    }
    void end_poll(const PollResult& taken) noexcept {
        judged_time_.end_poll(taken.packets, !taken.more);
        if (!taken.more) {
            emptied_ = poll_begun_;
        }
    }

    // Do upkeep of the filters, pending turns and exchange of segments, between bursts.
    void maintain() noexcept;

    // Replace the packets' timestamps by their filter's time, which never decreases.
    void map_timestamps(Burst& burst, FilterIndex filter, PortIndex from) noexcept;

    // The arrival time of a burst as its filter sees it.
    struct ArrivalTime {
        filter::TimerSnapshot published;
        bool late = false;         // the worker was away, so the filter remembers for longer
        Nanoseconds clock = 0;     // the live clock now
        Nanoseconds earliest = 0;  // likewise, when the burst's first packet may have come
    };
    [[nodiscard]] ArrivalTime arrival_time(FilterIndex filter) noexcept {
        const Nanoseconds clock = common_.clock.now();
        const Nanoseconds now = judged_time_.at(clock);
        return {{now, turns(filter)},  // the turns must be read after the clock
                judged_time_.late(setup_.contexts[filter].remembered),
                clock,
                emptied_};
    }

    // Run stage decide at the present time, then stage audit.
    void decide(Burst& burst, FilterIndex filter) noexcept;
    // Decide a prepared burst at its arrival time. A filter's bursts must come in the order of
    // their arrival. next: the burst of this filter that was prepared behind it, or null.
    void decide_prepared(Burst& burst, FilterIndex filter, const ArrivalTime& arrival_time,
                         const pipeline::PrefetchedBurst& ahead,
                         pipeline::PrefetchedBurst* next) noexcept;

    // Note packets that are forwarded without their filter.
    void pass_by(FilterIndex filter, unsigned packets) noexcept {
        if (setup_.audits[filter] != nullptr) {
            setup_.audits[filter]->pass_by(packets, judged_time_.time());
            if (notes_points(filter)) {
                setup_.contexts[filter].ops->miss_points(setup_.contexts[filter].filter);
            }
        }
    }

    // Copy the state of filters and time to the snapshot.
    void report(WorkerShared& shared) noexcept;

  private:
    // Return the turns that a filter's timer has published, in this worker's time.
    std::uint64_t turns(unsigned filter) noexcept;
    void exchange_segments(unsigned context) noexcept;
    void close(const Burst& burst, FilterIndex filter, const ArrivalTime& arrival_time) noexcept;
    // For a filter that asks the shared flow store. unseen() returns the packets of flows that the
    // filter has not seen, before they are decided. ask() queues queries; learn() inserts what the
    // store answered.
    [[nodiscard]] std::uint64_t unseen(const Burst& burst, FilterIndex filter,
                                       const ArrivalTime& arrival_time) noexcept;
    void ask(const Burst& burst, FilterIndex filter, std::uint64_t unseen) noexcept;
    void learn(FilterIndex filter, filter::TimerSnapshot published) noexcept;
    // arrival: unused with the capture clock, where packets have times of their own.
    void audit(const Burst& burst, FilterIndex filter, const ArrivalTime& arrival) noexcept {
        const std::uint64_t sampled = pipeline::AuditStage::sampled(samples_[filter], burst);
        if (sampled != 0) [[unlikely]] {
            inspect(burst, filter, sampled, arrival);
        }
    }
    void inspect(const Burst& burst, FilterIndex filter, std::uint64_t sampled,
                 const ArrivalTime& arrival) noexcept;
    // Return true if the filter notes which points showed each packet.
    [[nodiscard]] bool notes_points(unsigned filter) const noexcept {
        return setup_.audits[filter] != nullptr && setup_.audits[filter]->paths() != nullptr &&
               setup_.audits[filter]->paths()->spec().all;
    }
    // Note the points of a burst that was decided.
    void note_points(const Burst& burst, FilterIndex filter) const noexcept;
    // Begin to count anew where another audit asks for it.
    void start_points(const FilterStageSetup& before) noexcept;
    [[nodiscard]] PortIndex port_of(const Burst& burst, unsigned i) const noexcept {
        return burst.handed_in ? setup_.port_of[burst.mbufs[i]->port] : burst.port;
    }
    // Note ports and groups for the union rule, before the burst is decided.
    void note_ports(Burst& burst, const pipeline::FilterContext& context) const noexcept {
        if (context.repeats != nullptr) {
            pipeline::for_each_bit(context.key.evidence ? burst.keys.keyed : burst.unidentified,
                                   [&](unsigned i) {
                                       burst.ports[i] = port_of(burst, i);
                                       burst.groups[i] = setup_.groups[burst.ports[i]];
                                   });
        }
    }
    [[nodiscard]] filter::WindowState window_of(const pipeline::FilterContext& context,
                                                Nanoseconds now) const noexcept;
    void link_predecessors() noexcept;
    [[nodiscard]] filter::FilterCounters counted(unsigned context) const noexcept;
    [[nodiscard]] filter::RepeatCounters repeats_counted(unsigned context) const noexcept;

    FilterStageSetup setup_;
    const WorkerParameters& common_;
    Counters& counters_;
    StallTolerantClock judged_time_;  // unused with the capture clock
    Nanoseconds begun_ = 0;           // likewise; filters may be older
    Nanoseconds poll_begun_ = 0;      // likewise
    // Likewise: when the last poll began that left nothing in queues and rings. Packets taken since
    // then arrived later.
    Nanoseconds emptied_ = 0;
    // The samples of the audits, at hand for each burst; empty for a filter without an audit.
    std::array<filter::AuditSample, kMaxFilters> samples_{};
    std::array<PacketClock, kMaxFilters> packet_clocks_;  // capture clock only
    std::uint64_t packets_timed_ = 0;
    std::array<std::uint64_t, kMaxFilters> exchanged_{};  // generation at the last exchange
    // Counters of earlier filters at these indices, which continue.
    std::array<filter::FilterCounters, kMaxFilters> counted_before_{};
    std::array<filter::RepeatCounters, kMaxFilters> repeats_before_{};
};

}  // namespace unecho::dataplane
