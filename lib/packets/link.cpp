// SPDX-License-Identifier: BSD-3-Clause
#include "packets/link.h"

#include <algorithm>
#include <utility>

#include "packets/headers.h"
#include "packets/keys/non_ip.h"
#include "packets/locate.h"
#include "packets/wifi.h"

namespace unecho::packet {
namespace {

// --- Location of the IP packet ------------------------------------------------------------------

Located locate_in_raw(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return locate_by_version(frame, length, 0, L3Type::kMalformed);
}

Located locate_by_family(std::uint8_t family) noexcept {
    switch (family) {
        case kFamilyIpv4:
            return {L3Type::kIpv4, kFamilyHeader};
        case kFamilyIpv6Linux:
        case kFamilyIpv6Bsd:
        case kFamilyIpv6FreeBsd:
        case kFamilyIpv6Darwin:
            return {L3Type::kIpv6, kFamilyHeader};
        default:
            return {L3Type::kNonIp, kFamilyHeader};
    }
}

// The family is below 256, so the byte that is not 0 is the lowest one in either byte order.
Located locate_in_null(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kFamilyHeader) {
        return {L3Type::kMalformed, 0};
    }
    return locate_by_family(frame[0] != 0 ? frame[0] : frame[3]);
}

Located locate_in_loop(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kFamilyHeader) {
        return {L3Type::kMalformed, 0};
    }
    return locate_by_family(frame[3]);
}

Located locate_in_ppp(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const bool framed = length >= 2 && load_be16(frame) == kPppAddressControl;
    return locate_by_ppp(frame, length, framed ? 2 : 0);
}

// The header ends with an EtherType.
Located locate_in_sll(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kSllHeader) {
        return {L3Type::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame + kSllHeader - 2), frame, length, kSllHeader);
}

// The header begins with an EtherType.
Located locate_in_sll2(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kSll2Header) {
        return {L3Type::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame), frame, length, kSll2Header);
}

// Two bytes of address and control, then an EtherType.
Located locate_in_hdlc(const std::uint8_t* frame, std::uint32_t length) noexcept {
    if (length < kHdlcHeader) {
        return {L3Type::kMalformed, 0};
    }
    return locate_by_ethertype(load_be16(frame + 2), frame, length, kHdlcHeader);
}

Located locate_in_ppp_ether(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return locate_by_ethertype(kEtherPppoe, frame, length, 0);
}

// Network layer protocol identifiers (NLPID, RFC 2427), and the control byte before them.
constexpr std::uint8_t kUnnumbered = 0x03;
constexpr std::uint8_t kNlpidSnap = 0x80;
constexpr std::uint8_t kNlpidIpv6 = 0x8E;
constexpr std::uint8_t kNlpidIpv4 = 0xCC;
constexpr std::uint8_t kNlpidPpp = 0xCF;

// After NLPID 0x80 comes an OUI, and after OUI 0 an EtherType. Bridged frames are non-IP.
Located locate_by_snap(const std::uint8_t* frame, std::uint32_t length,
                       std::uint32_t offset) noexcept {
    constexpr std::uint32_t kOuiAndType = 5;
    if (length - offset < kOuiAndType) {
        return {L3Type::kMalformed, offset};
    }
    const std::uint32_t organisation = load_be32(frame + offset) >> 8;
    return organisation != 0 ? Located{L3Type::kNonIp, offset}
                             : locate_by_ethertype(load_be16(frame + offset + 3), frame, length,
                                                   offset + kOuiAndType);
}

// The NLPID is at offset, inside the frame.
Located locate_by_nlpid(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    const std::uint8_t nlpid = frame[offset++];
    switch (nlpid) {
        case kNlpidIpv4:
            return {L3Type::kIpv4, offset};
        case kNlpidIpv6:
            return {L3Type::kIpv6, offset};
        case kNlpidPpp:
            return locate_by_ppp(frame, length, offset);
        case kNlpidSnap:
            return locate_by_snap(frame, length, offset);
        default:
            return {L3Type::kNonIp, offset};
    }
}

