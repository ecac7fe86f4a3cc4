// SPDX-License-Identifier: BSD-3-Clause
#include "packets/locate.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "packets/keys/non_ip.h"
#include "packets/tags.h"

namespace unecho::packet {
namespace {

// Skip version, type, code, session and length; none of them says where an IP packet ends.
Located locate_in_pppoe(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    constexpr std::uint32_t kPppoeHeader = 6;
    if (length - offset < kPppoeHeader) {
        return {L3Type::kMalformed, offset};
    }
    return locate_by_ppp(frame, length, offset + kPppoeHeader);
}

// Verify the checksum of a complete IPv4 header (RFC 1071).
bool has_right_checksum(const std::uint8_t* data) noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t at = 0; at < (data[0] & 15U) * 4; at += 2) {
        sum += load_be16(data + at);
    }
    return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
}

// A length of 0 comes from segmentation offload. A truncated packet has a length above `available`.
bool is_sound_ipv4(const std::uint8_t* data, std::uint32_t available) noexcept {
    const std::uint32_t header = (data[0] & 15U) * 4;
    if (header < kIpv4MinHeader || available < header) {
        return false;
    }
    const std::uint32_t total = load_be16(data + 2);
    const bool fits = total == 0 || (total >= header && total + kMaxTrailer >= available);
    return fits && has_right_checksum(data);
}

// Next headers that occur on real networks.
bool is_known_next_header(std::uint8_t next) noexcept {
    constexpr auto kKnown = std::to_array<std::uint8_t>({kProtoHopByHop,
                                                         4,
                                                         kProtoTcp,
                                                         8,
                                                         9,
                                                         kProtoUdp,
                                                         kProtoDccp,
                                                         41,
                                                         kProtoRouting,
                                                         kProtoFragment,
                                                         46,
                                                         47,
                                                         kProtoEsp,
                                                         kProtoAh,
                                                         kProtoIcmpv6,
                                                         kProtoNoNext,
                                                         kProtoDestination,
                                                         88,
                                                         89,
                                                         97,
                                                         103,
                                                         108,
                                                         112,
                                                         115,
                                                         kProtoSctp,
                                                         kProtoMobility,
                                                         kProtoUdpLite,
                                                         137,
                                                         kProtoHip,
                                                         kProtoShim6,
                                                         143});
    return std::find(kKnown.begin(), kKnown.end(), next) != kKnown.end();
}

// Global unicast, unique local and link-local addresses, ::/64 (unspecified, mapped) and those of
// NAT64 (RFC 4291, 4193, 6052).
bool is_allocated_unicast(const std::uint8_t* address) noexcept {
    return address[0] >> 5 == 1 || (address[0] & 0xFE) == 0xFC ||
           (load_be16(address) & 0xFFC0) == 0xFE80 || load_be64(address) == 0 ||
           load_be64(address) == 0x0064'FF9B'0000'0000;
}

bool is_sound_ipv6(const std::uint8_t* data, std::uint32_t available) noexcept {
    if (available < kIpv6Header || data[7] == 0 || !is_known_next_header(data[6])) {
        return false;
    }
    const std::uint32_t payload = load_be16(data + 4);
    const bool offloaded = payload == 0 && data[6] != kProtoNoNext;
    return (offloaded || kIpv6Header + payload + kMaxTrailer >= available) &&
           is_allocated_unicast(data + 8) && (data[24] == 0xFF || is_allocated_unicast(data + 24));
}

// Short frames are padded with zeros, and a copy that gained or lost tags has more or fewer of
// them. So trailing zeros count only if the payload exceeds Ethernet's minimum.
std::uint32_t without_padding(const std::uint8_t* body, std::uint32_t length) noexcept {
    if (length > kMinPayload) {
        return length;
    }
    while (length > 0 && body[length - 1] == 0) {
        --length;
    }
    return length;
}

}  // namespace

bool skip_labels(const std::uint8_t* frame, std::uint32_t length, std::uint32_t& offset) noexcept {
    bool bottom = false;
    while (!bottom) {
        if (length - offset < kTag) {
            return false;
        }
        bottom = (frame[offset + 2] & 1) != 0;
        offset += kTag;
    }
    return true;
}

Located locate_below_mpls(const std::uint8_t* frame, std::uint32_t length,
                          std::uint32_t offset) noexcept {
    if (!skip_labels(frame, length, offset)) {
        return {L3Type::kMalformed, offset};
    }
    return locate_sound_ip(frame, length, offset);
}

bool is_sound_ip(const std::uint8_t* data, std::uint32_t available) noexcept {
    return available != 0 && (data[0] >> 4 == 4   ? is_sound_ipv4(data, available)
                              : data[0] >> 4 == 6 ? is_sound_ipv6(data, available)
                                                  : false);
}

Located locate_sound_ip(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    const Located at = locate_by_version(frame, length, offset, L3Type::kNonIp);
    const std::uint32_t least = at.found == L3Type::kIpv4   ? kIpv4MinHeader
                                : at.found == L3Type::kIpv6 ? kIpv6Header
                                                            : 0;
    if (least == 0 || length - offset < least) {
        return least == 0 ? at : Located{L3Type::kMalformed, offset};
    }
    return is_sound_ip(frame + offset, length - offset) ? at : Located{L3Type::kNonIp, offset};
}

