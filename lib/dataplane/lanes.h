// SPDX-License-Identifier: BSD-3-Clause
// The lanes of one worker: its filters, what time each judges by, the turns of their generations,
// and their segments, which the control thread zeroes.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/packet_clock.h"
#include "dataplane/burst.h"
#include "dataplane/common.h"
#include "dataplane/counters.h"
#include "dataplane/presence.h"
#include "dataplane/shared.h"
#include "pipeline/stages.h"

namespace unecho::dataplane {

struct LanesSetup {
    unsigned count = 0;  // the plan's filters
    std::array<pipeline::Lane, kMaxFilters> lanes{};
    std::array<LaneShared*, kMaxFilters> shared{};
    std::array<const FilterShared*, kMaxFilters> filters{};
};

class Lanes {
  public:
    // polls: in which any queue or ring of the worker gives all it can hold.
    Lanes(const LanesSetup& setup, unsigned polls, const WorkerCommon& common,
          Counters& counters) noexcept;

    [[nodiscard]] const pipeline::Lane& operator[](FilterIndex i) const noexcept {
        return setup_.lanes[i];
    }

    // The live clock is read: when the worker begins, and around each poll.
    void begin() noexcept { presence_.begin(common_.clock.now()); }
    void begin_poll() noexcept {
        if (!common_.capture_clock) {
            presence_.begin_poll(common_.clock.now());
        }
    }
    void end_poll(const Taken& taken) noexcept { presence_.end_poll(taken.packets, !taken.more); }

    // What filters do between bursts: upkeep, turns that are due, exchange of segments.
    void maintain() noexcept;

    // From the packets' stamps to their filter's time, which goes on with steps back.
    void tell_time(Burst& burst, FilterIndex filter, PortIndex from) noexcept;

    // The stage decide, at the time that it is.
    void decide(Burst& burst, FilterIndex filter) noexcept;

    // What a snapshot says of filters and time.
    void report(WorkerShared& shared) noexcept;

  private:
    // The turns of a filter that its timer has published, as this worker has them.
    std::uint64_t turns(unsigned filter) noexcept;
    void exchange_segments(unsigned lane) noexcept;

    LanesSetup setup_;
    const WorkerCommon& common_;
    Counters& counters_;
    Presence presence_;                                   // not by a capture's clock
    std::array<PacketClock, kMaxFilters> packet_clocks_;  // by a capture's clock alone
    std::uint64_t packets_timed_ = 0;
    std::array<std::uint64_t, kMaxFilters> exchanged_{};  // in which generation segments were
};

}  // namespace unecho::dataplane
