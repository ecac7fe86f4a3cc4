// SPDX-License-Identifier: BSD-3-Clause
// 802.11 in captures: the frame behind the header of a radio (radiotap, PPI, AVS), and the IP
// packet of a data frame. Hot code, like parse.h: reads only inside the frame.
//
// Data frames are searched for an IP packet behind LLC and SNAP with an EtherType (RFC 1042,
// 802.1H). Not searched are encrypted frames, later fragments, aggregates of packets (A-MSDU) and
// mesh frames, which have a further header there.
#pragma once

#include <cstdint>

#include "packets/headers.h"
#include "packets/keys/non_ip.h"
#include "packets/link.h"
#include "packets/locate.h"

namespace unecho::packet {

// Layout of a header: frame control, duration, then the receiver's, the transmitter's and a third
// address, then sequence control. Frames between access points have a fourth address behind it.
inline constexpr std::uint32_t kWifiHeader = 24;
inline constexpr std::uint32_t kWifiAddresses = 4;
inline constexpr std::uint32_t kWifiSequence = 22;
inline constexpr std::uint8_t kWifiRetry = 0x08;  // in the second byte of frame control

[[nodiscard]] inline bool is_wifi(LinkType link) noexcept {
    return info_of(link).wifi != nullptr;
}

enum class Reached : std::uint8_t {
    kYes,
    kOther,  // another kind of content
    kCut,    // truncated or contradictory
};

struct WifiFrame {
    Reached reached;      // kOther: PPI holds a frame of another link type
    std::uint32_t begin;  // in the captured frame; at most end
    std::uint32_t end;    // before the check sequence, if the capture says that there is one
    bool padded;          // the header is padded to a multiple of 4 bytes
};

// Find the frame behind each kind of radio header; rows of link.cpp name these functions.
[[nodiscard]] WifiFrame bare_wifi(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_radiotap(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_ppi(const std::uint8_t* frame, std::uint32_t length) noexcept;
[[nodiscard]] WifiFrame behind_avs(const std::uint8_t* frame, std::uint32_t length) noexcept;

// Find the frame. The link type must satisfy is_wifi().
[[nodiscard]] inline WifiFrame find_wifi(LinkType link, const std::uint8_t* frame,
                                         std::uint32_t length) noexcept {
    return info_of(link).wifi(frame, length);
}

// Payload behind the EtherType of a data frame; offset is in the captured frame.
struct WifiPayload {
    Reached reached;  // kOther: encrypted, without data, or without an EtherType
    std::uint16_t type;
    std::uint32_t offset;
};

// wifi: a result of find_wifi() with kYes.
[[nodiscard]] WifiPayload wifi_payload(const WifiFrame& wifi, const std::uint8_t* frame) noexcept;

// length: of the captured frame; reduced by the check sequence, if the capture reports one.
[[nodiscard]] Located locate_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame,
                                     std::uint32_t& length) noexcept;

[[nodiscard]] NonIpFrame non_ip_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame) noexcept;

}  // namespace unecho::packet
