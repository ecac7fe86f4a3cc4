// SPDX-License-Identifier: BSD-3-Clause
// Whose packets have most copies, in bounded memory: space-saving counting (Metwally et al. 2005)
// in sets of eight. A pair that is kept has at most `count` echoes and at least count - excess; one
// that is not kept has at most as many as the least of its set.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/report.h"

namespace unecho::analyze {

// Source, then destination; IPv4 in the first 4 bytes of each.
struct AddressPair {
    std::array<std::uint8_t, 32> bytes{};
    bool v6 = false;

    bool operator==(const AddressPair&) const = default;
};

class Talkers {
  public:
    Talkers() : sets_(kSets) {}

    void add(const AddressPair& pair, std::uint64_t length) noexcept;

    // Most echoes first.
    [[nodiscard]] std::vector<Talker> most(std::size_t n) const;

  private:
    static constexpr std::size_t kSets = 512;
    static constexpr std::size_t kWays = 8;
    struct Slot {
        AddressPair pair;
        std::uint64_t count = 0;
        std::uint64_t excess = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<std::array<Slot, kWays>> sets_;
};

}  // namespace unecho::analyze
