// SPDX-License-Identifier: BSD-3-Clause
// How fast the kernels of each instruction set are on this machine. The widest need not be the
// fastest: some processors lower their clock for 512-bit vectors, for all else that a worker does
// as well. All kernels give the same answers, so what is measured decides speed alone.
#pragma once

#include <array>

#include "filters/kernels/select.h"

namespace unecho::engines {

struct KernelTimes {
    std::array<double, filter::kIsas.size()> ns{};  // a packet, by instruction set; 0: not there

    [[nodiscard]] double of(filter::Isa isa) const { return ns.at(static_cast<std::size_t>(isa)); }
    // Of those up to `most`: the widest, but where a narrower one takes clearly less.
    [[nodiscard]] filter::Isa fastest(filter::Isa most) const;
};

// Of a line filter in cache, half of the packets echoes, with as much else to do for each of them
// as its digest takes. Some milliseconds.
[[nodiscard]] KernelTimes measure_kernels();

}  // namespace unecho::engines
