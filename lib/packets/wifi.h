// SPDX-License-Identifier: BSD-3-Clause
// 802.11 in captures: the frame behind what a radio said of it (radiotap, PPI, AVS), and the IP
// packet of a data frame. Hot code as parse.h is: bytes inside the frame are read, nothing else.
//
// An IP packet is looked for in data frames that are neither enciphered nor a later fragment nor
// several packets in one (A-MSDU), behind LLC and SNAP with an EtherType (RFC 1042, 802.1H); in
// mesh networks a header of theirs stands there, which is not looked through.
#pragma once

#include <cstdint>

#include "packets/headers.h"
#include "packets/keys/non_ip.h"
#include "packets/link.h"
#include "packets/locate.h"

namespace unecho::packet {

// Behind frame control and duration three addresses: of who is to receive it, of who sent it, and
// of the third. Then sequence control; behind that the fourth address of a frame between access
// points.
inline constexpr std::uint32_t kWifiHeader = 24;
inline constexpr std::uint32_t kWifiAddresses = 4;
inline constexpr std::uint32_t kWifiSequence = 22;
inline constexpr std::uint8_t kWifiRetry = 0x08;  // of the second byte of frame control

[[nodiscard]] inline bool is_wifi(LinkType link) noexcept {
    return info_of(link).wifi != nullptr;
}

enum class Reached : std::uint8_t {
    kYes,
    kOther,  // something else is there
    kCut,    // cut short, or contradictory
};

struct WifiFrame {
    Reached reached;      // whether an 802.11 frame; kOther: of another link type, in PPI
    std::uint32_t begin;  // in the captured frame, at most end
    std::uint32_t end;    // before the check sequence, where one is told of
    bool padded;          // its header, to a multiple of 4 bytes
};

// What each link type of 802.11 puts in front of it; their rows name these.
[[nodiscard]] WifiFrame bare_wifi(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_radiotap(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_ppi(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_avs(const std::uint8_t* frame, std::uint32_t length) noexcept;

// Of a link type that is_wifi().
[[nodiscard]] inline WifiFrame find_wifi(LinkType link, const std::uint8_t* frame,
                                         std::uint32_t length) noexcept {
    return info_of(link).wifi(frame, length);
}

// What the EtherType of a data frame leads to begins at offset, in the captured frame.
struct WifiPayload {
    Reached reached;  // kOther: no data in clear, or without an EtherType
    std::uint16_t type;
    std::uint32_t offset;
};

// frame: that of which find_wifi() says kYes.
[[nodiscard]] WifiPayload wifi_payload(const WifiFrame& wifi, const std::uint8_t* frame) noexcept;

// length: of the captured frame; becomes less by the check sequence, where one is told of.
[[nodiscard]] Located locate_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame,
                                     std::uint32_t& length) noexcept;

[[nodiscard]] NonIpFrame non_ip_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame) noexcept;

}  // namespace unecho::packet
