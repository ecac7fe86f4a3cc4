// SPDX-License-Identifier: BSD-3-Clause
#include "packets/keys/digests.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "base/assert.h"
#include "base/ids.h"
#include "base/int128.h"
#include "filters/hash/keyed.h"
#include "packets/keys/checksums.h"
#include "packets/keys/non_ip.h"
#include "packets/tags.h"

namespace unecho::packet {
namespace {

using hash::keyed_digest;
using hash::Secret;

constexpr std::uint64_t high_half(uint128 value) noexcept {
    return static_cast<std::uint64_t>(value >> 64);
}

constexpr std::uint64_t low_half(uint128 value) noexcept {
    return static_cast<std::uint64_t>(value);
}

// Purpose of a digest of flow fields. Keys and owners must be independent. If a flow's own digest
// chose its owner, each worker would see only a share of the range of digests. Its filter would
// then fill only a part of its memory.
enum class Purpose : std::uint8_t { kKey, kOwner };

// A key of mode packet is a head of 8 bytes and all bytes of the packet behind the last masked
// byte. IPv4 head: version/IHL, protocol (in the place of TOS), total length, ID, flags and offset.
// TTL (byte 8) and checksum (10, 11) are left out; the body begins with the addresses.
constexpr std::uint32_t kIpv4Body = 12;

std::uint64_t ipv4_head(const std::uint8_t* p) noexcept {
    return (load_le64(p) & 0xFFFF'FFFF'FFFF'00FF) | std::uint64_t{p[9]} << 8;
}

// IPv6 head: version, flow label, payload length, next header; traffic class (4 bits in each of the
// first two bytes) and hop limit (byte 7) are zeroed. The first byte shows the version.
constexpr std::uint32_t kIpv6Body = 8;

std::uint64_t ipv6_head(const std::uint8_t* p) noexcept {
    return load_le64(p) & 0x00FF'FFFF'FFFF'0FF0;
}

// Swap without a branch, which would be mispredicted: packets of a conversation go either way.
template <typename T>
void swap_if(bool condition, T& a, T& b) noexcept {
    const T difference = (a ^ b) & -T{condition};
    a ^= difference;
    b ^= difference;
}

constexpr std::uint64_t kind_of(const FlowFields& flow, Purpose purpose) noexcept {
    return flow.protocol | static_cast<std::uint64_t>(purpose) << 8;
}

struct EndsIpv4 {
    std::uint64_t from;
    std::uint64_t to;
};

EndsIpv4 ends_ipv4(const FlowFields& flow) noexcept {
    return {std::uint64_t{load_be32(flow.addresses)} << 16 | flow.source_port,
            std::uint64_t{load_be32(flow.addresses + 4)} << 16 | flow.destination_port};
}

// Return true if a key of both directions names this flow's ends in reverse.
bool is_turned_ipv4(const FlowFields& flow) noexcept {
    const EndsIpv4 ends = ends_ipv4(flow);
    return ends.to < ends.from;
}

bool is_turned_ipv6(const FlowFields& flow) noexcept {
    const uint128 from = load_be128(flow.addresses);
    const uint128 to = load_be128(flow.addresses + 16);
    return (to < from) | ((to == from) & (flow.destination_port < flow.source_port));
}

// 16 bytes: source address and port, destination address and port, 48 bits each. Protocol and
// purpose fill the second word.
template <bool kBothWays, Purpose kPurpose>
std::array<std::uint64_t, 2> flow_words_ipv4(const FlowFields& flow) noexcept {
    auto [from, to] = ends_ipv4(flow);
    if constexpr (kBothWays) {
        swap_if(to < from, from, to);
    }
    return {from, to | kind_of(flow, kPurpose) << 48};
}

template <bool kBothWays, Purpose kPurpose>
Digest flow_digest_ipv4(const FlowFields& flow, const Secret& secret) noexcept {
    return keyed_digest(flow_words_ipv4<kBothWays, kPurpose>(flow), secret);
}

// 40 bytes: the addresses, then ports, protocol and purpose in one word.
template <bool kBothWays, Purpose kPurpose>
std::array<std::uint64_t, 5> flow_words_ipv6(const FlowFields& flow) noexcept {
    uint128 from = load_be128(flow.addresses);
    uint128 to = load_be128(flow.addresses + 16);
    std::uint64_t from_port = flow.source_port;
    std::uint64_t to_port = flow.destination_port;
    if constexpr (kBothWays) {
        const bool swap = is_turned_ipv6(flow);
        swap_if(swap, from, to);
        swap_if(swap, from_port, to_port);
    }
    return {high_half(from), low_half(from), high_half(to), low_half(to),
            from_port | to_port << 16 | kind_of(flow, kPurpose) << 32};
}

template <bool kBothWays, Purpose kPurpose>
Digest flow_digest_ipv6(const FlowFields& flow, const Secret& secret) noexcept {
    return keyed_digest(flow_words_ipv6<kBothWays, kPurpose>(flow), secret);
}

// Parts of a key of mode packet.
struct Key {
    std::uint64_t head;
    const std::uint8_t* body;
    std::size_t length;
};

Key packet_key_ipv4(const IpPacket& ip) noexcept {
    return {ipv4_head(ip.data), ip.data + kIpv4Body, ip.length - kIpv4Body};
}

Key packet_key_ipv6(const IpPacket& ip) noexcept {
    return {ipv6_head(ip.data), ip.data + kIpv6Body, ip.length - kIpv6Body};
}

// Two heads of 64 bits each: destination and type, source and purpose. An owner must be the same
// for everything that one station sends to another, so it ignores body and length.
template <Purpose kPurpose>
Digest non_ip_digest(NonIpFrame other, const Secret& secret) noexcept {
    if constexpr (kPurpose == Purpose::kOwner) {
        other.type = is_length(other.type) ? 0 : other.type;
        other.length = 0;
    }
    const auto kind =
        static_cast<std::uint64_t>(other.kind) << 1 | static_cast<std::uint64_t>(kPurpose);
    const Digest digest = keyed_digest(other.destination << 16 | other.type,
                                       other.source | kind << 48, other.body, other.length, secret);
    return kPurpose == Purpose::kOwner || other.sequence == 0
               ? digest
               : keyed_digest(digest, other.sequence, nullptr, 0, secret);
}

// Return the number of bytes from the packet's first byte to the end of the frame.
std::uint32_t room_of(const Frame& frame, const IpPacket& ip) noexcept {
    return frame.length - static_cast<std::uint32_t>(ip.data - frame.data);
}

constexpr std::uint64_t mask_of(std::size_t frames) noexcept {
    return frames == 0 ? 0 : ~std::uint64_t{0} >> (kMaxBurst - frames);
}

template <typename Function>
void for_each_bit(std::uint64_t mask, Function&& function) noexcept {
    for (; mask != 0; mask &= mask - 1) {
        function(static_cast<std::size_t>(std::countr_zero(mask)));
    }
}

constexpr KeyMasks masks_of(const ParsedBurst& parsed) noexcept {
    return {parsed.ipv4 | parsed.ipv6, parsed.non_ip, parsed.malformed};
}

// Digest the keys of a mask, short ones first: choosing packet by packet would be mispredicted
// often where lengths are mixed. Long bodies are in the L3 cache or further away, so the next one
// is prefetched while one is summed.
template <typename KeyOf>
void digest_by_length(std::uint64_t mask, KeyOf key_of, const Secret& secret,
                      Digest* digests) noexcept {
    const auto digest = [&](std::size_t i) {
        const Key key = key_of(i);
        digests[i] = keyed_digest(key.head, key.body, key.length, secret);
    };
    std::uint64_t is_long = 0;
    for_each_bit(mask, [&](std::size_t i) {
        is_long |= std::uint64_t{key_of(i).length > hash::kMaxShort} << i;
    });
    const auto request = [&](std::uint64_t rest) __attribute__((always_inline)) {
        if (rest != 0) {
            const Key key = key_of(static_cast<std::size_t>(std::countr_zero(rest)));
            hash::prefetch_body(key.body, key.length);
        }
    };
    request(is_long);
    for_each_bit(mask & ~is_long, digest);
    for (std::uint64_t rest = is_long; rest != 0;) {
        const auto i = static_cast<std::size_t>(std::countr_zero(rest));
        rest &= rest - 1;
        request(rest);
        digest(i);
    }
}

// Digest packets with a partial checksum as the card will send them, from a copy. They are rare.
[[gnu::noinline]] void digest_partials(std::uint64_t suspects, std::span<const Frame> frames,
                                       const ParsedBurst& parsed, const Secret& secret,
                                       Digest* digests) noexcept {
    constexpr std::size_t kMostBytes = 0x10000;
    for_each_bit(suspects, [&](std::size_t i) {
        const Parsed packet = parsed.at(i);
        const FilledChecksum filled =
            fill_checksum(packet.found, packet.ip, room_of(frames[i], packet.ip));
        if (filled.size == 0 || filled.at + filled.size > packet.ip.length) {
            return;
        }
        std::array<std::uint8_t, kMostBytes> copy;  // NOLINT(*-member-init): 64 KiB
        const IpPacket ip{copy.data(), packet.ip.length};
        std::memcpy(copy.data(), packet.ip.data, packet.ip.length);
        std::memcpy(copy.data() + filled.at, &filled.value, filled.size);
        const Key key = packet.found == L3Type::kIpv4 ? packet_key_ipv4(ip) : packet_key_ipv6(ip);
        digests[i] = keyed_digest(key.head, key.body, key.length, secret);
    });
}

// Usually all packets are IPv4, and often all are short: prefetch nothing before a long one.
KeyMasks digest_packets(std::size_t count, const ParsedBurst& parsed, const Secret& secret,
                        Digest* digests) noexcept {
    const auto ipv4 = [&](std::size_t i) { return packet_key_ipv4(parsed.ip[i]); };
    const auto ipv6 = [&](std::size_t i) { return packet_key_ipv6(parsed.ip[i]); };
    std::size_t done = 0;
    if (parsed.ipv4 == mask_of(count)) {
        for (; done < count; ++done) {
            const Key key = ipv4(done);
            if (key.length > hash::kMaxShort) {
                break;
            }
            digests[done] = keyed_digest(key.head, key.body, key.length, secret);
        }
    }
    if (done < count) {
        digest_by_length(parsed.ipv4 & ~mask_of(done), ipv4, secret, digests);
        digest_by_length(parsed.ipv6, ipv6, secret, digests);
    }
    return masks_of(parsed);
}

// Collects the bytes of a key, as far as there is room.
class KeyBytes {
  public:
    explicit KeyBytes(std::span<std::uint8_t> out) noexcept : out_(out) {}

    void add(const std::uint8_t* bytes, std::uint64_t n) noexcept {
        const std::uint64_t some = std::min<std::uint64_t>(n, out_.size() - size_);
        if (some != 0) {
            std::memcpy(out_.data() + size_, bytes, some);
            size_ += some;
        }
    }
    void add(std::uint64_t word) noexcept {
        std::array<std::uint8_t, sizeof word> bytes{};
        std::memcpy(bytes.data(), &word, sizeof word);
        add(bytes.data(), bytes.size());
    }
    template <std::size_t n>
    void add(const std::array<std::uint64_t, n>& words) noexcept {
        for (const std::uint64_t word : words) {
            add(word);
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    std::span<std::uint8_t> out_;
    std::size_t size_ = 0;
};

void add_packet(const Frame& frame, const Parsed& parsed, Checksums checksums,
                KeyBytes& bytes) noexcept {
    const IpPacket& ip = parsed.ip;
    const bool ipv4 = parsed.found == L3Type::kIpv4;
    const std::uint32_t body = ipv4 ? kIpv4Body : kIpv6Body;
    bytes.add(ipv4 ? ipv4_head(ip.data) : ipv6_head(ip.data));
    const FilledChecksum filled = checksums == Checksums::kFill
                                      ? fill_checksum(parsed.found, ip, room_of(frame, ip))
                                      : FilledChecksum{};
    const std::uint32_t end = filled.at + filled.size;
    if (filled.size == 0 || end > ip.length) {
        bytes.add(ip.data + body, ip.length - body);
        return;
    }
    std::array<std::uint8_t, sizeof filled.value> checksum{};
    std::memcpy(checksum.data(), &filled.value, filled.size);
    bytes.add(ip.data + body, filled.at - body);
    bytes.add(checksum.data(), filled.size);
    bytes.add(ip.data + end, ip.length - end);
}

template <bool kBothWays>
void add_flow(const Parsed& parsed, KeyBytes& bytes) noexcept {
    FlowFields flow{};
    if (parsed.found == L3Type::kIpv4) {
        std::ignore = read_flow_ipv4(parsed.ip, flow);
        bytes.add(flow_words_ipv4<kBothWays, Purpose::kKey>(flow));
    } else {
        std::ignore = read_flow_ipv6(parsed.ip, flow);
        bytes.add(flow_words_ipv6<kBothWays, Purpose::kKey>(flow));
    }
}

// Return true if the tenant belongs to the key in this mode.
bool has_tenant(KeyMode mode, const TenantId& tenant) noexcept {
    return tenant.any() && !(mode == KeyMode::kFlowBidir && tenant.one_way());
}

// tell(i, turned) is called for each flow that could be read.
template <bool kBothWays, typename Tell>
KeyMasks digest_flows(const ParsedBurst& parsed, const Secret& secret, Digest* digests,
                      Tell tell) noexcept {
    KeyMasks masks = masks_of(parsed);
    FlowFields flow;
    for_each_bit(parsed.ipv4, [&](std::size_t i) {
        if (read_flow_ipv4(parsed.ip[i], flow)) {
            digests[i] = flow_digest_ipv4<kBothWays, Purpose::kKey>(flow, secret);
            tell(i, is_turned_ipv4(flow));
        } else {
            masks.malformed |= std::uint64_t{1} << i;
        }
    });
    for_each_bit(parsed.ipv6, [&](std::size_t i) {
        if (read_flow_ipv6(parsed.ip[i], flow)) {
            digests[i] = flow_digest_ipv6<kBothWays, Purpose::kKey>(flow, secret);
            tell(i, is_turned_ipv6(flow));
        } else {
            masks.malformed |= std::uint64_t{1} << i;
        }
    });
    masks.keyed &= ~masks.malformed;
    return masks;
}

}  // namespace

void digest_frames(std::span<const Frame> frames, const Secret& secret, Digest* digests) noexcept {
    UNECHO_ASSERT(frames.size() <= kMaxBurst);
    const auto key_of = [&](std::size_t i) { return Key{0, frames[i].data, frames[i].length}; };
    digest_by_length(mask_of(frames.size()), key_of, secret, digests);
}

namespace {

// Digest what the packet's digest does not cover: the bytes before the key's body, with the
// header's masked bytes, and those behind it. With the packet's digest and length they determine
// every byte of the frame. The second head separates these digests from other kinds of keys.
Digest frame_digest(const Frame& frame, const IpPacket& ip, std::uint32_t body, Digest packet,
                    const Secret& secret) noexcept {
    const auto before = static_cast<std::uint32_t>(ip.data - frame.data);
    const std::uint32_t end = before + ip.length;
    // A frame whose checksum is compared as filled in differs from one where it is filled in.
    const bool ipv4 = body == kIpv4Body;
    const FilledChecksum filled =
        fill_checksum(ipv4 ? L3Type::kIpv4 : L3Type::kIpv6, ip, room_of(frame, ip));
    const Digest front =
        keyed_digest(packet, filled.size != 0 ? 2 : 0, frame.data, before + body, secret);
    return end == frame.length
               ? front
               : keyed_digest(front, 1, frame.data + end, frame.length - end, secret);
}

}  // namespace

void digest_frames(std::span<const Frame> frames, const ParsedBurst& parsed, const Digest* packets,
                   const Secret& secret, Digest* digests) noexcept {
    for_each_bit(parsed.ipv4, [&](std::size_t i) {
        digests[i] = frame_digest(frames[i], parsed.ip[i], kIpv4Body, packets[i], secret);
    });
    for_each_bit(parsed.ipv6, [&](std::size_t i) {
        digests[i] = frame_digest(frames[i], parsed.ip[i], kIpv6Body, packets[i], secret);
    });
    for_each_bit(parsed.non_ip | parsed.malformed, [&](std::size_t i) {
        digests[i] = keyed_digest(frames[i].data, frames[i].length, secret);
    });
}

KeyMasks digest_burst(KeyMode mode, std::span<const Frame> frames, const ParsedBurst& parsed,
                      const Secret& secret, Digest* digests) noexcept {
    UNECHO_ASSERT(frames.size() <= kMaxBurst);
    switch (mode) {
        case KeyMode::kPacket:
            return digest_packets(frames.size(), parsed, secret, digests);
        case KeyMode::kFlow:
            return digest_flows<false>(parsed, secret, digests, [](std::size_t, bool) {});
        case KeyMode::kFlowBidir:
            return digest_flows<true>(parsed, secret, digests, [](std::size_t, bool) {});
        case KeyMode::kFrame:
            digest_frames(frames, secret, digests);
            return {.keyed = mask_of(frames.size())};
    }
    return {};
}

KeyMasks digest_both_ways(const ParsedBurst& parsed, const Secret& secret, Digest* digests,
                          std::uint64_t& turned) noexcept {
    std::uint64_t bits = 0;
    const KeyMasks masks = digest_flows<true>(
        parsed, secret, digests,
        [&](std::size_t i, bool is_turned) { bits |= std::uint64_t{is_turned} << i; });
    turned = bits;
    return masks;
}

void fill_checksums(std::span<const Frame> frames, const ParsedBurst& parsed, std::uint64_t keyed,
                    const Secret& secret, Digest* digests) noexcept {
    std::uint64_t suspects = 0;
    for_each_bit(parsed.ipv4 & keyed, [&](std::size_t i) {
        suspects |= std::uint64_t{may_be_partial_ipv4(parsed.ip[i])} << i;
    });
    for_each_bit(parsed.ipv6 & keyed, [&](std::size_t i) {
        suspects |= std::uint64_t{may_be_partial_ipv6(parsed.ip[i])} << i;
    });
    if (suspects != 0) {
        digest_partials(suspects, frames, parsed, secret, digests);
    }
}

void add_tenants(KeyMode mode, const DecapsulatedBurst& opened, std::uint64_t keyed,
                 const Secret& secret, Digest* digests) noexcept {
    for_each_bit(opened.opened & keyed, [&](std::size_t i) {
        const TenantId& tenant = opened.tenants[i];
        if (has_tenant(mode, tenant)) {
            digests[i] = keyed_digest(digests[i], tenant.bits(), nullptr, 0, secret);
        }
    });
}

namespace {

// The frame that has a packet's tags: the captured one, or one inside its tunnels.
struct TaggedFrame {
    LinkType link;
    Frame frame;
};

TaggedFrame tagged_frame(const KeySpec& key, LinkType link, const Frame& frame,
                         bool opened) noexcept {
    if (!opened) {
        return {link, frame};
    }
    const DecapsulatedLevels way =
        decapsulated_levels(key.tunnels, link, frame, parse_frame(link, frame));
    const bool ethernet = way.count != 0 && way.levels[way.count - 1].ethernet;
    return ethernet ? TaggedFrame{LinkType::kEthernet, way.levels[way.count - 1].payload}
                    : TaggedFrame{LinkType::kUnknown, frame};
}

template <typename Visit>
void visit_networks_of(const TaggedFrame& tagged, Visit&& visit) noexcept {
    const auto ether_type = info_of(tagged.link).ether_type;
    if (ether_type == nullptr) {
        return;
    }
    const Frame& frame = tagged.frame;
    if (const EtherTypeAt at = ether_type(frame.data, frame.length); at.any) {
        visit_networks(at.type, frame.data, frame.length, at.offset, visit);
    }
}

Digest networks_digest(const TaggedFrame& tagged, const Secret& secret) noexcept {
    Digest digest = 0;
    visit_networks_of(tagged, [&](std::uint64_t number) {
        digest = keyed_digest(digest, number, nullptr, 0, secret);
    });
    return digest;
}

}  // namespace

Digest tags_digest(LinkType link, const Frame& frame, const Secret& secret) noexcept {
    return networks_digest({link, frame}, secret);
}

// Most packets have no tags. A packet right behind the MAC addresses has none.
void add_tags(const KeySpec& key, LinkType link, std::span<const Frame> frames,
              const ParsedBurst& parsed, const DecapsulatedBurst& opened, std::uint64_t keyed,
              const Secret& secret, Digest* digests) noexcept {
    if (key.tags != Tags::kCompare || key.mode == KeyMode::kFrame) {
        return;
    }
    std::uint64_t plain = 0;
    if (link == LinkType::kEthernet) {
        for_each_bit((parsed.ipv4 | parsed.ipv6) & keyed, [&](std::size_t i) {
            const bool behind = parsed.ip[i].data == frames[i].data + kEthernetHeader;
            plain |= std::uint64_t{behind} << i;
        });
    }
    for_each_bit(keyed & ~plain, [&](std::size_t i) {
        const bool inside = (opened.opened >> i & 1) != 0;
        const Digest tags = networks_digest(tagged_frame(key, link, frames[i], inside), secret);
        if (tags != 0) {
            digests[i] = keyed_digest(digests[i], tags, nullptr, 0, secret);
        }
    });
}

void digest_non_ip(LinkType link, std::span<const Frame> frames, const Secret& secret,
                   Digest* digests, KeyMasks& masks) noexcept {
    for_each_bit(masks.non_ip, [&](std::size_t i) {
        const NonIpFrame other = non_ip_frame(link, frames[i].data, frames[i].length);
        if (other.compared) {
            digests[i] = non_ip_digest<Purpose::kKey>(other, secret);
            masks.keyed |= std::uint64_t{1} << i;
        }
    });
    masks.non_ip &= ~masks.keyed;
}

namespace {

// If fewer bytes count than an IPv6 header has, take the missing bytes of its addresses as 0.
Digest owner_of_short_ipv6(const IpPacket& ip, FlowFields flow, const Secret& secret) noexcept {
    std::array<std::uint8_t, kIpv6Header> header{};
    std::copy_n(ip.data, ip.length, header.begin());
    flow.addresses = header.data() + 8;
    return flow_digest_ipv6<true, Purpose::kOwner>(flow, secret);
}

}  // namespace

// Begin with the kind of key, then tenant and tags, because they are short.
std::size_t copy_key(const KeySpec& key, LinkType link, const Frame& frame, const Parsed& parsed,
                     const TenantId& tenant, bool opened, std::span<std::uint8_t> out) noexcept {
    const KeyMode mode = key.mode;
    KeyBytes bytes(out);
    bytes.add(static_cast<std::uint64_t>(parsed.found) |
              (has_tenant(mode, tenant) ? tenant.bits() : 0) << 8);
    if (key.tags == Tags::kCompare && mode != KeyMode::kFrame) {
        visit_networks_of(tagged_frame(key, link, frame, opened),
                          [&](std::uint64_t number) { bytes.add(number); });
        bytes.add(std::uint64_t{0});  // ends the list: no network has this number
    }
    if (mode == KeyMode::kFrame) {
        bytes.add(frame.data, frame.length);
    } else if (parsed.found == L3Type::kNonIp) {
        const NonIpFrame other = non_ip_frame(link, frame.data, frame.length);
        bytes.add(std::array{other.destination, other.source,
                             other.type | static_cast<std::uint64_t>(other.kind) << 16 |
                                 std::uint64_t{other.sequence} << 32});
        bytes.add(other.body, other.length);
    } else if (mode == KeyMode::kFlow) {
        add_flow<false>(parsed, bytes);
    } else if (mode == KeyMode::kFlowBidir) {
        add_flow<true>(parsed, bytes);
    } else {
        add_packet(frame, parsed, key.checksums, bytes);
    }
    return bytes.size();
}

// For IP packets, use only what every mode's key contains: addresses, protocol and ports, as far as
// they were captured and count. Never use offset, TTL or the frame's length.
void owner_digests(LinkType link, std::span<const Frame> frames, const ParsedBurst& parsed,
                   const Secret& secret, Digest* owners) noexcept {
    FlowFields flow;
    for_each_bit(parsed.ipv4, [&](std::size_t i) {
        std::ignore = read_flow_ipv4(parsed.ip[i], flow);  // cut short: ports 0
        owners[i] = flow_digest_ipv4<true, Purpose::kOwner>(flow, secret);
    });
    for_each_bit(parsed.ipv6, [&](std::size_t i) {
        std::ignore = read_flow_ipv6(parsed.ip[i], flow);
        owners[i] = parsed.ip[i].length < kIpv6Header
                        ? owner_of_short_ipv6(parsed.ip[i], flow, secret)
                        : flow_digest_ipv6<true, Purpose::kOwner>(flow, secret);
    });
    for_each_bit(parsed.non_ip, [&](std::size_t i) {
        owners[i] = non_ip_digest<Purpose::kOwner>(
            non_ip_frame(link, frames[i].data, frames[i].length), secret);
    });
    for_each_bit(parsed.malformed, [&](std::size_t i) {
        owners[i] = keyed_digest(static_cast<std::uint64_t>(Purpose::kOwner), frames[i].data,
                                 std::min(frames[i].length, kEthernetHeader), secret);
    });
}

}  // namespace unecho::packet