Located locate_by_version(const std::uint8_t* frame, std::uint32_t length, std::uint32_t offset,
                          L3Type other) noexcept {
    if (offset == length) {
        return {L3Type::kMalformed, offset};
    }
    switch (frame[offset] >> 4) {
        case 4:
            return {L3Type::kIpv4, offset};
        case 6:
            return {L3Type::kIpv6, offset};
        default:
            return {other, offset};
    }
}

Located locate_by_ppp(const std::uint8_t* frame, std::uint32_t length,
                      std::uint32_t offset) noexcept {
    if (length - offset < 2) {
        return {L3Type::kMalformed, offset};
    }
    switch (load_be16(frame + offset)) {
        case kPppIpv4:
            return {L3Type::kIpv4, offset + 2};
        case kPppIpv6:
            return {L3Type::kIpv6, offset + 2};
        default:
            return {L3Type::kNonIp, offset + 2};
    }
}

Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                            std::uint32_t offset) noexcept {
    if (!skip_tags(frame, length, type, offset)) {
        return {L3Type::kMalformed, offset};
    }
    switch (type) {
        case kEtherIpv4:
            return {L3Type::kIpv4, offset};
        case kEtherIpv6:
            return {L3Type::kIpv6, offset};
        case kEtherMpls:
        case kEtherMplsMulticast:
            return locate_below_mpls(frame, length, offset);
        case kEtherPppoe:
            return locate_in_pppoe(frame, length, offset);
        default:
            return {L3Type::kNonIp, offset};
    }
}

namespace {

// Return the length that a message states for itself, if its protocol has such a field; 0 if
// unknown. Bytes behind it are padding, a check sequence, or written by a switch or packet broker.
std::uint32_t message_size(std::uint16_t type, const std::uint8_t* body,
                           std::uint32_t length) noexcept {
    constexpr std::uint32_t kLeast = 8;
    if (length < kLeast) {
        return 0;
    }
    const std::uint32_t second = load_be16(body + 2);
    switch (type) {
        case 0x0806:  // ARP: both addresses of both ends, in the sizes that it states
        case 0x8035:  // RARP
            return 8 + 2 * (std::uint32_t{body[4]} + body[5]);
        case 0x88B8:  // GOOSE, GSE management and sampled values: IEC 61850-8-1, annex C
        case 0x88B9:
        case 0x88BA:
        case 0x88F7:  // PTP: IEEE 1588, 13.3.2.4
            return second;
        case 0x888E:  // EAPOL: IEEE 802.1X, 11.3
            return 4 + second;
        default:
            return 0;
    }
}

// PRP's redundancy control trailer (IEC 62439-3, 4.2.7): frame number, LAN, number of bytes behind
// the EtherType including the trailer, and a suffix. A check sequence may follow it.
struct PrpTrailer {
    std::uint32_t begin;
    std::uint16_t sequence;
};

// from: offset of the payload behind the outermost EtherType. The stated size may include the tags.
bool find_prp_trailer(const std::uint8_t* frame, std::uint32_t length, std::uint32_t from,
                      std::uint32_t behind_tags, PrpTrailer& found) noexcept {
    constexpr std::uint32_t kTrailer = 6;
    constexpr std::uint32_t kCheckSequence = 4;
    for (const std::uint32_t check : {0U, kCheckSequence}) {
        if (length - behind_tags < kTrailer + check) {
            return false;
        }
        const std::uint32_t end = length - check;
        const std::uint8_t* const trailer = frame + end - kTrailer;
        const std::uint32_t lan = trailer[2] >> 4;
        const std::uint32_t size = load_be16(trailer + 2) & 0x0FFFU;
        if (load_be16(trailer + 4) == kPrpSuffix && (lan == 0xA || lan == 0xB) &&
            (size == end - from || size == end - behind_tags)) {
            found = {end - kTrailer, load_be16(trailer)};
            return true;
        }
    }
    return false;
}

}  // namespace

NonIpFrame non_ip_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t offset) noexcept {
    NonIpFrame out{.kind = LinkType::kEthernet};
    const std::uint32_t from = offset;
    std::uint32_t end = length;
    // The parser has passed these tags, so none is cut short.
    std::ignore =
        walk_tags(frame, length, type, offset,
                  [&](const TagKind&, std::uint16_t tag, std::uint32_t at, const TagStep& step) {
                      if (is_length(tag) && tag >= kSnapHeader) {
                          end = std::min<std::uint32_t>(end, at + tag);
                      }
                      if (has_sequence(tag)) {
                          out.sequence = NonIpFrame::kNumbered | load_be16(frame + at + 2);
                      }
                      if (step.holds_frame) {
                          out.set_addresses(frame + at + step.size - kEthernetHeader);
                          out.inner = true;
                      }
                  });
    if (is_mpls(type)) {
        std::ignore = skip_labels(frame, length, offset);
    }
    end = std::max(end, offset);
    if (PrpTrailer prp{}; find_prp_trailer(frame, end, from, offset, prp)) {
        end = prp.begin;
        out.sequence = out.sequence != 0 ? out.sequence : NonIpFrame::kNumbered | prp.sequence;
    }
    out.type = type;
    out.body = frame + offset;
    out.rest = end - offset;
    const std::uint32_t known = out.inner && is_length(type)
                                    ? std::min<std::uint32_t>(type, out.rest)
                                    : message_size(type, out.body, out.rest);
    out.length = known != 0 && known <= out.rest ? known : without_padding(out.body, out.rest);
    return out;
}

}  // namespace unecho::packet
