// SPDX-License-Identifier: BSD-3-Clause
// One segmented filter as a worker has it: tests, inserts and exchanges segments with the control
// thread, like appliance/dataplane/filter_stage.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "appliance/dataplane/shared.h"
#include "appliance/timers/segment_zeroer.h"
#include "base/assert.h"
#include "filters/window/line.h"
#include "filters/window/segmented/apbbf.h"
#include "filters/window/segmented/apbf.h"
#include "support/filter_memory.h"

namespace unecho::test {

// k and l in the unit of the published turns: generations, or ticks of the line filter.
struct Shape {
    unsigned k;
    unsigned l;
    filter::EchoPolicy policy;
};

// So sparse that no key matches by accident: with 32 keys and k = 3, once in 10^9 queries.
inline filter::ApbfParams params_of(const Shape& shape, const filter::Apbf*) {
    filter::ApbfSpec spec;
    spec.k = shape.k;
    spec.l = shape.l;
    spec.m = 1U << 16;
    spec.policy = shape.policy;
    return filter::ApbfParams::make(spec).value();
}

// Made once a shape: the table of chances takes 30 times as long as a schedule.
inline const filter::ApbbfParams& params_of(const Shape& shape, const filter::Apbbf*) {
    static std::map<std::array<unsigned, 3>, filter::ApbbfParams> made;
    const std::array<unsigned, 3> key{shape.k, shape.l, static_cast<unsigned>(shape.policy)};
    auto found = made.find(key);
    if (found == made.end()) {
        filter::ApbbfSpec spec;
        spec.k = shape.k;
        spec.l = shape.l;
        spec.B = 512;
        spec.b = 8;
        spec.blocks = 64;
        spec.policy = shape.policy;
        found = made.emplace(key, filter::ApbbfParams::make(spec).value()).first;
    }
    return found->second;
}

// k + l = 8 generations, each of as many ticks as there are phases.
inline filter::LineParams params_of(const Shape& shape, const filter::LineFilter*) {
    filter::LineSpec spec;
    spec.phases = (shape.k + shape.l) / filter::kLineWords;
    spec.k = shape.k / spec.phases;
    spec.M = 2;
    spec.b = 8;
    spec.lines = 4096;
    spec.policy = shape.policy;
    spec.isa = filter::best_isa();
    return filter::LineParams::make(spec).value();
}

template <typename F>
class TestedLane {
  public:
    explicit TestedLane(const Shape& shape)
        : memory_(F::bytes(params_of(shape, static_cast<const F*>(nullptr)))),
          filter_(params_of(shape, static_cast<const F*>(nullptr)), memory_.span()) {
        if constexpr (kSegmented) {
            zeroer_.add(shared_, memory_.span(), filter_.segments().geometry().segment_bytes);
        }
    }

    static constexpr bool kSegmented = requires(F f) { f.segments(); };

    // For the worker.
    F& filter() { return filter_; }
    // At each poll.
    void maintain() {
        if constexpr (!kSegmented) {
            filter_.maintain();
        }
    }
    void exchange() {
        if constexpr (kSegmented) {
            exchange_segments();
        }
    }

    // For the control thread.
    appliance::SegmentZeroer& zeroer() { return zeroer_; }

  private:
    void exchange_segments() {
        while (const auto retired = filter_.segments().take_retired()) {
            [[maybe_unused]] const bool pushed = shared_.retired.push(*retired);
            UNECHO_ASSERT(pushed);
        }
        std::uint16_t id = 0;
        while (shared_.zeroed.pop(id)) {
            filter_.segments().supply_zeroed(id);
        }
    }

    FilterMemory memory_;
    F filter_;
    dataplane::WorkerFilterShared shared_;
    appliance::SegmentZeroer zeroer_;
};

}  // namespace unecho::test
