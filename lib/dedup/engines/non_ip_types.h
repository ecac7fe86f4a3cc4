// SPDX-License-Identifier: BSD-3-Clause
// Counts what packets without an IP packet are, for summaries and reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "packets/ether_types.h"
#include "packets/frame.h"
#include "packets/link.h"

namespace unecho::engines {

struct NonIpTypeCount {
    // "0x0806", "802.3", "802.11", "HDLC 0x8035", "PPP 0xc021", "family 7", "no parser"
    std::string type;
    std::string name;  // "ARP", "management"; empty: no name is known
    std::uint64_t packets = 0;

    bool operator==(const NonIpTypeCount&) const = default;
};

// "30 ARP (0x0806), 2 802.3; 7 of 3 other types": names the first eight.
[[nodiscard]] std::string text_of(const std::vector<NonIpTypeCount>& types);

class NonIpTypeCounter {
  public:
    // Count a frame in which no IP packet was found.
    void add(packet::LinkType link, const packet::Frame& frame);

    void add(const packet::NonIpType& type, std::uint64_t packets);

    // Return all types, the most frequent first; of equal counts the lower number first.
    [[nodiscard]] std::vector<NonIpTypeCount> most_first() const;

  private:
    // At most 65536 for each kind of number.
    std::map<packet::NonIpType, std::uint64_t> counts_;
};

}  // namespace unecho::engines
