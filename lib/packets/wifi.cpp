// SPDX-License-Identifier: BSD-3-Clause
#include "packets/wifi.h"

#include <algorithm>

namespace unecho::packet {
namespace {

constexpr WifiFrame kNoFrame{Reached::kCut, 0, 0, false};

// Return where a radiotap or PPI header ends by its own length field; 0 if that is impossible.
std::uint32_t behind_header(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const std::uint32_t begin = length < 8 ? 0 : load_le16(frame + 2);
    return begin < 8 || begin > length ? 0 : begin;
}

std::uint32_t without_check(std::uint32_t begin, std::uint32_t length, bool told) noexcept {
    return told ? std::max(begin, length - std::min<std::uint32_t>(length, 4)) : length;
}

// Search PPI's fields of type and length, aligned to 4 bytes if the header's second byte says so.
// The 802.11 field has its flags behind an 8-byte timer (CACE, PPI 1.0.10).
bool ppi_has_check(const std::uint8_t* frame, std::uint32_t end) noexcept {
    constexpr std::uint32_t kCommon = 2;
    constexpr std::uint32_t kFlags = 8;
    constexpr std::uint8_t kHasCheck = 0x01;
    const std::uint32_t unit = (frame[1] & 1) != 0 ? 4 : 1;
    std::uint32_t at = 8;
    while (end - at >= 4) {
        const std::uint32_t type = load_le16(frame + at);
        const std::uint32_t size = load_le16(frame + at + 2);
        if (end - at - 4 < size) {
            return false;
        }
        if (type == kCommon) {
            return size >= kFlags + 2 && (frame[at + 4 + kFlags] & kHasCheck) != 0;
        }
        at = std::min(end, at + 4 + (size + unit - 1) / unit * unit);
    }
    return false;
}

// Bits of frame control, sequence control and QoS control (IEEE 802.11-2020, 9.2.4).
constexpr std::uint8_t kVersion = 0x03;
constexpr std::uint8_t kType = 0x0C;
constexpr std::uint8_t kManagement = 0x00;
constexpr std::uint8_t kData = 0x08;
constexpr std::uint8_t kWithoutData = 0x40;
constexpr std::uint8_t kQos = 0x80;
constexpr std::uint8_t kToDs = 0x01;
constexpr std::uint8_t kFromDs = 0x02;
constexpr std::uint8_t kBothDs = kToDs | kFromDs;
constexpr std::uint8_t kProtected = 0x40;
constexpr std::uint8_t kHtControl = 0x80;
constexpr std::uint8_t kFragmentNumber = 0x0F;
constexpr std::uint8_t kSeveral = 0x80;

bool is_data(const std::uint8_t* header) noexcept {
    return (header[0] & (kVersion | kType | kWithoutData)) == kData;
}

WifiPayload behind_snap(const std::uint8_t* frame, std::uint32_t end,
                        std::uint32_t offset) noexcept {
    constexpr std::uint32_t kSnap = 0xAAAA03;
    constexpr std::uint32_t kBridgeTunnel = 0xF8;  // IEEE 802.1H
    const std::uint8_t* const llc = frame + offset;
    if (end - offset < kLlcHeader) {
        return {Reached::kCut, 0, 0};
    }
    if ((std::uint32_t{load_be16(llc)} << 8 | llc[2]) != kSnap) {
        return {Reached::kOther, 0, 0};
    }
    if (end - offset < kSnapHeader) {
        return {Reached::kCut, 0, 0};
    }
    const std::uint32_t organisation = load_be32(llc + 2) & 0xFF'FFFF;
    if (organisation != 0 && organisation != kBridgeTunnel) {
        return {Reached::kOther, 0, 0};
    }
    return {Reached::kYes, load_be16(llc + 6), offset + kSnapHeader};
}

constexpr L3Type without(Reached reached) noexcept {
    return reached == Reached::kOther ? L3Type::kNonIp : L3Type::kMalformed;
}

// Return true if the sender numbers such frames and the header is complete. A copy has the same
// number; a retransmission has the retry bit, and a repeat another number. Control frames and
// frames without data have no usable number.
bool is_numbered(const std::uint8_t* header, std::uint32_t length) noexcept {
    return length >= kWifiHeader &&
           ((header[0] & (kVersion | kType)) == kManagement || is_data(header));
}

}  // namespace

WifiFrame bare_wifi(const std::uint8_t* /*frame*/, std::uint32_t length) noexcept {
    return {Reached::kYes, 0, length, false};
}

// Words of presence bits, each with its highest bit set if another word follows. Then fields in the
// order of the first word's bits, each aligned to its size: https://www.radiotap.org.
WifiFrame behind_radiotap(const std::uint8_t* frame, std::uint32_t length) noexcept {
    constexpr std::uint32_t kTimer = 1;
    constexpr std::uint32_t kFlags = 2;
    constexpr std::uint8_t kHasCheck = 0x10;
    constexpr std::uint8_t kPadded = 0x20;
    const std::uint32_t begin = behind_header(frame, length);
    if (begin == 0) {
        return kNoFrame;
    }
    const std::uint32_t present = load_le32(frame + 4);
    std::uint32_t at = 8;
    for (std::uint32_t word = present; word >> 31 != 0; at += 4) {
        if (begin - at < 4) {
            return kNoFrame;
        }
        word = load_le32(frame + at);
    }
    at = (present & kTimer) != 0 ? (at + 7) / 8 * 8 + 8 : at;
    const bool told = (present & kFlags) != 0;
    if (told && at >= begin) {
        return kNoFrame;
    }
    const std::uint8_t flags = told ? frame[at] : std::uint8_t{0};
    return {Reached::kYes, begin, without_check(begin, length, (flags & kHasCheck) != 0),
            (flags & kPadded) != 0};
}

// PPI states the link type of its contents.
WifiFrame behind_ppi(const std::uint8_t* frame, std::uint32_t length) noexcept {
    constexpr std::uint32_t kOf80211 = 105;
    const std::uint32_t begin = behind_header(frame, length);
    if (begin == 0) {
        return kNoFrame;
    }
    const bool wifi = load_le32(frame + 4) == kOf80211;
    const bool check = wifi && ppi_has_check(frame, begin);
    return {wifi ? Reached::kYes : Reached::kOther, begin, without_check(begin, length, check),
            false};
}

WifiFrame behind_avs(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const std::uint32_t begin = length < 8 ? 0 : load_be32(frame + 4);
    return begin < 8 || begin > length ? kNoFrame : WifiFrame{Reached::kYes, begin, length, false};
}

WifiPayload wifi_payload(const WifiFrame& wifi, const std::uint8_t* frame) noexcept {
    const std::uint8_t* const header = frame + wifi.begin;
    const std::uint32_t available = wifi.end - wifi.begin;
    if (available < 2) {
        return {Reached::kCut, 0, 0};
    }
    if (!is_data(header) || (header[1] & kProtected) != 0) {
        return {Reached::kOther, 0, 0};
    }
    const std::uint32_t qos = kWifiHeader + ((header[1] & kBothDs) == kBothDs ? 6 : 0);
    const bool has_qos = (header[0] & kQos) != 0;
    std::uint32_t size = qos + (has_qos ? 2 : 0);
    size += has_qos && (header[1] & kHtControl) != 0 ? 4 : 0;
    size = wifi.padded ? (size + 3) / 4 * 4 : size;
    if (available < size) {
        return {Reached::kCut, 0, 0};
    }
    const bool several = has_qos && (header[qos] & kSeveral) != 0;
    if (several || (header[kWifiSequence] & kFragmentNumber) != 0) {
        return {Reached::kOther, 0, 0};
    }
    return behind_snap(frame, wifi.end, wifi.begin + size);
}

Located locate_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame,
                       std::uint32_t& length) noexcept {
    if (wifi.reached != Reached::kYes) {
        return {without(wifi.reached), 0};
    }
    length = wifi.end;
    const WifiPayload at = wifi_payload(wifi, frame);
    return at.reached == Reached::kYes ? locate_by_ethertype(at.type, frame, length, at.offset)
                                       : Located{without(at.reached), 0};
}

