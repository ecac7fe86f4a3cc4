// SPDX-License-Identifier: BSD-3-Clause
// LinkType types by name, and the warnings of those that have no parser: the same words wherever
// captures are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

// LINKTYPE_ETHERNET: what is assumed where a capture does not tell.
inline constexpr std::uint16_t kEthernetLink = 1;

// libpcap's own number of a link type: another than the files' for those that have different ones
// on different systems (pcap-linktype(7)).
[[nodiscard]] int dlt_of(std::uint16_t link_type);

// "link type 147 (USER0)", as libpcap calls it; without a name if it knows none.
[[nodiscard]] std::string link_type_text(std::uint16_t link_type);

// A warning for each interface, with the number of its packets; beyond kMaxListed interfaces one
// for all others.
class UnparsedLinks {
  public:
    // Counts a packet whose link type has no parser, and its interface.
    void note(const Record& record, const Interface& interface);

    [[nodiscard]] const std::vector<Warning>& warnings() const { return warnings_; }

  private:
    static constexpr std::size_t kMaxListed = 16;

    std::vector<std::uint32_t> interfaces_;  // with a warning of their own, in their order
    std::vector<Warning> warnings_;
};

}  // namespace unecho::capture