// Two to four bytes of address, the last with its lowest bit set (Q.922). Then either control and
// NLPID, or an EtherType.
Located locate_in_frame_relay(const std::uint8_t* frame, std::uint32_t length) noexcept {
    std::uint32_t offset = 0;
    do {
        if (offset == length || offset == 4) {
            return {L3Type::kMalformed, offset};
        }
    } while ((frame[offset++] & 1) == 0);
    if (offset < 2 || length - offset < 2) {
        return {L3Type::kMalformed, offset};
    }
    if (frame[offset] != kUnnumbered) {
        return locate_by_ethertype(load_be16(frame + offset), frame, length, offset + 2);
    }
    offset += frame[offset + 1] == 0 ? 2 : 1;  // a zero may precede the NLPID
    return offset == length ? Located{L3Type::kMalformed, offset}
                            : locate_by_nlpid(frame, length, offset);
}

// Family, version and resource, then fields of length and type, aligned to 4 bytes. They have the
// host's byte order, read here as little-endian. The field of type 9 is the packet.
Located locate_in_nflog(const std::uint8_t* frame, std::uint32_t& length) noexcept {
    constexpr std::uint32_t kPayload = 9;
    if (length < kNflogHeader) {
        return {L3Type::kMalformed, 0};
    }
    const L3Type found = frame[0] == kFamilyIpv4        ? L3Type::kIpv4
                         : frame[0] == kFamilyIpv6Linux ? L3Type::kIpv6
                                                        : L3Type::kNonIp;
    std::uint32_t at = kNflogHeader;
    while (found != L3Type::kNonIp) {
        const std::uint32_t size = length - at < 4 ? 0 : load_le16(frame + at);
        if (size < 4) {
            return {L3Type::kMalformed, 0};
        }
        if ((load_le16(frame + at + 2) & 0x7FFF) == kPayload) {
            length = std::min(length, at + size);
            return {found, at + 4};
        }
        at = std::min(length, at + (size + 3) / 4 * 4);
    }
    return {L3Type::kNonIp, 0};
}

// --- Frames without an IP packet ----------------------------------------------------------------

// Return the bytes up to the end of the frame, padding included.
std::uint32_t rest_of(const std::uint8_t* frame, std::uint32_t length,
                      const std::uint8_t* body) noexcept {
    return length - static_cast<std::uint32_t>(body - frame);
}

NonIpFrame non_ip_in_ethernet(const std::uint8_t* frame, std::uint32_t length) noexcept {
    NonIpFrame out =
        non_ip_by_ethertype(load_be16(frame + kEthernetHeader - 2), frame, length, kEthernetHeader);
    if (is_length(out.type)) {
        out.length = std::min<std::uint32_t>(out.type, out.rest);
    }
    if (!out.inner) {
        out.set_addresses(frame);
    }
    return out;
}

// type, address: offsets in the header.
NonIpFrame non_ip_in_cooked(const std::uint8_t* frame, std::uint32_t length, std::uint32_t header,
                            std::uint32_t type, std::uint32_t address) noexcept {
    NonIpFrame out = non_ip_by_ethertype(load_be16(frame + type), frame, length, header);
    if (!out.inner) {
        out.kind = LinkType::kSll;
        out.source = load_be48(frame + address);
        out.destination = load_be16(frame + address + 6);
    }
    return out;
}

// Serial lines do not pad, so all bytes count. The address only says unicast or broadcast.
NonIpFrame non_ip_in_hdlc(const std::uint8_t* frame, std::uint32_t length) noexcept {
    NonIpFrame out = non_ip_by_ethertype(load_be16(frame + 2), frame, length, kHdlcHeader);
    if (!out.inner) {
        out.kind = LinkType::kHdlc;
        out.length = rest_of(frame, length, out.body);
    }
    return out;
}

