// SPDX-License-Identifier: BSD-3-Clause
// The lanes of one worker: its filters, what time each judges by, the turns of their generations,
// and their segments, which the control thread zeroes.
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
    unsigned count = 0;                                           // places up to the last filter's
    std::array<pipeline::FilterContext, kMaxFilters> contexts{};  // without ops: there is none
    std::array<WorkerFilterShared*, kMaxFilters> shared{};
    std::array<const FilterShared*, kMaxFilters> filters{};
    std::array<pipeline::AuditStage*, kMaxFilters> audits{};  // null: not audited
    const pipeline::PortPairMatrix* crossings = nullptr;      // of all audits; null: there are none
    const pipeline::PortPairMatrix* answers = nullptr;        // of all union rules; likewise
    // Of a filter of flows whose sites share what they have seen; null: they do not. By this secret
    // all of them have the same digests.
    std::array<SharedFlowsLink*, kMaxFilters> roots{};
    std::array<const hash::Secret*, kMaxFilters> root_secrets{};
    // Of a filter that is warmed, the place of the one before it, which has its own and is only
    // asked. kNoFilter: it is not.
    std::array<FilterIndex, kMaxFilters> before = no_predecessors();
    // Bit i: the counters of the filter that was at i go on there, also if it is another one.
    std::uint32_t keep_counters_mask = 0;
    std::atomic<Nanoseconds>* worker_time = nullptr;  // told every round, while filters are warmed
    static_assert(kMaxFilters <= 32);

    static constexpr FilterIndex kNoFilter = ~FilterIndex{0};
    [[nodiscard]] static constexpr std::array<FilterIndex, kMaxFilters> no_predecessors() noexcept {
        std::array<FilterIndex, kMaxFilters> none{};
        none.fill(~FilterIndex{0});
        return none;
    }
    std::array<PortIndex, RTE_MAX_ETHPORTS> port_of{};  // by DPDK's port number
    std::array<std::uint32_t, kMaxPorts> groups{};      // of ports, that repeats are told apart by
};

class FilterStage {
  public:
    // polls: in which any queue or ring of the worker gives all it can hold.
    FilterStage(const FilterStageSetup& setup, unsigned polls, const WorkerParameters& common,
                Counters& counters) noexcept;

    [[nodiscard]] const pipeline::FilterContext& operator[](FilterIndex i) const noexcept {
        return setup_.contexts[i];
    }

    // Filters that are there already go on; polls as above.
    void apply_config(const FilterStageSetup& setup, unsigned polls) noexcept;

    // What the live clock says when the worker begins, and before each poll.
    void begin(Nanoseconds now) noexcept {
        presence_.begin(now);
        begun_ = now;
    }
    void begin_poll(Nanoseconds now) noexcept { presence_.begin_poll(now); }
    void end_poll(const PollResult& taken) noexcept {
        presence_.end_poll(taken.packets, !taken.more);
    }

    // What filters do between bursts: upkeep, turns that are due, exchange of segments.
    void maintain() noexcept;

    // From the packets' stamps to their filter's time, which goes on with steps back.
    void map_timestamps(Burst& burst, FilterIndex filter, PortIndex from) noexcept;

    // When a burst was received, as its filter has it.
    struct ArrivalTime {
        filter::TimerSnapshot published;
        bool late = false;  // the filter remembers longer than its window: the worker was away
    };
    [[nodiscard]] ArrivalTime arrival_time(FilterIndex filter) noexcept {
        const Nanoseconds now = presence_.at(common_.clock.now());
        return {{now, turns(filter)},  // read after the clock
                presence_.late(setup_.contexts[filter].remembered)};
    }

    // The stage decide, at the time that it is; and behind it the stage audit.
    void decide(Burst& burst, FilterIndex filter) noexcept;
    // The same at the time of its receipt, of a burst that was prepared; bursts of a filter in the
    // order of their receipts. next: of a burst prepared behind it, or null.
    void decide_prepared(Burst& burst, FilterIndex filter, const ArrivalTime& arrival_time,
                         const pipeline::PrefetchedBurst& ahead,
                         pipeline::PrefetchedBurst* next) noexcept;

    // Packets that are sent on without their filter.
    void pass_by(FilterIndex filter, unsigned packets) noexcept {
        if (setup_.audits[filter] != nullptr) {
            setup_.audits[filter]->audit().add_overload(packets);
        }
    }

    // What a snapshot says of filters and time.
    void report(WorkerShared& shared) noexcept;

  private:
    // The turns of a filter that its timer has published, as this worker has them.
    std::uint64_t turns(unsigned filter) noexcept;
    void exchange_segments(unsigned context) noexcept;
    void close(const Burst& burst, FilterIndex filter, const ArrivalTime& arrival_time) noexcept;
    // Of a lane with a root: packets of flows that it has not seen, before they are decided; asks
    // for them; and learns what came back.
    [[nodiscard]] std::uint64_t unseen(const Burst& burst, FilterIndex filter,
                                       const ArrivalTime& arrival_time) noexcept;
    void ask(const Burst& burst, FilterIndex filter, std::uint64_t unseen) noexcept;
    void learn(FilterIndex filter, filter::TimerSnapshot published) noexcept;
    // now: not of captures, whose packets have times.
    void audit(const Burst& burst, FilterIndex filter, Nanoseconds now) noexcept {
        const std::uint64_t sampled = pipeline::AuditStage::sampled(samples_[filter], burst);
        if (sampled != 0) [[unlikely]] {
            inspect(burst, filter, sampled, now);
        }
    }
    void inspect(const Burst& burst, FilterIndex filter, std::uint64_t sampled,
                 Nanoseconds now) noexcept;
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
    StallTolerantClock presence_;  // not by a capture's clock
    Nanoseconds begun_ = 0;        // likewise; filters may be older
    // Of the audits, where each burst needs them; none of filters without one.
    std::array<filter::AuditSample, kMaxFilters> samples_{};
    std::array<PacketClock, kMaxFilters> packet_clocks_;  // by a capture's clock alone
    std::uint64_t packets_timed_ = 0;
    std::array<std::uint64_t, kMaxFilters> exchanged_{};  // in which generation segments were
    // What filters counted that were at these places before, and whose counters go on.
    std::array<filter::FilterCounters, kMaxFilters> counted_before_{};
    std::array<filter::RepeatCounters, kMaxFilters> repeats_before_{};
};

}  // namespace unecho::dataplane
