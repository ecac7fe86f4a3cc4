// SPDX-License-Identifier: BSD-3-Clause
// Names of link types, and warnings about those without a parser, for all that reads captures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "captures/record.h"

namespace unecho::capture {

// LINKTYPE_ETHERNET, assumed where a capture does not state its link type.
inline constexpr std::uint16_t kEthernetLink = 1;

// Return libpcap's own number (DLT) of a link type. It differs from the number in files for types
// whose DLT depends on the system (pcap-linktype(7)).
[[nodiscard]] int dlt_of(std::uint16_t link_type);

// Return "link type 147 (USER0)", with libpcap's name if it knows one.
[[nodiscard]] std::string link_type_text(std::uint16_t link_type);

// Packets whose link type has no parser: one warning for each interface, with its number of
// packets, and one for all interfaces beyond kMaxListed.
class UnparsedLinks {
  public:
    void note(const Record& record, const Interface& interface);

    [[nodiscard]] const std::vector<Warning>& warnings() const { return warnings_; }
    // Return true for the text of such a warning, which reports keep.
    [[nodiscard]] static bool is_note(std::string_view text);

  private:
    static constexpr std::size_t kMaxListed = 16;

    std::vector<std::uint32_t> interfaces_;  // in the order of warnings_
    std::vector<Warning> warnings_;
};

}  // namespace unecho::capture