// The protocol follows address and control, if these are present.
NonIpFrame non_ip_in_ppp(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const std::uint32_t offset = load_be16(frame) == kPppAddressControl ? 4 : 2;
    return {.kind = LinkType::kPpp,
            .type = load_be16(frame + offset - 2),
            .body = frame + offset,
            .length = length - offset};
}

NonIpFrame non_ip_by_family(LinkType kind, std::uint8_t family, const std::uint8_t* frame,
                            std::uint32_t length) noexcept {
    return {.kind = kind,
            .type = family,
            .body = frame + kFamilyHeader,
            .length = length - kFamilyHeader};
}

NonIpFrame non_ip_in_sll(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_in_cooked(frame, length, kSllHeader, 14, 6);
}

NonIpFrame non_ip_in_sll2(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_in_cooked(frame, length, kSll2Header, 0, 12);
}

NonIpFrame non_ip_in_null(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_by_family(LinkType::kNull, frame[0] != 0 ? frame[0] : frame[3], frame, length);
}

NonIpFrame non_ip_in_loop(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_by_family(LinkType::kNull, frame[3], frame, length);
}

NonIpFrame non_ip_in_nflog(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_by_family(LinkType::kNflog, frame[0], frame, length);
}

// Read a frame whose header is complete.
NonIpFrame typed_in_frame_relay(const std::uint8_t* frame, std::uint32_t length) noexcept {
    std::uint32_t at = 0;
    while ((frame[at++] & 1) == 0) {
    }
    if (frame[at] != kUnnumbered) {
        return non_ip_by_ethertype(load_be16(frame + at), frame, length, at + 2);
    }
    at += frame[at + 1] == 0 ? 2 : 1;
    const bool typed = frame[at] == kNlpidSnap && load_be32(frame + at) << 8 == 0;
    return typed ? non_ip_by_ethertype(load_be16(frame + at + 4), frame, length, at + 6)
                 : NonIpFrame{.kind = LinkType::kFrameRelay};
}

// Like Ethernet, but without addresses: LCP of two sessions may differ in the session number only.
NonIpFrame non_ip_in_ppp_ether(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_by_ethertype(kEtherPppoe, frame, length, 0);
}

template <LinkType kLink>
NonIpFrame all_of_it(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return {.kind = kLink, .body = frame, .length = length};
}

// --- The table ----------------------------------------------------------------------------------

// Adapter for link types in which nothing is known to follow the packet.
template <Located (*kLocate)(const std::uint8_t* frame, std::uint32_t length) noexcept>
Located to_the_end(const std::uint8_t* frame, std::uint32_t& length) noexcept {
    return kLocate(frame, length);
}

template <L3Type kFound>
Located all_one_packet(const std::uint8_t* /*frame*/, std::uint32_t /*length*/) noexcept {
    return {kFound, 0};
}

template <WifiFrame (*kFind)(const std::uint8_t* frame, std::uint32_t length) noexcept>
Located locate_behind(const std::uint8_t* frame, std::uint32_t& length) noexcept {
    return locate_in_wifi(kFind(frame, length), frame, length);
}

template <std::uint32_t kAt, std::uint32_t kBehind>
EtherTypeAt ether_type_at(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return length < std::max(kAt + 2, kBehind) ? EtherTypeAt{}
                                               : EtherTypeAt{true, load_be16(frame + kAt), kBehind};
}

EtherTypeAt ether_type_of_session(const std::uint8_t* /*frame*/,
                                  std::uint32_t /*length*/) noexcept {
    return {true, kEtherPppoe, 0};
}

template <WifiFrame (*kFind)(const std::uint8_t* frame, std::uint32_t length) noexcept>
EtherTypeAt ether_type_behind(const std::uint8_t* frame, std::uint32_t length) noexcept {
    const WifiFrame wifi = kFind(frame, length);
    if (wifi.reached != Reached::kYes) {
        return {};
    }
    const WifiPayload at = wifi_payload(wifi, frame);
    return {at.reached == Reached::kYes, at.type, at.offset};
}

