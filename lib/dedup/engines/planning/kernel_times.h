// SPDX-License-Identifier: BSD-3-Clause
// Measures how fast the kernels of each instruction set are on this machine. The widest need not be
// the fastest: some processors lower their clock for 512-bit vectors, which slows everything on the
// core. All kernels give the same answers, so the measurement decides speed alone.
#pragma once

#include <array>

#include "filters/kernels/select.h"

namespace unecho::engines {

struct KernelTimes {
    std::array<double, filter::kIsas.size()> ns{};  // for a packet; 0: not available

    [[nodiscard]] double of(filter::Isa isa) const { return ns.at(static_cast<std::size_t>(isa)); }
    // Return the widest up to `most`, unless a narrower one takes clearly less time.
    [[nodiscard]] filter::Isa fastest(filter::Isa most) const;
};

// Measure a line filter in cache. Half of the packets are echoes, and each has as much other work
// as its digest takes. Takes some milliseconds.
[[nodiscard]] KernelTimes measure_kernels();

}  // namespace unecho::engines