// With an EtherType, treat the frame like the same frame of Ethernet, with the stations' addresses
// taken from where the direction bits put them. So it has one key on its way to an access point,
// between two of them, and behind them. Otherwise compare the whole frame except its check
// sequence, with number, retry bit and duration.
NonIpFrame non_ip_in_wifi(const WifiFrame& wifi, const std::uint8_t* frame) noexcept {
    const std::uint8_t* const header = frame + wifi.begin;
    const std::uint32_t size = wifi.end - wifi.begin;
    if (wifi.reached != Reached::kYes) {
        return {.kind = LinkType::kUnknown, .body = header, .length = size};
    }
    const WifiPayload at = wifi_payload(wifi, frame);
    if (at.reached != Reached::kYes) {
        return {.kind = LinkType::kWifi,
                .compared = is_numbered(header, size),
                .type = static_cast<std::uint16_t>((header[0] & kType) >> 2),
                .body = header,
                .length = size};
    }
    NonIpFrame out = non_ip_by_ethertype(at.type, frame, wifi.end, at.offset);
    if (out.inner) {
        return out;
    }
    const bool to = (header[1] & kToDs) != 0;
    const bool from = (header[1] & kFromDs) != 0;
    out.destination = load_be48(header + (to ? 16 : 4));
    out.source = load_be48(header + (!from ? 10 : to ? 24 : 16));
    return out;
}

}  // namespace unecho::packet
