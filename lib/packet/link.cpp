// SPDX-License-Identifier: BSD-3-Clause
#include "packet/link.h"

#include <array>
#include <cstddef>

namespace unecho::packet {

// The numbers are those of https://www.tcpdump.org/linktypes.html; 12 and 14 are what libpcap calls
// raw IP on Linux and on OpenBSD, and files hold them too.
Link link_of(std::uint16_t link_type) noexcept {
    switch (link_type) {
        case 0:
            return Link::kNull;
        case 1:
            return Link::kEthernet;
        case 9:
        case 50:
            return Link::kPpp;
        case 12:
        case 14:
        case 101:
            return Link::kRaw;
        case 104:
            return Link::kHdlc;
        case 105:
            return Link::kWifi;
        case 107:
            return Link::kFrameRelay;
        case 108:
            return Link::kLoop;
        case 113:
            return Link::kSll;
        case 127:
            return Link::kRadiotap;
        case 163:
            return Link::kAvs;
        case 192:
            return Link::kPpi;
        case 228:
            return Link::kIpv4;
        case 229:
            return Link::kIpv6;
        case 239:
            return Link::kNflog;
        case 276:
            return Link::kSll2;
        default:
            return Link::kUnknown;
    }
}

std::string_view name_of(Link link) noexcept {
    static constexpr std::array<std::string_view, kLinks> kNames{
        "Ethernet",        "raw IP",     "raw IPv4",     "raw IPv6",       "BSD loopback",
        "OpenBSD loop",    "PPP",        "Linux cooked", "Linux cooked 2", "802.11",
        "802.11 radiotap", "802.11 PPI", "802.11 AVS",   "Cisco HDLC",     "Frame Relay",
        "NFLOG",           "unknown"};
    return kNames[static_cast<std::size_t>(link)];
}

}  // namespace unecho::packet
