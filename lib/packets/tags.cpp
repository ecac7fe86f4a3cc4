// SPDX-License-Identifier: BSD-3-Clause
#include "packets/tags.h"

#include <array>
#include <cstddef>

namespace unecho::packet {
namespace {

// --- Lengths of tags ----------------------------------------------------------------------------

template <std::uint32_t kSize>
TagStep fixed(const std::uint8_t* tag, std::uint32_t left) noexcept {
    return {.size = kSize, .next = left < kSize ? std::uint16_t{0} : load_be16(tag + kSize - 2)};
}

// Step to the EtherType of an Ethernet frame that begins `bytes` bytes behind.
TagStep frame_behind(std::uint32_t bytes, const std::uint8_t* tag, std::uint32_t left) noexcept {
    const std::uint32_t size = bytes + kEthernetHeader;
    return {.size = size,
            .next = left < size ? std::uint16_t{0} : load_be16(tag + size - 2),
            .holds_frame = true};
}

template <std::uint32_t kBytes>
TagStep frame_behind(const std::uint8_t* tag, std::uint32_t left) noexcept {
    return frame_behind(kBytes, tag, left);
}

// Subtype 1 is a timestamp; the low byte of the version gives its width.
TagStep read_arista(const std::uint8_t* tag, std::uint32_t left) noexcept {
    constexpr std::uint32_t kShortest = 4;
    if (left < kShortest) {
        return {.size = kShortest};
    }
    constexpr std::uint16_t kTime = 1;
    const std::uint8_t version = tag[3];
    if (load_be16(tag) != kTime || tag[2] > 1) {
        return {};
    }
    return version == 0x10   ? fixed<14>(tag, left)
           : version == 0x20 ? fixed<12>(tag, left)
                             : TagStep{};
}

// RFC 6325, section 3: version 0; the length of options is in 4-byte words.
TagStep read_trill(const std::uint8_t* tag, std::uint32_t left) noexcept {
    constexpr std::uint32_t kHeader = 6;
    if (left < kHeader) {
        return {.size = kHeader};
    }
    const std::uint16_t flags = load_be16(tag);
    return flags >> 14 != 0 ? TagStep{} : frame_behind(kHeader + (flags >> 6 & 31U) * 4, tag, left);
}

// RFC 8300, section 2.2: version 0, no OAM; the length is in 4-byte words.
TagStep read_nsh(const std::uint8_t* tag, std::uint32_t left) noexcept {
    constexpr std::uint32_t kHeader = 8;
    if (left < kHeader) {
        return {.size = kHeader};
    }
    const std::uint32_t size = (tag[1] & 0x3FU) * 4;
    if ((tag[0] & 0xE0) != 0 || size < kHeader) {
        return {};
    }
    switch (tag[3]) {
        case 1:
            return {.size = size, .next = kEtherIpv4};
        case 2:
            return {.size = size, .next = kEtherIpv6};
        case 3:
            return frame_behind(size, tag, left);
        case 5:
            return {.size = size, .next = kEtherMpls};
        default:
            return {};
    }
}

// RFC 1042 and IEEE 802.1H: after LLC an OUI of 0 or of bridge tunnels, then an EtherType.
TagStep read_snap(const std::uint8_t* tag, std::uint32_t left) noexcept {
    constexpr std::uint64_t kSnap = 0xAAAA'0300'0000;
    constexpr std::uint64_t kBridgeTunnel = kSnap | 0xF8;
    if (left < kSnapHeader) {
        return {};
    }
    const std::uint64_t llc = load_be48(tag);
    const std::uint16_t type = load_be16(tag + 6);
    return (llc == kSnap || llc == kBridgeTunnel) && type > kMax8023Length
               ? TagStep{.size = kSnapHeader, .next = type}
               : TagStep{};
}

// --- Networks that tags name --------------------------------------------------------------------

std::uint32_t vlan_of(const std::uint8_t* tag) noexcept {
    return load_be16(tag) & 0x0FFFU;
}

// Destination and source interface; the direction bit is left out.
std::uint32_t interfaces_of(const std::uint8_t* tag) noexcept {
    return load_be32(tag) & 0x3FFF'0FFFU;
}

// GRP and E-CID, with their extensions.
std::uint32_t e_channel_of(const std::uint8_t* tag) noexcept {
    return (load_be16(tag + 2) & 0x3FFFU) << 8 | tag[5];
}

// --- The table ----------------------------------------------------------------------------------

constexpr std::uint16_t kLength = 0;  // stands for every length of 802.3

constexpr std::array kRows = std::to_array<TagKind>({
    {kEtherVlan, "VLAN", "IEEE 802.1Q", fixed<4>, vlan_of},
    {kEtherQinq, "VLAN", "IEEE 802.1ad", fixed<4>, vlan_of},
    {kEtherQinq91, "VLAN", "before IEEE 802.1ad", fixed<4>, vlan_of},
    {kEtherQinq92, "VLAN", "before IEEE 802.1ad", fixed<4>, vlan_of},
    {0x8926, "VN-Tag", "Cisco", fixed<6>, interfaces_of},
    {0x893F, "E-TAG", "IEEE 802.1BR", fixed<8>, e_channel_of},
    {0x8909, "CMD", "Cisco: security group", fixed<8>},
    {0x8988, "TTag", "Cisco: time", fixed<8>},
    {0xD28B, "time", "Arista", read_arista},
    {kEtherHsr, "HSR", "IEC 62439-3", fixed<6>},
    {kEtherRtag, "R-TAG", "IEEE 802.1CB", fixed<6>},
    {0x8903, "FabricPath", "Cisco", frame_behind<2>},
    {0x22F3, "TRILL", "RFC 6325", read_trill},
    {0x894F, "NSH", "RFC 8300", read_nsh},
    {0x6558, "Ethernet", "RFC 1701", frame_behind<0>},
    {0x8870, "LLC, jumbo frames", "draft-ietf-isis-ext-eth-01", read_snap},
    {kLength, "LLC/SNAP", "RFC 1042, IEEE 802.1H", read_snap},
});

// Index of the rows by EtherType, without collisions. Multiplying by an odd factor permutes the
// numbers, and this factor gives each row its own slot.
constexpr unsigned kSlots = 64;
constexpr std::uint8_t kNone = 0xFF;

struct Slots {
    std::array<std::uint8_t, kSlots> rows{};
    std::uint32_t factor = 1;
};

constexpr unsigned slot_of(std::uint16_t type, std::uint32_t factor) noexcept {
    return static_cast<std::uint16_t>(type * factor) >> 10;
}

constexpr bool place(Slots& slots) {
    slots.rows.fill(kNone);
    for (std::uint8_t i = 0; i < kRows.size(); ++i) {
        std::uint8_t& row = slots.rows.at(slot_of(kRows.at(i).type, slots.factor));
        if (row != kNone) {
            return false;
        }
        row = i;
    }
    return true;
}

constexpr Slots kByType = [] {
    Slots slots;
    while (!place(slots)) {
        slots.factor += 2;
    }
    return slots;
}();

// Return true if LLC and SNAP may follow this value. Linux's cooked captures have their own number
// for LLC. A length below that of a SNAP header leaves no room for one.
constexpr bool is_before_snap(std::uint16_t type) noexcept {
    constexpr std::uint16_t kLinuxLlc = 4;
    return type == kLinuxLlc || (type >= kSnapHeader && type <= kMax8023Length);
}

}  // namespace

std::span<const TagKind> tag_kinds() noexcept {
    return kRows;
}

const TagKind* tag_kind(std::uint16_t type) noexcept {
    const bool snap = is_before_snap(type);
    const std::uint16_t key = snap ? kLength : type;
    const std::uint8_t row = kByType.rows[slot_of(key, kByType.factor)];
    const bool is_row = row != kNone && kRows[row].type == key && (snap || type != kLength);
    return is_row ? &kRows[row] : nullptr;
}

}  // namespace unecho::packet
