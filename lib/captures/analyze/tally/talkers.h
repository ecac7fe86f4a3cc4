// SPDX-License-Identifier: BSD-3-Clause
// Address pairs whose packets have most copies, in bounded memory.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "captures/analyze/report/report.h"
#include "captures/analyze/tally/top_counts.h"

namespace unecho::analyze {

// Source, then destination; IPv4 in the first 4 bytes of each.
struct AddressPair {
    std::array<std::uint8_t, 32> bytes{};
    bool v6 = false;

    auto operator<=>(const AddressPair&) const = default;

    template <typename Io>
    void state(Io& io) {
        io(bytes, v6);
    }
};

// Return at most n pairs, most echoes first.
[[nodiscard]] std::vector<Talker> top_talkers(const TopSummary<AddressPair>& pairs, std::size_t n);

class Talkers {
  public:
    void add(const AddressPair& pair, std::uint64_t length);

    [[nodiscard]] TopSummary<AddressPair> summary() const { return counts_.summary(); }
    [[nodiscard]] std::vector<Talker> most(std::size_t n) const {
        return top_talkers(summary(), n);
    }

  private:
    static constexpr std::size_t kSets = 512;
    TopCounts<AddressPair> counts_{kSets};
};

}  // namespace unecho::analyze
