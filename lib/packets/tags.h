// SPDX-License-Identifier: BSD-3-Clause
// Tags: headers between one EtherType and the next, such as VLAN tags, one row each in tags.cpp.
// Some hold a whole Ethernet frame. They differ from tap to tap (port, time, path), so the way to
// the IP packet skips them. Hot code: reads only bytes inside the frame, writes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "packets/headers.h"

namespace unecho::packet {

[[nodiscard]] constexpr bool is_vlan(std::uint16_t type) noexcept {
    return type == kEtherVlan || type == kEtherQinq || type == kEtherQinq91 || type == kEtherQinq92;
}

[[nodiscard]] constexpr bool is_mpls(std::uint16_t type) noexcept {
    return type == kEtherMpls || type == kEtherMplsMulticast;
}

// One step over a tag.
struct TagStep {
    std::uint32_t size = 0;    // up to and including the next EtherType; 0: not a tag after all
    std::uint16_t next = 0;    // the next EtherType, if the tag is complete
    bool holds_frame = false;  // the EtherType belongs to an Ethernet frame inside
};

struct TagKind {
    std::uint16_t
        type;  // the EtherType that announces it; 0: a length of 802.3, before LLC and SNAP
    std::string_view name;
    std::string_view source;  // standard or vendor
    // Read the tag that follows this EtherType; `left` bytes of it are in the frame.
    TagStep (*read)(const std::uint8_t* tag, std::uint32_t left) noexcept;
    // Return the number of the network that the tag names: a VLAN, a port of a fabric extender.
    // Null: it names none.
    std::uint32_t (*network)(const std::uint8_t* tag) noexcept = nullptr;
};

[[nodiscard]] std::span<const TagKind> tag_kinds() noexcept;

// Return the row of an EtherType; null if it announces no tag.
[[nodiscard]] const TagKind* tag_kind(std::uint16_t type) noexcept;

// Skip tags and set `type` to the EtherType behind the last one. Return false if a tag is cut
// short. Call visit(kind, type, offset, step) for each tag, with the offset of its first byte.
template <typename Visit>
[[nodiscard]] bool walk_tags(const std::uint8_t* frame, std::uint32_t length, std::uint16_t& type,
                             std::uint32_t& offset, Visit&& visit) noexcept {
    while (const TagKind* kind = tag_kind(type)) {
        const TagStep step = kind->read(frame + offset, length - offset);
        if (step.size == 0) {
            break;
        }
        if (length - offset < step.size) {
            return false;
        }
        visit(*kind, type, offset, step);
        type = step.next;
        offset += step.size;
    }
    return true;
}

[[nodiscard]] inline bool skip_tags(const std::uint8_t* frame, std::uint32_t length,
                                    std::uint16_t& type, std::uint32_t& offset) noexcept {
    return walk_tags(frame, length, type, offset,
                     [](const TagKind&, std::uint16_t, std::uint32_t, const TagStep&) {});
}

// Call visit(number) for each network of the payload behind an EtherType, the outermost first:
// VLANs, ports of fabric extenders, MPLS labels, a PPPoE session. Numbers of different kinds
// differ; VLANs are one kind, whichever EtherType announces them. Priorities and TTLs are ignored.
template <typename Visit>
void visit_networks(std::uint16_t type, const std::uint8_t* frame, std::uint32_t length,
                    std::uint32_t offset, Visit&& visit) noexcept {
    const auto of_kind = [](std::uint16_t kind, std::uint32_t number) {
        return std::uint64_t{kind} << 32 | number;
    };
    if (!walk_tags(frame, length, type, offset,
                   [&](const TagKind& kind, std::uint16_t tag, std::uint32_t at, const TagStep&) {
                       if (kind.network != nullptr) {
                           visit(
                               of_kind(is_vlan(tag) ? kEtherVlan : tag, kind.network(frame + at)));
                       }
                   })) {
        return;
    }
    if (is_mpls(type)) {
        for (bool bottom = false; !bottom && length - offset >= kTag; offset += kTag) {
            const std::uint32_t label = load_be32(frame + offset);
            bottom = (label & 0x100) != 0;
            visit(of_kind(kEtherMpls, label >> 12));
        }
    } else if (type == kEtherPppoe && length - offset >= kTag) {
        visit(of_kind(kEtherPppoe, load_be16(frame + offset + 2)));
    }
}

// Return true for redundancy protocols that number each frame, with one number on both paths.
[[nodiscard]] constexpr bool has_sequence(std::uint16_t tag) noexcept {
    return tag == kEtherHsr || tag == kEtherRtag;
}

}  // namespace unecho::packet