template <WifiFrame (*kFind)(const std::uint8_t* frame, std::uint32_t length) noexcept>
NonIpFrame non_ip_behind(const std::uint8_t* frame, std::uint32_t length) noexcept {
    return non_ip_in_wifi(kFind(frame, length), frame);
}

constexpr std::array<std::int32_t, 3> numbers(std::int32_t first = LinkInfo::kNoNumber,
                                              std::int32_t second = LinkInfo::kNoNumber,
                                              std::int32_t third = LinkInfo::kNoNumber) {
    return {first, second, third};
}

// Row of an 802.11 link type, made from the function that finds the frame behind its radio header.
template <WifiFrame (*kFind)(const std::uint8_t* frame, std::uint32_t length) noexcept>
constexpr LinkInfo wifi_row(LinkType link, std::string_view name, std::int32_t number) {
    return {.link = link,
            .name = name,
            .numbers = numbers(number),
            .non_ip_number = NonIpNumber::kWifiType,
            .locate = locate_behind<kFind>,
            .non_ip = non_ip_behind<kFind>,
            .ether_type = ether_type_behind<kFind>,
            .wifi = kFind};
}

// Indexed by LinkType. The numbers are those of https://www.tcpdump.org/linktypes.html. Files also
// hold 12 and 14, libpcap's numbers for raw IP on Linux and on OpenBSD.
constexpr std::array kTable = std::to_array<LinkInfo>({
    {.link = LinkType::kEthernet,
     .name = "Ethernet",
     .numbers = numbers(1),
     .non_ip_number = NonIpNumber::kEtherType,
     .header = {0, 12, 12, 14},
     .locate = to_the_end<locate_in_ethernet>,
     .non_ip = non_ip_in_ethernet,
     .ether_type = ether_type_at<12, 14>},
    {.link = LinkType::kRaw,
     .name = "raw IP",
     .numbers = numbers(12, 14, 101),
     .non_ip_number = NonIpNumber::kNone,
     .locate = to_the_end<locate_in_raw>,
     .non_ip = all_of_it<LinkType::kRaw>},
    {.link = LinkType::kIpv4,
     .name = "raw IPv4",
     .numbers = numbers(228),
     .non_ip_number = NonIpNumber::kNone,
     .locate = to_the_end<all_one_packet<L3Type::kIpv4>>,
     .non_ip = all_of_it<LinkType::kIpv4>},
    {.link = LinkType::kIpv6,
     .name = "raw IPv6",
     .numbers = numbers(229),
     .non_ip_number = NonIpNumber::kNone,
     .locate = to_the_end<all_one_packet<L3Type::kIpv6>>,
     .non_ip = all_of_it<LinkType::kIpv6>},
    {.link = LinkType::kNull,
     .name = "BSD loopback",
     .numbers = numbers(0),
     .non_ip_number = NonIpNumber::kFamily,
     .header = {0, 0, kFamilyHeader, kFamilyHeader},
     .locate = to_the_end<locate_in_null>,
     .non_ip = non_ip_in_null},
    {.link = LinkType::kLoop,
     .name = "OpenBSD loop",
     .numbers = numbers(108),
     .non_ip_number = NonIpNumber::kFamily,
     .header = {0, 0, kFamilyHeader, kFamilyHeader},
     .locate = to_the_end<locate_in_loop>,
     .non_ip = non_ip_in_loop},
    // Address and control bytes may be left out, and are not a tag.
    {.link = LinkType::kPpp,
     .name = "PPP",
     .numbers = numbers(9, 50),
     .non_ip_number = NonIpNumber::kPpp,
     .header = {0, 0, 0, 4},
     .locate = to_the_end<locate_in_ppp>,
     .non_ip = non_ip_in_ppp},
    {.link = LinkType::kSll,
     .name = "Linux cooked",
     .numbers = numbers(113),
     .non_ip_number = NonIpNumber::kEtherType,
     .header = {0, 14, 14, kSllHeader},
     .locate = to_the_end<locate_in_sll>,
     .non_ip = non_ip_in_sll,
     .ether_type = ether_type_at<14, kSllHeader>},
    {.link = LinkType::kSll2,
     .name = "Linux cooked 2",
     .numbers = numbers(276),
     .non_ip_number = NonIpNumber::kEtherType,
     .header = {4, kSll2Header, kSll2Header, kSll2Header},
     .locate = to_the_end<locate_in_sll2>,
     .non_ip = non_ip_in_sll2,
     .ether_type = ether_type_at<0, kSll2Header>},
    wifi_row<bare_wifi>(LinkType::kWifi, "802.11", 105),
    wifi_row<behind_radiotap>(LinkType::kRadiotap, "802.11 radiotap", 127),
    wifi_row<behind_ppi>(LinkType::kPpi, "802.11 PPI", 192),
    wifi_row<behind_avs>(LinkType::kAvs, "802.11 AVS", 163),
    {.link = LinkType::kHdlc,
     .name = "Cisco HDLC",
     .numbers = numbers(104),
     .non_ip_number = NonIpNumber::kHdlcEtherType,
     .locate = to_the_end<locate_in_hdlc>,
     .non_ip = non_ip_in_hdlc,
     .ether_type = ether_type_at<2, kHdlcHeader>},
    {.link = LinkType::kFrameRelay,
     .name = "Frame Relay",
     .numbers = numbers(107),
     .non_ip_number = NonIpNumber::kNone,
     .locate = to_the_end<locate_in_frame_relay>,
     .non_ip = all_of_it<LinkType::kFrameRelay>,
     .typed = typed_in_frame_relay},
    {.link = LinkType::kNflog,
     .name = "NFLOG",
     .numbers = numbers(239),
     .non_ip_number = NonIpNumber::kFamily,
     .locate = locate_in_nflog,
     .non_ip = non_ip_in_nflog},
    {.link = LinkType::kPppEther,
     .name = "PPPoE session",
     .numbers = numbers(51),
     .non_ip_number = NonIpNumber::kEtherType,
     .locate = to_the_end<locate_in_ppp_ether>,
     .non_ip = non_ip_in_ppp_ether,
     .ether_type = ether_type_of_session},
    {.link = LinkType::kUnknown,
     .name = "unknown",
     .numbers = numbers(),
     .non_ip_number = NonIpNumber::kNone,
     .locate = to_the_end<all_one_packet<L3Type::kNonIp>>,
     .non_ip = all_of_it<LinkType::kUnknown>},
});

