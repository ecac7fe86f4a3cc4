// SPDX-License-Identifier: BSD-3-Clause
// The lanes of one worker: its filters, what time each judges by, the turns of their generations,
// and their segments, which the control thread zeroes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <rte_ethdev.h>

#include "base/ids.h"
#include "base/packet_clock.h"
#include "dataplane/burst.h"
#include "dataplane/common.h"
#include "dataplane/counters.h"
#include "dataplane/presence.h"
#include "dataplane/root_link.h"
#include "dataplane/shared.h"
#include "pipeline/audit.h"
#include "pipeline/bits.h"
#include "pipeline/stages.h"

namespace unecho::dataplane {

struct LanesSetup {
    unsigned count = 0;                               // places up to the last filter's
    std::array<pipeline::Lane, kMaxFilters> lanes{};  // without ops: there is none
    std::array<LaneShared*, kMaxFilters> shared{};
    std::array<const FilterShared*, kMaxFilters> filters{};
    std::array<pipeline::AuditStage*, kMaxFilters> audits{};  // null: not audited
    const pipeline::Crossings* crossings = nullptr;           // of all audits; null: there are none
    const pipeline::Crossings* answers = nullptr;             // of all union rules; likewise
    // Of a filter of flows whose sites share what they have seen; null: they do not. By this secret
    // all of them have the same digests.
    std::array<RootLink*, kMaxFilters> roots{};
    std::array<const hash::Secret*, kMaxFilters> root_secrets{};
    // Of a filter that is warmed, the place of the one before it, which has its own and is only
    // asked. kNoFilter: it is not.
    std::array<FilterIndex, kMaxFilters> before = none_before();
    // Bit i: the counters of the filter that was at i go on there, also if it is another one.
    std::uint32_t goes_on = 0;
    std::atomic<Nanoseconds>* worker_time = nullptr;  // told every round, while filters are warmed
    static_assert(kMaxFilters <= 32);

    static constexpr FilterIndex kNoFilter = ~FilterIndex{0};
    [[nodiscard]] static constexpr std::array<FilterIndex, kMaxFilters> none_before() noexcept {
        std::array<FilterIndex, kMaxFilters> none{};
        none.fill(~FilterIndex{0});
        return none;
    }
    std::array<PortIndex, RTE_MAX_ETHPORTS> port_of{};  // by DPDK's port number
    std::array<std::uint32_t, kMaxPorts> groups{};      // of ports, that repeats are told apart by
};

class Lanes {
  public:
    // polls: in which any queue or ring of the worker gives all it can hold.
    Lanes(const LanesSetup& setup, unsigned polls, const WorkerCommon& common,
          Counters& counters) noexcept;

    [[nodiscard]] const pipeline::Lane& operator[](FilterIndex i) const noexcept {
        return setup_.lanes[i];
    }

    // Filters that are there already go on; polls as above.
    void adopt(const LanesSetup& setup, unsigned polls) noexcept;

    // What the live clock says when the worker begins, and before each poll.
    void begin(Nanoseconds now) noexcept {
        presence_.begin(now);
        begun_ = now;
    }
    void begin_poll(Nanoseconds now) noexcept { presence_.begin_poll(now); }
    void end_poll(const Taken& taken) noexcept { presence_.end_poll(taken.packets, !taken.more); }

    // What filters do between bursts: upkeep, turns that are due, exchange of segments.
    void maintain() noexcept;

    // From the packets' stamps to their filter's time, which goes on with steps back.
    void tell_time(Burst& burst, FilterIndex filter, PortIndex from) noexcept;

    // When a burst was received, as its filter has it.
    struct Receipt {
        filter::Published published;
        bool late = false;  // the filter remembers longer than its window: the worker was away
    };
    [[nodiscard]] Receipt receipt(FilterIndex filter) noexcept {
        const Nanoseconds now = presence_.at(common_.clock.now());
        return {{now, turns(filter)},  // read after the clock
                presence_.late(setup_.lanes[filter].remembered)};
    }

    // The stage decide, at the time that it is; and behind it the stage audit.
    void decide(Burst& burst, FilterIndex filter) noexcept;
    // The same at the time of its receipt, of a burst that was prepared; bursts of a filter in the
    // order of their receipts. next: of a burst prepared behind it, or null.
    void decide_prepared(Burst& burst, FilterIndex filter, const Receipt& receipt,
                         const pipeline::Ahead& ahead, pipeline::Ahead* next) noexcept;

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
    void exchange_segments(unsigned lane) noexcept;
    void close(const Burst& burst, FilterIndex filter, const Receipt& receipt) noexcept;
    // Of a lane with a root: packets of flows that it has not seen, before they are decided; asks
    // for them; and learns what came back.
    [[nodiscard]] std::uint64_t unseen(const Burst& burst, FilterIndex filter,
                                       const Receipt& receipt) noexcept;
    void ask(const Burst& burst, FilterIndex filter, std::uint64_t unseen) noexcept;
    void learn(FilterIndex filter, filter::Published published) noexcept;
    // now: not of captures, whose packets have times.
    void audit(const Burst& burst, FilterIndex filter, Nanoseconds now) noexcept {
        const std::uint64_t sampled = pipeline::AuditStage::sampled(samples_[filter], burst);
        if (sampled != 0) [[unlikely]] {
            look(burst, filter, sampled, now);
        }
    }
    void look(const Burst& burst, FilterIndex filter, std::uint64_t sampled,
              Nanoseconds now) noexcept;
    [[nodiscard]] PortIndex port_of(const Burst& burst, unsigned i) const noexcept {
        return burst.handed_in ? setup_.port_of[burst.mbufs[i]->port] : burst.port;
    }
    // Note ports and groups for the union rule, before the burst is decided.
    void note_ports(Burst& burst, const pipeline::Lane& lane) const noexcept {
        if (lane.repeats != nullptr) {
            pipeline::for_each_bit(lane.key.evidence ? burst.keys.keyed : burst.unidentified,
                                   [&](unsigned i) {
                                       burst.ports[i] = port_of(burst, i);
                                       burst.groups[i] = setup_.groups[burst.ports[i]];
                                   });
        }
    }
    [[nodiscard]] filter::WindowState window_of(const pipeline::Lane& lane,
                                                Nanoseconds now) const noexcept;
    void point_to_those_before() noexcept;
    [[nodiscard]] filter::FilterCounters counted(unsigned lane) const noexcept;
    [[nodiscard]] filter::RepeatCounters repeats_counted(unsigned lane) const noexcept;

    LanesSetup setup_;
    const WorkerCommon& common_;
    Counters& counters_;
    Presence presence_;      // not by a capture's clock
    Nanoseconds begun_ = 0;  // likewise; filters may be older
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
