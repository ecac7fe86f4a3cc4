// SPDX-License-Identifier: BSD-3-Clause
// Tags: headers that stand between an EtherType and the EtherType of what follows, a row each in
// tags.cpp. VLAN tags are the best known; some hold a whole Ethernet frame. They differ from tap to
// tap (port, time, path), so they are passed over on the way to the IP packet.
// Hot code: reads only bytes inside the frame, writes nothing.
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

// What one tag leads to.
struct TagStep {
    std::uint32_t size = 0;  // up to and with the EtherType that follows; 0: it is no tag after all
    std::uint16_t next = 0;  // that EtherType, where the tag is whole
    bool holds_frame = false;  // the EtherType is that of an Ethernet frame inside
};

struct TagKind {
    std::uint16_t
        type;  // the EtherType that announces it; 0: a length of 802.3, before LLC and SNAP
    std::string_view name;
    std::string_view source;  // standard, or who has it
    // tag: what stands behind that EtherType, of which `left` bytes are there.
    TagStep (*read)(const std::uint8_t* tag, std::uint32_t left) noexcept;
    // The number of the network that it names: a VLAN, a port of a fabric extender. Null: none.
    std::uint32_t (*network)(const std::uint8_t* tag) noexcept = nullptr;
};

[[nodiscard]] std::span<const TagKind> tag_kinds() noexcept;

// The row of an EtherType; null: it announces no tag.
[[nodiscard]] const TagKind* tag_kind(std::uint16_t type) noexcept;

// Pass over tags, with the EtherType that the last one says; false: cut short. Call
// visit(kind, type, offset, step) for each, offset being that of its first byte.
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

// Call visit(number) for each network that what an EtherType leads to is in, the outermost first:
// VLANs, ports of fabric extenders, MPLS labels, a PPPoE session. Numbers of different kinds
// differ; VLANs are of one kind, whatever EtherType announces them. Priorities and TTLs do not
// count.
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

// Redundancy protocols that number each frame: a copy on the other path has the same number.
[[nodiscard]] constexpr bool has_sequence(std::uint16_t tag) noexcept {
    return tag == kEtherHsr || tag == kEtherRtag;
}

}  // namespace unecho::packet