constexpr bool in_order() {
    for (unsigned i = 0; i < kTable.size(); ++i) {
        if (kTable[i].link != static_cast<LinkType>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(kTable.size() == kLinks && in_order(),
              "each link type has its row, in the order of the link types");
static_assert(std::all_of(kTable.begin(), kTable.end(),
                          [](const LinkInfo& row) {
                              return !row.name.empty() && row.locate != nullptr &&
                                     row.non_ip != nullptr;
                          }),
              "a row says all that is asked of it");

constexpr bool numbers_are_of_one_row() {
    std::array<bool, 0x10000> met{};
    for (const LinkInfo& row : kTable) {
        for (const std::int32_t number : row.numbers) {
            if (number != LinkInfo::kNoNumber &&
                std::exchange(met.at(static_cast<std::size_t>(number)), true)) {
                return false;
            }
        }
    }
    return true;
}
static_assert(numbers_are_of_one_row(), "a number leads to one link type");

}  // namespace

const LinkInfo& info_of(LinkType link) noexcept {
    return kTable[static_cast<unsigned>(link)];
}

LinkType link_type_of(std::uint16_t link_type) noexcept {
    for (const LinkInfo& row : kTable) {
        if (std::find(row.numbers.begin(), row.numbers.end(), link_type) != row.numbers.end()) {
            return row.link;
        }
    }
    return LinkType::kUnknown;
}

std::string_view name_of(LinkType link) noexcept {
    return info_of(link).name;
}

}  // namespace unecho::packet
