// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <rte_cycles.h>

#include "base/int128.h"
#include "base/units.h"

namespace unecho::dataplane {

// Converts TSC cycles to nanoseconds since start, by one multiplication.
struct TscClock {
    std::uint64_t start = 0;
    std::uint64_t scale = 0;  // nanoseconds per cycle, as a fraction of 2^32
    // A counter for tests, in place of the processor's; each reading adds per_reading.
    std::uint64_t* counter = nullptr;
    std::uint64_t per_reading = 0;

    static TscClock with_frequency(std::uint64_t start, std::uint64_t hz) noexcept {
        return {start, static_cast<std::uint64_t>((uint128{kSecond} << 32) / hz)};
    }
    [[nodiscard]] Nanoseconds at(std::uint64_t tsc) const noexcept {
        return static_cast<Nanoseconds>((uint128{tsc - start} * scale) >> 32);
    }
    [[nodiscard]] std::uint64_t cycles() const noexcept {
        return counter == nullptr ? rte_rdtsc() : *counter += per_reading;
    }
    [[nodiscard]] Nanoseconds now() const noexcept { return at(cycles()); }
};

}  // namespace unecho::dataplane
