// SPDX-License-Identifier: BSD-3-Clause
#include "packet/locate.h"

#include <tuple>

#include "packet/non_ip.h"

namespace unecho::packet {
namespace {

constexpr bool is_tag(std::uint16_t type) noexcept {
    return type == kEtherVlan || type == kEtherQinq || type == kEtherQinq91 || type == kEtherQinq92;
}

// Version, type, code, session and length, none of which says where an IP packet ends.
Located locate_in_pppoe(const std::uint8_t* frame, std::uint32_t length,
                        std::uint32_t offset) noexcept {
    constexpr std::uint32_t kPppoeHeader = 6;
    if (length - offset < kPppoeHeader) {
        return {Found::kMalformed, offset};
    }
    return locate_by_ppp(frame, length, offset + kPppoeHeader);
}

// A shortest frame is padded with zeros, and a copy that gained or lost tags with fewer or more:
// zeros at the end count only where the frame would be longer than that without its tags.
std::uint32_t without_padding(const std::uint8_t* body, std::uint32_t length) noexcept {
    if (length > kLeastPayload) {
        return length;
    }
    while (length > 0 && body[length - 1] == 0) {
        --length;
    }
    return length;
}

}  // namespace

bool skip_tags(const std::uint8_t* frame, std::uint32_t length, std::uint16_t& type,
               std::uint32_t& offset) noexcept {
    while (is_tag(type)) {
        if (length - offset < kTag) {
            return false;
        }
        type = load_be16(frame + offset + 2);
        offset += kTag;
    }
    return true;
}

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
        return {Found::kMalformed, offset};
    }
    return locate_by_version(frame, length, offset, Found::kNonIp);
}

Located locate_by_version(const std::uint8_t* frame, std::uint32_t length, std::uint32_t offset,
                          Found other) noexcept {
    if (offset == length) {
        return {Found::kMalformed, offset};
    }
    switch (frame[offset] >> 4) {
        case 4:
            return {Found::kIpv4, offset};
        case 6:
            return {Found::kIpv6, offset};
        default:
            return {other, offset};
    }
}

Located locate_by_ppp(const std::uint8_t* frame, std::uint32_t length,
                      std::uint32_t offset) noexcept {
    if (length - offset < 2) {
        return {Found::kMalformed, offset};
    }
    switch (load_be16(frame + offset)) {
        case kPppIpv4:
            return {Found::kIpv4, offset + 2};
        case kPppIpv6:
            return {Found::kIpv6, offset + 2};
        default:
            return {Found::kNonIp, offset + 2};
    }
}

Located locate_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                            std::uint32_t offset) noexcept {
    if (!skip_tags(frame, length, type, offset)) {
        return {Found::kMalformed, offset};
    }
    switch (type) {
        case kEtherIpv4:
            return {Found::kIpv4, offset};
        case kEtherIpv6:
            return {Found::kIpv6, offset};
        case kEtherMpls:
        case kEtherMplsMulticast:
            return locate_below_mpls(frame, length, offset);
        case kEtherPppoe:
            return locate_in_pppoe(frame, length, offset);
        default:
            return {Found::kNonIp, offset};
    }
}

NonIpFrame non_ip_by_ethertype(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                               std::uint32_t offset) noexcept {
    // What the parser has been through is not cut short.
    std::ignore = skip_tags(frame, length, type, offset);
    if (is_mpls(type)) {
        std::ignore = skip_labels(frame, length, offset);
    }
    const std::uint8_t* const body = frame + offset;
    return {.kind = Link::kEthernet,
            .type = type,
            .body = body,
            .length = without_padding(body, length - offset)};
}

}  // namespace unecho::packet
