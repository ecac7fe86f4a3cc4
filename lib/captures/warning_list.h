// SPDX-License-Identifier: BSD-3-Clause
// The warnings of one input, with equal ones merged, and their text. The list is bounded, because a
// file can be wrong in more ways than are worth reporting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

class WarningList {
  public:
    // number: of the packet concerned; between packets, of the last one delivered.
    void add(std::uint64_t number, std::string_view text, bool incomplete = false);

    [[nodiscard]] const std::vector<Warning>& list() const { return list_; }

  private:
    std::vector<Warning> list_;
};

// Return "taps.pcap: packet 17: time steps back (3 times)".
std::string warning_text(const Warning& warning, const std::vector<std::string>& inputs);

}  // namespace unecho::capture
