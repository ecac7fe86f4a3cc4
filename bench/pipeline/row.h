// SPDX-License-Identifier: BSD-3-Clause
// One line of the result: measurements of one filter with one kind of traffic.
#pragma once

#include <cstdint>
#include <string>

#include "common/samples.h"
#include "rig.h"
#include "subject.h"
#include "traffic.h"

namespace unecho::bench {

// The part of the memory hierarchy in which a filter should be, and its size.
struct Residence {
    std::string name;
    std::uint64_t bytes = 0;
};

struct Row {
    Row(PacketCounter& counter, const Residence& where, Subject& filter, Mix frames,
        unsigned percent)
        : residence(where.name),
          subject(&filter),
          mix(frames),
          echo_percent(percent),
          traffic(counter, frames, percent, filter.tunnel(), {}, filter.without_id()) {}

    [[nodiscard]] std::string name() const {
        return subject->plan().name + "/" + residence + "/" + name_of(mix) + "/" +
               std::to_string(echo_percent);
    }

    std::string residence;
    Subject* subject;
    Mix mix;
    unsigned echo_percent;
    Traffic traffic;

    // TSC cycles a packet, one value a window.
    Samples view;
    Samples digest;
    Samples decide;
    Samples ports;
    Samples watch;
    Samples worker;
    Samples audited;  // the worker with an audit

    WindowResult found;
    std::uint64_t packets = 0;  // counted in `found`
};

}  // namespace unecho::bench
